/** Shells, interpreters, and the builtins that run text. */
import type { CommandTable, CommandNode, KnowledgeRule } from '../schema.ts';
import { outwardSubcommands } from './outward.ts';

const bare: KnowledgeRule = {
  code: 'shell.eval',
  bound: 'block',
  why: 'runs text that is put together while it runs',
  instead: 'Write the command itself.',
  when: { builtin: true },
  match: ['eval ls', 'eval "$x"', 'command eval ls', 'builtin eval ls'],
  noMatch: ['npm run eval', 'rg eval', './eval x', 'echo eval'],
};
const replaces: KnowledgeRule = {
  ...bare,
  code: 'shell.exec',
  why: 'replaces the shell, so that nothing after it is run',
  when: { builtin: true, operands: 'some' },
  match: ['exec ls', 'exec -a x ls', 'command exec node x.js'],
  noMatch: ['exec > log.txt', 'docker exec x ls', 'npm exec x', 'find . -exec ls {} +'],
};
const encoded: KnowledgeRule = {
  code: 'shell.encoded',
  bound: 'block',
  why: 'runs a script that cannot be read',
  instead: 'Write the command itself.',
  when: { any: ['encoded'] },
  match: ['powershell -EncodedCommand ZQBj', 'pwsh -enc ZQBj', 'powershell.exe -e ZQBj'],
  noMatch: ['pwsh -File x.ps1', 'pwsh -ExecutionPolicy Bypass', 'pwsh -c ls'],
};

const prefixes = (word: string, from: number): string =>
  Array.from({ length: word.length - from + 1 }, (_, at) => `-${word.slice(0, from + at)}=`).join(
    ' ',
  );

const shell: CommandNode = {
  about: 'runs a script',
  style: 'posix',
  options: {
    command: '-c',
    stdin: '-s',
    value: '-o= +o= -O= +O=',
    startup: '--rcfile= --init-file=',
    flag: '-l -i -x -e -u -v -n -f -a -b -h -k -m -p -r -t -B -C -E -H -P -T --login --norc',
    other: '--noprofile --posix --restricted --verbose --noediting --debugger +x +e +u +v +m',
    help: '--help --version',
  },
  payloads: [{ operand: 0, when: 'command', language: 'shell' }],
  sink: 'shell',
  script: true,
};

const inline = (options: Record<string, string>): CommandNode => ({
  about: 'runs a program of its language',
  style: 'posix',
  options,
  payloads: [{ option: 'code', language: 'code' }],
  sink: 'code',
  script: true,
});

/** Evaluates subscripts in its operands: `read 'a[$(id)]'`. */
const subscripts = (options: Record<string, string> = {}): CommandNode => ({
  options,
  payloads: [{ operand: 'each', language: 'expansion' }],
});

export const shellCommands: CommandTable = {
  'sh|bash|dash|ash|zsh|ksh|ksh93|mksh|pdksh|oksh|yash|rbash|posh|bash5|zsh5': shell,
  'fish|csh|tcsh|xonsh|nu|elvish|rc': {
    ...shell,
    options: { code: '-c= --command=', flag: '-l -i -f -x -v', value: '-C= --init-command=' },
    payloads: [{ option: 'code', language: 'shell' }],
  },
  eval: {
    about: 'runs text as a command',
    rules: [bare],
    payloads: [{ operand: 'all', language: 'shell' }],
  },
  exec: {
    about: 'replaces the shell',
    style: 'posix',
    options: { value: '-a=', flag: '-c -l' },
    rules: [replaces],
    wrapper: {},
  },
  'iex|invoke-expression': { about: 'runs text as a command', sink: 'shell', script: true },
  'source|.': { about: 'runs a script in this shell', sink: 'shell', script: true },
  trap: {
    about: 'runs text at a signal',
    style: 'posix',
    options: { list: '-l -p' },
    payloads: [{ operand: 0, language: 'shell' }],
  },
  'powershell|pwsh': {
    about: 'runs a script',
    style: 'windows',
    options: {
      encoded: `-ec= ${prefixes('encodedcommand', 1)}`,
      command: '-c -co -com -comm -comma -comman -command -f -fi -fil -file',
    },
    rules: [encoded],
    sink: 'shell',
  },
  'mapfile|readarray': {
    options: { code: '-C=' },
    payloads: [{ option: 'code', language: 'shell' }],
  },
  complete: {
    options: { code: '-C=', value: '-F= -W= -A= -G= -P= -S= -X= -o=' },
    payloads: [{ option: 'code', language: 'shell' }],
  },
  read: subscripts({ value: '-p= -d= -n= -N= -t= -u= -i=', flag: '-r -s -e', into: '-a=' }),
  'let|unset': subscripts({ flag: '-v -f -n' }),
  'test|[': {
    style: 'exact',
    options: { variable: '-v=' },
    payloads: [{ option: 'variable', language: 'expansion' }],
  },
  'at|batch': { about: 'runs commands later', sink: 'shell' },
  'python|python2|python3|python2.*|python3.*|pypy|pypy3|ipython': {
    ...inline({
      code: '-c=',
      module: '-m=',
      value: '-W= -X= -Q=',
      flag: '-u -O -B -E -I -s -S -v -q -i -b',
      help: '--version -V --help -h',
    }),
    // `python -m twine upload` is `twine upload`.
    wrapper: { split: 'module', splitOnly: 'twine flit poetry hatch pdm maturin'.split(' ') },
  },
  deno: {
    ...inline({ code: '-e= --eval=', help: '--version -V --help -h' }),
    subs: {
      eval: { payloads: [{ operand: 0, language: 'code' }] },
      ...outwardSubcommands('deno', { package: 'publish', deploy: 'deploy' }),
    },
  },
  'node|nodejs|tsx|ts-node': {
    ...inline({
      code: '-e= --eval= -p= --print= -pe=',
      value: '-r= --require= --import= --loader= -C= --conditions= --input-type=',
      help: '--version -v --help -h',
    }),
  },
  'perl|perl5.*': inline({
    code: '-e= -E=',
    value: '-I= -M=',
    flag: '-n -p -w -W -l -a -s -t -T -i',
    help: '--version -v --help -h',
  }),
  'ruby|jruby|irb': inline({
    code: '-e=',
    value: '-r= -I= -C=',
    flag: '-n -p -w -l -a -s -i',
    help: '--version --help',
  }),
  'php|php8.*': inline({ code: '-r= -R= -B= -E=', value: '-d= -c= -S= -t=', help: '--version -v' }),
  'lua|luajit|tclsh|Rscript|julia|osascript|groovy|scala': inline({
    code: '-e= --eval= --execute=',
    value: '-l=',
  }),
  'awk|gawk|mawk|nawk|original-awk': {
    about: 'runs a program of its language',
    style: 'posix',
    options: { value: '-F= -v= -i= -l=', program: '-f= --file=', code: '-e= --source=' },
    payloads: [
      { operand: 0, language: 'code' },
      { option: 'code', language: 'code' },
    ],
    reads: 'rest',
    pattern: 'program',
  },
  make: { about: 'runs the recipes of a makefile', options: { value: '-C= -f= -j[=] -I=' } },
};
