// 500 followers of one command over HTTP, half by server-sent events, half by WebSocket: the bytes
// of each, and what they cost the daemon. `npm run bench:http -- [FOLLOWERS] [MEBIBYTES]`
import { readFileSync } from 'node:fs';
import { data, startHttp } from '../test/support/http.ts';
import { followEvents, followSocket } from '../test/support/http-streams.ts';
import type { Followed } from '../test/support/http-streams.ts';

const [followers = 500, mebibytes = 4] = process.argv.slice(2).map(Number);
const ticksPerSecond = 100;

await using daemon = await startHttp();
const { session_id: session } = await data(daemon, '/v1/sessions', { body: {} });
const pieces = mebibytes * 16;
const command =
  'read go; i=0; ' +
  `while [ $i -lt ${pieces} ]; do head -c 65536 /dev/zero | tr '\\0' x; i=$((i+1)); done`;
const target = `/v1/sessions/${session}/execs?mode=detached`;
const body = { command, stdin_open: true };
const { exec_id: execId } = await data(daemon, target, { body });

const place = { port: daemon.port, execId };
const before = used(daemon.pid);
const all = Array.from({ length: followers }, (_, at) =>
  at % 2 === 0 ? followEvents(place) : followSocket(place),
);
await connected(followers);
const open = used(daemon.pid);
const begun = performance.now();
await data(daemon, `/v1/execs/${execId}/input`, { body: { data: 'go\n', eof: true } });
const found: readonly Followed[] = await Promise.all(all);
const seconds = (performance.now() - begun) / 1_000;
const after = used(daemon.pid);

const digests = new Set(found.map(({ digest }) => digest));
const missing = found.reduce((sum, one) => sum + one.missing, 0);
const bytes = found.reduce((sum, one) => sum + one.bytes, 0);
console.log(
  JSON.stringify(
    {
      followers,
      output_mib: mebibytes,
      distinct_contents: digests.size,
      missing_bytes: missing,
      all_ended: found.every(({ exitCode }) => exitCode === 0),
      seconds: round(seconds),
      daemon_cpu_s: round(after.cpuS - open.cpuS),
      daemon_cpu_s_per_gib: round(((after.cpuS - open.cpuS) / bytes) * 2 ** 30),
      rss_mib: { before: before.rssMiB, connected: open.rssMiB, peak: after.peakMiB },
    },
    null,
    2,
  ),
);
const isWhole = digests.size === 1 && missing === 0;
if (!isWhole || found.some(({ exitCode }) => exitCode !== 0)) process.exitCode = 1;

async function connected(wanted: number): Promise<void> {
  for (;;) {
    const { http } = await data(daemon, '/v1/metrics');
    if (http.connections >= wanted) return;
  }
}

function used(pid: number): { cpuS: number; rssMiB: number; peakMiB: number } {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const kib = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0);
  return {
    cpuS: (Number(fields[11]) + Number(fields[12])) / ticksPerSecond,
    rssMiB: Math.round(kib('VmRSS') / 1_024),
    peakMiB: Math.round(kib('VmHWM') / 1_024),
  };
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
