/** What is found in output, and what takes its place. Pure; holds no state. */

import type { RedactionFindingKind } from '../redacted.ts';

export type { RedactionFindingKind, KnownValue } from '../redacted.ts';

/** One secret in a text; never a character of it. */
export interface SecretFinding {
  /** Offsets `[start, end)` in characters of the text, of which each stands for one byte. */
  readonly start: number;
  readonly end: number;
  readonly kind: RedactionFindingKind;
  /** Stable: `github-token`, `key-value`, `url-userinfo`, `known`. */
  readonly rule: string;
  /** How sure, from 0 to 1. */
  readonly score: number;
  /** The name beside it: of a variable, field, flag or header; `null`: none. */
  readonly key: string | null;
}

/** Output in order: bytes that pass, and hidden ones by their count. */
export type MaskedChunk =
  | { readonly kind: 'text'; readonly bytes: Uint8Array }
  | {
      readonly kind: 'hidden';
      readonly tag: string;
      /** Bytes of the input that it stands for. */
      readonly bytes: number;
      readonly finding: Omit<SecretFinding, 'start' | 'end'>;
    };

/** How much a text is likely to show secrets, by the command that prints it. */
export type SecretPrior = 'secrets' | 'none' | 'hashes';

export const redactionProfileNames = ['strict', 'balanced', 'lenient'] as const;
export type RedactionProfile = (typeof redactionProfileNames)[number];

/**
 * Findings in the order of the text. Those that overlap become one, with the rule of the surest.
 *
 * @param findings are sorted in place
 * @param keyOf the name for two that overlap. Default: that of the surest, or else the other's
 */
export function mergeFindings(
  findings: SecretFinding[],
  keyOf: (surest: SecretFinding, last: SecretFinding) => string | null = (surest, last) =>
    surest.key ?? last.key,
): SecretFinding[] {
  if (findings.length < 2) return findings;
  findings.sort((a, b) => a.start - b.start || b.end - a.end);
  const merged: SecretFinding[] = [];
  for (const finding of findings) {
    const last = merged.at(-1);
    if (last === undefined || finding.start >= last.end) {
      merged.push(finding);
      continue;
    }
    const surest = finding.score > last.score ? finding : last;
    const end = Math.max(last.end, finding.end);
    merged[merged.length - 1] = { ...surest, key: keyOf(surest, last), start: last.start, end };
  }
  return merged;
}
