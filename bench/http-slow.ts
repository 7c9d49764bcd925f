// What 1,000 slow clients cost the others: the 50th and 99th percentile of a request without them
// and with them, in turn. `npm run bench:http-slow -- [CLIENTS] [ROUNDS]`
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { data, mainToken, startHttp } from '../test/support/http.ts';
import { cpuSeconds } from './processes.ts';

const [clients = 1_000, rounds = 3] = process.argv.slice(2).map(Number);
const requestsEach = 1_000;
const newEach = 200;
const calmMs = 20_000;

await using daemon = await startHttp();
const { port } = daemon;
const { session_id: session } = await data(daemon, '/v1/sessions', { body: {} });
const target = `/v1/sessions/${session}/execs?mode=detached`;
const body = { command: 'head -c 20000000 /dev/zero | tr "\\0" x; sleep 600' };
const { exec_id: execId } = await data(daemon, target, { body });

const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;

/** Ms of one request; on a connection of its own where there is no agent. */
async function timed(agent: Agent | false): Promise<number> {
  const begun = performance.now();
  const asked = request({
    host: '127.0.0.1',
    port,
    path: '/v1/ping',
    agent,
    headers: { Authorization: `Bearer ${mainToken}` },
  });
  asked.end();
  const [response] = await once(asked, 'response');
  response.resume();
  await once(response, 'end');
  if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}`);
  return performance.now() - begun;
}

async function measure() {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const kept: number[] = [];
  const fresh: number[] = [];
  for (let at = 0; at < requestsEach; at += 1) kept.push(await timed(agent));
  for (let at = 0; at < newEach; at += 1) fresh.push(await timed(false));
  agent.destroy();
  return { kept: figures(kept), fresh: figures(fresh) };
}

function figures(all: readonly number[]): { p50: number; p99: number } {
  const sorted = all.toSorted((one, other) => one - other);
  return { p50: round(quantile(sorted, 0.5)), p99: round(quantile(sorted, 0.99)) };
}

const round = (ms: number): number => Math.round(ms * 100) / 100;

async function slowly<Result>(act: () => Promise<Result>): Promise<Result> {
  const child = fork(new URL('http-slow-clients.ts', import.meta.url), {
    env: {
      ...process.env,
      PORT: String(port),
      TOKEN: mainToken,
      EXEC: execId,
      CLIENTS: String(clients),
    },
  });
  await once(child, 'message');
  await calm();
  try {
    return await act();
  } finally {
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }
}

/** Until those that read nothing have what the kernel holds for them: that is work, not wait. */
async function calm(): Promise<void> {
  const until = performance.now() + calmMs;
  for (let before = cpuSeconds(daemon.pid); performance.now() < until;) {
    await sleep(500);
    const now = cpuSeconds(daemon.pid);
    if (now - before < 0.1) return;
    before = now;
  }
}

await measure();
type Measured = Awaited<ReturnType<typeof measure>>;
const found: { readonly without: Measured; readonly with: Measured }[] = [];
let connections = 0;
for (let at = 0; at < rounds; at += 1) {
  const without = await measure();
  const beside = await slowly(async () => {
    const measured = await measure();
    connections = (await data(daemon, '/v1/metrics')).http.connections;
    return measured;
  });
  found.push({ without, with: beside });
}
const median = (pick: (one: (typeof found)[number]) => number): number =>
  round(
    quantile(
      found.map(pick).toSorted((one, other) => one - other),
      0.5,
    ),
  );
const metrics = await data(daemon, '/v1/metrics');
const ratio = {
  kept_p99: round(median((one) => one.with.kept.p99) / median((one) => one.without.kept.p99)),
  fresh_p99: round(median((one) => one.with.fresh.p99) / median((one) => one.without.fresh.p99)),
};
console.log(JSON.stringify({ clients, connections, rounds: found, ratio }, null, 1));
const status = readFileSync(`/proc/${daemon.pid}/status`, 'utf8');
const peakKiB = Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1]);
console.log(JSON.stringify({ peak_rss_mib: Math.round(peakKiB / 1_024), ...metrics.http }));
