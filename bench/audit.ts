/**
 * What the audit log costs: `npm run bench:audit [EVENTS]`. Peers write the same bytes in the same
 * rounds: a plain file with one fdatasync a write, and node:sqlite with `synchronous=FULL`.
 */
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { AuditEvent } from '../src/audit/event.ts';
import { openAuditKey } from '../src/audit/audit-key.ts';
import { openAuditLog } from '../src/audit/open-log.ts';
import { proveEvent } from '../src/audit/prove.ts';
import { readEvents } from '../src/audit/read-events.ts';
import { verifyLogs } from '../src/audit/verify.ts';
import { figuresOf } from './stats.ts';

const events = Number(process.argv[2] ?? 1_000_000);
const inGroup = 64;
const root = mkdtempSync(path.join(tmpdir(), 'trl-bench-audit-'));
const directory = path.join(root, 'audit');

/** About 950 bytes as written. */
function event(n: number): AuditEvent {
  const digest = String(n).padStart(64, '0');
  return {
    kind: 'exec.started',
    at: 1_760_000_000_000 + n,
    actor: 'agent:codex:session-01',
    exec: `x-${String(n).padStart(26, '0')}`,
    data: {
      argv: ['npm', 'test', '--', '--reporter', 'spec', `src/part-${n % 97}/file.test.ts`],
      cwd: '/home/user/projects/some-project/packages/core',
      plan_digest: digest,
      box_digest: digest,
      env: ['CI', 'HOME', 'LANG', 'NODE_OPTIONS', 'PATH', 'SHELL', 'TERM', 'TMPDIR', 'USER'],
      sandbox: { level: 'A', network: 'none', mounts: 12, seccomp: true, projection: digest },
      note: 'x'.repeat(180),
    },
  };
}

try {
  await one();
  await groups();
  await largeLog();
} finally {
  rmSync(root, { recursive: true, force: true });
}

/** One at a time, beside peers in the same rounds. */
async function one(): Promise<void> {
  const log = await openAuditLog({ directory: path.join(root, 'one') });
  const file = openSync(path.join(root, 'plain'), 'w');
  const database = new DatabaseSync(path.join(root, 'peer.db'));
  database.exec('PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE e (line TEXT)');
  const insert = database.prepare('INSERT INTO e VALUES (?)');
  const [ours, plain, sqlite]: [number[], number[], number[]] = [[], [], []];
  await log.append([event(0)]);
  for (let n = 0; n < 500; n += 1) {
    const line = `${JSON.stringify(event(n))}\n`;
    let start = performance.now();
    await log.append([event(n)]);
    ours.push(performance.now() - start);
    start = performance.now();
    writeSync(file, line);
    fdatasyncSync(file);
    plain.push(performance.now() - start);
    start = performance.now();
    insert.run(line);
    sqlite.push(performance.now() - start);
  }
  say('append, one at a time, ms', ours);
  say('  plain file, write + fdatasync, ms', plain);
  say('  node:sqlite WAL FULL, ms', sqlite);
  await log.close();
  database.close();
  closeSync(file);
}

/** As many as wait, in groups. */
async function groups(): Promise<void> {
  const log = await openAuditLog({ directory: path.join(root, 'groups') });
  const database = new DatabaseSync(path.join(root, 'groups.db'));
  database.exec('PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE e (line TEXT)');
  const insert = database.prepare('INSERT INTO e VALUES (?)');
  for (const size of [8, 64, 512]) {
    const [ours, sqlite]: [number[], number[]] = [[], []];
    for (let round = 0; round < 20; round += 1) {
      let start = performance.now();
      await Promise.all(Array.from({ length: size }, (_, n) => log.append([event(n)])));
      ours.push((size * 1000) / (performance.now() - start));
      start = performance.now();
      database.exec('BEGIN');
      for (let n = 0; n < size; n += 1) insert.run(JSON.stringify(event(n)));
      database.exec('COMMIT');
      sqlite.push((size * 1000) / (performance.now() - start));
    }
    say(`append in groups of ${size}, events/s`, ours);
    say('  node:sqlite WAL FULL, JSON alone, events/s', sqlite);
  }
  await log.close();
  database.close();
}

async function largeLog(): Promise<void> {
  let start = performance.now();
  const log = await openAuditLog({ directory });
  for (let n = 0; n < events; n += inGroup) {
    const count = Math.min(inGroup, events - n);
    await log.append(Array.from({ length: count }, (_, at) => event(n + at)));
  }
  await log.close();
  const writeMs = performance.now() - start;
  print(`write ${events} events in groups of ${inGroup}`, `${rate(events, writeMs)} events/s`);
  const opens: number[] = [];
  for (let n = 0; n < 20; n += 1) {
    start = performance.now();
    const again = await openAuditLog({ directory });
    opens.push(performance.now() - start);
    await again.close();
  }
  say(`open with ${events} events, ms`, opens);
  const { publicKey } = openAuditKey(directory);
  const cpu = process.cpuUsage();
  start = performance.now();
  const report = await verifyLogs({ directory, publicKey });
  const verifyMs = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  const [only] = report.logs;
  const what = `verify ${only?.events} events, ${only?.heads} heads, ${only?.bytes} bytes`;
  const seconds = `${(verifyMs / 1000).toFixed(1)} s, CPU ${((user + system) / 1e6).toFixed(1)} s`;
  print(`${what}: ${report.isGood ? 'good' : 'DAMAGED'}`, seconds);
  start = performance.now();
  await proveEvent({ directory: path.join(directory, 'logs', '0'), publicKey }, events >> 1);
  print('prove one event', `${(performance.now() - start).toFixed(1)} ms`);
  start = performance.now();
  const [newest] = readEvents(directory);
  print(`newest event (${newest?.seq})`, `${(performance.now() - start).toFixed(1)} ms`);
  start = performance.now();
  const exec = `x-${String(events >> 1).padStart(26, '0')}` as const;
  const found = [...readEvents(directory, { exec })].length;
  print(`all ${found} events of one command`, `${(performance.now() - start).toFixed(0)} ms`);
}

function rate(count: number, ms: number): number {
  return Math.round((count * 1000) / ms);
}

function say(what: string, samples: readonly number[]): void {
  const { min, p50, p95 } = figuresOf(samples);
  const shown = [min, p50, p95].map((one) =>
    one < 100 ? one.toFixed(2) : String(Math.round(one)),
  );
  print(what, `min ${shown[0]}, p50 ${shown[1]}, p95 ${shown[2]}`);
}

function print(what: string, figure: string): void {
  process.stdout.write(`${what.padEnd(64)} ${figure}\n`);
}
