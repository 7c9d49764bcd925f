// What `trl mcp` leaves behind, what a call made again does, and what is refused of a client.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectLocal } from '../src/local/index.ts';
import { startRuntime, surroundings } from './support/daemon.ts';
import type { Daemon, Json } from './support/daemon.ts';
import { record, recordings } from '../tools/mcp-recordings.ts';
import { processesNamed, processesWith } from './support/processes.ts';

const trl = path.join(path.dirname(import.meta.dirname), 'trl');
/** Told apart from what other runs of this test start. */
const lasting = `sleep 300.${process.pid}`;
const isLasting = new RegExp(`^${lasting.replace('.', '\\.')} ?$`);
/** What waits for a process would else wait for ever. */
const bounded = { timeout: 240_000 };
let daemon: Daemon;
before(async () => {
  daemon = await startRuntime();
});
after(() => daemon?.stop());

/** `trl mcp` as a process whose lines are the test's. */
class Peer implements AsyncDisposable {
  readonly child: ChildProcess;
  readonly #answers = new Map<unknown, (answer: Json) => void>();

  constructor(args: readonly string[], cwd: string, home: string) {
    const env = { ...process.env, ...surroundings(home) };
    this.child = spawn(trl, ['mcp', ...args], { cwd, env, stdio: ['pipe', 'pipe', 'inherit'] });
    const lines = this.child.stdout;
    if (lines === null) throw new Error('no pipe');
    createInterface({ input: lines }).on('line', (line) => {
      const message: Json = JSON.parse(line);
      this.#answers.get(message.id)?.(message);
    });
  }

  send(message: object): void {
    this.child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  answer(id: number | string | null): Promise<Json> {
    const { promise, resolve } = Promise.withResolvers<Json>();
    this.#answers.set(id, resolve);
    return promise;
  }

  ask(id: number, method: string, params: object): Promise<Json> {
    const answer = this.answer(id);
    this.send({ id, method, params });
    return answer;
  }

  async open(): Promise<void> {
    const clientInfo = { name: 't', version: '1' };
    const hello = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
    await this.ask(0, 'initialize', hello);
    this.send({ method: 'notifications/initialized' });
  }

  async call(id: number, name: string, args: object, meta: object = {}): Promise<Json> {
    const params = { name, arguments: args, _meta: meta };
    const { result } = await this.ask(id, 'tools/call', params);
    return result.structuredContent;
  }

  async ended(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      await once(this.child, 'exit');
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.stdin?.end();
    await this.ended();
  }
}

const onSocket = (): Peer =>
  new Peer(['--socket-path', daemon.socketPath], daemon.root, daemon.home);

async function approve(id: `a-${string}`): Promise<void> {
  await using runtime = await connectLocal({ socketPath: daemon.socketPath });
  const { approval_id, digest } = await runtime.approval(id);
  await runtime.decide({ approval_id, decision: 'approve', digest: digest.slice(0, 8) });
}

/** Runs it, by a person's yes. */
async function approved(peer: Peer, id: number, args: object, meta: object = {}): Promise<Json> {
  const { approval_id } = await peer.call(id, 'terminal_exec', args, meta);
  await approve(approval_id);
  return peer.call(id + 1, 'terminal_exec', args, meta);
}

test(
  'when its input ends nothing is left: no session, no command, no process',
  bounded,
  async () => {
    const peer = onSocket();
    await peer.open();
    await peer.call(1, 'terminal', { command: 'true' });
    await using runtime = await connectLocal({ socketPath: daemon.socketPath });
    await peer.call(3, 'terminal', { command: lasting, background: true });
    while (processesNamed(isLasting).length === 0) await sleep(20);
    peer.child.stdin?.end();
    await peer.ended();
    assert.equal(peer.child.exitCode, 0);
    while (processesNamed(isLasting).length > 0) await sleep(20);
    const left = (await runtime.sessions()).filter(({ state }) => state !== 'terminated');
    assert.deepEqual(left, []);
  },
);

test('it ends with a line that no message is as long as', bounded, async (t) => {
  const peer = onSocket();
  t.after(() => peer.child.kill('SIGKILL'));
  await peer.open();
  peer.child.stdin?.on('error', () => {});
  peer.child.stdin?.write('x'.repeat(11 * 1024 * 1024));
  // Its input stays open: nothing else tells it to end.
  await peer.ended();
});

test('it ends with its input, though nobody reads its answers', bounded, async (t) => {
  const peer = onSocket();
  t.after(() => peer.child.kill('SIGKILL'));
  await peer.open();
  // Nor what is left of one, which is cut.
  peer.child.stdout?.removeAllListeners('data').removeAllListeners('end').pause();
  for (let id = 1; id <= 100; id += 1) peer.send({ id, method: 'tools/list', params: {} });
  // More than a pipe holds.
  peer.child.stdin?.end();
  await peer.ended();
});

test('what is no message is answered, and the next one, too', bounded, async () => {
  await using peer = onSocket();
  await peer.open();
  const refused = peer.answer(null);
  peer.child.stdin?.write('{"jsonrpc":"2.0","id":1,\n');
  assert.equal((await refused).error.code, -32_700);
  const batched = peer.answer('b');
  peer.child.stdin?.write('[{"jsonrpc":"2.0","id":"b","method":"ping"}]\n');
  assert.equal((await batched).error.code, -32_600);
  assert.deepEqual((await peer.ask(2, 'ping', {})).result, {});
});

test('it ends when its parent does, though its input stays open', bounded, async () => {
  const home = mkdtempSync(path.join(tmpdir(), 'trl-mcp-'));
  try {
    const work = path.join(home, 'work');
    mkdirSync(work);
    // It holds both ends of its input, so that there is no end of it to be read.
    const clientInfo = { name: 't', version: '1' };
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
    const hello = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params });
    const script = 'mkfifo in; exec 3<>in; "$0" mcp <&3 >out & echo $!; echo "$1" >&3; read -r _';
    const shell = spawn('sh', ['-c', script, trl, hello], {
      cwd: work,
      env: { ...process.env, ...surroundings(home) },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const [line] = await once(shell.stdout, 'data');
    const pid = Number(String(line));
    while (textOf(path.join(work, 'out')) === '') await sleep(20);
    const own = processesWith(`XDG_STATE_HOME=${home}/state`).map((found) => found.pid);
    assert.ok(own.includes(pid) && own.length > 1, 'it has a runtime of its own');
    shell.kill('SIGKILL');
    await once(shell, 'exit');
    while (processesWith(`XDG_STATE_HOME=${home}/state`).length > 0) await sleep(20);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
});

test(
  'a call made again after a crash attaches to what runs, and runs nothing twice',
  bounded,
  async () => {
    const args = { command: 'echo once >> ran; sleep 1; cat ran' };
    const first = onSocket();
    await first.open();
    const { approval_id } = await first.call(1, 'terminal_exec', args);
    await approve(approval_id);
    // An answer that never arrives.
    void first.call(2, 'terminal_exec', args);
    while (textOf(path.join(daemon.root, 'ran')) === '') await sleep(10);
    first.child.kill('SIGKILL');
    await first.ended();
    await using second = onSocket();
    await second.open();
    const again = await second.call(1, 'terminal_exec', args);
    assert.equal(again.stdout, 'once\n', JSON.stringify(again));
  },
);

test('a key of the client names a call for good, and no other call', bounded, async () => {
  await using peer = onSocket();
  await peer.open();
  const meta = { 'trl/call-key': 'deploy-7' };
  const args = { command: 'echo again >> keyed; cat keyed' };
  const one = await approved(peer, 1, args, meta);
  assert.equal(one.stdout, 'again\n', JSON.stringify(one));
  const two = await peer.call(3, 'terminal_exec', args, meta);
  assert.deepEqual([two.exec_id, two.stdout], [one.exec_id, 'again\n']);
  const other = await peer.call(4, 'terminal_exec', { command: 'pwd' }, meta);
  assert.equal(other.error.code, 'IDEMPOTENCY_CONFLICT');
});

test('a session that ended between two calls is replaced, and the call runs in it', async () => {
  await using peer = onSocket();
  await peer.open();
  const { session_id: first } = await peer.call(1, 'terminal', { command: 'pwd' });
  await using runtime = await connectLocal({ socketPath: daemon.socketPath });
  await runtime.session(first).destroy();
  const again = await peer.call(2, 'terminal', { command: 'pwd' });
  assert.deepEqual([again.stdout, again.exit_code], [`${daemon.root}\n`, 0]);
  assert.notEqual(again.session_id, first);
  const named = await peer.call(3, 'terminal', { command: 'pwd', session_id: first });
  assert.equal(named.error.code, 'SESSION_NOT_FOUND');
});

/** Of a file that may not be there yet. */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

test(
  'both hand-shakes, a call and a question are said as they were recorded',
  bounded,
  async () => {
    for (const [era, parts] of recordings) {
      const file = path.join(import.meta.dirname, 'fixtures/mcp', `${era}.jsonl`);
      assert.deepEqual(await record(parts), textOf(file).trimEnd().split('\n'));
    }
  },
);

test('what is sealed between a question and its answer holds for that call alone', async () => {
  await using peer = onSocket();
  const capabilities = { elicitation: { form: {} } };
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 't', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': capabilities,
  };
  const decision = { action: 'accept', content: { decision: 'approve' } };
  const call = (id: number, command: string, requestState?: string): Promise<Json> => {
    const answered = { requestState, inputResponses: { decision } };
    const more = requestState === undefined ? {} : answered;
    const params = { name: 'terminal_exec', arguments: { command }, _meta, ...more };
    return peer.ask(id, 'tools/call', params);
  };
  const asked = await call(1, 'touch sealed');
  const state: string = asked.result.requestState;
  const [version = '', body = '', mac = ''] = state.split('.');
  const forged = JSON.parse(Buffer.from(body, 'base64url').toString());
  const other = await call(2, 'touch other');
  forged.p = JSON.parse(
    Buffer.from(other.result.requestState.split('.')[1], 'base64url').toString(),
  ).p;
  const swapped = `${version}.${Buffer.from(JSON.stringify(forged)).toString('base64url')}.${mac}`;
  for (const bad of [swapped, `${state}x`, 'v1.e30.AA', '', '..']) {
    if (bad === '') continue;
    const { error } = await call(3, 'touch sealed', bad);
    assert.equal(error?.data?.reason, 'invalid_request_state', bad);
  }
  // An answer to another question, well sealed, decides nothing here.
  const misused = await call(4, 'touch other', state);
  assert.equal(misused.result.resultType, 'input_required');
  assert.deepEqual([textOf(inRoot('sealed')), existsSync(inRoot('other'))], ['', false]);
  const done = await call(5, 'touch sealed', state);
  assert.equal(done.result.structuredContent.exit_code, 0, JSON.stringify(done));
});

const inRoot = (name: string): string => path.join(daemon.root, name);
