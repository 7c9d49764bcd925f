/**
 * Prefixes of no known form: what three neighbouring lines have in common at their beginning,
 * digits counted as equal, up to the last blank or separator in it.
 */

const prefixCharsMax = 160;

/**
 * Where each line begins behind what it shares with its neighbours; `known`: where it begins
 * behind what was recognised. Only prefixes that tell of a tool are taken: with a digit, a
 * bracket, a colon or a bar in them, or behind a recognised one.
 */
export function findSharedPrefixes(
  text: string,
  lines: readonly number[],
  known: readonly number[],
): number[] {
  const count = known.length;
  const common = Array.from({ length: count }, () => 0);
  for (let i = 0; i + 1 < count; i += 1) {
    common[i] = commonChars(text, lines, known, i);
  }
  const inner = known.map((_, i) => Math.min(common[i - 1] ?? 0, common[i] ?? 0));
  return known.map((from, i) => {
    // At the edge of a block the line within says what all of them share.
    const own = inner[i] ?? 0;
    const after = edge(common[i], inner[i + 1]);
    const chars = own > 0 ? own : Math.max(after, edge(common[i - 1], inner[i - 1]));
    if (chars < 3) return from;
    const recognised = from !== lines[i];
    const end = from + chars;
    return recognised || /[\d[\]:|]/.test(text.slice(from, end)) ? end : from;
  });
}

/** What a line shares with a neighbour, of which the neighbour shares `within` with all. */
function edge(common = 0, within = 0): number {
  return within > 0 ? Math.min(common, within) : common;
}

/** What line `i` and the next share behind their known prefixes, up to a separator. */
function commonChars(
  text: string,
  lines: readonly number[],
  known: readonly number[],
  i: number,
): number {
  const from = known[i] ?? 0;
  const next = known[i + 1] ?? 0;
  const limit = Math.min(next - from, (lines[i + 2] ?? next) - next, prefixCharsMax);
  let end = 0;
  for (let at = 0; at < limit; at += 1) {
    const one = text.charCodeAt(from + at);
    const two = text.charCodeAt(next + at);
    if (one !== two && !(isDigit(one) && isDigit(two))) break;
    if (isSeparator(one)) end = at + 1;
  }
  return end;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** Blank, tab, `]`, `|`, `:`, `>`. */
function isSeparator(code: number): boolean {
  return code === 0x20 || code === 0x09 || code === 0x5d || code === 0x7c || code === 0x3a;
}
