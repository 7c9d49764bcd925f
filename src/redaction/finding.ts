/** What is found in output, and what takes its place. Pure; holds no state. */

/**
 * `known`: a value that a source holds, in whatever encoding. `format`: the form of one provider's
 * keys. `context`: what stands beside it says so. `score`: it looks drawn at random.
 */
export type FindingKind = 'known' | 'format' | 'context' | 'score';

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

/** A secret whose value is known beforehand. */
export interface KnownValue {
  readonly name: string;
  /** At most 64 KiB in UTF-8. */
  readonly value: string;
  /** What stands in its place: `[HIDDEN:8f2a1b]`. */
  readonly tag: string;
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
