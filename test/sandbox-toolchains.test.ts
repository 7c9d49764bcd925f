// Which trees of a host the programs of a PATH need, and what is hidden in them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  findToolchains,
  isInsideTree,
  toolchainDirectory,
  toolchainRealPath,
} from '../src/sandbox/toolchains.ts';
import { fakeRoot, type Tree } from './support/fake-root.ts';
import { home, program, system } from './support/host-files.ts';

/** The trees that a `PATH` shows, what is masked in them, and the `PATH` inside. */
function shownBy(pathVariable: string, more: Tree = {}, shown = ['/usr', '/opt']): string[][] {
  using _root = fakeRoot({ ...system, ...home, ...more });
  const {
    trees,
    masked,
    path: inside,
  } = findToolchains({ pathVariable, home: '/home/ada', shown });
  return [trees.map((tree) => tree.path), [...masked], [...inside]];
}

test('what a manager of versions needs is shown', () => {
  assert.deepEqual(shownBy('/home/ada/.cargo/bin'), [
    ['/home/ada/.rustup', '/home/ada/.cargo/bin'],
    [],
    ['/home/ada/.cargo/bin'],
  ]);
  const wholes = [
    '.pyenv .nvm .volta .sdkman .asdf .rbenv .nodenv .goenv .jenv .tfenv .phpenv .plenv .ghcup',
    '.opam .juliaup .pixi .npm-global .npm-packages .local/share/mise .local/share/fnm',
    '.local/share/pnpm miniconda3 anaconda3 miniforge3 mambaforge',
  ].flatMap((line) => line.split(' '));
  for (const whole of wholes) {
    const at = `/home/ada/${whole}`;
    const [trees] = shownBy(`${at}/deep/bin`, { [`${at}/deep/bin/x`]: program });
    assert.deepEqual(trees, [at]);
  }
  const parts = ['dotnet', 'host', 'sdk', 'shared', 'tools'].map(
    (part) => `/home/ada/.dotnet/${part}`,
  );
  const made = Object.fromEntries(parts.map((part) => [part, '/']));
  const [trees = []] = shownBy('/home/ada/.dotnet', { ...made, '/home/ada/.dotnet/private': '' });
  assert.deepEqual(trees.toSorted(), parts.toSorted());
});

test('of another place its entry and the libraries beside it are shown', () => {
  const names = ['bin', 'lib', 'lib64', 'libexec', 'share', 'include'];
  const at = names.map((name) => `/home/ada/sdk/${name}`);
  const tree = Object.fromEntries([...at, '/home/ada/sdk/secret'].map((name) => [name, '/']));
  const [trees = []] = shownBy('/home/ada/sdk/bin', tree);
  assert.deepEqual(trees.toSorted(), at.toSorted());
  // Beside a directory in HOME itself lies HOME.
  assert.deepEqual(shownBy('/home/ada/bin', { '/home/ada/bin': '/', '/home/ada/lib': '/' })[0], [
    '/home/ada/bin',
  ]);
});

test('nothing is shown of what is private, of nobody, or not there', () => {
  const tree = Object.fromEntries(
    [
      '/tmp/a/bin /var/tmp/a/bin /run/a/bin /proc/a/bin /dev/a/bin /sys/a/bin',
      '/home/ada/p/node_modules/.bin /home/bob/bin',
    ]
      .flatMap((line) => line.split(' '))
      .map((name) => [name, '/']),
  );
  for (const name of Object.keys(tree)) {
    const [trees, masked, inside] = shownBy(name, tree);
    const isOther = name === '/home/bob/bin';
    assert.deepEqual([trees, masked, inside], isOther ? [[name], [], [name]] : [[], [], []], name);
  }
  for (const name of ['/home/ada', '/home', '/', 'relative', '/not/there', '/usr/bin/sh', '']) {
    assert.deepEqual(shownBy(name)[0], [], name);
  }
  assert.deepEqual(shownBy('/usr/bin'), [[], [], ['/usr/bin']]);
  assert.deepEqual(shownBy('/bin'), [[], [], ['/usr/bin']]);
});

test('a link of HOME is shown with what it leads to', () => {
  assert.deepEqual(shownBy('/home/ada/.local/bin'), [
    [
      '/home/ada/.local/bin',
      '/home/ada/apps/tool/bin',
      '/home/ada/apps/tool/lib',
      '/home/ada/apps/tool/share',
    ],
    [],
    ['/home/ada/.local/bin'],
  ]);
  const environment = { '/home/ada/apps/tool/pyvenv.cfg': '' };
  assert.deepEqual(shownBy('/home/ada/.local/bin', environment)[0], [
    '/home/ada/apps/tool',
    '/home/ada/.local/bin',
  ]);
  const single = { '/home/ada/bin/x': '-> ../apps/one', '/home/ada/apps/one': program };
  assert.deepEqual(shownBy('/home/ada/bin', single)[0], ['/home/ada/bin', '/home/ada/apps/one']);
  const outside = { '/home/ada/bin/x': '-> ../../bob/x', '/home/bob/x': program };
  assert.deepEqual(shownBy('/home/ada/bin', outside)[0], ['/home/ada/bin']);
});

test('credentials in a shown tree are masked', () => {
  const names = [
    '.npmrc npmrc etc/npmrc .condarc condarc .netrc .pypirc pip.conf etc/pip.conf credentials',
    'credentials.toml',
  ].flatMap((line) => line.split(' '));
  const at = names.map((name) => `/home/ada/.pyenv/${name}`);
  const tree = Object.fromEntries(at.map((name) => [name, 'token']));
  const [, masked] = shownBy('/home/ada/.pyenv/bin', { ...tree, '/home/ada/.pyenv/bin': '/' });
  assert.deepEqual(masked, at);
  for (const versions of ['.nvm/versions/node', '.volta/tools/image/node', '.nodenv/versions']) {
    const version = `/home/ada/${versions}/v1`;
    const [, of] = shownBy(`${version}/bin`, {
      [`${version}/bin`]: '/',
      [`${version}/etc/npmrc`]: 'x',
    });
    assert.ok(of?.includes(`${version}/etc/npmrc`), versions);
  }
});

test('as many trees are shown as a command can clone at once', () => {
  const names = Array.from({ length: 20 }, (_, at) => `/home/ada/t${at + 10}`);
  const tree = Object.fromEntries(names.map((name) => [name, '/']));
  const [trees, , inside] = shownBy(names.join(':'), tree);
  assert.deepEqual(trees, names.slice(0, 16));
  assert.deepEqual(inside, names.slice(0, 16));
  const again = shownBy(`${names[0]}:${names[0]}`, tree);
  assert.deepEqual(again[2], [names[0]]);
});

test('a path is below itself and what holds it', () => {
  const cases = [
    ['/a/b', '/a', true],
    ['/a', '/a', true],
    ['/ab', '/a', false],
    ['/a', '/a/b', false],
    ['/a', '/', true],
  ] as const;
  for (const [inner, outer, is] of cases) {
    assert.equal(isInsideTree(inner, outer), is, `${inner} ${outer}`);
  }
  using _root = fakeRoot({ '/a/b': '', '/l': '-> a' });
  assert.deepEqual(toolchainDirectory('/l'), ['/a']);
  assert.deepEqual(
    [toolchainDirectory('/a/b'), toolchainDirectory('a'), toolchainDirectory('/c')],
    [[], [], []],
  );
  assert.deepEqual([toolchainRealPath('/l/b'), toolchainRealPath('/c')], ['/a/b', null]);
});
