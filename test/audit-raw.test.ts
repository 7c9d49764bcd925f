// `trl audit keygen|reveal|shred` on output that a daemon sealed.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, statSync } from 'node:fs';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { auditDirectory, auditEvents } from './support/audit-daemon.ts';
import { startRuntime, surroundings, type Daemon } from './support/daemon.ts';
import { openSession } from './support/session.ts';

const trl = path.join(path.dirname(import.meta.dirname), 'trl');
const secret = 'c0rrect-horse-Battery';
/** Looks drawn at random, and is known to nobody. */
const likely = 'tok_9fK2xQ7vLm4RtY8zWb3N';

let daemon: Daemon;
before(async () => {
  daemon = await startRuntime({
    env: { DEPLOY_TOKEN: secret },
    prepare: (home) => {
      const identity = path.join(home, 'auditor.txt');
      const recipient = runIn(home, 'keygen', '--out', identity).stdout.trim();
      const config = path.join(surroundings(home)['XDG_CONFIG_HOME'] ?? '', 'trl');
      mkdirSync(config, { recursive: true });
      writeFileSync(path.join(config, 'config.yaml'), `audit:\n  recipients: ["${recipient}"]\n`);
      return {};
    },
  });
});
after(() => daemon.stop());

function runIn(home: string, ...args: string[]) {
  const env = { ...process.env, ...surroundings(home) };
  const options = { env, cwd: home, encoding: 'utf8', timeout: 120_000 } as const;
  const { status, stdout, stderr } = spawnSync(trl, ['audit', ...args], options);
  return { status, stdout, stderr };
}
const run = (...args: string[]) => runIn(daemon.home, ...args);
const identity = (): string => path.join(daemon.home, 'auditor.txt');
const rawDirectory = (): string => path.join(auditDirectory(daemon.home), 'raw');
const revealed = (exec: string) =>
  auditEvents(daemon.home).filter((one) => one.exec === exec && one.kind === 'raw-log.revealed');

async function printed(command: string) {
  await using session = await openSession(daemon.socketPath, { working_dir: daemon.root });
  return await session.run(command, { env_keys: ['DEPLOY_TOKEN'] });
}

test('a key is made once, and its secret half is for its owner alone', () => {
  assert.equal(statSync(identity()).mode & 0o777, 0o600);
  const before = readFileSync(identity(), 'utf8');
  assert.match(before, /^AGE-SECRET-KEY-1/m);
  const again = run('keygen', '--out', identity());
  assert.equal(again.status, 125);
  assert.equal(readFileSync(identity(), 'utf8'), before);
  assert.doesNotMatch(`${again.stdout}${again.stderr}`, /AGE-SECRET/);
  assert.equal(run('keygen').status, 125);
});

test('the auditor sees what was hidden, not what is known, and it is told', async () => {
  const receipt = await printed(`echo "token=${likely} $DEPLOY_TOKEN"; echo err >&2`);
  assert.ok(!receipt.stdout.includes(likely));
  assert.equal(revealed(receipt.exec_id).length, 0);
  const shown = run('reveal', receipt.exec_id, '--identity', identity());
  assert.equal(shown.status, 0, shown.stderr);
  assert.ok(shown.stdout.includes(likely), shown.stdout);
  assert.ok(!shown.stdout.includes(secret));
  assert.match(shown.stderr, /err\n/);
  const [event, ...more] = revealed(receipt.exec_id);
  assert.equal(more.length, 0);
  assert.equal(event?.data['as_recorded'], true);
  assert.match(String(event?.actor), /^uid:\d+$/);
  const lines = run('reveal', receipt.exec_id, '--identity', identity(), '--json').stdout;
  const pieces = lines.trim().split('\n');
  const bytes = pieces.map((line) => Buffer.from(JSON.parse(line).data_b64, 'base64').toString());
  assert.ok(bytes.join('').includes(likely));
});

test('nobody without the identity reveals, and that they tried shows nothing', async () => {
  const { exec_id: exec } = await printed('echo sealed');
  const other = path.join(daemon.home, 'other.txt');
  assert.equal(run('keygen', '--out', other).status, 0);
  const wrong = run('reveal', exec, '--identity', other);
  assert.equal(wrong.status, 125);
  assert.equal(wrong.stdout, '');
  assert.equal(run('reveal', exec).status, 125);
  assert.equal(run('reveal', exec, '--identity', '/nowhere').status, 125);
  assert.equal(run('reveal', 'x-00', '--identity', identity()).status, 125);
  assert.equal(revealed(exec).length, 0);
});

test('what cannot be recorded is not shown, and not shredded', async (t) => {
  const { exec_id: exec } = await printed('echo kept');
  const logs = path.join(auditDirectory(daemon.home), 'logs');
  const aside = `${logs}.aside`;
  renameSync(logs, aside);
  writeFileSync(logs, 'not a directory');
  t.after(() => {
    if (existsSync(aside)) renameSync(aside, logs);
  });
  for (const args of [
    ['reveal', exec, '--identity', identity()],
    ['shred', exec],
  ]) {
    const { status, stdout } = run(...args);
    assert.equal(status, 125, args.join(' '));
    assert.equal(stdout, '');
  }
  assert.ok(existsSync(path.join(rawDirectory(), `${exec}.key`)));
  renameSync(logs, `${logs}.file`);
  renameSync(aside, logs);
  assert.match(run('reveal', exec, '--identity', identity()).stdout, /kept/);
});

test('another output under the name of a command is told apart', async () => {
  const [one, two] = [await printed('echo one'), await printed('echo two')];
  const base = (exec: string): string => path.join(rawDirectory(), exec);
  chmodSync(`${base(one.exec_id)}.log`, 0o600);
  const sealed = readFileSync(`${base(one.exec_id)}.log`);
  // The log of the other command does not open under this name.
  writeFileSync(`${base(one.exec_id)}.log`, readFileSync(`${base(two.exec_id)}.log`));
  const swapped = run('reveal', one.exec_id, '--identity', identity());
  assert.notEqual(swapped.status, 0);
  assert.equal(swapped.stdout, '');
  // Nor does one that was changed, or cut, count as good.
  writeFileSync(`${base(one.exec_id)}.log`, Buffer.concat([sealed, Buffer.from('more')]));
  const longer = run('reveal', one.exec_id, '--identity', identity());
  assert.notEqual(longer.status, 0);
  writeFileSync(`${base(one.exec_id)}.log`, sealed);
  assert.equal(run('reveal', one.exec_id, '--identity', identity()).status, 0);
});

test('a key is shredded though the sealed file was taken elsewhere', async () => {
  const { exec_id: exec } = await printed('echo moved');
  const [log, key] = ['log', 'key'].map((end) => path.join(rawDirectory(), `${exec}.${end}`));
  renameSync(log ?? '', `${log}.away`);
  assert.equal(run('shred', exec).status, 0);
  assert.equal(existsSync(key ?? ''), false);
  renameSync(`${log}.away`, log ?? '');
  assert.notEqual(run('reveal', exec, '--identity', identity()).status, 0);
});

test('what was shredded is gone for everybody, and the log says so', async () => {
  const { exec_id: exec } = await printed('echo gone');
  assert.equal(run('shred', exec).status, 0);
  assert.ok(!existsSync(path.join(rawDirectory(), `${exec}.key`)));
  const { status, stdout, stderr } = run('reveal', exec, '--identity', identity());
  assert.equal(status, 125);
  assert.equal(stdout, '');
  assert.match(stderr, /destroyed/);
  const kinds = auditEvents(daemon.home).filter((one) => one.exec === exec);
  assert.equal(kinds.at(-1)?.kind, 'raw-log.shredded');
  const again = run('shred', exec, '--json');
  assert.equal(again.status, 1);
  assert.deepEqual(JSON.parse(again.stdout), { shredded: [{ exec_id: exec, shredded: false }] });
  assert.equal(run('verify').status, 0, 'the log does not need the key');
});
