/** `${x…}`: its value, if the script itself determines what its variable holds. */
import { lookUpVariable, type VariableScope, type VariableValue } from './scope.ts';

/** One parameter expansion with its operands already read. */
export interface ParameterReference {
  readonly name: string;
  readonly prefix: '!' | '#' | undefined;
  /** The text of the subscript, `null` where it is dynamic, `undefined` where there is none. */
  readonly index: string | null | undefined;
  readonly operation: ReferenceOperation | undefined;
}

export type ReferenceOperation =
  | { readonly kind: 'default'; readonly operator: string; readonly operand: VariableValue | null }
  | { readonly kind: 'remove'; readonly operator: string; readonly pattern: string | null }
  | {
      readonly kind: 'replace';
      readonly operator: string;
      readonly pattern: string | null;
      readonly replacement: string | null;
    }
  | {
      readonly kind: 'slice';
      readonly offset: string | null;
      readonly length: string | null | undefined;
    }
  | { readonly kind: 'case'; readonly operator: string }
  | { readonly kind: 'transform'; readonly operator: string }
  | { readonly kind: 'other' };

/** Bounds of matching a pattern: the worst case is the text's length to the power of its stars. */
const matchStepsMax = 200_000;
const patternMax = 256;
/** Always absolute paths, so that their first character is known. */
const absolute = new Set(['HOME', 'PATH', 'PWD', 'SHELL']);

/** Its values; `null` where nothing is known. */
export function expandParameter(
  scope: VariableScope,
  parameter: ParameterReference,
): VariableValue | null {
  const { name, prefix, operation } = parameter;
  if (prefix === '#') return lengthOf(scope, parameter);
  const plain = held(scope, name, parameter.index);
  const target = prefix === '!' ? (plain?.[0] ?? null) : name;
  if (target === null) return null;
  const known = prefix === '!' ? held(scope, target, undefined) : plain;
  if (operation === undefined) return known;
  if (operation.kind === 'default') return defaulted(known, operation);
  if (known === null) return firstLetter(name, operation);
  // A slice of a list takes items, of a text characters.
  if (operation.kind === 'slice' && (isAll(parameter.index) || name === '@' || name === '*')) {
    return sliced(name === '@' || name === '*' ? ['', ...known] : known, operation);
  }
  const changed = known.map((value) => change(value, operation));
  return changed.every((value) => value !== null) ? changed : null;
}

/** Whether quoted values stay apart. */
export function keepsValuesApart(parameter: ParameterReference): boolean {
  return parameter.name === '@' || parameter.index === '@';
}

function held(
  scope: VariableScope,
  name: string,
  index: string | null | undefined,
): VariableValue | null {
  if (index === undefined) {
    const value = lookUpVariable(scope, name);
    return name === '@' || name === '*' || value === null ? value : value.slice(0, 1);
  }
  if (isAll(index)) return lookUpVariable(scope, name);
  if (index === null) return null;
  const own = lookUpVariable(scope, `${name}[${index}]`);
  if (own !== null || !/^-?\d+$/.test(index)) return own;
  const item = lookUpVariable(scope, name)?.at(Number(index));
  return item === undefined ? null : [item];
}

function isAll(index: string | null | undefined): boolean {
  return index === '@' || index === '*';
}

function lengthOf(scope: VariableScope, { name, index }: ParameterReference): VariableValue | null {
  const value = held(scope, name, index);
  if (value === null) return null;
  const many = name === '@' || name === '*' || isAll(index);
  return [String(many ? value.length : Array.from(value[0] ?? '').length)];
}

function defaulted(
  known: VariableValue | null,
  { operator, operand }: Extract<ReferenceOperation, { kind: 'default' }>,
): VariableValue | null {
  const isSet =
    known !== null && known.length > 0 && (!operator.startsWith(':') || known.join('') !== '');
  if (operator.endsWith('+')) return isSet ? operand : known === null ? null : [];
  if (isSet) return known;
  return operator.endsWith('?') ? null : operand;
}

function firstLetter(name: string, operation: ReferenceOperation): VariableValue | null {
  if (!absolute.has(name) || operation.kind !== 'slice') return null;
  const { offset, length } = operation;
  return offset?.trim() === '0' && length?.trim() === '1' ? ['/'] : null;
}

function change(value: string, operation: ReferenceOperation): string | null {
  switch (operation.kind) {
    case 'slice':
      return sliced(Array.from(value), operation)?.join('') ?? null;
    case 'case':
      return recased(value, operation.operator);
    case 'transform':
      return transformed(value, operation.operator);
    case 'remove':
      return removed(value, operation.operator, operation.pattern);
    case 'replace':
      return replaced(value, operation);
    case 'default':
    case 'other':
      return null;
  }
}

function sliced(
  items: readonly string[],
  { offset, length }: Extract<ReferenceOperation, { kind: 'slice' }>,
): VariableValue | null {
  const [from, count] = [integer(offset), length === undefined ? undefined : integer(length)];
  if (from === null || count === null) return null;
  const start = from < 0 ? items.length + from : from;
  if (start < 0) return [];
  const end = count === undefined ? items.length : count < 0 ? items.length + count : start + count;
  return items.slice(start, end);
}

function integer(source: string | null): number | null {
  if (source === null) return null;
  const trimmed = source.trim();
  return /^\(?\s*-?\d{1,6}\s*\)?$/.test(trimmed) ? Number(trimmed.replaceAll(/[()\s]/g, '')) : null;
}

function recased(value: string, operator: string): string {
  const [first = '', ...rest] = Array.from(value);
  switch (operator) {
    case '^':
      return first.toUpperCase() + rest.join('');
    case ',':
      return first.toLowerCase() + rest.join('');
    case '^^':
      return value.toUpperCase();
    default:
      return value.toLowerCase();
  }
}

function transformed(value: string, operator: string): string | null {
  switch (operator) {
    case 'U':
      return value.toUpperCase();
    case 'L':
      return value.toLowerCase();
    case 'u':
      return recased(value, '^');
    case 'Q':
    case 'P':
    case 'E':
      return value;
    default:
      return null;
  }
}

function removed(value: string, operator: string, pattern: string | null): string | null {
  const source = pattern === null ? null : expressionOf(value, pattern);
  if (source === null) return null;
  const anchored = new RegExp(`^(?:${source})$`, 'su');
  const lengths = Array.from({ length: value.length + 1 }, (_, index) => index);
  const ordered = operator.length === 2 ? lengths.toReversed() : lengths;
  for (const count of ordered) {
    const front = operator.startsWith('#');
    const cut = front ? value.slice(0, count) : value.slice(value.length - count);
    if (anchored.test(cut)) return front ? value.slice(count) : value.slice(0, -count || undefined);
  }
  return value;
}

function replaced(
  value: string,
  { operator, pattern, replacement }: Extract<ReferenceOperation, { kind: 'replace' }>,
): string | null {
  const source = pattern === null || pattern === '' ? null : expressionOf(value, pattern);
  if (source === null || replacement === null) return null;
  const [head, tail] = [operator === '/#' ? '^' : '', operator === '/%' ? '$' : ''];
  const flags = operator === '//' ? 'gsu' : 'su';
  return value.replace(new RegExp(`${head}(?:${source})${tail}`, flags), () => replacement);
}

/** A glob as a regular expression; `null` where matching could take long or the glob is odd. */
function expressionOf(value: string, pattern: string): string | null {
  const stars = pattern.split('*').length - 1;
  const steps = (value.length + 1) ** (stars + 2);
  if (pattern.length > patternMax || steps > matchStepsMax) return null;
  const tokens = pattern.match(/\\[^]|\[[!^]?\]?[^\]]*\]|[^]/gu) ?? [];
  const source = tokens.map((token) => {
    if (token === '*') return '.*';
    if (token === '?') return '.';
    if (token.length > 2 && token.startsWith('[')) return classOf(token);
    const literal = token.length > 1 && token.startsWith('\\') ? token.slice(1) : token;
    return literal.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
  });
  return source.includes(null) ? null : source.join('');
}

function classOf(token: string): string | null {
  const inside = token.slice(1, -1);
  if (!/^[!^]?[A-Za-z0-9_ -]+$/.test(inside)) return null;
  const letters = inside.replace(/^!/, '^');
  return /[a-z0-9]-[a-z0-9]*-|^-|-$/i.test(letters) ? null : `[${letters}]`;
}
