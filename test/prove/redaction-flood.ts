// npm run prove: a command prints a secret without end. Nothing of it comes through, the redactor
// does not grow, and others are served meanwhile.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { connectLocal } from '../../src/local/index.ts';
import { startRuntime } from '../support/daemon.ts';
import { descendantsOf, runnerPid } from '../support/processes.ts';

const MB = 1e6;
const bytes = process.env['TRL_PROVE'] === 'full' ? 2 ** 30 : 64 * MB;
const secret = 'Vw8ZkQ2mXr5TbN7cLp4H';

await using daemon = await startRuntime({ env: { FLOOD_TOKEN: secret } });
const client = await connectLocal({ socketPath: daemon.socketPath });
const session = await client.createSession({ shell: '/bin/bash', working_dir: daemon.root });
const redactor = (): number =>
  descendantsOf(runnerPid(daemon) ?? 0).find(({ command }) => command.endsWith('redactor.js'))
    ?.pid ?? 0;
const residentMB = (): number => {
  const [, kB = '0'] =
    /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${redactor()}/status`, 'utf8')) ?? [];
  return Number(kB) / 1_000;
};
const begun = performance.now();
const memory: number[] = [];
let received = 0;
let leaks = 0;
let tail = '';
let lines = 0;
const command = `yes "$FLOOD_TOKEN" | head -c ${bytes}`;
const stream = session.stream(command, { env_keys: ['FLOOD_TOKEN'], timeout_ms: 900_000 });
for await (const event of stream) {
  if (event.type !== 'output') continue;
  const text = tail + Buffer.from(event.bytes).toString('latin1');
  for (let at = 0; at + 8 <= secret.length; at += 1) {
    if (text.includes(secret.slice(at, at + 8))) leaks += 1;
  }
  lines += text.split(']\n').length - 1;
  tail = text.slice(text.lastIndexOf(']\n') + 2).slice(-64);
  received += event.bytes.length;
  if (memory.length === 0 || received / memory.length > 8 * MB) memory.push(residentMB());
}
const seconds = (performance.now() - begun) / 1e3;
await client.close();
const half = memory.slice(Math.floor(memory.length / 2));
const [early, late] = [
  Math.max(...memory.slice(0, Math.ceil(memory.length / 2))),
  Math.max(...half),
];
const rate = (bytes / MB / seconds).toFixed(0);
process.stdout.write(
  `${(bytes / MB).toFixed(0)} MB of a secret: ${lines} tags, ${leaks} leaks, ` +
    `${rate} MB/s by the clock; ` +
    `redactor ${early.toFixed(0)} MB in the first half, ${late.toFixed(0)} MB in the second\n`,
);
assert.equal(leaks, 0);
assert.ok(Math.abs(lines - bytes / (secret.length + 1)) <= 1, `${lines} lines`);
assert.ok(late < early * 1.3 + 20, `${memory.map((one) => one.toFixed(0)).join(' ')} MB`);
