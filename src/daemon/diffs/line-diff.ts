/**
 * Finds the lines that differ between two contents. The result is always correct, and short if that
 * is cheap: a slow comparison is split at lines that occur exactly once on both sides, and reports
 * the rest as replaced.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { diffArrays } from 'diff';

/** Line `i` begins at `starts[i]` and ends at `starts[i + 1]`, including its line feed. */
export interface TextLines {
  readonly bytes: Buffer;
  readonly starts: readonly number[];
}
export const lineCount = ({ starts }: TextLines): number => starts.length - 1;

/** Old lines `[oldFrom, oldTo)` became new lines `[newFrom, newTo)`; one side may be empty. */
export interface LineEdit {
  readonly oldFrom: number;
  readonly oldTo: number;
  readonly newFrom: number;
  readonly newTo: number;
}

/** How long one search may block other work, in ms. */
const searchMs = 6;
const turnMs = 5;
const compareBytes = 64 * 1024;

/** Yields to other work after the caller has computed for a while. */
export class PeriodicYield {
  #since = performance.now();
  async yieldIfDue(): Promise<void> {
    if (performance.now() - this.#since < turnMs) return;
    await nextTurn();
    this.#since = performance.now();
  }
}

export async function splitTextLines(bytes: Buffer): Promise<TextLines> {
  const breath = new PeriodicYield();
  const starts = [0];
  for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, at + 1)) {
    starts.push(at + 1);
    if (starts.length % 4_096 === 0) await breath.yieldIfDue();
  }
  if (starts.at(-1) !== bytes.length) starts.push(bytes.length);
  return { bytes, starts };
}

/**
 * The edits that turn the old content into the new one, in order and not adjacent.
 *
 * @param until time of `performance.now()` after which no short result is searched for
 */
export async function editsBetween(
  before: TextLines,
  after: TextLines,
  until: number,
): Promise<LineEdit[]> {
  const breath = new PeriodicYield();
  const whole = await differing(before, after, breath);
  const ids = new Map<string, number>();
  const numbered = async ({ bytes, starts }: TextLines, from: number, to: number) => {
    const out: number[] = [];
    for (let line = from; line < to; line += 1) {
      const text = bytes.toString('latin1', starts[line], starts[line + 1]);
      const id = ids.get(text) ?? ids.size;
      ids.set(text, id);
      out.push(id);
      if (out.length % 1_024 === 0) await breath.yieldIfDue();
    }
    return out;
  };
  const sides: Sides = {
    old: await numbered(before, whole.oldFrom, whole.oldTo),
    new: await numbered(after, whole.newFrom, whole.newTo),
  };
  await breath.yieldIfDue();
  const all = { oldFrom: 0, oldTo: sides.old.length, newFrom: 0, newTo: sides.new.length };
  const edits = searched(sides, all, until) ?? (await anchored(sides, breath, until));
  return joined(edits).map((edit) => ({
    oldFrom: edit.oldFrom + whole.oldFrom,
    oldTo: edit.oldTo + whole.oldFrom,
    newFrom: edit.newFrom + whole.newFrom,
    newTo: edit.newTo + whole.newFrom,
  }));
}

interface Sides {
  readonly old: readonly number[];
  readonly new: readonly number[];
}

/** The range between the common first lines and the common last lines. */
async function differing(
  before: TextLines,
  after: TextLines,
  breath: PeriodicYield,
): Promise<LineEdit> {
  const [a, b] = [before.bytes, after.bytes];
  const most = Math.min(a.length, b.length);
  const head = await equalBytes(breath, most, (from, to) =>
    a.subarray(from, to).equals(b.subarray(from, to)),
  );
  // A last line without a line end may be only the beginning of the other side's line.
  const from = Math.min(lineAt(before, head), lineAt(after, head));
  // Lines of the common start do not count again from the end.
  const rest = most - (before.starts[from] ?? 0);
  const tail = await equalBytes(breath, rest, (near, far) =>
    a.subarray(a.length - far, a.length - near).equals(b.subarray(b.length - far, b.length - near)),
  );
  let [oldTo, newTo] = [lineCount(before), lineCount(after)];
  while (oldTo > from && newTo > from && isWithin(before, oldTo, tail)) {
    if (!isWithin(after, newTo, tail)) break;
    oldTo -= 1;
    newTo -= 1;
  }
  return { oldFrom: from, oldTo, newFrom: from, newTo };
}

/** Whether the line before `line` lies within the last `tail` bytes. */
const isWithin = ({ bytes, starts }: TextLines, line: number, tail: number): boolean =>
  bytes.length - (starts[line - 1] ?? 0) <= tail;

/** How many bytes are equal, at most `most`: bisects the first block that differs. */
async function equalBytes(
  breath: PeriodicYield,
  most: number,
  same: (from: number, to: number) => boolean,
): Promise<number> {
  let from = 0;
  let step = compareBytes;
  while (from < most) {
    const to = Math.min(most, from + step);
    if (same(from, to)) from = to;
    else if (to - from === 1) return from;
    else step = Math.max(1, (to - from) >> 1);
    await breath.yieldIfDue();
  }
  return from;
}

/** How many whole lines end within the first `bytes` bytes. */
function lineAt({ starts }: TextLines, bytes: number): number {
  let [low, high] = [0, starts.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((starts[middle] ?? Infinity) <= bytes) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** The shortest edits by Myers' algorithm; `null` if it takes too long or `until` has passed. */
function searched({ old, new: now }: Sides, within: LineEdit, until: number): LineEdit[] | null {
  const { oldFrom, oldTo, newFrom, newTo } = within;
  if (oldFrom === oldTo || newFrom === newTo) return [within];
  if (performance.now() > until) return null;
  const found = diffArrays(old.slice(oldFrom, oldTo), now.slice(newFrom, newTo), {
    timeout: searchMs,
  });
  // The types promise a value, but after a time-out there is none.
  const parts: typeof found | undefined = found;
  if (parts === undefined) return null;
  const edits: LineEdit[] = [];
  let [atOld, atNew] = [oldFrom, newFrom];
  for (const { added, removed, count } of parts) {
    const [toOld, toNew] = [added ? atOld : atOld + count, removed ? atNew : atNew + count];
    if (added || removed) {
      edits.push({ oldFrom: atOld, oldTo: toOld, newFrom: atNew, newTo: toNew });
    }
    [atOld, atNew] = [toOld, toNew];
  }
  return edits;
}

/** Finds edits between lines that occur once on each side, in the same order on both. */
async function anchored(sides: Sides, breath: PeriodicYield, until: number): Promise<LineEdit[]> {
  const anchors = await longestRise(await commonOnce(sides, breath), breath);
  const edits: LineEdit[] = [];
  let [atOld, atNew] = [0, 0];
  const ends: readonly [number, number][] = [...anchors, [sides.old.length, sides.new.length]];
  for (const [oldTo, newTo] of ends) {
    const gap = { oldFrom: atOld, oldTo, newFrom: atNew, newTo };
    if (oldTo > atOld || newTo > atNew) edits.push(...(searched(sides, gap, until) ?? [gap]));
    [atOld, atNew] = [oldTo + 1, newTo + 1];
    await breath.yieldIfDue();
  }
  return edits;
}

/** Positions of the lines that occur exactly once on each side, in the order of the old side. */
async function commonOnce(sides: Sides, breath: PeriodicYield): Promise<[number, number][]> {
  const places = async (ids: readonly number[]) => {
    const once = new Map<number, number>();
    for (const [place, id] of ids.entries()) {
      once.set(id, once.has(id) ? -1 : place);
      if (place % 4_096 === 0) await breath.yieldIfDue();
    }
    return once;
  };
  const [old, now] = [await places(sides.old), await places(sides.new)];
  const pairs: [number, number][] = [];
  for (const [id, place] of old) {
    const other = now.get(id) ?? -1;
    if (place !== -1 && other !== -1) pairs.push([place, other]);
    if (place % 1_024 === 0) await breath.yieldIfDue();
  }
  return pairs;
}

/** The longest increasing subsequence by the second number, found as in a card-pile sort. */
async function longestRise(
  pairs: readonly [number, number][],
  breath: PeriodicYield,
): Promise<[number, number][]> {
  interface Card {
    readonly pair: [number, number];
    readonly under: Card | null;
  }
  const piles: Card[] = [];
  for (const [at, pair] of pairs.entries()) {
    if (at % 1_024 === 0) await breath.yieldIfDue();
    let [low, high] = [0, piles.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((piles[middle]?.pair[1] ?? Infinity) < pair[1]) low = middle + 1;
      else high = middle;
    }
    piles[low] = { pair, under: piles[low - 1] ?? null };
  }
  const run: [number, number][] = [];
  for (let card = piles.at(-1) ?? null; card !== null; card = card.under) run.push(card.pair);
  return run.toReversed();
}

/** Merges adjacent edits. */
function joined(edits: readonly LineEdit[]): LineEdit[] {
  const out: LineEdit[] = [];
  for (const edit of edits) {
    const last = out.at(-1);
    if (last !== undefined && last.oldTo === edit.oldFrom && last.newTo === edit.newFrom) {
      out[out.length - 1] = { ...last, oldTo: edit.oldTo, newTo: edit.newTo };
    } else if (edit.oldTo > edit.oldFrom || edit.newTo > edit.newFrom) out.push(edit);
  }
  return out;
}
