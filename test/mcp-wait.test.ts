// One call waits for a command in the background, for a text or its end; by the official client.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import type { Client as McpClient } from '@modelcontextprotocol/client';
import { startRuntime } from './support/daemon.ts';
import type { Daemon, Json } from './support/daemon.ts';
import { callOf, mcpClient, nobody, stdioOf } from './support/mcp.ts';

let daemon: Daemon;
let agent: McpClient;
const call = (tool: string, args: Record<string, unknown>): Promise<Json> =>
  callOf(agent, tool, args);

before(async () => {
  daemon = await startRuntime();
  mkdirSync(path.join(daemon.root, 'project'));
  agent = mcpClient('2025-11-25', nobody());
  await agent.connect(
    stdioOf(daemon, { cwd: path.join(daemon.root, 'project'), tools: 'general' }),
  );
});
after(async () => {
  await agent?.close();
  await daemon?.stop();
});

/** A command in the background that goes on at each line of its input. */
async function started(command: string): Promise<{ exec_id: string; next: () => Promise<Json> }> {
  const { exec_id } = await call('terminal', { command, background: true });
  return { exec_id, next: () => call('terminal_input', { exec_id, data: '\n' }) };
}

test('a call waits for a text, also in pieces and with the other stream between them', async () => {
  const { exec_id, next } = await started(
    'echo starting; printf "listen"; read x; echo noise >&2; printf "ing on 80\\n"; read y; exit 3',
  );
  const waiting = call('terminal_output', { exec_id, until: 'listening on', wait_ms: 60_000 });
  await next();
  const told = await waiting;
  assert.equal(told.found, true, JSON.stringify(told));
  assert.equal(told.state, 'running');
  assert.match(told.output, /listen/u);
  // What is there already is not waited for; what is not there is, but within the bound.
  const again = await call('terminal_output', { exec_id, until: 'starting', wait_ms: 60_000 });
  assert.equal(again.found, true);
  const never = await call('terminal_output', { exec_id, until: 'never', wait_ms: 50 });
  assert.deepEqual([never.found, never.state], [false, 'running']);
  const after = await call('terminal_output', { exec_id, until: 'starting', from: 9, wait_ms: 0 });
  assert.equal(after.found, false);
  const end = call('terminal_output', { exec_id, until: 'never', wait_ms: 60_000 });
  await next();
  const ended = await end;
  assert.deepEqual([ended.found, ended.state, ended.exit_code], [false, 'exited', 3]);
});

test('a call waits for the end, and answers the exit code and the last lines', async () => {
  const { exec_id, next } = await started('seq 500; read x; echo done; exit 7');
  const early = await call('terminal_output', { exec_id, until: '', wait_ms: 50 });
  assert.equal(early.state, 'running');
  const waiting = call('terminal_output', { exec_id, until: '' });
  await next();
  const told = await waiting;
  assert.deepEqual([told.state, told.exit_code, told.found], ['exited', 7, undefined]);
  assert.ok(told.output.endsWith('500\ndone\n'), told.output);
  assert.equal(told.output.split('\n').length, 101);
  const lines = await call('terminal_output', { exec_id, until: '', grep: '49' });
  assert.match(lines.output, /^49\n149\n/u);
  assert.equal((await call('terminal', { command: 'true' })).ended, undefined);
});

test('a text that is hidden is not found by its value', async () => {
  const secret = 'q7Wm2xLp9RtZ4vNc5Kd8Hf3T';
  writeFileSync(path.join(daemon.root, 'project/app.conf'), `api_key=${secret}\n`);
  const { exec_id } = await started('cat app.conf');
  const told = await call('terminal_output', { exec_id, until: secret, wait_ms: 10_000 });
  assert.deepEqual([told.found, told.state], [false, 'exited']);
  assert.ok(!JSON.stringify(told).includes(secret));
});

test('what cannot be waited for is refused', async () => {
  const { exec_id } = await started('true');
  for (const args of [
    { until: 5 },
    { until: 'x'.repeat(2_000) },
    { until: '', wait_ms: 200_000 },
  ]) {
    const told = await call('terminal_output', { exec_id, ...args });
    assert.equal(told.error?.code, 'INVALID_PARAMS', JSON.stringify(told));
  }
});
