// A kill between the log and the runtime's own records: one end and one statement, whenever it is.
import assert from 'node:assert/strict';
import { copyFileSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { auditDirectory, auditEvents, kindsOf } from './support/audit-daemon.ts';
import { whyNoBox } from './support/box.ts';
import { raw, startRuntime, type Daemon, type Json } from './support/daemon.ts';
import { eventually, runnerPid } from './support/processes.ts';
import { openSession } from './support/session.ts';

const env = { TRL_RUNNER_LINGER_MS: '60000' };
const ends = ['exec.ended', 'exec.changed', 'exec.statement'];
let home: string;
let daemon: Daemon;
/** What is cut off of the log's end, and whether the runner is killed, too. */
const points = [
  { name: 'before the end', last: null, runner: true },
  { name: 'after the end', last: 'exec.ended', runner: true },
  { name: 'after the changes', last: 'exec.changed', runner: true },
  { name: 'after the statement, before its head', last: 'exec.statement', runner: true },
  { name: 'before the receipt', last: 'head', runner: true },
  { name: 'before the receipt, and the runner with it', last: 'head', runner: false },
] as const;

before(async () => {
  daemon = await startRuntime({ env });
  ({ home } = daemon);
});
after(() => daemon?.stop());

const recordsIn = (): string => path.join(home, 'state', 'trl');

function copyRecords(from: string, to: string): void {
  for (const name of globSync('state.db*', { cwd: to })) rmSync(path.join(to, name));
  for (const name of globSync('state.db*', { cwd: from })) {
    copyFileSync(path.join(from, name), path.join(to, name));
  }
}

/** Cuts the log behind the last event of that kind, or leaves it. */
function cutLog(exec: string, last: (typeof points)[number]['last']): void {
  if (last === 'head') return;
  const [file = ''] = globSync('logs/*/*.jsonl', { cwd: auditDirectory(home) })
    .toSorted()
    .slice(-1);
  const segment = path.join(auditDirectory(home), file);
  const lines = readFileSync(segment, 'utf8').split('\n');
  const isOf = (kind: string) => (line: string) =>
    line.includes(`"exec":"${exec}"`) && line.includes(`"kind":"${kind}"`);
  const at = last === null ? lines.findIndex(isOf('exec.ended')) : lines.findIndex(isOf(last)) + 1;
  assert.ok(at > 0);
  writeFileSync(
    segment,
    lines
      .slice(0, at)
      .map((line) => `${line}\n`)
      .join(''),
  );
}

const infoOf = async (exec: string): Promise<Json> => {
  const client = await raw(daemon.socketPath);
  try {
    return await eventually('its end', async () => {
      const { data } = await client.ask('exec.info', { exec_id: exec });
      return data !== undefined && data.state !== 'running' ? data : null;
    });
  } finally {
    client.drop();
  }
};

describe('of a command one end and one statement are told', { skip: whyNoBox }, () => {
  for (const { name, last, runner } of points) {
    test(`when the daemon is killed ${name}`, async () => {
      const saved = path.join(home, `saved-${points.findIndex((one) => one.name === name)}`);
      mkdirSync(saved);
      const session = await openSession(daemon.socketPath, { working_dir: daemon.root });
      const command = `echo ${session.id} > made; read line; exit 3`;
      const exec = await session.start(command, { stdin_open: true });
      await eventually('its start', () => kindsOf(home, exec).includes('exec.started'));
      copyRecords(recordsIn(), saved);
      await session.client.ask('exec.write', { exec_id: exec, data: 'go\n' });
      await eventually('its statement', () => kindsOf(home, exec).includes('exec.statement'));
      const first = await infoOf(exec);
      const pid = runnerPid(daemon);
      await daemon.kill();
      if (!runner && pid !== null) process.kill(pid, 'SIGKILL');
      session.client.drop();
      // As if it had been killed before it wrote down the end.
      copyRecords(saved, recordsIn());
      cutLog(exec, last);
      daemon = await startRuntime({ home, env });
      const now = await infoOf(exec);
      // A second look finds no more.
      await daemon.kill('SIGTERM');
      daemon = await startRuntime({ home, env });
      const told = kindsOf(home, exec).filter((kind) => !kind.endsWith('output'));
      assert.deepEqual(told.slice(-3), ends);
      assert.equal(told.filter((kind) => kind === 'exec.ended').length, 1, told.join(' '));
      assert.equal(told.filter((kind) => kind === 'exec.statement').length, 1, told.join(' '));
      assert.equal(told.filter((kind) => kind === 'exec.failed').length, 0, told.join(' '));
      if (!runner) {
        assert.equal(now.state, 'lost');
        return;
      }
      assert.equal(now.exit_code, 3);
      const { audit, snapshot, changes } = now.receipt;
      const statement = auditEvents(home).findLast(
        ({ kind, exec: of }) => kind === 'exec.statement' && of === exec,
      );
      assert.ok(statement !== undefined);
      assert.deepEqual(snapshot, changesIn(statement.data['envelope']));
      const changed = auditEvents(home).findLast(
        ({ kind, exec: of }) => kind === 'exec.changed' && of === exec,
      );
      assert.deepEqual(changes, changed?.data['changes']);
      if (last === 'head') {
        assert.deepEqual({ ...audit, head: '' }, { ...first.receipt.audit, head: '' });
      }
    });
  }
});

function changesIn(envelope: unknown): unknown {
  const { payload }: Json = envelope;
  const {
    before: was,
    after: is,
    method,
  } = JSON.parse(Buffer.from(payload, 'base64').toString()).predicate.changes;
  return { before: was, after: is, method };
}
