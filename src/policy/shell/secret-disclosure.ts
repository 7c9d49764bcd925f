/** Commands that show what is secret: files by name, variables by name. */
import { parseCommandOptions, type ParsedOptions } from '../commands/options.ts';
import type { CommandNode } from '../commands/schema.ts';
import { lookUpCommand, lookUpSubcommand } from '../commands/table.ts';
import type { ShellCommand, ShellWord } from '../syntax/script.ts';
import {
  hiddenSecretFileReason,
  possibleSecretFileReason,
  secretFileReason,
  shownVariablesReason,
} from './reasons.ts';
import { fileSecrecy, isSecretVariableName, wordSecrecy, type Secrecy } from './secret.ts';
import { reportFinding, type AnalysisContext } from './analysis-context.ts';
import { innerCommands, legibleWord, gapMarkedText, commandTail } from './derived-words.ts';

const nameMax = 200;
/** Further words are not checked; a command with so many is not allowed anyway. */
const wordsMax = 1_024;

/** Checks operands, redirects, here-documents and printed words of one command. */
export function checkSecrets(command: ShellCommand, walk: AnalysisContext): void {
  const called = command.words[0]?.value ?? null;
  const node = called === null ? undefined : lookUpCommand(called)?.node;
  checkInner(command, walk);
  if (node === undefined) {
    checkAnyWord(command, walk);
    return;
  }
  const args = commandTail(command, 1);
  const parsed = parseCommandOptions(args.words, node);
  if (node.prints === true && !parsed.options.has('into')) {
    checkPrinted(args.words, command, walk);
  }
  if (node.names === true && parsed.options.has('print')) checkNames(args.words, command, walk);
  // `xargs` alone, or before `echo`, writes what it is given.
  const reads = node.reads !== undefined || node.source !== undefined || node.wrapper?.input;
  if (reads === true) checkInput(command, walk);
  checkReader({ node, args, parsed, whole: command }, walk);
  checkSent(parsed, command, walk);
  const at = parsed.operands[0];
  const word = at === undefined ? null : (args.words[at]?.value ?? null);
  const sub = word === null ? undefined : lookUpSubcommand(node, word);
  if (sub !== undefined && at !== undefined) {
    const rest = commandTail(args, at + 1);
    const inside = parseCommandOptions(rest.words, sub.node);
    checkReader({ node: sub.node, args: rest, parsed: inside, whole: command }, walk);
    const said = (inside.options.get('says') ?? []).flatMap((given) => given?.word ?? []);
    checkPrinted(said, command, walk);
    const isGit = /(?:^|\/)git$/i.test(called ?? '');
    if (isGit) checkHistory(sub.name, rest, command, walk);
  }
  checkAnyWord(command, walk, node);
}

interface Reader {
  readonly node: CommandNode;
  readonly args: ShellCommand;
  readonly parsed: ParsedOptions<ShellWord>;
  readonly whole: ShellCommand;
}

function checkReader({ node, args, parsed, whole }: Reader, walk: AnalysisContext): void {
  checkShown(parsed, whole, walk);
  if (node.reads === undefined || node.reads === 'input') return;
  const given = (effect: string | undefined): boolean =>
    effect !== undefined && parsed.options.has(effect);
  const skip = node.reads === 'rest' && !given(node.pattern) ? 1 : 0;
  const quiet = given(node.quiet);
  for (const at of parsed.operands.slice(skip)) {
    const word = args.words[at];
    if (word === undefined) continue;
    const secrecy = node.reads === 'joined' ? wordSecrecy(unjoined(word)) : pathSecrecy(word);
    tell(quiet && secrecy === 'block' ? 'ask' : secrecy, word, whole, walk);
  }
}

/** Files that an option names: `xargs -a .env`, `openssl enc -base64 -in .env`. */
function checkShown(
  { options }: ParsedOptions<ShellWord>,
  whole: ShellCommand,
  walk: AnalysisContext,
): void {
  if (options.has('into')) return;
  for (const given of options.get('shows') ?? []) {
    const secrecy = given?.text == null ? null : fileSecrecy(given.text);
    if (given !== null) tell(secrecy, given.word, whole, walk);
  }
}

/** A word, or what follows the colon of git's `HEAD:.env`. */
function pathSecrecy(word: ShellWord): Secrecy {
  const direct = wordSecrecy(word);
  const colon = word.value?.lastIndexOf(':') ?? -1;
  const behind = colon === -1 ? null : fileSecrecy(word.value?.slice(colon + 1) ?? '');
  return behind === 'block' ? behind : (direct ?? behind);
}

function unjoined(word: ShellWord): ShellWord {
  const value = word.value?.replace(/^.*[=@]/, '') ?? null;
  return value === null ? word : { ...word, value, pieces: [value] };
}

/** `git log -p -- .env` shows content; without `-p` it shows only commits. */
function checkHistory(
  sub: string,
  args: ShellCommand,
  whole: ShellCommand,
  walk: AnalysisContext,
): void {
  if (sub !== 'log') return;
  const shows = args.words.some(
    ({ value }) => value !== null && /^-(?:p|u|-patch|L|G|-cc|c)/.test(value),
  );
  for (const word of args.words) {
    const isOption = (word.pieces[0] ?? '').startsWith('-');
    const secrecy = isOption ? null : pathSecrecy(word);
    if (secrecy !== null) tell(shows ? secrecy : 'ask', word, whole, walk);
  }
}

/** `curl -d @.env`, `curl -T .env`, `wget --post-file=.env`. */
function checkSent(
  parsed: ParsedOptions<ShellWord>,
  whole: ShellCommand,
  walk: AnalysisContext,
): void {
  for (const given of parsed.options.get('sends') ?? []) {
    const path = given?.text?.replace(/^.*[@<]/s, '') ?? '';
    if (given !== null && fileSecrecy(path) === 'block') tell('block', given.word, whole, walk);
  }
}

/** Keys of the home directory and of the system: no sandbox has them, unless they were granted. */
function isHidden(word: ShellWord): boolean {
  const [first] = word.pieces;
  const isHome = first === null ? word.variables.join() === 'HOME' : first?.startsWith('~/');
  const text = gapMarkedText(word);
  if (text.includes('/../') || word.glob !== null) return false;
  return isHome === true
    ? /^(?:~|\uFFFF)\/\.(?:ssh|aws|gnupg)\//.test(text)
    : /^\/etc\/g?shadow-?$/.test(text);
}

function tell(secrecy: Secrecy, word: ShellWord, whole: ShellCommand, walk: AnalysisContext): void {
  if (secrecy === 'block') {
    reportFinding(walk, isHidden(word) ? hiddenSecretFileReason : secretFileReason, whole);
  } else if (secrecy === 'ask') {
    reportFinding(walk, possibleSecretFileReason, whole, legibleWord(word));
  }
}

/** Any other use of a file with secrets needs approval. */
function checkAnyWord(command: ShellCommand, walk: AnalysisContext, node?: CommandNode): void {
  if (node?.metadata === true) return;
  for (const word of command.words.slice(1, wordsMax)) {
    if (pathSecrecy(word) === 'block') {
      reportFinding(walk, possibleSecretFileReason, command, legibleWord(word));
    }
  }
  for (const { operator, target } of command.redirects) {
    if (operator === '<' && target !== null && wordSecrecy(target) !== null) {
      reportFinding(walk, possibleSecretFileReason, command, legibleWord(target));
    }
  }
}

/** Secrets that come in on the standard input of what shows its input. */
function checkInput(command: ShellCommand, walk: AnalysisContext): void {
  const { input } = command;
  if (input.kind === 'file') tell(wordSecrecy(input.target), input.target, command, walk);
  if (input.kind !== 'text' || input.text !== null) return;
  tellVariables(
    input.variables.filter((variable) => isSecretVariableName(variable)),
    command,
    walk,
  );
}

/** `$(< .env)`: a substitution whose only command is a redirect. */
function checkInner(command: ShellCommand, walk: AnalysisContext): void {
  for (const inner of innerCommands(command)) {
    if (inner.words.length === 0 && inner.input.kind === 'file') {
      tell(wordSecrecy(inner.input.target), inner.input.target, command, walk);
    }
  }
}

/** `declare -p API_KEY`. */
function checkNames(words: readonly ShellWord[], whole: ShellCommand, walk: AnalysisContext): void {
  const named = words
    .flatMap(({ value }) => value ?? [])
    .filter((name) => isSecretVariableName(name));
  if (named.length > 0) reportFinding(walk, shownVariablesReason(named), whole);
}

function checkPrinted(
  words: readonly ShellWord[],
  whole: ShellCommand,
  walk: AnalysisContext,
): void {
  for (const word of words) {
    const secrets = word.variables
      .filter((name) => isSecretVariableName(name))
      .filter((name) => !isConstant(name, word, walk) && showsValue(name, word, walk));
    tellVariables(secrets, whole, walk);
  }
}

/** The first is shown as evidence. */
function tellVariables(
  secrets: readonly string[],
  whole: ShellCommand,
  walk: AnalysisContext,
): void {
  const [first] = secrets;
  if (first !== undefined) reportFinding(walk, shownVariablesReason(secrets), whole, `$${first}`);
}

/** A value that the script itself contains is not a secret. */
function isConstant(name: string, word: ShellWord, walk: AnalysisContext): boolean {
  const own = walk.script.commands.some(({ assignments }) =>
    assignments.some((assignment) => assignment.name === name),
  );
  // `PASS=$((PASS + 1))` counts; `API_KEY=$(cat key)` is a secret all the same.
  return own && (word.value !== null || /^(?:PASS|KEYS?|TOKENS?|PAT|AUTH)$/i.test(name));
}

/** Not `${#NAME}` (its length) and not `${NAME:+set}` (whether it is set). */
function showsValue(name: string, word: ShellWord, walk: AnalysisContext): boolean {
  if (name.length > nameMax) return true;
  const text = walk.source.slice(...word.span);
  const uses = text.match(new RegExp(`\\$(?:\\{[#!]?)?${name}\\b(?::?\\+)?`, 'g')) ?? [];
  return uses.length === 0 || uses.some((use) => !/^\$\{#|\+$/.test(use));
}
