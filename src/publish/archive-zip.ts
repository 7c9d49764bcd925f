/**
 * Zip archives (PKWARE APPNOTE): for each member a local header and its packed content, then the
 * central directory with a second header for each, then the end record. The last end record counts.
 *
 * Readers differ in which of the two headers they trust. So the members are those of the directory
 * and all local headers that it does not list, both names are reported where they differ, a size is
 * what unpacking gives, and bytes that no header covers are reported as uncovered.
 */
import { latin1 } from '../encodings/text.ts';
import { uncoveredRanges, type Archive, type ArchiveMember } from './archive.ts';
import { decompressInSteps, type DecompressionBudget } from './decode-compressed.ts';

const marks = { local: 'PK\x03\x04', central: 'PK\x01\x02', end: 'PK\x05\x06' } as const;
const localBytes = 30;
const centralBytes = 46;
const endBytes = 22;
const zip64EndBytes = 56;
const zip64LocatorBytes = 20;
/** Follows a content whose sizes were not known when its header was written. */
const descriptorBytesMax = 24;
const commentBytesMax = 65_535;
/** The version needed to extract, at most: 6.3 of the format. */
const versionMax = 63;
const methodMax = 99;

interface Entry {
  readonly name: string;
  readonly flags: number;
  readonly method: number;
  readonly packed: number;
  readonly local: number;
}

/** @param room bytes that an unpacked member can have */
export function readZip(bytes: Uint8Array, room: DecompressionBudget): Archive {
  const zip = { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength) };
  const covered: [number, number][] = [];
  function* members(): Generator<ArchiveMember | null> {
    const found = directory(zip, covered);
    for (const entry of found) yield* read(zip, entry, { room, covered });
    // The directory does not list these: they are hidden from some readers, or the archive is
    // damaged.
    for (const [from, to] of uncoveredRanges(covered, bytes.length)) {
      let at = indexOf(bytes, marks.local, from);
      while (at !== -1 && at < to) {
        const entry = local(zip, at);
        if (entry !== null) yield* read(zip, entry, { room, covered });
        at = indexOf(bytes, marks.local, Math.max(at + 4, covered.at(-1)?.[1] ?? 0));
      }
    }
  }
  return { members: members(), uncovered: () => uncoveredRanges(covered, bytes.length) };
}

interface Zip {
  readonly bytes: Uint8Array;
  readonly view: DataView;
}

interface MemberSink {
  readonly room: DecompressionBudget;
  readonly covered: [number, number][];
}

/** Empty if there is no end record. */
function directory(zip: Zip, covered: [number, number][]): Entry[] {
  const { bytes, view } = zip;
  const text = latin1(bytes.subarray(Math.max(0, bytes.length - endBytes - commentBytesMax)));
  const inText = text.lastIndexOf(marks.end);
  const end = inText + bytes.length - text.length;
  if (inText === -1 || end + endBytes > bytes.length) return [];
  covered.push([end, end + endBytes]);
  let size = view.getUint32(end + 12, true);
  let start = end - size;
  const locator = end - zip64LocatorBytes;
  if (locator >= 0 && latin1(bytes.subarray(locator, locator + 4)) === 'PK\x06\x07') {
    const record = locator - zip64EndBytes;
    if (record >= 0) {
      covered.push([record, end]);
      size = big(view, record + 40);
      start = record - size;
    }
  }
  if (start < 0) return [];
  // Bytes before the archive, or bytes that are missing there, shift all its offsets.
  const statedStart = view.getUint32(end + 16, true);
  const shift = statedStart === 0xffff_ffff ? 0 : start - statedStart;
  const entries: Entry[] = [];
  for (let at = start; at + centralBytes <= bytes.length;) {
    if (latin1(bytes.subarray(at, at + 4)) !== marks.central) break;
    const [name, extra, comment] = [28, 30, 32].map((offset) => view.getUint16(at + offset, true));
    const length = centralBytes + (name ?? 0) + (extra ?? 0);
    const wide = zip64(zip, at + centralBytes + (name ?? 0), extra ?? 0, [
      view.getUint32(at + 24, true),
      view.getUint32(at + 20, true),
      view.getUint32(at + 42, true),
    ]);
    entries.push({
      name: text8(bytes.subarray(at + centralBytes, at + centralBytes + (name ?? 0))),
      flags: view.getUint16(at + 8, true),
      method: view.getUint16(at + 10, true),
      packed: wide[1] ?? 0,
      local: (wide[2] ?? 0) + shift,
    });
    // The comment stays uncovered, so that it is searched.
    covered.push([at, at + length]);
    at += length + (comment ?? 0);
  }
  return entries;
}

/** Sizes and offset from extra field 1, in its order, for each that is all ones in the header. */
function zip64(zip: Zip, from: number, length: number, given: readonly number[]): number[] {
  const { view, bytes } = zip;
  const end = Math.min(from + length, bytes.length);
  for (let at = from; at + 4 <= end;) {
    const size = view.getUint16(at + 2, true);
    if (view.getUint16(at, true) === 1) {
      let next = at + 4;
      return given.map((one) => {
        if (one !== 0xffff_ffff || next + 8 > end) return one;
        next += 8;
        return big(view, next - 8);
      });
    }
    at += 4 + size;
  }
  return [...given];
}

function local({ bytes, view }: Zip, at: number): Entry | null {
  if (at < 0 || at + localBytes > bytes.length) return null;
  if (latin1(bytes.subarray(at, at + 4)) !== marks.local) return null;
  const name = view.getUint16(at + 26, true);
  const method = view.getUint16(at + 8, true);
  // By chance, the text of a program that reads archives has the mark, but no such numbers.
  if ((bytes[at + 4] ?? 0) > versionMax || method > methodMax || name === 0) return null;
  return {
    name: text8(bytes.subarray(at + localBytes, at + localBytes + name)),
    flags: view.getUint16(at + 6, true),
    method,
    packed: view.getUint32(at + 18, true),
    local: at,
  };
}

const empty = new Uint8Array();

function* read(
  zip: Zip,
  entry: Entry,
  { room, covered }: MemberSink,
): Generator<ArchiveMember | null> {
  const { bytes, view } = zip;
  const { name } = entry;
  const header = local(zip, entry.local);
  const packing = entry.method === 0 ? null : 'deflate';
  if (header === null) {
    yield {
      name,
      bytes: empty,
      unreadableReason: 'damaged: its content is not where it should be',
      packing,
    };
    return;
  }
  const skipped = view.getUint16(entry.local + 26, true) + view.getUint16(entry.local + 28, true);
  const from = entry.local + localBytes + skipped;
  // The other name leaves, too.
  if (header.name !== name) {
    yield { name: header.name, bytes: empty, unreadableReason: null, packing: null };
  }
  const rest = bytes.subarray(from);
  const hasDescriptor = ((entry.flags | header.flags) & 8) !== 0;
  const cover = (length: number): void => {
    const to = from + length;
    covered.push([entry.local, hasDescriptor ? afterDescriptor(zip, to) : to]);
  };
  if (((entry.flags | header.flags) & 1) !== 0) {
    cover(entry.packed);
    yield { name, bytes: empty, unreadableReason: 'encrypted', packing };
    return;
  }
  if (entry.method === 0) {
    const content = rest.subarray(0, entry.packed);
    cover(content.length);
    const damage = content.length < entry.packed ? 'damaged: it ends before its content' : null;
    yield { name, bytes: content, unreadableReason: damage, packing };
    return;
  }
  const kind = entry.method === 8 ? 'deflate' : entry.method === 93 ? 'zstd' : null;
  if (kind === null) {
    cover(entry.packed);
    yield { name, bytes: empty, unreadableReason: 'packed in a way that is not read', packing };
    return;
  }
  const content = yield* decompressInSteps(kind, rest, room);
  if ('failed' in content) {
    cover(entry.packed);
    yield { name, bytes: empty, unreadableReason: content.failed, packing };
    return;
  }
  // A reader that trusts the size sees less than this, never more.
  cover(content.used);
  yield { name, bytes: content.bytes, unreadableReason: null, packing: kind };
}

/** The end of the data descriptor: where the next structure begins, or `from` if none follows. */
function afterDescriptor({ bytes }: Zip, from: number): number {
  const window = latin1(bytes.subarray(from, from + descriptorBytesMax + 4));
  // oxlint-disable-next-line no-control-regex -- marks of structures
  const next = window.search(/PK(?:\x03\x04|\x01\x02|\x06\x06)/);
  return next === -1 ? from : from + next;
}

const big = (view: DataView, at: number): number => Number(view.getBigUint64(at, true));

const text8 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');

function indexOf(bytes: Uint8Array, mark: string, from: number): number {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).indexOf(
    mark,
    from,
    'latin1',
  );
}
