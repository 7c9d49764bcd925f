/**
 * Bech32, the notation of keys: a readable prefix, `1`, five bits per character, and a checksum
 * that detects any four wrong characters. Source: BIP 173; without its limit on the length, as in
 * age.
 */
const alphabet = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l';
const generators = [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3];
const checksumLength = 6;

/** Why a text is invalid, without a character of it, because it may be a secret. */
export type Bech32Problem =
  | 'mixes upper and lower case'
  | 'has no "1" after its prefix'
  | 'has a character that no key has'
  | 'has a wrong checksum: a character is wrong, missing or twice'
  | 'has unused bits that are not zero';

/** @param prefix lower-case letters, digits and hyphens */
export function encodeBech32(prefix: string, bytes: Uint8Array): string {
  const data = regroup(bytes, 8, 5, true);
  const summed = polymod([...expanded(prefix), ...data, ...Array.from({ length: 6 }, () => 0)]) ^ 1;
  const sum = Array.from({ length: checksumLength }, (_, at) => (summed >> (5 * (5 - at))) & 31);
  return `${prefix}1${[...data, ...sum].map((five) => alphabet[five] ?? '').join('')}`;
}

/** The prefix in lower case and the bytes after it, or what is wrong. */
export function decodeBech32(
  text: string,
): { readonly prefix: string; readonly bytes: Uint8Array } | Bech32Problem {
  const lower = text.toLowerCase();
  if (text !== lower && text !== text.toUpperCase()) return 'mixes upper and lower case';
  const separator = lower.lastIndexOf('1');
  if (separator < 1 || separator + 1 + checksumLength > lower.length) {
    return 'has no "1" after its prefix';
  }
  const prefix = lower.slice(0, separator);
  const fives = Array.from(lower.slice(separator + 1), (letter) => alphabet.indexOf(letter));
  if (fives.includes(-1) || /[^\x21-\x7e]/.test(prefix)) return 'has a character that no key has';
  if (polymod([...expanded(prefix), ...fives]) !== 1) {
    return 'has a wrong checksum: a character is wrong, missing or twice';
  }
  const data = fives.slice(0, -checksumLength);
  const bytes = regroup(data, 5, 8, false);
  const isExact = encodeBech32(prefix, Uint8Array.from(bytes)) === lower;
  return isExact ? { prefix, bytes: Uint8Array.from(bytes) } : 'has unused bits that are not zero';
}

const expanded = (prefix: string): number[] => {
  const codes = Array.from(prefix, (letter) => letter.charCodeAt(0));
  return [...codes.map((code) => code >> 5), 0, ...codes.map((code) => code & 31)];
};

function polymod(values: readonly number[]): number {
  let sum = 1;
  for (const value of values) {
    const top = sum >> 25;
    sum = ((sum & 0x1ffffff) << 5) ^ value;
    for (const [bit, generator] of generators.entries()) if ((top >> bit) & 1) sum ^= generator;
  }
  return sum;
}

function regroup(values: Iterable<number>, from: number, to: number, pads: boolean): number[] {
  const out: number[] = [];
  let held = 0;
  let bits = 0;
  for (const value of values) {
    held = ((held << from) | value) & 0xfff;
    bits += from;
    for (; bits >= to; bits -= to) out.push((held >> (bits - to)) & ((1 << to) - 1));
  }
  if (pads && bits > 0) out.push((held << (to - bits)) & ((1 << to) - 1));
  return out;
}
