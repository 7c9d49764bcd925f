// Attacks on the host, and everyday work, through the front door. Each row looks at the host.
import assert from 'node:assert/strict';
import {
  accessSync,
  constants,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { spawnSync } from 'node:child_process';
import { isRoot, whyNoBox } from './support/box.ts';
import { makePlace, ownDaemon, placeOf, play, playKillOfRun } from './support/cases.ts';
import { playShared, sharesSession, type Place, type Row } from './support/cases.ts';
import { startRuntime, type Daemon } from './support/daemon.ts';
import { isFull } from './support/form.ts';
import { layBait, type Bait } from './support/host.ts';
import { openSession, type TestSession } from './support/session.ts';

const fixture = path.join(import.meta.dirname, 'fixtures/sandbox-cases.jsonl');
const rows: readonly Row[] = readFileSync(fixture, 'utf8')
  .split('\n')
  .filter(Boolean)
  .map((line) => JSON.parse(line))
  .map((row) => (isFull ? row : { ...row, command: row.short ?? row.command }));

const base = realpathSync(mkdtempSync(path.join(tmpdir(), 'trl-cases-')));
const shared = path.join(base, 'shared');
const baseOf = (row: Row, variant: string): string =>
  path.join(variant === 'shared' ? shared : base, `${row.id}.${variant}`);
const isAlone = (row: Row): boolean =>
  row.kill_runner_after_ms !== undefined || row.inherit !== undefined;

const isShared = (row: Row): boolean => sharesSession(row, true) || sharesSession(row, false);

/** The files with credentials of all rows, by one configuration. */
function masks(): object {
  const files = rows.flatMap((row) => {
    const place = placeOf(row, baseOf(row, 'same'), bait.names);
    return (row.mask ?? []).map(({ path: file, hosts }) => ({
      path: place.fill(file),
      hosts: hosts.map((host) => place.fill(host)),
      plaintext: true,
    }));
  });
  return { files };
}

const sharedRoot = (granted: boolean): string => path.join(base, granted ? 'granted' : 'bare');

let bait: Bait;
let daemon: Daemon;
before(async () => {
  if (whyNoBox !== false) return;
  bait = await layBait(path.join(base, 'bait'));
  const roots = rows
    .filter((row) => !isShared(row) && !isAlone(row))
    .flatMap((row) =>
      (row.then === undefined ? ['same'] : ['same', 'new']).map((variant) =>
        path.join(baseOf(row, variant), row.ws ?? 'ws'),
      ),
    );
  roots.push(sharedRoot(true), sharedRoot(false));
  mkdirSync(shared);
  for (const root of roots) mkdirSync(root, { recursive: true });
  // The runtime was started with the name of a link; one that comes later allows nothing.
  for (const row of rows.filter(({ linked }) => linked === true)) {
    const root = path.join(baseOf(row, 'same'), 'ws');
    renameSync(root, path.join(path.dirname(root), 'real'));
    symlinkSync('real', root);
  }
  daemon = await startRuntime({
    args: [
      'serve',
      '--socket-path',
      '{socket}',
      ...roots.map((root) => `--workspace-root=${root}`),
    ],
    prepare: (home) => {
      mkdirSync(path.join(home, 'config/trl'), { recursive: true });
      writeFileSync(
        path.join(home, 'config/trl/config.yaml'),
        JSON.stringify({ secrets: masks() }),
      );
      return { SBX_SECRET: 's3cr3tvalue' };
    },
    env: { HOSTMARK: 'HOSTMARK-of-the-daemon', TRL_POLICY_SECRET: 'HOSTMARK' },
  });
});
after(async () => {
  await daemon?.stop();
  await bait?.[Symbol.asyncDispose]();
  spawnSync('/bin/chmod', ['-R', 'u+rwX', base]);
  rmSync(base, { recursive: true, force: true });
});

/** A program of the rows that a fresh machine may lack. */
const wanted = ['git', 'curl', 'python3', 'perl', 'node', 'npm'];
const isInstalled = (name: string): boolean =>
  (process.env['PATH'] ?? '').split(':').some((directory) => {
    try {
      accessSync(path.join(directory, name), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
const missing = wanted.filter((name) => !isInstalled(name));

function whySkip(row: Row): string | false {
  if (whyNoBox !== false) return whyNoBox;
  const text = `${row.setup} ${row.command} ${row.then}`;
  // As a user, the kernel tells the two names of a file that was linked by two numbers.
  if (row.id === 'git-clone-works' && !isRoot) return 'needs root: git wants equal inode numbers';
  const lacking = missing.find((name) => new RegExp(`\\b${name}\\b`).test(text));
  return lacking === undefined ? false : `${lacking} is not installed`;
}

/** Whether `trl run` is killed with all its processes: both in `npm run prove`, else by turns. */
function killsOfRun(row: Row): readonly boolean[] {
  const turn = rows.filter((one) => one.kill_runner_after_ms !== undefined).indexOf(row);
  return [false, true].filter((_, at) => turn >= 0 && (isFull || at === turn));
}

async function playIn(row: Row, variant: 'same' | 'new'): Promise<void> {
  const place = placeOf(row, baseOf(row, variant), bait.names);
  await makePlace(row, place);
  await play(row, place, { daemon, second: variant });
}

/** Rows that kill the runner, or that the daemon is started for: one daemon, one row at a time. */
function describeAlone(): void {
  // What the daemon was started with is looked at first, in the runner that it started with.
  const alone = rows
    .filter(isAlone)
    .toSorted((one, other) => Number(!one.inherit) - Number(!other.inherit))
    .map((row) => ({ row, skip: whySkip(row) }));
  const places = new Map<Row, Place>();
  let own: Daemon;
  describe('with a daemon of its own', { skip: whyNoBox, concurrency: 1 }, () => {
    before(async () => {
      for (const { row, skip } of alone) {
        if (skip !== false) continue;
        const place = placeOf(row, baseOf(row, 'same'), bait.names);
        await makePlace(row, place);
        places.set(row, place);
      }
      own = await ownDaemon(places);
    });
    after(() => own?.stop());
    for (const { row, skip } of alone) {
      test(`${row.class}: ${row.id}`, { skip }, async () => {
        const place = places.get(row);
        assert.ok(place !== undefined);
        await play(row, place, { daemon: own, second: 'same' });
      });
    }
  });
}

function describeShared(granted: boolean): void {
  const like = rows.filter((row) => sharesSession(row, granted));
  let session: TestSession;
  const name = granted ? 'granted to read beside' : 'granted nothing';
  // One command at a time: they share a connection, too.
  describe(name, { skip: whyNoBox, concurrency: 1 }, () => {
    before(async () => {
      const files = granted ? { files: { read: { allow: [shared] } } } : {};
      const working_dir = sharedRoot(granted);
      session = await openSession(daemon.socketPath, { working_dir, ...files });
    });
    after(() => session?.[Symbol.asyncDispose]());
    for (const row of like) {
      test(`${row.class}: ${row.id}`, { skip: whySkip(row) }, async () => {
        const place = placeOf(row, baseOf(row, 'shared'), bait.names);
        await makePlace(row, place);
        await playShared(row, place, session);
      });
    }
  });
}

describe('what a sandboxed command may and may not do', { concurrency: 5 }, () => {
  describeShared(true);
  describeShared(false);
  describeAlone();
  for (const row of rows) {
    if (isShared(row)) continue;
    const skip = whySkip(row);
    if (!isAlone(row)) test(`${row.class}: ${row.id}`, { skip }, () => playIn(row, 'same'));
    if (row.then !== undefined) {
      test(`${row.class}: ${row.id}, in a new session`, { skip }, () => playIn(row, 'new'));
    }
    for (const whole of killsOfRun(row)) {
      const killed = whole ? 'every process of trl run' : 'trl run';
      test(`${row.class}: ${row.id}, by killing ${killed}`, { skip }, async () => {
        const place = placeOf(row, baseOf(row, whole ? 'all' : 'run'), bait.names);
        await makePlace(row, place);
        await playKillOfRun(row, place, whole);
      });
    }
  }
});
