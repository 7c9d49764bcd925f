/** Finds what a mistyped word was meant to be. */

const wordLengthMax = 64;

/** The word of `known` that is fewest edits from `word`, or `null` when none is close. */
export function nearestWord(word: string, known: readonly string[]): string | null {
  if (word.length > wordLengthMax) return null;
  let best: string | null = null;
  let bestEdits = Math.max(2, Math.floor(word.length / 3)) + 1;
  for (const candidate of known) {
    const edits = editsBetween(word, candidate);
    if (edits < bestEdits) {
      best = candidate;
      bestEdits = edits;
    }
  }
  return best;
}

/** Insertions, deletions and replacements from `from` to `to` (Levenshtein), row by row. */
function editsBetween(from: string, to: string): number {
  let above = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const same = from[row - 1] === to[column - 1] ? 0 : 1;
      current.push(
        Math.min(
          (above[column] ?? 0) + 1,
          (current[column - 1] ?? 0) + 1,
          (above[column - 1] ?? 0) + same,
        ),
      );
    }
    above = current;
  }
  return above[to.length] ?? 0;
}
