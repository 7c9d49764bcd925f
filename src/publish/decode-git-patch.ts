/**
 * Binary patches of git (`git diff --binary`): lines of 52 bytes at most in git's base 85, each
 * behind a letter for its length, of a zlib stream that is the file or what makes it of another.
 */
import type { EncodedRun } from './decode-runs.ts';

const digits =
  '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~';
const valueOf = new Map(Array.from(digits, (digit, value) => [digit, value] as const));
const header = /^[ \t>+]{0,8}(?:literal|delta) \d{1,12}\r?$/gm;
const rowForm =
  /[ \t>+]{0,8}([A-Za-z])((?:[0-9A-Za-z!#$%&()*+;<=>?@^_`{|}~-]{5}){1,13})\r?(?:\n|$)/y;

/** @param text one character for each byte */
export function* findPatchRuns(text: string): Generator<EncodedRun> {
  if (!text.includes('GIT binary patch')) return;
  for (const { index, 0: line } of text.matchAll(header)) {
    const rows: Uint8Array[] = [];
    const from = index + line.length + 1;
    let to = from;
    for (rowForm.lastIndex = from; ;) {
      const [row, letter = '', packed = ''] = rowForm.exec(text) ?? [];
      if (row === undefined) break;
      to += row.length;
      rows.push(unpacked(packed).subarray(0, lengthOf(letter)));
    }
    const bytes = Buffer.concat(rows);
    if (bytes.length === 0) continue;
    yield { bytes, via: 'git-patch', span: [from, to], mixed: true, isCertain: true };
  }
}

/** `A` to `Z` are 1 to 26, `a` to `z` 27 to 52. */
function lengthOf(letter: string): number {
  const code = letter.charCodeAt(0);
  return code <= 0x5a ? code - 0x40 : code - 0x60 + 26;
}

/** Four bytes for five digits, the highest first. */
function unpacked(packed: string): Buffer {
  const bytes = Buffer.alloc((packed.length / 5) * 4);
  for (let at = 0; at < packed.length; at += 5) {
    let value = 0;
    for (const digit of packed.slice(at, at + 5)) value = value * 85 + (valueOf.get(digit) ?? 0);
    bytes.writeUInt32BE(value % 2 ** 32, (at / 5) * 4);
  }
  return bytes;
}
