/** Text whose words stand in elements of HTML or XML each: read without the tags. */

const tag = /<\/?[a-z][^<>]{0,200}>/gi;
/** Fewer tags leave passages that are long enough between them. */
const tagsMin = 6;

/** Ranges of the text between tags; empty: there are few. */
export function findRangesBetweenTags(text: string): number[] {
  const ranges: number[] = [];
  let from = 0;
  for (const { 0: found, index } of text.matchAll(tag)) {
    if (index > from) ranges.push(from, index);
    from = index + found.length;
  }
  if (ranges.length < 2 * tagsMin) return [];
  if (from < text.length) ranges.push(from, text.length);
  return ranges;
}
