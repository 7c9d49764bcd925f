/**
 * Lines that were made string literals: `"text\n" +` of a program, a list of lines in JSON, the
 * log lines of a container engine.
 */

const simpleEscapes = 'nrtbfv0';

/**
 * Ranges of the text in which each line that is mostly one string literal is read as what the
 * literal says, without the escapes of quotes; other lines from `starts` on. Empty: no such line.
 */
export function findLiteralRanges(
  text: string,
  lines: readonly number[],
  starts: readonly number[],
): number[] {
  const ranges: number[] = [];
  let found = false;
  for (let i = 0; i < starts.length; i += 1) {
    const from = starts[i] ?? 0;
    const to = lines[i + 1] ?? 0;
    const literal = longestLiteral(text, from, to);
    if (literal === null) {
      ranges.push(from, to);
      continue;
    }
    found = true;
    unescaped(text, literal, ranges);
    // The end of the line is a mark between lines.
    if (text[to - 1] === '\n') ranges.push(to - 1, to);
  }
  return found ? ranges : [];
}

/** Without its quotes; at least a third of the line. */
function longestLiteral(text: string, from: number, to: number): readonly [number, number] | null {
  const logged = logLiteral(text, from, to);
  if (logged !== null) return logged;
  let best: readonly [number, number] | null = null;
  let open = '';
  for (let at = from; at < to; at += 1) {
    const quote = text[at];
    if (quote !== '"' && quote !== "'" && quote !== '`') continue;
    if (open.includes(quote)) continue;
    const end = literalEnd(text, at + 1, to, quote);
    if (end < 0) {
      // Nor will the next of its kind end: each would be followed to the end of the line.
      open += quote;
      continue;
    }
    if (best === null || end - at - 1 > best[1] - best[0]) best = [at + 1, end];
    at = end;
  }
  if (best === null) return null;
  const said = text.slice(from, to).trim().length;
  return (best[1] - best[0] + 2) * 3 >= said ? best : null;
}

const logKey = /\s*\{"(?:log|message|msg|line|text|content|output|data|body)":"/y;

/** What a line of a log in JSON says, however short. */
function logLiteral(text: string, from: number, to: number): readonly [number, number] | null {
  logKey.lastIndex = from;
  if (!logKey.test(text)) return null;
  const begin = logKey.lastIndex;
  const end = literalEnd(text, begin, to, '"');
  return end < 0 ? null : [begin, end];
}

function literalEnd(text: string, from: number, to: number, quote: string): number {
  for (let at = from; at < to; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === quote) return at;
  }
  return -1;
}

function unescaped(text: string, [from, to]: readonly [number, number], ranges: number[]): void {
  let start = from;
  for (let at = text.indexOf('\\', from); at >= 0 && at < to; at = text.indexOf('\\', at + 2)) {
    if (at > start) ranges.push(start, at);
    // White space says nothing; of any other escape the character itself is meant.
    start = simpleEscapes.includes(text[at + 1] ?? '') ? at + 2 : at + 1;
  }
  if (to > start) ranges.push(start, to);
}
