/**
 * Reads what bash's `export -p` prints, one variable after the other: `declare -x NAME`,
 * `declare -x NAME="…"` or, where it holds what a terminal would not show, `declare -x NAME=$'…'`;
 * `export NAME…` in POSIX mode. Data only: nothing of it is ever given to a shell.
 */
const head = String.raw`(?:declare|export)(?: -[A-Za-z]+)? `;
const double = String.raw`"([^"\\]*(?:\\[^][^"\\]*)*)"`;
const ansi = String.raw`\$'([^'\\]*(?:\\[^][^'\\]*)*)'`;
const variable = new RegExp(
  String.raw`${head}([A-Za-z_]\w*)(?:=(?:${double}|${ansi}|([^\s"'(]\S*)?))?\n`,
  'y',
);
/** An array that is marked for export never reaches a program's environment. */
const array = new RegExp(
  String.raw`${head}\w+=\((?:[^"'\\)]|\\[^]|"(?:[^"\\]|\\[^])*"|'(?:[^'\\]|\\[^])*')*\)\n`,
  'y',
);

const escapes: Readonly<Record<string, string>> = {
  a: '\u0007',
  b: '\b',
  e: '\u001B',
  E: '\u001B',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};

/** By name, or `null` when the text is not of that form to its end. */
export function parseExports(text: string): Map<string, string> | null {
  const found = new Map<string, string>();
  for (let at = 0; at < text.length;) {
    variable.lastIndex = at;
    const match = variable.exec(text);
    array.lastIndex = at;
    if (match === null && array.exec(text) === null) return null;
    at = match === null ? array.lastIndex : variable.lastIndex;
    const [, name, quoted, escaped, bare] = match ?? [];
    if (name === undefined) continue;
    if (quoted !== undefined) found.set(name, quoted.replaceAll(/\\([$`"\\])/g, '$1'));
    else if (escaped !== undefined) found.set(name, unescapeAnsi(escaped));
    else if (bare !== undefined) found.set(name, bare);
  }
  return found;
}

/** Octal escapes are bytes, so that a run of them may be one character. */
function unescapeAnsi(text: string): string {
  return text.replaceAll(/((?:\\[0-7]{3})+)|\\([^])/g, (_, octal?: string, one = '') => {
    if (octal === undefined) return escapes[one] ?? one;
    const bytes = octal
      .slice(1)
      .split('\\')
      .map((digits) => Number.parseInt(digits, 8));
    return Buffer.from(bytes).toString('utf8');
  });
}
