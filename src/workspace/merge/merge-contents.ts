/**
 * Merges two changes of one content if nothing of either can be lost. Pure. Appends are merged by
 * offset and not by identical lines: additions of both sides after the same start are kept whole,
 * one after the other. Other text is merged by lines, and only if no edit of one side touches or
 * adjoins an edit of the other.
 */
import { isUtf8 } from 'node:buffer';
import { diffArrays } from 'diff';

export type MergeResult =
  | { readonly kind: 'merged'; readonly bytes: Buffer }
  | { readonly kind: 'conflict' };

/** Of text that is merged by lines. */
const textBytesMax = 4 * 1024 * 1024;
/** How long one comparison of lines may take. */
const searchMs = 200;
const lineFeed = 10;
const conflict: MergeResult = { kind: 'conflict' };

/**
 * Merges `ours` and `theirs`, which both changed `base` independently.
 *
 * @param isApart they certainly did: additions of both at the end are two, even if identical
 */
export function mergeContents(
  base: Buffer,
  ours: Buffer,
  theirs: Buffer,
  isApart = false,
): MergeResult {
  if (ours.equals(theirs) || theirs.equals(base)) return merged(ours);
  if (ours.equals(base)) return merged(theirs);
  return appended(base, ours, theirs) ?? byLines(base, ours, theirs, isApart);
}

/** What led from `from` to `to`, done to `onto` instead. */
export function rebaseContent(from: Buffer, to: Buffer, onto: Buffer): MergeResult {
  if (from.equals(onto)) return merged(to);
  const isSameEnd = isWhole(onto) || lastLine(onto).equals(lastLine(from));
  if (hasPrefixBytes(to, from) && isSameEnd) {
    return merged(Buffer.concat([onto, to.subarray(from.length)]));
  }
  return mergeContents(from, to, onto);
}

/** The mode that two sides made of one; `null`: each another. */
export function mergeModes(base: number, ours: number, theirs: number): number | null {
  if (ours === theirs || theirs === base) return ours;
  return ours === base ? theirs : null;
}

export function hasPrefixBytes(whole: Buffer, start: Buffer): boolean {
  return whole.length >= start.length && whole.subarray(0, start.length).equals(start);
}

/**
 * The same where our side may have seen a part of what the other one added at the end: lines that
 * both have there, in the same order, are one. `null`: one of them did not add at the end.
 */
export function mergeOverlappingAppends(
  base: Buffer,
  ours: Buffer,
  theirs: Buffer,
): MergeResult | null {
  if (!isWhole(base) || !hasPrefixBytes(ours, base) || !hasPrefixBytes(theirs, base)) return null;
  const [mine, others] = [ours, theirs].map((side) => linesOf(side.subarray(base.length)));
  const hunks = hunksBetween(others ?? [], mine ?? []);
  if (hunks === null || others === undefined) return null;
  const out: string[] = [];
  let at = 0;
  for (const { from, to, lines } of hunks) {
    out.push(...others.slice(at, to), ...lines);
    at = Math.max(from, to);
  }
  out.push(...others.slice(at));
  if (out.slice(0, -1).some((line) => !line.endsWith('\n'))) return null;
  return merged(Buffer.concat([base, Buffer.from(out.join(''), 'latin1')]));
}

/** What both added at the end, whole, be it equal or not; `null`: one of them did not. */
export function mergeAppends(base: Buffer, ours: Buffer, theirs: Buffer): MergeResult | null {
  if (base.equals(ours) || base.equals(theirs)) return null;
  const isBoth = hasPrefixBytes(ours, base) && hasPrefixBytes(theirs, base);
  return isBoth ? appended(base, ours, theirs) : null;
}

/**
 * The same where ours may begin with what the other side had added by then. A conflict where it
 * has a line of that further on, which would be there twice.
 *
 * @param maySeeAll whether that may be all; else their last line is of later
 */
export function mergeAppendsAfterSeen(
  base: Buffer,
  ours: Buffer,
  theirs: Buffer,
  maySeeAll: boolean,
): MergeResult | null {
  if (!isWhole(base) || !hasPrefixBytes(ours, base) || !hasPrefixBytes(theirs, base)) return null;
  const [mine, others] = [ours, theirs].map((side) => linesOf(side.subarray(base.length)));
  if (mine === undefined || others === undefined) return null;
  // Of what the other side added it took something out, which is no addition of its own.
  if (maySeeAll && mine.some(isTelling) && isPartOf(mine, others)) return merged(theirs);
  const most = others.length - (maySeeAll ? 0 : 1);
  let seen = base.length;
  let from = 0;
  for (; from < most && mine[from] === others[from]; from += 1) seen += others[from]?.length ?? 0;
  // Ours may be based on an unknown version of theirs.
  const own = countedLines(Buffer.from(mine.slice(from).join(''), 'latin1'));
  const isOnce = (line: string): boolean => others.indexOf(line) === others.lastIndexOf(line);
  const isTheirs = (line: string): boolean =>
    isTelling(line) && own.get(line) === 1 && isOnce(line);
  if (others.slice(from, most).some(isTheirs)) return conflict;
  return appended(theirs.subarray(0, seen), ours, theirs);
}

/**
 * Whether the author of `other` saw the change from `from` to `to`: it has the added lines and none
 * of the removed ones, and some of them are more than a bracket.
 */
export function includesEdit(from: Buffer, to: Buffer, other: Buffer): boolean {
  const [before, after, found] = [countedLines(from), countedLines(to), countedLines(other)];
  const lines = [...new Set([...before.keys(), ...after.keys()])];
  const changed = lines.filter((line) => before.get(line) !== after.get(line));
  const isThere = (line: string): boolean => {
    const [is, has] = [after.get(line) ?? 0, found.get(line) ?? 0];
    return is > (before.get(line) ?? 0) ? has >= is : has <= is;
  };
  return changed.some(isTelling) && changed.every(isThere);
}

/** Whether a line is more than a bracket, which many blocks have. */
const isTelling = (line: string): boolean => /[\p{L}\p{N}]/u.test(line);

/** Whether all lines of `some` are in `all`, in this order. */
function isPartOf(some: readonly string[], all: readonly string[]): boolean {
  let at = 0;
  for (const line of all) if (line === some[at]) at += 1;
  return at === some.length;
}

function countedLines(bytes: Buffer): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const line of linesOf(bytes)) counts.set(line, (counts.get(line) ?? 0) + 1);
  return counts;
}

/** How many lines differ; infinite: that takes too long to say. */
export function countChangedLines(from: Buffer, to: Buffer): number {
  const hunks = hunksBetween(linesOf(from), linesOf(to));
  if (hunks === null) return Infinity;
  return hunks.reduce((sum, hunk) => sum + hunk.to - hunk.from + hunk.lines.length, 0);
}

function merged(bytes: Buffer): MergeResult {
  return { kind: 'merged', bytes };
}

/** Whether what is added after it begins a line of its own. */
function isWhole(bytes: Buffer): boolean {
  return bytes.length === 0 || bytes.at(-1) === lineFeed;
}

/** The text after the last line feed. */
function lastLine(bytes: Buffer): Buffer {
  return bytes.subarray(bytes.lastIndexOf(lineFeed) + 1);
}

/** Both added at the end; or one did, and the other cut the end off. `null`: neither. */
function appended(base: Buffer, ours: Buffer, theirs: Buffer): MergeResult | null {
  if (!isWhole(base)) return null;
  const [isOurs, isTheirs] = [hasPrefixBytes(ours, base), hasPrefixBytes(theirs, base)];
  if (isOurs && isTheirs) {
    const [mine, others] = [ours.subarray(base.length), theirs.subarray(base.length)];
    // A line that is not at its end yet goes last.
    if (isWhole(others)) return merged(Buffer.concat([base, others, mine]));
    return isWhole(mine) ? merged(Buffer.concat([base, mine, others])) : null;
  }
  const [longer, shorter] = isOurs ? [ours, theirs] : [theirs, ours];
  if (!(isOurs || isTheirs) || !hasPrefixBytes(base, shorter) || !isWhole(shorter)) return null;
  return merged(Buffer.concat([shorter, longer.subarray(base.length)]));
}

/** Lines `[from, to)` of the base became `lines`. */
interface Hunk {
  readonly from: number;
  readonly to: number;
  readonly lines: readonly string[];
}

function byLines(base: Buffer, ours: Buffer, theirs: Buffer, isApart: boolean): MergeResult {
  if (![base, ours, theirs].every(isText)) return conflict;
  const [old, mine, others] = [linesOf(base), linesOf(ours), linesOf(theirs)];
  const [left, right] = [hunksBetween(old, mine), hunksBetween(old, others)];
  if (left === null || right === null) return conflict;
  const all = together(left, right, { end: old.length, isApart });
  if (all === null) return conflict;
  const out: string[] = [];
  let at = 0;
  for (const { from, to, lines } of all) {
    out.push(...old.slice(at, from), ...lines);
    at = to;
  }
  out.push(...old.slice(at));
  // Only the last line may be without its end.
  if (out.slice(0, -1).some((line) => !line.endsWith('\n'))) return conflict;
  return merged(Buffer.from(out.join(''), 'latin1'));
}

function isText(bytes: Buffer): boolean {
  return bytes.length <= textBytesMax && !bytes.includes(0) && isUtf8(bytes);
}

function linesOf(bytes: Buffer): string[] {
  return bytes.toString('latin1').match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

/** `null`: it took too long. */
function hunksBetween(old: readonly string[], now: readonly string[]): Hunk[] | null {
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let end = 0;
  const most = Math.min(old.length, now.length) - start;
  while (end < most && old.at(-1 - end) === now.at(-1 - end)) end += 1;
  const sides = [old.slice(start, old.length - end), now.slice(start, now.length - end)] as const;
  const found = diffArrays([...sides[0]], [...sides[1]], { timeout: searchMs });
  // The types promise a value, but a time-out yields none.
  const parts: typeof found | undefined = found;
  if (parts === undefined) return null;
  const hunks: Hunk[] = [];
  let at = start;
  for (const { added, removed, count, value } of parts) {
    if (!added && !removed) {
      at += count;
      continue;
    }
    const last = hunks.at(-1);
    const next = removed ? at + count : at;
    const lines = added ? value : [];
    if (last?.to === at) {
      hunks[hunks.length - 1] = { from: last.from, to: next, lines: [...last.lines, ...lines] };
    } else hunks.push({ from: at, to: next, lines });
    at = next;
  }
  return hunks;
}

interface Ending {
  /** After the last line of the base. */
  readonly end: number;
  readonly isApart: boolean;
}

/** In order; the same edit by both sides once. `null`: some touch or adjoin, but at the end. */
function together(
  left: readonly Hunk[],
  right: readonly Hunk[],
  { end, isApart }: Ending,
): Hunk[] | null {
  const key = ({ from, to, lines }: Hunk): string => JSON.stringify([from, to, lines]);
  const known = new Set(left.filter(({ from }) => !isApart || from < end).map(key));
  const all = [...right.filter((hunk) => !known.has(key(hunk))), ...left].toSorted(
    (a, b) => a.from - b.from || a.to - b.to,
  );
  // What one added goes where the other cut the end off, or after what the other added.
  const isEnding = ({ from, to, lines }: Hunk): boolean =>
    to === end && (lines.length === 0 || (isApart && from === end));
  for (const [at, hunk] of all.entries()) {
    const next = all[at + 1];
    if (next === undefined || next.from > hunk.to) continue;
    if (next.from < end || !isEnding(hunk)) return null;
  }
  return all;
}
