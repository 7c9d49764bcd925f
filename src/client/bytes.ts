/** Bytes and text, with what both browsers and Node have. */

const encoder = new TextEncoder();
// A byte order mark is output like any other.
const lenient = new TextDecoder('utf-8', { ignoreBOM: true });
const strict = new TextDecoder('utf-8', { ignoreBOM: true, fatal: true });

/** Characters per call of `String.fromCharCode`: its arguments are on the stack. */
const charactersMax = 3 * 8_192;

export const encodeUtf8 = (text: string): Uint8Array => encoder.encode(text);

/** Invalid UTF-8 becomes U+FFFD. */
export const decodeUtf8 = (bytes: Uint8Array): string => lenient.decode(bytes);

/** `null` if `bytes` are not UTF-8. */
export function decodeUtf8Strict(bytes: Uint8Array): string | null {
  try {
    return strict.decode(bytes);
  } catch {
    return null;
  }
}

export function concatBytes(parts: readonly Uint8Array[]): Uint8Array {
  const [only] = parts;
  if (parts.length === 1 && only !== undefined) return only;
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

export function toBase64(bytes: Uint8Array): string {
  const parts: string[] = [];
  for (let at = 0; at < bytes.length; at += charactersMax) {
    parts.push(btoa(String.fromCharCode(...bytes.subarray(at, at + charactersMax))));
  }
  return parts.join('');
}

/** @throws DOMException for invalid base64 */
export function fromBase64(text: string): Uint8Array {
  const characters = atob(text);
  const bytes = new Uint8Array(characters.length);
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = characters.charCodeAt(at);
  return bytes;
}

/** For a header or a subprotocol: no `=`, `+` or `/` in it. */
export const toBase64Url = (text: string): string =>
  toBase64(encodeUtf8(text)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');

/** 128 random bits in hex. */
export function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
