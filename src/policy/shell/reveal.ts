/** Commands that show what is secret: files by name, variables by name. */
import { parseOptions, type Parsed } from '../commands/grammar.ts';
import type { Node } from '../commands/schema.ts';
import { lookUp, lookUpSub } from '../commands/table.ts';
import type { Command, Word } from '../syntax/script.ts';
import { hiddenSecretFile, perhapsSecretFile, secretFile, showsVariables } from './reasons.ts';
import { fileSecrecy, isSecretName, wordSecrecy, type Secrecy } from './secret.ts';
import { report, type Walk } from './walk.ts';
import { innerCommands, legible, shown, tail } from './word.ts';

const nameMax = 200;
/** Words beyond are not asked about; a command of so many is no allowed one. */
const wordsMax = 1_024;

/** Looks at operands, redirects, here-documents and printed words of one command. */
export function checkSecrets(command: Command, walk: Walk): void {
  const called = command.words[0]?.value ?? null;
  const node = called === null ? undefined : lookUp(called)?.node;
  checkInner(command, walk);
  if (node === undefined) {
    checkAnyWord(command, walk);
    return;
  }
  const args = tail(command, 1);
  const parsed = parseOptions(args.words, node);
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
  const sub = word === null ? undefined : lookUpSub(node, word);
  if (sub !== undefined && at !== undefined) {
    const rest = tail(args, at + 1);
    const inside = parseOptions(rest.words, sub.node);
    checkReader({ node: sub.node, args: rest, parsed: inside, whole: command }, walk);
    const said = (inside.options.get('says') ?? []).flatMap((given) => given?.word ?? []);
    checkPrinted(said, command, walk);
    const isGit = /(?:^|\/)git$/i.test(called ?? '');
    if (isGit) checkHistory(sub.name, rest, command, walk);
  }
  checkAnyWord(command, walk, node);
}

interface Reader {
  readonly node: Node;
  readonly args: Command;
  readonly parsed: Parsed<Word>;
  readonly whole: Command;
}

function checkReader({ node, args, parsed, whole }: Reader, walk: Walk): void {
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
function checkShown({ options }: Parsed<Word>, whole: Command, walk: Walk): void {
  if (options.has('into')) return;
  for (const given of options.get('shows') ?? []) {
    const secrecy = given?.text == null ? null : fileSecrecy(given.text);
    if (given !== null) tell(secrecy, given.word, whole, walk);
  }
}

/** A word, or what follows the colon of git's `HEAD:.env`. */
function pathSecrecy(word: Word): Secrecy {
  const direct = wordSecrecy(word);
  const colon = word.value?.lastIndexOf(':') ?? -1;
  const behind = colon === -1 ? null : fileSecrecy(word.value?.slice(colon + 1) ?? '');
  return behind === 'block' ? behind : (direct ?? behind);
}

function unjoined(word: Word): Word {
  const value = word.value?.replace(/^.*[=@]/, '') ?? null;
  return value === null ? word : { ...word, value, pieces: [value] };
}

/** `git log -p -- .env` shows content; without `-p` it shows only commits. */
function checkHistory(sub: string, args: Command, whole: Command, walk: Walk): void {
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
function checkSent(parsed: Parsed<Word>, whole: Command, walk: Walk): void {
  for (const given of parsed.options.get('sends') ?? []) {
    const path = given?.text?.replace(/^.*[@<]/s, '') ?? '';
    if (given !== null && fileSecrecy(path) === 'block') tell('block', given.word, whole, walk);
  }
}

/** Keys of the home directory and of the system: no sandbox has them, unless they were granted. */
function isHidden(word: Word): boolean {
  const [first] = word.pieces;
  const isHome = first === null ? word.variables.join() === 'HOME' : first?.startsWith('~/');
  const text = shown(word);
  if (text.includes('/../') || word.glob !== null) return false;
  return isHome === true
    ? /^(?:~|\uFFFF)\/\.(?:ssh|aws|gnupg)\//.test(text)
    : /^\/etc\/g?shadow-?$/.test(text);
}

function tell(secrecy: Secrecy, word: Word, whole: Command, walk: Walk): void {
  if (secrecy === 'block') report(walk, isHidden(word) ? hiddenSecretFile : secretFile, whole);
  else if (secrecy === 'ask') report(walk, perhapsSecretFile, whole, legible(word));
}

/** Any other use of a file with secrets is a question. */
function checkAnyWord(command: Command, walk: Walk, node?: Node): void {
  if (node?.metadata === true) return;
  for (const word of command.words.slice(1, wordsMax)) {
    if (pathSecrecy(word) === 'block') report(walk, perhapsSecretFile, command, legible(word));
  }
  for (const { operator, target } of command.redirects) {
    if (operator === '<' && target !== null && wordSecrecy(target) !== null) {
      report(walk, perhapsSecretFile, command, legible(target));
    }
  }
}

/** Secrets that come in on the standard input of what shows its input. */
function checkInput(command: Command, walk: Walk): void {
  const { input } = command;
  if (input.kind === 'file') tell(wordSecrecy(input.target), input.target, command, walk);
  if (input.kind !== 'text' || input.text !== null) return;
  tellVariables(
    input.variables.filter((variable) => isSecretName(variable)),
    command,
    walk,
  );
}

/** `$(< .env)`: a substitution whose only command is a redirect. */
function checkInner(command: Command, walk: Walk): void {
  for (const inner of innerCommands(command)) {
    if (inner.words.length === 0 && inner.input.kind === 'file') {
      tell(wordSecrecy(inner.input.target), inner.input.target, command, walk);
    }
  }
}

/** `declare -p API_KEY`. */
function checkNames(words: readonly Word[], whole: Command, walk: Walk): void {
  const named = words.flatMap(({ value }) => value ?? []).filter((name) => isSecretName(name));
  if (named.length > 0) report(walk, showsVariables(named), whole);
}

function checkPrinted(words: readonly Word[], whole: Command, walk: Walk): void {
  for (const word of words) {
    const secrets = word.variables
      .filter((name) => isSecretName(name))
      .filter((name) => !isConstant(name, word, walk) && showsValue(name, word, walk));
    tellVariables(secrets, whole, walk);
  }
}

/** The first is shown as what was found. */
function tellVariables(secrets: readonly string[], whole: Command, walk: Walk): void {
  const [first] = secrets;
  if (first !== undefined) report(walk, showsVariables(secrets), whole, `$${first}`);
}

/** A value that stands in the script itself is no secret. */
function isConstant(name: string, word: Word, walk: Walk): boolean {
  const own = walk.script.commands.some(({ assignments }) =>
    assignments.some((assignment) => assignment.name === name),
  );
  // `PASS=$((PASS + 1))` counts; `API_KEY=$(cat key)` is a secret all the same.
  return own && (word.value !== null || /^(?:PASS|KEYS?|TOKENS?|PAT|AUTH)$/i.test(name));
}

/** Not `${#NAME}` (its length) and not `${NAME:+set}` (whether it is set). */
function showsValue(name: string, word: Word, walk: Walk): boolean {
  if (name.length > nameMax) return true;
  const text = walk.source.slice(...word.span);
  const uses = text.match(new RegExp(`\\$(?:\\{[#!]?)?${name}\\b(?::?\\+)?`, 'g')) ?? [];
  return uses.length === 0 || uses.some((use) => !/^\$\{#|\+$/.test(use));
}
