/** Hashes and identifiers in hexadecimal, and numbers. */
import type { BenignFamily } from './family.ts';
import { readLabelBefore, isBenignLabel } from './token-label.ts';
import { familyOfHexLine, type LineSpan } from './line-families.ts';

/** The lengths of MD5, SHA-1, SHA-224, SHA-256, SHA-384 and SHA-512. */
const digestLengths = new Set([32, 40, 56, 64, 96, 128]);
/** Of spans and traces, ObjectIds, short revisions and container ids. */
const idLengths = new Set([7, 8, 9, 10, 11, 12, 16, 20, 24]);

const prefixed = /(?:sha-?(?:1|224|256|384|512)|md5|blake[23]\w?|git)[-:=(@]\(?$/i;
const revisions = new RegExp(
  '(?:\\.\\.|[@^~#+]|-g|' +
    '\\/(?:commits?|tree|blob|compare|archive|raw|zipball|tarball|revs?|revision)\\/)$',
);
const after = /^(?:\.\.\.?[0-9a-f]|[\^~]\d|@\{)/;
/** Characters of which one ends what `prefixed` and `revisions` match. */
const joints = '-:=(@.^~#+g/';

/** A token of hexadecimal digits in one case. */
export function recogniseHex(
  text: string,
  start: number,
  end: number,
  line: LineSpan,
): BenignFamily | null {
  const length = end - start;
  const digest = digestLengths.has(length);
  if (start === line.start) {
    // `<digest>  file`, `<digest> *file`
    const next = text.charCodeAt(end + 1);
    const listed = text.charCodeAt(end) === 0x20 && (next === 0x20 || next === 0x2a);
    if (digest && listed && end + 2 < line.end) return 'digest-list';
  } else {
    const found = recogniseAfter(text, start, end, line);
    if (found !== null) return found;
  }
  const family = familyOfHexLine(text, line);
  if (family !== null && (digest || length < 41)) return family;
  const following = text.charCodeAt(end);
  if (following === 0x2e || following === 0x5e || following === 0x7e || following === 0x40) {
    if (after.test(text.slice(end, Math.min(line.end, end + 4)))) return 'git-object';
  }
  if (digest) return 'hex-digest';
  return idLengths.has(length) || length < 16 ? 'hex-id' : null;
}

/** By what stands before it on the line. */
function recogniseAfter(
  text: string,
  start: number,
  end: number,
  line: LineSpan,
): BenignFamily | null {
  if (joints.includes(text.charAt(start - 1))) {
    const before = text.slice(Math.max(line.start, start - 12), start);
    if (prefixed.test(before)) return 'digest-prefixed';
    if (revisions.test(before)) return 'git-object';
  } else if (/^0x$/i.test(text.slice(start - 2, start))) {
    return end - start <= 16 ? 'address' : null;
  }
  const label = readLabelBefore(text, start, line.start);
  if (label === null || !isBenignLabel(label)) return null;
  return label.assigned ? 'digest-labelled' : 'git-object';
}

/** `0x00007f3ae5bed000`: an address; longer ones are of accounts or hashes. */
export function recogniseAddress(token: string): BenignFamily | null {
  if (!/^0x[0-9a-f]{1,64}$/i.test(token)) return null;
  if (token.length <= 18) return 'address';
  if (token.length === 42) return 'hex-id';
  return token.length === 66 ? 'hex-digest' : null;
}

const uuidForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function isUuid(token: string): boolean {
  return token.length === 36 && uuidForm.test(token);
}

const forms: readonly (readonly [RegExp, BenignFamily])[] = [
  [/^(?:\d{1,3}\.){3}\d{1,3}(?:[:/]\d{1,5})?$/, 'ip-address'],
  [/^\d{4}-?\d\d-?\d\d(?:[T _-]?\d\d[\d:.,-]{0,18})?(?:Z|[+-]\d\d:?\d\d)?$/, 'timestamp'],
  [/^\d{1,4}(?:[-/.:]\d{1,4}){2,5}(?:[.,]\d+)?Z?$/, 'timestamp'],
  [/^(?:[0-9a-f]{2}[:-]){5}(?:[0-9a-f]{2})$/i, 'mac-address'],
  [/^(?:[0-9a-f]{2}:){6,}[0-9a-f]{0,2}:?$/i, 'byte-list'],
  [/^(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{0,4}(?:%\w+)?(?:\/\d{1,3})?$/i, 'ip-address'],
  [/^v?(?:\d+:)?\d+(?:\.\d+)+(?:[-+~.:][A-Za-z0-9]{1,16}){0,12}~?$/, 'version'],
  [/^[0-9a-f]{7,40}\.{2,3}[0-9a-f]{7,40}$/, 'git-object'],
  [
    /^[+-]?(?:\d[\d_,]{0,20}\.?\d{0,20}|\.\d{1,20})(?:e[+-]?\d+)?(?:[kmgtp]i?b?|ms|us|ns|s|%)?$/i,
    'number',
  ],
  [/^[0-9a-f]+(?:[-:][0-9a-f]+){2,}$/i, 'hex-id'],
];

/** Dates, versions, addresses and numbers: digits with little else. */
export function recogniseNumeric(token: string): BenignFamily | null {
  for (const [form, family] of forms) if (form.test(token)) return family;
  return null;
}
