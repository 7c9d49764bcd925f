/** Which commands of cmd are blocked. */
import { lookUpCommand } from '../../commands/table.ts';
import { isSecretVariableName } from '../../shell/secret.ts';
import {
  environmentDumpReason,
  nestingLimitReason,
  secretVariableReason,
} from '../../shell/reasons.ts';
import {
  reportSecretFile,
  reportSecretVariable,
  reportWindowsFinding,
  windowsProgramName,
  type WindowsAnalysisContext,
} from '../analysis-context.ts';
import { blockedFor, judgeWindowsProgram } from '../programs.ts';
import { blockedDeletions, dynamicCommandName } from '../reasons.ts';
import { legibleWindowsWord, type WindowsCommand, type WindowsWord } from '../words.ts';

/** Commands of cmd itself with no rule: programs of that name are others. */
const harmless = new Set(
  (
    'assoc break cd chdir cls color copy date dir endlocal exit ftype goto md mkdir ' +
    'mklink move path pause popd prompt pushd ren rename setlocal shift time title ' +
    'ver verify vol where xcopy'
  ).split(' '),
);
const readers = new Set(['type', 'more', 'findstr', 'find', 'certutil']);

/** How many wrappers are followed. */
const viaMax = 8;

/** One command, and what it starts. */
export function judgeCmdCommand(walk: WindowsAnalysisContext, command: WindowsCommand): void {
  const { words } = command;
  const [first] = words;
  if (first === undefined) return;
  if (first.value === null) {
    reportWindowsFinding(walk, dynamicCommandName, command);
    return;
  }
  const name = windowsProgramName(first.value);
  const deletion = blockedDeletions.get(name);
  const reason = deletion === undefined ? null : blockedFor(command, deletion, 'cmd');
  if (reason !== null) reportWindowsFinding(walk, reason, command);
  // `more < .env`
  if (readers.has(name) || lookUpCommand(name)?.node.reads !== undefined) judgeInput(walk, command);
  if (readers.has(name)) judgeReader(walk, command, name);
  else if (name === 'set') judgeSet(walk, command);
  else if (name === 'echo') reportSecretVariable(walk, command);
  else if (name === 'call') judgeStarted(walk, { ...command, words: words.slice(1) }, name);
  else if (name === 'start') judgeStarted(walk, { ...command, words: startedWords(words) }, name);
  else if (name === 'forfiles') judgeForFiles(walk, command);
  else if (!harmless.has(name) && deletion === undefined) judgeWindowsProgram(walk, command, name);
}

/** The command that `call` or `start` runs. */
function judgeStarted(walk: WindowsAnalysisContext, command: WindowsCommand, name: string): void {
  if (walk.via.length >= viaMax) reportWindowsFinding(walk, nestingLimitReason, command);
  else judgeCmdCommand({ ...walk, via: [...walk.via, name] }, command);
}

/** What `start "title" /d dir /b` starts. */
function startedWords(words: readonly WindowsWord[]): readonly WindowsWord[] {
  let at = words[1]?.quoted === true ? 2 : 1;
  while (at < words.length) {
    const value = (words[at]?.value ?? '').toLowerCase();
    if (!value.startsWith('/')) break;
    at += /^\/(?:d|node|affinity|machine)$/.test(value) ? 2 : 1;
  }
  return words.slice(at);
}

/** `set` shows all, `set API` all that begin so, `set X=1` none. */
function judgeSet(walk: WindowsAnalysisContext, command: WindowsCommand): void {
  const texts = command.words.slice(1).map((word) => legibleWindowsWord(word));
  const text = texts.join(' ').trim();
  if (text === '') reportWindowsFinding(walk, environmentDumpReason, command);
  else if (!/=|^\//.test(text) && isSecretVariableName(text.toUpperCase())) {
    reportWindowsFinding(walk, secretVariableReason, command);
  }
}

function judgeReader(walk: WindowsAnalysisContext, command: WindowsCommand, name: string): void {
  const isOption = (word: WindowsWord): boolean =>
    !word.quoted && /^[/-]/.test(legibleWindowsWord(word));
  const operands = command.words.slice(1).filter((word) => !isOption(word));
  const hasPattern = command.words.some((word) => /^\/[cg]:/i.test(legibleWindowsWord(word)));
  const files = name.startsWith('find') && !hasPattern ? operands.slice(1) : operands;
  for (const word of name === 'certutil' ? files.slice(0, 1) : files) {
    reportSecretFile(walk, command, word);
  }
}

function judgeInput(walk: WindowsAnalysisContext, command: WindowsCommand): void {
  for (const from of command.input) {
    if (from.words[0]?.value === 'type') judgeReader(walk, from, 'type');
  }
}

/** `forfiles /s /c "cmd /c del @path"`. */
function judgeForFiles(walk: WindowsAnalysisContext, command: WindowsCommand): void {
  const at = command.words.findIndex(({ value }) => /^[/-]c$/i.test(value ?? ''));
  const payload = at === -1 ? undefined : command.words[at + 1];
  if (payload === undefined) return;
  const text = payload.pieces.map((piece) => piece ?? '%gap%').join('');
  walk.nested(text, 'cmd', { walk, via: 'forfiles', span: payload.span });
}
