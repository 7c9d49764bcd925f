// Denied files do not exist for commands of a daemon's sessions: the table of probes, and writes.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { noOverlay } from './support/changes.ts';
import { raw, startRuntime, type Daemon } from './support/daemon.ts';
import { findings, findingsAlone, usableProbes } from './support/denied-daemon.ts';
import { isFull } from './support/form.ts';
import { deniedProbes, deniedRules, plantDenied } from './support/denied-probes.ts';
import { openSession, type TestSession } from './support/session.ts';

/** A session of the runtime's one workspace, opened with these rules. */
async function sessionOf(daemon: Daemon, params: object): Promise<TestSession> {
  const { root: dir, socketPath } = daemon;
  using client = await raw(socketPath);
  const opened = await client.ask('workspace.open', { path: dir, ...params });
  assert.equal(opened.ok, true, JSON.stringify(opened));
  assert.deepEqual([opened.data.path, opened.data.method], [dir, 'overlay']);
  return openSession(socketPath, { workspace_id: opened.data.workspace_id });
}

/** Everything that is denied, with its content. */
const deniedContent = (dir: string): string =>
  execFileSync(
    'sh',
    [
      '-c',
      String.raw`find . \( -name 'zq7*' -o -name .env -o -path './zq7*' \) -type f \
        -exec sha256sum {} + | sort`,
    ],
    {
      cwd: dir,
      encoding: 'utf8',
    },
  );

test(
  'no probe of a session finds a denied file, and none is changed',
  { skip: noOverlay() },
  async (t) => {
    await using daemon = await startRuntime();
    const dir = daemon.root;
    plantDenied(dir);
    const before = deniedContent(dir);
    await using open = await sessionOf(daemon, { mode: 'staged' });
    const probes = await usableProbes(open, deniedProbes);
    const alone = probes.filter((probe) => probe.alone === true);
    const together = probes.filter((probe) => probe.alone !== true);
    assert.ok(probes.length >= 200, `${probes.length} probes`);
    // `projection-denied` shows this of every probe, on an overlay without a daemon.
    const seeing = together.filter((_, at) => isFull || at % 4 === 0);
    const seen = await findings(open, seeing);
    const blind = seeing.filter(({ name }) => !seen.has(name)).map(({ name }) => name);
    assert.deepEqual(blind, [], 'these find nothing where nothing is denied');
    const policy = { read: { deny: deniedRules } };
    await using closed = await sessionOf(daemon, { mode: 'staged', policy });
    assert.deepEqual([...(await findings(closed, together))], []);
    assert.deepEqual([...(await findingsAlone(closed, alone))], []);
    assert.equal(deniedContent(dir), before);
    t.diagnostic(`${probes.length} probes`);
  },
);

test(
  'a workspace below a root is not opened: its rules would be read from the root',
  { skip: noOverlay() },
  async () => {
    await using daemon = await startRuntime();
    const dir = path.join(daemon.root, 'sub');
    mkdirSync(path.join(dir, 'src'), { recursive: true });
    writeFileSync(path.join(dir, 'src/k.key'), 'c4n4ry\n');
    using client = await raw(daemon.socketPath);
    const params = { path: dir, policy: { read: { deny: ['src/*.key'] } } };
    const opened = await client.ask('workspace.open', params);
    assert.equal(opened.error.code, 'INVALID_PARAMS');
    assert.match(opened.error.message, /lies in the root/);
  },
);
