/**
 * Long files are indexed in slices: each takes some milliseconds, and then other work can run.
 * Tables are also indexed by columns.
 */
import { splitColumns } from './columns.ts';

const pieceBytes = 256 * 1024;
/** A passage across two slices is complete in one of them up to this length. */
const overlapBytes = 4 * 1024;
const lineFeed = 10;
const mark = '\n';

/** No path of a visible file has a line feed before a number like this one. */
const numbered = /^([^]*)\n(\d+)(?:,\d+)?$/;

export interface FileSlice {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** Cuts at line ends where possible; the name of each slice contains its first line number. */
export function sliceFile(name: string, bytes: Uint8Array): FileSlice[] {
  const columns = splitColumns(name, bytes).flatMap((column, at) =>
    cut(name, column, `,${at + 1}`),
  );
  return [...cut(name, bytes, ''), ...columns];
}

function cut(name: string, bytes: Uint8Array, column: string): FileSlice[] {
  if (bytes.length <= pieceBytes && column === '') return [{ name, bytes }];
  const slices: FileSlice[] = [];
  let line = 1;
  for (let from = 0; from < bytes.length;) {
    const to = Math.min(from + pieceBytes, bytes.length);
    slices.push({ name: `${name}${mark}${line}${column}`, bytes: bytes.subarray(from, to) });
    if (to === bytes.length) break;
    const next = lineStart(bytes, to - overlapBytes, from + 1);
    line += linesIn(bytes, from, next);
    from = next;
  }
  return slices;
}

/** The file of a slice, and the first line of the slice. */
export function parseSliceName(name: string): {
  readonly name: string;
  readonly firstLine: number;
} {
  const [, file, line] = numbered.exec(name) ?? [];
  if (file === undefined || line === undefined) return { name, firstLine: 1 };
  return { name: file, firstLine: Number(line) };
}

function lineStart(bytes: Uint8Array, at: number, least: number): number {
  const feed = bytes.lastIndexOf(lineFeed, at - 1);
  const isNear = feed + 1 >= least && at - feed <= overlapBytes;
  return isNear ? feed + 1 : at;
}

function linesIn(bytes: Uint8Array, from: number, to: number): number {
  let count = 0;
  for (let at = bytes.indexOf(lineFeed, from); at !== -1 && at < to;) {
    count += 1;
    at = bytes.indexOf(lineFeed, at + 1);
  }
  return count;
}
