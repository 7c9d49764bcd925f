/**
 * Reads the text of a `.env` file. Pure.
 *
 *   # comment
 *   export NAME=plain text   # comment behind a space
 *   NAME='as it stands'
 *   NAME="escapes \n \t \" \\ \$, and
 *   more lines"
 *
 * Nothing is run and no `$NAME` is replaced: the file holds values, not a program.
 */

export interface DotenvProblem {
  /** From 1. */
  readonly line: number;
  /** One clause; no character of the file is in it. */
  readonly reason: string;
}

const assignment = /^[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*/;
const escapes: ReadonlyMap<string, string> = new Map([
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
]);
/** Behind a closing quote. */
const nothingMore = /^[ \t]*(?:#.*)?$/;
const entriesMax = 4_096;

/** The values by name, the last of each; or the first line that cannot be understood. */
export function parseDotenv(text: string): ReadonlyMap<string, string> | DotenvProblem {
  const lines = text.replace(/^\ufeff/, '').split(/\r\n|\n|\r/);
  const found = new Map<string, string>();
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? '';
    if (/^[ \t]*(?:#|$)/.test(line)) continue;
    const [all, name] = assignment.exec(line) ?? [];
    if (all === undefined || name === undefined) {
      return { line: at + 1, reason: 'it is neither NAME=value nor a comment' };
    }
    const rest = line.slice(all.length);
    const quote = rest[0];
    if (quote !== '"' && quote !== "'") {
      found.set(name, rest.replace(/(?:^|[ \t])#.*$/, '').trimEnd());
    } else {
      const quoted = readQuoted(lines, { line: at, column: all.length + 1 }, quote);
      if (typeof quoted === 'string') return { line: at + 1, reason: quoted };
      found.set(name, quoted.value);
      at = quoted.line;
    }
    if (found.size > entriesMax) return { line: at + 1, reason: `over ${entriesMax} names` };
  }
  return found;
}

interface ValueLocation {
  /** From 0, in `lines`. */
  readonly line: number;
  readonly column: number;
}

/** The text from `place` up to `quote` and the line where that stands, or why there is none. */
function readQuoted(
  lines: readonly string[],
  place: ValueLocation,
  quote: '"' | "'",
): { readonly value: string; readonly line: number } | string {
  const text: string[] = [];
  for (let count = place.line; count < lines.length; count += 1) {
    const line = lines[count] ?? '';
    const isFirst = count === place.line;
    if (!isFirst) text.push('\n');
    for (let at = isFirst ? place.column : 0; at < line.length; at += 1) {
      const char = line[at] ?? '';
      if (char === quote) {
        const isOver = nothingMore.test(line.slice(at + 1));
        return isOver ? { value: text.join(''), line: count } : 'there is text behind the quote';
      }
      const next = line[at + 1];
      if (char === '\\' && quote === '"' && next !== undefined) {
        text.push(escapes.get(next) ?? ('"\\$`'.includes(next) ? next : char + next));
        at += 1;
      } else {
        text.push(char);
      }
    }
  }
  return `its quote (${quote}) is never closed`;
}
