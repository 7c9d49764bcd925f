/**
 * Lists every command that a shell script runs, for user-written rules: through wrappers,
 * sub-commands and programs in arguments, where static analysis can determine them. Pure.
 */
import type { ShellDialect } from '../command.ts';
import type { Analysis, SourceSpan } from './analysis.ts';
import { parseCommandOptions } from './commands/options.ts';
import type { CommandNode } from './commands/schema.ts';
import { programBaseName, lookUpCommand, lookUpSubcommand } from './commands/table.ts';
import type { InvocationList, CommandInvocation } from './rules.ts';
import { findProgramEffects } from './shell/embedded-code.ts';
import { findEmbeddedPrograms, type EmbeddedProgram } from './shell/embedded-programs.ts';
import { unwrapCommand } from './shell/unwrap.ts';
import { commandWordsMax } from './shell/analysis-context.ts';
import { commandHead, commandTail } from './shell/derived-words.ts';
import { scriptOf } from './analyse.ts';
import { isPastDeadline, createAnalysisBudget } from './syntax/budget.ts';
import { readShellScript } from './syntax/read.ts';
import type { AnalysisBudget, ShellCommand, ShellScript } from './syntax/script.ts';

const viaMax = 64;
/** Added to the time of the analysis. A few commands are checked against the rules anyway. */
const unitsMs = 8;
const few = { units: 256, words: 4_096 };
const rereadLengthMax = 16_384;

/** @param analysis of the same text: findings about it disable every allow rule */
export function listInvocations(
  text: string,
  dialect: ShellDialect,
  analysis: Analysis,
): InvocationList {
  // Reading a large one once more would come no further, and take as long. A small one that ran
  // out of time did so because the machine was busy.
  const isCut = analysis.findings.some(({ code }) => code.startsWith('limit.'));
  if (isCut && text.length > rereadLengthMax) return { items: [], plain: null, isTruncated: true };
  const budget = { ...createAnalysisBudget(), deadline: performance.now() + unitsMs };
  const found: InvocationCollector = { units: [], words: 0, budget, read: new Set(), cut: false };
  const script = scriptOf(analysis) ?? readShellScript(text, budget);
  note(script, found);
  for (const command of script.commands) visit(command, found, { carrier: null, via: [] });
  const words = script.plain?.words.map(({ value }) => value ?? '') ?? null;
  // zsh replaces a word `=name` by a path.
  const other = dialect === 'zsh' && words?.some((word) => word.startsWith('=')) === true;
  const plain = analysis.findings.length === 0 && !other ? words : null;
  return { items: found.units, plain, isTruncated: found.cut };
}

interface InvocationCollector {
  readonly units: CommandInvocation[];
  /** How many words they have. */
  words: number;
  readonly budget: AnalysisBudget;
  /** Programs already read: each is read once, however often it is reached. */
  readonly read: Set<string>;
  cut: boolean;
}

function readWhole(
  text: string,
  positional: readonly string[],
  found: InvocationCollector,
): ShellScript {
  const script = readShellScript(text, found.budget, positional);
  note(script, found);
  return script;
}

function note(script: ShellScript, found: InvocationCollector): void {
  found.cut ||= script.problems.some(({ code }) => code.startsWith('limit.'));
}

/** Whether a limit is reached; the clock is not read for the first commands. */
function isFull(
  { units, words, budget }: InvocationCollector,
  { via }: InvocationPosition,
): boolean {
  if (units.length >= budget.commandsMax || via.length > viaMax) return true;
  return (units.length > few.units || words > few.words) && isPastDeadline(budget);
}

interface InvocationPosition {
  /** The word of the original text that carries the script being read; `null`: the text itself. */
  readonly carrier: SourceSpan | null;
  readonly via: readonly string[];
}

/** `false`: a limit is reached, so the next command would not be examined either. */
function visit(
  given: ShellCommand,
  found: InvocationCollector,
  place: InvocationPosition,
): boolean {
  if (given.words.length === 0) return true;
  const full = isFull(found, place);
  if (full || given.words.length > commandWordsMax) found.cut = true;
  if (full) return false;
  const command =
    given.words.length > commandWordsMax ? commandHead(given, commandWordsMax) : given;
  found.words += command.words.length;
  const argv = command.words.map(({ value }) => value);
  found.units.push({ argv, span: place.carrier ?? command.span, via: place.via });
  const [called = null] = argv;
  const named = called === null ? undefined : lookUpCommand(called);
  if (named !== undefined) {
    descend(named.node, programBaseName(called ?? ''), command, { found, place });
  }
  return true;
}

/** One level of a command: its name, or a sub-command; `command` starts with that word. */
function descend(
  node: CommandNode,
  name: string,
  command: ShellCommand,
  at: { readonly found: InvocationCollector; readonly place: InvocationPosition },
): void {
  const { found, place } = at;
  const args = commandTail(command, 1);
  const parsed = parseCommandOptions(args.words, node);
  const read = { node, command: args, parsed };
  for (const started of unwrapCommand(read)) {
    if (!visit(started, found, { ...place, via: [...place.via, name] })) break;
  }
  for (const program of findEmbeddedPrograms(read)) visitProgram(program, name, found, place);
  const [first] = parsed.operands;
  const word = first === undefined ? null : (args.words[first]?.value ?? null);
  const sub = word === null ? undefined : lookUpSubcommand(node, word);
  if (sub !== undefined && first !== undefined) {
    descend(sub.node, `${name} ${sub.name}`, commandTail(args, first), at);
  }
}

function visitProgram(
  program: EmbeddedProgram,
  name: string,
  found: InvocationCollector,
  place: InvocationPosition,
): void {
  const via = [...place.via, program.how === '-c' ? `${name} -c` : name];
  const inside = { carrier: place.carrier ?? program.span, via };
  for (const text of scriptsOf(program, name)) {
    const key = `${text}\0${program.positional.join('\0')}`;
    if (found.read.has(key)) continue;
    found.read.add(key);
    const script = readWhole(text, program.positional, found);
    for (const command of script.commands) visit(command, found, inside);
  }
}

function scriptsOf({ language, text }: EmbeddedProgram, name: string): readonly string[] {
  switch (language) {
    case 'shell':
      return [text];
    case 'code':
      return findProgramEffects(text, name).flatMap((deed) =>
        deed.kind === 'shell' ? [deed.text] : [],
      );
    case 'expansion':
      // A text that is only expanded runs its substitutions.
      return /[$`]/.test(text) ? [`: "${text.replaceAll('"', '')}"`] : [];
  }
}
