/**
 * Puts one table into a TOML file of somebody else, or takes it out. Statements are found by their
 * lines, so that comments and everything else stay as they are; each result is read again.
 */
import { isDeepStrictEqual } from 'node:util';
import { parse } from 'smol-toml';
import { CannotEditError } from './config-json.ts';
import type { McpEntry } from './mcp-clients.ts';

const bom = '\ufeff';

/** The value at `keys`; `undefined`: there is none. @throws CannotEdit */
export function readTomlAt(text: string, keys: readonly string[]): unknown {
  return valueAt(parsed(text), keys);
}

/**
 * The text with `section` at its end, or in the place of the table that was at `keys`.
 *
 * @param section begins with its header and ends with a line end
 * @throws CannotEdit
 */
export function setTomlAt(text: string, keys: readonly string[], section: string): string {
  const before = parsed(text);
  // Refuses what is no table on the way.
  valueAt(before, keys);
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  const wanted = withValue(before, keys, valueAt(parsed(section), keys));
  const first = scanTomlStatements(text).find(({ path }) => startsWith(path, keys));
  const rest = cutText(text, keys);
  if (first !== undefined && first.isHeader) {
    const at = first.start;
    return checked(rest.slice(0, at) + section + rest.slice(at), wanted);
  }
  const end = rest === '' || rest === bom || rest.endsWith('\n') ? '' : eol;
  const blank = rest.trim() === '' || /\n\r?\n$/.test(rest) ? '' : eol;
  return checked(rest + end + blank + section, wanted);
}

/** The text without the table at `keys`; as it is when there is none. @throws CannotEdit */
export function removeTomlAt(text: string, keys: readonly string[]): string {
  const before = parsed(text);
  if (valueAt(before, keys) === undefined) return text;
  return checked(cutText(text, keys), withValue(before, keys, undefined));
}

function cutText(text: string, keys: readonly string[]): string {
  let kept = '';
  let at = 0;
  for (const { path, start, end } of scanTomlStatements(text)) {
    if (!startsWith(path, keys)) continue;
    kept += text.slice(at, start);
    at = end;
  }
  return kept + text.slice(at);
}

const startsWith = (path: readonly string[], keys: readonly string[]): boolean =>
  keys.every((key, at) => path[at] === key);

function parsed(text: string): unknown {
  try {
    // Larger numbers than a double holds are somebody's, too.
    return parse(text.startsWith(bom) ? text.slice(1) : text, { integersAsBigInt: true });
  } catch (error) {
    const line = error instanceof Error ? /line (\d+)|:(\d+):/.exec(error.message) : null;
    const place = line === null ? '' : ` (line ${line[1] ?? line[2]})`;
    throw new CannotEditError(`it is not valid TOML${place}`);
  }
}

/** Refuses a text that does not say what is wanted: statements may be written in other ways. */
function checked(text: string, wanted: unknown): string {
  let found: unknown;
  try {
    found = parsed(text);
  } catch {
    found = null;
  }
  if (isDeepStrictEqual(pruned(found), pruned(wanted))) return text;
  throw new CannotEditError(
    'its servers are in an inline or dotted table, which no lines can be added to',
  );
}

function valueAt(table: unknown, keys: readonly string[]): unknown {
  let found = table;
  for (const [at, key] of keys.entries()) {
    if (found === undefined) return undefined;
    if (!isTable(found)) {
      const place = JSON.stringify(keys.slice(0, at).join('.'));
      throw new CannotEditError(`${place} is no table`);
    }
    found = Object.hasOwn(found, key) ? found[key] : undefined;
  }
  return found;
}

/** A copy with `value` at `keys`; `undefined` takes it out. */
function withValue(table: unknown, keys: readonly string[], value: unknown): unknown {
  const [key, ...rest] = keys;
  if (key === undefined) return value;
  const copy = new Map(isTable(table) ? Object.entries(table) : []);
  const inner = withValue(copy.get(key), rest, value);
  if (inner === undefined) copy.delete(key);
  else copy.set(key, inner);
  return Object.fromEntries(copy);
}

/** Without tables that hold nothing: a header that only led to what was taken out is gone. */
function pruned(value: unknown): unknown {
  if (!isTable(value)) return value;
  const members = Object.entries(value).flatMap(([key, inner]) => {
    const kept = pruned(inner);
    const isEmpty = isTable(kept) && Object.keys(kept).length === 0;
    return isEmpty ? [] : [[key, kept] as const];
  });
  return Object.fromEntries(members);
}

/** `[mcp_servers.trl]` with strings and lists of strings; ends with a line end. */
export function tomlSection(
  keys: readonly string[],
  entry: Readonly<Record<string, string | readonly string[]>> | McpEntry,
  eol: string,
): string {
  const header = keys.map((key) => (/^[\w-]+$/.test(key) ? key : tomlString(key))).join('.');
  const members = Object.entries(entry).map(
    ([key, value]: [string, string | readonly string[]]) => {
      const shown =
        typeof value === 'string' ? tomlString(value) : value.map(tomlString).join(', ');
      return `${key} = ${typeof value === 'string' ? shown : `[${shown}]`}`;
    },
  );
  return [`[${header}]`, ...members].map((line) => line + eol).join('');
}

/** A basic string: JSON's escapes, and one for DEL, which JSON writes as it is. */
function tomlString(text: string): string {
  return JSON.stringify(text).replaceAll('\x7f', String.raw`\u007f`);
}

/** A table of TOML, no array, date or other value. */
const isTable = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' &&
  value !== null &&
  [Object.prototype, null].includes(Object.getPrototypeOf(value));
interface TomlStatement {
  /** Keys from the root; of a header its own. */
  readonly path: readonly string[];
  readonly isHeader: boolean;
  /** Offset of the first character of its first line. */
  readonly start: number;
  /** Offset behind the end of its last line. */
  readonly end: number;
}

/** In the order of the text. `text` must be valid TOML. */
function scanTomlStatements(text: string): TomlStatement[] {
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
