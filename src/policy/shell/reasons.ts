/** Reasons to ask or block that no single entry of the knowledge base gives. */
import { hiddenSecretCode, secretVariableCode } from '../analysis.ts';
import type { FindingReason } from './analysis-context.ts';

const nameOnly = 'Ask for the one name that is needed; never for its value.';

export const secretFileReason: FindingReason = {
  code: 'secrets.file',
  bound: 'block',
  why: 'shows the content of a file with secrets',
  instead: 'Read a template such as .env.example.',
};
/** No sandbox contains such a file: `auto` lifts it inside one. */
export const hiddenSecretFileReason: FindingReason = {
  ...secretFileReason,
  code: hiddenSecretCode,
};
export const possibleSecretFileReason: FindingReason = {
  ...secretFileReason,
  code: 'secrets.perhaps',
  bound: 'ask',
  why: 'may show or use the content of a file with secrets',
};
export const secretVariableReason: FindingReason = {
  code: secretVariableCode,
  bound: 'block',
  why: 'shows the value of a variable that holds a secret',
  instead: nameOnly,
};
/** The same, by the names of all variables that are shown. */
export const shownVariablesReason = (variables: readonly string[]): FindingReason => ({
  ...secretVariableReason,
  variables,
});
export const environmentDumpReason: FindingReason = {
  code: 'secrets.environment',
  bound: 'block',
  why: 'shows all variables, and with them secrets',
  instead: nameOnly,
};
export const downloadedScriptReason: FindingReason = {
  code: 'shell.download',
  bound: 'block',
  why: 'runs what comes from the network, unseen',
  instead: 'Download it to a file, read it, and run the file.',
};
export const decodedScriptReason: FindingReason = {
  code: 'shell.encoded',
  bound: 'block',
  why: 'runs a script that is encoded',
  instead: 'Write the commands themselves.',
};
export const downloadedCodeReason: FindingReason = {
  ...downloadedScriptReason,
  code: 'shell.download-code',
  bound: 'ask',
};
export const unknownScriptReason: FindingReason = {
  code: 'shell.input',
  bound: 'ask',
  why: 'runs a script that is not known before it runs',
  instead: null,
};
export const nestingLimitReason: FindingReason = {
  code: 'limit.nesting',
  bound: 'ask',
  why: 'is nested too deeply to be read',
  instead: null,
};
export const commandLimitReason: FindingReason = {
  code: 'limit.commands',
  bound: 'ask',
  why: 'holds too many commands to be read, or took too long',
  instead: null,
};
