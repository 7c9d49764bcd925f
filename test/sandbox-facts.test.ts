// What of a host a sandbox shows, looked up in roots made for it.
import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { gatherHostFacts, sandboxIdCount, withPathVariable } from '../src/sandbox/host-facts.ts';
import { visibleTrees } from '../src/sandbox/plan.ts';
import { findGitIdentity, gitConfig } from '../src/sandbox/git-identity.ts';
import { resolverText, systemEntries } from '../src/sandbox/system.ts';
import { fakeRoot, type Tree } from './support/fake-root.ts';
import { home, program, system } from './support/host-files.ts';

const opt: Tree = { '/opt/box/bin/bwrap': program, '/opt/box/lib/a': '' };

test('the facts of a host are those of its files', async () => {
  using _root = fakeRoot({ ...system, ...home, ...opt });
  const env = { HOME: '/home/ada', PATH: '/usr/bin:/home/ada/.cargo/bin:/opt/box/bin:relative' };
  const facts = await gatherHostFacts(env);
  const { uid, gid, user, kernelRelease: _, arch, idmap: _idmap, toolchains, ...rest } = facts;
  assert.deepEqual([uid, gid], [process.getuid?.(), process.getgid?.()]);
  assert.equal(arch, process.arch);
  assert.equal(user === 'root', uid === 0);
  assert.deepEqual(
    toolchains.map((tree) => tree.path),
    ['/home/ada/.rustup', '/home/ada/.cargo/bin'],
  );
  assert.deepEqual(rest, {
    home: '/home/ada',
    tools: { bwrap: '/opt/box/bin/bwrap', nsenter: '/usr/bin/nsenter', perl: '/usr/bin/perl' },
    bwrapVersion: null,
    shells: { sh: '/usr/bin/sh', bash: '/usr/bin/bash' },
    system: [
      { kind: 'bind', path: '/usr' },
      { kind: 'link', path: '/bin', target: 'usr/bin' },
      { kind: 'link', path: '/sbin', target: 'usr/sbin' },
      { kind: 'link', path: '/lib', target: 'usr/lib' },
      { kind: 'link', path: '/lib64', target: 'usr/lib64' },
      { kind: 'bind', path: '/opt' },
      { kind: 'bind', path: '/sys/devices/system/cpu' },
    ],
    masked: [],
    path: [
      '/usr/bin:/home/ada/.cargo/bin:/opt/box/bin',
      '/usr/local/sbin:/usr/local/bin:/usr/sbin:/sbin:/bin',
    ].join(':'),
    resolver: '',
    trustStores: { bundles: [], java: [] },
    gitIdentity: null,
    idBase: 1_900_000_000,
    stage: '/srv',
    unavailable: null,
  });
  assert.deepEqual(visibleTrees(facts), [
    '/usr',
    '/opt',
    '/sys/devices/system/cpu',
    '/home/ada/.rustup',
    '/home/ada/.cargo/bin',
  ]);
  const other = withPathVariable(facts, '/home/ada/.nvm/versions/node/v24/bin');
  assert.deepEqual(
    [other.toolchains.map((tree) => tree.path), other.masked],
    [['/home/ada/.nvm'], ['/home/ada/.nvm/versions/node/v24/etc/npmrc']],
  );
  assert.deepEqual({ ...other, ...rest, toolchains }, { ...facts, toolchains });
});

test('the first program of the system’s directories is taken, whatever PATH says', async () => {
  const places = ['/usr/bin', '/bin', '/usr/sbin', '/sbin', '/usr/local/bin', '/mine'];
  for (const [at, place] of places.entries()) {
    const tree: Record<string, string | readonly [number, string]> = { '/usr/bin/perl': '/' };
    for (const later of places.slice(at)) tree[`${later}/nsenter`] = program;
    // Not a program: it may not run.
    tree[`${place}/bash`] = '';
    using _root = fakeRoot(tree);
    const { tools, shells } = await gatherHostFacts({ PATH: 'mine:/mine', HOME: '/' });
    assert.deepEqual(tools, { bwrap: null, nsenter: `${place}/nsenter`, perl: null });
    assert.equal(shells.bash, null);
  }
});

test('what is missing for a sandbox is named', async () => {
  const why = async (tree: Tree): Promise<string | null> => {
    using _root = fakeRoot(tree);
    return (await gatherHostFacts({ PATH: '/opt/box/bin' })).unavailable;
  };
  assert.match((await why(system)) ?? '', /^bubblewrap is not installed/);
  const { '/usr/bin/nsenter': _, ...without } = system;
  assert.match((await why({ ...without, ...opt })) ?? '', /^nsenter is not installed/);
  const all = { ...system, ...opt };
  const sysctl = (name: string, value: string): Tree => ({ ...all, [`/proc/sys/${name}`]: value });
  assert.match((await why(sysctl('user/max_user_namespaces', '0\n'))) ?? '', /max_user/);
  assert.match(
    (await why(sysctl('kernel/unprivileged_userns_clone', '0\n'))) ?? '',
    /userns_clone/,
  );
  assert.equal(await why(sysctl('user/max_user_namespaces', '10\n')), null);
  assert.equal(await why(sysctl('kernel/unprivileged_userns_clone', '1\n')), null);
});

test('a version of bubblewrap that is too old is named', async () => {
  const directory = mkdtempSync(path.join(tmpdir(), 'trl-bwrap-'));
  const bwrap = path.join(directory, 'bwrap');
  const versions = ['0.6.9', '0.7.0', '0.10', '1.0', '0.7', '0'] as const;
  try {
    const said: (string | null)[][] = [];
    for (const version of versions) {
      writeFileSync(bwrap, `#!/bin/sh\n[ "$*" = --version ] && echo bubblewrap ${version}\n`);
      chmodSync(bwrap, 0o755);
      using _root = fakeRoot({ ...system, [bwrap]: program });
      const facts = await gatherHostFacts({ PATH: directory });
      said.push([facts.bwrapVersion, facts.unavailable]);
    }
    const tooOld = 'bubblewrap 0.6.9 is too old: 0.7 or newer is needed';
    assert.deepEqual(said, [
      ['0.6.9', tooOld],
      ...versions.slice(1, 5).map((version) => [version, null]),
      [null, null],
    ]);
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test('ids of a sandbox are in no range that somebody has', async () => {
  const baseWith = async (subuid: string, subgid = ''): Promise<number> => {
    using _root = fakeRoot({ '/etc/subuid': subuid, '/etc/subgid': subgid });
    return (await gatherHostFacts({})).idBase;
  };
  const first = 1_900_000_000;
  const line = (start: number, count: number): string => `ada:${start}:${count}\n`;
  assert.equal(await baseWith(''), first);
  assert.equal(await baseWith('nonsense\n'), first);
  assert.equal(await baseWith(line(100_000, 65_536)), first);
  assert.equal(await baseWith(line(first - 10, 10)), first);
  assert.equal(await baseWith(line(first - 10, 11)), 1_800_000_000);
  assert.equal(await baseWith(line(first + sandboxIdCount - 1, 1)), 1_800_000_000);
  assert.equal(await baseWith(line(first + sandboxIdCount, 1)), first);
  assert.equal(await baseWith('', line(first, 5)), 1_800_000_000);
  assert.equal(await baseWith(line(first, 5), line(1_800_000_000, 5)), 1_700_000_000);
  const all = [19, 18, 17].map((at) => line(at * 100_000_000, 5)).join('');
  assert.equal(await baseWith(all), 1_600_000_000);
  assert.equal(await baseWith(all + line(1_600_000_000, 5)), 1_500_000_000);
});

test('what is mounted over while a holder is made is the first directory there is', async () => {
  const stages = ['/mnt', '/media', '/srv', '/run'];
  for (const [at, stage] of stages.entries()) {
    const there = stages.slice(at).map((name): [string, string] => [name, '/']);
    using _root = fakeRoot({ '/etc/x': '', ...Object.fromEntries(there) });
    assert.equal((await gatherHostFacts({})).stage, stage);
  }
});

test('a home that is none is that of the account', async () => {
  using _root = fakeRoot({ ...system, '/home/link': '-> ada', '/home/ada/x': '' });
  const homeOf = async (HOME?: string): Promise<string> =>
    (await gatherHostFacts(HOME === undefined ? {} : { HOME })).home;
  assert.equal(await homeOf('/home/link'), '/home/ada');
  assert.equal(await homeOf('/not/there'), '/not/there');
  const own = await homeOf();
  assert.equal(await homeOf('relative'), own);
  assert.equal(await homeOf('/'), own);
  assert.notEqual(own, '/');
});

const listed = [
  'bash.bashrc bashrc debian_version host.conf gai.conf inputrc locale.alias locale.conf',
  'localtime os-release protocols services shells ssl/openssl.cnf ssl/cert.pem timezone',
].flatMap((line) => line.split(' '));
const bound = [
  'ld.so.cache alternatives ssl/certs pki/tls/certs pki/ca-trust/extracted pki/java',
  'crypto-policies static fonts terminfo php R texmf maven ImageMagick-6 ImageMagick-7',
  'java-17-openjdk python3 python3.12 perl ruby3',
].flatMap((line) => line.split(' '));

test('of /etc nothing is shown but what the list names', () => {
  const others = ['shadow', 'passwd', 'ssh', 'perl5', 'xruby', 'my-java-17-', 'python', 'sudoers'];
  const texts = [...listed, ...others].map((name): [string, string] => [`/etc/${name}`, name]);
  const trees = bound.map((name): [string, string] => [`/etc/${name}`, '/']);
  using _root = fakeRoot(Object.fromEntries([...texts, ...trees]));
  const entries = systemEntries();
  const copies = entries.flatMap((one) =>
    one.kind === 'copy' ? [[one.path, Buffer.from(one.base64, 'base64').toString()]] : [],
  );
  assert.deepEqual(
    copies,
    listed.map((name) => [`/etc/${name}`, name]),
  );
  const binds = entries.filter(({ kind }) => kind === 'bind').map((one) => one.path);
  assert.deepEqual(binds.toSorted(), bound.map((name) => `/etc/${name}`).toSorted());
  assert.equal(entries.length, listed.length + bound.length);
});

test('programs and libraries are shown where they are', () => {
  const all = [
    '/usr /bin /sbin /lib /lib32 /lib64 /libx32 /opt /nix/store /gnu/store',
    '/sys/devices/system/cpu',
  ].flatMap((line) => line.split(' '));
  using _root = fakeRoot(Object.fromEntries([...all, '/home', '/root'].map((name) => [name, '/'])));
  assert.deepEqual(
    systemEntries(),
    all.map((name) => ({ kind: 'bind', path: name })),
  );
});

test('a file is copied where everybody may read it, and it is small', () => {
  using root = fakeRoot({
    '/etc/bashrc': [0o640, 'private'],
    '/etc/shells': 'x'.repeat(64 * 1024),
    '/etc/services': 'x'.repeat(64 * 1024 + 1),
    '/etc/protocols': '/',
    '/etc/localtime': '-> ../usr/share/zoneinfo/UTC',
  });
  assert.deepEqual(
    systemEntries().map(({ kind, path: name }) => [kind, name]),
    [
      ['link', '/etc/localtime'],
      ['copy', '/etc/shells'],
    ],
  );
  assert.equal(resolverText(), '');
  root.add({ '/etc/resolv.conf': 'nameserver 192.0.2.1\n' });
  assert.equal(resolverText(), 'nameserver 192.0.2.1\n');
});

const author: readonly (readonly [string, object | null])[] = [
  ['[user]\n\tname = Ada\n\temail = ada@example.com\n', { name: 'Ada', email: 'ada@example.com' }],
  ['[USER]\nName="Ada L"\nEMAIL = "a@b"', { name: 'Ada L', email: 'a@b' }],
  ['[ user ]\n name=Ada \n email=a@b  ', { name: 'Ada', email: 'a@b' }],
  ['[user]\nname = Ada\n[core]\nemail = a@b\n', null],
  ['[user]\nname = Ada\nemail =\n', null],
  ['name = Ada\nemail = a@b\n', null],
  ['[user "x"]\nname = Ada\nemail = a@b\n', null],
  ['[user]\nname = Ada # me\nemail = a@b\n', null],
  ['[user]\nname = Ada\\\nemail = a@b\n', null],
  ['[user]\nname = One\nname = Two\nemail = a@b', { name: 'Two', email: 'a@b' }],
  ['[user]\nsigningkey = x\nname = Ada\nemail = a@b\n[a]\nname = x', { name: 'Ada', email: 'a@b' }],
];
for (const [text, wanted] of author) {
  test(`of a git configuration name and address are read: ${JSON.stringify(text)}`, () => {
    using _root = fakeRoot({ '/home/ada/.gitconfig': text });
    assert.deepEqual(findGitIdentity('/home/ada', '/home/ada/.config'), wanted);
  });
}

test('a name for commits comes from the first file that has one', async () => {
  const of = (name: string): string => `[user]\nname = ${name}\nemail = ${name}@b\n`;
  using root = fakeRoot({ '/home/ada/.config/git/config': of('second'), '/x/git/config': of('x') });
  const nameOf = (config: string): string | undefined => findGitIdentity('/home/ada', config)?.name;
  assert.deepEqual(
    [nameOf('/home/ada/.config'), nameOf('/x'), nameOf('/y')],
    ['second', 'x', undefined],
  );
  const named = async (env: Record<string, string>): Promise<string | undefined> =>
    (await gatherHostFacts({ HOME: '/home/ada', ...env })).gitIdentity?.name;
  assert.deepEqual([await named({}), await named({ XDG_CONFIG_HOME: '/x' })], ['second', 'x']);
  root.add({ '/home/ada/.gitconfig': of('first') });
  assert.equal(nameOf('/x'), 'first');
});

test('a name for commits is written as git reads it', () => {
  assert.equal(gitConfig(null), '');
  assert.equal(
    gitConfig({ name: 'A "B" \\ C\n[x]', email: 'a@b' }),
    '[user]\n\tname = "A B  C[x]"\n\temail = "a@b"\n',
  );
});
