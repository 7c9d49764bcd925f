/**
 * Puts one entry into a JSON file of somebody else, or takes it out. Only the bytes of the entry
 * change: comments, order, indentation and line ends of the rest stay as they are.
 */
import { findNodeAtLocation, getNodeValue, parseTree } from 'jsonc-parser';
import type { Node, ParseError } from 'jsonc-parser';

/** The file cannot be edited without the risk of harm; the message is one clause that says why. */
export class CannotEditError extends Error {}

const bom = '\ufeff';

/** The value at `keys`; `undefined`: there is none. @throws CannotEdit */
export function readJsonAt(text: string, keys: readonly string[]): unknown {
  const root = rootOf(text);
  if (root === null) return undefined;
  checkPath(root, keys);
  const found = findNodeAtLocation(root, [...keys]);
  return found === undefined ? undefined : getNodeValue(found);
}

/** The text with `value` at `keys`, in place of what was there. @throws CannotEdit */
export function setJsonAt(text: string, keys: readonly string[], value: unknown): string {
  const root = rootOf(text);
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  if (root === null) {
    const kept = text.replace(/[ \t\r\n]+$/, '');
    const lead = kept === '' || kept === bom ? '' : eol;
    return kept + lead + lines(nest(keys, value), { unit: '  ', at: '', eol }) + eol;
  }
  checkPath(root, keys);
  const style = { unit: unitOf(text), eol };
  const old = findNodeAtLocation(root, [...keys]);
  if (old !== undefined) {
    const shown = lines(value, { ...style, at: indentAt(text, old.offset) });
    return splice(text, old.offset, old.offset + old.length, shown);
  }
  // The innermost table that is there takes what is missing.
  let depth = keys.length - 1;
  let table = findNodeAtLocation(root, keys.slice(0, depth));
  for (; table === undefined && depth > 0; table = findNodeAtLocation(root, keys.slice(0, depth))) {
    depth -= 1;
  }
  const member = { key: keys[depth] ?? '', value: nest(keys.slice(depth + 1), value) };
  return insert(text, table ?? root, member);
}

/** The text without what is at `keys`; as it is when nothing is there. @throws CannotEdit */
export function removeJsonAt(text: string, keys: readonly string[]): string {
  const root = rootOf(text);
  if (root === null) return text;
  checkPath(root, keys);
  const property = findNodeAtLocation(root, [...keys])?.parent;
  const table = property?.parent;
  const children = table?.children;
  if (property === undefined || table === undefined || children === undefined) return text;
  const at = children.indexOf(property);
  const before = children[at - 1];
  const after = children[at + 1];
  const beforeEnd = before === undefined ? table.offset + 1 : endOf(before);
  const afterStart = after === undefined ? endOf(table) - 1 : after.offset;
  const start = beforeEnd + lastTokenEnd(text.slice(beforeEnd, property.offset));
  const commaAfter = commaIn(text.slice(endOf(property), afterStart));
  if (commaAfter !== null) {
    return tidyEmpty(splice(text, start, endOf(property) + commaAfter + 1, ''), table, children);
  }
  const kept = splice(text, start, endOf(property), '');
  const commaBefore = commaIn(text.slice(beforeEnd, property.offset));
  if (before === undefined || commaBefore === null) return tidyEmpty(kept, table, children);
  // Its own place may lie behind a comment, so it goes apart.
  const comma = beforeEnd + commaBefore;
  return comma < start ? splice(kept, comma, comma + 1, '') : kept;
}

/** A table that held nothing else is `{}` again. */
function tidyEmpty(text: string, table: Node, children: readonly Node[]): string {
  if (children.length > 1) return text;
  const rest = /^\{\s*\}/.exec(text.slice(table.offset));
  return rest === null ? text : splice(text, table.offset, table.offset + rest[0].length, '{}');
}

/** `null`: there is no value, only white space and comments. */
function rootOf(text: string): Node | null {
  const errors: ParseError[] = [];
  // The mark of the encoding becomes a blank, so that offsets stay what they are.
  const body = text.startsWith(bom) ? ` ${text.slice(1)}` : text;
  let root: Node | undefined;
  try {
    const options = { allowTrailingComma: true, allowEmptyContent: true, disallowComments: false };
    root = parseTree(body, errors, options);
  } catch {
    throw new CannotEditError('it is nested too deep');
  }
  const [error] = errors;
  if (error !== undefined) {
    const line = text.slice(0, error.offset).split('\n').length;
    throw new CannotEditError(`it is not valid JSON (line ${line})`);
  }
  if (root === undefined) return null;
  if (root.type !== 'object') throw new CannotEditError(`it holds ${root.type}, wanted an object`);
  return root;
}

/** Each key on the way is there at most once, and leads to a table. */
function checkPath(root: Node, keys: readonly string[]): void {
  let table: Node | undefined = root;
  for (const [at, key] of keys.entries()) {
    if (table === undefined) return;
    if (table.type !== 'object') {
      const place = JSON.stringify(keys.slice(0, at).join('.'));
      throw new CannotEditError(`${place} is ${table.type}, wanted an object`);
    }
    const found: Node[] = (table.children ?? []).filter(
      ({ children }) => children?.[0]?.value === key,
    );
    if (found.length > 1) {
      throw new CannotEditError(`the key ${JSON.stringify(key)} is in it twice`);
    }
    table = found[0]?.children?.[1];
  }
}

interface Member {
  readonly key: string;
  readonly value: unknown;
}

/** Puts a member behind the last one of `table`, in the way the table is written. */
function insert(text: string, table: Node, { key, value }: Member): string {
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  const unit = unitOf(text);
  const close = endOf(table) - 1;
  const last = table.children?.at(-1);
  const inside = text.slice(table.offset, close);
  const isOneLine = !inside.includes('\n') && last !== undefined;
  const first = table.children?.[0];
  const outer = indentAt(text, table.offset);
  const at = isOneLine || first === undefined ? outer + unit : indentAt(text, first.offset);
  const shown = isOneLine ? oneLine(value) : lines(value, { unit, at, eol });
  const member = `${JSON.stringify(key)}: ${shown}`;
  const lead = isOneLine ? ' ' : eol + at;
  if (last === undefined) {
    const kept = table.offset + 1 + lastTokenEnd(text.slice(table.offset + 1, close));
    // A line comment would swallow the brace.
    return splice(text, kept, close, `${lead}${member}${eol}${outer}`);
  }
  const from = endOf(last);
  const comma = commaIn(text.slice(from, close));
  const place = from + lastTokenEnd(text.slice(from, close));
  const written = splice(text, place, place, lead + member + (comma === null ? '' : ','));
  return comma === null ? splice(written, from, from, ',') : written;
}

/** Where the first comma stands that is in no comment. */
function commaIn(text: string): number | null {
  const blanked = text.replaceAll(/\/\/[^\n]*|\/\*[^]*?\*\//g, (found) => ' '.repeat(found.length));
  const at = blanked.indexOf(',');
  return at === -1 ? null : at;
}

/** Where the last comma or comment ends; what is behind it is white space. */
const lastTokenEnd = (text: string): number => text.trimEnd().length;

const endOf = (node: Node): number => node.offset + node.length;

const splice = (text: string, start: number, end: number, by: string): string =>
  text.slice(0, start) + by + text.slice(end);

/** White space at the start of the line that holds `offset`. */
function indentAt(text: string, offset: number): string {
  const start = text.lastIndexOf('\n', offset - 1) + 1;
  return /^[ \t]*/.exec(text.slice(start, offset))?.[0] ?? '';
}

/** One step of indentation, as the first indented line has it. */
const unitOf = (text: string): string => /\n([ \t]+)["}]/.exec(text)?.[1] ?? '  ';

const nest = (keys: readonly string[], value: unknown): unknown =>
  keys.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value);

interface Style {
  readonly unit: string;
  /** Indentation of the line on which the value begins. */
  readonly at: string;
  readonly eol: string;
}

const lines = (value: unknown, { unit, at, eol }: Style): string =>
  JSON.stringify(value, null, unit).replaceAll('\n', eol + at);

const oneLine = (value: unknown): string => JSON.stringify(value, null, 1).replaceAll(/\n */g, ' ');
