/** What is found in output, and what takes its place. Pure; holds no state. */

import type { FindingKind } from '../redacted.ts';

export type { FindingKind, KnownValue } from '../redacted.ts';

/** One secret in a text; never a character of it. */
export interface Finding {
  /** Offsets `[start, end)` in characters of the text, of which each stands for one byte. */
  readonly start: number;
  readonly end: number;
  readonly kind: FindingKind;
  /** Stable: `github-token`, `key-value`, `url-userinfo`, `known`. */
  readonly rule: string;
  /** How sure, from 0 to 1. */
  readonly score: number;
  /** The name beside it: of a variable, field, flag or header; `null`: none. */
  readonly key: string | null;
}

/** Output in order: bytes that pass, and hidden ones by their count. */
export type Piece =
  | { readonly kind: 'text'; readonly bytes: Uint8Array }
  | {
      readonly kind: 'hidden';
      readonly tag: string;
      /** Bytes of the input that it stands for. */
      readonly bytes: number;
      readonly finding: Omit<Finding, 'start' | 'end'>;
    };

/** How much a text is likely to show secrets, by the command that prints it. */
export type Prior = 'secrets' | 'none' | 'hashes';

export const redactionProfiles = ['strict', 'balanced', 'lenient'] as const;
export type RedactionProfile = (typeof redactionProfiles)[number];
