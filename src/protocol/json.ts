/**
 * Reads one JSON object from untrusted bytes. `JSON.parse` alone accepts what no client intends: a
 * duplicate key, `__proto__`, replaced bytes for bad UTF-8. A scan before it refuses those, and
 * limits depth and keys, in one pass without recursion.
 */
import { isUtf8 } from 'node:buffer';
import { TrlError } from '../errors.ts';
import { limits } from '../limits.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

/** Keys in one request, nested ones included: two million tiny keys cost a second to read. */
export const jsonKeysMax = 65_536;

const quote = 0x22;
const comma = 0x2c;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/**
 * Parses one JSON object, without its line end.
 *
 * @throws TrlError `INVALID_PARAMS` when the bytes are more than `limits.frameBytes`, are not
 *   UTF-8 or not one JSON object, nest deeper than `limits.frameDepth`, hold more than
 *   {@link jsonKeysMax} keys, hold a key twice in one object, or hold the key `__proto__`.
 */
export function parseJsonObject(bytes: Uint8Array): JsonObject {
  if (bytes.length > limits.frameBytes.max) {
    throw refusal(`it is ${bytes.length} bytes, at most ${limits.frameBytes.max} are read`);
  }
  if (!isUtf8(bytes)) throw refusal('it is not valid UTF-8');
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
  scan(text);
  const value = parse(text);
  if (!isJsonObject(value)) {
    throw refusal(`it must be a JSON object, got ${describeJsonType(value)}`);
  }
  return value;
}

/** Whether `value` is a JSON object: neither an array nor `null`. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** `nothing`, `null`, `an array`, `an object` or `a string` … for messages. */
export function describeJsonType(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw refusal('it is not JSON', cause);
  }
}

/**
 * Refuses what `JSON.parse` would accept or fail on. Text that is not JSON may pass: the parse
 * refuses it. A key is the first string after `{` or `,` in an object, which is exact for text that
 * is JSON.
 */
function scan(text: string): void {
  const seen: (Set<string> | null)[] = [];
  let keys: Set<string> | null = null;
  let atKey = false;
  let count = 0;
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case quote: {
        const end = endOfString(text, at);
        if (atKey && keys !== null) {
          count += 1;
          if (count > jsonKeysMax) throw refusal(`it holds more than ${jsonKeysMax} keys`);
          noteKey(keys, text.slice(at, end + 1));
          atKey = false;
        }
        at = end;
        break;
      }
      case openBrace:
      case openBracket:
        if (seen.length >= limits.frameDepth.max) {
          throw refusal(`it nests deeper than ${limits.frameDepth.max} levels`);
        }
        atKey = text.charCodeAt(at) === openBrace;
        keys = atKey ? new Set() : null;
        seen.push(keys);
        break;
      case closeBrace:
      case closeBracket:
        seen.pop();
        keys = seen.at(-1) ?? null;
        atKey = false;
        break;
      case comma:
        atKey = keys !== null;
        break;
    }
  }
}

/** Index of the quote that ends the string which starts at `start`. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === backslash) slashes += 1;
    if (slashes % 2 === 0) return end;
  }
  throw refusal('it is not JSON: a string does not end');
}

function noteKey(keys: Set<string>, quoted: string): void {
  const key = quoted.includes('\\') ? String(parse(quoted)) : quoted.slice(1, -1);
  if (key === '__proto__') throw refusal('the key "__proto__" is not allowed');
  if (keys.has(key)) throw refusal(`the key ${shortened(quoted)} is there twice`);
  keys.add(key);
}

function shortened(quoted: string): string {
  return quoted.length <= 66 ? quoted : `${quoted.slice(0, 64)}…"`;
}

function refusal(reason: string, cause?: unknown): TrlError {
  return new TrlError('INVALID_PARAMS', `Cannot read the request: ${reason}`, { cause });
}
