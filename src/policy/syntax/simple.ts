/** Simple commands: their words, assignments, redirects and input. */
import type { Assignment as AssignmentNode, Command as CommandNode, Redirection } from 'unbash';
import type { Span } from '../analysis.ts';
import { reached } from './budget.ts';
import { confusableName, confusableOption, spelled } from './characters.ts';
import { isLate, report, spanOf, type Place, type Reading } from './reading.ts';
import { readRedirects } from './redirect.ts';
import { assign, type Value } from './scope.ts';
import type { Assignment, Command, Word } from './script.ts';
import { readAssignment, readWord } from './word.ts';

interface Arguments {
  readonly words: readonly Word[];
  readonly inner: readonly (readonly Command[])[];
}

/**
 * One simple command, and a further one for every other value that a variable in it may hold.
 * None where the number of commands or the time is used up.
 */
export function readSimple(reading: Reading, place: Place, node: CommandNode): readonly Command[] {
  const span = spanOf(place, node);
  if (!spend(reading, span)) return [];
  const { scope } = reading;
  const outer = scope.most;
  scope.most = 0;
  const args = readArguments(reading, place, node);
  const mostInWords = scope.most;
  const certain = place.certain && node.name === undefined;
  const assignments = node.prefix
    .filter((entry) => entry.type === 'Assignment')
    .map((entry, done) => readPrefix({ ...place, certain }, entry, { reading, done }));
  const { redirects, input } = readRedirects(reading, place, node.redirects);
  const command: Command = { span, ...args, assignments, redirects, input };
  reading.commands.push(command);
  noteConfusables(reading, command);
  if (args.words[0]?.value === 'set') setPositional(reading, place, args.words);
  if (args.words[0]?.value === 'alias') noteAliases(reading, args.words);
  const others = otherReadings({ reading, place, node, command, count: mostInWords });
  scope.most = outer;
  return [command, ...others];
}

/** A command that is only redirects: those of a group or a loop. */
export function readRedirectsAlone(
  reading: Reading,
  place: Place,
  nodes: readonly Redirection[],
  span: Span,
): Command | null {
  const { redirects, input } = readRedirects(reading, place, nodes);
  if (!spend(reading, span)) return null;
  const command: Command = { span, words: [], inner: [], assignments: [], redirects, input };
  reading.commands.push(command);
  return command;
}

/** Counts one more command; `false` where a bound is reached, which is then reported. */
export function spend(reading: Reading, span: Span): boolean {
  const bound = reached(reading.budget);
  if (bound !== null) report(reading, bound, span);
  else reading.budget.commands += 1;
  return bound === null;
}

function readArguments(reading: Reading, place: Place, node: CommandNode): Arguments {
  const words: Word[] = [];
  const inner: (readonly Command[])[] = [];
  for (const entry of [...(node.name === undefined ? [] : [node.name]), ...node.args]) {
    if (isLate(reading, spanOf(place, entry), words.length)) break;
    const read = readEntry(reading, place, entry);
    words.push(...read.words);
    for (const _ of read.words) inner.push(read.inner);
  }
  return { words, inner };
}

function readEntry(
  reading: Reading,
  place: Place,
  entry: CommandNode['args'][number],
): { readonly words: readonly Word[]; readonly inner: readonly Command[] } {
  try {
    if (entry.type === 'Word') return readWord(reading, place, entry);
    const { word, inner } = readAssignment(reading, place, entry);
    return { words: [word], inner };
  } catch {
    // The parser reads words late and may run out of stack: then the word is unknown.
    const span = spanOf(place, entry);
    report(reading, 'unparseable', span);
    const nothing = { value: null, pieces: [null], glob: null, variables: [], derived: true };
    return { words: [{ span, ...nothing }], inner: [] };
  }
}

function readPrefix(
  place: Place,
  node: AssignmentNode,
  { reading, done }: { readonly reading: Reading; readonly done: number },
): Assignment {
  const span = spanOf(place, node);
  report(reading, 'assignment', span);
  if (isLate(reading, span, done)) return { span, name: node.name, value: null };
  try {
    return readAssignment(reading, place, node).assignment;
  } catch {
    report(reading, 'unparseable', span);
    return { span, name: node.name, value: null };
  }
}

/** The command once more for every further value that its variables may hold. */
function otherReadings(given: {
  readonly reading: Reading;
  readonly place: Place;
  readonly node: CommandNode;
  readonly command: Command;
  readonly count: number;
}): readonly Command[] {
  const { reading, place, node, command, count } = given;
  const seen = new Set([shapeOf(command.words)]);
  const found: Command[] = [];
  for (let pick = 1; pick < count; pick += 1) {
    reading.scope.pick = pick;
    const entries = [...(node.name === undefined ? [] : [node.name]), ...node.args];
    const reads = entries
      .filter((entry) => entry.type === 'Word')
      .map((entry) => readEntry(reading, place, entry));
    reading.scope.pick = 0;
    const words = reads.flatMap((read) => read.words);
    const inner = reads.flatMap((read) => read.words.map(() => read.inner));
    const shape = shapeOf(words);
    if (seen.has(shape) || !spend(reading, command.span)) continue;
    seen.add(shape);
    const other = { ...command, words, inner };
    reading.commands.push(other);
    found.push(other);
  }
  return found;
}

function shapeOf(words: readonly Word[]): string {
  return JSON.stringify(words.map(({ pieces }) => pieces));
}

function noteConfusables(reading: Reading, { words }: Command): void {
  words.forEach((word, index) => {
    const source = word.pieces.filter((piece) => piece !== null).join('');
    const confusable = index === 0 ? confusableName(source) : confusableOption(source);
    if (!confusable) return;
    const { span } = word;
    if (reading.problems.some((each) => each.code === 'confusable' && each.span[0] === span[0])) {
      return;
    }
    reading.problems.push({ code: 'confusable', span, evidence: spelled(source) });
  });
}

/** `set -- a b` gives the positional parameters. */
function setPositional(reading: Reading, place: Place, words: readonly Word[]): void {
  const at = words.findIndex(({ value }) => value === '--');
  if (at === -1) return;
  const values = words.slice(at + 1).map(({ value }) => value);
  const known = values.filter((value) => value !== null);
  givePositional(reading, known.length === values.length ? known : null, place.certain);
}

/** Says what `$@`, `$*` and `$1` … `$9` hold; `null` where it is not known. */
export function givePositional(reading: Reading, values: Value | null, certain: boolean): void {
  for (const name of ['@', '*']) assign(reading.scope, name, values, certain);
  for (let index = 1; index <= 9; index += 1) {
    const value = values === null ? null : values.slice(index - 1, index);
    assign(reading.scope, String(index), value, certain);
  }
}

function noteAliases(reading: Reading, words: readonly Word[]): void {
  for (const { pieces } of words.slice(1)) {
    const name = /^([^=]+)=/.exec(pieces[0] ?? '')?.[1];
    if (name !== undefined) reading.defined.add(name);
  }
}
