/** Holds the log of a runtime that was killed against what its clients were told, and what ran. */
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import path from 'node:path';
import { readPublicKey } from '../../src/audit/audit-key.ts';
import { readEvents, type AuditLogEntry } from '../../src/audit/read-events.ts';
import { verifyLogs } from '../../src/audit/verify.ts';
import type { Busy } from './audit-busy.ts';
import { raw, type Daemon, type Json } from './daemon.ts';
import { eventually } from './processes.ts';

export interface Held {
  readonly events: number;
  /** Commands that were started, and of those the ones that nobody knows the end of. */
  readonly started: number;
  readonly lost: number;
  /** Files that commands left. */
  readonly marks: number;
  /** Ends that were cut off. */
  readonly repaired: number;
  /** Commands that were started and have no end yet. */
  readonly open: readonly string[];
}

/** What came of many crashes. */
export interface CrashCounts {
  crashes: number;
  asked: number;
  receipts: number;
  events: number;
  started: number;
  lost: number;
  marks: number;
  repaired: number;
}

export const noCrashes = (): CrashCounts => ({
  crashes: 0,
  asked: 0,
  receipts: 0,
  events: 0,
  started: 0,
  lost: 0,
  marks: 0,
  repaired: 0,
});

/** Adds one runtime, which had many of them. */
export function addUp(counts: CrashCounts, busy: Busy, held: Held): void {
  counts.asked += busy.asked;
  counts.receipts += busy.receipts.size;
  for (const name of ['events', 'started', 'lost', 'marks', 'repaired'] as const) {
    counts[name] += held[name];
  }
}

/**
 * Waits until nothing runs any more in a runtime that was started again, and holds its log.
 *
 * @param state `$XDG_STATE_HOME` of the runtime, as this process sees it
 */
export async function settled(daemon: Daemon, busy: Busy, state: string): Promise<Held> {
  using client = await raw(daemon.socketPath);
  let running: readonly Json[] = [];
  let held: Held | null = null;
  try {
    await eventually('the end of what ran', async () => {
      const execs = await busy.look(client);
      running = execs.filter((one) => one.state === 'running');
      return running.length === 0;
    });
    return await eventually('an end in the log', async () => {
      held = await holdLog(path.join(state, 'trl', 'audit'), busy, [daemon.root, state]);
      return held.open.length === 0 ? held : null;
    });
  } catch (error) {
    const story = JSON.stringify({ running, held }, null, 1);
    throw new Error(`${story}\n${daemon.log()}`, { cause: error });
  }
}

/**
 * Fails where the log does not verify against every head that a client got, lacks an event that
 * one was told of, or a command ran that it does not tell of.
 *
 * @param places directories in which commands leave their files
 */
async function holdLog(audit: string, busy: Busy, places: readonly string[]): Promise<Held> {
  const publicKey = readPublicKey(path.join(audit, 'key.pub'));
  const heads = [...busy.heads];
  const report = await verifyLogs({ directory: audit, publicKey, heads });
  const bad = report.logs.flatMap(({ findings }) => findings);
  assert.deepEqual([...bad, ...report.findings], []);
  const events = [...readEvents(audit, {}, 'oldest')];
  holdReceipts(events, busy);
  const found = marksIn(places);
  const started = startedOf(events);
  const commands = [...started.values()].join('\n');
  for (const mark of found) {
    assert.ok(commands.includes(mark), `a command ran that is not in the log: ${mark}`);
  }
  const ends = execsOf(events, 'exec.ended');
  const lost = execsOf(events, 'exec.failed');
  return {
    events: events.length,
    started: started.size,
    lost: [...started.keys()].filter((id) => lost.has(id) && !ends.has(id)).length,
    marks: found.length,
    repaired: report.logs.reduce((sum, { repaired }) => sum + repaired.length, 0),
    open: [...started.keys()].filter((id) => !ends.has(id) && !lost.has(id)),
  };
}

function holdReceipts(events: readonly AuditLogEntry[], busy: Busy): void {
  const places = new Map(events.map((one) => [`${one.log} ${one.seq}`, one]));
  for (const { exec, log, seq, leaf } of busy.receipts.values()) {
    const found = places.get(`${log} ${seq}`);
    const there = found && { leaf: found.leaf, exec: found.event.exec };
    assert.deepEqual(there, { leaf, exec }, `event ${seq}, which a receipt names`);
  }
}

/** The text of each command that was started. */
function startedOf(events: readonly AuditLogEntry[]): Map<string, string> {
  const texts = new Map<string, string>();
  for (const { event } of events) {
    if (event.kind !== 'exec.requested' || event.exec === undefined) continue;
    texts.set(event.exec, JSON.stringify(event.data['command']));
  }
  const started = execsOf(events, 'exec.started');
  return new Map([...started].map((id) => [id, texts.get(id) ?? 'nothing was requested']));
}

const execsOf = (events: readonly AuditLogEntry[], kind: string): Set<string> =>
  new Set(events.flatMap(({ event }) => (event.kind === kind && event.exec ? [event.exec] : [])));

/** Names of the files that commands left, wherever they are by now. */
function marksIn(places: readonly string[]): string[] {
  const files = places.flatMap((cwd) => globSync('**/m*-', { cwd }));
  return [...new Set(files.map((file) => path.basename(file)))];
}
