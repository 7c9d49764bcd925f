// What the specification of the command runner asks for, one test each, through a real daemon.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { createPublicKey, verify } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { auditDirectory, auditEvents } from './support/audit-daemon.ts';
import { noOverlay } from './support/changes.ts';
import { raw, surroundings, startRuntime, type Daemon, type Json } from './support/daemon.ts';
import { layBait } from './support/host.ts';
import { plan, write } from './support/publication.ts';
import { openSession, type TestSession } from './support/session.ts';

const trl = path.join(path.dirname(import.meta.dirname), 'trl');
const skip = noOverlay();
/** Looks like a secret, and is known to nobody: callers do not see it, an auditor may. */
const likely = 'tok_7Wm3xQ9vLp5RtY2zKb8N';

const workspaces = [
  'virtual',
  'snapshots',
  'changes',
  'provenance',
  'raw',
  'network',
  'publication',
  'unversioned',
] as const;

let daemon: Daemon;
before(async () => {
  daemon = await startRuntime({
    // Each is a root of its own, so that each can be opened as a workspace.
    args: ['serve', '--socket-path', '{socket}'].concat(
      workspaces.flatMap((name) => ['--workspace-root', `{root}/${name}`]),
    ),
    prepare: (home) => {
      for (const name of workspaces) mkdirSync(path.join(home, 'work', name));
      const recipient = audit(home, 'keygen', '--out', path.join(home, 'auditor.txt')).stdout;
      const config = `audit:\n  recipients: ["${recipient.trim()}"]\n`;
      write(path.join(home, 'config/trl'), { 'config.yaml': config });
      return {};
    },
  });
});
after(() => daemon.stop());

function audit(home: string, ...args: readonly string[]) {
  const env = { ...process.env, ...surroundings(home) };
  return spawnSync(trl, ['audit', ...args], { env, cwd: home, encoding: 'utf8', timeout: 120_000 });
}

/** A workspace of its own, with what its commands must not see. */
async function workspace(
  name: (typeof workspaces)[number],
  files: Readonly<Record<string, string>>,
  params: object = {},
): Promise<{ dir: string; session: TestSession }> {
  const dir = path.join(daemon.root, name);
  write(dir, files);
  using client = await raw(daemon.socketPath);
  const policy = { read: { deny: ['private/**'] } };
  const opened = await client.ask('workspace.open', { path: dir, policy, ...params });
  assert.equal(opened.ok, true, JSON.stringify(opened));
  const session = await openSession(daemon.socketPath, { workspace_id: opened.data.workspace_id });
  return { dir, session };
}

/** Names, modes and contents of everything below a directory. */
const treeOf = (dir: string): string =>
  execFileSync(
    'sh',
    [
      '-c',
      String.raw`find . -printf '%P %y %m %l\n' | sort; find . -type f -exec sha256sum {} + | sort`,
    ],
    { cwd: dir, encoding: 'utf8' },
  );

/** What is committed counts as known; what lies beside it does not. */
function commitAll(dir: string): void {
  const git = (...args: string[]): Buffer => execFileSync('git', args, { cwd: dir });
  git('init', '-q');
  git('add', 'readme.txt');
  git('-c', 'user.name=a', '-c', 'user.email=a@example.com', 'commit', '-q', '-m', 'begin');
}

const brief = ({ changes }: Json): string[] =>
  changes.map(({ path: name, kind, state }: Json) => `${kind} ${name} ${state}`).toSorted();

test('commands run in a virtual workspace', { skip }, async () => {
  const files = { 'private/plan.md': plan, 'a.txt': 'a\n', 'gone.txt': 'x\n' };
  const { dir, session } = await workspace('virtual', files, { mode: 'staged' });
  const before = treeOf(dir);
  const seen = await session.run('ls -A; cat private/plan.md; test -e private || echo absent');
  assert.equal(seen.stdout, 'a.txt\ngone.txt\nabsent\n');
  assert.match(seen.stderr, /No such file/);
  const receipt = await session.run(
    'echo b >a.txt; rm gone.txt; mkdir -p private && echo mine >private/plan.md; ls -A; cat a.txt',
  );
  assert.equal(receipt.stdout, 'a.txt\nprivate\nb\n');
  assert.equal(treeOf(dir), before, 'nothing reached the real tree');
  await session.destroy();
  assert.equal(treeOf(dir), before);
});

test('there is a snapshot before and after, and the one before is restored', { skip }, async () => {
  const files = { 'src/a.txt': 'a\n', 'src/b.txt': 'b\n', 'run.sh': '#!/bin/sh\n' };
  const { dir, session } = await workspace('snapshots', files);
  execFileSync('chmod', ['755', path.join(dir, 'run.sh')]);
  const before = treeOf(dir);
  const first = await session.run('echo more >>src/a.txt; rm src/b.txt; chmod 600 run.sh');
  const second = await session.run('ln -s a.txt src/link; mkdir new; echo n >new/n');
  for (const { snapshot } of [first, second]) {
    assert.match(snapshot.before, /^tree:sha256:[0-9a-f]{64}$/);
    assert.match(snapshot.after, /^tree:sha256:[0-9a-f]{64}$/);
    assert.notEqual(snapshot.before, snapshot.after);
  }
  assert.equal(second.snapshot.before, first.snapshot.after);
  assert.notEqual(treeOf(dir), before);
  const ask = (id: string) => session.client.ask('snapshot.restore', { id });
  const restored = await ask(first.snapshot.before);
  assert.equal(restored.ok, true, JSON.stringify(restored));
  assert.deepEqual([restored.data.conflicts, restored.data.impossible], [[], []]);
  assert.equal(treeOf(dir), before);
  await session.destroy();
});

test('changed files are found, whatever git ignores', { skip }, async () => {
  const { dir, session } = await workspace('changes', {
    '.gitignore': 'build/\n*.log\n',
    'build/old.o': 'o\n',
    'src/kept.txt': 'k\n',
    'src/gone.txt': 'g\n',
    'tool.sh': '#!/bin/sh\n',
  });
  execFileSync('git', ['init', '-q', dir]);
  const receipt = await session.run(
    'echo n >build/new.o; echo l >x.log; rm src/gone.txt; chmod +x tool.sh; touch src/kept.txt; ' +
      'rm build/old.o; echo k >>src/kept.txt; printf x >s; mv s src/moved',
  );
  assert.deepEqual(brief(receipt), [
    'added build/new.o applied',
    'added src/moved applied',
    'added x.log applied',
    'deleted build/old.o applied',
    'deleted src/gone.txt applied',
    'mode tool.sh applied',
    'modified src/kept.txt applied',
  ]);
  assert.deepEqual([receipt.changes_omitted, receipt.exit_code], [0, 0]);
  const idle = await session.run('cat src/kept.txt; cp src/kept.txt /tmp/elsewhere');
  assert.deepEqual(idle.changes, []);
  await session.destroy();
});

test('the provenance of a command is recorded and signed', { skip }, async () => {
  const { session } = await workspace('provenance', { 'private/plan.md': plan, 'in.txt': 'i\n' });
  const receipt = await session.run('sed s/i/o/ in.txt >out.txt; cp out.txt second.txt');
  const event = auditEvents(daemon.home).find(
    ({ kind, exec }) => kind === 'exec.statement' && exec === receipt.exec_id,
  );
  const envelope: Json = event?.data['envelope'];
  const payload = Buffer.from(envelope.payload, 'base64');
  const key = createPublicKey(readFileSync(path.join(auditDirectory(daemon.home), 'key.pub')));
  const type: string = envelope.payloadType;
  const head = `DSSEv1 ${Buffer.byteLength(type)} ${type} ${payload.length} `;
  const sig = Buffer.from(envelope.signatures[0].sig, 'base64');
  const isSigned = (text: string): boolean =>
    verify(null, Buffer.concat([Buffer.from(head), Buffer.from(text)]), key, sig);
  assert.equal(isSigned(payload.toString()), true);
  assert.equal(isSigned(payload.toString().replace('in.txt', 'an.txt')), false);

  const { subject, predicate }: Json = JSON.parse(payload.toString());
  const after = new Map(receipt.changes.map((one: Json) => [one.path, one.after.sha256]));
  const named = subject.map(({ name, digest }: Json) => [name, digest.sha256]);
  assert.deepEqual(new Map(named), after);
  assert.deepEqual(new Set(after.keys()), new Set(['out.txt', 'second.txt']));
  assert.equal(predicate.exec_id, receipt.exec_id);
  assert.equal(predicate.plan_digest, receipt.plan_digest);
  assert.equal(predicate.projection.tree, receipt.snapshot.before);
  assert.match(predicate.projection.mask, /^[0-9a-f]{64}$/);
  assert.equal(predicate.materials[0].name, 'projection');
  assert.deepEqual([predicate.reads, predicate.reads_complete], ['projection', true]);
  assert.match(predicate.reads_about, /upper bound/);
  await session.destroy();
});

test('raw logs stay out of every projection and answer', { skip }, async () => {
  const { dir, session } = await workspace('raw', { 'a.txt': 'a\n' });
  // In two parts, so that it is in the output and nowhere else.
  const [head, tail] = [likely.slice(0, 12), likely.slice(12)];
  const receipt = await session.run(
    `printf 'token=%s%s\\n' ${head} ${tail}; head -c 3000 /dev/urandom | base64`,
  );
  const id: string = receipt.exec_id;
  const place = path.join(auditDirectory(daemon.home), 'raw');
  const sealed = path.join(place, `${id}.log`);
  assert.equal(existsSync(sealed), true);
  assert.equal(readFileSync(sealed).includes(likely), false);
  assert.equal(receipt.stdout.includes(likely), false);

  // Neither by its path nor by its name; what has no sandbox sees it, and reads nothing in it.
  const look = `ls ${place}; cat ${sealed}; find / -xdev -name '${id}*' 2>/dev/null; echo end`;
  assert.equal((await session.run(look)).stdout, 'end\n');
  const state = path.join(daemon.home, 'state');
  assert.equal((await session.run(`test -e ${state} && ls ${state}; echo end`)).stdout, 'end\n');
  await using open = await openSession(daemon.socketPath, { sandbox: 'none', working_dir: dir });
  assert.match((await open.run(`ls ${place}`)).stdout, new RegExp(`${id}\\.log`));
  await open.run(`cp ${sealed} stolen.bin; base64 ${sealed} >stolen.txt`);

  using other = await raw(daemon.socketPath);
  const publish = (method: string, params: object) => other.ask(method, { path: dir, ...params });
  const outside = await publish('publish', { kind: 'paths', paths: [sealed] });
  assert.equal(outside.ok, false);
  for (const name of ['stolen.bin', 'stolen.txt']) {
    const refused = await publish('publish', { kind: 'paths', paths: [name] });
    assert.equal(refused.error?.code, 'PUBLICATION_BLOCKED', `${name}: ${JSON.stringify(refused)}`);
  }
  for (const [method, params] of [
    ['exec.info', { exec_id: id }],
    ['exec.read', { exec_id: id, from: 0 }],
    ['exec.list', {}],
    ['audit.list', { session_id: session.id }],
    ['snapshot.get', { exec_id: id }],
    ['workspace.diff', { session_id: session.id }],
  ] as const) {
    await other.ask(method, params);
  }
  for (const client of [session.client, open.client, other]) {
    assert.equal(client.received().includes(likely), false);
  }

  const identity = path.join(daemon.home, 'auditor.txt');
  const stranger = path.join(daemon.home, 'stranger.txt');
  audit(daemon.home, 'keygen', '--out', stranger);
  const refused = audit(daemon.home, 'reveal', id, '--identity', stranger);
  assert.deepEqual([refused.stdout, refused.status], ['', 125]);
  const shown = audit(daemon.home, 'reveal', id, '--identity', identity);
  assert.match(shown.stdout, new RegExp(likely), shown.stderr);
  await session.destroy();
});

test('the network is denied unless it is granted', { skip }, async (t) => {
  const bait = await layBait(path.join(daemon.home, 'bait'));
  t.after(() => bait[Symbol.asyncDispose]());
  const { dir, session } = await workspace('network', {});
  const { PORT = '', SOCK = '', REQLOG = '' } = bait.names;
  const knock = (name: string): string =>
    `exec 3<>/dev/tcp/127.0.0.1/${PORT} && echo GET-${name} >&3 && timeout 5 head -n 1 <&3`;
  const receipt = await session.run(knock('inside'));
  assert.notEqual(receipt.exit_code, 0);
  assert.equal(receipt.sandbox.network, 'off');
  // An address of the documentation: it answers nobody, and is refused at once here.
  const away = await session.run('timeout 5 bash -c "exec 3<>/dev/tcp/192.0.2.1/80"');
  assert.match(away.stderr, /unreachable/i);
  const named = await session.run('getent hosts example.com');
  assert.notEqual(named.exit_code, 0);
  const socket = `perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Peer=>"${SOCK}") or die $!'`;
  assert.notEqual((await session.run(socket)).exit_code, 0);
  await using open = await openSession(daemon.socketPath, { sandbox: 'none', working_dir: dir });
  assert.equal((await open.run(knock('outside'))).stdout.trim(), 'HTTP/1.0 200 OK');
  const heard = readFileSync(REQLOG, 'utf8');
  assert.deepEqual([heard.includes('inside'), heard.includes('outside')], [false, true]);
  await session.destroy();
});

test('output that tells denied content is not published', { skip }, async () => {
  const files = { 'private/plan.md': plan, 'readme.txt': 'nothing to see here\n' };
  const { dir, session } = await workspace('publication', files);
  commitAll(dir);
  // Somebody copied it before: commands see the copy, and what it tells is denied all the same.
  writeFileSync(path.join(dir, 'notes.txt'), `notes\n\n${plan}`);
  const leaky = await session.run('echo build ok; cat notes.txt');
  assert.equal(leaky.exit_code, 0);
  const clean = await session.run('echo build ok; head -n 1 notes.txt');
  assert.equal(clean.stdout, 'build ok\nnotes\n');
  using client = await raw(daemon.socketPath);
  const of = (id: string) => ({ kind: 'exec', exec_id: id, output: true, path: dir });
  const checked = await client.ask('publish.check', of(leaky.exec_id));
  assert.equal(checked.data?.decision, 'block', JSON.stringify(checked));
  const [finding] = checked.data.findings;
  assert.deepEqual([finding.rule, finding.item], ['denied.content', 'stdout']);
  const refused = await client.ask('publish', of(leaky.exec_id));
  assert.equal(refused.error?.code, 'PUBLICATION_BLOCKED', JSON.stringify(refused));
  assert.equal(refused.data.trace, finding.trace);
  assert.equal(JSON.stringify([checked, refused]).includes('Kestrel'), false);
  const passed = await client.ask('publish', of(clean.exec_id));
  assert.equal(passed.ok, true, JSON.stringify(passed));
  await session.destroy();
});

const todo = 'without a repository all that is visible counts as known to the audience';
test('nor from a copy in a workspace without a repository', { skip, todo }, async () => {
  const files = { 'private/plan.md': plan, 'notes.txt': `notes\n\n${plan}` };
  const { dir, session } = await workspace('unversioned', files);
  const { exec_id: id } = await session.run('cat notes.txt');
  using client = await raw(daemon.socketPath);
  const asked = { kind: 'exec', exec_id: id, output: true, path: dir };
  const checked = await client.ask('publish.check', asked);
  await session.destroy();
  assert.equal(checked.data?.decision, 'block', JSON.stringify(checked));
});
