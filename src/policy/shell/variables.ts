/** Commands in variables: those that programs start, and the shell's own name. */
import type { ShellCommand, ShellWord } from '../syntax/script.ts';
import { shellTextWord } from './derived-words.ts';

/** Variables whose value git, man, less and shells pass to a shell. */
const started = new Set(
  (
    'GIT_SSH_COMMAND GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_PAGER GIT_EXTERNAL_DIFF GIT_ASKPASS ' +
    'GIT_PROXY_COMMAND EDITOR VISUAL PAGER MANPAGER BROWSER LESSOPEN LESSCLOSE PROMPT_COMMAND ' +
    'SSH_ASKPASS SUDO_ASKPASS RSYNC_RSH CVS_RSH'
  ).split(' '),
);

/** The command lines that assignments before a command, or all of it, put into such variables. */
export function programsInVariables({ assignments }: ShellCommand): readonly string[] {
  return assignments.flatMap(({ name, value }) => {
    const text = value?.value ?? null;
    return started.has(name) && text !== null ? [text] : [];
  });
}

/** `/???/rm` and `$prefix/bin/rm`: which directory it is does not change what the program is. */
export function withProgramBaseName(command: ShellCommand): ShellCommand {
  const [first, ...rest] = command.words;
  if (first === undefined || first.value !== null) return command;
  const base = /\/([\w.+-]+)$/.exec(first.glob ?? first.pieces.at(-1) ?? '')?.[1];
  return base === undefined
    ? command
    : { ...command, words: [shellTextWord(base, first.span), ...rest] };
}

/** `$SHELL -c …` and `"$BASH" -c …` start a shell, whichever it is. */
export function withShellName(command: ShellCommand): ShellCommand {
  const [first, ...rest] = command.words;
  if (first === undefined || !isShellVariable(first)) return command;
  return { ...command, words: [shellTextWord('sh', first.span), ...rest] };
}

function isShellVariable({ value, pieces, variables }: ShellWord): boolean {
  const [name] = variables;
  const only = variables.length === 1 && pieces.length === 1 && pieces[0] === null;
  return value === null && only && (name === 'SHELL' || name === 'BASH');
}
