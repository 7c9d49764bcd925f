/**
 * Puts one table into a TOML file of somebody else, or takes it out. Statements are found by their
 * lines, so that comments and everything else stay as they are; each result is read again.
 */
import { isDeepStrictEqual } from 'node:util';
import { parse } from 'smol-toml';
import { CannotEditError } from './mcp-install-json.ts';
import { scanTomlStatements } from './mcp-install-toml-scan.ts';

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

/** A table of TOML, no array, date or other value. */
const isTable = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' &&
  value !== null &&
  [Object.prototype, null].includes(Object.getPrototypeOf(value));
