// What a yes binds of a workspace, form by form: no file that a text names, or may run, changes
// without the question becoming another one.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import type { Binding } from '../src/binding.ts';
import { analyseShell } from '../src/policy/analyse.ts';
import { bindMentionedFiles, type BindingResult } from '../src/policy/binding/bind.ts';
import { readTreeState } from '../src/policy/binding/tree-state.ts';
import { bindingText } from '../src/client/approval-text.ts';
import { unanalysedTextMentions } from '../src/policy/shell/mentions.ts';

const scripts = ['y.sh', 'y2.sh', 'sub/y.sh', 'sub/deep/y.sh', 'bin/tool', 'my file.sh', 'a.sh'];
const home = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'trl-binding-')));
const root = path.join(home, 'work');
const layer = path.join(home, 'layer');
before(() => reset());
after(() => rmSync(home, { recursive: true }));

function write(name: string, text: string, under = root): void {
  const file = path.join(under, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
}
function reset(): void {
  rmSync(root, { recursive: true, force: true });
  rmSync(layer, { recursive: true, force: true });
  mkdirSync(layer, { recursive: true });
  for (const name of scripts) write(name, 'true\n');
  write('other.txt', 'x');
}

const look = (
  command: string,
  more: Partial<Parameters<typeof bindMentionedFiles>[1]> = {},
): Promise<BindingResult> => {
  const mentions = analyseShell(command, 'bash').mentions ?? unanalysedTextMentions(command);
  return bindMentionedFiles(mentions, {
    workspace: root,
    cwd: root,
    path: '/usr/bin:/bin',
    env: {},
    isPrivate: (file) => file.startsWith('/tmp/private'),
    isHidden: () => false,
    layer: null,
    contents: [],
    ...more,
  });
};

/** Forms that say by name all that they run, and the file that is changed. */
const named: readonly (readonly [string, string])[] = [
  ['sh < y.sh', 'y.sh'],
  ['sh <y.sh', 'y.sh'],
  ['cat y.sh | sh', 'y.sh'],
  ['cat a.sh y.sh | tee log | bash -s -- x', 'y.sh'],
  ['bash y*.sh', 'y2.sh'],
  ['bash [xy].sh', 'y.sh'],
  ['bash sub/*/y.sh', 'sub/deep/y.sh'],
  ['bash {a,y}.sh', 'y.sh'],
  ['bash ~+/y.sh', 'y.sh'],
  ['bash "$PWD/y.sh"', 'y.sh'],
  ['bash "my file.sh"', 'my file.sh'],
  ['. ./y.sh', 'y.sh'],
  ['source y.sh', 'y.sh'],
  ['cd sub && bash y.sh', 'sub/y.sh'],
  ['cd sub; cd deep; bash y.sh', 'sub/deep/y.sh'],
  ['(pushd sub/deep && sh ./y.sh)', 'sub/deep/y.sh'],
  ['cd sub && bash ../a.sh', 'a.sh'],
  ['env -C sub sh y.sh', 'sub/y.sh'],
  ["env -S 'sh y.sh'", 'y.sh'],
  ['env X=1 bash y.sh', 'y.sh'],
  ['timeout 5 nice bash y.sh', 'y.sh'],
  ["sh -c 'bash y.sh'", 'y.sh'],
  ["bash -c '. ./y.sh'", 'y.sh'],
  ['./y.sh', 'y.sh'],
  ['bash <(cat y.sh)', 'y.sh'],
  ['exec 3<y.sh; sh <&3', 'y.sh'],
  ['sh 0<y.sh', 'y.sh'],
  ['if true; then sh < y.sh; fi', 'y.sh'],
  ['f() { sh y.sh; }; f', 'y.sh'],
  ['sh <<E\n. ./y.sh\nE', 'y.sh'],
  ['sh <<<". ./y.sh"', 'y.sh'],
  ['echo ". ./y.sh" | sh', 'y.sh'],
  ['curl -K y.sh https://x.test', 'y.sh'],
  ['cp y.sh /dev/null', 'y.sh'],
  ['cat < y.sh', 'y.sh'],
  ['trap "sh y.sh" EXIT', 'y.sh'],
  ['coproc sh y.sh', 'y.sh'],
  ['bash --rcfile a.sh y.sh', 'a.sh'],
  ['sh y.sh > out.txt', 'y.sh'],
  ['sh y.sh 2>/dev/null | tee out.txt', 'y.sh'],
  ['cat $(echo y.sh) | sh', 'y.sh'],
  ['cat -- y.sh | env -i sh', 'y.sh'],
  ['bash -x -e y.sh', 'y.sh'],
  ['time bash y.sh', 'y.sh'],
  ['! bash y.sh', 'y.sh'],
  ['{ sh; } < y.sh', 'y.sh'],
  ['cat < y.sh | sh', 'y.sh'],
  ['grep -v x y.sh | uniq | sh', 'y.sh'],
  ['sh 3<y.sh 0<&3', 'y.sh'],
  ['(cat; true) < y.sh | sh', 'y.sh'],
];

for (const [command, changed] of named) {
  test(`bound by name: ${command}`, async () => {
    const first = await look(command);
    assert.deepEqual(first.binding, { kind: 'named' } satisfies Binding);
    write('other.txt', `another ${command}`);
    assert.deepEqual(await look(command), first, 'a file that nobody named is not bound');
    write(changed, `echo ${command.length} >evil\n`);
    assert.notDeepEqual((await look(command)).contents, first.contents);
    write(changed, 'true\n');
    assert.deepEqual(await look(command), first);
  });
}

/** Forms that may run files that nobody named. */
const open: readonly string[] = [
  'awk -f y.awk x',
  'awk \'BEGIN { system("sh y.sh") }\'',
  'sed -f y.sed x',
  'node -r ./dep.js -e 1',
  'node x.js',
  'python3 -m m',
  'python3 x.py',
  'python3 - < y.py',
  'perl -I lib x.pl',
  'ruby -r ./x -e 1',
  'php -d auto_prepend_file=x.php -r 1',
  'BASH_ENV=y.sh bash -c :',
  'env BASH_ENV=y.sh bash -c :',
  'export BASH_ENV=y.sh; bash -c :',
  'PATH=./bin:$PATH tool',
  'LD_PRELOAD=./x.so ls',
  'PYTHONPATH=. python3 -c 1',
  'NODE_OPTIONS=--require=./x.js node -e 1',
  'make',
  'make -f other.mk',
  'npm run build',
  'npx thing',
  'docker build -f Dockerfile .',
  'git -c core.hooksPath=hooks commit -m x',
  'git push',
  'xargs -a list sh',
  'find . -name "*.sh" -exec sh {} +',
  "tar cf x.tar --checkpoint-action=exec='sh y.sh' .",
  'ssh -F config host',
  'sh "$F"',
  'sh "$(cat name)"',
  '$TOOL x',
  'for f in *.sh; do sh "$f"; done',
  'x=$(ls | head -1); sh $x',
  'alias ls="sh y.sh"',
  'enable -f ./x.so x',
  'sort --compress-program=./y.sh x',
  'rg --pre ./y.sh x',
  'cargo test',
  './build.py',
  'bash',
  'ls "',
  'bash y.sh x; unknown-program',
  'vim y.sh',
  'busybox sh y.sh',
  'parallel sh ::: y.sh',
  'sudo make install',
  'eval "$x"',
  // What is run is written by the text itself.
  'cp a.sh b.sh; sh b.sh',
  'cp sub/* . && bash y.sh',
  'ln -sf a.sh y.sh; ./y.sh',
  'echo ". ./a.sh" > y.sh; sh y.sh',
  'cat a.sh | tee y.sh; sh < y.sh',
  'mv sub bin2; sh bin2/y.sh',
  // What is run is what a program writes.
  'sh y.sh | sh',
  'sh <(sh y.sh)',
  'rev y.sh | sh',
  'tr a-z b-za < y.sh | bash',
  // Another directory, which is not known.
  'cd "$(git rev-parse --show-toplevel)" && sh y.sh',
  'cd "$D"; sh y.sh',
  'cd -; sh y.sh',
  'pushd sub; popd; sh y.sh',
  'cd ..; sh work/y.sh',
  // Other names for programs.
  'hash -p ./y.sh ls; ls',
  'BASH_ALIASES[ls]=./y.sh; ls',
  'BASH_CMDS[ls]=./y.sh; ls',
  'XDG_CONFIG_HOME=. ls',
  'bash /dev/fd/3 3<y.sh',
  'sh /proc/self/cwd/y.sh',
  'command -p ./build.py',
  'exec ./build.py',
  'time ./build.py',
  '! ./build.py',
  '{ ./build.py; } > out',
  'ls & ./build.py',
  'sh ${X:-y.sh}',
  'sh ~root/y.sh',
  'sh ~-/y.sh',
  'shopt -s globstar; sh **/y.sh',
  'arr=(y.sh); sh "${arr[@]}"',
  'set -- y.sh; sh "$1"',
  'printf "%s\\n" y.sh | while read f; do sh "$f"; done',
  'watch sh y.sh',
  'script -c ./y.sh',
  'tmux new-session -d ./y.sh',
  'nohup make &',
  'flock lock make',
  'ssh -o ProxyCommand=./y.sh host',
  'rsync -e ./y.sh a b:',
  'tar xf a.tar --to-command=./y.sh',
  'zip x.zip a -TT ./y.sh',
  'split --filter=./y.sh a',
  'install --strip-program=./y.sh -s a b',
  'vi -c ":!./y.sh" a',
  'less a',
  'man -P ./y.sh ls',
];

for (const command of open) {
  test(`bound by the state of the workspace: ${command}`, async () => {
    write('build.py', '#!/usr/bin/env python3\n');
    const first = await look(command);
    assert.equal(first.binding.kind, 'workspace', JSON.stringify(first.binding));
    write('sub/deep/nobody-named-it.py', command);
    assert.notDeepEqual((await look(command)).binding, first.binding);
    rmSync(path.join(root, 'sub/deep/nobody-named-it.py'));
  });
}

test('what a named script names in turn is bound', async () => {
  write('y.sh', '#!/bin/bash\nset -e\n. ./sub/y.sh\n');
  write('sub/y.sh', 'cat a.sh | sh\n');
  const first = await look('bash y.sh');
  assert.equal(first.binding.kind, 'named');
  write('a.sh', 'echo evil\n');
  assert.notDeepEqual((await look('bash y.sh')).contents, first.contents);
  write('sub/y.sh', 'python3 x.py\n');
  assert.equal((await look('bash y.sh')).binding.kind, 'workspace');
  reset();
});

test('a script that comes by a descriptor or a filter is read for what it names', async () => {
  write('y.sh', '. ./sub/y.sh\n');
  for (const command of ['exec 3<y.sh; sh <&3', 'cat < y.sh | sh', 'bash <(cat y.sh)']) {
    const first = await look(command);
    write('sub/y.sh', `echo ${command.length} >evil\n`);
    assert.notDeepEqual((await look(command)).contents, first.contents, command);
  }
  reset();
});

test('the right to run, the link and the interpreter of a named file are bound', async () => {
  const command = 'test -x y.sh && ./y.sh';
  const first = await look(command);
  chmodSync(path.join(root, 'y.sh'), 0o755);
  const second = await look(command);
  assert.notDeepEqual(second.contents, first.contents);
  rmSync(path.join(root, 'y.sh'));
  symlinkSync('a.sh', path.join(root, 'y.sh'));
  const third = await look(command);
  assert.notDeepEqual(third.contents, second.contents);
  rmSync(path.join(root, 'y.sh'));
  symlinkSync('y2.sh', path.join(root, 'y.sh'));
  assert.notDeepEqual((await look(command)).contents, third.contents);
  rmSync(path.join(root, 'y.sh'));
  write('y.sh', `#!${root}/bin/tool\n`);
  assert.equal((await look(command)).binding.kind, 'workspace');
  reset();
});

test('what is not there yet is bound when it comes, and says so when it goes', async () => {
  const first = await look('sh < new.sh');
  write('new.sh', 'echo evil\n');
  const second = await look('sh < new.sh');
  assert.notDeepEqual(second.contents, first.contents);
  rmSync(path.join(root, 'new.sh'));
  assert.deepEqual(await look('sh < new.sh'), first);
});

test('what waits in the session is what is bound, not what the host has', async () => {
  const more = { layer };
  const first = await look('sh < y.sh', more);
  write('y.sh', 'echo evil\n', layer);
  const second = await look('sh < y.sh', more);
  assert.notDeepEqual(second.contents, first.contents);
  write('y.sh', 'another, of the host\n');
  assert.deepEqual(await look('sh < y.sh', more), second);
  write('y.sh', 'true\n');
  const state = await look('make', more);
  write('only-in-the-layer.mk', 'x:\n', layer);
  assert.notDeepEqual((await look('make', more)).binding, state.binding);
  reset();
});

test('what only the sandbox has is said not to be bound', async () => {
  for (const command of ['sh /tmp/private/x.sh', '/tmp/private/x', 'sh < /tmp/private/x.sh']) {
    assert.equal((await look(command)).binding.kind, 'unbound', command);
  }
  const moved = [
    'cd /tmp/private && sh y.sh',
    'cd /tmp/private; make',
    'cd; sh y.sh',
    'cd ~ && ./y.sh',
    'pushd ~/x; sh y.sh',
    'env -C /tmp/private sh y.sh',
    'env --chdir=/tmp/private make',
    'sh ~/y.sh',
  ];
  for (const command of moved) {
    assert.equal((await look(command)).binding.kind, 'unbound', command);
  }
  const inside = await look('make', { cwd: '/tmp/private' });
  assert.equal(inside.binding.kind, 'unbound');
  assert.equal((await look('make', { workspace: null })).binding.kind, 'unbound');
});

test('what does not exist for commands is not told of, and no secret by its hash', async () => {
  write('denied/plan.md', 'x');
  symlinkSync('denied/plan.md', path.join(root, 'alias.md'));
  const isHidden = (file: string): boolean => file.startsWith(path.join(root, 'denied'));
  const command = 'cp denied/plan.md alias.md denied y.sh x';
  const { contents } = await look(command, { isHidden });
  assert.deepEqual(
    contents.map(({ name }) => name),
    ['y.sh'],
  );
  write('.env', '1234');
  const [env] = (await look('cp .env x')).contents;
  assert.equal(env?.name, '.env');
  assert.notEqual(env?.sha256, createHash('sha256').update('1234').digest('hex'));
  reset();
});

test('a variable that makes programs load files binds what it names', async () => {
  const env = { BASH_ENV: 'a.sh' };
  const first = await look('bash -c :', { env });
  assert.equal(first.binding.kind, 'workspace');
  assert.ok(first.contents.some(({ name }) => name === 'a.sh'));
});

test('a text that nobody read binds the state of the workspace', async () => {
  const bound = await bindMentionedFiles(unanalysedTextMentions('import helper'), {
    workspace: root,
    cwd: root,
    path: '',
    env: {},
    isPrivate: () => false,
    isHidden: () => false,
    layer: null,
    contents: [],
  });
  assert.equal(bound.binding.kind, 'workspace');
});

test('over a bound it is said that nothing more is bound', async () => {
  assert.equal(await readTreeState(root, undefined, 3), null);
  const many = Array.from({ length: 600 }, (_, at) => `many/f${at}.sh`);
  for (const name of many) write(name, '');
  const { binding } = await look('cat many/*.sh | sh');
  assert.equal(binding.kind, 'workspace');
  reset();
});

test('a person is told plainly what is not bound', () => {
  const told = (binding: Binding): string | null => bindingText({ binding });
  assert.equal(told({ kind: 'named' }), null);
  const state = { kind: 'workspace', sha256: 'a', entries: 12, why: 'make may run files' } as const;
  assert.match(told(state) ?? '', /binds all 12 files of the workspace .*make may run files/);
  assert.match(told({ kind: 'unbound', why: 'it is large' }) ?? '', /IS NOT BOUND.*it is large/);
  assert.match(bindingText({}) ?? '', /IS NOT BOUND/);
});
