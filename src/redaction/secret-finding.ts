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
