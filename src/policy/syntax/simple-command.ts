/** Simple commands: their words, assignments, redirects and input. */
import type { Assignment as AssignmentNode, Command as CommandNode, Redirection } from 'unbash';
import type { SourceSpan } from '../analysis.ts';
import { reachedBound } from './budget.ts';
import {
  isConfusableName,
  isConfusableOption,
  isConfusableWord,
  escapeNonAscii,
  removeInvisible,
} from './characters.ts';
import {
  isOutOfTime,
  reportSyntaxProblem,
  nodeSpan,
  type SyntaxPosition,
  type ScriptReadingState,
} from './reading-state.ts';
import { readRedirects } from './redirect.ts';
import { assignVariable, type VariableValue } from './scope.ts';
import type { Assignment, ShellCommand, ShellWord } from './script.ts';
import { readAssignment, readWord } from './word.ts';

/** As many such words as anybody looks at. */
const confusablesMax = 8;

interface Arguments {
  readonly words: readonly ShellWord[];
  readonly inner: readonly (readonly ShellCommand[])[];
}

/**
 * One simple command, and a further one for every other value that a variable in it may hold.
 * None where the number of commands or the time is used up.
 */
export function readSimpleCommand(
  reading: ScriptReadingState,
  place: SyntaxPosition,
  node: CommandNode,
): readonly ShellCommand[] {
  const span = nodeSpan(place, node);
  if (!spendCommand(reading, span)) return [];
  const { scope } = reading;
  const outer = scope.most;
  scope.most = 0;
  const args = readArguments(reading, place, node);
  const mostInWords = scope.most;
  const inFront = { ...place, certain: place.certain && node.name === undefined };
  const assignments = readPrefixes(reading, inFront, node.prefix);
  const { redirects, input } = readRedirects(reading, place, node.redirects);
  const command: ShellCommand = { span, ...args, assignments, redirects, input };
  reading.commands.push(command);
  noteConfusables(reading, command);
  if (args.words[0]?.value === 'set') setPositional(reading, place, args.words);
  if (args.words[0]?.value === 'alias') noteAliases(reading, args.words);
  const others = otherReadings({ reading, place, node, command, count: mostInWords });
  scope.most = outer;
  return [command, ...others];
}

/** A command that is only redirects: those of a group or a loop. */
export function readRedirectCommand(
  reading: ScriptReadingState,
  place: SyntaxPosition,
  nodes: readonly Redirection[],
  span: SourceSpan,
): ShellCommand | null {
  const { redirects, input } = readRedirects(reading, place, nodes);
  if (!spendCommand(reading, span)) return null;
  const command: ShellCommand = { span, words: [], inner: [], assignments: [], redirects, input };
  reading.commands.push(command);
  return command;
}

/** Counts one more command; `false` where a bound is reached, which is then reported. */
export function spendCommand(reading: ScriptReadingState, span: SourceSpan): boolean {
  const bound = reachedBound(reading.budget);
  if (bound !== null) reportSyntaxProblem(reading, bound, span);
  else reading.budget.commands += 1;
  return bound === null;
}

function readArguments(
  reading: ScriptReadingState,
  place: SyntaxPosition,
  node: CommandNode,
): Arguments {
  const entries = [...(node.name === undefined ? [] : [node.name]), ...node.args];
  return readEntries(reading, place, entries);
}

function readEntries(
  reading: ScriptReadingState,
  place: SyntaxPosition,
  entries: CommandNode['args'],
): Arguments {
  const words: ShellWord[] = [];
  const inner: (readonly ShellCommand[])[] = [];
  for (const entry of entries) {
    if (isOutOfTime(reading, nodeSpan(place, entry))) break;
    const read = readEntry(reading, place, entry);
    for (const word of read.words) {
      words.push(word);
      inner.push(read.inner);
    }
  }
  return { words, inner };
}

function readEntry(
  reading: ScriptReadingState,
  place: SyntaxPosition,
  entry: CommandNode['args'][number],
): { readonly words: readonly ShellWord[]; readonly inner: readonly ShellCommand[] } {
  try {
    if (entry.type === 'Word') return readWord(reading, place, entry);
    const { word, inner } = readAssignment(reading, place, entry);
    return { words: [word], inner };
  } catch {
    // The parser reads words late and may run out of stack: then the word is unknown.
    const span = nodeSpan(place, entry);
    reportSyntaxProblem(reading, 'unparseable', span);
    const nothing = { value: null, pieces: [null], glob: null, variables: [], derived: true };
    return { words: [{ span, ...nothing }], inner: [] };
  }
}

function readPrefixes(
  reading: ScriptReadingState,
  place: SyntaxPosition,
  nodes: CommandNode['prefix'],
): readonly Assignment[] {
  const found: Assignment[] = [];
  for (const node of nodes) {
    if (node.type !== 'Assignment') continue;
    const span = nodeSpan(place, node);
    reportSyntaxProblem(reading, 'assignment', span);
    if (isOutOfTime(reading, span)) break;
    found.push(readPrefix(reading, place, node));
  }
  return found;
}

function readPrefix(
  reading: ScriptReadingState,
  place: SyntaxPosition,
  node: AssignmentNode,
): Assignment {
  const span = nodeSpan(place, node);
  try {
    return readAssignment(reading, place, node).assignment;
  } catch {
    reportSyntaxProblem(reading, 'unparseable', span);
    return { span, name: node.name, value: null };
  }
}

/** The command once more for every further value that its variables may hold. */
function otherReadings(given: {
  readonly reading: ScriptReadingState;
  readonly place: SyntaxPosition;
  readonly node: CommandNode;
  readonly command: ShellCommand;
  readonly count: number;
}): readonly ShellCommand[] {
  const { reading, place, node, command, count } = given;
  if (count <= 1) return [];
  const seen = new Set([shapeOf(command.words)]);
  const found: ShellCommand[] = [];
  const entries = [...(node.name === undefined ? [] : [node.name]), ...node.args];
  const again = entries.filter((entry) => entry.type === 'Word');
  for (let pick = 1; pick < count; pick += 1) {
    if (reachedBound(reading.budget) !== null) break;
    reading.scope.pick = pick;
    const { words, inner } = readEntries(reading, place, again);
    reading.scope.pick = 0;
    const shape = shapeOf(words);
    if (seen.has(shape) || !spendCommand(reading, command.span)) continue;
    seen.add(shape);
    const other = { ...command, words, inner };
    reading.commands.push(other);
    found.push(other);
  }
  return found;
}

function shapeOf(words: readonly ShellWord[]): string {
  return JSON.stringify(words.map(({ pieces }) => pieces));
}

function noteConfusables(reading: ScriptReadingState, { words }: ShellCommand): void {
  const { problems } = reading;
  let told = problems.filter(({ code }) => code === 'confusable').length;
  for (const [index, word] of words.entries()) {
    if (told >= confusablesMax) return;
    const source = word.pieces.filter((piece) => piece !== null).join('');
    const confusable = index === 0 ? isConfusableName(source) : misread(source);
    const { span } = word;
    const known = (): boolean =>
      problems.some((each) => each.code === 'confusable' && each.span[0] === span[0]);
    if (!confusable || known()) continue;
    problems.push({ code: 'confusable', span, evidence: escapeNonAscii(source) });
    told += 1;
  }
}

/**
 * Words with blanks are prose, where dashes and quotation marks of print are at home. Characters
 * that show nothing are reported as `invisible`.
 */
function misread(source: string): boolean {
  if (isConfusableOption(source)) return true;
  return !/\s/.test(source) && isConfusableWord(removeInvisible(source));
}

/** `set -- a b` gives the positional parameters. */
function setPositional(
  reading: ScriptReadingState,
  place: SyntaxPosition,
  words: readonly ShellWord[],
): void {
  const at = words.findIndex(({ value }) => value === '--');
  if (at === -1) return;
  const values = words.slice(at + 1).map(({ value }) => value);
  const known = values.filter((value) => value !== null);
  assignPositionalParameters(reading, known.length === values.length ? known : null, place.certain);
}

/** Says what `$@`, `$*` and `$1` … `$9` hold; `null` where it is not known. */
export function assignPositionalParameters(
  reading: ScriptReadingState,
  values: VariableValue | null,
  certain: boolean,
): void {
  for (const name of ['@', '*']) assignVariable(reading.scope, name, values, certain);
  for (let index = 1; index <= 9; index += 1) {
    const value = values === null ? null : values.slice(index - 1, index);
    assignVariable(reading.scope, String(index), value, certain);
  }
}

function noteAliases(reading: ScriptReadingState, words: readonly ShellWord[]): void {
  for (const { pieces } of words.slice(1)) {
    const name = /^([^=]+)=/.exec(pieces[0] ?? '')?.[1];
    if (name !== undefined) reading.defined.add(name);
  }
}
