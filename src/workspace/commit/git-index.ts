/**
 * Whether git, when it writes the files of its index into the tree (`git checkout .`,
 * `git restore`), would write into a git directory or out of the tree. Git itself checks such names
 * when it adds an entry, not when it reads one. Pure.
 *
 *   "DIRC" version:u32 count:u32, then the entries, then extensions, then a hash of it all
 *   entry: 10 u32, object id (20 or 32 bytes), flags:u16 (extended: 16 more), name
 *   version 2, 3: the name, 1 to 8 zeros up to a multiple of 8
 *   version 4: how many bytes of the name before to drop (base 128), what comes instead, a zero
 */
import { foldName, splitPath } from '../byte-path.ts';

const headerBytes = 12;
const fixedBytes = 40;
const idBytes = [20, 32] as const;
const extended = 0x4000;
const countMax = 16_000_000;
/** Names with none of these are what they look like: an empty part, `.`, `..` and `.git`. */
const isBad = /(?:^|\/)(?:\.{0,2}|\.git)(?:\/|$)/i;
const isOdd = /[^ -~]|[~\\:]|[. ](?:\/|$)/;

/**
 * @param bytes as latin1. What is no index as git writes it is not plain either; nothing at all is
 * @param mayShare whether it may name another one, which is to be looked at by itself
 */
export function isSafeGitIndex(bytes: string, mayShare = true): boolean {
  if (bytes === '') return true;
  const index = Buffer.from(bytes, 'latin1');
  // Nothing in it says how long its object ids are: whichever it can be read with must be good.
  const answers = idBytes.flatMap((size) => readIndex(index, size) ?? []);
  const isGood = answers.every((one) => one.isGood && (mayShare || !one.isShared));
  return answers.length > 0 && isGood;
}

interface Answer {
  /** Whether all names are. */
  readonly isGood: boolean;
  /** It goes on in another file. */
  readonly isShared: boolean;
}

/** `null`: with object ids of this size it is no index. */
function readIndex(index: Buffer, idSize: number): Answer | null {
  const end = index.length - idSize;
  if (end < headerBytes || index.toString('latin1', 0, 4) !== 'DIRC') return null;
  const version = index.readUInt32BE(4);
  const count = index.readUInt32BE(8);
  if (version < 2 || version > 4 || count > countMax) return null;
  let at = headerBytes;
  let name = '';
  let isGood = true;
  for (let read = 0; read < count; read += 1) {
    const start = at;
    at += fixedBytes + idSize;
    if (at + 2 > end) return null;
    const flags = index.readUInt16BE(at);
    at += (flags & extended) === 0 ? 2 : 4;
    if (version === 4) {
      const dropped = varint(index, at);
      if (dropped === null || dropped.value > name.length) return null;
      at = dropped.end;
      name = name.slice(0, name.length - dropped.value);
    } else name = '';
    const zero = index.indexOf(0, at);
    if (zero < 0 || zero >= end) return null;
    name += index.toString('latin1', at, zero);
    isGood &&= isGoodName(name);
    at = version === 4 ? zero + 1 : start + (((zero - start) >> 3) + 1) * 8;
  }
  const extensions = extensionsIn(index, at, end);
  return extensions === null ? null : { isGood, isShared: extensions.includes('link') };
}

/** An empty name refers to an entry of the shared index, which is checked separately. */
function isGoodName(name: string): boolean {
  const path = name.endsWith('/') ? name.slice(0, -1) : name;
  if (path === '') return name === '';
  if (isBad.test(path)) return false;
  return !isOdd.test(path) || splitPath(path).every((part) => !isBad.test(foldName(part)));
}

/** As git encodes offsets: each further byte adds one more than it encodes. */
function varint(index: Buffer, from: number): { value: number; end: number } | null {
  let at = from;
  let byte = index[at] ?? 0;
  let value = byte & 127;
  while ((byte & 128) !== 0) {
    at += 1;
    byte = index[at] ?? 0;
    value = (value + 1) * 128 + (byte & 127);
    if (value > 1e9) return null;
  }
  return { value, end: at + 1 };
}

function extensionsIn(index: Buffer, from: number, end: number): string[] | null {
  const found: string[] = [];
  let at = from;
  while (at + 8 <= end) {
    found.push(index.toString('latin1', at, at + 4));
    at += 8 + index.readUInt32BE(at + 4);
  }
  return at === end ? found : null;
}
