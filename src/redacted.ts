/** The words of what is hidden in output. This module imports nothing and holds no behaviour. */

/**
 * `known`: a value that a source holds, in whatever encoding. `format`: the form of one provider's
 * keys. `context`: the text next to it says so. `score`: it looks drawn at random.
 */
export type RedactionFindingKind = 'known' | 'format' | 'context' | 'score';

/** A secret whose value is known beforehand: in memory and on the way to a redactor only. */
export interface KnownSecret {
  readonly name: string;
  /** At most 64 KiB in UTF-8. */
  readonly value: string;
}

/** A known secret with its replacement. */
export interface KnownValue extends KnownSecret {
  /** Its replacement: `[HIDDEN:8f2a1b]`. */
  readonly tag: string;
}

/** One secret that was hidden in output, and how often; never a character of it. */
export interface RedactionEntry {
  /** Its replacement: `[HIDDEN:8f2a1b]`. */
  readonly tag: string;
  readonly kind: RedactionFindingKind;
  /** Stable: `github-token`, `key-value`, `url-userinfo`, `known`. */
  readonly rule: string;
  /** How sure, from 0 to 1. */
  readonly score: number;
  /** The name beside it, or of the known value; `null`: none. */
  readonly key: string | null;
  /** Bytes of its first occurrence; `null` for a known value. */
  readonly length: number | null;
  readonly count: number;
  /**
   * Which value it is, for the `reveal` of a command: 32 hex digits, which only this installation
   * can make of it. `null` for a known value, which nothing shows.
   */
  readonly digest: string | null;
}

/** Every tag of a text, also one that nothing hidden stands behind. */
export const tagPattern = /\[HIDDEN:[0-9a-f]{6,64}\]/gu;

/** Tags that this runtime put in the place of secrets. */
export interface IssuedTags {
  /** Whether there is one at all. */
  readonly isUsed: boolean;
  has(tag: string): boolean;
  /** Whether the tag is that of these bytes. */
  isOf(tag: string, secret: Uint8Array): boolean;
}

/** What was hidden in the output of one execution. */
export interface RedactionSummary {
  /** Every replacement. */
  readonly count: number;
  /** Times that what was held back was given out early, because somebody waited for it. */
  readonly forced_flushes: number;
  /** Distinct secrets in the order they came, at most `limits.redactionEntries`. */
  readonly entries: readonly RedactionEntry[];
  /** Distinct secrets beyond that bound. */
  readonly omitted: number;
}

/** What was sealed of a command's output: known values masked, all else as it was printed. */
export interface RawLog {
  /** SHA-256 (hex) of the sealed file and its bytes. */
  readonly sha256: string;
  readonly bytes: number;
  /** Bytes of output in it, a known value as its tag; `null`: not known, for the redactor ended. */
  readonly plain_bytes: number | null;
  /** Whether it holds the output to its end. */
  readonly complete: boolean;
  /** What kept the rest from being sealed, a clause; `null`: nothing. */
  readonly why: string | null;
  /** Public keys of who can read it. */
  readonly recipients: readonly string[];
}
