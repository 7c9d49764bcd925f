/** What a mistyped key was meant to be. */

const lengthMax = 64;

/** The word of `known` that is fewest edits from `word`, or `null` when none is close. */
export function nearestKey(word: string, known: readonly string[]): string | null {
  const near = known
    .map((candidate) => ({ candidate, edits: edits(word, candidate) }))
    .toSorted((a, b) => a.edits - b.edits)
    .at(0);
  return near !== undefined && near.edits <= Math.max(2, Math.floor(word.length / 3))
    ? near.candidate
    : null;
}

/** Letters inserted, deleted or replaced from one word to the other (Levenshtein). */
function edits(from: string, to: string): number {
  if (from.length > lengthMax) return Infinity;
  let row = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let index = 0; index < from.length; index += 1) {
    const next = [index + 1];
    for (let at = 1; at <= to.length; at += 1) {
      const replaced = (row[at - 1] ?? 0) + (from[index] === to[at - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[at] ?? 0) + 1, (next[at - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
