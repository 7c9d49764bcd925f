// `tail` and `grep` of a tool look at all of a long output, also what memory has no room for.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import type { Client as McpClient } from '@modelcontextprotocol/client';
import { limits } from '../src/limits.ts';
import { startRuntime } from './support/daemon.ts';
import type { Daemon, Json } from './support/daemon.ts';
import { callOf, mcpClient, nobody, stdioOf } from './support/mcp.ts';

let daemon: Daemon;
let agent: McpClient;
const call = (tool: string, args: Record<string, unknown>): Promise<Json> =>
  callOf(agent, tool, args);

before(async () => {
  daemon = await startRuntime();
  const project = path.join(daemon.root, 'project');
  mkdirSync(project);
  agent = mcpClient('2025-11-25', nobody());
  await agent.connect(stdioOf(daemon, { cwd: project, tools: 'general' }));
});
after(async () => {
  await agent?.close();
  await daemon?.stop();
});

const line = `${'of a long output '.repeat(60)}end\n`;
const lines = Number(process.env['TRL_TEST_OUTPUT_MB'] ?? 80) * 1_000;

test('a line of the start, the middle and the end is found in more than memory holds', async () => {
  const length = line.length - 1;
  assert.ok(lines * length > limits.journalMemoryBytes.default);
  const command =
    `yes '${line.trimEnd()}' | head -n ${lines} | ` +
    `awk '{ print } NR == 1 { print "first needle" } ` +
    `NR == ${lines / 2} { print "middle needle" } NR == ${lines} { print "last needle" }'`;
  const { exec_id } = await call('terminal', { command, background: true });
  let told = await call('terminal_output', { exec_id, until: '', wait_ms: 120_000, tail: 1 });
  while (told.state === 'running') {
    told = await call('terminal_output', { exec_id, until: '', wait_ms: 120_000, tail: 1 });
  }
  assert.deepEqual([told.exit_code, told.output, told.gap], [0, 'last needle\n', undefined]);
  const found = await call('terminal_output', { exec_id, grep: 'needle' });
  assert.equal(found.output, 'first needle\nmiddle needle\nlast needle\n');
  assert.equal(found.gap, undefined);
  const start = await call('terminal_output', { exec_id, from: 0, max: 20 });
  assert.deepEqual([start.output, start.gap], [line.slice(0, 20), undefined]);
  const late = await call('terminal_output', { exec_id, until: 'middle needle', tail: 2 });
  assert.equal(late.found, true);
});
