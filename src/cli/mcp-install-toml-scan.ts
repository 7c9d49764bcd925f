/** Where the statements of a valid TOML text begin and end: headers, and keys with values. */
import { parse } from 'smol-toml';

export interface TomlStatement {
  /** Keys from the root; of a header its own. */
  readonly path: readonly string[];
  readonly isHeader: boolean;
  /** Offset of the first character of its first line. */
  readonly start: number;
  /** Offset behind the end of its last line. */
  readonly end: number;
}

/** In the order of the text. `text` must be valid TOML. */
export function scanTomlStatements(text: string): TomlStatement[] {
  const found: TomlStatement[] = [];
  let table: readonly string[] = [];
  let at = text.startsWith('\ufeff') ? 1 : 0;
  while (at < text.length) {
    const lineEnd = endOfLine(text, at);
    const begun = skip(text, at, /[ \t\r]*/y);
    const first = text[begun] ?? '\n';
    if (first === '\n' || first === '#') {
      at = lineEnd;
      continue;
    }
    if (first === '[') {
      const open = text.startsWith('[[', begun) ? 2 : 1;
      const close = endOfKey(text, begun + open);
      table = keysOf(text.slice(begun + open, close));
      found.push({ path: table, isHeader: true, start: at, end: lineEnd });
      at = lineEnd;
      continue;
    }
    const equals = endOfKey(text, begun);
    const path = [...table, ...keysOf(text.slice(begun, equals))];
    const end = endOfLine(text, endOfValue(text, equals + 1));
    found.push({ path, isHeader: false, start: at, end });
    at = end;
  }
  return found;
}

function endOfLine(text: string, at: number): number {
  const found = text.indexOf('\n', at);
  return found === -1 ? text.length : found + 1;
}

function skip(text: string, at: number, pattern: RegExp): number {
  pattern.lastIndex = at;
  return at + (pattern.exec(text)?.[0].length ?? 0);
}

/** Where the `=` or `]` stands that ends a key. */
function endOfKey(text: string, start: number): number {
  let at = start;
  while (at < text.length && text[at] !== '=' && text[at] !== ']') {
    at = endOfString(text, at) ?? at + 1;
  }
  return at;
}

/** The parts of a dotted key, by the reader itself. */
function keysOf(text: string): string[] {
  const keys: string[] = [];
  let value: unknown = parse(`${text.trim()} = 1`);
  while (typeof value === 'object' && value !== null) {
    const [entry] = Object.entries(value);
    if (entry === undefined) break;
    keys.push(entry[0]);
    value = entry[1];
  }
  return keys;
}

/** Where a value ends, at the latest with its line where no bracket is open. */
function endOfValue(text: string, start: number): number {
  let depth = 0;
  let at = start;
  while (at < text.length) {
    const next = endOfString(text, at);
    if (next !== null) {
      at = next;
      continue;
    }
    const character = text[at];
    if (character === '#') {
      if (depth === 0) return at;
      at = endOfLine(text, at);
      continue;
    }
    if (character === '\n' && depth === 0) return at;
    if (character === '[' || character === '{') depth += 1;
    if (character === ']' || character === '}') depth -= 1;
    at += 1;
  }
  return at;
}

/** Where the string ends that begins at `at`; `null`: none does. */
function endOfString(text: string, at: number): number | null {
  const quote = text[at];
  if (quote !== '"' && quote !== "'") return null;
  const triple = quote.repeat(3);
  const delimiter = text.startsWith(triple, at) ? triple : quote;
  let end = at + delimiter.length;
  while (end < text.length && !text.startsWith(delimiter, end)) {
    end += quote === '"' && text[end] === '\\' ? 2 : 1;
  }
  end += delimiter.length;
  // Up to two quotes more belong to a string of three.
  const more = delimiter === triple ? new RegExp(`${quote}{0,2}`, 'y') : /(?:)/y;
  return skip(text, end, more);
}
