/**
 * What archives hold: the form in which all readers report it, the readers of tar and `ar`, and the
 * sources that a source map (ECMA-426) carries. Zip has a file of its own.
 *
 * Tar: blocks of 512 bytes, for each member a header and its content, padded to a block. The reader
 * knows ustar, pax records (types `x` and `g`) and GNU's long names (`L`, `K`). It reports the
 * bytes that are present: a member that has fewer than its header says is damaged.
 *
 * `ar`, also the outer format of Debian packages: `!<arch>\n`, then for each member a header of 60
 * bytes (name 16, times and owners, size 10 at 48, end mark) and its content, padded to two bytes.
 */
import { latin1 } from '../encodings/text.ts';
import { isTarChecksumValid } from './decode-format.ts';
import { fieldOf } from '../json-shape.ts';

export interface ArchiveMember {
  /** As written in the archive: it can contain `..`, a root or a line feed. */
  readonly name: string;
  /** For a link: its target. Empty for a directory. */
  readonly bytes: Uint8Array;
  /** Why the content cannot be read. `bytes` is then empty or incomplete. */
  readonly unreadableReason: string | null;
  /** The compression of the member: `deflate`. */
  readonly packing: string | null;
}

export interface Archive {
  /** `null` is no member: the search for the next one takes longer. */
  readonly members: Iterable<ArchiveMember | null>;
  /**
   * Ranges of the archive outside all members and structures; complete once all members were read.
   */
  readonly uncovered: () => readonly (readonly [number, number])[];
}

/** The ranges of `[0, length)` outside of `covered`. */
export function uncoveredRanges(
  covered: readonly (readonly [number, number])[],
  length: number,
): readonly (readonly [number, number])[] {
  const rest: [number, number][] = [];
  let at = 0;
  for (const [from, to] of covered.toSorted((a, b) => a[0] - b[0])) {
    if (from > at) rest.push([at, Math.min(from, length)]);
    at = Math.max(at, to);
  }
  if (at < length) rest.push([at, length]);
  return rest;
}

const blockBytes = 512;

export function readTar(bytes: Uint8Array): Archive {
  let end = 0;
  function* members(): Generator<ArchiveMember> {
    let pax = new Map<string, string>();
    const global = new Map<string, string>();
    for (let at = 0; at + blockBytes <= bytes.length;) {
      const header = bytes.subarray(at, at + blockBytes);
      if (header.every((byte) => byte === 0)) {
        at += blockBytes;
        end = at;
        continue;
      }
      // Bytes that are no header are reported as uncovered.
      if (!isTarChecksumValid(header)) return;
      const type = String.fromCharCode(header[156] ?? 0);
      const size = sizeOf(header, pax.get('size') ?? global.get('size'));
      const from = at + blockBytes;
      const content = bytes.subarray(from, from + size);
      at = from + Math.ceil(size / blockBytes) * blockBytes;
      end = Math.min(at, bytes.length);
      if (type === 'x' || type === 'g') {
        const records = paxRecords(content);
        for (const [key, value] of records) (type === 'g' ? global : pax).set(key, value);
        // Comments and names in a header leave with the content.
        yield { name: '(pax)', bytes: content, unreadableReason: null, packing: null };
        continue;
      }
      if (type === 'L' || type === 'K') {
        pax.set(type === 'L' ? 'path' : 'linkpath', cut(content));
        continue;
      }
      yield memberOf(header, { type, content, size, pax, global });
      pax = new Map();
    }
  }
  return {
    members: members(),
    uncovered: () => (end < bytes.length ? [[end, bytes.length]] : []),
  };
}

interface TarMember {
  readonly type: string;
  readonly content: Uint8Array;
  readonly size: number;
  readonly pax: ReadonlyMap<string, string>;
  readonly global: ReadonlyMap<string, string>;
}

function memberOf(
  header: Uint8Array,
  { type, content, size, pax, global }: TarMember,
): ArchiveMember {
  const prefix =
    latin1(header.subarray(257, 263)) === 'ustar\0' ? cut(header.subarray(345, 500)) : '';
  const short = cut(header.subarray(0, 100));
  const name =
    pax.get('path') ?? global.get('path') ?? (prefix === '' ? short : `${prefix}/${short}`);
  const isLink = type === '1' || type === '2';
  const link = pax.get('linkpath') ?? global.get('linkpath') ?? cut(header.subarray(157, 257));
  return {
    name,
    // A link can also have a content, which then counts.
    bytes: isLink && content.length === 0 ? Buffer.from(link, 'utf8') : content,
    unreadableReason: content.length < size ? 'damaged: it ends before its content does' : null,
    packing: null,
  };
}

/** Octal, or GNU's number of 11 bytes after a set first bit; 0 if it is neither. */
function sizeOf(header: Uint8Array, pax: string | undefined): number {
  if (pax !== undefined && /^\d{1,15}$/.test(pax)) return Number(pax);
  const field = header.subarray(124, 136);
  if (((field[0] ?? 0) & 0x80) !== 0) {
    const size = field.subarray(1).reduce((sum, byte) => sum * 256 + byte, 0);
    return Number.isSafeInteger(size) ? size : Number.MAX_SAFE_INTEGER;
  }
  const size = Number.parseInt(cut(field).trim(), 8);
  return Number.isNaN(size) || size < 0 ? 0 : size;
}

/** `LENGTH KEY=VALUE\n`, repeated. */
function paxRecords(content: Uint8Array): ReadonlyMap<string, string> {
  const records = new Map<string, string>();
  for (let at = 0; at < content.length;) {
    const blank = content.indexOf(0x20, at);
    const length = Number(latin1(content.subarray(at, blank)));
    if (blank === -1 || !Number.isSafeInteger(length) || length <= blank - at) break;
    const record = Buffer.from(content.subarray(blank + 1, at + length - 1)).toString('utf8');
    const equals = record.indexOf('=');
    if (equals !== -1) records.set(record.slice(0, equals), record.slice(equals + 1));
    at += length;
  }
  return records;
}

function cut(field: Uint8Array): string {
  const end = field.indexOf(0);
  return Buffer.from(end === -1 ? field : field.subarray(0, end)).toString('utf8');
}

const arMagicBytes = 8;
const arHeaderBytes = 60;

export function readAr(bytes: Uint8Array): Archive {
  let end = arMagicBytes;
  function* members(): Generator<ArchiveMember> {
    while (end + arHeaderBytes <= bytes.length) {
      const header = latin1(bytes.subarray(end, end + arHeaderBytes));
      const size = Number.parseInt(header.slice(48, 58), 10);
      if (!header.endsWith('`\n') || Number.isNaN(size) || size < 0) return;
      const from = end + arHeaderBytes;
      const content = bytes.subarray(from, from + size);
      end = Math.min(bytes.length, from + size + (size % 2));
      const damage = content.length < size ? 'damaged: it ends before its content does' : null;
      const name = header
        .slice(0, 16)
        .trimEnd()
        .replace(/(.)\/$/, '$1');
      yield { name, bytes: content, unreadableReason: damage, packing: null };
    }
  }
  return {
    members: members(),
    uncovered: () => (end < bytes.length ? [[end, bytes.length]] : []),
  };
}

export interface MapSource {
  readonly name: string;
  /** Empty if the map has only the name. */
  readonly text: Uint8Array;
}

const sourcesMax = 50_000;

/** The sources of a source map or an index map; empty if the text is neither. */
export function readMapSources(bytes: Uint8Array): readonly MapSource[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (!buffer.includes('"sources"')) return [];
  const found: MapSource[] = [];
  try {
    // Servers can add a first line that keeps the response from running as a script.
    const text = buffer.toString('utf8').replace(/^\)\]\}'[^\n]*\n/, '');
    collectSources(JSON.parse(text), found, 0);
  } catch {
    // It is no map. It is still searched as text.
    return [];
  }
  return found;
}

function collectSources(map: unknown, found: MapSource[], depth: number): void {
  if (depth > 3) return;
  const sources = fieldOf(map, 'sources');
  const contents = fieldOf(map, 'sourcesContent');
  const root = fieldOf(map, 'sourceRoot');
  if (Array.isArray(sources)) {
    for (const [at, name] of sources.entries()) {
      if (found.length >= sourcesMax) return;
      const content: unknown = Array.isArray(contents) ? contents[at] : null;
      const isRooted = typeof root === 'string' && root !== '';
      found.push({
        name: `${isRooted ? `${root.replace(/\/$/, '')}/` : ''}${String(name)}`,
        text: Buffer.from(typeof content === 'string' ? content : '', 'utf8'),
      });
    }
  }
  const sections = fieldOf(map, 'sections');
  if (!Array.isArray(sections)) return;
  for (const section of sections) collectSources(fieldOf(section, 'map'), found, depth + 1);
}
