import assert from 'node:assert/strict';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  renameSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import type { SandboxNamespace } from '../src/command.ts';
import { isTrlError } from '../src/errors.ts';
import { findMisplacedMount } from '../src/runner/mount-check.ts';
import { openNamespace } from '../src/runner/namespace.ts';
import { hostMounts, openBox, runIn, temporary, whyNoBox } from './support/box.ts';
import { eventually } from './support/processes.ts';

const sandboxed = { skip: whyNoBox };

const descriptors = (): number => readdirSync('/proc/self/fd').length;
const linkOf = (fd: string): string => {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return '';
  }
};
/** Descendants of this process that still run. */
function children(pid = process.pid): string[] {
  const names = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return names.filter((name) => parentOf(name) === pid);
}

/** Of a process that still runs. */
function parentOf(pid: string): number | null {
  try {
    const [, state, parent] =
      /^\d+ \(.*\) (\S) (\d+) /s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
    return state === 'Z' ? null : Number(parent);
  } catch {
    return null;
  }
}

async function holderOf(root: string): Promise<SandboxNamespace> {
  await using box = await openBox({ root });
  return box.box.holder;
}

test('an open holder is a few descriptors and no process', sandboxed, async () => {
  using ws = temporary();
  const holder = await holderOf(ws.path);
  const before = { mounts: hostMounts(ws.path), children: children() };
  const namespaces = (): number =>
    readdirSync('/proc/self/fd').filter((fd) => /^(?:user|mnt|net):/.test(linkOf(fd))).length;
  const open = await openNamespace(holder);
  await open.bounded;
  assert.equal(namespaces(), 3);
  assert.deepEqual({ mounts: hostMounts(ws.path), children: children() }, before);
  open.close();
  open.close();
  assert.equal(namespaces(), 0);
});

test('a holder that cannot be made says why and leaves nothing', sandboxed, async () => {
  using ws = temporary();
  const holder = await holderOf(ws.path);
  const [before, left] = [descriptors(), { mounts: hostMounts(ws.path), children: children() }];
  const staged = holder.staged.map((tree) => ({ ...tree, source: '/nowhere/at/all' }));
  const wrong: [Partial<SandboxNamespace>, RegExp][] = [
    [{ args: [...holder.args, '--bind', '/nowhere', '/x'] }, /nowhere/],
    [{ args: [...holder.args, '--no-such-option'] }, /Unknown option/],
    [{ tools: { ...holder.tools, bwrap: '/nowhere/bwrap', perl: null }, level: 'user' }, /ENOENT/],
    [{ tools: { ...holder.tools, bwrap: '/bin/false' } }, /before it was ready|exec/],
    ...(staged.length > 0
      ? [[{ staged }, /open \/nowhere/] satisfies [Partial<SandboxNamespace>, RegExp]]
      : []),
  ];
  for (const [change, text] of wrong) {
    const refused = (error: unknown): boolean =>
      isTrlError(error, 'SANDBOX_UNAVAILABLE') &&
      error.message.startsWith('Cannot make the sandbox') &&
      text.test(error.message);
    await assert.rejects(openNamespace({ ...holder, ...change }), refused, String(text));
  }
  assert.deepEqual({ mounts: hostMounts(ws.path), children: children() }, left);
  // Pipes of the helpers close a turn later.
  await new Promise((resolve) => setImmediate(resolve));
  assert.ok(descriptors() <= before);
});

test('a file system that refuses idmapped mounts is told apart', sandboxed, async (t) => {
  using ws = temporary();
  const holder = await holderOf(ws.path);
  if (holder.level !== 'root-idmap') {
    t.skip('needs root');
    return;
  }
  const staged = holder.staged.map((tree) => ({ ...tree, source: '/proc', writable: true }));
  const isIdmap = (error: unknown): boolean =>
    isTrlError(error, 'SANDBOX_UNAVAILABLE') && error.data?.['reason'] === 'idmap';
  await assert.rejects(openNamespace({ ...holder, staged }), isIdmap);
});

test('opening a holder can be given up', sandboxed, async () => {
  using ws = temporary();
  const holder = await holderOf(ws.path);
  const before = children();
  const abort = new AbortController();
  const opening = openNamespace(holder, abort.signal);
  abort.abort(new Error('enough'));
  await assert.rejects(opening, /enough/);
  assert.deepEqual(children(), before);
  await assert.rejects(openNamespace(holder, AbortSignal.abort(new Error('never'))), /never/);
});

test('what a holder started ends with it when it is given up', sandboxed, async () => {
  using ws = temporary();
  const holder = await holderOf(ws.path);
  // As bubblewrap a moment after its start: its child waits for it, with all its pipes.
  const [bwrap, started] = [path.join(ws.path, 'bwrap'), path.join(ws.path, 'started')];
  writeFileSync(
    bwrap,
    `#!/bin/sh\nsleep 300 & echo $! >${started}.new\nmv ${started}.new ${started}\nwait\n`,
  );
  chmodSync(bwrap, 0o755);
  const abort = new AbortController();
  const tools = { ...holder.tools, bwrap };
  const opening = openNamespace({ ...holder, tools, level: 'user', overlay: null }, abort.signal);
  await eventually('the child', () => existsSync(started));
  const child = readFileSync(started, 'utf8').trim();
  abort.abort(new Error('enough'));
  await assert.rejects(opening, /enough/);
  await eventually('its end', () => parentOf(child) === null);
});

test('commands of one holder run at once and share its loopback', sandboxed, async () => {
  using ws = temporary();
  await using box = await openBox({ root: ws.path });
  const holder = await openNamespace(box.box.holder);
  await holder.bounded;
  try {
    const server = runIn(
      holder,
      box.box,
      `perl -MIO::Socket::INET -e '
      my $l = IO::Socket::INET->new(LocalAddr => "127.0.0.1:4077", Listen => 1) or die $!;
      open my $f, ">", "${ws.path}/up"; close $f; my $c = $l->accept; print $c "hello\\n"'`,
    );
    const client = runIn(
      holder,
      box.box,
      `
      for i in $(seq 200); do [ -e ${ws.path}/up ] && break; sleep 0.05; done
      exec 3<>/dev/tcp/127.0.0.1/4077 && cat <&3`,
    );
    assert.deepEqual([(await server).code, (await client).stdout], [0, 'hello\n']);
  } finally {
    holder.close();
  }
});

const info = (lines: readonly string[]): string =>
  lines.map((line, index) => `${index + 1} 1 ${line} rw - ext4 /dev/vda rw`).join('\n');

test('a mount that was led elsewhere by a link is found', () => {
  const args = [
    ['--ro-bind', '/usr', '/usr'],
    ['--bind', '/h/w s', '/h/w s'],
    ['--ro-bind', '/h/w s/.git/hooks', '/h/w s/.git/hooks'],
    ['--ro-bind', '/dev/null', '/h/w s/k'],
  ].flat();
  const usr = '254:0 /usr /usr';
  const ws = String.raw`254:0 /data/w\040s /h/w\040s`;
  const hidden = String.raw`0:5 /null /h/w\040s/k`;
  const hooks = (root: string, device = '254:0'): string =>
    `${device} ${root} ${String.raw`/h/w\040s/.git/hooks`}`;
  const right = hooks(String.raw`/data/w\040s/.git/hooks`);
  const check = (lines: readonly string[]): string | null => findMisplacedMount(args, info(lines));
  assert.equal(check([usr, ws, right, hidden]), null);
  assert.equal(check([usr, ws, hooks('/home/u/.ssh'), hidden]), '/h/w s/.git/hooks');
  assert.equal(
    check([usr, ws, hooks(String.raw`/data/w\040s/.git/hooks`, '0:9'), hidden]),
    '/h/w s/.git/hooks',
  );
  assert.equal(check([usr, ws, right]), '/h/w s/k');
  // A pin, or a mount of the host inside the workspace, is what the next one lies on.
  const pin = String.raw`254:0 /data/w\040s/.git /h/w\040s/.git`;
  assert.equal(check([usr, ws, pin, right, hidden]), null);
  const submount = String.raw`0:77 / /h/w\040s/.git`;
  assert.equal(check([usr, ws, submount, hooks('/hooks', '0:77'), hidden]), null);
});

test('a tree shown below a hidden directory is compared with what that hides', () => {
  const hide = ['--tmpfs', '/w/conf'];
  const args = ['--bind', '/w', '/w', ...hide, '--ro-bind', '/w/conf/pub', '/w/conf/pub'];
  const check = (...lines: string[]): string | null => findMisplacedMount(args, info(lines));
  const [ws, hidden] = ['254:0 /d /w', '0:9 / /w/conf'];
  assert.equal(check(ws, hidden, '254:0 /d/conf/pub /w/conf/pub'), null);
  assert.equal(check(ws, hidden, '254:0 /etc /w/conf/pub'), '/w/conf/pub');
  assert.equal(check(ws, hidden, '0:9 /pub /w/conf/pub'), '/w/conf/pub');
  assert.equal(check(ws, '0:7 / /w/conf', hidden, '0:7 /pub /w/conf/pub'), null);
});

test(
  'a link in place of what is shown below a hidden directory is refused',
  sandboxed,
  async () => {
    using ws = temporary();
    using secret = temporary();
    const pub = path.join(ws.path, 'conf/pub');
    mkdirSync(pub, { recursive: true });
    for (const write of [[], ['conf/pub']]) {
      const read = { deny: ['conf'], allow: ['conf/pub'] };
      const box = await openBox({ root: ws.path, read, write: { allow: write } });
      await box[Symbol.asyncDispose]();
      renameSync(pub, `${pub}2`);
      symlinkSync(secret.path, pub);
      const refused = (error: unknown): boolean => isTrlError(error, 'SANDBOX_UNAVAILABLE');
      await assert.rejects(openNamespace(box.box.holder), refused);
      unlinkSync(pub);
      renameSync(`${pub}2`, pub);
    }
  },
);

test('a link put in the way while a holder is made is refused', sandboxed, async () => {
  using ws = temporary();
  using secret = temporary();
  mkdirSync(path.join(ws.path, '.vscode'));
  const holder = await holderOf(ws.path);
  renameSync(path.join(ws.path, '.vscode'), path.join(ws.path, 'v2'));
  symlinkSync(secret.path, path.join(ws.path, '.vscode'));
  await assert.rejects(openNamespace(holder), (error) => isTrlError(error, 'SANDBOX_UNAVAILABLE'));
});
