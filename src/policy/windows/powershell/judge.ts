/** Which commands of PowerShell are refused. */
import {
  environmentDumpReason,
  possibleSecretFileReason,
  secretFileReason,
  secretVariableReason,
} from '../../shell/reasons.ts';
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
import {
  legibleWindowsWord,
  windowsTextWord,
  type WindowsCommand,
  type WindowsWord,
} from '../words.ts';
import { isSecretVariableName } from '../../shell/secret.ts';
import { judgeDotNetCall } from './dotnet-calls.ts';
import {
  resolveCmdlet,
  powerShellProgramName,
  findRefusedCmdlet,
  unqualifiedCmdletName,
} from './cmdlet-names.ts';

const readers = new Set('get-content select-string format-hex import-csv import-clixml'.split(' '));
/** How many wrappers are followed. */
const viaMax = 8;
const writers = new Set(
  (
    'write-output write-host write-error write-warning write-verbose write-debug ' +
    'write-information out-file out-string out-host out-default out-printer ' +
    'set-content add-content set-clipboard tee-object convertto-json format-table ' +
    'format-list'
  ).split(' '),
);
const environmentReaders = new Set(
  'get-childitem get-item get-content get-itemproperty get-itempropertyvalue'.split(' '),
);

/** One command, and what it starts. */
export function judgePowerShellCommand(
  walk: WindowsAnalysisContext,
  command: WindowsCommand,
): void {
  for (const call of command.calls) judgeDotNetCall(walk, command, call);
  if (command.kind === 'value') {
    judgeValue(walk, command);
    return;
  }
  const [first] = command.words;
  if (first === undefined) return;
  const called = first.value ?? wildcard(first);
  if (called === null) {
    if (first.group.length === 0 && first.pieces.join('') === '') {
      judgeWrapped(walk, command);
      return;
    }
    reportWindowsFinding(walk, reasons.dynamicCommandName, command);
    return;
  }
  const cmdlet = resolveCmdlet(called, walk.aliases);
  if (cmdlet === null) judgeExternal(walk, command, called);
  else judgeCmdlet(walk, command, cmdlet);
}

/** `& { … }`: the block's commands are judged by themselves. */
function judgeWrapped(walk: WindowsAnalysisContext, command: WindowsCommand): void {
  if (command.words.length > 1) reportWindowsFinding(walk, reasons.dynamicCommandName, command);
}

/** `& (gcm i*x)`: the refused command that the pattern finds. */
function wildcard({ group }: WindowsWord): string | null {
  const [only] = group;
  const name = only?.words[0]?.value ?? null;
  if (group.length !== 1 || name === null || resolveCmdlet(name, new Map()) !== 'get-command') {
    return null;
  }
  const pattern = only?.words
    .slice(1)
    .find(({ value }) => value !== null && !value.startsWith('-'));
  return pattern?.value == null ? null : findRefusedCmdlet(pattern.value);
}

function judgeValue(walk: WindowsAnalysisContext, command: WindowsCommand): void {
  const consumer = walk.consumers.get(command);
  const name = consumer?.words[0]?.value ?? null;
  const cmdlet = name === null ? null : resolveCmdlet(name, walk.aliases);
  const written = cmdlet !== null && writers.has(cmdlet);
  const last = consumer === undefined && command.shown;
  const [secret] = secretVariablesIn(command.words);
  if (secret !== undefined && (written || last || name === 'clip')) {
    reportWindowsFinding(walk, secretVariableReason, command, `$env:${secret}`);
  }
}

function judgeExternal(
  walk: WindowsAnalysisContext,
  command: WindowsCommand,
  called: string,
): void {
  const name = windowsProgramName(unqualifiedCmdletName(called));
  switch (name) {
    case 'powershell':
    case 'pwsh':
      judgePowerShellStart(walk, command, powerShellProgramName);
      return;
    case 'cmd':
      judgeCmdStart(walk, command, powerShellProgramName);
      return;
    case 'runas':
    case 'gsudo':
      reportWindowsFinding(walk, reasons.privilegeGain, command);
      return;
    case 'taskkill':
      if (command.words.some(({ value }) => /^[/-]f$/i.test(value ?? ''))) {
        reportWindowsFinding(walk, reasons.forcedKill, command);
      }
      return;
    case 'wsl': {
      const words = wslCommandWords(command.words);
      if (words.length > 0) judgeWindowsProgram(walk, { ...command, words }, powerShellProgramName);
      return;
    }
    case 'shutdown':
      if (!command.words.some(({ value }) => /^[/-][a?]$/i.test(value ?? ''))) {
        reportWindowsFinding(walk, reasons.machineShutdown, command);
      }
      return;
    case 'format':
      if (command.words.length > 1) reportWindowsFinding(walk, reasons.volumeFormat, command);
      return;
    default:
      judgeWindowsProgram(walk, command, powerShellProgramName);
  }
}

/** Parameters: without the dash, in lower case, each with the value behind its colon. */
function parameters({
  words,
}: WindowsCommand): readonly { name: string; value: string | null; at: number }[] {
  return words.flatMap((word, at) => {
    const found = word.quoted
      ? null
      : /^[-–—―]{1,2}(\w+)(?::(.*))?$/s.exec(legibleWindowsWord(word));
    const name = found?.[1]?.toLowerCase();
    return at === 0 || name === undefined ? [] : [{ name, value: found?.[2] ?? null, at }];
  });
}

/** Whether a switch was given: `-r`, `-Recurse`, `-Recurse:$true`. */
function given(command: WindowsCommand, name: string): boolean {
  return parameters(command).some(
    (one) => name.startsWith(one.name) && one.value?.toLowerCase() !== 'false',
  );
}

const slash = (command: WindowsCommand, letter: string): boolean =>
  command.words.some(
    (word, at) =>
      at > 0 &&
      !word.quoted &&
      legibleWindowsWord(word).toLowerCase().split('/').slice(1).includes(letter) &&
      legibleWindowsWord(word).startsWith('/'),
  );

function judgeCmdlet(walk: WindowsAnalysisContext, command: WindowsCommand, cmdlet: string): void {
  const harmless = given(command, 'whatif') && !given(command, 'w');
  const tell = (reason: Parameters<typeof reportWindowsFinding>[1]): void => {
    if (!harmless) reportWindowsFinding(walk, reason, command);
  };
  if (environmentReaders.has(cmdlet)) judgeDrive(walk, command);
  if (readers.has(cmdlet)) judgeReader(walk, command, cmdlet);
  if (writers.has(cmdlet)) {
    const [secret] = secretVariablesIn(command.words);
    if (secret !== undefined) {
      reportWindowsFinding(walk, secretVariableReason, command, `$env:${secret}`);
    }
  }
  switch (cmdlet) {
    case 'remove-item':
      judgeRemoval(walk, command, tell);
      break;
    case 'stop-process':
      judgeKill(command, tell);
      break;
    case 'stop-computer':
    case 'restart-computer':
      tell(reasons.machineShutdown);
      break;
    case 'format-volume':
    case 'clear-disk':
    case 'initialize-disk':
      tell(reasons.volumeFormat);
      break;
    case 'invoke-expression':
      reportWindowsFinding(walk, reasons.textEvaluation, command);
      break;
    case 'publish-module':
    case 'publish-script':
    case 'publish-psresource':
      tell(reasons.packagePublication);
      break;
    case 'set-alias':
    case 'new-alias':
      noteAlias(walk, command);
      break;
    case 'start-process':
      judgeStart(walk, command);
      break;
    default:
      break;
  }
}

function judgeRemoval(
  walk: WindowsAnalysisContext,
  command: WindowsCommand,
  tell: (reason: typeof reasons.volumeFormat) => void,
): void {
  const called = unqualifiedCmdletName(command.words[0]?.value ?? '');
  const joined = parameters(command).some(({ name }) => /^(?:rf|fr)$/.test(name));
  if (joined || (given(command, 'recurse') && given(command, 'force'))) tell(reasons.treeDeletion);
  else if (/^(?:rd|rmdir)$/.test(called) && slash(command, 's')) tell(reasons.directoryRemoval);
  else if (/^(?:del|erase)$/.test(called) && slash(command, 's')) tell(reasons.recursiveDeletion);
  else if (called === 'rm') judgeWindowsProgram(walk, command, () => 'rm');
}

function judgeKill(
  command: WindowsCommand,
  tell: (reason: typeof reasons.volumeFormat) => void,
): void {
  const signal = parameters(command).some(({ name }) => /^(?:9|kill|sigkill)$/.test(name));
  const values = command.words.map(({ value }) => (value ?? '').toLowerCase());
  const sent = values.some(
    (value, at) => value === '-s' && /^(?:9|(?:sig)?kill)$/.test(values[at + 1] ?? ''),
  );
  if (given(command, 'force') || signal || sent) tell(reasons.forcedKill);
}

/** `dir env:`, `Get-Item env:API_KEY`. */
function judgeDrive(walk: WindowsAnalysisContext, command: WindowsCommand): void {
  for (const word of command.words.slice(1)) {
    const found = /^(?:microsoft\.powershell\.core\\)?(?:env|environment:):[\\/]*(.*)$/is.exec(
      legibleWindowsWord(word),
    );
    if (found === null) continue;
    const name = found[1] ?? '';
    if (name === '' || /[*?[]/.test(name)) {
      reportWindowsFinding(walk, environmentDumpReason, command);
    } else if (isSecretVariableName(name.toUpperCase())) {
      reportWindowsFinding(walk, secretVariableReason, command);
    }
  }
}

function judgeReader(walk: WindowsAnalysisContext, command: WindowsCommand, cmdlet: string): void {
  const named = parameters(command);
  const isPattern = (name: string): boolean => 'pattern'.startsWith(name) && name.length > 1;
  const skipped = new Set(named.filter(({ name }) => isPattern(name)).map(({ at }) => at + 1));
  let first = cmdlet === 'select-string' && skipped.size === 0;
  for (const [at, word] of command.words.entries()) {
    if (at === 0 || skipped.has(at) || named.some((one) => one.at === at && one.value === null)) {
      continue;
    }
    const valued = named.find((one) => one.at === at - 1 && one.value === null);
    const path = valued !== undefined && /^(?:pa|l|psp)/.test(valued.name);
    if (first && !path && named.every((one) => one.at !== at)) {
      first = false;
      continue;
    }
    const secrecy = windowsWordSecrecy(pathIn(word));
    if (secrecy === 'block') reportWindowsFinding(walk, secretFileReason, command);
    else if (secrecy === 'ask') reportWindowsFinding(walk, possibleSecretFileReason, command);
  }
}

/** The path that a word names: `-Path:x`, `(Join-Path a x)`. */
function pathIn(word: WindowsWord): WindowsWord {
  const [only] = word.group;
  const joined = only?.words[0]?.value?.toLowerCase() === 'join-path' ? only.words.at(-1) : word;
  const value = joined?.value?.replace(/^-\w+:/, '') ?? null;
  return value === null ? word : { ...word, value, pieces: [value] };
}

function noteAlias(walk: WindowsAnalysisContext, command: WindowsCommand): void {
  const values = command.words
    .slice(1)
    .filter(({ value }) => value !== null && !/^-\w+$/.test(value));
  const [name, target] = values.map(({ value }) => value?.toLowerCase());
  if (name !== undefined && target !== undefined && walk.aliases.size < 64) {
    walk.aliases.set(name, unqualifiedCmdletName(target));
  }
}

/** `Start-Process powershell -ArgumentList '-enc', 'ZQ=='`, `-Verb RunAs`. */
function judgeStart(walk: WindowsAnalysisContext, command: WindowsCommand): void {
  if (walk.via.length >= viaMax) {
    reportWindowsFinding(walk, reasons.windowsNestingLimit, command);
    return;
  }
  const named = parameters(command);
  const after = (at: number): WindowsWord | undefined => command.words[at + 1];
  const verb = named.find(({ name }) => name.length > 3 && 'verb'.startsWith(name));
  if (verb !== undefined) {
    const value = verb.value ?? after(verb.at)?.value ?? '';
    if (/^runas(?:user)?$/i.test(value)) reportWindowsFinding(walk, reasons.privilegeGain, command);
  }
  const flags =
    /^(?:wait|wa|nonewwindow|nnw|nonew|passthru|pas?s?|usenewenvironment|loaduserprofile)$/;
  const words: WindowsWord[] = [];
  let skip = false;
  for (const [at, word] of command.words.entries()) {
    const parameter = named.find((one) => one.at === at);
    if (at === 0) continue;
    if (parameter !== undefined && parameter.value === null) {
      const kept = /^(?:f|fi\w*|a|ar\w*)$/.test(parameter.name);
      skip = !kept && !flags.test(parameter.name);
      continue;
    }
    if (!skip && parameter === undefined) words.push(word);
    skip = false;
  }
  const [program, ...rest] = words;
  if (program === undefined) return;
  const split = rest.flatMap((word) =>
    word.value === null
      ? [word]
      : word.value.split(/\s+/).map((part) => windowsTextWord(part, word.span)),
  );
  judgePowerShellCommand(
    { ...walk, via: [...walk.via, 'Start-Process'] },
    { ...command, input: [], words: [program, ...split], calls: [] },
  );
}
