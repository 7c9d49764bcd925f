// What a call hears that is made again when its question is over: the truth, by every way in.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Client } from '../src/client/index.ts';
import { connectLocal } from '../src/local/index.ts';
import { callTool } from '../src/tools/index.ts';
import { whyNoBox } from './support/box.ts';
import type { Json } from './support/daemon.ts';
import { ask, data, startHttp, type HttpDaemon } from './support/http.ts';
import { decide, ended, guardedSession, parked } from './support/parked.ts';
import type { TestSession } from './support/session.ts';

interface Own {
  readonly daemon: HttpDaemon;
  readonly client: Client;
}

let patient: Own;
/** Where nobody answers in time. */
let brief: Own;

async function open(expires: string): Promise<Own> {
  const daemon = await startHttp({
    prepare: (home) => {
      const file = path.join(home, 'policy.yaml');
      const text = `base: guarded\napprovals: { expires: ${expires} }\n`;
      writeFileSync(file, text, { mode: 0o600 });
      return { TRL_POLICY: file };
    },
  });
  return { daemon, client: await connectLocal({ socketPath: daemon.socketPath }) };
}

async function close(own: Own | undefined): Promise<void> {
  await own?.client[Symbol.asyncDispose]();
  await own?.daemon.stop();
}

before(async () => {
  [patient, brief] = await Promise.all([open('15m'), open('1s')]);
});
after(() => Promise.all([close(patient), close(brief)]));

interface Waiting {
  readonly exec_id: `x-${string}`;
  readonly approval_id: string;
}

/** How a question ends without the command, and what is heard of it. */
const ends = [
  {
    name: 'withdrawn',
    code: 'APPROVAL_DENIED',
    message: /withdrawn/,
    own: () => patient,
    end: ({ client }: Own, { exec_id }: Waiting) => client.cancel({ exec_id }),
  },
  {
    name: 'denied',
    code: 'APPROVAL_DENIED',
    message: /not that way/,
    own: () => patient,
    end: ({ daemon }: Own, { approval_id }: Waiting) =>
      decide(daemon, approval_id, { decision: 'deny', words: 'not that way' }),
  },
  {
    name: 'expired',
    code: 'APPROVAL_EXPIRED',
    message: /nobody/,
    own: () => brief,
    end: async () => {},
  },
] as const;

const sessionIn = ({ daemon }: Own): Promise<TestSession> => guardedSession(daemon);

async function check(
  waiting: Waiting,
  { own, end, code, message }: (typeof ends)[number],
  again: () => Promise<Json>,
): Promise<void> {
  const { daemon, client } = own();
  await end({ daemon, client }, waiting);
  const info = await ended(daemon, waiting.exec_id);
  assert.equal(info.state, 'refused');
  assert.equal(info.error?.code, code);
  const listed = (await client.execs()).find(({ exec_id }) => exec_id === waiting.exec_id);
  assert.deepEqual([listed?.state, listed?.error], ['refused', info.error]);
  const error = await again();
  assert.equal(error?.code, code, JSON.stringify(error));
  assert.match(error.message, message);
}

describe('of a question that is over', { skip: whyNoBox, concurrency: 4 }, () => {
  for (const end of ends) {
    test(`on the socket a call by its key hears that it was ${end.name}`, async () => {
      await using own = await sessionIn(end.own());
      const call = { method: 'exec.start', exec_key: 'k' };
      const waiting = await parked(own, 'touch socket', call);
      const params = { session_id: own.id, command: 'touch socket', exec_key: 'k' };
      await check(waiting, end, async () => (await own.client.ask('exec.start', params)).error);
      assert.equal((await own.client.ask('exec.run', params)).error?.code, end.code);
    });

    test(`a tool that is called again hears that it was ${end.name}`, async () => {
      const { daemon, client } = end.own();
      await using own = await sessionIn(end.own());
      const given = async (): Promise<never> => Promise.reject(new Error('it is named'));
      const context = {
        client,
        signal: AbortSignal.timeout(60_000),
        progress: () => {},
        workspace: { root: daemon.root },
        sessions: {
          session: given,
          cachedSession: given,
          newSession: given,
          networkSession: given,
          hostsSession: given,
          queuedExecutions: new Map(),
        },
      };
      const call = { command: 'touch tool', session_id: own.id, background: true };
      const { approval } = await callTool(context, 'terminal', call);
      assert.ok(approval !== undefined);
      await check(approval, end, async () => (await callTool(context, 'terminal', call)).error);
      // That was its answer: the same call, made once more, is another one.
      assert.ok((await callTool(context, 'terminal', call)).approval !== undefined);
    });

    test(`over HTTP the same request hears that it was ${end.name}`, async () => {
      const { daemon } = end.own();
      const body = { working_dir: daemon.root };
      const { session_id: id } = await data(daemon, '/v1/sessions', { body });
      const what = {
        body: { command: 'touch http' },
        headers: { 'idempotency-key': `over-${end.name}` },
      };
      const target = `/v1/sessions/${id}/execs?mode=detached`;
      const { text } = await ask(daemon, target, what);
      const { code, data: waiting } = JSON.parse(text);
      assert.equal(code, 'APPROVAL_REQUIRED', text);
      await check(waiting, end, async () => {
        const answer = JSON.parse((await ask(daemon, target, what)).text);
        return { code: answer.code, message: answer.detail };
      });
    });
  }

  test('a start that waits for the person hears that they said no', async () => {
    await using own = await sessionIn(brief);
    const params = { session_id: own.id, command: 'touch waited', wait_ms: 20_000 };
    const { error } = await own.client.ask('exec.start', params);
    assert.equal(error?.code, 'APPROVAL_EXPIRED');
  });

  test('a tool whose command ran meanwhile says how it ended', async () => {
    const { daemon, client } = patient;
    await using own = await sessionIn(patient);
    const given = async (): Promise<never> => Promise.reject(new Error('it is named'));
    const context = {
      client,
      signal: AbortSignal.timeout(60_000),
      progress: () => {},
      workspace: { root: daemon.root },
      sessions: {
        session: given,
        cachedSession: given,
        newSession: given,
        networkSession: given,
        hostsSession: given,
        queuedExecutions: new Map(),
      },
    };
    const call = { command: 'touch ran; exit 3', session_id: own.id, background: true };
    const { approval } = await callTool(context, 'terminal', call);
    assert.ok(approval !== undefined);
    await decide(daemon, approval.approval_id);
    await ended(daemon, approval.exec_id);
    const { data } = await callTool(context, 'terminal', call);
    assert.deepEqual([data['status'], data['exit_code']], ['exited', 3]);
  });
});
