// What has a key runs once: on every door, whatever the answer became, whatever ended in between.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { undeliveredCalls } from '../src/daemon/http/mcp.ts';
import { UsedKeys } from '../src/daemon/used-keys.ts';
import { limits } from '../src/limits.ts';
import { OpenCalls } from '../src/mcp/call-keys.ts';
import { StateStore } from '../src/session/store.ts';
import { connectLocal } from '../src/local/index.ts';
import { whyNoBox } from './support/box.ts';
import { raw, type Json, type RawClient } from './support/daemon.ts';
import { ask, data, startHttp, type Answer, type HttpDaemon } from './support/http.ts';

const skip = whyNoBox;
const tool = `name: once
description: Leaves a line, and takes a while.
command: [sh, -c, 'echo x >>"$0"; sleep 1.5; wc -l <"$0"', "{input.file}"]
input: { type: object, properties: { file: { type: string } }, required: [file] }
`;

// A runtime that takes long to come again must find what it left.
const env = { TRL_RUNNER_LINGER_MS: '60000' };

let daemon: HttpDaemon;
let session = '';
let wire: RawClient;

before(async () => {
  if (skip !== false) return;
  daemon = await startHttp({
    env,
    prepare: (home) => {
      const directory = path.join(home, 'config/trl/tools');
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      writeFileSync(path.join(directory, 'once.yaml'), tool, { mode: 0o600 });
      return {};
    },
  });
  session = (await data(daemon, '/v1/sessions', { body: { working_dir: daemon.root } })).session_id;
  wire = await raw(daemon.socketPath);
});
after(async () => {
  wire?.drop();
  await daemon?.stop();
});

const inRoot = (name: string): string => path.join(daemon.root, name);
const lines = (name: string): number => readFileSync(inRoot(name), 'utf8').split('\n').length - 1;
const counting = (name: string): string => `echo x >>${name}; sleep 1.5; wc -l <${name}`;

/** The daemon ends as by a crash once the file is there, and comes again where it was. */
async function crashAt(file: string): Promise<void> {
  while (!existsSync(inRoot(file))) await sleep(10);
  await crash();
}

async function crash(): Promise<void> {
  wire.drop();
  await daemon.kill();
  daemon = await startHttp({ home: daemon.home, env });
  wire = await raw(daemon.socketPath);
}

const lost = (asked: Promise<unknown>): Promise<unknown> => asked.catch(() => null);

function mcp(args: object, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 't', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const params = { name: 'terminal_exec', arguments: args, _meta };
  return ask(daemon, '/mcp', {
    body: { jsonrpc: '2.0', id: 7, method: 'tools/call', params },
    headers: {
      Accept: 'application/json, text/event-stream',
      'MCP-Protocol-Version': '2026-07-28',
      'Mcp-Method': 'tools/call',
      'Mcp-Name': params.name,
      ...headers,
    },
  });
}

function structured({ text }: Answer): Json {
  const line = text.split('\n').findLast((one) => one.startsWith('data: ')) ?? text;
  return JSON.parse(line.replace('data: ', '')).result.structuredContent;
}

test('a request made again after the runtime was killed runs nothing twice', { skip }, async () => {
  const target = `/v1/sessions/${session}/execs`;
  const asked = {
    body: { command: counting('rest') },
    headers: { 'Idempotency-Key': 'rest-1' },
  };
  const first = lost(ask(daemon, target, asked));
  await crashAt('rest');
  await first;
  const [before] = (await data(daemon, `/v1/execs?session_id=${session}`)).execs;
  const again = await data(daemon, target, asked);
  assert.deepEqual([again.exec_id, again.stdout, lines('rest')], [before.exec_id, '1\n', 1]);
  const other = await ask(daemon, target, { ...asked, body: { command: 'echo other' } });
  assert.deepEqual([other.status, JSON.parse(other.text).code], [409, 'IDEMPOTENCY_CONFLICT']);
  // Answered or not: it is the same command after another crash.
  await crash();
  assert.equal((await data(daemon, target, asked)).exec_id, before.exec_id);
});

test('a key stands for one call, however the answer is waited for', { skip }, async () => {
  const run = (more: object): Promise<Json> =>
    wire.ask('exec.run', { session_id: session, command: 'cat; echo $GIVEN', ...more });
  const own = { exec_key: 'one', stdin: 'in', env: { GIVEN: 'a' }, timeout_s: 20 };
  const first = (await run(own)).data;
  const traced = { ...own.env, TRACEPARENT: `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01` };
  const equal = [
    { ...own, wait_ms: 5 },
    { ...own, output_bytes: 10 },
    { ...own, env: traced },
    { ...own, timeout_s: 0, timeout_ms: 20_000 },
    { ...own, stdin: 'aW4=', stdin_encoding: 'base64' },
  ];
  for (const one of equal) assert.equal((await run(one)).data?.exec_id, first.exec_id);
  const others = [
    { ...own, command: 'cat' },
    { ...own, stdin: 'other' },
    { ...own, env: { GIVEN: 'b' } },
    { ...own, env: {} },
    { ...own, cwd: '/tmp' },
    { ...own, timeout_s: 30 },
    { ...own, limits: { processes: 9 } },
    { ...own, pty: { columns: 80, rows: 24 } },
    { ...own, language: 'python', command: 'print(1)' },
  ];
  for (const other of others) {
    const refused = await run(other);
    assert.equal(refused.error?.code, 'IDEMPOTENCY_CONFLICT', JSON.stringify(other));
  }
  const both = await Promise.all(
    ['echo a', 'echo b'].map(async (command) => {
      using client = await raw(daemon.socketPath);
      return await client.ask('exec.start', { session_id: session, command, exec_key: 'race' });
    }),
  );
  const codes = both.map(({ error }) => String(error?.code)).toSorted();
  assert.deepEqual(codes, ['IDEMPOTENCY_CONFLICT', 'undefined']);
});

test('a key of another session, or of no command, is another request', { skip }, async () => {
  const headers = { 'Idempotency-Key': 'across' };
  const body = { command: 'true' };
  await data(daemon, `/v1/sessions/${session}/execs`, { body, headers });
  const made = await data(daemon, '/v1/sessions', { body: { working_dir: daemon.root } });
  const target = `/v1/sessions/${made.session_id}/execs`;
  assert.equal((await ask(daemon, target, { body, headers })).status, 409);
  assert.equal((await ask(daemon, '/v1/sessions', { body: {}, headers })).status, 409);
  // Detached and then waited for: it is the same command.
  const own = { body, headers: { 'Idempotency-Key': 'modes' } };
  const started = await data(daemon, `${target}?mode=detached`, own);
  assert.equal((await data(daemon, target, own)).exec_id, started.exec_id);
});

test(
  'a call of a tool runs once, answered or not when the runtime is killed',
  { skip },
  async () => {
    const call = (file: string, exec_key: string): Promise<Json> =>
      wire.ask('tool.call', { name: 'once', arguments: { file }, session_id: session, exec_key });
    const first = lost(call('called', 'tool-1'));
    await crashAt('called');
    await first;
    const again = await call('called', 'tool-1');
    assert.equal(again.data?.receipt.stdout, '1\n', JSON.stringify(again));
    // Nobody knows whether the answer arrived.
    await crash();
    const late = await call('called', 'tool-1');
    assert.equal(late.error?.code, 'EXEC_NOT_FOUND', JSON.stringify(late));
    assert.equal((await call('elsewhere', 'tool-1')).error?.code, 'IDEMPOTENCY_CONFLICT');
    assert.deepEqual([lines('called'), existsSync(inRoot('elsewhere'))], [1, false]);
    const half = await call('a\ud800', 'tool-2');
    assert.equal(half.error?.code, 'INVALID_PARAMS', JSON.stringify(half));
  },
);

test('neither does a call by MCP that has a key', { skip }, async () => {
  const [args, headers] = [{ command: counting('named') }, { 'Idempotency-Key': 'mcp-1' }];
  const asked = structured(await mcp(args, headers));
  await approve(asked.approval_id);
  const first = lost(mcp(args, headers));
  await crashAt('named');
  await first;
  const again = structured(await mcp(args, headers));
  assert.deepEqual([again.stdout, lines('named')], ['1\n', 1], JSON.stringify(again));
});

test('nor one that has none: what was not delivered is known after a restart', () => {
  using state = new TemporaryState();
  const called = (): OpenCalls =>
    new OpenCalls(undeliveredCalls({ keys: state.open(), actor: 'a' }));
  const { key } = called().enter(7, 'digest');
  const later = called();
  const again = later.enter(7, 'digest');
  assert.equal(again.key, key);
  assert.notEqual(later.enter(7, 'other').key, key);
  again.delivered();
  assert.notEqual(called().enter(7, 'digest').key, key);
});

test('as many keys are held as the bounds say, the oldest of a scope leaves', () => {
  using state = new TemporaryState();
  const most = limits.usedKeysOfScope.default;
  const at = Date.now();
  const keys = state.open();
  keys.put({ scope: 'other', key: 'k', state: 'over', at });
  keys.put({ scope: 'old', key: 'k', state: 'over', at: at - limits.usedKeyMs.default - 1 });
  for (let n = 0; n <= most; n += 1) keys.put({ scope: 's', key: `${n}`, state: 'over', at });
  for (const found of [keys, state.open()]) {
    assert.equal(found.find('s', '0'), null);
    assert.equal(found.find('old', 'k'), null);
    assert.equal(found.find('s', '1')?.state, 'over');
    assert.equal(found.find('other', 'k')?.state, 'over');
  }
});

/** The records of a runtime that ends and comes again. */
class TemporaryState implements Disposable {
  readonly #directory = mkdtempSync(path.join(tmpdir(), 'trl-keys-'));
  #store: StateStore | null = null;

  open(): UsedKeys {
    this.#store?.close();
    this.#store = new StateStore(path.join(this.#directory, 'state.db'));
    return new UsedKeys(this.#store);
  }

  [Symbol.dispose](): void {
    this.#store?.close();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

async function approve(id: `a-${string}`): Promise<void> {
  await using runtime = await connectLocal({ socketPath: daemon.socketPath });
  const { approval_id, digest } = await runtime.approval(id);
  await runtime.decide({ approval_id, decision: 'approve', digest: digest.slice(0, 8) });
}
