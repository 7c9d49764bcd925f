/**
 * What 1,000 slow clients cost others: how long a request takes alone, beside as many idle clients
 * that mean well, and beside the slow ones, in turn.
 *
 *   npm run bench:http-slow -- [CLIENTS] [ROUNDS]
 *
 * Requests begin by the clock, whether or not those before were answered, so that a moment in which
 * nobody is answered counts for all who came in it. The slow clients are on this machine, too, and
 * so may be others' work: where it may (root, `chrt`), the daemon and this program have the
 * processor before all other programs, so that what is measured is the daemon.
 */
import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { data, mainToken, startHttp } from '../test/support/http.ts';
import { cpuSeconds } from './processes.ts';

const [clients = 1_000, rounds = 3] = process.argv.slice(2).map(Number);
const kinds = ['alone', 'idle', 'slow'] as const;
type Kind = (typeof kinds)[number];
/** Longer than the door waits for fields (10 s) and for a reader (30 s). */
const measureMs = 40_000;
const everyMs = 5;
/** Of so many requests, one comes on a connection of its own. */
const freshEvery = 5;
/** How long all of them together may take to come. */
const settleMs = 3_000;

await using daemon = await startHttp();
const { port } = daemon;
const isFirst = haveFirst(daemon.pid) && haveFirst(process.pid);
const { session_id: session } = await data(daemon, '/v1/sessions', { body: {} });
const target = `/v1/sessions/${session}/execs?mode=detached`;
const body = { command: 'head -c 20000000 /dev/zero | tr "\\0" x; sleep 3000' };
const { exec_id: execId } = await data(daemon, target, { body });

/** Whether a process has the processor before all that is no such process. */
function haveFirst(pid: number): boolean {
  try {
    execFileSync('chrt', ['--all-tasks', '--rr', '--pid', '10', String(pid)], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

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

interface Measured {
  readonly kept: readonly number[];
  readonly fresh: readonly number[];
  /** Of the daemon, share of one processor. */
  readonly cpu: number;
}

async function measure(): Promise<Measured> {
  const agent = new Agent({ keepAlive: true, maxSockets: 32 });
  const waits: Record<'kept' | 'fresh', Promise<number>[]> = { kept: [], fresh: [] };
  const begun = performance.now();
  const cpuBefore = cpuSeconds(daemon.pid);
  for (let at = 0; at * everyMs < measureMs; at += 1) {
    const early = begun + at * everyMs - performance.now();
    if (early > 0) await sleep(early);
    if (at % freshEvery === 0) waits.fresh.push(timed(false));
    else waits.kept.push(timed(agent));
  }
  const [kept, fresh] = await Promise.all([Promise.all(waits.kept), Promise.all(waits.fresh)]);
  agent.destroy();
  const seconds = (performance.now() - begun) / 1_000;
  return { kept, fresh, cpu: (cpuSeconds(daemon.pid) - cpuBefore) / seconds };
}

async function measureBeside(kind: Kind): Promise<Measured> {
  if (kind === 'alone') return measure();
  const child = fork(new URL('http-slow-clients.ts', import.meta.url), {
    env: {
      ...process.env,
      PORT: String(port),
      TOKEN: mainToken,
      EXEC: execId,
      CLIENTS: String(clients),
      KIND: kind,
    },
  });
  if (isFirst && child.pid !== undefined) {
    execFileSync('chrt', ['--all-tasks', '--other', '--pid', '0', String(child.pid)]);
  }
  await once(child, 'message');
  await sleep(settleMs);
  try {
    return await measure();
  } finally {
    connections = (await data(daemon, '/v1/metrics')).http.connections;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
    await sleep(settleMs);
  }
}

function quantiles(all: readonly number[]) {
  const sorted = all.toSorted((one, other) => one - other);
  const at = (share: number): number =>
    round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN);
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1) };
}

const round = (value: number): number => Math.round(value * 1_000) / 1_000;

let connections = 0;
await measure();
const found: Record<Kind, Measured[]> = { alone: [], idle: [], slow: [] };
for (let at = 0; at < rounds; at += 1) {
  for (const kind of kinds) found[kind].push(await measureBeside(kind));
}
const figures = (kind: Kind) => ({
  kept: quantiles(found[kind].flatMap(({ kept }) => kept)),
  fresh: quantiles(found[kind].flatMap(({ fresh }) => fresh)),
  kept_p99s: found[kind].map(({ kept }) => quantiles(kept).p99),
  fresh_p99s: found[kind].map(({ fresh }) => quantiles(fresh).p99),
  cpu: round(found[kind].reduce((sum, { cpu }) => sum + cpu, 0) / rounds),
});
const all = { alone: figures('alone'), idle: figures('idle'), slow: figures('slow') };
/** Of a round that somebody else's work fell into, nothing remains in it. */
const median = (values: readonly number[]): number =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;
const ratio = (kind: 'alone' | 'idle') => ({
  kept_p99: round(median(all.slow.kept_p99s) / median(all[kind].kept_p99s)),
  fresh_p99: round(median(all.slow.fresh_p99s) / median(all[kind].fresh_p99s)),
});
const status = readFileSync(`/proc/${daemon.pid}/status`, 'utf8');
const peakKiB = Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1]);
console.log(
  JSON.stringify(
    {
      clients,
      connections,
      has_the_processor_first: isFirst,
      ...all,
      slow_to_alone: ratio('alone'),
      slow_to_idle: ratio('idle'),
      daemon_peak_rss_mib: Math.round(peakKiB / 1_024),
    },
    null,
    1,
  ),
);
