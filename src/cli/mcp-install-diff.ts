/** The change of a small file as a unified diff of one hunk. */

const contextLines = 3;

/** `''` when nothing changes. `null` as a text: there is no file. */
export function mcpConfigDiff(file: string, before: string | null, after: string | null): string {
  if (before === after) return '';
  const [old, made] = [linesOf(before), linesOf(after)];
  let start = 0;
  while (start < old.length && start < made.length && old[start] === made[start]) start += 1;
  let same = 0;
  const room = Math.min(old.length, made.length) - start;
  while (same < room && old.at(-1 - same) === made.at(-1 - same)) same += 1;
  const from = Math.max(0, start - contextLines);
  const rest = Math.min(same, contextLines);
  const oldEnd = old.length - same;
  const madeEnd = made.length - same;
  const hunk = [
    ...old.slice(from, start).map((line) => ` ${line}`),
    ...old.slice(start, oldEnd).map((line) => `-${line}`),
    ...made.slice(start, madeEnd).map((line) => `+${line}`),
    ...old.slice(oldEnd, oldEnd + rest).map((line) => ` ${line}`),
  ];
  const range = (end: number): string => {
    const count = end + rest - from;
    return `${count === 0 ? from : from + 1},${count}`;
  };
  const name = (text: string | null): string => (text === null ? '/dev/null' : file);
  const names = `--- ${name(before)}\n+++ ${name(after)}`;
  return `${names}\n@@ -${range(oldEnd)} +${range(madeEnd)} @@\n${hunk.map(shown).join('')}`;
}

/** Lines with their ends. */
const linesOf = (text: string | null): string[] => text?.match(/[^\n]*\n|[^\n]+$/g) ?? [];

const shown = (line: string): string =>
  line.endsWith('\n') ? line : `${line}\n\\ No newline at end of file\n`;
