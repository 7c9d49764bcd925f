/** Which commands of cmd are refused. */
import {
  environmentDumpReason,
  possibleSecretFileReason,
  secretFileReason,
  secretVariableReason,
} from '../../shell/reasons.ts';
import { lookUpCommand } from '../../commands/table.ts';
import { isSecretVariableName } from '../../shell/secret.ts';
import { wslCommandWords, judgeCmdStart, judgePowerShellStart } from '../interpreters.ts';
import * as reasons from '../reasons.ts';
import {
  judgeWindowsProgram,
  windowsProgramName,
  reportWindowsFinding,
  windowsWordSecrecy,
  secretVariablesIn,
  type WindowsAnalysisContext,
} from '../analysis-context.ts';
import { legibleWindowsWord, type WindowsCommand, type WindowsWord } from '../words.ts';

/** Commands of cmd itself that nothing is held against: programs of that name are others. */
const plain = new Set(
  (
    'assoc break cd chdir cls color copy date dir endlocal exit ftype goto md mkdir ' +
    'mklink move path pause popd prompt pushd ren rename setlocal shift time title ' +
    'ver verify vol where xcopy'
  ).split(' '),
);

/** How many wrappers are followed. */
const viaMax = 8;

/** One command, and what it starts. */
export function judgeCmdCommand(walk: WindowsAnalysisContext, command: WindowsCommand): void {
  const [first] = command.words;
  if (first === undefined) return;
  if (first.value === null) {
    reportWindowsFinding(walk, reasons.dynamicCommandName, command);
    return;
  }
  const name = windowsProgramName(first.value);
  switch (name) {
    case 'del':
    case 'erase':
      if (switched(command, 's')) reportWindowsFinding(walk, reasons.recursiveDeletion, command);
      break;
    case 'rd':
    case 'rmdir':
      if (switched(command, 's')) reportWindowsFinding(walk, reasons.directoryRemoval, command);
      break;
    case 'format':
      if (command.words.length > 1 && !switched(command, '?')) {
        reportWindowsFinding(walk, reasons.volumeFormat, command);
      }
      break;
    case 'shutdown':
      if (!switched(command, '?') && !switched(command, 'a')) {
        reportWindowsFinding(walk, reasons.machineShutdown, command);
      }
      break;
    case 'taskkill':
      if (switched(command, 'f')) reportWindowsFinding(walk, reasons.forcedKill, command);
      break;
    case 'runas':
    case 'gsudo':
      if (!switched(command, '?')) reportWindowsFinding(walk, reasons.privilegeGain, command);
      break;
    case 'set':
      judgeSet(walk, command);
      break;
    case 'echo':
      for (const secret of secretVariablesIn(command.words).slice(0, 1)) {
        reportWindowsFinding(walk, secretVariableReason, command, `%${secret}%`);
      }
      break;
    case 'type':
    case 'more':
    case 'findstr':
    case 'find':
    case 'certutil':
      judgeReader(walk, command, name);
      if (name !== 'type' && name !== 'certutil') judgeFed(walk, command);
      break;
    default:
      if (lookUpCommand(name)?.node.reads !== undefined) judgeFed(walk, command);
      judgeStarted(walk, command, name);
  }
}

function judgeStarted(walk: WindowsAnalysisContext, command: WindowsCommand, name: string): void {
  const inside = (words: readonly WindowsWord[]): void => {
    if (words.length === 0) return;
    if (walk.via.length >= viaMax) reportWindowsFinding(walk, reasons.windowsNestingLimit, command);
    else judgeCmdCommand({ ...walk, via: [...walk.via, name] }, { ...command, words });
  };
  switch (name) {
    case 'call':
      inside(command.words.slice(1));
      break;
    case 'start':
      inside(afterStart(command.words.slice(1)));
      break;
    case 'powershell':
    case 'pwsh':
      judgePowerShellStart(walk, command, windowsProgramName);
      break;
    case 'cmd':
      judgeCmdStart(walk, command, windowsProgramName);
      break;
    case 'wsl':
      if (wslCommandWords(command.words).length > 0) {
        judgeWindowsProgram(
          walk,
          { ...command, words: wslCommandWords(command.words) },
          windowsProgramName,
        );
      }
      break;
    case 'forfiles':
      judgeForFiles(walk, command);
      break;
    default:
      if (!plain.has(name)) judgeWindowsProgram(walk, command, windowsProgramName);
  }
}

/** Whether `/s` is among the switches, also glued: `/f/s/q`, `x/s`, or with a dash: `-f`. */
function switched({ words }: WindowsCommand, letter: string): boolean {
  return words.some((word, at) => {
    if (at === 0 || word.quoted) return false;
    const text = legibleWindowsWord(word).toLowerCase();
    return (
      text === `-${letter}` ||
      text
        .split('/')
        .slice(1)
        .some((one) => one.split(':')[0] === letter)
    );
  });
}

/** `set` shows all, `set API` all that begin so, `set X=1` none. */
function judgeSet(walk: WindowsAnalysisContext, command: WindowsCommand): void {
  const text = command.words
    .slice(1)
    .map((word) => legibleWindowsWord(word))
    .join(' ')
    .trim();
  if (text === '') reportWindowsFinding(walk, environmentDumpReason, command);
  else if (
    !text.includes('=') &&
    !text.startsWith('/') &&
    isSecretVariableName(text.toUpperCase())
  ) {
    reportWindowsFinding(walk, secretVariableReason, command);
  }
}

function judgeReader(walk: WindowsAnalysisContext, command: WindowsCommand, name: string): void {
  const operands = command.words
    .slice(1)
    .filter((word) => word.quoted || !/^[/-]/.test(legibleWindowsWord(word)));
  const given = command.words.some((word) => /^\/[cg]:/i.test(legibleWindowsWord(word)));
  const files = name.startsWith('find') && !given ? operands.slice(1) : operands;
  const listed = name === 'certutil' ? files.slice(0, 1) : files;
  for (const word of listed) {
    const secrecy = windowsWordSecrecy(word);
    if (secrecy === 'block') reportWindowsFinding(walk, secretFileReason, command);
    else if (secrecy === 'ask') reportWindowsFinding(walk, possibleSecretFileReason, command);
  }
}

/** `more < .env`. */
function judgeFed(walk: WindowsAnalysisContext, command: WindowsCommand): void {
  for (const from of command.input) {
    if (from.words[0]?.value === 'type') judgeReader(walk, from, 'type');
  }
}

/** What `start "title" /d dir /b` starts. */
function afterStart(words: readonly WindowsWord[]): readonly WindowsWord[] {
  let at = words[0]?.quoted === true ? 1 : 0;
  while (at < words.length) {
    const value = (words[at]?.value ?? '').toLowerCase();
    if (!value.startsWith('/')) break;
    at += /^\/(?:d|node|affinity|machine)$/.test(value) ? 2 : 1;
  }
  return words.slice(at);
}

/** `forfiles /s /c "cmd /c del @path"`. */
function judgeForFiles(walk: WindowsAnalysisContext, command: WindowsCommand): void {
  const at = command.words.findIndex(({ value }) => /^[/-]c$/i.test(value ?? ''));
  const payload = at === -1 ? undefined : command.words[at + 1];
  if (payload === undefined) return;
  const text = payload.pieces.map((piece) => piece ?? '%gap%').join('');
  walk.nested(text, 'cmd', { walk, via: 'forfiles', span: payload.span });
}
