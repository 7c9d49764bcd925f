/**
 * The index on disk, so that a new process does not have to read all denied files again: one file
 * in a directory of the caller, mode 0600. It contains the text of denied files.
 *
 *     "TRLINDEX" | version u32 | header length u32 | header (JSON) | contents | lines | pairs
 *     | SHA-256 of all before it
 *
 * Numbers are little endian. The header has the length of each content and each list of lines. The
 * file is a cache: one that is damaged, of another version or of another user is ignored.
 */
import { createHash, randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DeniedIndex, type SavedIndex } from './denied-index.ts';

const fileName = 'index.bin';
const magic = Buffer.from('TRLINDEX');
/** Changes also when texts are normalised or fingerprinted differently. */
const version = 3;
const digestBytes = 32;
const chunkBytes = 4 * 1024 * 1024;

interface Header {
  /** For each content: digest, length of its characters, position, size of the file, paths. */
  readonly contents: readonly (readonly [string, number, number, number, readonly string[]])[];
  /** The length of each list of lines; equal lists occur once. */
  readonly lines: readonly number[];
  /** Path, digest, index of its list. */
  readonly seen: readonly (readonly [string, string, number])[];
  readonly pairs: number;
}

/**
 * Writes the index into `directory`, which is created (mode 0700) if it does not exist. Nothing is
 * written if nothing changed since the index was saved or restored.
 */
export async function saveIndex(index: DeniedIndex, directory: string): Promise<void> {
  if (!index.isChanged) return;
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const part = join(directory, `.${fileName}.${randomUUID()}`);
  const { header, sections } = laidOut(index.toSaved());
  index.isChanged = false;
  try {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
    await using file = await open(part, flags, 0o600);
    const hash = createHash('sha256');
    const json = Buffer.from(JSON.stringify(header));
    const lead = Buffer.alloc(16);
    magic.copy(lead);
    lead.writeUInt32LE(version, 8);
    lead.writeUInt32LE(json.length, 12);
    for (const buffer of gathered([lead, json, ...sections])) {
      hash.update(buffer);
      await file.appendFile(buffer);
    }
    await file.appendFile(hash.digest());
    await rename(part, join(directory, fileName));
  } catch (error) {
    index.isChanged = true;
    await rm(part, { force: true });
    throw error;
  }
}

/**
 * The saved index; an empty one if there is none, or if it is damaged, of another version, of
 * another user, or readable or writable for others.
 */
export async function restoreIndex(directory: string): Promise<DeniedIndex> {
  try {
    const bytes = await readOwn(join(directory, fileName));
    return bytes === null ? new DeniedIndex() : DeniedIndex.fromSaved(readBack(bytes));
  } catch {
    return new DeniedIndex();
  }
}

async function readOwn(path: string): Promise<Buffer | null> {
  await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  const { uid, mode } = await file.stat();
  if (uid !== process.getuid?.() || (mode & 0o077) !== 0) return null;
  const bytes = await file.readFile();
  const body = bytes.subarray(0, -digestBytes);
  const expected = createHash('sha256').update(body).digest();
  return expected.equals(bytes.subarray(-digestBytes)) ? body : null;
}

function laidOut({ contents, visible, pairs }: SavedIndex): {
  header: Header;
  sections: Uint8Array[];
} {
  const lists = new Map<Uint32Array, number>();
  for (const { lines } of visible) if (!lists.has(lines)) lists.set(lines, lists.size);
  const header: Header = {
    contents: contents.map(({ digest, chars, base, size, paths }) => [
      digest,
      chars.length,
      base,
      size,
      [...paths],
    ]),
    lines: [...lists.keys()].map((lines) => lines.length),
    seen: visible.map(({ path, digest, lines }) => [path, digest, lists.get(lines) ?? 0]),
    pairs: pairs.length,
  };
  const numbers = [...lists.keys(), pairs].map((list) => bytesOf(list));
  return { header, sections: [...contents.map(({ chars }) => chars), ...numbers] };
}

/** @throws if the content differs from the header */
function readBack(bytes: Buffer): SavedIndex {
  if (!bytes.subarray(0, 8).equals(magic)) throw new TypeError('no index');
  if (bytes.readUInt32LE(8) !== version) throw new TypeError('an index of another version');
  let at = 16 + bytes.readUInt32LE(12);
  const header: Header = JSON.parse(bytes.toString('utf8', 16, at));
  const take = (length: number): Uint8Array => {
    if (at + length > bytes.length) throw new RangeError('the index ends early');
    at += length;
    return Uint8Array.prototype.slice.call(bytes, at - length, at);
  };
  const contents = header.contents.map(([digest, length, base, size, paths]) => ({
    digest,
    chars: new Uint8Array(take(length)),
    base,
    size,
    paths,
  }));
  const lists = header.lines.map((length) => numbersOf(take(length * 4)));
  const visible = header.seen.map(([path, digest, list]) => ({
    path,
    digest,
    lines: lists[list] ?? new Uint32Array(0),
  }));
  const pairs = numbersOf(take(header.pairs * 4));
  if (at !== bytes.length) throw new RangeError('the index is too long');
  return { contents, visible, pairs };
}

function bytesOf(numbers: Uint32Array): Uint8Array {
  return new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);
}

function numbersOf(bytes: Uint8Array): Uint32Array {
  const copy = new Uint8Array(bytes);
  return new Uint32Array(copy.buffer, 0, copy.length >>> 2);
}

/** Joins small buffers, so that each is one write. */
function* gathered(buffers: readonly Uint8Array[]): Generator<Uint8Array> {
  let waiting: Uint8Array[] = [];
  let length = 0;
  for (const buffer of buffers) {
    waiting.push(buffer);
    length += buffer.length;
    if (length < chunkBytes) continue;
    yield Buffer.concat(waiting);
    waiting = [];
    length = 0;
  }
  if (length > 0) yield Buffer.concat(waiting);
}
