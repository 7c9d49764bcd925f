// The tag of a value: the same in every run of one user, and of no use to anybody else.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { spawnSync } from 'node:child_process';
import { chmodSync, lstatSync, mkdirSync, mkdtempSync, readFileSync } from 'node:fs';
import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { whyNoBox } from './support/box.ts';
import { startRuntime, surroundings, type Daemon } from './support/daemon.ts';
import { openSession } from './support/session.ts';

const trl = path.join(path.dirname(import.meta.dirname), 'trl');
const base = mkdtempSync(path.join(tmpdir(), 'trl-tags-'));
after(() => rmSync(base, { recursive: true, force: true }));
const skip = whyNoBox;

const known = 'c0rrect-horse-Battery-tags';
const found = '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';
const env = { DEPLOY_TOKEN: known };
const show = `echo "$DEPLOY_TOKEN"; echo ${found}`;

/** A home of one user. */
function homeOf(user: string): string {
  const home = path.join(base, user);
  mkdirSync(path.join(home, 'work'), { recursive: true });
  return home;
}

function tagsIn(text: string): readonly string[] {
  const tags = text.match(/\[HIDDEN:[0-9a-f]+\]/g) ?? [];
  assert.equal(tags.length, 2, text);
  assert.ok(!text.includes(known) && !text.includes(found), text);
  return tags;
}

function run(home: string, args: readonly string[], input?: string): string {
  const { stdout, stderr, status } = spawnSync(trl, args, {
    cwd: path.join(home, 'work'),
    env: { ...process.env, ...surroundings(home), HOME: home, ...env },
    encoding: 'utf8',
    timeout: 240_000,
    ...(input === undefined ? {} : { input }),
  });
  assert.equal(status, 0, stderr);
  return stdout;
}

const privately = (home: string): readonly string[] =>
  tagsIn(run(home, ['run', '--private', '--env-key', 'DEPLOY_TOKEN', show]));

async function shared(daemon: Daemon): Promise<readonly string[]> {
  await using session = await openSession(daemon.socketPath, { working_dir: daemon.root });
  const { stdout } = await session.run(show, { env_keys: ['DEPLOY_TOKEN'] });
  return tagsIn(stdout);
}

const keyOf = (home: string): string => {
  const { XDG_STATE_HOME: state = '' } = surroundings(home);
  return path.join(state, 'trl', 'redaction.key');
};

describe('the tag of a value', { skip }, () => {
  test('is the same in a shared runtime, after a restart, privately and as a filter', async () => {
    const home = homeOf('one');
    // A private run may be the first of all.
    const first = privately(home);
    assert.deepEqual(privately(home), first);
    const two = homeOf('two');
    const before = await startRuntime({ home: two, env });
    const running = await shared(before);
    assert.deepEqual(privately(two), running);
    await before.kill('SIGTERM');
    await using again = await startRuntime({ home: two, env });
    assert.deepEqual(await shared(again), running);
    assert.deepEqual(privately(two), running);
    const knownFile = path.join(home, 'known');
    const line = JSON.stringify({ name: 'DEPLOY_TOKEN', value: known });
    writeFileSync(knownFile, line, { mode: 0o600 });
    const filtered = run(home, ['redact', '--known', knownFile], `${known}\n${found}\n`);
    assert.deepEqual(tagsIn(filtered), first);
    mkdirSync(path.join(home, '.cursor'));
    const other = { mcpServers: { x: { command: 'x', env: { GITHUB_TOKEN: found } } } };
    writeFileSync(path.join(home, '.cursor/mcp.json'), JSON.stringify(other));
    const diff = run(home, ['mcp', 'install', '--client', 'cursor', '--dry-run']);
    assert.deepEqual(tagsIn(diff), [first[1], first[1]]);
    // Another user has another key, and nobody can see by tags that the values are the same.
    for (const [at, tag] of running.entries()) assert.notEqual(tag, first[at]);
  });

  test('needs a key that nobody else reads, without which it says nothing', () => {
    const home = homeOf('keyed');
    const tags = privately(home);
    const file = keyOf(home);
    const { mode, size } = lstatSync(file);
    assert.deepEqual([mode & 0o777, size], [0o600, 32]);
    // Whoever has tags alone tries what they like: without the key no digest begins with them.
    const macs = [Buffer.alloc(32), Buffer.from('trl redaction tag v1\n'), readFileSync(file)].map(
      (key) => createHmac('sha256', key).update('trl redaction tag v1\n').update(known),
    );
    const begin = macs.map((mac) => `[HIDDEN:${mac.digest('hex').slice(0, 6)}]`);
    assert.deepEqual(
      begin.map((tag) => tags.includes(tag)),
      [false, false, true],
    );
    const shown = run(home, ['audit', 'log', '--json']);
    assert.ok(!shown.includes(readFileSync(file).toString('hex')));
  });

  test('is never made under a key that others may read', () => {
    const home = homeOf('open');
    privately(home);
    chmodSync(keyOf(home), 0o644);
    const { status, stderr } = spawnSync(trl, ['run', '--private', 'true'], {
      cwd: path.join(home, 'work'),
      env: { ...process.env, ...surroundings(home) },
      encoding: 'utf8',
    });
    assert.equal(status, 125, stderr);
    assert.match(stderr, /redaction\.key.* is open to others/);
  });
});
