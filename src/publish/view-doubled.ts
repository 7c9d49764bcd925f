/** Text that was quoted by doubling its quotes: a field of CSV, a string of SQL, of a shell. */

/** Next to a word they are no empty string. */
const doubledAtWord = /\w(?:""|'')|(?:""|'')\w/;
const doubled = /""|''/g;

/** Ranges of the text without the second of each two quotes; empty: nothing looks doubled. */
export function findUndoubledRanges(text: string): number[] {
  if (!doubledAtWord.test(text)) return [];
  const ranges: number[] = [];
  let from = 0;
  for (const { index } of text.matchAll(doubled)) {
    ranges.push(from, index + 1);
    from = index + 2;
  }
  if (from < text.length) ranges.push(from, text.length);
  return ranges;
}
