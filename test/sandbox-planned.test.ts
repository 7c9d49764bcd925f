// The box that is planned for each kind of session is the one that was planned before, word by
// word: what a changed plan shows or hides is seen in its table.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import type { Overlay } from '../src/command.ts';
import type { HostFacts } from '../src/sandbox/host-facts.ts';
import { planBox, type BoxInput, type BoxWorkspace } from '../src/sandbox/plan.ts';
import { judgeProbe, probeChecks, probeScript } from '../src/sandbox/probe.ts';
import { scriptLocation, scriptsDirectory } from '../src/sandbox/script.ts';
import { refusedCalls, seccompProgram } from '../src/sandbox/seccomp.ts';
import { assertRecorded, fingerprint } from './support/recorded.ts';

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');
const owner = { uid: 1001, gid: 1002 };
const tree = (path: string, writable = false) => ({ path, writable, ...owner });

const host: HostFacts = {
  uid: 0,
  gid: 0,
  user: 'root',
  home: '/home/ada',
  arch: 'x64',
  kernelRelease: '6.1.0',
  tools: { bwrap: '/usr/bin/bwrap', nsenter: '/usr/bin/nsenter', perl: '/usr/bin/perl' },
  bwrapVersion: '0.8.0',
  shells: { sh: '/bin/sh', bash: '/bin/bash' },
  system: [
    { kind: 'bind', path: '/usr' },
    { kind: 'bind', path: '/opt' },
    { kind: 'link', path: '/bin', target: 'usr/bin' },
    { kind: 'copy', path: '/etc/shells', base64: 'eA==' },
  ],
  toolchains: [
    { path: '/home/ada/.cargo/bin', ...owner },
    { path: '/w/tools', ...owner },
  ],
  masked: ['/home/ada/.cargo/bin/.npmrc', '/w/tools/.npmrc'],
  path: '/usr/bin',
  resolver: 'nameserver 192.0.2.1\n',
  trustStores: { bundles: ['/etc/ssl/certs/ca.crt'], java: ['/etc/java/cacerts'] },
  gitIdentity: { name: 'Ada', email: 'ada@example.com' },
  idBase: 1_900_000_000,
  stage: '/mnt',
  idmap: true,
  unavailable: null,
};

const workspace: BoxWorkspace = {
  ...owner,
  idmap: true,
  granted: [
    tree('/w', true),
    tree('/w/inner', true),
    tree('/w/read'),
    tree('/data'),
    tree('/data/in', true),
    tree('/data/in/deep'),
    tree('/dat', true),
  ],
  covers: [
    { path: '/w/.git', as: 'pin' },
    { path: '/w/.git/config', as: 'read-only' },
    { path: '/data/list', as: 'read-only' },
    { path: '/w/.env', as: 'hidden-file' },
    { path: '/w/secrets', as: 'hidden-directory' },
  ],
};
const overlay: Overlay = JSON.parse(
  JSON.stringify({ tree: '/w', lower: '/w', upper: '/s/upper', work: '/s/work', mask: null }),
);
const caches = [
  { tree: '/c', source: '/c/npm', target: '/home/ada/.npm', ...owner },
  { tree: '/c', source: '/c/pip', target: '/home/ada/.cache/pip', ...owner },
];

const usual: BoxInput = {
  host,
  workspace,
  grants: { network: 'off' },
  scratchBytes: 1 << 20,
  digest,
};
const user: HostFacts = { ...host, uid: 1000, gid: 1000, user: 'ada' };
const shared: BoxInput['shared'] = JSON.parse(
  JSON.stringify([{ source: '/data', target: '/home/ada/data', upper: '/s/u', work: '/s/w' }]),
);

const inputs: Readonly<Record<string, BoxInput>> = {
  'as root': usual,
  'as root, with a network': { ...usual, grants: { network: 'host' } },
  'as root, with a bridge': { ...usual, grants: { network: 'hosts' }, roots: ['PEM'] },
  'as a user': { ...usual, host: user },
  'as root, where nothing is idmapped': { ...usual, host: { ...host, idmap: false } },
  'as root, where the workspace is not': { ...usual, workspace: { ...workspace, idmap: false } },
  'of root': { ...usual, workspace: { ...workspace, uid: 0, gid: 0 } },
  'of an owner beyond a range': { ...usual, workspace: { ...workspace, uid: 65_537, gid: 65_538 } },
  'without a workspace': { ...usual, workspace: null },
  'without a workspace, as a user': { ...usual, workspace: null, host: user },
  'with a layer': { ...usual, workspace: { ...workspace, overlay } },
  'with a layer, as a user': { ...usual, host: user, workspace: { ...workspace, overlay } },
  'with caches': { ...usual, caches },
  'with caches, as a user': { ...usual, caches, host: user },
  'with shared trees': { ...usual, caches, ...(shared && { shared }) },
  'with shared trees, as a user': { ...usual, host: user, ...(shared && { shared }) },
  'for one command': { ...usual, once: true },
  'on arm64, without bash, perl and a name': {
    ...usual,
    host: {
      ...host,
      arch: 'arm64',
      shells: { sh: '/bin/sh', bash: null },
      tools: { ...host.tools, perl: null },
      gitIdentity: null,
    },
  },
};

test('every kind of box is planned as before', () => {
  const lines = Object.entries(inputs).flatMap(([name, input]) => {
    const { seccomp, ...box } = planBox(input);
    const words = JSON.stringify({ ...box, seccomp: fingerprint(seccomp) });
    // A line for each option of bubblewrap, so that a difference is read.
    return words.split(/,(?="--)/).map((line, at) => `${name} ${at}: ${line}`);
  });
  assertRecorded('sandbox/planned.txt', lines);
});

test('equal input gives an equal box, and its name is of all that it is', () => {
  const names = Object.values(inputs).map((input) => planBox(input).holder.id);
  // Which of two things takes no idmapped mount makes no difference.
  assert.equal(new Set(names).size, names.length - 1);
  const { id, ...holder } = planBox(usual).holder;
  assert.equal(id, digest(JSON.stringify(holder)));
  assert.deepEqual(planBox(usual), planBox({ ...usual, once: false, caches: [], shared: [] }));
});

test('where a sandbox cannot be, none is planned', () => {
  const without = (change: Partial<HostFacts>): void => {
    assert.throws(() => planBox({ ...usual, host: { ...host, ...change } }), RangeError);
  };
  without({ arch: null });
  without({ tools: { ...host.tools, bwrap: null } });
  without({ tools: { ...host.tools, nsenter: null } });
});

test('the filter of system calls is the one that it was', () => {
  const lines = (['x64', 'arm64'] as const).flatMap((arch) =>
    [true, false].map((unixSockets) => {
      const program = Buffer.from(seccompProgram(arch, { unixSockets }));
      return `${arch} ${unixSockets} ${program.toString('hex')}`;
    }),
  );
  const refused = (['x64', 'arm64'] as const).map(
    (arch) => `${arch} ${JSON.stringify(refusedCalls(arch))}`,
  );
  assertRecorded('sandbox/filters.txt', [...lines, ...refused]);
});

test('a sandbox is asked for all that it promises', () => {
  const granted = ['/boot/efi', '/var', '/etc/shadow', '/run/dockers'];
  assertRecorded('sandbox/probe.txt', [
    ...probeScript([]).split('\n'),
    ...probeScript(granted).split('\n'),
    ...probeChecks,
  ]);
});

test('what does not answer is not enforced', () => {
  const said = (without: readonly string[] = []): string =>
    probeChecks.map((name) => `${name}=${without.includes(name) ? 0 : 1}`).join('\n');
  const judged = (output: string, level: 'user' | 'root-uid', network: 'host' | 'off' = 'off') =>
    judgeProbe(output, { level, network });
  const all = probeChecks.map((name) => ({ name, enforced: true }));
  assert.deepEqual(judged(said(), 'user'), { level: 'full', checks: all });
  assert.deepEqual(judged(said(), 'root-uid'), { level: 'root-uid', checks: all });
  assert.deepEqual(judged(` ${said().replaceAll('\n', ' \r\n')}`, 'user').level, 'full');
  assert.equal(judged(said(['not_host_root']), 'root-uid').level, 'root-uid');
  assert.equal(judged(said(['not_host_root']), 'user').level, 'none');
  assert.equal(judged(said(['not_host_root', 'no_core_dumps']), 'root-uid').level, 'none');
  for (const name of probeChecks) {
    const { level, checks } = judged(said([name]), 'user');
    const wanted = probeChecks.map((one) => ({ name: one, enforced: one !== name }));
    assert.deepEqual([level, checks], ['none', wanted]);
  }
  assert.equal(judged('', 'user').level, 'none');
  assert.equal(judged(said(['no_core_dumps']), 'root-uid').level, 'none');
  // On the host's network it is not asked.
  const { level, checks } = judged(said(['loopback_only']), 'user', 'host');
  assert.deepEqual([level, checks.length], ['full', probeChecks.length - 1]);
});

test('a script starts in a directory of its own', () => {
  assert.equal(scriptsDirectory([]), '/tmp/.script');
  assert.equal(scriptsDirectory(['/usr', '/tmpx']), '/tmp/.script');
  assert.equal(scriptsDirectory(['/usr', '/tmp']), '/run/.script');
  assert.equal(scriptsDirectory(['/']), '/run/.script');
  const id = 'x-0123456789abcdef0123456789abcdef';
  const none = { kind: 'none' } as const;
  assert.deepEqual(scriptLocation(none, id, '/tmp/.script'), {
    box: none,
    cwd: '/tmp/trl-script-0123456789abcdef',
  });
  const box = planBox(usual);
  const { cwd, box: changed } = scriptLocation(box, id, '/tmp/.script');
  assert.equal(cwd, '/tmp/.script/0123456789abcdef');
  const mounts = '--perms 0700 --size 2147483648 --tmpfs /tmp/.script --perms 0700 --dir'.split(
    ' ',
  );
  assert.deepEqual(changed, { ...box, args: [...box.args, ...mounts, cwd] });
});
