/** A bearer token: 256 random bits that only their hash is kept of. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { TrlError } from '../errors.ts';

/** Characters of a presented token: more are nobody's. */
export const tokenCharactersMax = 512;
const mainCharactersMin = 32;

/** `trl_` and 43 characters of base64url. */
export const generateToken = (): string => `trl_${randomBytes(32).toString('base64url')}`;

/** SHA-256: a value of 256 random bits needs no slow hash and no salt. */
export const hashToken = (token: string): Buffer => createHash('sha256').update(token).digest();

/** Takes the same time wherever they differ. */
export const timingSafeEquals = (one: Buffer, other: Buffer): boolean =>
  one.length === other.length && timingSafeEqual(one, other);

/** @throws TrlError `INVALID_PARAMS` for a token of the environment that could be guessed */
export function checkMainToken(token: string): void {
  const { length } = token;
  const action = 'Cannot take TRL_AUTH_TOKEN';
  if (length < mainCharactersMin) {
    const message =
      `${action}: it has ${length} characters, wanted ${mainCharactersMin} or more; ` +
      'for example: export TRL_AUTH_TOKEN="$(openssl rand -hex 32)"';
    throw new TrlError('INVALID_PARAMS', message);
  }
  if (length > tokenCharactersMax || !/^[A-Za-z0-9._~+/=-]+$/.test(token)) {
    const wanted = `${tokenCharactersMax} at most of letters, digits and ._~+/=- (RFC 6750)`;
    throw new TrlError('INVALID_PARAMS', `${action}: wanted ${wanted}`);
  }
}

/**
 * The operator's token, `TRL_AUTH_TOKEN`; `null`: there is none, or none that
 * {@link checkMainToken} takes. A transport that needs one says so.
 */
export function mainTokenIn(env: Readonly<{ [name: string]: string | undefined }>): string | null {
  const token = env['TRL_AUTH_TOKEN'];
  if (token === undefined) return null;
  try {
    checkMainToken(token);
    return token;
  } catch {
    return null;
  }
}
