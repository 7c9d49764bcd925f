/**
 * What everybody knows, so that a copy of it discloses nothing:
 *
 * - words: names of the web platform and of Python, keywords, English as manuals use it; a Bloom
 *   filter that takes about one in five hundred other words for one of them, made by
 *   tools/word-background.ts;
 * - hosts of standards, package registries, documentation and forges;
 * - common licenses: fingerprints of their letters and digits, so that comment marks, bullets and
 *   line breaks do not matter, made by tools/license-background.ts. The data file names the texts.
 */
import licenseData from './background-licenses.json' with { type: 'json' };
import wordData from './background-words.json' with { type: 'json' };
import { gramChars, GramHashes } from './fingerprint.ts';
import { lineEnd } from './view-normal.ts';

/** 2^19 bits for at most 44,000 words. */
export const wordFilterBytes = 1 << 16;
const bitMask = wordFilterBytes * 8 - 1;
const bitsPerWord = 8;

const wordFilter = Uint8Array.from(Buffer.from(wordData.filter, 'base64'));

/** Bits of the filter that belong to the word `chars[from, to)`, whatever its case. */
export function wordFilterBits(chars: Uint8Array, from: number, to: number): Uint32Array {
  let one = 0x811c9dc5;
  let two = 0x27d4eb2f;
  for (let at = from; at < to; at += 1) {
    const char = chars[at] ?? 0;
    const lower = char >= 0x41 && char <= 0x5a ? char + 32 : char;
    one = Math.imul(one ^ lower, 0x01000193);
    two = (Math.imul(two, 0x2c9277b5) + lower) | 0;
  }
  one = Math.imul(one ^ (one >>> 16), 0x7feb352d);
  two = Math.imul(two ^ (two >>> 15), 0x846ca68b) | 1;
  const bits = new Uint32Array(bitsPerWord);
  for (let i = 0; i < bitsPerWord; i += 1) {
    one = (one + two) | 0;
    bits[i] = (one ^ (one >>> 13)) & bitMask;
  }
  return bits;
}

/** Everybody uses words of one and two characters. */
export function isPublicWord(chars: Uint8Array, from: number, to: number): boolean {
  if (to - from < 3) return true;
  return wordFilterBits(chars, from, to).every(
    (bit) => ((wordFilter[bit >>> 3] ?? 0) & (1 << (bit & 7))) > 0,
  );
}

const publicHosts = new Set(
  `w3.org ietf.org rfc-editor.org iana.org unicode.org iso.org whatwg.org ecma-international.org
  tc39.es json-schema.org schema.org spdx.org opensource.org creativecommons.org gnu.org fsf.org
  apache.org mozilla.org wikipedia.org wikimedia.org stackoverflow.com stackexchange.com github.com
  githubusercontent.com github.io gitlab.com bitbucket.org sourceforge.net npmjs.com npmjs.org
  nodejs.org typescriptlang.org eslint.org python.org pypi.org readthedocs.io readthedocs.org
  debian.org ubuntu.com kernel.org freedesktop.org gnome.org kde.org perl.org cpan.org metacpan.org
  rust-lang.org crates.io docs.rs golang.org go.dev ruby-lang.org rubygems.org php.net oracle.com
  java.com maven.org microsoft.com google.com googleapis.com googlesource.com chromium.org
  webkit.org apple.com amazon.com jquery.com reactjs.org react.dev vuejs.org babeljs.io
  webpack.js.org rollupjs.org vitejs.dev unpkg.com jsdelivr.net cloudflare.com cdnjs.com shields.io
  travis-ci.org travis-ci.com codecov.io coveralls.io badge.fury.io opencollective.com
  patreon.com tidelift.com paypal.me twitter.com x.com youtube.com medium.com gitter.im discord.gg
  discord.com slack.com
  conventionalcommits.org semver.org keepachangelog.com contributor-covenant.org editorconfig.org
  example.com example.org example.net localhost bugs.chromium.org crbug.com caniuse.com
  web.dev reproducible-builds.org openssl.org curl.se sqlite.org postgresql.org mysql.com
  docker.com kubernetes.io ansible.com opengroup.org ieee.org acm.org doi.org arxiv.org`
    .trim()
    .split(/\s+/),
);

/** The part of a host name that is a public host; `''`: none is. */
export function publicSuffix(host: string): string {
  const parts = host.toLowerCase().split('.');
  return parts.map((_, i) => parts.slice(i).join('.')).find((name) => publicHosts.has(name)) ?? '';
}

/** Characters around a run that are examined with it: license text continues beyond its ends. */
const contextChars = 96;
/** The most characters between two fingerprints of one license text. */
const bridgedMax = 40;

const licenses = numbers(licenseData.fingerprints);

/** Base64 of ascending 32-bit numbers, little endian. */
function numbers(base64: string): Uint32Array {
  const bytes = Uint8Array.from(Buffer.from(base64, 'base64'));
  return new Uint32Array(bytes.buffer, 0, bytes.length >>> 2);
}

function isLicense(hash: number): boolean {
  let [low, high] = [0, licenses.length - 1];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((licenses[middle] ?? 0) < hash) low = middle + 1;
    else high = middle;
  }
  return licenses[low] === hash;
}

/**
 * A mark (1) for each character of `chars[from, to)` that is license text; `null`: there is none.
 */
export function markLicenseText(chars: Uint8Array, from: number, to: number): Uint8Array | null {
  const first = Math.max(0, from - contextChars);
  const last = Math.min(chars.length, to + contextChars);
  const letters = extractLetters(chars, first, last);
  const grams = new GramHashes();
  grams.compute(letters.chars, letters.length);
  let marks: Uint8Array | null = null;
  let markedTo = 0;
  for (let i = 0; i < grams.count; i += 1) {
    if (!isLicense(grams.hashes[i] ?? 0)) continue;
    marks ??= new Uint8Array(last - first);
    const start = grams.starts[i] ?? 0;
    let place = letters.at[start] ?? 0;
    if (markedTo > 0 && start - markedTo <= bridgedMax) {
      const end = letters.at[markedTo - 1] ?? 0;
      if (!isCode(chars, end, place)) place = Math.min(end, place);
    }
    markedTo = start + gramChars;
    marks.fill(1, place - first, (letters.at[markedTo - 1] ?? 0) + 1 - first);
  }
  if (marks === null) return null;
  wholeLines(chars, first, marks);
  return marks.subarray(from - first, to - first);
}

/**
 * Between the helpers of compilers, the author's own text can occur, such as the name of an export.
 */
function isCode(chars: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at += 1) {
    const char = chars[at] ?? 0;
    if (char === 0x7b || char === 0x7d || char === 0x3d) return true;
  }
  return false;
}

/** If most of a line is license text, all of it is: a name, a year, a full stop. */
function wholeLines(chars: Uint8Array, first: number, marks: Uint8Array): void {
  for (let from = 0; from < marks.length;) {
    const found = chars.indexOf(lineEnd, first + from) - first;
    const to = found < 0 || found > marks.length ? marks.length : found;
    let marked = 0;
    for (let at = from; at < to; at += 1) marked += marks[at] ?? 0;
    const prose = to - from < 400 && !isCode(chars, first + from, first + to);
    if (marked * 2 > to - from && prose) marks.fill(1, from, to);
    from = to + 1;
  }
}

export interface LetterSequence {
  readonly chars: Uint8Array;
  readonly at: Uint32Array;
  readonly length: number;
}

/** The lower-case letters and digits of `chars[from, to)`, and their positions. */
export function extractLetters(chars: Uint8Array, from: number, to: number): LetterSequence {
  const letters = new Uint8Array(to - from);
  const at = new Uint32Array(to - from);
  let length = 0;
  for (let i = from; i < to; i += 1) {
    const char = chars[i] ?? 0;
    const lower = char >= 0x41 && char <= 0x5a ? char + 32 : char;
    const digit = char >= 0x30 && char <= 0x39;
    if (!digit && !(lower >= 0x61 && lower <= 0x7a)) continue;
    letters[length] = lower;
    at[length] = i;
    length += 1;
  }
  return { chars: letters, at, length };
}
