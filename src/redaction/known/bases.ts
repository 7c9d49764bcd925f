/**
 * The encodings that pack bytes into other characters, as they look where the bytes stand in the
 * middle of something longer: for each place that the first byte may have in a group, the
 * characters that depend on these bytes alone.
 */
const base32Alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const base32HexAlphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUV';
const base64Alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const uuAlphabet = Array.from({ length: 64 }, (_, value) =>
  String.fromCharCode(value === 0 ? 0x60 : 0x20 + value),
).join('');
const base58Alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
const z85Alphabet =
  '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#';
const base85Alphabet =
  '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~';
const ascii85Alphabet = Array.from({ length: 85 }, (_, value) =>
  String.fromCharCode(0x21 + value),
).join('');

export const base32 = (bytes: Uint8Array): string[] => aligned(bytes, 5, base32Alphabet);
export const base32Hex = (bytes: Uint8Array): string[] => aligned(bytes, 5, base32HexAlphabet);
export const base64 = (bytes: Uint8Array): string[] => aligned(bytes, 6, base64Alphabet);
export const uuencoded = (bytes: Uint8Array): string[] => aligned(bytes, 6, uuAlphabet);
export const base85Variants = (bytes: Uint8Array): string[] =>
  [ascii85Alphabet, base85Alphabet, z85Alphabet].flatMap((alphabet) => groups85(bytes, alphabet));

/** One text for each number of bytes that may stand before in a group: 3 or 5 of them. */
function aligned(bytes: Uint8Array, bits: 5 | 6, alphabet: string): string[] {
  return Array.from({ length: bits === 6 ? 3 : 5 }, (_, before) => {
    const shift = (before * 8) % bits;
    // Whole characters only: the bits of the first byte that complete a character are skipped.
    let skip = shift === 0 ? 0 : bits - shift;
    let text = '';
    let held = 0;
    let count = 0;
    for (const byte of bytes) {
      held = (held << 8) | byte;
      count += 8;
      if (skip > 0) {
        count -= skip;
        skip = 0;
      }
      while (count >= bits) {
        count -= bits;
        text += alphabet[(held >> count) & ((1 << bits) - 1)] ?? '';
      }
      held &= (1 << count) - 1;
    }
    return text;
  });
}

function groups85(bytes: Uint8Array, alphabet: string): string[] {
  return Array.from({ length: 4 }, (_, before) => {
    let text = '';
    for (let at = (4 - before) % 4; at < bytes.length; at += 4) {
      let value = 0;
      for (let place = at; place < at + 4; place += 1) value = value * 256 + (bytes[place] ?? 0);
      let five = '';
      for (let digit = 0; digit < 5; digit += 1) {
        five = (alphabet[value % 85] ?? '') + five;
        value = Math.floor(value / 85);
      }
      text += five.slice(0, Math.min(4, bytes.length - at) + 1);
    }
    return text;
  });
}

/** The bytes as one big number, in base 58 and in base 10. */
export function encodeAsNumbers(bytes: Uint8Array): string[] {
  const number = BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
  let base58 = '';
  for (let rest = number; rest > 0n; rest /= 58n) {
    base58 = (base58Alphabet[Number(rest % 58n)] ?? '') + base58;
  }
  return [base58, number.toString(10)];
}
