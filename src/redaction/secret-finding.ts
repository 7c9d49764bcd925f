/** Findings in output and their replacements. Pure, without state. */

import type { RedactionFindingKind } from '../redacted.ts';

/** One secret in a text; never contains its characters. */
export interface SecretFinding {
  /** Offsets `[start, end)` in characters of the text; one character is one byte. */
  readonly start: number;
  readonly end: number;
  readonly kind: RedactionFindingKind;
  /** Stable: `github-token`, `key-value`, `url-userinfo`, `known`. */
  readonly rule: string;
  /** Confidence, from 0 to 1. */
  readonly score: number;
  /** The name beside it: of a variable, field, flag or header; `null`: none. */
  readonly key: string | null;
}

/** Output in order: visible bytes, and the number of hidden ones. */
export type MaskedChunk =
  | { readonly kind: 'text'; readonly bytes: Uint8Array }
  | {
      readonly kind: 'hidden';
      readonly tag: string;
      /** Hidden bytes of the input. */
      readonly bytes: number;
      readonly finding: Omit<SecretFinding, 'start' | 'end'>;
    };

/** How likely a text shows secrets, by the command that prints it. */
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
