/** Rules for forms of keys, as rows of the tables in this folder, and checksums within keys. */
import { crc32 } from 'node:zlib';

/** One form of key, as a row of the tables in this folder. */
export interface SecretRule {
  /** Stable, shown with each redaction: `github-token`. */
  readonly id: string;
  /** In the notation of `key-shape.ts`; any of them matches. */
  readonly shapes: readonly string[];
  /** Confidence of a match, from 0 to 1; default .95. */
  readonly score: number;
  /** Words of which one must precede, on the same line and at most 40 characters before. */
  readonly near: readonly string[];
  /** For a rule with `near`: whether a word such as "key" must follow the word at once. */
  readonly joined: boolean;
  /** Whether the literals match in any case. */
  readonly fold: boolean;
  /** Whether it can follow a letter or digit: the literal is distinctive. */
  readonly anywhere: boolean;
  /** Whether text that looks like words or a placeholder counts, too. */
  readonly wordy: boolean;
  /** True raises the score to .99. False changes nothing: an altered key is still a key. */
  readonly checksum: ((secret: string) => boolean) | null;
  /** Texts that must not match, in addition to those that the test derives from the shapes. */
  readonly negatives: readonly string[];
}

const usual = {
  score: 0.95,
  near: [],
  joined: false,
  fold: false,
  anywhere: false,
  wordy: false,
  checksum: null,
  negatives: [],
} as const;

/** A rule whose shapes have a literal of their own. */
export function defineRule(
  id: string,
  shapes: string | readonly string[],
  options: Partial<Omit<SecretRule, 'id' | 'shapes' | 'near'>> = {},
): SecretRule {
  return { ...usual, id, shapes: typeof shapes === 'string' ? [shapes] : shapes, ...options };
}

/** A rule whose shapes only mean something next to one of the lower-case words. */
export function defineNearRule(
  id: string,
  words: string | readonly string[],
  shapes: string | readonly string[] = ['{s16-200}'],
): SecretRule {
  return {
    ...usual,
    id,
    near: typeof words === 'string' ? [words] : words,
    shapes: typeof shapes === 'string' ? [shapes] : shapes,
    score: 0.85,
  };
}

const base62Digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/**
 * GitHub and npm: the last 6 characters are the CRC-32 of the text between the `_` and them, in
 * base 62, padded with zeros.
 */
export function endsInCrc32(secret: string): boolean {
  const body = secret.slice(secret.lastIndexOf('_') + 1);
  return base62(crc32(body.slice(0, -6))) === body.slice(-6);
}

function base62(value: number): string {
  let rest = value;
  let text = '';
  for (let at = 0; at < 6; at += 1) {
    text = (base62Digits[rest % 62] ?? '') + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}

/** The head of a JSON Web Token is base64url of a JSON object that names an algorithm. */
export function hasJwtHead(secret: string): boolean {
  const head = Buffer.from(secret.slice(0, secret.indexOf('.')), 'base64url').toString('latin1');
  return head.startsWith('{') && head.includes('"alg"');
}

/** Tokens of PyPI are macaroons: version 2, then the location `pypi.org` or `test.pypi.org`. */
export function isPypiMacaroon(secret: string): boolean {
  const bytes = Buffer.from(secret.slice('pypi-'.length), 'base64url');
  return bytes[0] === 2 && bytes.subarray(0, 24).includes('pypi.org');
}

/** The cost of bcrypt is from 4 to 31. */
export function hasBcryptCost(secret: string): boolean {
  const cost = Number(secret.slice(4, 6));
  return cost >= 4 && cost <= 31;
}
