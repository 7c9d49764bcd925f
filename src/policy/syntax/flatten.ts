/** From the parser's words to atoms: every part is visited, so that no substitution is missed. */
import {
  forEachChild,
  type ArithmeticExpression,
  type DoubleQuotedChild,
  type ParameterExpansionPart,
  type ParameterOperation,
  type ParsedScript,
  type SyntaxNode,
  type Word as WordNode,
  type WordPart,
} from 'unbash';
import type { SourceSpan } from '../analysis.ts';
import { unquotedAtoms, holeAtom, staticText, textAtom, type Atom } from './atom.ts';
import { reachedBound } from './budget.ts';
import { staticOutput } from './static-output.ts';
import {
  keepsValuesApart,
  expandParameter,
  type ReferenceOperation,
  type ParameterReference,
} from './parameter-expansion.ts';
import {
  reportSyntaxProblem,
  nodeSpan,
  type SyntaxPosition,
  type ScriptReadingState,
} from './reading-state.ts';
import { assignVariable, lookUpVariable } from './scope.ts';
import type { ShellCommand } from './script.ts';

/** Everything that one word holds. */
export interface FlatWord {
  readonly atoms: readonly Atom[];
  /** The commands of its substitutions. */
  readonly inner: readonly ShellCommand[];
  /** Names of the variables whose values it contains. */
  readonly variables: readonly string[];
}

/** The state of flattening one word. */
interface WordContext {
  readonly reading: ScriptReadingState;
  readonly place: SyntaxPosition;
  readonly inner: ShellCommand[];
  readonly variables: Set<string>;
}

const partsMax = 2_048;
const charactersOfWord = 16;

type Parts = readonly (WordPart | DoubleQuotedChild)[];

/** Flattens a word; `quoted` if quotes and blanks in it mean nothing (here-documents). */
export function flattenWord(
  reading: ScriptReadingState,
  place: SyntaxPosition,
  word: WordNode,
): FlatWord {
  const context = open(reading, place);
  return close(context, atomsOf(context, word));
}

/** Flattens parts in double quotes or in a here-document. */
export function flattenQuotedParts(
  reading: ScriptReadingState,
  place: SyntaxPosition,
  parts: Parts,
): FlatWord {
  const context = open(reading, place);
  return close(context, partsAtoms(context, parts, true));
}

/** The commands of all substitutions below a node of arithmetic or of `[[ ]]`. */
export function substitutionCommands(
  reading: ScriptReadingState,
  place: SyntaxPosition,
  node: SyntaxNode,
): readonly ShellCommand[] {
  const context = open(reading, place);
  search(context, node);
  return context.inner;
}

function open(reading: ScriptReadingState, place: SyntaxPosition): WordContext {
  return { reading, place, inner: [], variables: new Set() };
}

function close({ inner, variables }: WordContext, atoms: readonly Atom[]): FlatWord {
  return { atoms, inner, variables: [...variables] };
}

function atomsOf(context: WordContext, word: WordNode): readonly Atom[] {
  const parts = word.parts;
  if (parts === undefined) {
    noteUnclosed(context, word);
    return unquotedAtoms(word.text);
  }
  return partsAtoms(context, parts, false);
}

/** `$[` in text: either the end of `$[…]` is missing, or the dollar is escaped. */
function noteUnclosed(
  { reading, place }: WordContext,
  node: { readonly text: string; readonly pos: number; readonly end: number },
): void {
  if (node.text.includes('$[')) reportSyntaxProblem(reading, 'dynamic', nodeSpan(place, node));
}

function partsAtoms(context: WordContext, parts: Parts, quoted: boolean): readonly Atom[] {
  if (parts.length <= partsMax) return parts.flatMap((part) => partAtoms(context, part, quoted));
  const last = parts[partsMax] ?? parts[0];
  if (last !== undefined) {
    reportSyntaxProblem(context.reading, 'limit.parts', nodeSpan(context.place, last));
  }
  const head = parts.slice(0, partsMax).flatMap((part) => partAtoms(context, part, quoted));
  return [...head, holeAtom(quoted)];
}

function partAtoms(
  context: WordContext,
  part: WordPart | DoubleQuotedChild,
  quoted: boolean,
): readonly Atom[] {
  const child = (each: WordPart | DoubleQuotedChild): readonly Atom[] =>
    partAtoms(context, each, quoted);
  switch (part.type) {
    case 'Literal':
      noteUnclosed(context, part);
      return quoted ? [textAtom(part.value, true)] : unquotedAtoms(part.text);
    case 'SingleQuoted':
      return [textAtom(part.value, true)];
    case 'AnsiCQuoted':
      return isUtf8(part) ? [textAtom(part.value, true)] : [holeAtom(true)];
    case 'DoubleQuoted':
    case 'LocaleString':
      return [textAtom('', true), ...partsAtoms(context, part.parts, true)];
    case 'Glob':
      if (part.kind !== 'bracket') return [textAtom(part.text, quoted)];
      return [textAtom('[', quoted), ...part.parts.flatMap(child), textAtom(']', quoted)];
    case 'BraceExpansion':
      if (part.parts === undefined) return unquotedAtoms(part.text);
      return [textAtom('{', false), ...part.parts.flatMap(child), textAtom('}', false)];
    case 'ExtendedGlob':
      part.parts?.forEach(child);
      return [textAtom(part.text, quoted)];
    case 'SimpleExpansion':
      return [simpleHole(context, part.text, quoted)];
    case 'ParameterExpansion':
      return parameterAtoms(context, part, quoted);
    case 'CommandExpansion':
    case 'ProcessSubstitution':
      return [substitutionHole(context, part, quoted)];
    case 'ArithmeticExpansion':
      if (!hasTime(context, nodeSpan(context.place, part))) return [holeAtom(quoted)];
      if (part.expression !== undefined) search(context, part.expression);
      return [arithmeticHole(context, part, quoted)];
  }
}

/** Whether `$'…'` gives characters: `\xff` is a byte, `\ud800` and `\U110000` are no letters. */
function isUtf8({
  value,
  text: source,
}: {
  readonly value: string;
  readonly text: string;
}): boolean {
  if (/[\uFFFD\p{Cs}]/u.test(value)) return false;
  const points = [...source.matchAll(/\\U([0-9a-f]{1,8})/gi)];
  return points.every(([, digits = '']) => Number.parseInt(digits, 16) <= 0x10_ff_ff);
}

function simpleHole(context: WordContext, source: string, quoted: boolean): Atom {
  const name = source.slice(1).replaceAll('\\\n', '');
  context.variables.add(name);
  const values = lookUpVariable(context.reading.scope, name);
  const identifier = /^[A-Za-z_]\w*$/.test(name) ? name : null;
  if (name === '@' || name === '*') return holeAtom(quoted, { values, apart: name === '@' });
  return holeAtom(quoted, { name: identifier, values: values?.slice(0, 1) ?? null });
}

function parameterAtoms(
  context: WordContext,
  part: ParameterExpansionPart,
  quoted: boolean,
): readonly Atom[] {
  const { reading, place } = context;
  const before = new Set(context.variables);
  // Read once: reading it twice would double the work with every level of nesting.
  const operand =
    part.operation?.type === 'Default' ? atomsOf(context, part.operation.operand) : [];
  const parameter: ParameterReference = {
    name: part.parameter,
    prefix: part.prefix,
    index: part.index === undefined ? undefined : staticText(atomsOf(context, part.index)),
    operation: operationOf(context, part.operation, operand),
  };
  const { operation } = parameter;
  const alternative = operation?.kind === 'default' && operation.operator.endsWith('+');
  // A length and `${x+set}` tell that it is set, and nothing of its value.
  if (part.prefix !== '#' && !alternative) before.add(part.parameter);
  for (const name of before) context.variables.add(name);
  const values = expandParameter(reading.scope, parameter);
  if (operation?.kind === 'default' && operation.operator.endsWith('=')) {
    assignVariable(reading.scope, part.parameter, values, false);
  }
  if (operation?.kind === 'transform' && operation.operator === 'P') {
    expandAgain(context, values, nodeSpan(place, part));
  }
  if (operation?.kind === 'default' && values !== null && values === operation.operand && !quoted) {
    // Quotes in an operand keep it together; the empty expansion says that it is derived.
    return [holeAtom(false, { values: [] }), ...operand.map(loosened)];
  }
  return [holeAtom(quoted, { values, apart: keepsValuesApart(parameter) })];
}

/** Unquoted text of an operand is split at blanks as a value is. */
function loosened(atom: Atom): Atom {
  return atom.kind === 'text' && !atom.quoted ? holeAtom(false, { values: [atom.text] }) : atom;
}

/** `${x@P}` runs the substitutions in the value of `x`. */
function expandAgain(
  context: WordContext,
  values: readonly string[] | null,
  span: SourceSpan,
): void {
  for (const value of values ?? []) {
    if (!/[`$]/.test(value)) continue;
    const script = context.reading.parse(`: "${value.replaceAll('"', String.raw`\"`)}"`);
    if (script !== null) context.inner.push(...read(context, script, span, true));
  }
}

function operationOf(
  context: WordContext,
  operation: ParameterOperation | undefined,
  operandAtoms: readonly Atom[],
): ReferenceOperation | undefined {
  const textOf = (word: WordNode): string | null => staticText(atomsOf(context, word));
  if (operation === undefined) return undefined;
  switch (operation.type) {
    case 'Default': {
      const operand = staticText(operandAtoms);
      const { operator } = operation;
      return { kind: 'default', operator, operand: operand === null ? null : [operand] };
    }
    case 'Remove': {
      const pattern = patternOf(atomsOf(context, operation.operand));
      return { kind: 'remove', operator: operation.operator, pattern };
    }
    case 'Replace': {
      const pattern = patternOf(atomsOf(context, operation.pattern));
      const replacement = textOf(operation.replacement);
      return { kind: 'replace', operator: operation.operator, pattern, replacement };
    }
    case 'Slice': {
      const length = operation.length === undefined ? undefined : textOf(operation.length);
      return { kind: 'slice', offset: textOf(operation.offset), length };
    }
    case 'CaseModification':
      if (operation.operand === undefined) return { kind: 'case', operator: operation.operator };
      textOf(operation.operand);
      return { kind: 'other' };
    case 'Transform':
      return { kind: 'transform', operator: textOf(operation.operand) ?? '' };
    case 'Names':
    case 'Unknown':
      return { kind: 'other' };
  }
}

/** A pattern with what is quoted escaped, or `null` where it is dynamic. */
function patternOf(atoms: readonly Atom[]): string | null {
  if (atoms.some((atom) => atom.kind === 'hole' && atom.values === null)) return null;
  const pieces = atoms.map((atom) => {
    if (atom.kind === 'hole') return atom.values?.join(' ') ?? '';
    return atom.quoted ? atom.text.replaceAll(/[\\*?[\]]/g, String.raw`\$&`) : atom.text;
  });
  return pieces.join('');
}

function substitutionHole(
  context: WordContext,
  part: Extract<WordPart, { type: 'CommandExpansion' | 'ProcessSubstitution' }>,
  quoted: boolean,
): Atom {
  const span = nodeSpan(context.place, part);
  if (!mayParse(context, span)) return holeAtom(quoted);
  if (part.script === undefined) {
    reportSyntaxProblem(context.reading, 'unparseable', span);
    return holeAtom(quoted);
  }
  const commands = read(context, part.script, span, part.text.startsWith('`'));
  context.inner.push(...commands);
  if (part.type === 'ProcessSubstitution') return holeAtom(quoted, { prefix: '/dev/fd/' });
  const output = staticOutput(commands);
  return holeAtom(quoted, { values: output === null ? null : [output.replace(/\n+$/, '')] });
}

function mayParse(context: WordContext, span: SourceSpan): boolean {
  reportSyntaxProblem(context.reading, 'substitution', span);
  return hasTime(context, span);
}

/**
 * Whether what stands here may be parsed: the parser does it when it is asked for it. What lies
 * deep inside of others is gone through once for each of them, so its length counts every time.
 */
function hasTime({ reading }: WordContext, span: SourceSpan): boolean {
  const bound = reachedBound(reading.budget);
  reading.budget.words += Math.floor((span[1] - span[0]) / charactersOfWord);
  if (bound !== null) reportSyntaxProblem(reading, bound, span);
  return bound === null;
}

/** Reads a script inside a word; `decoded` where its positions count in a text of its own. */
function read(
  { reading, place }: WordContext,
  script: ParsedScript,
  span: SourceSpan,
  decoded: boolean,
): readonly ShellCommand[] {
  const own = decoded || script.source !== undefined;
  const within = own ? (place.within ?? span) : place.within;
  return reading.nested(script, { ...place, stdin: { kind: 'inherited' }, within }, span);
}

function arithmeticHole(
  context: WordContext,
  part: Extract<WordPart, { type: 'ArithmeticExpansion' }>,
  quoted: boolean,
): Atom {
  const value = part.expression === undefined ? null : numberOf(part.expression);
  return holeAtom(quoted, { values: value === null ? null : [String(value)] });
}

/** The value of an expression of whole numbers alone. */
function numberOf(expression: ArithmeticExpression): number | null {
  switch (expression.type) {
    case 'ArithmeticWord':
      return /^(0|[1-9]\d{0,8})$/.test(expression.value) ? Number(expression.value) : null;
    case 'ArithmeticGroup':
      return numberOf(expression.expression);
    case 'ArithmeticBinary': {
      const [left, right] = [numberOf(expression.left), numberOf(expression.right)];
      if (left === null || right === null) return null;
      if (expression.operator === '+') return left + right;
      if (expression.operator === '-') return left - right;
      return expression.operator === '*' ? left * right : null;
    }
    case 'ArithmeticUnary':
    case 'ArithmeticTernary':
    case 'ArithmeticCommandExpansion':
      return null;
  }
}

function search(context: WordContext, node: SyntaxNode): void {
  if (node.type === 'CommandExpansion' || node.type === 'ProcessSubstitution') {
    substitutionHole(context, node, true);
    return;
  }
  if (node.type === 'ArithmeticCommandExpansion') {
    const span = nodeSpan(context.place, node);
    if (!mayParse(context, span) || node.script === undefined) return;
    context.inner.push(...read(context, node.script, span, node.text.startsWith('`')));
    return;
  }
  if (node.type === 'ParameterExpansion') {
    parameterAtoms(context, node, true);
    return;
  }
  const isArithmetic = node.type === 'ArithmeticWord' || node.type === 'ArithmeticExpansion';
  if (isArithmetic && !hasTime(context, nodeSpan(context.place, node))) return;
  if (node.type === 'ArithmeticWord') {
    arithmeticNames(context, node.value, nodeSpan(context.place, node));
  }
  forEachChild(node, (child) => {
    search(context, child);
  });
}

/** A variable in arithmetic is an expression again: `$((a))` with `a='x[$(cmd)]'` runs `cmd`. */
function arithmeticNames(context: WordContext, source: string, span: SourceSpan): void {
  for (const [name] of source.matchAll(/[A-Za-z_]\w*/g)) {
    context.variables.add(name);
    expandAgain(context, lookUpVariable(context.reading.scope, name), span);
  }
}
