/** Where values come from. A source is read-only and lazy: it is asked when a value is wanted. */
import { TrlError } from '../errors.ts';
import { limits } from '../limits.ts';
import type { SourceKind } from './secret.ts';

export interface SecretSource {
  readonly kind: SourceKind;
  /** Which one of its kind: a file's path, a command's program; `null`: there is only one. */
  readonly origin: string | null;
  /**
   * Where all of it may be read at the start, so that values are masked before their use: a text
   * that is another one whenever names or values may be. `null`: read only what is wanted.
   */
  mark(): string | null;
  /** How long a value that was read holds, in `ms`; `null`: until the source itself changes. */
  readonly cacheMs: number | null;
  /**
   * Names that it has; no value is kept.
   *
   * @throws TrlError `SECRET_UNAVAILABLE` when it cannot be asked
   */
  names(): Promise<readonly string[]>;
  /**
   * The value of `name`, or `null` when it has none.
   *
   * @throws TrlError `SECRET_UNAVAILABLE`; the message has no character of a value
   */
  read(name: string): Promise<string | null>;
  /**
   * Values that must be masked though no command is given them, such as the runtime's own keys.
   * Default: none.
   */
  hidden?(): readonly { readonly name: string; readonly value: string }[];
}

/** Bytes of one value in UTF-8. */
export const secretValueBytesMax = limits.secretBytes.max;

/** A name that a shell can use as a variable. */
export const isVariableName = (name: string): boolean =>
  /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && name.length <= 256;

/** Without the one line end that programs and editors put behind a value. */
export const withoutLineEnd = (text: string): string => text.replace(/\r?\n$/, '');

/** @param reason one clause, without a character of what was read */
export function secretUnavailableError(action: string, reason: string, cause?: unknown): TrlError {
  return new TrlError('SECRET_UNAVAILABLE', `Cannot ${action}: ${reason}`, { cause });
}

/** `ENOENT` … of a failed system call, or `null`. */
export function errnoOf(error: unknown): string | null {
  return error instanceof Error && 'code' in error ? String(error.code) : null;
}

/**
 * The bytes as text.
 *
 * @throws TrlError `SECRET_UNAVAILABLE` when they are too many, no UTF-8, or hold NUL
 */
export function decodeSecretText(bytes: Uint8Array, action: string): string {
  if (bytes.length > secretValueBytesMax) {
    throw secretUnavailableError(action, `it is larger than ${secretValueBytesMax} bytes`);
  }
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw secretUnavailableError(action, 'it is binary, and a variable holds only text');
  }
  if (text.includes('\0')) {
    throw secretUnavailableError(action, 'it holds a NUL byte, and a variable cannot');
  }
  return text;
}
