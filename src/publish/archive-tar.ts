/**
 * Tar archives: blocks of 512 bytes, a header and then its content, filled up. Ustar, pax records
 * (types `x` and `g`) and GNU's long names (`L`, `K`) are read. A member is told by the bytes that
 * are there: one that lies about its size is told as damaged.
 */
import type { Archive, ArchiveMember } from './archive.ts';
import { latin1 } from '../encodings/text.ts';
import { isTarChecksumValid } from './decode-format.ts';

const blockBytes = 512;

export function readTar(bytes: Uint8Array): Archive {
  let end = 0;
  function* members(): Generator<ArchiveMember> {
    let said = new Map<string, string>();
    const global = new Map<string, string>();
    for (let at = 0; at + blockBytes <= bytes.length;) {
      const header = bytes.subarray(at, at + blockBytes);
      if (header.every((byte) => byte === 0)) {
        at += blockBytes;
        end = at;
        continue;
      }
      // What is no header is told as what follows the archive.
      if (!isTarChecksumValid(header)) return;
      const type = String.fromCharCode(header[156] ?? 0);
      const size = sizeOf(header, said.get('size') ?? global.get('size'));
      const from = at + blockBytes;
      const content = bytes.subarray(from, from + size);
      at = from + Math.ceil(size / blockBytes) * blockBytes;
      end = Math.min(at, bytes.length);
      if (type === 'x' || type === 'g') {
        const records = paxRecords(content);
        for (const [key, value] of records) (type === 'g' ? global : said).set(key, value);
        // Comments and names of a header are as public as any content.
        yield { name: '(pax)', bytes: content, unreadableReason: null, packing: null };
        continue;
      }
      if (type === 'L' || type === 'K') {
        said.set(type === 'L' ? 'path' : 'linkpath', cut(content));
        continue;
      }
      yield memberOf(header, { type, content, size, said, global });
      said = new Map();
    }
  }
  return {
    members: members(),
    uncovered: () => (end < bytes.length ? [[end, bytes.length]] : []),
  };
}

interface Read {
  readonly type: string;
  readonly content: Uint8Array;
  readonly size: number;
  readonly said: ReadonlyMap<string, string>;
  readonly global: ReadonlyMap<string, string>;
}

function memberOf(header: Uint8Array, { type, content, size, said, global }: Read): ArchiveMember {
  const prefix =
    latin1(header.subarray(257, 263)) === 'ustar\0' ? cut(header.subarray(345, 500)) : '';
  const short = cut(header.subarray(0, 100));
  const name =
    said.get('path') ?? global.get('path') ?? (prefix === '' ? short : `${prefix}/${short}`);
  const isLink = type === '1' || type === '2';
  const link = said.get('linkpath') ?? global.get('linkpath') ?? cut(header.subarray(157, 257));
  return {
    name,
    // A link that has a content as well is as odd as it is readable.
    bytes: isLink && content.length === 0 ? Buffer.from(link, 'utf8') : content,
    unreadableReason: content.length < size ? 'damaged: it ends before its content does' : null,
    packing: null,
  };
}

/** Octal, or GNU's number of 11 bytes behind a first bit; what is neither is nothing. */
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

/** `LENGTH KEY=VALUE\n`, one after another. */
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
