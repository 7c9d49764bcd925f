/** Reflogs of two sides as one: lines are only told apart by what they say. Pure. */

export const reflogLinesOf = (text: string): string[] =>
  text.split('\n').filter((line) => line !== '');

/** What the session added to a log. */
export function addedReflogLines(host: readonly string[], session: readonly string[]): string[] {
  const known = new Set(host);
  return session.filter((line) => !known.has(line));
}

/** The log of a stack, as `git stash` keeps its entries: what was taken off goes, too. */
export function mergeStashLog(
  host: readonly string[],
  session: readonly string[],
  before: readonly string[],
): string[] {
  const stays = new Set(session.map(entryOf));
  const gone = new Set(before.map(entryOf).filter((one) => !stays.has(one)));
  const kept = host.filter((line) => !gone.has(entryOf(line)));
  const known = new Set(kept.map(entryOf));
  return [...kept, ...session.filter((line) => !known.has(entryOf(line)))];
}

/** What a line stands for: when one above is dropped, git rewrites what it came from. */
const entryOf = (line: string): string => line.slice(line.indexOf(' ') + 1);

/** The object that a line leads to. */
export const reflogNewValueOf = (line: string): string => line.split(' ')[1] ?? '';
