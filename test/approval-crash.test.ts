// A daemon that ends at each step between a question and its command, and a disk that is full:
// here without processes, so that each moment can be met exactly.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { openSecretKey } from '../src/approval/key.ts';
import type { ApprovalSubject } from '../src/approval/subject.ts';
import type { Caller, ExecId, Exit, Plan } from '../src/command.ts';
import { Masking } from '../src/daemon/secrets/masking.ts';
import { RedactionTags } from '../src/redaction/redaction-tags.ts';
import { Executions, execStateOf, type ExecRecord } from '../src/daemon/executions/executions.ts';
import { ApprovalQueue } from '../src/daemon/approvals/approval-queue.ts';
import type { LiveSession } from '../src/daemon/sessions/sessions.ts';
import { TrlError } from '../src/errors.ts';
import type { ExecutionRequest, PendingApproval } from '../src/execution.ts';
import { newExecId } from '../src/session/record.ts';
import { StateStore } from '../src/session/store.ts';
import { ask, asked, desk, no, yes, type Desk } from './support/approval.ts';
import { rounds } from './support/form.ts';

const caller: Caller = {
  actor: 'uid:1',
  kind: 'agent',
  authenticatedBy: 'socket-owner',
  roles: ['agent'],
};
const { bounds } = asked();
const request: ExecutionRequest = {
  command: 'make install',
  cwd: null,
  env: {},
  stdin: { kind: 'closed' },
  pty: null,
  bounds,
  mode: 'detached',
  execKey: null,
};
const session: LiveSession = {
  record: {
    id: 's-1',
    name: null,
    shellAsked: '/bin/sh',
    shell: { path: '/bin/sh', dialect: 'posix' },
    substituted: false,
    workspace: '/w',
    cwd: '/w',
    grants: {
      files: { read: { allow: [], deny: [] }, write: { allow: [], deny: [] } },
      network: 'off',
      sandbox: 'none',
    },
    bounds: {},
    carry: 'none',
    envKeys: [],
    createdAt: 0,
    lastActivity: 0,
    commandCount: 0,
    assurance: null,
    policy: null,
  },
  busy: null,
  starting: Promise.resolve(),
  context: null,
  typedSecrets: [],
  mayHoldNamespaces: false,
};

const exitOf = (id: ExecId): Exit => ({
  exec_id: id,
  session_id: 's-1',
  exit_code: 0,
  signal: null,
  stopped: null,
  timed_out: false,
  started_at: 0,
  ended_at: Date.now(),
  duration_ms: 0,
  stdout_bytes: 0,
  stderr_bytes: 0,
  stdout_sha256: '',
  stderr_sha256: '',
  raw_log: null,
  journal_from: 0,
  journal_bytes: 0,
  cwd: '/w',
  cwd_fallback: null,
  cwd_missing: false,
  state_captured: false,
  state_dropped: [],
  ended_background: 0,
  survivors: [],
  state_names: [],
  limits: [],
  redactions: { count: 0, forced_flushes: 0, entries: [], omitted: 0 },
  warm: false,
});

const planOf = (question: ApprovalSubject, id: ExecId): Plan => ({
  exec_id: id,
  session_id: 's-1',
  command: question.command,
  argv: null,
  shell: question.shell,
  cwd: null,
  cwd_fallback: '/w',
  env: {},
  command_env: {},
  carry: 'none',
  mode: 'detached',
  stdin: { kind: 'closed' },
  pty: null,
  bounds,
  box: { kind: 'none' },
});

/** Of a daemon that knows no secret. */
const masking = (): Masking =>
  new Masking(new RedactionTags(new Uint8Array(32)), { version: 0, known: () => [] });

const reach: PendingApproval['exposure'] = {
  sandbox: 'none',
  level: 'none',
  protectedPaths: true,
  network: 'off',
  keysHidden: true,
  undo: true,
  extraGrants: [],
};

/** A daemon with everything but processes: what would start is noted. */
class Rig {
  readonly store = new StateStore(':memory:');
  readonly ran: ExecId[] = [];
  readonly execs = new Executions(this.store, masking());
  readonly parking: ApprovalQueue;
  readonly desk: Desk;
  /** What the command is when it is looked at again. */
  now: Partial<ApprovalSubject> = {};
  /** The same at the last look before the start. */
  atStart: Partial<ApprovalSubject> = {};

  constructor(from: Desk = desk()) {
    this.desk = from;
    this.parking = new ApprovalQueue(from.approvals, this.execs, async (entry) => {
      const { tracked, signal } = entry;
      const { id, parked } = tracked.record;
      assert.ok(parked !== null);
      signal.throwIfAborted();
      const result = await Promise.resolve(this.question(parked.request, id));
      const authorized = entry.claim(result);
      if (authorized === null) return null;
      this.execs.update(tracked, { parked: null });
      await authorized.confirm?.();
      this.ran.push(id);
      entry.started();
      return { exit: exitOf(id), reverted: [], hints: [], audit: null };
    });
  }

  question(given: ExecutionRequest, id: ExecId): PendingApproval {
    const found = asked({ command: given.command, ...this.now });
    const plan = planOf(found, id);
    return {
      subject: found,
      verdict: ask,
      plan,
      parent: null,
      tool: null,
      workspaceMode: null,
      exposure: reach,
      refreshSubject: () => Promise.resolve({ ...found, ...this.atStart }),
    };
  }

  park(command = 'make install'): ExecRecord {
    const id = newExecId();
    const given = { ...request, command };
    const record: Omit<ExecRecord, 'parked'> = {
      id,
      sessionId: session.record.id,
      mode: 'detached',
      command,
      key: null,
      startedAt: Date.now(),
      facts: { digest: '', verdict: ask, sandbox: 'none', level: 'none', network: 'off' },
      outcome: null,
      lost: null,
    };
    const parts = { request: given, caller, record };
    return this.parking.enqueue(session, this.question(given, id), parts).record;
  }

  /** The next daemon, with what was on disk; `record` as it was when the last one ended. */
  after(...records: readonly ExecRecord[]): Rig {
    const next = new Rig(this.desk.restart());
    for (const record of records) {
      const { parked } = record;
      if (parked !== null) next.parking.restore(session, { ...record, parked });
    }
    next.parking.cancelOrphans();
    return next;
  }

  stateOf(id: ExecId): string {
    return execStateOf(this.execs.get(id).record);
  }

  get open(): number {
    return this.desk.approvals.list({ state: 'pending' }).length;
  }
}

/** What was started in the background gets as far as it can. */
const settle = async (): Promise<void> => {
  for (let turns = 0; turns < 20; turns += 1) await new Promise((resolve) => setImmediate(resolve));
};
const questionOf = ({ desk: { approvals } }: Rig, { parked }: ExecRecord) => {
  if (parked === null) throw new Error('it is not parked');
  return approvals.get(parked.approval);
};

test('killed after the yes: it runs once, with the next daemon', async () => {
  const rig = new Rig();
  const record = rig.park();
  rig.desk.approvals.decide(questionOf(rig, record).id, yes(questionOf(rig, record)));
  // Killed at once, before anything of the start came about.
  const next = rig.after(record);
  await settle();
  assert.deepEqual(next.ran, [record.id]);
  const third = next.after(record);
  await settle();
  assert.deepEqual(third.ran, [], 'a yes that was used starts nothing');
  assert.equal(third.stateOf(record.id), 'lost');
});

test('what changes between the claim and the start is not started', async () => {
  const rig = new Rig();
  const record = rig.park();
  const { approvals } = rig.desk;
  const approval = questionOf(rig, record);
  rig.atStart = { binding: { kind: 'workspace', sha256: 'a', entries: 1, why: 'make' } };
  approvals.decide(approval.id, yes(approval));
  await settle();
  assert.deepEqual([rig.ran, rig.stateOf(record.id)], [[], 'refused']);
  assert.match(String(rig.execs.get(record.id).record.lost?.message), /just before the start/);
});

test('killed between two questions: the second one can still be answered', async () => {
  const rig = new Rig();
  const record = rig.park();
  const first = questionOf(rig, record);
  rig.now = { cwd: '/elsewhere' };
  rig.desk.approvals.decide(first.id, yes(first));
  await settle();
  assert.equal(rig.desk.approvals.get(first.id).state, 'superseded');
  // The record on disk still names the first question.
  const next = rig.after(record);
  next.now = rig.now;
  const [second] = next.desk.approvals.list({ state: 'pending' });
  assert.ok(second !== undefined && second.id !== first.id);
  next.desk.approvals.decide(second.id, yes(second));
  await settle();
  assert.deepEqual(next.ran, [record.id]);
});

test('killed between the question and its command: nobody is asked in vain', () => {
  const rig = new Rig();
  rig.park();
  const next = rig.after();
  assert.equal(next.open, 0);
  const again = next.park();
  assert.equal(next.stateOf(again.id), 'waiting');
  assert.equal(questionOf(next, again).execId, again.id);
});

test('a disk that is full at the start ends no daemon and starts nothing', async () => {
  const rig = new Rig();
  const record = rig.park();
  const question = questionOf(rig, record);
  const { disk, approvals } = rig.desk;
  approvals.watch(({ state }) => {
    if (state === 'approved') disk.failure = new Error('database or disk is full');
  });
  approvals.decide(question.id, yes(question));
  await settle();
  assert.deepEqual(rig.ran, []);
  const { lost } = rig.execs.get(record.id).record;
  assert.equal(lost?.code, 'BACKEND_UNAVAILABLE');
  disk.failure = null;
  // What was kept is a yes that was never used, and it counts once.
  const next = rig.after(record);
  await settle();
  assert.deepEqual(next.ran, [record.id]);
});

test('a no while it is looked at again holds, also where policy would let it run', async () => {
  const rig = new Rig();
  const record = rig.park();
  const question = questionOf(rig, record);
  rig.desk.approvals.decide(question.id, yes(question));
  rig.desk.approvals.cancel({ exec: record.id });
  await settle();
  assert.deepEqual(rig.ran, []);
  assert.equal(rig.stateOf(record.id), 'refused');
});

test('thousands of commands that were asked about and refused leave little behind', () => {
  const rig = new Rig();
  const { approvals } = rig.desk;
  const text = 'x'.repeat(64 * 1_024);
  // More than the thousand that may be kept, and their long texts more than the bytes.
  const commands = rounds(1_200, 3_000);
  for (let at = 0; at < commands; at += 1) {
    const record = rig.park(at % 3 === 0 ? `echo ${at} ${text}` : `echo ${at}`);
    const question = questionOf(rig, record);
    approvals.decide(question.id, no(question));
  }
  approvals.expire();
  assert.equal(rig.open, 0);
  assert.ok(approvals.list({}).length <= 1_000);
  const bytes = [...rig.desk.disk.rows.values()].reduce((sum, json) => sum + json.length, 0);
  assert.ok(bytes <= 16 * 1_024 * 1_024, `${bytes} bytes`);
});

test('what was refused late is known as long as what was refused at once', async () => {
  const rig = new Rig();
  const record = { ...rig.park(), startedAt: Date.now() - 3_600_000 };
  rig.execs.update(rig.execs.get(record.id), { startedAt: record.startedAt });
  rig.desk.approvals.cancel({ exec: record.id });
  await settle();
  rig.park('another');
  assert.equal(rig.stateOf(record.id), 'refused');
});

test('a key is whole or is not there; what is no key does not hold the start', () => {
  const home = mkdtempSync(path.join(tmpdir(), 'trl-'));
  try {
    const key = openSecretKey(home);
    assert.deepEqual([key.length, openSecretKey(home)], [32, key]);
    assert.deepEqual(readdirSync(home), ['approvals.key']);
    rmSync(path.join(home, 'approvals.key'));
    writeFileSync(path.join(home, 'approvals.key'), '', { mode: 0o600 });
    assert.throws(() => openSecretKey(home), TrlError);
    rmSync(path.join(home, 'approvals.key'));
    execFileSync('mkfifo', ['-m', '600', path.join(home, 'approvals.key')]);
    assert.throws(() => openSecretKey(home), TrlError);
  } finally {
    rmSync(home, { recursive: true });
  }
});
