/** Programs of projects, terminals, editors and databases that run a command, too. */
import type { CommandTable, CommandNode } from '../schema.ts';

const ran = 'runs another command';
const afterDashes: CommandNode = { about: ran, wrapper: { after: '--' } };
const options = {
  value: '-f= --file= -e= --env= -p= --port= -n= --name= -c= -a= --app= --manifest-path=',
};
const run: CommandNode = {
  about: ran,
  subs: { 'run|exec': { style: 'posix', options, wrapper: {} } },
};
const terminal: CommandNode = {
  about: 'opens a terminal',
  wrapper: { at: ['-e', '-x', '--', '--args'] },
};
/** Text of another language, in which only string literals are examined. */
const code = (list: string): CommandNode => ({
  about: 'runs code',
  options: { code: list },
  payloads: [{ option: 'code', language: 'code' }],
});
const command = (list: string, value = ''): CommandNode => ({
  about: ran,
  options: { command: list, ...(value === '' ? {} : { value }) },
  payloads: [{ option: 'command', language: 'shell' }],
});

export const runnerCommands: CommandTable = {
  'foreman|heroku|honcho|pixi|micromamba|mamba|toolbox|devenv': run,
  'dotenvx|infisical|chamber|devbox|flox|guix|zellij|teller|fab|bazel|task|composer|wezterm':
    afterDashes,
  limactl: {
    about: ran,
    elsewhere: true,
    subs: { shell: { style: 'posix', wrapper: { skip: 1 } } },
  },
  sops: {
    about: 'works on secrets',
    subs: { 'exec-env|exec-file': { payloads: [{ operand: 'rest', language: 'shell' }] } },
  },
  rvm: { about: ran, wrapper: { after: 'do' } },
  'flatpak-spawn|trickle|foot|kitty|rr': {
    about: ran,
    style: 'posix',
    options: { value: '-d= -u= -t= -T= --title= --directory=' },
    subs: { record: { style: 'posix', wrapper: {} } },
    wrapper: {},
  },
  dtach: { about: ran, wrapper: { at: ['-n', '-c', '-A'] } },
  'xterm|urxvt|alacritty|konsole|gnome-terminal|xfce4-terminal|terminator|st': terminal,
  'sg|capsh': command('-c='),
  cmake: {
    about: 'builds',
    options: { tool: '-E' },
    subs: { 'env|time': { style: 'posix', wrapper: { assignments: true } } },
  },
  emacs: code('--eval= -eval= --execute='),
  'gdb|lldb': {
    about: 'runs a program',
    options: { code: '-ex= -eval-command= --eval-command= -o= --one-line= -iex=' },
    payloads: [{ option: 'code', language: 'code' }],
    wrapper: { at: ['--args', '--'] },
  },
  'R|ghc|erl|elixir|octave|gnuplot|guile|sbcl|racket|ocaml|qjs': code(
    '-e= -eval= --eval= -c= --execute=',
  ),
};
