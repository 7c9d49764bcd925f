// Tools over a real runtime: what an agent calls, what it gets, and what it is refused.
import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import type { Client } from '../src/client/index.ts';
import { connect } from '../src/local/index.ts';
import { builtinTools, callTool, conversation } from '../src/tools/index.ts';
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

let made = 0;

function talk(more: Partial<ToolContext> = {}): ToolContext {
  made += 1;
  const root = daemon.root;
  return {
    client,
    signal: new AbortController().signal,
    progress: () => {},
    // Policy asks about what most of these do; who is asked says yes.
    ask: async () => 'approve',
    workspace: { root },
    sessions: conversation({ client, root, name: `test ${made}` }),
    ...more,
  };
}

async function call(context: ToolContext, name: string, args: object): Promise<ToolResult> {
  return callTool(context, name, { ...args });
}

/** The data of a result, to look into. */
const dataOf = ({ data }: ToolResult): Json => data;

test('a session keeps its directory from one command to the next, and a project call does not', async () => {
  const context = talk();
  mkdirSync(path.join(daemon.root, 'sub'), { recursive: true });
  const first = dataOf(await call(context, 'terminal', { command: 'cd sub' }));
  assert.equal(first.exit_code, 0, JSON.stringify(first));
  const second = dataOf(await call(context, 'terminal', { command: 'pwd' }));
  assert.equal(second.stdout, `${daemon.root}/sub\n`);
  assert.equal(second.session_id, first.session_id);
  const third = dataOf(await call(context, 'terminal_exec', { command: 'pwd; cd /tmp' }));
  assert.equal(third.stdout, `${daemon.root}\n`);
  const below = { command: 'pwd', workingDirectory: 'sub' };
  assert.equal(dataOf(await call(context, 'terminal_exec', below)).stdout, `${daemon.root}/sub\n`);
  const same = dataOf(await call(context, 'terminal', { command: 'pwd' }));
  assert.equal(same.stdout, `${daemon.root}/sub\n`);
  // The name finds the session again, as a call that knows nothing of the one before needs it.
  const again = talk({
    sessions: conversation({ client, root: daemon.root, name: `test ${made}` }),
  });
  const found = dataOf(await call(again, 'terminal', { command: 'pwd' }));
  assert.equal(found.session_id, first.session_id);
  const other = dataOf(await call(again, 'terminal', { command: 'pwd', session_id: 'new' }));
  assert.notEqual(other.session_id, first.session_id);
});
