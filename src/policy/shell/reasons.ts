/** Why a command is held, where no single entry of the knowledge base says it. */
import { hiddenSecretCode, secretVariableCode } from '../analysis.ts';
import type { Reason } from './walk.ts';

const nameOnly = 'Ask for the one name that is needed; never for its value.';

export const secretFile: Reason = {
  code: 'secrets.file',
  bound: 'block',
  why: 'shows the content of a file with secrets',
  instead: 'Read a template such as .env.example.',
};
/** A sandbox shows no such file: `auto` lifts it where one holds. */
export const hiddenSecretFile: Reason = { ...secretFile, code: hiddenSecretCode };
export const perhapsSecretFile: Reason = {
  ...secretFile,
  code: 'secrets.perhaps',
  bound: 'ask',
  why: 'may show or use the content of a file with secrets',
};
export const secretVariable: Reason = {
  code: secretVariableCode,
  bound: 'block',
  why: 'shows the value of a variable that holds a secret',
  instead: nameOnly,
};
/** The same, by the names of all variables that are shown. */
export const showsVariables = (variables: readonly string[]): Reason => ({
  ...secretVariable,
  variables,
});
export const dumpsEnvironment: Reason = {
  code: 'secrets.environment',
  bound: 'block',
  why: 'shows all variables, and with them secrets',
  instead: nameOnly,
};
export const runsDownload: Reason = {
  code: 'shell.download',
  bound: 'block',
  why: 'runs what comes from the network, unseen',
  instead: 'Download it to a file, read it, and run the file.',
};
export const runsDecoded: Reason = {
  code: 'shell.encoded',
  bound: 'block',
  why: 'runs a script that is encoded',
  instead: 'Write the commands themselves.',
};
export const interpretsDownload: Reason = {
  ...runsDownload,
  code: 'shell.download-code',
  bound: 'ask',
};
export const readsScript: Reason = {
  code: 'shell.input',
  bound: 'ask',
  why: 'runs a script that is not known before it runs',
  instead: null,
};
export const tooDeep: Reason = {
  code: 'limit.nesting',
  bound: 'ask',
  why: 'is nested too deeply to be read',
  instead: null,
};
export const tooMany: Reason = {
  code: 'limit.commands',
  bound: 'ask',
  why: 'holds too many commands to be read, or took too long',
  instead: null,
};
