/** Why a Windows command is not allowed; codes are those of the knowledge base where it has one. */
import type { FindingReason } from '../shell/analysis-context.ts';
import { nestingLimitReason } from '../shell/reasons.ts';

const block = (code: string, why: string, instead: string | null = null): FindingReason => {
  return { code, bound: 'block', why, instead };
};
const ask = (code: string, why: string): FindingReason => {
  return { code, bound: 'ask', why, instead: null };
};

const byName = 'Delete the files that are meant by name.';
const asWritten = 'Write the command itself.';

export const treeDeletion = block('fs.rm-rf', 'deletes a tree by force', byName);
export const volumeFormat = block('fs.format', 'formats a volume');
export const machineShutdown = block('power.shutdown', 'ends or restarts the machine');
export const packagePublication = block('publish.package', 'publishes a package');
export const textEvaluation = block('shell.eval', 'runs text as a command', asWritten);
export const hiddenText = block('shell.eval', 'hides the text of a command', asWritten);
export const forcedKill = block(
  'kill.force',
  'ends processes by force',
  'End them without force, by name or number.',
);
export const privilegeGain = block(
  'privilege.runas',
  'takes the rights of another user',
  'Run it without other rights, or ask a person to run it.',
);
export const encodedScript = block(
  'shell.encoded',
  'runs a script that is encoded',
  'Write the commands themselves.',
);

export const dynamicCommandName = ask('shell.dynamic', 'the command is known only when it runs');
export const dynamicScriptText = ask('shell.dynamic', 'runs text that is known only when it runs');
export const windowsLengthLimit = ask('limit.bytes', 'is longer than the 64 KiB that are read');

/** A program or command of both shells that is blocked: with a switch, or unless one is given. */
export interface BlockedCommand {
  readonly reason: FindingReason;
  /** Blocked only with this switch. */
  readonly only?: string;
  /** Blocked only with an argument. */
  readonly needsArgument?: boolean;
  /** Not blocked with one of these switches, in cmd also with `/?`. */
  readonly unless?: readonly string[];
}

const recursive = (code: string, why: string): BlockedCommand => {
  return { reason: block(code, why, byName), only: 's' };
};
const fileDeletion = recursive('fs.del-s', 'deletes files in all directories below');
const directoryRemoval = recursive('fs.rmdir-s', 'deletes a directory with all below it');

/** Commands that delete, which in PowerShell are aliases of one cmdlet. */
export const blockedDeletions: ReadonlyMap<string, BlockedCommand> = new Map([
  ['del', fileDeletion],
  ['erase', fileDeletion],
  ['rd', directoryRemoval],
  ['rmdir', directoryRemoval],
]);

export const blockedPrograms: ReadonlyMap<string, BlockedCommand> = new Map([
  ['format', { reason: volumeFormat, needsArgument: true, unless: [] }],
  ['shutdown', { reason: machineShutdown, unless: ['a'] }],
  ['taskkill', { reason: forcedKill, only: 'f' }],
  ['runas', { reason: privilegeGain, unless: [] }],
  ['gsudo', { reason: privilegeGain, unless: [] }],
]);

/** Cmdlets that are blocked with any arguments; unless with `-WhatIf`, except for evaluation. */
export const blockedCmdlets: ReadonlyMap<string, FindingReason> = new Map([
  ['stop-computer', machineShutdown],
  ['restart-computer', machineShutdown],
  ['format-volume', volumeFormat],
  ['clear-disk', volumeFormat],
  ['initialize-disk', volumeFormat],
  ['invoke-expression', textEvaluation],
  ['publish-module', packagePublication],
  ['publish-script', packagePublication],
  ['publish-psresource', packagePublication],
]);

const problems: Readonly<Record<string, FindingReason>> = {
  unparseable: ask('shell.unparseable', 'is not understood'),
  several: ask('shell.several', 'has several statements'),
  redirect: ask('shell.redirect', 'redirects input or output'),
  assignment: ask('shell.assignment', 'assigns a variable'),
  compound: ask('shell.compound', 'has control flow'),
  call: ask('shell.call', 'is started by an operator'),
  escape: ask('shell.escape', 'has escaped characters outside quotes'),
  comment: ask('shell.comment', 'has a comment'),
  list: ask('shell.list', 'has a list of values'),
  verbatim: ask('shell.verbatim', 'hands over text unread'),
  invisible: ask('shell.invisible', 'has characters that show nothing or move text'),
  'limit.nesting': nestingLimitReason,
  'limit.commands': ask('limit.commands', 'holds too many commands to be read'),
  'limit.words': ask('limit.words', 'has too many words to be read'),
  'limit.time': ask('limit.time', 'took too long to be read'),
};

export const windowsProblemReason = (code: string): FindingReason =>
  problems[code] ?? ask(`shell.${code}`, 'is not understood');
