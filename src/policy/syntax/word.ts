/** One word of the source as the words that a command gets for it. */
import type { Assignment as AssignmentNode, Word as WordNode } from 'unbash';
import type { SourceSpan } from '../analysis.ts';
import { holeAtom, staticText, textAtom, type Atom } from './atom.ts';
import { expandBraces } from './brace.ts';
import { splitFields } from './fields.ts';
import { flattenWord, type FlatWord } from './flatten.ts';
import {
  isOutOfTime,
  reportSyntaxProblem,
  nodeSpan,
  type SyntaxPosition,
  type ScriptReadingState,
} from './reading-state.ts';
import { assignVariable, lookUpVariable, type VariableValue } from './scope.ts';
import type { Assignment, ShellCommand, ShellWord } from './script.ts';

/** Text in which nothing has a meaning to the shell: most words. */
const simple = /^[\w./:=,@%+-]+$/;

/** What one word of the source comes to. */
export interface WordExpansion {
  readonly words: readonly ShellWord[];
  readonly inner: readonly ShellCommand[];
}

const none: readonly never[] = [];
const nothing: WordExpansion = { words: none, inner: none };

/** The arguments that a word expands to: braces, splitting and globs apply. */
export function readWord(
  reading: ScriptReadingState,
  place: SyntaxPosition,
  node: WordNode,
): WordExpansion {
  const span = nodeSpan(place, node);
  // The parser takes a word apart when it is asked for its parts: nothing is in these.
  if (simple.test(node.text)) {
    return { words: [literal(node.text, span)], inner: none };
  }
  const flat = flattenWord(reading, place, node);
  noteDynamic(reading, flat.atoms, span);
  const expanded = expandBraces(flat.atoms);
  // Braces are work of their own: also the looking for those that belong together.
  if (expanded?.[0] !== flat.atoms) reading.budget.words += node.text.length;
  if (expanded === null) {
    reportSyntaxProblem(reading, 'limit.braces', span);
    return { words: [unknown(flat, span)], inner: flat.inner };
  }
  if (expanded.length > 1) reportSyntaxProblem(reading, 'dynamic', span);
  const extended = expanded.length > 1 ? expanded.map((each) => extend(reading, each)) : expanded;
  const options = {
    span,
    variables: flat.variables,
    split: true,
    separators: lookUpVariable(reading.scope, 'IFS')?.[0] ?? ' \t\n',
  };
  const words = extended.flatMap((atoms) => splitFields(atoms, options));
  if (words.some(({ glob }) => glob !== null)) reportSyntaxProblem(reading, 'dynamic', span);
  reading.budget.words += words.length;
  return { words, inner: flat.inner };
}

/** The one text that a word expands to where nothing is split: `[[ ]]`, a redirect's target. */
export function readSingleWord(
  reading: ScriptReadingState,
  place: SyntaxPosition,
  node: WordNode,
): WordExpansion {
  const span = nodeSpan(place, node);
  const flat = flattenWord(reading, place, node);
  return { words: [single(flat.atoms, flat, span)], inner: flat.inner };
}

/** `name=value` in front of a command or alone; what it says is remembered in the scope. */
export function readAssignment(
  reading: ScriptReadingState,
  place: SyntaxPosition,
  node: AssignmentNode,
): {
  readonly assignment: Assignment;
  readonly word: ShellWord;
  readonly inner: readonly ShellCommand[];
} {
  const span = nodeSpan(place, node);
  const inner: ShellCommand[] = [];
  const index = node.index === undefined ? undefined : flattenWord(reading, place, node.index);
  inner.push(...(index?.inner ?? []));
  const key = index === undefined ? undefined : (staticText(index.atoms) ?? '?');
  const name = key === undefined ? node.name : `${node.name}[${key}]`;
  const append = node.append === true;
  if (node.value.type === 'ArrayValue') {
    const items = node.value.elements.map((element) =>
      isOutOfTime(reading, span) ? nothing : readWord(reading, place, element),
    );
    inner.push(...items.flatMap((item) => item.inner));
    remember(reading, place, { name, value: valuesIn(items), append });
    const words = items.flatMap((item) => item.words);
    const variables = words.flatMap((word) => word.variables);
    const flat = { atoms: [holeAtom(true)], inner: [], variables };
    const word = single([textAtom(`${name}=`, true), holeAtom(true)], flat, span);
    return { assignment: { span, name: node.name, value: null }, word, inner };
  }
  const flat = flattenWord(reading, place, node.value);
  inner.push(...flat.inner);
  const value = single(flat.atoms, flat, nodeSpan(place, node.value));
  remember(reading, place, { name, value: value.value === null ? null : [value.value], append });
  const whole = [textAtom(`${name}${append ? '+' : ''}=`, true), ...flat.atoms];
  const word = single(whole, flat, span);
  return { assignment: { span, name: node.name, value }, word, inner };
}

/** What is known of a variable after `name=`, `name+=` or `name=(…)`. */
function remember(
  reading: ScriptReadingState,
  place: SyntaxPosition,
  { name, value, append }: { name: string; value: VariableValue | null; append: boolean },
): void {
  const before = append ? lookUpVariable(reading.scope, name) : null;
  const joined =
    before === null || value === null || value.length !== 1 || before.length !== 1
      ? [...(before ?? []), ...(value ?? [])]
      : [`${before[0] ?? ''}${value[0] ?? ''}`];
  assignVariable(
    reading.scope,
    name,
    value === null ? null : append ? joined : value,
    place.certain,
  );
}

function valuesIn(items: readonly WordExpansion[]): VariableValue | null {
  const values = items.flatMap((item) => item.words.map((word) => word.value));
  const known = values.filter((value) => value !== null);
  return known.length === values.length ? known : null;
}

/** Says what makes a word more than static text: variables and an unquoted tilde. */
function noteDynamic(reading: ScriptReadingState, atoms: readonly Atom[], span: SourceSpan): void {
  const whole = atoms.map((atom) => (atom.kind === 'text' && !atom.quoted ? atom.text : '_'));
  const tilde = /^~|[=:]~/.test(whole.join(''));
  if (tilde || atoms.some(({ kind }) => kind === 'hole')) {
    reportSyntaxProblem(reading, 'dynamic', span);
  }
}

/** `$x{a,b}` is `$xa $xb`: text behind a `$name` that braces put there belongs to the name. */
function extend(reading: ScriptReadingState, atoms: readonly Atom[]): readonly Atom[] {
  const whole: Atom[] = [];
  for (const atom of atoms) {
    const last = whole.at(-1);
    const tail = atom.kind === 'text' && !atom.quoted ? /^\w+/.exec(atom.text)?.[0] : undefined;
    if (tail === undefined || last?.kind !== 'hole' || last.name === null) {
      whole.push(atom);
      continue;
    }
    const name = last.name + tail;
    const values = lookUpVariable(reading.scope, name)?.slice(0, 1) ?? null;
    whole.splice(-1, 1, { ...last, name, values });
    if (atom.kind === 'text') whole.push(textAtom(atom.text.slice(tail.length), false));
  }
  return whole;
}

function single(atoms: readonly Atom[], flat: FlatWord, span: SourceSpan): ShellWord {
  const options = { span, variables: flat.variables, split: false, separators: '' };
  const words = splitFields(atoms, options);
  const [first] = words;
  if (first !== undefined && words.length === 1) return first;
  const value = words.map((word) => word.value ?? '').join(' ');
  return { span, value, pieces: [value], glob: null, variables: flat.variables, derived: true };
}

function literal(value: string, span: SourceSpan): ShellWord {
  return { span, value, pieces: [value], glob: null, variables: none, derived: false };
}

function unknown(flat: FlatWord, span: SourceSpan): ShellWord {
  const pieces = [null, staticText(flat.atoms), null];
  return { span, value: null, pieces, glob: null, variables: flat.variables, derived: true };
}
