/** Names of files, paths, pods, symbols and identifiers of programs. */
import type { LineSpan } from './families.ts';

const extensions = `
  [cm]?[jt]sx? s?[ac]ss map html? json5? woff2? ttf otf eot svg png jpe?g gif webp avif ico
  wasm so dll dylib [ao] obj rlib rmeta d pyc? class jar war whl tgz tar gz xz bz2 zst zip deb
  rpm apk lock log txt xml ya?ml toml mdx? pack idx snap debug bin img iso mp[34] webm pdf
  te?mp cache node gem nupkg crate sock pid vue svelte rs go c h cc cpp hpp java kt rb php
  swift sh diff patch bak db`;
const extension = new RegExp(`^\\.(?:${extensions.trim().split(/\s+/).join('|')})\\b`);

/** C++ of both compilers, both schemes of Rust, Swift. */
const mangled = new RegExp(
  '^(?:_{1,2}Z[\\w.$@]+|_R[A-Z][\\w.]+|\\?[\\w@?$]+|_?\\$s\\w{4,}|_T0\\w+' +
    '|[\\w.$]{0,200}17h[0-9a-f]{16}E?[\\w.@]{0,40}|(?:[\\w$<>]{1,60}::){0,12}h[0-9a-f]{16})$',
);

/** Letters and digits that are hard to confuse, as Kubernetes uses them in names. */
const safe = 'bcdfghjklmnpqrstvwxz2456789';
const pod = new RegExp(
  `^([a-z][a-z0-9.-]{1,80}?)-(?:(?:[${safe}]{6,10}|[0-9a-f]{8,10})-)?[a-z0-9]{4,5}$`,
);

export function isMangledSymbol(token: string): boolean {
  return mangled.test(token);
}

/** `web-api-7d4b9c6f5d-x2k9p`: words, then the suffix of a controller. */
export function isPodName(token: string): boolean {
  const head = pod.exec(token.slice(token.lastIndexOf('/') + 1))?.[1];
  return head !== undefined && head.length >= 3 && isJoinedWords(head);
}

/** `index-Bx3kd9a2.js`, `chunk.8f3a1b2c.css`, `/assets/193f3592246e8ee7fa18.woff2`. */
export function isTokenInFileName(text: string, start: number, end: number): boolean {
  const token = text.slice(start, Math.min(end, start + 256));
  const dot = token.lastIndexOf('.');
  if (dot > 0 && extension.test(token.slice(dot))) return true;
  return text.charCodeAt(end) === 0x2e && extension.test(text.slice(end, end + 9));
}

const pathBefore =
  /(?:^|[\s"'`(=:,])((?:~|\.{1,2})?\/(?:[\w.@+-]{1,40}\/){1,8}|(?:[a-z][\w.@-]{1,40}\/){2,8})$/;

/** Whether the token is part of a path with words in it, and not base64. */
export function isTokenInPath(text: string, start: number, end: number, line: LineSpan): boolean {
  const token = text.slice(start, Math.min(end, start + 256));
  const parts = token.split('/').filter((part) => part !== '');
  if (token.includes('/')) {
    const wordy = parts.filter((part) => part.length > 2 && isJoinedWords(part)).length;
    return wordy * 2 >= parts.length && (wordy >= 2 || (wordy === 1 && /^[./~]/.test(token)));
  }
  if (start === line.start || text.charCodeAt(start - 1) !== 0x2f) return false;
  const before = text.slice(Math.max(line.start, start - 80), start);
  const path = pathBefore.exec(before)?.[1];
  return path !== undefined && isJoinedWords(path.replaceAll('/', '-'));
}

/** Words, numbers and short parts joined by signs: nothing random. */
export function isJoinedWords(token: string): boolean {
  let strange = 0;
  let words = 0;
  for (const part of token.split(/[^A-Za-z0-9]+/)) {
    if (part.length <= 2 || /^[0-9]{1,10}$/.test(part)) continue;
    if (isName(part)) words += 1;
    else if (part.length === 3) continue;
    else if (/^[a-z]{4,12}$/.test(part)) strange += 1;
    else return false;
  }
  return words > 0 && strange * 2 <= words;
}

/** One word or several in camel case, with a few digits at the end or between. */
function isName(part: string): boolean {
  const nameParts = part.match(/[A-Z]{2,}(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[A-Z]/g) ?? [];
  let [letters, words, digits, numbers] = [0, 0, 0, 0];
  for (const namePart of nameParts) {
    if (/^[0-9]/.test(namePart)) {
      digits += namePart.length;
      numbers += 1;
    } else if (isSpoken(namePart)) {
      words += 1;
      letters += namePart.length;
    } else return false;
  }
  if (words === 0) return digits <= 10;
  if (part.length <= 8 && words === 1) return numbers <= 1 && digits <= 5;
  if (numbers > 1 || digits * 2 > letters) return false;
  return letters >= (words > 3 ? 3.5 : 3) * words;
}

/** Pairs that hardly occur in English and in programs. */
const strangePairs = new RegExp(
  '[jqv][bcdfghjkmnpqrtvwxz]|x[bdgjkrvz]|[bcdfghjkmpqtvwxz][jqx]|q[^u]|[bcdfgkmpt]v' +
    '|[cfgmpqv]z|z[bcdfgkmnpr]|h[bcdfgjkpqvxz]|w[jqvxz]|k[cdfghjqvxz]|y[jquvwy]',
  'i',
);

/** Vowels and consonants as in words: no long run of either. */
function isSpoken(word: string): boolean {
  if (word.length <= 3) return true;
  if (word.length > 24) return false;
  const vowels = word.match(/[aeiouyAEIOUY]/g)?.length ?? 0;
  if (word.length > 5 && vowels * 6 < word.length) return false;
  const run = word.length > 7 ? /[^aeiouyAEIOUY]{6}/ : /[^aeiouyAEIOUY]{5}/;
  return vowels > 0 && !run.test(word) && !/[aeiouAEIOU]{5}/.test(word) && !strangePairs.test(word);
}
