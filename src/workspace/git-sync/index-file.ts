/**
 * Git's index, read and written entry by entry. Pure. The form is drawn in `commit/git-index.ts`;
 * versions 2 to 4 are read, 2 or 3 is written, without extensions: git makes them anew.
 */
import { createHash } from 'node:crypto';

export interface GitIndexEntry {
  /** As bytes, one character each. */
  readonly path: string;
  readonly stage: number;
  /** Octal, as git writes it. */
  readonly mode: number;
  readonly oid: string;
  /** Not in the file but assumed, marked to be skipped, or only to be added: 0 for most. */
  readonly marks: number;
  /** What git noted of the file: the 40 bytes before the object id, the mode among them. */
  readonly stat: Buffer;
}

const headerBytes = 12;
const statBytes = 40;
const modeAt = 24;
const extendedFlag = 0x4000;
const assumeValid = 0x8000;
const nameLengthMax = 0xfff;
/** Index extensions without which the entries are not all that there is. */
const needed = /^[a-z]/;

/** `null`: no index, or one that goes on in another file or stands for whole directories. */
export function readIndexFile(index: Buffer, oidBytes: number): GitIndexEntry[] | null {
  const end = index.length - oidBytes;
  if (end < headerBytes || index.toString('latin1', 0, 4) !== 'DIRC') return null;
  const version = index.readUInt32BE(4);
  if (version < 2 || version > 4) return null;
  const entries: GitIndexEntry[] = [];
  let at = headerBytes;
  let name = '';
  for (let left = index.readUInt32BE(8); left > 0; left -= 1) {
    const start = at;
    at += statBytes + oidBytes;
    if (at + 4 > end) return null;
    const flags = index.readUInt16BE(at);
    const isExtended = (flags & extendedFlag) !== 0;
    const extended = isExtended ? index.readUInt16BE(at + 2) : 0;
    at += isExtended ? 4 : 2;
    let kept = '';
    if (version === 4) {
      const dropped = offset(index, at);
      kept = name.slice(0, name.length - dropped.value);
      at = dropped.end;
    }
    const zero = index.indexOf(0, at);
    if (zero < 0 || zero >= end) return null;
    name = kept + index.toString('latin1', at, zero);
    at = version === 4 ? zero + 1 : start + (((zero - start) >> 3) + 1) * 8;
    entries.push({
      path: name,
      stage: (flags >> 12) & 3,
      mode: index.readUInt32BE(start + modeAt),
      oid: index.toString('hex', start + statBytes, start + statBytes + oidBytes),
      marks: (flags & assumeValid) | (extended >> 1),
      stat: index.subarray(start, start + statBytes),
    });
  }
  return hasNeeded(index, at, end) ? null : entries;
}

export function writeIndexFile(entries: readonly GitIndexEntry[], oidBytes: number): Buffer {
  const sorted = entries.toSorted((a, b) => compare(a.path, b.path) || a.stage - b.stage);
  const isExtended = ({ marks }: GitIndexEntry): boolean => (marks & ~assumeValid) !== 0;
  const header = Buffer.alloc(headerBytes);
  header.write('DIRC', 'latin1');
  header.writeUInt32BE(sorted.some(isExtended) ? 3 : 2, 4);
  header.writeUInt32BE(sorted.length, 8);
  const parts = [header];
  for (const entry of sorted) {
    const fixed = statBytes + oidBytes + (isExtended(entry) ? 4 : 2);
    const length = ((fixed + entry.path.length) >> 3) * 8 + 8;
    const bytes = Buffer.alloc(length);
    entry.stat.copy(bytes);
    bytes.writeUInt32BE(entry.mode, modeAt);
    bytes.write(entry.oid, statBytes, 'hex');
    const name = Math.min(entry.path.length, nameLengthMax);
    const flags = (entry.marks & assumeValid) | (entry.stage << 12) | name;
    const extended = isExtended(entry) ? extendedFlag : 0;
    bytes.writeUInt16BE(flags | extended, statBytes + oidBytes);
    if (extended !== 0) {
      bytes.writeUInt16BE((entry.marks & ~assumeValid) << 1, statBytes + oidBytes + 2);
    }
    bytes.write(entry.path, fixed, 'latin1');
    parts.push(bytes);
  }
  const body = Buffer.concat(parts);
  const sum = createHash(oidBytes === 20 ? 'sha1' : 'sha256')
    .update(body)
    .digest();
  return Buffer.concat([body, sum]);
}

/** An entry that git has yet to compare with the file. */
export function uncheckedIndexEntry(
  entry: Pick<GitIndexEntry, 'path' | 'mode' | 'oid'>,
): GitIndexEntry {
  return { ...entry, stage: 0, marks: 0, stat: Buffer.alloc(statBytes) };
}

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

/** As git encodes offsets: each further byte stands for one more than it says. */
function offset(index: Buffer, from: number): { value: number; end: number } {
  let at = from;
  let byte = index[at] ?? 0;
  let value = byte & 127;
  while ((byte & 128) !== 0 && at - from < 5) {
    at += 1;
    byte = index[at] ?? 0;
    value = (value + 1) * 128 + (byte & 127);
  }
  return { value, end: at + 1 };
}

function hasNeeded(index: Buffer, from: number, end: number): boolean {
  let at = from;
  while (at + 8 <= end) {
    if (needed.test(index.toString('latin1', at, at + 4))) return true;
    at += 8 + index.readUInt32BE(at + 4);
  }
  return false;
}
