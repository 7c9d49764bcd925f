/** Why a Windows command is held; codes are those of the knowledge base where the class is one. */
import type { Reason } from '../shell/walk.ts';

const block = (code: string, why: string, instead: string | null = null): Reason => {
  return { code, bound: 'block', why, instead };
};
const ask = (code: string, why: string): Reason => ({ code, bound: 'ask', why, instead: null });

export const deletesTree = block(
  'fs.rm-rf',
  'deletes a tree by force',
  'Delete the files that are meant by name.',
);
export const removesDirectory = block(
  'fs.rmdir-s',
  'deletes a directory with all below it',
  'Delete the files that are meant by name.',
);
export const deletesBelow = block(
  'fs.del-s',
  'deletes files in all directories below',
  'Delete the files that are meant by name.',
);
export const formats = block('fs.format', 'formats a volume');
export const endsMachine = block('power.shutdown', 'ends or restarts the machine');
export const killsByForce = block(
  'kill.force',
  'ends processes by force',
  'End them without force, by name or number.',
);
export const gainsRights = block(
  'privilege.runas',
  'takes the rights of another user',
  'Run it without other rights, or ask a person to run it.',
);
export const runsEncoded = block(
  'shell.encoded',
  'runs a script that is encoded',
  'Write the commands themselves.',
);
export const evaluates = block('shell.eval', 'runs text as a command', 'Write the command itself.');
export const publishes = block('publish.package', 'publishes a package');

export const dynamicName = ask('shell.dynamic', 'the command is known only when it runs');
export const dynamicText = ask('shell.dynamic', 'runs text that is known only when it runs');
export const runsInput = ask('shell.input', 'runs a script that is not known before it runs');
export const tooDeep = ask('limit.nesting', 'is nested too deeply to be read');
export const tooLong = ask('limit.bytes', 'is longer than the 64 KiB that are read');

const problems: Readonly<Record<string, Reason>> = {
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
  'limit.nesting': tooDeep,
  'limit.commands': ask('limit.commands', 'holds too many commands to be read'),
  'limit.words': ask('limit.words', 'has too many words to be read'),
  'limit.time': ask('limit.time', 'took too long to be read'),
};

export const ofProblem = (code: string): Reason =>
  problems[code] ?? ask(`shell.${code}`, 'is not understood');
