/** Checks every command of a script against the knowledge base, through all wrappers. */
import type { CommandFinding, ContentReference, SourceSpan } from '../analysis.ts';
import { parseCommandOptions } from '../commands/options.ts';
import type { CommandNode } from '../commands/schema.ts';
import { programBaseName, lookUpCommand, lookUpSubcommand } from '../commands/table.ts';
import { exhaustedBound, createAnalysisBudget } from '../syntax/budget.ts';
import { readShellScript } from '../syntax/read.ts';
import type { AnalysisBudget, ShellCommand, ShellScript } from '../syntax/script.ts';
import { findProgramEffects } from './embedded-code.ts';
import { conditionHolds, targetsMachineTree } from './conditions.ts';
import {
  isUnreadCode,
  collectMentions,
  createFileMentions,
  collectSourceMentions,
  unreadTextReason,
} from './mentions.ts';
import { noteCommandContent } from './command-content.ts';
import { strongestOrigin, commandsAssigning, inputOrigin, commandsWithin } from './text-origin.ts';
import {
  findEmbeddedPrograms,
  readsProgramFromInput,
  type EmbeddedProgram,
} from './embedded-programs.ts';
import {
  environmentDumpReason,
  downloadedCodeReason,
  unknownScriptReason,
  decodedScriptReason,
  downloadedScriptReason,
  secretFileReason,
  shownVariablesReason,
  nestingLimitReason,
  commandLimitReason,
} from './reasons.ts';
import { checkSecrets } from './secret-disclosure.ts';
import { unwrapCommand, unwrapWithUnknownArgument, type ParsedInvocation } from './unwrap.ts';
import { programsInVariables, withProgramBaseName, withShellName } from './variables.ts';
import {
  alwaysClassified,
  reportFinding,
  insideWrapper,
  wrapperDepthMax,
  commandWordsMax,
  type ForeignShellJudge,
  type AnalysisState,
  type AnalysisContext,
} from './analysis-context.ts';
import { commandHead, literalInput, commandTail, shellTextWord } from './derived-words.ts';

/** What classification found. */
export interface Classification {
  readonly findings: readonly CommandFinding[];
  readonly named: readonly ContentReference[];
}

/** Where the words of `classifyArgv` stand. */
export interface ClassifyArgvOptions {
  readonly span?: SourceSpan;
  readonly via?: readonly string[];
  readonly budget?: AnalysisBudget;
}

const foreignShell = /^(?:powershell|pwsh|cmd)$/i;

const noScript: ShellScript = { commands: [], plain: null, problems: [], defined: [] };

/**
 * Checks one command line of any shell against the knowledge base; `null` is an unknown argument.
 * Findings carry `place.span` (default `[0, 0]`). Never throws.
 */
export function classifyArgv(
  argv: readonly (string | null)[],
  place: ClassifyArgvOptions = {},
): Classification {
  const span = place.span ?? [0, 0];
  const words = argv.map((value) => shellTextWord(value, span));
  const found = createAnalysisState(place.budget ?? createAnalysisBudget());
  const walk: AnalysisContext = {
    found,
    script: noScript,
    source: '',
    carrier: span,
    via: place.via ?? [],
  };
  classifyCommand(plainCommand(words, span), walk);
  return { findings: found.findings, named: [...found.named.values()] };
}

function plainCommand(words: ShellCommand['words'], span: SourceSpan): ShellCommand {
  const inner = words.map(() => []);
  return { span, words, assignments: [], redirects: [], input: { kind: 'inherited' }, inner };
}

/** An analysis without findings. */
export function createAnalysisState(
  budget: AnalysisBudget,
  foreign: ForeignShellJudge | null = null,
): AnalysisState {
  return {
    findings: [],
    named: new Map(),
    mentions: createFileMentions(),
    budget,
    read: new Set(),
    classifiedCount: 0,
    words: 0,
    foreign,
    reportedAt: new Map(),
  };
}

/** Every command of the script, at any depth. */
export function classifyScript(walk: AnalysisContext): void {
  collectSourceMentions(walk.source, walk.found.mentions);
  for (const command of walk.script.commands) {
    if (spent(walk, command)) return;
    classifyCommand(command, walk);
  }
}

function spent(walk: AnalysisContext, command: ShellCommand): boolean {
  if (walk.via.length > wrapperDepthMax) {
    reportFinding(walk, nestingLimitReason, command);
    return true;
  }
  const { found } = walk;
  found.classifiedCount += 1;
  found.words += command.words.length;
  const { commands, words } = alwaysClassified;
  if (found.classifiedCount <= commands && found.words <= words) return false;
  const { budget } = found;
  // Reading the script has already counted its commands up to the limit.
  if (exhaustedBound({ ...budget, commandsMax: budget.commandsMax * 2 }) === null) return false;
  reportFinding(walk, commandLimitReason, command);
  return true;
}

/** One command, and those that it starts. */
export function classifyCommand(given: ShellCommand, walk: AnalysisContext): void {
  const command = withProgramBaseName(withShellName(given));
  const [first] = command.words;
  if (/[\uFF01-\uFF5E]/.test(first?.value ?? '')) {
    classifyStarted(narrowed(command), walk);
    return;
  }
  if (command.words.length > commandWordsMax) {
    reportFinding(walk, commandLimitReason, command);
    classifyCommand(commandHead(command, commandWordsMax), walk);
    return;
  }
  checkSecrets(command, walk);
  feedSubstitutions(command, walk);
  for (const text of programsInVariables(command)) classifyText(text, [], command, walk);
  const called = first?.value ?? null;
  const named = called === null ? undefined : lookUpCommand(called);
  const { mentions: found } = walk.found;
  collectMentions(given, named?.node, { found, defined: walk.script.defined });
  if (called === null) return;
  noteCommandContent(called, command, named?.node, walk);
  if (foreignShell.test(programBaseName(called))) walk.found.foreign?.(command, walk);
  if (named === undefined) return;
  const bare = !/[/\\]/.test(called);
  classifyNode(
    { node: named.node, name: programBaseName(called), bare, whole: command },
    command,
    walk,
  );
}

/** Full-width letters as their ASCII forms: no program has such a name, and none is intended. */
function narrowed(command: ShellCommand): ShellCommand {
  const words = command.words.map((word) => {
    const value = word.value?.normalize('NFKC') ?? null;
    return value === null || value === word.value ? word : { ...word, value, pieces: [value] };
  });
  return { ...command, words };
}

interface Level {
  readonly node: CommandNode;
  readonly name: string;
  readonly bare: boolean;
  /** The command from its name on: what findings show. */
  readonly whole: ShellCommand;
}

/** One level of a command: its name, or a sub-command; `command` starts with that word. */
function classifyNode(level: Level, command: ShellCommand, given: AnalysisContext): void {
  const { node, name, whole } = level;
  const walk = node.elsewhere === true ? { ...given, elsewhere: true } : given;
  const args = commandTail(command, 1);
  const parsed = parseCommandOptions(args.words, node);
  const read: ParsedInvocation = { node, command: args, parsed };
  const inner = [...unwrapCommand(read), ...fromFar(read, walk)];
  const asked = { ...read, bare: level.bare, starts: inner.length > 0 };
  for (const rule of node.rules ?? []) {
    if (!conditionHolds(asked, rule.when)) continue;
    const isNeverMeant = rule.never === 'machine' && targetsMachineTree(asked);
    reportFinding(walk, { ...rule, isNeverMeant }, whole);
  }
  for (const started of inner) {
    if (!classifyStarted(started, insideWrapper(walk, name))) break;
  }
  for (const program of findEmbeddedPrograms(read)) {
    classifyProgram(program, name, whole, walk);
  }
  checkOrigin(read, whole, walk);
  const at = parsed.operands[0];
  const word = at === undefined ? null : (args.words[at]?.value ?? null);
  const sub = word === null ? undefined : lookUpSubcommand(node, word);
  if (sub !== undefined && at !== undefined && !parsed.options.has('help')) {
    classifyNode(
      { ...level, node: sub.node, name: `${name} ${sub.name}` },
      commandTail(args, at),
      walk,
    );
  }
}

/** `curl … | xargs sh -c`: what comes from the network or a decoder is an argument. */
function fromFar(read: ParsedInvocation, walk: AnalysisContext): readonly ShellCommand[] {
  const { input } = read.command;
  if (read.node.wrapper?.input !== true || input.kind === 'inherited') return [];
  if (inputOrigin(input, walk.script.commands) === null) return [];
  const piped = input.kind === 'pipe' || input.kind === 'substitution';
  const { span } = read.command;
  const cat = plainCommand([shellTextWord('cat', span)], span);
  return unwrapWithUnknownArgument(read, piped ? input.from : [{ ...cat, input }]);
}

/** `false`: a limit is reached, so the next command would not be examined either. */
function classifyStarted(command: ShellCommand, walk: AnalysisContext): boolean {
  const { budget } = walk.found;
  budget.commands += 1;
  if (spent(walk, command)) return false;
  classifyCommand(command, walk);
  return true;
}

function classifyProgram(
  program: EmbeddedProgram,
  name: string,
  whole: ShellCommand,
  walk: AnalysisContext,
): void {
  const via = program.how === '-c' ? `${name} -c` : name;
  const inside = { ...insideWrapper(walk, via), carrier: walk.carrier ?? program.span };
  if (program.language === 'code') {
    classifyCode(program.text, name, whole, inside);
    return;
  }
  const expands = program.language === 'expansion';
  if (expands && !/^[A-Za-z_]\w*\[[^\]=]*[$`]/.test(program.text)) return;
  const text = expands ? `: "${program.text.replaceAll('"', '')}"` : program.text;
  classifyText(text, program.positional, whole, inside);
}

/** A script inside the command: read with the same budget, its findings are at the word. */
function classifyText(
  text: string,
  positional: readonly string[],
  whole: ShellCommand,
  walk: AnalysisContext,
): void {
  const key = `${text}\0${positional.join('\0')}`;
  if (walk.found.read.has(key) || spent(walk, whole)) return;
  walk.found.read.add(key);
  if (takesTooLong(text, walk.found.budget)) {
    reportFinding(walk, commandLimitReason, whole);
    return;
  }
  const script = readShellScript(text, walk.found.budget, positional);
  if (script.problems.some(({ code }) => isUnreadCode(code))) {
    walk.found.mentions.open.add(unreadTextReason);
  }
  classifyScript({ ...walk, script, source: text });
}

/** Reading cannot be interrupted: a long text is not started when little time is left. */
function takesTooLong(text: string, { deadline }: AnalysisBudget): boolean {
  const shortMax = 4_096;
  const perMs = 1_000;
  return text.length > shortMax && text.length > perMs * (deadline - performance.now());
}

function classifyCode(
  text: string,
  language: string,
  whole: ShellCommand,
  walk: AnalysisContext,
): void {
  for (const deed of findProgramEffects(text, language)) {
    switch (deed.kind) {
      case 'environment':
        reportFinding(walk, environmentDumpReason, whole);
        break;
      case 'secret-file':
        reportFinding(walk, secretFileReason, whole, deed.path);
        break;
      case 'secret-variable':
        reportFinding(walk, shownVariablesReason([deed.name]), whole, deed.name);
        break;
      case 'shell':
        classifyText(deed.text, [], whole, walk);
        break;
    }
  }
}

/** A script from the network or from a decoder: on the input, in an operand, or as the text. */
function checkOrigin(read: ParsedInvocation, whole: ShellCommand, walk: AnalysisContext): void {
  const { node, command, parsed } = read;
  if (node.sink === undefined && node.script !== true) return;
  const { commands } = walk.script;
  const at = parsed.operands[0];
  const word = at === undefined ? undefined : command.words[at];
  const filling = word === undefined ? [] : commandsAssigning(word.variables, commands);
  const program = at === undefined ? [] : [...(command.inner[at] ?? []), ...filling];
  const typed = readsProgramFromInput(read) ? inputOrigin(command.input, commands) : null;
  const origin = typed === 'download' ? typed : (strongestOrigin(program, commands) ?? typed);
  if (node.sink === 'code') {
    if (origin !== null) reportFinding(walk, downloadedCodeReason, whole);
  } else if (origin !== null) {
    reportFinding(
      walk,
      origin === 'download' ? downloadedScriptReason : decodedScriptReason,
      whole,
    );
  } else if (
    readsProgramFromInput(read) &&
    isFed(command) &&
    literalInput(command.input) === null
  ) {
    reportFinding(walk, unknownScriptReason, whole);
  }
}

function isFed({ input }: ShellCommand): boolean {
  return input.kind !== 'inherited';
}

/** `tee >(sh)`: what goes into the outer command comes out into the inner one. */
function feedSubstitutions(command: ShellCommand, walk: AnalysisContext): void {
  const feed = (inner: readonly ShellCommand[], input: ShellCommand['input']): void => {
    for (const one of inner) {
      if (one.input.kind !== 'inherited') continue;
      classifyStarted({ ...one, input }, insideWrapper(walk, '>()'));
    }
  };
  const isOutput = (span: SourceSpan | undefined): span is SourceSpan =>
    span !== undefined && walk.source.startsWith('>(', span[0]);
  if (command.input.kind !== 'inherited') {
    for (const [at, inner] of command.inner.entries()) {
      if (isOutput(command.words[at]?.span)) feed(inner, command.input);
    }
  }
  const from = [{ ...command, redirects: [] }];
  for (const { operator, target } of command.redirects) {
    if (!operator.includes('>') || !isOutput(target?.span)) continue;
    const inner = commandsWithin(
      walk.script.commands.slice(0, substitutedMax),
      target?.span ?? [0, 0],
    );
    feed(inner, { kind: 'pipe', from });
  }
}

/** Commands of a script among which those of `> >(…)` are looked for. */
const substitutedMax = 256;
