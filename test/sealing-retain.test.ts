// Raw logs stay within their bound: the oldest go, after the audit log has it.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { openAuditLog } from '../src/audit/open-log.ts';
import { readEvents } from '../src/audit/read-events.ts';
import type { RawLog } from '../src/redacted.ts';
import { Auditing } from '../src/daemon/auditing/auditing.ts';
import { RawLogs } from '../src/daemon/auditing/raw-logs.ts';
import { generateIdentity } from '../src/sealing/keys.ts';
import { RawLogWriter } from '../src/sealing/raw-log-writer.ts';

const { recipient } = generateIdentity();

/** Seals a line as the raw log of `exec`, which looks as old as `age` says. */
async function sealed(directory: string, exec: string, age: number): Promise<RawLog> {
  const base = path.join(directory, exec);
  const options = { base, recipients: [recipient], bytesMax: 1 << 20 };
  const writer = new RawLogWriter(options, { onFailure: () => assert.fail(), onRoom: () => {} });
  writer.append('stdout', Buffer.from('one line\n'));
  const log = await writer.end();
  assert.ok(log !== null);
  utimesSync(`${base}.log`, 1_000_000 - age, 1_000_000 - age);
  return log;
}

test('the oldest raw log goes, recorded first; where that cannot be, all stay', async () => {
  const home = mkdtempSync(path.join(tmpdir(), 'trl-sealing-retain-'));
  const directory = path.join(home, 'audit/raw');
  const logs = await openAuditLog({ directory: path.join(home, 'audit') });
  let closed: Promise<void> | null = null;
  const closeOnce = (): Promise<void> => (closed ??= logs.close());
  try {
    const said: string[] = [];
    const log = (text: string): void => void said.push(text);
    const masking = { deep: <What>(value: What): What => value };
    const auditing = new Auditing({ sink: logs, required: true, masking, maskText: String, log });
    const first = await sealed(directory, 'x-1', 30);
    const isRunning = (exec: string): boolean => exec === 'x-2';
    const bytesMax = first.bytes * 2.5;
    const rawLogs = new RawLogs({ directory, bytesMax, auditing, isRunning, log });
    rawLogs.added(first);
    for (const [exec, age] of [
      ['x-2', 40],
      ['x-3', 20],
    ] as const) {
      rawLogs.added(await sealed(directory, exec, age));
    }
    await rawLogs.settled();
    const left = (): string[] => readdirSync(directory).filter((name) => name.endsWith('.log'));
    assert.deepEqual(left().toSorted(), ['x-2.log', 'x-3.log']);
    const events = [...readEvents(path.join(home, 'audit'), { kinds: ['raw-log.shredded'] })];
    const why = 'the bound of all raw logs was reached';
    assert.deepEqual(
      events.map(({ event }) => [event.exec, event.data]),
      [['x-1', { bytes: first.bytes, why }]],
    );
    assert.deepEqual(said, []);
    await closeOnce();
    rawLogs.added(await sealed(directory, 'x-4', 10));
    await rawLogs.settled();
    assert.deepEqual(left().toSorted(), ['x-2.log', 'x-3.log', 'x-4.log']);
    assert.match(said.join('\n'), /Cannot keep raw logs within their bound/);
  } finally {
    await closeOnce();
    rmSync(home, { recursive: true, force: true });
  }
});
