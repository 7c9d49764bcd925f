/** Sends malformed requests to a server and looks at each answer, and at what they leave behind. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { errorTable } from '../../src/errors.ts';
import { raw, type Daemon, type Json } from './daemon.ts';
import { Draw, seeded, type Drawn } from './openapi-draw.ts';
import type { OpenapiServer } from './openapi-server.ts';

export interface FuzzOptions {
  readonly server: OpenapiServer;
  readonly tokens: readonly string[];
  readonly count: number;
  readonly seed: number;
  readonly connections: number;
  /** Texts that no answer may hold, besides the tokens. */
  readonly hidden: readonly string[];
}

export interface Fuzzed {
  /** Answers by status. */
  readonly statuses: ReadonlyMap<number, number>;
  /** Requests by what was spoiled. */
  readonly kinds: ReadonlyMap<string, number>;
}

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly head: string;
  readonly body: string;
}

/** @throws AssertionError for the first answer that is not as it must be, with the seed */
export async function fuzz(options: FuzzOptions): Promise<Fuzzed> {
  const { server, tokens, seed, count, connections } = options;
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const statuses = new Map<number, number>();
  const kinds = new Map<string, number>();
  const ids = await prepared(server.daemon);
  const draw = new Draw(seeded(seed), server.document, ids);
  let left = count;
  const worker = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const drawn = draw.next();
      const token = draw.oneOf(tokens);
      const answer = await send({ agent, origin: server.origin, token }, drawn);
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
      kinds.set(drawn.how, (kinds.get(drawn.how) ?? 0) + 1);
      look(drawn, answer, options);
    }
  };
  try {
    await Promise.all(Array.from({ length: connections }, worker));
  } finally {
    agent.destroy();
    await cleanUp(server.daemon);
  }
  return { statuses, kinds };
}

/** A session and a command that has ended, for ids that are there. */
async function prepared(daemon: Daemon) {
  using client = await raw(daemon.socketPath);
  const session = (await client.ask('session.create')).data.session_id;
  const { exec_id: exec } = (await client.ask('exec.run', { session_id: session, command: 'true' }))
    .data;
  return { session, exec, root: daemon.root };
}

/** Ends what well-formed requests among them have made. */
export async function cleanUp(daemon: Daemon): Promise<void> {
  using client = await raw(daemon.socketPath);
  const { sessions } = (await client.ask('session.list')).data;
  for (const { session_id: id } of sessions) {
    await client.ask('session.destroy', { session_id: id, force: true });
  }
}

interface Way {
  readonly agent: Agent;
  readonly origin: string;
  readonly token: string;
}

/** How long a stream that was opened is listened to, in ms. */
const listenMs = 50;
/** How long an answer may take, in ms: none of the requests waits for anything. */
const answerMs = 120_000;

function send({ agent, origin, token }: Way, drawn: Drawn): Promise<Answer> {
  const { hostname: host, port } = new URL(origin);
  return new Promise((resolve, reject) => {
    const headers: Record<string, string | number> = {
      Authorization: `Bearer ${token}`,
      ...drawn.headers,
    };
    if (drawn.body !== null) headers['Content-Length'] = drawn.body.length;
    const place = { host, port, agent, method: drawn.method, path: drawn.target };
    const asking = request({ ...place, headers }, (response) => {
      const pieces: Buffer[] = [];
      const { statusCode: status = 0, rawHeaders } = response;
      const type = (response.headers['content-type'] ?? '').split(';')[0] ?? '';
      const done = (): void => {
        const body = Buffer.concat(pieces).toString('latin1');
        resolve({ status, type, head: rawHeaders.join('\n'), body });
      };
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.on('end', done).on('error', done).on('close', done);
      if (type === 'text/event-stream') setTimeout(() => response.destroy(), listenMs);
    });
    asking.on('upgrade', (_, socket) => {
      socket.destroy();
      resolve({ status: 101, type: '', head: '', body: '' });
    });
    asking.setTimeout(answerMs, () => asking.destroy(new Error('it is not answered')));
    asking.on('error', (error) => reject(new Error(`${shown(drawn)}: ${String(error)}`)));
    asking.end(drawn.body ?? undefined);
  });
}

function look(drawn: Drawn, answer: Answer, { tokens, seed, hidden }: FuzzOptions): void {
  const { status, type, head, body } = answer;
  const told = `seed ${seed}: ${shown(drawn)} → ${status} ${type} ${body.slice(0, 400)}`;
  assert.ok(status < 500 && status > 0, told);
  for (const secret of [...tokens, ...hidden]) {
    assert.ok(!body.includes(secret) && !head.includes(secret), `a secret leaks: ${told}`);
  }
  assert.equal(/x-injected/i.test(head), false, told);
  if (status < 400 || drawn.method === 'HEAD' || status === 417) return;
  // These two have failures of their own form: the wire's, and JSON-RPC's.
  if (/^\/(?:rpc|mcp)/.test(drawn.target) && type === 'application/json') return;
  assert.equal(type, 'application/problem+json', told);
  const problem: Json = JSON.parse(Buffer.from(body, 'latin1').toString('utf8'));
  assert.ok(Object.hasOwn(errorTable, problem.code), told);
  assert.equal(problem.status, status, told);
  assert.ok(typeof problem.detail === 'string' && problem.detail.length < 4_096, told);
}

function shown({ operation, how, method, target, headers, body }: Drawn): string {
  const start = body === null ? '' : Buffer.from(body.subarray(0, 200)).toString('latin1');
  return JSON.stringify([operation, how, method, target.slice(0, 200), headers, start]).slice(
    0,
    900,
  );
}

/** What a daemon holds. */
export interface Held {
  readonly sessions: number;
  readonly processes: number;
  readonly descriptors: number;
  readonly rssBytes: number;
}

export async function held(daemon: Daemon): Promise<Held> {
  using client = await raw(daemon.socketPath);
  const { data } = await client.ask('system.stats');
  const status = readFileSync(`/proc/${daemon.pid}/status`, 'utf8');
  return {
    sessions: data.active_sessions,
    processes: descendants(daemon.pid).length,
    descriptors: readdirSync(`/proc/${daemon.pid}/fd`).length,
    rssBytes: Number(/VmRSS:\s+(?<kib>\d+)/.exec(status)?.groups?.['kib'] ?? 0) * 1_024,
  };
}

function descendants(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    .split(' ')
    .filter((one) => one !== '')
    .map(Number);
  return children.flatMap((child) => {
    try {
      return [child, ...descendants(child)];
    } catch {
      return [];
    }
  });
}
