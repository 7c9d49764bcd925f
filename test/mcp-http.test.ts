// `/mcp`: who is asked, whose sessions are seen, and what a broken request does.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectLocal } from '../src/local/index.ts';
import { surroundings } from './support/daemon.ts';
import type { Json } from './support/daemon.ts';
import { ask, mainToken, startHttp } from './support/http.ts';
import type { Ask, HttpDaemon } from './support/http.ts';
import { callOf, httpTo, mcpClient, nobody } from './support/mcp.ts';
import type { Person } from './support/mcp.ts';

const trl = path.join(path.dirname(import.meta.dirname), 'trl');
const bounded = { timeout: 240_000 };
let daemon: HttpDaemon;
before(async () => {
  daemon = await startHttp({
    prepare: (home) => {
      const directory = path.join(home, 'config', 'trl', 'tools');
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      const command = '[sh, -c, "echo once >>told; sleep 1; cat told"]';
      const text = `name: tell\ndescription: d\ncommand: ${command}\n`;
      writeFileSync(path.join(directory, 'tell.yaml'), text, { mode: 0o600 });
      const last =
        'name: last\ndescription: d\ntimeout: 300\ncommand: [sh, -c, ": >lasts; sleep 200"]\n';
      writeFileSync(path.join(directory, 'last.yaml'), last, { mode: 0o600 });
      return {};
    },
  });
});
after(() => daemon?.stop());

const inRoot = (name: string): string => path.join(daemon.root, name);

function newToken(role: string, name: string): string {
  const env = { ...process.env, ...surroundings(daemon.home), TRL_SOCKET_PATH: daemon.socketPath };
  const args = ['token', 'create', '--role', role, '--name', name];
  const said = execFileSync(trl, args, { env, encoding: 'utf8' });
  const [token] = /trl_[A-Za-z0-9_-]{43}/.exec(said) ?? [];
  assert.ok(token !== undefined, 'no token was printed');
  return token;
}

interface More {
  readonly meta?: object;
  readonly tool?: string;
}

/** One message in the era without a hand-shake; `answered`: wait for the answer. */
function post(
  id: number,
  args: object,
  key?: string,
  { tool = 'terminal_exec', meta = {} }: More = {},
): Promise<Json> & { drop(): void } {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 't', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
    ...meta,
  };
  const params = { name: tool, arguments: args, _meta };
  const sent = request(new URL('/mcp', daemon.origin), {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${mainToken}`,
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'MCP-Protocol-Version': '2026-07-28',
      'Mcp-Method': 'tools/call',
      'Mcp-Name': tool,
      ...(key === undefined ? {} : { 'Idempotency-Key': key }),
    },
  });
  const answer = new Promise<Json>((resolve, reject) => {
    sent.on('error', reject).on('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
      });
      response.on('error', reject).on('end', () => {
        const line = text.split('\n').findLast((one) => one.startsWith('data: ')) ?? text;
        resolve(JSON.parse(line.replace('data: ', '')).result);
      });
    });
  });
  sent.end(JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params }));
  return Object.assign(answer, { drop: () => sent.destroy() });
}

async function approve(id: `a-${string}`): Promise<void> {
  await using runtime = await connectLocal({ socketPath: daemon.socketPath });
  const { approval_id, digest } = await runtime.approval(id);
  await runtime.decide({ approval_id, decision: 'approve', digest: digest.slice(0, 8) });
}

test('a request without a token is refused', async () => {
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
  const { status } = await ask(daemon, '/mcp', { method: 'POST', token: null, body });
  assert.equal(status, 401);
});

const rpcHeaders = { Accept: 'application/json, text/event-stream' };
const list = { jsonrpc: '2.0', id: 7, method: 'tools/list' };
const bigger = { ...list, params: { text: 'a'.repeat(8 * 1024 * 1024) } };
const old = { ...rpcHeaders, 'MCP-Protocol-Version': '2025-11-25' };
const session = { ...old, 'Mcp-Session-Id': 'of-another-server' };
const plain = { ...rpcHeaders, 'Content-Type': 'text/plain' };
const page = { ...rpcHeaders, Origin: 'http://evil.example' };
const year1999 = { ...rpcHeaders, 'MCP-Protocol-Version': '1999-01-01' };
const batch = [list, { ...list, id: 8 }];
const post1 = { method: 'POST', headers: rpcHeaders };
/** What, how it is asked, its status, its code and id in JSON-RPC, and the code of the runtime. */
const broken: readonly (readonly [string, Ask, number, number, unknown, string?])[] = [
  ['bad JSON', { ...post1, body: '{"jsonrpc":' }, 400, -32_700, null],
  ['no text at all', { ...post1, body: ' ' }, 400, -32_700, null],
  ['no body', post1, 400, -32_700, null],
  ['bad UTF-8', { ...post1, body: Buffer.from([0x22, 0xff, 0x22]) }, 400, -32_700, null],
  ['a key twice', { ...post1, body: '{"id":1,"id":2}' }, 400, -32_700, null],
  ['no message', { ...post1, body: { id: 7, method: 3 } }, 400, -32_600, 7],
  ['a batch', { ...post1, body: batch }, 400, -32_600, null],
  ['an unknown session', { headers: session, body: list }, 404, -32_001, 7],
  ['an unknown revision', { headers: year1999, body: list }, 400, -32_000, null],
  ['another type', { headers: plain, body: list }, 415, -32_000, null, 'INVALID_PARAMS'],
  ['too large', { ...post1, body: bigger }, 413, -32_000, null, 'INVALID_PARAMS'],
  ['no token', { ...post1, token: null, body: list }, 401, -32_000, null, 'AUTH_FAILED'],
  ['a wrong token', { ...post1, token: 'x'.repeat(40), body: list }, 401, -32_000, null],
  ['another origin', { headers: page, body: list }, 403, -32_000, null, 'PERMISSION_DENIED'],
  ['GET', { headers: rpcHeaders }, 405, -32_000, null],
  ['DELETE', { method: 'DELETE', headers: session }, 405, -32_000, null],
  ['PUT', { method: 'PUT', headers: rpcHeaders, body: list }, 405, -32_000, null],
  ['OPTIONS', { method: 'OPTIONS', headers: rpcHeaders }, 405, -32_000, null],
];

for (const [what, how, status, code, id, own] of broken) {
  test(`to ${what} the answer is an error of JSON-RPC, under the status of MCP`, async () => {
    const answer = await ask(daemon, '/mcp', how);
    assert.equal(answer.status, status, answer.text);
    assert.equal(answer.headers['content-type'], 'application/json');
    const { error, ...rest } = JSON.parse(answer.text);
    assert.deepEqual(rest, { jsonrpc: '2.0', id });
    assert.deepEqual([error.code, typeof error.message], [code, 'string']);
    if (own !== undefined) assert.equal(error.data.code, own);
    if (status === 401) assert.match(String(answer.headers['www-authenticate']), /^Bearer/);
    if (status === 405) assert.equal(answer.headers.allow, 'POST');
  });
}

test('a client of another server begins anew, and later revisions have no sessions', async () => {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: {} };
  const clientInfo = { name: 't', version: '1' };
  const begin = { ...list, method: 'initialize', params: { ...params, clientInfo } };
  assert.equal((await ask(daemon, '/mcp', { headers: old, body: begin })).status, 200);
  assert.equal((await ask(daemon, '/mcp', { headers: session, body: begin })).status, 200);
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': clientInfo,
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const headers = {
    ...session,
    'MCP-Protocol-Version': '2026-07-28',
    'Mcp-Method': 'tools/list',
  };
  const modern = { headers, body: { ...list, params: { _meta } } };
  const answer = await ask(daemon, '/mcp', modern);
  assert.equal(answer.status, 200, answer.text);
});

test(
  'the holder of a token decides nothing by a form, and is told when a person did',
  bounded,
  async () => {
    for (const token of [mainToken, newToken('admin', 'boss')]) {
      const name = `by-${token.slice(-4)}`;
      const command = `touch ${name}`;
      // Whatever the client's program says, it is no decision.
      for (const says of ['approve', 'done'] as const) {
        const person: Person = { says, seen: [] };
        const client = mcpClient('2026-07-28', person);
        await client.connect(httpTo(daemon, token));
        const waiting = await callOf(client, 'terminal_exec', { command });
        assert.deepEqual([waiting.status, person.seen.length], ['waiting', 1], waiting.text);
        assert.match(person.seen[0] ?? '', /trl approvals approve a-[0-9a-f]{32}$/);
        assert.equal(existsSync(inRoot(name)), false);
        await client.close();
      }
      const refuses = mcpClient('2026-07-28', { says: 'decline', seen: [] });
      await refuses.connect(httpTo(daemon, token));
      const withdrawn = await callOf(refuses, 'terminal_exec', { command });
      assert.equal(withdrawn.error?.code, 'APPROVAL_DENIED', withdrawn.text);
      await refuses.close();
      const decides: Person = { says: 'done', seen: [], before: approveIn };
      const client = mcpClient('2026-07-28', decides);
      await client.connect(httpTo(daemon, token));
      const done = await callOf(client, 'terminal_exec', { command });
      assert.equal(done.exit_code, 0, done.text);
      await client.close();
    }
  },
);

/** A person who reads the form, and approves at their terminal. */
const approveIn = async (message: string): Promise<void> => {
  const [, id = ''] = /approve a-([0-9a-f]{32})$/.exec(message) ?? [];
  await approve(`a-${id}`);
};

test('one agent sees nothing of another', bounded, async () => {
  const own = mcpClient('2026-07-28', nobody());
  await own.connect(httpTo(daemon));
  const { session_id, exec_id } = await callOf(own, 'terminal', { command: 'pwd' });
  const other = mcpClient('2026-07-28', nobody());
  await other.connect(httpTo(daemon, newToken('agent', 'other')));
  const listed = await callOf(other, 'terminal_list', {});
  assert.deepEqual([listed.sessions, listed.execs], [[], []]);
  for (const [tool, args, code] of [
    ['terminal', { command: 'pwd', session_id }, 'SESSION_NOT_FOUND'],
    ['terminal_output', { exec_id }, 'EXEC_NOT_FOUND'],
    ['terminal_stop', { exec_id }, 'EXEC_NOT_FOUND'],
    ['terminal_stop', { session_id }, 'SESSION_NOT_FOUND'],
    ['workspace_diff', { session_id }, 'SESSION_NOT_FOUND'],
    ['secrets', { action: 'inject', name: 'X', session_id }, 'SESSION_NOT_FOUND'],
  ] as const) {
    const { error } = await callOf(other, tool, args);
    assert.equal(error?.code, code, `${tool} ${JSON.stringify(error)}`);
  }
  await own.close();
  await other.close();
});

test('a request made again after its connection broke runs nothing twice', bounded, async () => {
  const args = { command: 'echo once >> broken; sleep 1; cat broken' };
  const asked = await post(7, args);
  await approve(asked.structuredContent.approval_id);
  const first = post(8, args);
  first.catch(() => {});
  while (!existsSync(inRoot('broken'))) await sleep(10);
  first.drop();
  const again = await post(8, args);
  assert.equal(again.structuredContent.stdout, 'once\n', JSON.stringify(again));
  assert.equal(readFileSync(inRoot('broken'), 'utf8'), 'once\n');
});

test('neither does one of a registered tool', bounded, async () => {
  const tool = { tool: 'tell' };
  const first = post(41, {}, undefined, tool);
  first.catch(() => {});
  while (!existsSync(inRoot('told'))) await sleep(10);
  first.drop();
  const again = await post(41, {}, undefined, tool);
  assert.equal(again.structuredContent.stdout, 'once\n', JSON.stringify(again));
  assert.equal(readFileSync(inRoot('told'), 'utf8'), 'once\n');
  const one = await post(43, {}, 'tell-1', tool);
  const two = await post(44, {}, 'tell-1', tool);
  assert.equal(one.structuredContent.exit_code, 0, JSON.stringify(one));
  assert.equal(two.structuredContent.exec_id, one.structuredContent.exec_id);
});

test('a registered tool ends with its call', bounded, async () => {
  const tool = { tool: 'last' };
  const call = post(46, {}, undefined, tool);
  call.catch(() => {});
  while (!existsSync(inRoot('lasts'))) await sleep(10);
  await using runtime = await connectLocal({ socketPath: daemon.socketPath });
  const running = async (): Promise<number> => {
    const execs = await runtime.execs();
    return execs.filter(({ command, state }) => /lasts/.test(command) && state === 'running')
      .length;
  };
  assert.equal(await running(), 1);
  // By the answer to a later request the call was heard, too.
  await post(47, {}, undefined, { tool: 'terminal_list' });
  call.drop();
  while ((await running()) > 0) await sleep(50);
});

test('an idempotency key names a call for good', bounded, async () => {
  const args = { command: 'pwd' };
  const one = await post(20, args, 'key-1');
  const two = await post(21, args, 'key-1');
  assert.equal(two.structuredContent.exec_id, one.structuredContent.exec_id);
  const three = await post(22, args);
  assert.notEqual(three.structuredContent.exec_id, one.structuredContent.exec_id);
  const other = await post(23, { command: 'ls' }, 'key-1');
  assert.equal(other.structuredContent.error.code, 'IDEMPOTENCY_CONFLICT');
  // A key that was passed over would let the call run twice.
  for (const odd of ['', 'x'.repeat(257), 5]) {
    const refused = await post(24, args, undefined, { meta: { 'trl/call-key': odd } });
    assert.equal(refused.structuredContent.error?.code, 'INVALID_PARAMS');
  }
  const long = await post(25, args, 'x'.repeat(257));
  assert.equal(long.structuredContent.error?.code, 'INVALID_PARAMS');
});

test('half of a character is refused, wherever it stands', bounded, async () => {
  for (const args of [
    { command: 'pwd', workingDirectory: 'a\ud800' },
    { command: 'echo \udfff' },
    { command: 'pwd', '\ud800': 1 },
  ]) {
    const answer = await post(30, args);
    assert.equal(answer?.structuredContent.error?.code, 'INVALID_PARAMS', JSON.stringify(answer));
  }
});
