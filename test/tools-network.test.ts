// How a command of an agent gets the network, and what it reads where it has none.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import type { Client } from '../src/client/index.ts';
import { connectLocal } from '../src/local/index.ts';
import { callTool, createConversation } from '../src/tools/index.ts';
import type { ToolContext } from '../src/tools/index.ts';
import { startRuntime } from './support/daemon.ts';
import type { Daemon, Json } from './support/daemon.ts';

let daemon: Daemon;
let client: Client;
before(async () => {
  daemon = await startRuntime();
  client = await connectLocal({ socketPath: daemon.socketPath });
});
after(async () => {
  await client?.close();
  await daemon?.stop();
});

test('a command gets the network once a person agrees, where the session is', async (t) => {
  const server = createServer((_, response) => response.end('from afar'));
  t.after(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  const url = `http://127.0.0.1:${address.port}`;
  const fetching = `node -e 'fetch("${url}").then((r) => r.text()).then(console.log)'`;
  const seen: string[] = [];
  const { root } = daemon;
  const context: ToolContext = {
    client,
    signal: new AbortController().signal,
    progress: () => {},
    ask: async ({ asked }) => {
      seen.push(asked.network);
      return 'approve';
    },
    workspace: { root },
    sessions: createConversation({ client, root, name: 'test' }),
  };
  const ran = async (command: string, more: object = {}): Promise<Json> =>
    (await callTool(context, 'terminal', { command, ...more })).data;
  await ran('mkdir -p net; cd net; export DAY=one');
  assert.notEqual((await ran(fetching)).exit_code, 0);
  const online = await ran(`${fetching} >page; pwd; echo $DAY`, { network: true });
  assert.equal(online.exit_code, 0, online.stderr);
  assert.equal(online.stdout, `${daemon.root}/net\none\n`);
  assert.equal((await ran('cat page')).stdout, 'from afar\n');
  assert.deepEqual(seen, ['host']);
  const lost = await ran('echo "getaddrinfo EAI_AGAIN registry.npmjs.org" >&2; exit 1');
  assert.match(lost.notes.join(), /It had no network[^]*"network": true/);
  // Seen from the text, it is asked about before it starts, where somebody may answer.
  const { length: before } = seen;
  const pages = 'git fetch; curl -sS --max-time 5 https://localhost/nothing';
  const alone = await ran(pages);
  assert.match(alone.notes.join(), /"git fetch" needs the network, and nobody can be asked/);
  assert.equal(seen.length, before);
  const answered = { ...context, isAnswered: true };
  const { data } = await callTool(answered, 'terminal', { command: pages });
  assert.match(String(Reflect.get(data, 'notes')), /it ran in the session that has it/);
  assert.equal(seen.length, before + 1);
  await callTool(answered, 'terminal', { command: `cd .. && mkdir -p sub && cd sub; ${pages}` });
  assert.equal((await ran('pwd')).stdout, `${daemon.root}/sub\n`);
  const { length: after } = seen;
  for (const more of [{ network: false }, { session_id: lost.session_id }]) {
    await callTool(answered, 'terminal', { command: pages, ...more });
  }
  await callTool({ ...answered, policy: 'guarded' }, 'terminal', { command: 'git fetch' });
  assert.ok(
    seen.slice(after).every((one) => one === 'off'),
    seen.join(),
  );
  const both = await ran('true', { network: true, session_id: 'new' });
  assert.equal(both.error.code, 'INVALID_PARAMS');
});
