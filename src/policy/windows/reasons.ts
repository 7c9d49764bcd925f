/** Why a Windows command is held; codes are those of the knowledge base where the class is one. */
import type { FindingReason } from '../shell/analysis-context.ts';

const block = (code: string, why: string, instead: string | null = null): FindingReason => {
  return { code, bound: 'block', why, instead };
};
const ask = (code: string, why: string): FindingReason => ({
  code,
  bound: 'ask',
  why,
  instead: null,
});

export const treeDeletion = block(
  'fs.rm-rf',
  'deletes a tree by force',
  'Delete the files that are meant by name.',
);
export const directoryRemoval = block(
  'fs.rmdir-s',
  'deletes a directory with all below it',
  'Delete the files that are meant by name.',
);
export const recursiveDeletion = block(
  'fs.del-s',
  'deletes files in all directories below',
  'Delete the files that are meant by name.',
);
export const volumeFormat = block('fs.format', 'formats a volume');
export const machineShutdown = block('power.shutdown', 'ends or restarts the machine');
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
export const textEvaluation = block(
  'shell.eval',
  'runs text as a command',
  'Write the command itself.',
);
export const packagePublication = block('publish.package', 'publishes a package');

export const dynamicCommandName = ask('shell.dynamic', 'the command is known only when it runs');
export const dynamicScriptText = ask('shell.dynamic', 'runs text that is known only when it runs');
export const unknownScriptInput = ask(
  'shell.input',
  'runs a script that is not known before it runs',
);
export const windowsNestingLimit = ask('limit.nesting', 'is nested too deeply to be read');
export const windowsLengthLimit = ask('limit.bytes', 'is longer than the 64 KiB that are read');

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
  'limit.nesting': windowsNestingLimit,
  'limit.commands': ask('limit.commands', 'holds too many commands to be read'),
  'limit.words': ask('limit.words', 'has too many words to be read'),
  'limit.time': ask('limit.time', 'took too long to be read'),
};

export const windowsProblemReason = (code: string): FindingReason =>
  problems[code] ?? ask(`shell.${code}`, 'is not understood');
