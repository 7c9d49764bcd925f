// kill -9 of the daemon and of the runner while sessions are busy: a few here, a hundred in
// `npm run prove`.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noOverlay } from './support/changes.ts';
import { KilledRuntime } from './support/workspace-kills.ts';

test(
  'a kill of daemon or runner tears nothing and leaves nothing',
  { skip: noOverlay() },
  async (t) => {
    const kills = { daemon: 0, runner: 0, commands: 0, met: 0 };
    await using runtime = await KilledRuntime.start(kills);
    for (const which of ['daemon', 'runner', 'daemon'] as const) await runtime.round(which, 700);
    assert.deepEqual(await runtime.end(), { layers: [], mounts: [], processes: [] });
    t.diagnostic(JSON.stringify(kills));
  },
);
