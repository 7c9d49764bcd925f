/** Base64 and hexadecimal that are recognised by their content or their place; and numbers. */
import { familyOfHexLine, type BenignFamily, type LineSpan } from './families.ts';
import { isBenignLabel, readLabelBefore } from './token-label.ts';

const digestPrefix = /(?:sha(?:1|256|384|512)|md5)[-:=]$/i;

/** PNG, JPEG, GIF, WebP, WOFF, TTF, OTF, PDF, ZIP, gzip, SVG, XML, ELF, WebAssembly, MP3, icons. */
const media = new RegExp(
  '^(?:iVBORw0KGgo|\\/9j\\/|R0lGOD|UklGR|d09G[Rg2M]|AAEAAAA|T1RUTw|JVBERi|UEsDB|H4sI|PHN2Z' +
    '|PD94bW|f0VMR|AGFzbQ|SUQz|AAABAA)',
);
/** A sequence with a version in it, and the key types of X.509 and ssh. */
const certificate = /^MII[A-Za-z0-9+/]{3}CC[AB]/;
const publicKey = new RegExp(
  '^(?:AAAA(?:B3NzaC1|C3NzaC1|E2VjZHNh|G(?:nNr|nNz)|Inn?Nr)|MIIB(?:Ij|oj)ANBgkqhkiG9w0BAQE' +
    '|MIICIjANBgkqhkiG9w0BAQE|MFkwEwYHKoZIzj0|MHYwEAYHKoZIzj0|MCowBQYDK2V|MIG[fe]MA0GCSqGSIb3DQEB)',
);
/** A recipient of `age`. */
const agePublic = /^age1[02-9ac-hj-np-z]{58}$/;
/** `zh:` of Terraform's lock file, and names of hashes. */
const listed = new RegExp(
  '^(?:zh|b2|b3|blake2[bs]?|blake3|xxh(?:3|32|64|128)|crc32c?|md5|sha\\d{1,3}|sha3-\\d{3}' +
    '|ripemd160|git|hg):[0-9a-f]{8,128}$',
);
const sshBefore = /\b(?:ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-\S{1,20}|sk-\S{1,40}) $/;
const sourceMap = /^(?:[A-Za-z0-9+/]{0,9}[,;]){3}/;

/** Recognises a token in the base64 alphabets. */
export function recogniseEncoded(
  text: string,
  start: number,
  end: number,
  line: LineSpan,
): BenignFamily | null {
  const token = text.slice(start, Math.min(end, start + 144));
  if (/^sha(?:1|256|384|512)[-:=]/i.test(token)) {
    return token.charAt(6) === ':' && end - start === 50 ? 'key-fingerprint' : 'integrity';
  }
  if (/^h1:[A-Za-z0-9+/]{43}=$/.test(token)) return 'go-sum';
  if (listed.test(token)) return 'digest-prefixed';
  if (publicKey.test(token) || agePublic.test(token)) return 'public-key';
  if (certificate.test(token)) return 'certificate';
  if (media.test(token) && end - start >= 24) return 'media-bytes';
  if (/^data:[\w.+/-]{1,40};/.test(token)) return 'data-uri';
  if (start > line.start) {
    const found = recogniseEncodedAfter(text, start, end, line);
    if (found !== null) return found;
  }
  const alone = start === line.start && end === line.end;
  const length = end - start;
  if (!alone || length > 76) return null;
  const wrapped = length === 64 || length === 70 || length === 76;
  const whole = text.slice(start, end);
  // Base64 of this length has letters in both cases; base32 and base36 do not.
  const mixed = /[a-z]/.test(whole) && /[A-Z]/.test(whole);
  if (wrapped && mixed && /^[A-Za-z0-9+/]+$/.test(whole)) return 'base64-line';
  if (length % 4 !== 0 || !/^[A-Za-z0-9]*[+/=]/.test(whole)) return null;
  // 32 bytes: the usual size of a key, but only of one last line in 48.
  if (length === 44 && /[^=]=$/.test(whole)) return null;
  // Without padding, a last line could be a key; the secret keys of AWS have 40 characters.
  const tail = whole.endsWith('=') || (length !== 40 && /^[A-Za-z0-9+/]{16,60}$/.test(whole));
  return tail ? 'base64-tail' : null;
}

/** By the text before it on the line. */
function recogniseEncodedAfter(
  text: string,
  start: number,
  end: number,
  line: LineSpan,
): BenignFamily | null {
  const last = text.charCodeAt(start - 1);
  const before = text.slice(Math.max(line.start, start - 40), start);
  if (last === 0x3a || last === 0x2d || last === 0x3d) {
    if (digestPrefix.test(before)) return end - start === 43 ? 'key-fingerprint' : 'integrity';
    return before.endsWith('h1:') ? 'go-sum' : null;
  }
  if (last === 0x20) return sshBefore.test(before) ? 'public-key' : null;
  if (last === 0x2c && before.endsWith('base64,')) return 'data-uri';
  if (last === 0x2c || last === 0x3b || last === 0x22) {
    return isSourceMap(text, start, end, before) ? 'source-map' : null;
  }
  return null;
}

function isSourceMap(text: string, start: number, end: number, before: string): boolean {
  if (/"?mappings"?[ \t]{0,2}[:=][ \t]{0,2}\\?"[;,A-Za-z0-9+/]{0,20}$/.test(before)) return true;
  const around = text.slice(Math.max(0, start - 12), start);
  const after = text.slice(end, end + 24);
  if (!/[,;]$/.test(around) || !/[A-Z]{2}[,;]/.test(around)) return false;
  return sourceMap.test(around + text.slice(start, end) + after);
}

/** The lengths of MD5, SHA-1, SHA-224, SHA-256, SHA-384 and SHA-512. */
const digestLengths = new Set([32, 40, 56, 64, 96, 128]);
/** For spans and traces, ObjectIds, short revisions and container ids. */
const idLengths = new Set([7, 8, 9, 10, 11, 12, 16, 20, 24]);

const hexPrefix = /(?:sha-?(?:1|224|256|384|512)|md5|blake[23]\w?|git)[-:=(@]\(?$/i;
const revisions = new RegExp(
  '(?:\\.\\.|[@^~#+]|-g|' +
    '\\/(?:commits?|tree|blob|compare|archive|raw|zipball|tarball|revs?|revision)\\/)$',
);
const after = /^(?:\.\.\.?[0-9a-f]|[\^~]\d|@\{)/;
/** The possible last characters of `hexPrefix` and `revisions`. */
const joints = '-:=(@.^~#+g/';

/** Recognises a token of hexadecimal digits in one case. */
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
    const found = recogniseHexAfter(text, start, end, line);
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

/** By the text before it on the line. */
function recogniseHexAfter(
  text: string,
  start: number,
  end: number,
  line: LineSpan,
): BenignFamily | null {
  if (joints.includes(text.charAt(start - 1))) {
    const before = text.slice(Math.max(line.start, start - 12), start);
    if (hexPrefix.test(before)) return 'digest-prefixed';
    if (revisions.test(before)) return 'git-object';
  } else if (/^0x$/i.test(text.slice(start - 2, start))) {
    return end - start <= 16 ? 'address' : null;
  }
  const label = readLabelBefore(text, start, line.start);
  if (label === null || !isBenignLabel(label)) return null;
  return label.assigned ? 'digest-labelled' : 'git-object';
}

/** `0x00007f3ae5bed000`: an address; longer ones are accounts or hashes. */
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

const numericForms: readonly (readonly [RegExp, BenignFamily])[] = [
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
  for (const [form, family] of numericForms) if (form.test(token)) return family;
  return null;
}
