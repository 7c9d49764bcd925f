/**
 * Collects the words of a text that may name files, and whether it may run files that it does not
 * name: what an approval must bind. Pure; which of the names are files is looked up later.
 */
import type { FileMentions } from '../analysis.ts';
import {
  closedCommands,
  fetchingCommands,
  filterCommands,
  inertCommands,
  readableShells,
  shellStartupFiles,
  transparentWrappers,
  writingCommands,
} from '../commands/command-classes.ts';
import { parseCommandOptions } from '../commands/options.ts';
import type { CommandNode } from '../commands/schema.ts';
import { programBaseName } from '../commands/table.ts';
import type { ShellCommand, StdinSource, ShellWord } from '../syntax/script.ts';
import {
  isProgramChangingVariable,
  variableExecutionReasons,
  setsUnknownVariable,
} from './assignments.ts';
import { readsProgramFromInput } from './embedded-programs.ts';
import {
  gapsAsVariables,
  isStandardInputPath,
  literalInput,
  commandTail,
} from './derived-words.ts';

/** The mentions while they are collected. */
export interface FileMentionsBuilder extends FileMentions {
  readonly words: Set<string>;
  readonly globs: Set<string>;
  readonly scripts: Set<string>;
  readonly writes: Set<string>;
  readonly moves: Set<string>;
  readonly loads: Set<string>;
  readonly fetches: Set<string>;
  readonly open: Set<string>;
}

export const createFileMentions = (): FileMentionsBuilder => ({
  words: new Set(),
  globs: new Set(),
  scripts: new Set(),
  writes: new Set(),
  moves: new Set(),
  loads: new Set(),
  fetches: new Set(),
  open: new Set(),
});

const wordsMax = 8_192;

/** Also for input that is not yet known. */
export const readsInputReason = 'it reads a script from its standard input';

export const unreadTextReason = 'not all of its text is understood';

/** Whether a problem means that a part of the text was not examined. */
export const isUnreadCode = (code: string): boolean => /^limit\.|unparseable$/.test(code);

/** Notes what one command names. `node`: what is known of it. */
export function collectMentions(
  command: ShellCommand,
  node: CommandNode | undefined,
  { found, defined }: { readonly found: FileMentionsBuilder; readonly defined: readonly string[] },
): void {
  const { words, assignments } = command;
  for (const word of words) noteWord(word, found);
  for (const { name, value } of assignments) {
    if (value !== null) noteWord(value, found);
    if (isProgramChangingVariable(name)) found.open.add(`it sets ${name}`);
  }
  noteRedirects(command, found);
  if (found.words.size > wordsMax) found.open.add('it names too many files to look at');
  const [first, ...rest] = words;
  const program = programBaseName(first?.value ?? '');
  noteWrites(program, rest, found);
  noteMove(program, rest, found);
  if (fetchingCommands.has(program)) found.fetches.add(program);
  if (first === undefined) return;
  if (defined.includes(first.value ?? '')) {
    // A program of that name runs where the function is unset, not defined yet, or passed over.
    found.scripts.add(first.value ?? '');
    return;
  }
  const why = whyOpen(command, node, found);
  if (why === null) return;
  found.open.add(why);
  const { redirects, input } = command;
  const read = redirects.flatMap(({ operator, target }) => (operator === '<' ? [target] : []));
  const values = assignments.map(({ value }) => value);
  for (const word of [...rest, ...values, ...read, input.kind === 'file' ? input.target : null]) {
    if (word !== null) found.loads.add(word.value ?? textOf(word));
  }
}

function noteRedirects({ redirects, input }: ShellCommand, found: FileMentionsBuilder): void {
  for (const { operator, descriptor, target } of redirects) {
    if (operator.includes('>') && target !== null) found.writes.add(writtenBy(target));
    if (!operator.startsWith('<') || operator === '<&' || target === null) continue;
    noteWord(target, found);
    // What another descriptor reads may be given to a shell.
    if ((descriptor ?? 0) !== 0) noteScript(target, found);
    if (isDynamic(target)) found.open.add(unknownWord);
  }
  if (input.kind === 'file') noteWord(input.target, found);
  if (input.kind === 'text') found.words.add(gapsAsVariables(input.pieces));
}

/** Notes the name or pattern of what is run. */
function noteScript(word: ShellWord, { scripts, open }: FileMentionsBuilder): void {
  const name = word.value ?? (isHere(word) ? textOf(word) : word.glob);
  if (name === null) open.add(unknownWord);
  else scripts.add(name);
}

/** `uniq IN OUT`, `tree -o OUT`, `sed -i` and `w`, and what is named among those that write. */
function noteWrites(
  program: string,
  words: readonly ShellWord[],
  { writes }: FileMentionsBuilder,
): void {
  const texts = words.map(({ value }) => value ?? '');
  const isSecond = texts.filter((text) => !text.startsWith('-')).length > 1;
  const isWriter =
    writingCommands.has(program) ||
    (/^(?:uniq|xxd)$/.test(program) && isSecond) ||
    (program === 'tree' && texts.some((text) => text.startsWith('-'))) ||
    (program === 'sed' && texts.some((text) => /^-\w*[is]|^--[is]|[wW]\s/.test(text))) ||
    (program === 'awk' && texts.some((text) => text.includes('>')));
  if (isWriter) writes.add('*');
  if (program === 'tee') for (const word of words) writes.add(writtenBy(word));
}

/** Where a text goes before it runs something. */
function noteMove(
  program: string,
  words: readonly ShellWord[],
  { moves }: FileMentionsBuilder,
): void {
  const texts = words.map((word) => (isDynamic(word) ? '*' : textOf(word)));
  if (program === 'popd') moves.add('*');
  if (program === 'cd' || program === 'pushd') {
    const at = texts.findIndex((text) => text === '-' || !text.startsWith('-'));
    const to = texts[texts[at] === '--' ? at + 1 : at] ?? '';
    moves.add(/^(?:-$|\+\d)/.test(to) ? '*' : to);
  }
  if (program !== 'env' && program !== 'genv') return;
  for (const [at, text] of texts.entries()) {
    const [, attached] = /^(?:--chdir=|-C(?=.))(.*)$/s.exec(text) ?? [];
    if (attached !== undefined) moves.add(attached);
    else if (/^(?:-\w*C|--chdir)$/.test(text)) moves.add(texts[at + 1] ?? '*');
  }
}

const unknownWord = 'a word of it is put together while it runs';

function noteWord(word: ShellWord, { words, globs, open }: FileMentionsBuilder): void {
  const set = /^([A-Za-z_]\w*)(?:\+?=|$)/.exec(word.pieces[0] ?? '')?.[1];
  if (set !== undefined && isProgramChangingVariable(set)) open.add(`it sets ${set}`);
  const text = word.value ?? textOf(word);
  if (isHere(word) && /[*?[]/.test(text)) globs.add(text);
  else if (word.glob !== null) globs.add(word.glob);
  words.add(text);
}

/** What a session carries by these names may change what the text runs; its `PATH` is searched. */
export function withSessionVariables(
  mentions: FileMentions,
  names: readonly string[],
): FileMentions {
  const found = names.filter((name) => {
    return name !== 'PATH' && (name.startsWith('shell ') || isProgramChangingVariable(name));
  });
  if (found.length === 0) return mentions;
  const why = `its session carries ${found.toSorted().join(', ')}`;
  return { ...mentions, open: new Set([...mentions.open, why]) };
}

/** `*`: which file that is, is not known. */
const writtenBy = ({ value }: ShellWord): string => value ?? '*';

const isOnly = ({ variables }: ShellWord, only: string): boolean =>
  variables.length > 0 && variables.every((name) => name === only);
const isHere = (word: ShellWord): boolean => isOnly(word, 'PWD');

/** `$PWD/x` is `./x`, `$HOME/x` is `~/x`; of other unknown parts, the text next to them. */
function textOf(word: ShellWord): string {
  const gap = isHere(word) ? '.' : isOnly(word, 'HOME') || isOnly(word, 'TMPDIR') ? '~' : ' ';
  return word.pieces.map((piece) => piece ?? gap).join('');
}

/** Whether it is not certain which words a command gets for this one. */
function isDynamic({ value, glob, derived, variables, pieces }: ShellWord): boolean {
  // What a substitution writes is what its own commands name.
  if (pieces[0] === '/dev/fd/') return false;
  if (variables.some((name) => name !== 'PWD')) return derived || value === null;
  return value === null && glob === null && variables.length === 0;
}

/** Why a command may run what the text does not name; `null`: it does not. */
function whyOpen(
  command: ShellCommand,
  node: CommandNode | undefined,
  found: FileMentionsBuilder,
): string | null {
  const [first, ...rest] = command.words;
  const called = first?.value ?? null;
  if (first === undefined || called === null || isDynamic(first)) return unknownWord;
  const name = programBaseName(called);
  const isShell = readableShells.has(name) && node !== undefined;
  if (called.includes('/') && !/^\/(?:usr\/)?bin\//.test(called)) {
    // The file itself shows which program that is.
    found.scripts.add(called);
    return null;
  }
  if (inertCommands.has(name)) {
    return setsUnknownVariable(name, rest, isDynamic) ? unknownWord : null;
  }
  if (rest.some((word) => isDynamic(word))) return unknownWord;
  const options = rest.map(({ value }) => value ?? '').filter((text) => /^[-+]./.test(text));
  for (const file of shellStartupFiles(name, options)) found.scripts.add(file);
  if (isShell) return whyShellOpen(commandTail(command, 1), node, found);
  if (closedCommands.has(name) || transparentWrappers.has(name)) return null;
  if (/^(?:sed|awk|jq)$/.test(name)) return whyFilterOpen(name, rest);
  return `${name} may run files that it does not name`;
}

function whyShellOpen(
  args: ShellCommand,
  node: CommandNode,
  found: FileMentionsBuilder,
): string | null {
  const parsed = parseCommandOptions(args.words, node);
  const { options, operands } = parsed;
  for (const given of options.get('startup') ?? []) found.scripts.add(given?.text ?? '');
  if (options.has('command')) return null;
  const at = operands[0] ?? args.words.length;
  const script = args.words[at];
  if (script?.pieces[0] === '/dev/fd/') {
    return noteInput({ kind: 'substitution', from: args.inner[at] ?? [] }, found);
  }
  if (script !== undefined && !isStandardInputPath(script.value ?? '')) noteScript(script, found);
  // Another descriptor was opened by a name of the text.
  const isCopied = args.redirects.some(({ operator }) => operator === '<&');
  if (isCopied || !readsProgramFromInput({ node, parsed, command: args })) return null;
  return noteInput(args.input, found);
}

/** What a shell reads is a script, and so is what is written to it. */
function noteInput(input: StdinSource, found: FileMentionsBuilder): string | null {
  if (literalInput(input) !== null) return null;
  switch (input.kind) {
    case 'file':
      noteScript(input.target, found);
      return null;
    case 'pipe':
    case 'substitution':
      return noteFilters(input.from, found);
    case 'text':
      return unknownWord;
    case 'inherited':
      return readsInputReason;
  }
}

function noteFilters(from: readonly ShellCommand[], found: FileMentionsBuilder): string | null {
  for (const { words } of from.filter((one) => one.words.length > 0)) {
    const program = programBaseName(words[0]?.value ?? '');
    const isFilter = filterCommands.has(program);
    if (!isFilter && !inertCommands.has(program)) return 'it runs what another program writes';
    if (!isFilter || program === 'tee') continue;
    const options = words.flatMap(({ value }) => (value?.startsWith('-') === true ? value : []));
    if (program.endsWith('grep') && options.some((text) => /^-\w*[rRd]|^--[rd]/.test(text))) {
      return 'it runs what grep finds in files that it does not name';
    }
    for (const word of words.slice(1)) noteScript(word, found);
  }
  const reasons = from.map(({ input }) =>
    input.kind === 'inherited' ? null : noteInput(input, found),
  );
  return reasons.find((why) => why !== null) ?? null;
}

/** Options of which none names a file with more of the program, or a file to write. */
const plainOptions: Readonly<Record<string, RegExp>> = {
  sed: /^(?:-[nErsuz]*e?|--(?:quiet|silent|regexp-extended|expression=.*))$/s,
  awk: /^-(?:[Fv].*|-)?$/s,
  jq: /^(?:-[nrRscCMSaje]+|--(?:arg|argjson|args|null-input|raw-output|compact-output|slurp))$/,
};
/** Signs by which such a program may start, load or write another one. */
const startsMore: Readonly<Record<string, RegExp>> = {
  // A command letter, and a flag behind whatever parts the pattern from its replacement.
  sed: /(?:^|[;{}\n\d$!~ /])[ewWrR](?:$|[\s;}])|[^\w\s][gpiIMm\d]*[ewW][gpiIMm\d]*(?:$|[\s;}])/,
  awk: /system|getline|[|@>]/,
  jq: /\b(?:import|include)\b/,
};

/** A program in a file may start others, and so may one among the words where it says so. */
function whyFilterOpen(name: string, words: readonly ShellWord[]): string | null {
  const texts = words.map(({ value }) => value ?? '');
  const isPlain = texts.every((text) => !/^-./.test(text) || plainOptions[name]?.test(text));
  if (isPlain && !texts.some((text) => startsMore[name]?.test(text))) return null;
  return `the program of ${name} may run files that the text does not name`;
}

/** Notes what the grammar keeps no word of: loops, and expansions that set or run something. */
export function collectSourceMentions(text: string, { open }: FileMentionsBuilder): void {
  for (const why of variableExecutionReasons(text)) open.add(why);
}

/** For a text that no analysis has read: all of it. */
export function unanalysedTextMentions(text: string): FileMentions {
  const open = new Set(['what it runs cannot be determined from its text']);
  return { ...createFileMentions(), words: new Set([text]), loads: new Set([text]), open };
}
