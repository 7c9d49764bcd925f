/** Why a raw log cannot be read, or a key not used. */

export type SealingReason =
  /** A key, an identity file or a header is none. */
  | 'malformed'
  /** There is no raw log. */
  | 'absent'
  /** Its key was destroyed; nobody reads it any more. */
  | 'shredded'
  /** It was sealed, but to others. */
  | 'wrong-identity'
  /** It ends too soon: whoever wrote it was ended, the disk was full, or somebody cut it. */
  | 'truncated'
  /** Bytes of it, or of its header, are not those that were written. */
  | 'altered';

/** The message is a sentence for people and holds nothing of a secret. */
export class SealingError extends Error {
  readonly reason: SealingReason;

  constructor(reason: SealingReason, message: string) {
    super(message);
    this.name = 'SealingError';
    this.reason = reason;
  }
}
