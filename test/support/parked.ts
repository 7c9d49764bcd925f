/** Commands that wait for a person, over the wire: asked, decided, waited for. */
import assert from 'node:assert/strict';
import { raw, type Daemon, type Json } from './daemon.ts';
import { eventually } from './processes.ts';
import { openSession, type TestSession } from './session.ts';

export const guarded = { env: { TRL_POLICY: 'guarded' } } as const;

export const guardedSession = (daemon: Daemon, params: object = {}): Promise<TestSession> =>
  openSession(daemon.socketPath, { working_dir: daemon.root, ...params });

/** What is told of a command that has to wait: `approval_id`, `exec_id`. */
export async function parked(
  session: TestSession,
  command: string,
  { method = 'exec.run', ...more }: { method?: string; [name: string]: unknown } = {},
): Promise<Json> {
  const params = { session_id: session.id, command, ...more };
  const answer = await session.client.ask(method, params);
  assert.equal(answer.error?.code, 'APPROVAL_REQUIRED', JSON.stringify([command, answer]));
  return answer.data;
}

/** Answers a question as it stands, on a connection of its own. */
export async function decide(daemon: Daemon, id: string, params: object = {}): Promise<Json> {
  using client = await raw(daemon.socketPath);
  const { digest } = (await client.ask('approval.get', { approval_id: id })).data;
  const yes = { approval_id: id, decision: 'approve', digest };
  return await client.ask('approval.decide', { ...yes, ...params });
}

/** Asks until `done` says so. */
export async function until<T>(what: string, look: () => Promise<T | null>): Promise<T> {
  return await eventually(what, look);
}

/** `exec.info` of an execution once it is in one of `states`. */
export async function inState(daemon: Daemon, id: string, ...states: string[]): Promise<Json> {
  using client = await raw(daemon.socketPath);
  return await until(`${id} is ${states.join(' or ')}`, async () => {
    const { data } = await client.ask('exec.info', { exec_id: id });
    return states.includes(data?.state) ? data : null;
  });
}

export const ended = (daemon: Daemon, id: string): Promise<Json> =>
  inState(daemon, id, 'exited', 'refused', 'lost');

/** The questions that wait, once there are so many. */
export async function pending(daemon: Daemon, count: number): Promise<Json[]> {
  using client = await raw(daemon.socketPath);
  return await until(`${count} questions`, async () => {
    const { data } = await client.ask('approval.list', { state: 'pending' });
    return data.approvals.length >= count ? data.approvals : null;
  });
}

/** Makes the session busy with an approved command until what it answers is called. */
export async function busy(daemon: Daemon, session: TestSession): Promise<() => Promise<void>> {
  const command = 'while ! test -e go; do sleep 0.05; done';
  const { approval_id: id, exec_id: execId } = await parked(session, command);
  await decide(daemon, id);
  await inState(daemon, execId, 'running');
  return async () => {
    using client = await raw(daemon.socketPath);
    await client.ask('exec.cancel', { exec_id: execId });
    await ended(daemon, execId);
  };
}
