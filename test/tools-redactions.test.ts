// Answers of tools that were altered say so, over a real runtime.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import type { Client } from '../src/client/index.ts';
import { connect } from '../src/local/index.ts';
import { callTool, conversation } from '../src/tools/index.ts';
import type { ToolContext, ToolResult } from '../src/tools/index.ts';
import { startRuntime } from './support/daemon.ts';
import type { Daemon, Json } from './support/daemon.ts';

let daemon: Daemon;
let client: Client;
before(async () => {
  daemon = await startRuntime();
  client = await connect({ socketPath: daemon.socketPath });
});
after(async () => {
  await client?.close();
  await daemon?.stop();
});

function talk(name: string): ToolContext {
  const root = daemon.root;
  return {
    client,
    signal: new AbortController().signal,
    progress: () => {},
    ask: async () => 'approve',
    workspace: { root },
    sessions: conversation({ client, root, name }),
  };
}

async function call(context: ToolContext, name: string, args: object): Promise<ToolResult> {
  return callTool(context, name, { ...args });
}

const dataOf = ({ data }: ToolResult): Json => data;

test('an answer that was altered says where, by which tags, and not to write it back', async () => {
  const context = talk('altered');
  const secret = 'q7Wm2xLp9RtZ4vNc5Kd8Hf3T';
  writeFileSync(path.join(daemon.root, 'app.conf'), `name=a\napi_key=${secret}\n`);
  const clean = await call(context, 'terminal', { command: 'echo done' });
  assert.equal(clean.data['redactions'], undefined);
  assert.doesNotMatch(clean.text, /write this text back/u);
  for (const name of ['terminal', 'terminal_exec']) {
    const printed = await call(context, name, { command: 'cat app.conf app.conf' });
    const { redactions } = dataOf(printed);
    assert.equal(redactions.count, 2);
    assert.equal(redactions.tags.length, 1);
    assert.ok(printed.text.includes(`api_key=${redactions.tags[0]}`));
    assert.match(redactions.note, /^2 places .* Do not write this text back/u);
    assert.ok(printed.text.endsWith(`[note] ${redactions.note}`));
    assert.ok(!JSON.stringify(printed).includes(secret));
    const read = await call(context, 'terminal_output', { exec_id: dataOf(printed).exec_id });
    assert.deepEqual(dataOf(read).redactions, redactions);
    assert.ok(read.text.endsWith(`[note] ${redactions.note}`));
  }
  const script =
    'print(open("app.conf").read()) if 0 else print("api_key=" + "q7Wm2xLp9RtZ" + "4vNc5Kd8Hf3T")';
  const python = await call(context, 'python_rpc', { script });
  assert.equal(dataOf(python).redactions.count, 1, python.text);
  await call(context, 'terminal', { command: `printf 'api_key=%s\\n' ${secret} > b.conf` });
  const diff = await call(context, 'workspace_diff', {});
  assert.ok(dataOf(diff).redactions.count >= 1, diff.text);
  assert.match(diff.text, /\[note\] \d+ places? .* Do not write this text back/u);
});
