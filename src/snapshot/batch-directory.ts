/**
 * The directory of a batch: its entries in order, so that the store is opened without reading any
 * content.
 *
 *   ["c", id, bytes]                                    a content with a body of `bytes`
 *   ["l", id, [id, ...]]                                a large content, made of others; no body
 *   ["r", kind, id, bytes, atMs, pinned, [id, ...], n]  a record and the contents it refers to, of
 *                                                       which the first n are dropped last
 *   ["d", kind, id, segment]                            a record is dropped; it is in segments up
 *                                                       to this one; no body
 */
import type { ContentId } from './seal.ts';

export interface ContentLine {
  readonly type: 'content';
  readonly id: ContentId;
  readonly bytes: number;
}

export interface ListLine {
  readonly type: 'list';
  readonly id: ContentId;
  readonly parts: readonly ContentId[];
}

export interface RecordLine {
  readonly type: 'record';
  readonly kind: string;
  readonly id: string;
  readonly bytes: number;
  readonly atMs: number;
  readonly pinned: boolean;
  readonly contents: readonly ContentId[];
  /** The first so many contents are originals. */
  readonly originals: number;
}

export interface DropLine {
  readonly type: 'drop';
  readonly kind: string;
  readonly id: string;
  /** Number of the last segment that may contain what was dropped. */
  readonly segment: number;
}

export type DirectoryLine = ContentLine | ListLine | RecordLine | DropLine;

export function encodeDirectory(lines: readonly DirectoryLine[]): string {
  return JSON.stringify(lines.map(encode));
}

/** `null`: the text is not a directory. */
export function decodeDirectory(text: string): DirectoryLine[] | null {
  let values: unknown;
  try {
    values = JSON.parse(text);
  } catch {
    return null;
  }
  if (!Array.isArray(values)) return null;
  const lines: DirectoryLine[] = [];
  for (const value of values) {
    const line = Array.isArray(value) ? decode(value) : null;
    if (line === null) return null;
    lines.push(line);
  }
  return lines;
}

/** Bytes of the body that belongs to the line. */
export const bodyBytes = (line: DirectoryLine): number =>
  line.type === 'content' || line.type === 'record' ? line.bytes : 0;

function encode(line: DirectoryLine): readonly unknown[] {
  switch (line.type) {
    case 'content':
      return ['c', line.id, line.bytes];
    case 'list':
      return ['l', line.id, line.parts];
    case 'record': {
      const { kind, id, bytes, atMs, pinned, contents, originals } = line;
      const fields = ['r', kind, id, bytes, atMs, pinned, contents];
      return originals === 0 ? fields : [...fields, originals];
    }
    case 'drop':
      return ['d', line.kind, line.id, line.segment];
  }
}

function decode(fields: readonly unknown[]): DirectoryLine | null {
  const [type, first, second, third, fourth, pinned, ids, count = 0] = fields;
  if (typeof first !== 'string') return null;
  if (type === 'c') {
    return isCount(second) ? { type: 'content', id: first, bytes: second } : null;
  }
  if (type === 'l') {
    return isNames(second) ? { type: 'list', id: first, parts: second } : null;
  }
  if (typeof second !== 'string' || !isCount(third)) return null;
  if (type === 'd') return { type: 'drop', kind: first, id: second, segment: third };
  if (type !== 'r' || typeof fourth !== 'number' || !isNames(ids)) return null;
  if (!isCount(count)) return null;
  const named = { type: 'record', kind: first, id: second } as const;
  const about = { bytes: third, atMs: fourth, pinned: pinned === true };
  return { ...named, ...about, contents: ids, originals: count };
}

const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;

const isNames = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((name) => typeof name === 'string');
