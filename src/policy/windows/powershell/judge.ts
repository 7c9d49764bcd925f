/** Which commands of PowerShell are blocked. */
import type { FindingReason } from '../../shell/analysis-context.ts';
import {
  environmentDumpReason,
  nestingLimitReason,
  secretVariableReason,
} from '../../shell/reasons.ts';
import { isSecretVariableName } from '../../shell/secret.ts';
import {
  judgeKnownProgram,
  reportSecretFile,
  reportSecretVariable,
  reportWindowsFinding,
  windowsProgramName,
  type WindowsAnalysisContext,
} from '../analysis-context.ts';
import { blockedFor, judgeWindowsProgram } from '../programs.ts';
import {
  blockedCmdlets,
  blockedDeletions,
  dynamicCommandName,
  dynamicScriptText,
  forcedKill,
  hiddenText,
  privilegeGain,
  textEvaluation,
  treeDeletion,
} from '../reasons.ts';
import {
  legibleWindowsWord,
  windowsTextWord,
  type DotNetCall,
  type WindowsCommand,
  type WindowsWord,
} from '../words.ts';
import { resolveCmdlet, unqualifiedCmdletName } from './cmdlets.ts';

const readers = new Set('get-content select-string format-hex import-csv import-clixml'.split(' '));
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

/** How many wrappers are followed. */
const viaMax = 8;
const aliasesMax = 64;

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
  const called = first.value ?? foundByName(first);
  const cmdlet = called === null ? null : resolveCmdlet(called, walk.aliases);
  // Only what is written out may be put together from parts.
  if ((cmdlet === null || !writers.has(cmdlet)) && command.words.some((word) => word.isComputed)) {
    reportWindowsFinding(walk, hiddenText, command);
  }
  if (cmdlet !== null) {
    judgeCmdlet(walk, command, cmdlet);
  } else if (called !== null) {
    const name = windowsProgramName(unqualifiedCmdletName(called));
    judgeWindowsProgram(walk, command, name);
  } else if (command.words.length > 1 || first.group.length > 0 || first.pieces.join('') !== '') {
    // `& { … }` alone is a block, whose commands are judged by themselves.
    reportWindowsFinding(walk, dynamicCommandName, command);
  }
}

/** `& (gcm i*x)`: what a pattern finds may be a blocked command, and is taken for one. */
function foundByName({ group }: WindowsWord): string | null {
  const [only] = group;
  const name = only?.words[0]?.value ?? null;
  if (group.length !== 1 || name === null || resolveCmdlet(name) !== 'get-command') return null;
  const isName = ({ value }: WindowsWord): boolean => value !== null && !value.startsWith('-');
  const pattern = only?.words.slice(1).find(isName)?.value ?? null;
  return pattern !== null && /[*?]/.test(pattern) ? 'invoke-expression' : pattern;
}

/** An expression whose result is shown, or written by the next command. */
function judgeValue(walk: WindowsAnalysisContext, command: WindowsCommand): void {
  const consumer = walk.consumers.get(command);
  const name = consumer?.words[0]?.value ?? '';
  const isLast = consumer === undefined && command.shown;
  const isWritten = writers.has(resolveCmdlet(name, walk.aliases) ?? '') || name === 'clip';
  if (isLast || isWritten) reportSecretVariable(walk, command);
}

const directoryDeletion = /^(?:io\.directory|microsoft\.visualbasic\.\w+\.filesystem)::delete/;
const fileReaders =
  /^io\.file::(?:readall\w+|readlines|open|openread|opentext|copy)$|^io\.streamreader::new$/;
const scriptMakers = /^(?:scriptblock::create|\.invokescript|\.newscriptblock)$/;

function judgeDotNetCall(
  walk: WindowsAnalysisContext,
  command: WindowsCommand,
  { name, args }: DotNetCall,
): void {
  const [first] = args;
  const value = first?.value ?? null;
  const report = (reason: FindingReason): void => reportWindowsFinding(walk, reason, command);
  if (args.some((word) => word.isComputed) && name !== '.replace') report(hiddenText);
  if (directoryDeletion.test(name) || name === '.delete') {
    const flags = name === '.delete' ? args.slice(0, 1) : args.slice(1);
    if (flags.some((word) => word.value === 'True')) report(treeDeletion);
  } else if (name === 'environment::getenvironmentvariables') {
    report(environmentDumpReason);
  } else if (name === 'environment::getenvironmentvariable') {
    const isShown = command.shown && !walk.consumers.has(command);
    if (value !== null && isShown && isSecretVariableName(value.toUpperCase())) {
      reportWindowsFinding(walk, secretVariableReason, command, value);
    }
  } else if (fileReaders.test(name)) {
    if (first !== undefined) reportSecretFile(walk, command, first);
  } else if (scriptMakers.test(name)) {
    if (value === null) report(dynamicScriptText);
    else walk.nested(value, 'powershell', { walk, via: 'scriptblock', span: command.span });
    if (name === '.invokescript') report(textEvaluation);
  }
}

interface Parameter {
  /** Without the dash, in lower case. */
  readonly name: string;
  /** What is behind its colon. */
  readonly value: string | null;
  readonly at: number;
}

function parametersOf({ words }: WindowsCommand): readonly Parameter[] {
  return words.flatMap((word, at) => {
    const text = word.quoted || at === 0 ? '' : legibleWindowsWord(word);
    const found = /^[-–—―]{1,2}(\w+)(?::(.*))?$/s.exec(text);
    if (found === null) return [];
    return [{ name: (found[1] ?? '').toLowerCase(), value: found[2] ?? null, at }];
  });
}

/** Whether a switch is set: `-r`, `-Recurse`, `-Recurse:$true`. */
const isSet = (parameters: readonly Parameter[], name: string): boolean =>
  parameters.some((one) => name.startsWith(one.name) && one.value?.toLowerCase() !== 'false');

function judgeCmdlet(walk: WindowsAnalysisContext, command: WindowsCommand, cmdlet: string): void {
  const parameters = parametersOf(command);
  const isTrial = isSet(parameters, 'whatif') && !isSet(parameters, 'w');
  const reason = reasonFor(command, cmdlet, parameters);
  if (reason !== null && (!isTrial || reason === textEvaluation)) {
    reportWindowsFinding(walk, reason, command);
  }
  if (environmentReaders.has(cmdlet)) judgeEnvironmentDrive(walk, command);
  if (readers.has(cmdlet)) judgeReader(walk, command, cmdlet);
  if (writers.has(cmdlet)) reportSecretVariable(walk, command);
  if (cmdlet === 'set-alias' || cmdlet === 'new-alias') noteAlias(walk, command);
  if (cmdlet === 'start-process') judgeStart(walk, command, parameters);
  const isRm = unqualifiedCmdletName(command.words[0]?.value ?? '') === 'rm';
  if (cmdlet === 'remove-item' && reason === null && isRm) judgeKnownProgram(walk, command);
}

/** Why the cmdlet is blocked with these parameters, or `null`. */
function reasonFor(
  command: WindowsCommand,
  cmdlet: string,
  parameters: readonly Parameter[],
): FindingReason | null {
  if (cmdlet === 'remove-item') {
    const isTree = isSet(parameters, 'recurse') && isSet(parameters, 'force');
    if (isTree || parameters.some(({ name }) => /^(?:rf|fr)$/.test(name))) return treeDeletion;
    const deletion = blockedDeletions.get(unqualifiedCmdletName(command.words[0]?.value ?? ''));
    return deletion === undefined ? null : blockedFor(command, deletion, 'powershell');
  }
  if (cmdlet === 'stop-process') {
    const texts = command.words.map(({ value }) => (value ?? '').toLowerCase()).join(' ');
    const isSignal = parameters.some(({ name }) => /^(?:9|kill|sigkill)$/.test(name));
    const isSent = / -s (?:9|(?:sig)?kill)(?: |$)/.test(texts);
    return isSet(parameters, 'force') || isSignal || isSent ? forcedKill : null;
  }
  return blockedCmdlets.get(cmdlet) ?? null;
}

/** `dir env:`, `Get-Item env:API_KEY`. */
function judgeEnvironmentDrive(walk: WindowsAnalysisContext, command: WindowsCommand): void {
  const drive = /^(?:microsoft\.powershell\.core\\)?(?:env|environment:):[\\/]*(.*)$/is;
  for (const word of command.words.slice(1)) {
    const name = drive.exec(legibleWindowsWord(word))?.[1];
    if (name === undefined) continue;
    if (name === '' || /[*?[]/.test(name)) {
      reportWindowsFinding(walk, environmentDumpReason, command);
    } else if (isSecretVariableName(name.toUpperCase())) {
      reportWindowsFinding(walk, secretVariableReason, command);
    }
  }
}

function judgeReader(walk: WindowsAnalysisContext, command: WindowsCommand, cmdlet: string): void {
  const named = parametersOf(command);
  const isPattern = ({ name }: Parameter): boolean => 'pattern'.startsWith(name) && name.length > 1;
  const patterns = new Set(named.filter(isPattern).map(({ at }) => at + 1));
  let isFirst = cmdlet === 'select-string' && patterns.size === 0;
  for (const [at, word] of command.words.entries()) {
    const parameter = named.find((one) => one.at === at);
    if (at === 0 || patterns.has(at) || parameter?.value === null) continue;
    const before = named.find((one) => one.at === at - 1 && one.value === null);
    const isPath = before !== undefined && /^(?:pa|l|psp)/.test(before.name);
    if (isFirst && !isPath && parameter === undefined) isFirst = false;
    else reportSecretFile(walk, command, pathIn(word));
  }
}

/** The path that a word names: `-Path:x`, `(Join-Path a x)`. */
function pathIn(word: WindowsWord): WindowsWord {
  const [only] = word.group;
  const joined = only?.words[0]?.value?.toLowerCase() === 'join-path' ? only.words.at(-1) : word;
  const value = joined?.value?.replace(/^-\w+:/, '') ?? null;
  return value === null ? word : { ...word, value, pieces: [value] };
}

function noteAlias(walk: WindowsAnalysisContext, { words }: WindowsCommand): void {
  const texts = words.slice(1).flatMap(({ value }) => value?.toLowerCase() ?? []);
  const [name, target] = texts.filter((text) => !/^-\w+$/.test(text));
  if (name !== undefined && target !== undefined && walk.aliases.size < aliasesMax) {
    walk.aliases.set(name, unqualifiedCmdletName(target));
  }
}

/** Parameters of `Start-Process` that precede the program or its arguments, or have no value. */
const ofProgram = /^(?:f|fi\w*|a|ar\w*)$/;
const withoutValue =
  /^(?:wait|wa|nonewwindow|nnw|nonew|passthru|pas?s?|usenewenvironment|loaduserprofile)$/;

/** `Start-Process powershell -ArgumentList '-enc', 'ZQ=='`, `-Verb RunAs`. */
function judgeStart(
  walk: WindowsAnalysisContext,
  command: WindowsCommand,
  parameters: readonly Parameter[],
): void {
  if (walk.via.length >= viaMax) {
    reportWindowsFinding(walk, nestingLimitReason, command);
    return;
  }
  const verb = parameters.find(({ name }) => name.length > 3 && 'verb'.startsWith(name));
  const verbValue = verb?.value ?? command.words[(verb?.at ?? -1) + 1]?.value ?? '';
  if (verb !== undefined && /^runas(?:user)?$/i.test(verbValue)) {
    reportWindowsFinding(walk, privilegeGain, command);
  }
  const isValueOfOther = (at: number): boolean => {
    const before = parameters.find((one) => one.at === at - 1);
    if (before === undefined || before.value !== null) return false;
    return !ofProgram.test(before.name) && !withoutValue.test(before.name);
  };
  const [program, ...rest] = command.words.filter(
    (_, at) => at > 0 && !isValueOfOther(at) && parameters.every((one) => one.at !== at),
  );
  if (program === undefined) return;
  const args = rest.flatMap((word) => {
    if (word.value === null) return [word];
    return word.value.split(/\s+/).map((part) => windowsTextWord(part, word.span));
  });
  judgePowerShellCommand(
    { ...walk, via: [...walk.via, 'Start-Process'] },
    { ...command, input: [], words: [program, ...args], calls: [] },
  );
}
