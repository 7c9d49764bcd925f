/**
 * Base32 (RFC 4648), Ascii85, base85, uuencode and binary patches of git within text.
 *
 * A binary patch (`git diff --binary`) has lines of at most 52 bytes in base85, each with a letter
 * for its length. Together they are a zlib stream: the file, or the delta from another file.
 */
import { base85Names, decodeBase32, decodeBase85, uudecode } from '../encodings/bases.ts';
import type { EncodedRun } from './decode-runs.ts';

export interface BaseEncodedText {
  readonly bytes: Uint8Array;
  readonly via: 'base32' | 'base85' | 'uuencode';
  readonly span: readonly [number, number];
}

const base32Run = /[A-Z2-7]{32,}(?:\r?\n[A-Z2-7]{8,})*={0,6}/g;
/** Matches only from the first character of a run: text has many runs that are too short. */
const base85Run = /(?<![!-~])[!-~]{40,}(?:\r?\n[!-~]{5,})*/g;
const uuRun = /(?:^|\n)((?:M[ -`]{60}\r?\n)*[!-M][ -`]{4,60})(?=\r?\n|$)/g;

export function* findBaseEncoded(text: string): Generator<BaseEncodedText> {
  for (const { 0: run, index } of text.matchAll(base32Run)) {
    yield { bytes: decodeBase32(run), via: 'base32', span: [index, index + run.length] };
  }
  for (const { 0: run, index } of text.matchAll(base85Run)) {
    const digits = run.replaceAll(/\s|^<~|~>$/g, '');
    for (const alphabet of base85Names) {
      const bytes = decodeBase85(digits, alphabet);
      const span = [index, index + run.length] as const;
      if (bytes !== null) yield { bytes, via: 'base85', span };
    }
  }
  for (const { 0: run, 1: lines = '', index } of text.matchAll(uuRun)) {
    const bytes = uudecode(lines);
    if (bytes !== null) yield { bytes, via: 'uuencode', span: [index, index + run.length] };
  }
}

const patchHeader = /^[ \t>+]{0,8}(?:literal|delta) \d{1,12}\r?$/gm;
const patchRow =
  /[ \t>+]{0,8}([A-Za-z])((?:[0-9A-Za-z!#$%&()*+;<=>?@^_`{|}~-]{5}){1,13})\r?(?:\n|$)/y;

/** @param text one character for each byte */
export function* findPatchRuns(text: string): Generator<EncodedRun> {
  if (!text.includes('GIT binary patch')) return;
  for (const { index, 0: line } of text.matchAll(patchHeader)) {
    const rows: Uint8Array[] = [];
    const from = index + line.length + 1;
    let to = from;
    for (patchRow.lastIndex = from; ;) {
      const [row, letter = '', packed = ''] = patchRow.exec(text) ?? [];
      if (row === undefined) break;
      to += row.length;
      const bytes = decodeBase85(packed, 'base85', 'wrap') ?? new Uint8Array();
      rows.push(bytes.subarray(0, patchRowBytes(letter)));
    }
    const bytes = Buffer.concat(rows);
    if (bytes.length === 0) continue;
    yield { bytes, via: 'git-patch', span: [from, to], mixed: true, isCertain: true };
  }
}

/** `A` to `Z` are 1 to 26, `a` to `z` 27 to 52. */
function patchRowBytes(letter: string): number {
  const code = letter.charCodeAt(0);
  return code <= 0x5a ? code - 0x40 : code - 0x60 + 26;
}
