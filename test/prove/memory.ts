// npm run prove: what daemon and runner hold while a client or a command sends them more than they
// may keep: a line without an end, output without an end, output that nobody reads. What waits to
// be collected is held, too; so much is sent that it cannot be taken for what is kept.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { raw, startRuntime } from '../support/daemon.ts';
import { meanwhile, runnerPid } from '../support/processes.ts';
import { openSession } from '../support/session.ts';

const MiB = 2 ** 20;
const sentBytes = (process.env['TRL_PROVE'] === 'full' ? 1024 : 256) * MiB;
const grownMax = 200 * MiB;

await using daemon = await startRuntime();
await using session = await openSession(daemon.socketPath, { working_dir: daemon.root });
await using other = await openSession(daemon.socketPath, { working_dir: daemon.root });
await session.run('true');
const pids = [daemon.pid, runnerPid(daemon) ?? 0];

function residentBytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1_024;
}

/** Runs `act`, which calls its argument now and then; fails where a process grows too much. */
async function bounded(what: string, act: (look: () => void) => Promise<void>): Promise<void> {
  const before = pids.map(residentBytes);
  const most = [...before];
  await act(() => {
    for (const [at, pid] of pids.entries()) {
      most[at] = Math.max(most[at] ?? 0, residentBytes(pid));
    }
  });
  const grown = most.map((bytes, at) => bytes - (before[at] ?? 0));
  const shown = grown.map((bytes) => Math.round(bytes / MiB)).join(', ');
  process.stdout.write(`${what}: daemon and runner grew by ${shown} MiB\n`);
  assert.ok(Math.max(...grown) < grownMax, what);
}

await bounded('a line without an end', async (look) => {
  using client = await raw(daemon.socketPath);
  const part = Buffer.alloc(MiB, 'x');
  await client.send('{"id":"1","method":"');
  for (let sent = 0; sent < sentBytes; sent += part.length) {
    await client.send(part);
    look();
  }
});

await bounded('output without an end', async (look) => {
  const command = `yes endless | head -c ${sentBytes}`;
  const limits = { journal_bytes: MiB };
  const running = session.run(command, { timeout_ms: 900_000, limits });
  await meanwhile(running, async () => {
    assert.equal((await other.run('echo beside')).stdout, 'beside\n');
    look();
  });
  assert.equal((await running).stdout_bytes, sentBytes);
});

await bounded('output that nobody reads', async (look) => {
  using slow = await raw(daemon.socketPath);
  slow.pause();
  const command = `head -c ${sentBytes} /dev/zero | tr '\\0' x`;
  const params = { session_id: session.id, command, timeout_ms: 900_000 };
  await slow.send({ id: 's', method: 'exec.stream', params });
  let state = 'running';
  while (state === 'running') {
    const { data } = await other.client.ask('exec.list', { session_id: session.id });
    state = data.execs.some((one: { state: string }) => one.state === 'running') ? state : 'over';
    look();
  }
});
