/** Checksums that some providers put into their keys. */
import { crc32 } from 'node:zlib';

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/**
 * GitHub's and npm's: the last 6 characters are the CRC-32 of what lies between the `_` and them,
 * in base 62, padded with zeros.
 */
export function endsInCrc32(secret: string): boolean {
  const body = secret.slice(secret.lastIndexOf('_') + 1);
  return base62(crc32(body.slice(0, -6))) === body.slice(-6);
}

function base62(value: number): string {
  let rest = value;
  let text = '';
  for (let at = 0; at < 6; at += 1) {
    text = (digits[rest % 62] ?? '') + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}

/** A JSON Web Token's head is base64url of a JSON object that names an algorithm. */
export function hasJwtHead(secret: string): boolean {
  const head = Buffer.from(secret.slice(0, secret.indexOf('.')), 'base64url').toString('latin1');
  return head.startsWith('{') && head.includes('"alg"');
}

/** PyPI's tokens are macaroons: version 2, then the location `pypi.org` or `test.pypi.org`. */
export function isPypiMacaroon(secret: string): boolean {
  const bytes = Buffer.from(secret.slice('pypi-'.length), 'base64url');
  return bytes[0] === 2 && bytes.subarray(0, 24).includes('pypi.org');
}

/** bcrypt's cost is from 4 to 31. */
export function hasBcryptCost(secret: string): boolean {
  const cost = Number(secret.slice(4, 6));
  return cost >= 4 && cost <= 31;
}
