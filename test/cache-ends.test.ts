// What is private in the caches of HOME ends, and nobody loses them under a command.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { CacheLocks } from '../src/host/cache-directories.ts';
import { LocalHomeCaches } from '../src/host/home-caches.ts';
import { sessionCacheId } from '../src/session/cache.ts';
import type { SessionRecord } from '../src/session/record.ts';

const hour = 3_600_000;
const record: SessionRecord = {
  id: 's-1',
  name: null,
  shellAsked: '/bin/sh',
  shell: { path: '/bin/sh', dialect: 'posix' },
  substituted: false,
  workspace: '/srv/project',
  cwd: '/srv/project',
  grants: {
    files: { read: { allow: [], deny: [] }, write: { allow: [], deny: [] } },
    network: 'off',
    sandbox: 'bubblewrap',
  },
  bounds: {},
  carry: 'none',
  envKeys: [],
  createdAt: 0,
  lastActivity: 0,
  commandCount: 0,
  assurance: null,
  policy: null,
};
const id = sessionCacheId(record) ?? '';

interface Opened {
  readonly directory: string;
  readonly home: string;
  readonly token: string;
  readonly caches: LocalHomeCaches;
  readonly sessions: SessionRecord[];
  readonly running: Set<string>;
}

function open(context: TestContext, bytesMax = 1024 ** 3): Opened {
  const directory = mkdtempSync(path.join(tmpdir(), 'trl-ends-'));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  return again(directory, bytesMax);
}

/** As another runtime of the user opens them. */
function again(directory: string, bytesMax = 1024 ** 3): Opened {
  const names = ['.cache', '.cargo'];
  const caches = new LocalHomeCaches({
    directory,
    home: '/home/user',
    names,
    bytesMax,
    log: () => {},
  });
  const sessions: SessionRecord[] = [];
  const running = new Set<string>();
  caches.attach({ all: () => sessions, running: (one) => (running.has(one) ? ['x-1'] : []) });
  const home = path.join(directory, id, 'home');
  const token = path.join(home, '.cargo/credentials.toml');
  return { directory, home, token, caches, sessions, running };
}

test('a credential ends when the sessions that have it did nothing for long', (context) => {
  const { caches, token, sessions, running } = open(context);
  sessions.push(record, { ...record, id: 's-2', lastActivity: hour });
  for (const one of sessions) caches.trees(one, []);
  writeFileSync(token, 'secret');
  caches.endIdle(hour + 1);
  assert.ok(existsSync(token));
  running.add('s-1');
  caches.endIdle(24 * hour);
  assert.ok(existsSync(token));
  running.clear();
  caches.endIdle(24 * hour);
  assert.ok(!existsSync(token));
});

test('one that a crash left ends with the next start, or the first session', async (context) => {
  const { caches, directory, token, sessions } = open(context);
  sessions.push(record);
  caches.trees(record, []);
  writeFileSync(token, 'secret');
  // A session that was adopted has it until another begins.
  again(directory).caches.recover([record]);
  assert.ok(existsSync(token));
  again(directory).caches.trees({ ...record, id: 's-2' }, []);
  assert.ok(!existsSync(token));
  writeFileSync(token, 'secret');
  again(directory).caches.recover([]);
  assert.ok(!existsSync(token));
});

test('nothing is cleared under a command that an earlier runtime started', async (context) => {
  const { caches, home, sessions, running } = open(context, 0);
  sessions.push(record, { ...record, id: 's-2' });
  running.add('s-1');
  caches.trees({ ...record, id: 's-2' }, []);
  writeFileSync(path.join(home, '.cache/file'), 'x');
  await caches.leave({ ...record, id: 's-2' });
  assert.deepEqual(readdirSync(path.join(home, '.cache')), ['file']);
});

test('what another runtime has is not cleared until that ended', async (context) => {
  const { caches, directory, home, sessions } = open(context);
  sessions.push(record);
  caches.trees(record, []);
  writeFileSync(path.join(home, '.cache/file'), 'x');
  const other = again(directory);
  assert.equal(await other.caches.clear(id), null);
  assert.deepEqual(readdirSync(path.join(home, '.cache')), ['file']);
  // Its own sessions that wait keep nobody from it.
  assert.deepEqual(await caches.clear(id), { count: 0, why: null });
  writeFileSync(path.join(home, '.cache/file'), 'x');
  await caches.leave(record);
  assert.deepEqual(await other.caches.clear(id), { count: 0, why: null });
  assert.deepEqual(readdirSync(path.join(home, '.cache')), []);
});

test('layers are free for others when no runtime has sessions with them', async (context) => {
  const { caches, directory, sessions } = open(context);
  const layer = path.join(directory, id, 'layers/.npm+_cacache/1');
  sessions.push(record);
  caches.trees(record, []);
  mkdirSync(layer, { recursive: true });
  const other = again(directory);
  other.caches.trees({ ...record, id: 's-2' }, []);
  await other.caches.leave({ ...record, id: 's-2' });
  assert.deepEqual(readdirSync(layer), []);
  await caches.leave(record);
  assert.deepEqual(readdirSync(layer), ['free']);
});

test('the word of a runtime that was killed does not last', async (context) => {
  const directory = mkdtempSync(path.join(tmpdir(), 'trl-ends-'));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  mkdirSync(path.join(directory, id));
  const module = JSON.stringify(new URL('../src/host/cache-directories.ts', import.meta.url));
  const script =
    `import { CacheLocks } from ${module}; const [, directory, id] = process.argv; ` +
    'new CacheLocks(directory).acquire(id); console.log(1); setInterval(() => {}, 1e6)';
  const words = ['--input-type=module', '-e', script, directory, id];
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] });
  context.after(() => child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  const use = new CacheLocks(directory);
  assert.equal(
    use.runExclusive(id, () => 1),
    null,
  );
  child.kill('SIGKILL');
  await once(child, 'exit');
  assert.equal(
    use.runExclusive(id, () => 1),
    1,
  );
});
