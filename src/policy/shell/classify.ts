/** Holds every command of a script against the knowledge base, through all its wrappings. */
import type { Finding, Named, Span } from '../analysis.ts';
import { parseOptions } from '../commands/grammar.ts';
import type { Node } from '../commands/schema.ts';
import { baseName, lookUp, lookUpSub } from '../commands/table.ts';
import { exhausted, openBudget } from '../syntax/budget.ts';
import { readScript } from '../syntax/read.ts';
import type { Budget, Command, Script } from '../syntax/script.ts';
import { deedsOf } from './code.ts';
import { holds, namesMachine } from './evaluate.ts';
import { isUnread, mention, noMentions, noteSource, unread } from './mentions.ts';
import { nameContent } from './named.ts';
import { anyOrigin, assignedFrom, originOf, within } from './origin.ts';
import { programs, readsInput, type Program } from './payload.ts';
import {
  dumpsEnvironment,
  interpretsDownload,
  readsScript,
  runsDecoded,
  runsDownload,
  secretFile,
  showsVariables,
  tooDeep,
  tooMany,
} from './reasons.ts';
import { checkSecrets } from './reveal.ts';
import { unwrap, withUnknown, type Read } from './unwrap.ts';
import { assignedPrograms, baseNamed, shellNamed } from './variables.ts';
import {
  lookedAlways,
  report,
  through,
  viaMax,
  wordsMax,
  type Foreign,
  type Found,
  type Walk,
} from './walk.ts';
import { head, literalInput, tail, textWord } from './word.ts';

/** What classification found. */
export interface Classified {
  readonly findings: readonly Finding[];
  readonly named: readonly Named[];
}

/** Where the words of `classifyArgv` stand. */
export interface Place {
  readonly span?: Span;
  readonly via?: readonly string[];
  readonly budget?: Budget;
}

const foreignShell = /^(?:powershell|pwsh|cmd)$/i;

const noScript: Script = { commands: [], plain: null, problems: [], defined: [] };

/**
 * Holds one command line of any shell against the knowledge base; `null` is an argument that is
 * not known. Findings carry `place.span` (default `[0, 0]`). Never throws.
 */
export function classifyArgv(argv: readonly (string | null)[], place: Place = {}): Classified {
  const span = place.span ?? [0, 0];
  const words = argv.map((value) => textWord(value, span));
  const found = openFound(place.budget ?? openBudget());
  const walk: Walk = { found, script: noScript, source: '', carrier: span, via: place.via ?? [] };
  classifyCommand(plainCommand(words, span), walk);
  return { findings: found.findings, named: [...found.named.values()] };
}

function plainCommand(words: Command['words'], span: Span): Command {
  const inner = words.map(() => []);
  return { span, words, assignments: [], redirects: [], input: { kind: 'inherited' }, inner };
}

/** An analysis that has found nothing yet. */
export function openFound(budget: Budget, foreign: Foreign | null = null): Found {
  return {
    findings: [],
    named: new Map(),
    mentions: noMentions(),
    budget,
    read: new Set(),
    looked: 0,
    words: 0,
    foreign,
    told: new Map(),
  };
}

/** Every command of the script, at any depth. */
export function classifyScript(walk: Walk): void {
  noteSource(walk.source, walk.found.mentions);
  for (const command of walk.script.commands) {
    if (spent(walk, command)) return;
    classifyCommand(command, walk);
  }
}

function spent(walk: Walk, command: Command): boolean {
  if (walk.via.length > viaMax) {
    report(walk, tooDeep, command);
    return true;
  }
  const { found } = walk;
  found.looked += 1;
  found.words += command.words.length;
  const { commands, words } = lookedAlways;
  if (found.looked <= commands && found.words <= words) return false;
  const { budget } = found;
  // Reading the script has already counted its commands up to the bound.
  if (exhausted({ ...budget, commandsMax: budget.commandsMax * 2 }) === null) return false;
  report(walk, tooMany, command);
  return true;
}

/** One command, and those that it starts. */
export function classifyCommand(given: Command, walk: Walk): void {
  const command = baseNamed(shellNamed(given));
  const [first] = command.words;
  if (/[\uFF01-\uFF5E]/.test(first?.value ?? '')) {
    classifyStarted(narrowed(command), walk);
    return;
  }
  if (command.words.length > wordsMax) {
    report(walk, tooMany, command);
    classifyCommand(head(command, wordsMax), walk);
    return;
  }
  checkSecrets(command, walk);
  feedSubstitutions(command, walk);
  for (const text of assignedPrograms(command)) classifyText(text, [], command, walk);
  const called = first?.value ?? null;
  const named = called === null ? undefined : lookUp(called);
  const { mentions: found } = walk.found;
  mention(given, named?.node, { found, defined: walk.script.defined });
  if (called === null) return;
  nameContent(called, command, named?.node, walk);
  if (foreignShell.test(baseName(called))) walk.found.foreign?.(command, walk);
  if (named === undefined) return;
  const bare = !/[/\\]/.test(called);
  classifyNode({ node: named.node, name: baseName(called), bare, whole: command }, command, walk);
}

/** Full-width letters as the ones they show: no program has such a name, and nobody means one. */
function narrowed(command: Command): Command {
  const words = command.words.map((word) => {
    const value = word.value?.normalize('NFKC') ?? null;
    return value === null || value === word.value ? word : { ...word, value, pieces: [value] };
  });
  return { ...command, words };
}

interface Level {
  readonly node: Node;
  readonly name: string;
  readonly bare: boolean;
  /** The command from its name on: what findings show. */
  readonly whole: Command;
}

/** One level of a command: its name, or a sub-command; `command` starts with that word. */
function classifyNode(level: Level, command: Command, given: Walk): void {
  const { node, name, whole } = level;
  const walk = node.elsewhere === true ? { ...given, elsewhere: true } : given;
  const args = tail(command, 1);
  const parsed = parseOptions(args.words, node);
  const read: Read = { node, command: args, parsed };
  const inner = [...unwrap(read), ...fromFar(read, walk)];
  const asked = { ...read, bare: level.bare, starts: inner.length > 0 };
  for (const rule of node.rules ?? []) {
    if (!holds(asked, rule.when)) continue;
    const isNeverMeant = rule.never === 'machine' && namesMachine(asked);
    report(walk, { ...rule, isNeverMeant }, whole);
  }
  for (const started of inner) {
    if (!classifyStarted(started, through(walk, name))) break;
  }
  for (const program of programs(read)) {
    classifyProgram(program, name, whole, walk);
  }
  checkOrigin(read, whole, walk);
  const at = parsed.operands[0];
  const word = at === undefined ? null : (args.words[at]?.value ?? null);
  const sub = word === null ? undefined : lookUpSub(node, word);
  if (sub !== undefined && at !== undefined && !parsed.options.has('help')) {
    classifyNode({ ...level, node: sub.node, name: `${name} ${sub.name}` }, tail(args, at), walk);
  }
}

/** `curl … | xargs sh -c`: what comes from the network or a decoder is an argument. */
function fromFar(read: Read, walk: Walk): readonly Command[] {
  const { input } = read.command;
  if (read.node.wrapper?.input !== true || input.kind === 'inherited') return [];
  if (originOf(input, walk.script.commands) === null) return [];
  const piped = input.kind === 'pipe' || input.kind === 'substitution';
  const { span } = read.command;
  const cat = plainCommand([textWord('cat', span)], span);
  return withUnknown(read, piped ? input.from : [{ ...cat, input }]);
}

/** `false`: a bound is reached, and the next one would not be looked at either. */
function classifyStarted(command: Command, walk: Walk): boolean {
  const { budget } = walk.found;
  budget.commands += 1;
  if (spent(walk, command)) return false;
  classifyCommand(command, walk);
  return true;
}

function classifyProgram(program: Program, name: string, whole: Command, walk: Walk): void {
  const via = program.how === '-c' ? `${name} -c` : name;
  const inside = { ...through(walk, via), carrier: walk.carrier ?? program.span };
  if (program.language === 'code') {
    classifyCode(program.text, name, whole, inside);
    return;
  }
  const expands = program.language === 'expansion';
  if (expands && !/^[A-Za-z_]\w*\[[^\]=]*[$`]/.test(program.text)) return;
  const text = expands ? `: "${program.text.replaceAll('"', '')}"` : program.text;
  classifyText(text, program.positional, whole, inside);
}

/** A script inside the command: read with the same budget, its findings where the word stands. */
function classifyText(
  text: string,
  positional: readonly string[],
  whole: Command,
  walk: Walk,
): void {
  const key = `${text}\0${positional.join('\0')}`;
  if (walk.found.read.has(key) || spent(walk, whole)) return;
  walk.found.read.add(key);
  if (takesTooLong(text, walk.found.budget)) {
    report(walk, tooMany, whole);
    return;
  }
  const script = readScript(text, walk.found.budget, positional);
  if (script.problems.some(({ code }) => isUnread(code))) walk.found.mentions.open.add(unread);
  classifyScript({ ...walk, script, source: text });
}

/** Reading cannot be stopped half-way: a long text is not begun when little time is left. */
function takesTooLong(text: string, { deadline }: Budget): boolean {
  const shortMax = 4_096;
  const perMs = 1_000;
  return text.length > shortMax && text.length > perMs * (deadline - performance.now());
}

function classifyCode(text: string, language: string, whole: Command, walk: Walk): void {
  for (const deed of deedsOf(text, language)) {
    switch (deed.kind) {
      case 'environment':
        report(walk, dumpsEnvironment, whole);
        break;
      case 'secret-file':
        report(walk, secretFile, whole, deed.path);
        break;
      case 'secret-variable':
        report(walk, showsVariables([deed.name]), whole, deed.name);
        break;
      case 'shell':
        classifyText(deed.text, [], whole, walk);
        break;
    }
  }
}

/** A script from the network or from a decoder: on the input, in an operand, or as the text. */
function checkOrigin(read: Read, whole: Command, walk: Walk): void {
  const { node, command, parsed } = read;
  if (node.sink === undefined && node.script !== true) return;
  const { commands } = walk.script;
  const at = parsed.operands[0];
  const word = at === undefined ? undefined : command.words[at];
  const filling = word === undefined ? [] : assignedFrom(word.variables, commands);
  const program = at === undefined ? [] : [...(command.inner[at] ?? []), ...filling];
  const typed = readsInput(read) ? originOf(command.input, commands) : null;
  const origin = typed === 'download' ? typed : (anyOrigin(program, commands) ?? typed);
  if (node.sink === 'code') {
    if (origin !== null) report(walk, interpretsDownload, whole);
  } else if (origin !== null) {
    report(walk, origin === 'download' ? runsDownload : runsDecoded, whole);
  } else if (readsInput(read) && isFed(command) && literalInput(command.input) === null) {
    report(walk, readsScript, whole);
  }
}

function isFed({ input }: Command): boolean {
  return input.kind !== 'inherited';
}

/** `tee >(sh)`: what goes into the outer command comes out into the inner one. */
function feedSubstitutions(command: Command, walk: Walk): void {
  const feed = (inner: readonly Command[], input: Command['input']): void => {
    for (const one of inner) {
      if (one.input.kind !== 'inherited') continue;
      classifyStarted({ ...one, input }, through(walk, '>()'));
    }
  };
  const isOutput = (span: Span | undefined): span is Span =>
    span !== undefined && walk.source.startsWith('>(', span[0]);
  if (command.input.kind !== 'inherited') {
    for (const [at, inner] of command.inner.entries()) {
      if (isOutput(command.words[at]?.span)) feed(inner, command.input);
    }
  }
  const from = [{ ...command, redirects: [] }];
  for (const { operator, target } of command.redirects) {
    if (!operator.includes('>') || !isOutput(target?.span)) continue;
    const inner = within(walk.script.commands.slice(0, substitutedMax), target?.span ?? [0, 0]);
    feed(inner, { kind: 'pipe', from });
  }
}

/** Commands of a script among which those of `> >(…)` are looked for. */
const substitutedMax = 256;
