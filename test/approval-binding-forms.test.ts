// Forms by which a text runs more than it seems to name: what they run cannot change behind a yes.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, beforeEach, describe, test } from 'node:test';
import { analyseShell } from '../src/policy/analyse.ts';
import { bindMentionedFiles, type BindingResult } from '../src/policy/binding/bind.ts';
import { unanalysedTextMentions, withSessionVariables } from '../src/policy/shell/mentions.ts';

const home = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'trl-forms-')));
const root = path.join(home, 'work');
const own = path.join(home, 'private');
const other = path.join(home, 'granted');
after(() => rmSync(home, { recursive: true }));

const files: Readonly<Record<string, string>> = {
  'y.sh': '. ./z.sh\n',
  'z.sh': ':\n',
  'q.sh': ':\n',
  a: '. ./z.sh\n',
  'x.py': 'import helper\n',
  'helper.py': 'pass\n',
  Makefile: 'all:\n',
  'bin/tac': '#!/bin/sh\n',
  p: './bin:/usr/bin:/bin\n',
  name: 'y.sh\n',
  'sub/deep/y.sh': ':\n',
  'my dir/y.sh': ':\n',
  'my pats': 'x\n',
  'prog.awk': '{ system("sh z.sh") }\n',
  'lib/m.jq': 'def x: 1;\n',
};

function write(name: string, text: string): void {
  const file = path.resolve(root, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
}
const at = (name: string): string => path.join(root, name);
beforeEach(() => {
  for (const directory of [root, own, other]) {
    rmSync(directory, { recursive: true, force: true });
    mkdirSync(directory);
  }
  for (const [name, text] of Object.entries(files)) write(name, text);
});

interface More {
  readonly env?: Readonly<Record<string, string>>;
  readonly carried?: readonly string[];
}
function look(command: string, { env = {}, carried = [] }: More = {}): Promise<BindingResult> {
  const mentions = analyseShell(command, 'bash').mentions ?? unanalysedTextMentions(command);
  return bindMentionedFiles(withSessionVariables(mentions, carried), {
    workspace: root,
    cwd: root,
    path: '/usr/bin:/bin',
    env,
    isPrivate: (file) => file.startsWith(own),
    isHidden: () => false,
    layer: null,
    contents: [],
  });
}

async function held(command: string, changed: string, more: More = {}): Promise<void> {
  const first = await look(command, more);
  write(changed, `echo evil >evil # ${command.length}\n`);
  const second = await look(command, more);
  if (first.binding.kind !== 'unbound') assert.notDeepEqual(second, first, command);
}

const arms: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
  'a word with the directory in it': [
    ['bash "$PWD/y.sh"', 'z.sh'],
    ['sh < "$PWD/y.sh"', 'z.sh'],
    ['cat "$PWD/y.sh" | sh', 'z.sh'],
    ['. "$PWD"/y.sh', 'z.sh'],
    ['cat "$PWD"/*.sh | sh', 'z.sh'],
    ['cat "$PWD"/n*.sh | sh', 'new.sh'],
    ["env -C'my dir' sh y.sh", 'my dir/y.sh'],
    ["grep -f'my pats' y.sh | sh", 'my pats'],
    ['b*/tac name', 'bin/tac'],
    ['./b?n/tac name', 'bin/tac'],
    ['$D/tac name', 'bin/tac'],
    ['"$PWD"/bin/tac name', 'bin/tac'],
    ['"${PWD}/bin/tac" name', 'bin/tac'],
  ],
  'a variable that is set without an assignment': [
    ['printf -v BASH_ENV %s y.sh; export BASH_ENV; bash -c :', 'z.sh'],
    ['read BASH_ENV <<< y.sh; export BASH_ENV; bash -c :', 'z.sh'],
    ['read -r BASH_ENV <name; export BASH_ENV; bash -c :', 'z.sh'],
    ['read -r BASH_E"NV" <name; export BASH_E"NV"; bash -c :', 'z.sh'],
    ['for BASH_ENV in y.sh; do export BASH_ENV; bash -c :; done', 'z.sh'],
    [': ${BASH_ENV:=y.sh}; export BASH_ENV; bash -c :', 'z.sh'],
    [': ${BASH_ENV=y.sh}; export BASH_ENV; bash -c :', 'z.sh'],
    ['declare -n r=BASH_ENV; r=y.sh; export BASH_ENV; bash -c :', 'z.sh'],
    ['read -r PATH <p; tac name', 'bin/tac'],
    ['n=PATH; read $n <p; tac name', 'bin/tac'],
    ["read $'PAT\\x48' <p; tac name", 'bin/tac'],
    ['coproc PATH { echo; }; tac name', 'bin/tac'],
    ['exec {BASH_ENV}<y.sh; bash -c :', 'z.sh'],
    ['mapfile -t PATH <p; tac name', 'bin/tac'],
    ['set -a; read PATH <p; env tac name', 'bin/tac'],
    ['printf -v PATH %s bin; tac name', 'bin/tac'],
    ['export "$(cat p)"; bash -c :', 'z.sh'],
    ['while read -r l; do export "$l"; done <p; tac name', 'bin/tac'],
    ['CDPATH=sub; cd deep; sh y.sh', 'sub/deep/y.sh'],
    ['PWD=sub/deep; sh "$PWD/y.sh"', 'sub/deep/y.sh'],
  ],
  'an index that is evaluated': [
    ["[[ 'q[$(sh y.sh)]' -eq 1 ]]", 'z.sh'],
    ["unset 'q[$(sh y.sh)]'", 'z.sh'],
    ["test -v 'q[$(sh y.sh)]'", 'z.sh'],
    ["let 'q[$(sh y.sh)]=1'", 'z.sh'],
    ['read x <name; [[ $x -eq 1 ]]', 'z.sh'],
    ['read x <name; (( x ))', 'z.sh'],
    ['read x <name; echo ${q[x]}', 'z.sh'],
    ['read x <name; echo ${HOME:x}', 'z.sh'],
    ['read x <name; test -v "$x"', 'z.sh'],
  ],
  'a function with the name of a program': [
    ['make() { :; }; env make', 'Makefile'],
    ['make() { :; }; command make', 'Makefile'],
    ['cat() { :; }; PATH=bin:$PATH env tac name', 'bin/tac'],
    ['python3() { :; }; command python3 x.py', 'helper.py'],
    ['python3() { :; }; unset -f python3; python3 x.py', 'helper.py'],
    ['(python3() { :; }); python3 x.py', 'helper.py'],
    ['if false; then python3() { :; }; fi; python3 x.py', 'helper.py'],
    ['python3 x.py; python3() { :; }', 'helper.py'],
    ['python3() { :; }; nohup python3 x.py', 'helper.py'],
  ],
  'a filter that finds, starts or writes files': [
    ["grep -rh '' . | sh", 'q.sh'],
    ["grep -rh '' | sh", 'q.sh'],
    ["grep --recursive -h '' sub | sh", 'sub/deep/y.sh'],
    ["grep -hd recurse '' sub | sh", 'sub/deep/y.sh'],
    ['awk --exec=prog.awk a', 'z.sh'],
    ['awk -E prog.awk a', 'z.sh'],
    ['awk -We prog.awk a', 'z.sh'],
    ['awk \'{ print > "n.sh" }\' a; sh n.sh', 'z.sh'],
    ["echo x | sed 's|x|sh y.sh|e'", 'z.sh'],
    ["echo x | sed 's/x/sh y.sh/ge'", 'z.sh'],
    ["echo x | sed 's/x/sh y.sh/Ie'", 'z.sh'],
    ["echo x | sed 's#x#python3 x.py#e'", 'helper.py'],
    ["sed -n '1w n.sh' a; sh n.sh", 'z.sh'],
    ["sed --in-place 's/:/python3 x.py/' q.sh; sh q.sh", 'helper.py'],
    ['uniq a n.sh; sh n.sh', 'z.sh'],
    ['xxd -r a n.sh; sh n.sh', 'z.sh'],
    ['tree -o n.sh; sh n.sh', 'z.sh'],
    ['jq -L lib \'import "m" as m; m::x\' a', 'lib/m.jq'],
  ],
  'what git keeps': [
    ['git show HEAD:y.sh | sh', '.git/objects/aa/bb'],
    ['git merge FETCH_HEAD', '.git/FETCH_HEAD'],
    ['make', '.git/logs/x.sh'],
    ['make', '.git/lfs/x.sh'],
  ],
};
for (const [what, cases] of Object.entries(arms)) {
  describe(`a yes does not hold when what runs changed: by ${what}`, () => {
    for (const [command, changed] of cases) {
      test(`${command}, ${changed}`, () => held(command, changed));
    }
  });
}

test('a search path that a caller gives or a session carries', async () => {
  await held('cd deep; sh y.sh', 'sub/deep/y.sh', { env: { CDPATH: 'sub' } });
  await held('cd deep; sh y.sh', 'sub/deep/y.sh', { carried: ['CDPATH'] });
});

test('a file that is written by another of its names may be the one that is run', async () => {
  symlinkSync('q.sh', at('soft'));
  linkSync(at('q.sh'), at('hard'));
  await held("echo '. ./a' > soft; sh q.sh", 'z.sh');
  await held('cat a > hard; sh q.sh', 'z.sh');
});

test('what lies outside of the workspace, or comes from elsewhere, is told unbound', async () => {
  write(`${other}/x.py`, '1');
  symlinkSync(path.join(own, 'inc.mk'), at('later.mk'));
  execFileSync('mkfifo', [at('pipe')]);
  const unbound = [
    ...['python3', 'node', 'make -f', 'awk -f', 'perl -I'].flatMap((start) => [
      `${start} ${own}/x`,
      `${start} ${other}/x.py`,
    ]),
    `make -C ${own}`,
    `perl -I${own} -MFoo -e1`,
    `npm --userconfig=${own}/rc test`,
    `PYTHONPATH=${own} python3 -c 'import foo'`,
    `python3 < ${own}/x.py`,
    `sh ${other}/y.sh`,
    `cat ${other}/y.sh | sh`,
    'python3 "$HOME/x.py"',
    'node ~/x.js',
    'make -C ../granted',
    "bash -ic 'cat a'",
    "bash -lc 'cat a'",
    'bash --login q.sh',
    'exec -l bash q.sh',
    "zsh -c 'cat a'",
    'cat pipe | sh',
    'sh < pipe',
    '. ./pipe',
    'sh </dev/tcp/localhost/80',
    'curl -s http://localhost:8000/y.sh | sh',
    'bash <(curl -s http://localhost:8000/y.sh)',
    'eval "$(curl -s http://localhost/x)"',
    'curl -so y.sh https://x.test; sh y.sh',
    'HOME=. bash -i',
  ];
  for (const command of unbound) {
    assert.equal((await look(command)).binding.kind, 'unbound', command);
  }
  mkdirSync(own, { recursive: true });
  write(`${own}/inc.mk`, '1');
  assert.equal((await look('make')).binding.kind, 'unbound', 'a link into a private directory');
});

test('what a link of the workspace leads to is part of its state', async () => {
  write(`${other}/inc.mk`, '1');
  symlinkSync(`${other}/inc.mk`, at('inc.mk'));
  const first = await look('make');
  assert.equal(first.binding.kind, 'workspace');
  write(`${other}/inc.mk`, 'evil');
  assert.notDeepEqual(await look('make'), first);
});

test('a fetch that brings nothing changes no state', async () => {
  write('.git/FETCH_HEAD', 'a branch\n');
  const first = await look('make');
  utimesSync(at('.git/FETCH_HEAD'), 1, 1);
  assert.deepEqual(await look('make'), first);
});

test('tools, and what only looks like a path, are bound as before', async () => {
  const bound: Readonly<Record<string, string>> = {
    'make -j4 /usr/bin/cc': 'workspace',
    'git clone https://x.test/a/b.git': 'workspace',
    'python3 x.py > /tmp/log 2>/dev/null': 'workspace',
    'rg /api/v1/users': 'workspace',
    'build() { cat a; }; build': 'named',
    "sed -n 's/a/b/gp' a": 'named',
    "sed -E 's|^#(.*)$|\\1|; /x/d' a": 'named',
    "awk -F: '{ print $1 }' a": 'named',
    "jq -r '.a[]' a": 'named',
    'echo "$X" "$HOME" > out': 'named',
    'export A="$X"; cat a': 'named',
  };
  const kinds = await Promise.all(Object.keys(bound).map((command) => look(command)));
  assert.deepEqual(
    kinds.map(({ binding }) => binding.kind),
    Object.values(bound),
  );
});
