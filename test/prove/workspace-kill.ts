// npm run prove: daemon and runner are killed at random moments while two sessions are busy.
import assert from 'node:assert/strict';
import { KilledRuntime } from '../support/workspace-kills.ts';

const rounds = process.env['TRL_PROVE'] === 'full' ? 50 : 10;
const perRuntime = 10;
const kills = { daemon: 0, runner: 0, commands: 0, met: 0 };
for (let at = 0; at < rounds; at += perRuntime) {
  await using runtime = await KilledRuntime.start(kills);
  for (let round = 0; round < perRuntime; round += 1) {
    await runtime.round('daemon', 700);
    await runtime.round('runner', 700);
  }
  assert.deepEqual(await runtime.end(), { layers: [], mounts: [], processes: [] });
}
process.stdout.write(`${JSON.stringify(kills)}\n`);
process.stdout.write('no file was torn, nothing waited in vain, nothing is left\n');
