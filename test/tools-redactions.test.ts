// Answers of tools that were altered say so, over a real runtime.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import type { Client } from '../src/client/index.ts';
import { connectLocal } from '../src/local/index.ts';
import { callTool, createConversation } from '../src/tools/index.ts';
import type { ToolContext, ToolResult } from '../src/tools/index.ts';
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

function talk(name: string): ToolContext {
  const root = daemon.root;
  return {
    client,
    signal: new AbortController().signal,
    progress: () => {},
    ask: async () => 'approve',
    workspace: { root },
    sessions: createConversation({ client, root, name }),
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

test('a tag that was given out is held where it is written back, with the reason', async () => {
  const context = talk('written back');
  const file = path.join(daemon.root, 'back.conf');
  const text = 'name=a\napi_key=Xq7Wm2xLp9RtZ4vNc5Kd8Hf3\n';
  writeFileSync(file, text);
  const read = dataOf(await call(context, 'terminal', { command: 'cat back.conf' }));
  const written = read.stdout.replace('name=a', 'name=b');
  assert.match(written, /^name=b\napi_key=\[HIDDEN:[0-9a-f]+\]\n$/u);
  const renamed = written.replace('api_key', 'other_key');
  const command =
    `printf '%s' '${written}' > other.conf; printf '%s' '${renamed}' > back.conf; ` +
    "echo '[HIDDEN:0a0b0c0d]' > about-tags.md";
  const back = await call(context, 'terminal', { command });
  assert.deepEqual(dataOf(back).changes.toSorted(), [
    'added about-tags.md',
    'added other.conf (held: redaction-tag)',
    'modified back.conf (held: redaction-tag)',
  ]);
  assert.match(back.text, /\[note\] 2 paths are held as a tag/u);
  assert.equal(readFileSync(file, 'utf8'), text);
  assert.ok(existsSync(path.join(daemon.root, 'about-tags.md')));
  // Of no output, but of a diff.
  const secret = 'Zq8Wm2xLp9RtZ4vNc5Kd8Hf4';
  await call(context, 'terminal', { command: `echo 'api_key=${secret}' > made.conf` });
  const diff = dataOf(await call(context, 'workspace_diff', { paths: ['made.conf'] }));
  const ofDiff = /\[HIDDEN:[0-9a-f]+\]/u.exec(diff.diff)?.[0] ?? '';
  const again = `echo '${ofDiff}' > from-diff.txt`;
  const held = dataOf(await call(context, 'terminal', { command: again }));
  assert.deepEqual(held.changes, ['added from-diff.txt (held: redaction-tag)']);
});

test('a file that is read, changed elsewhere and written back has its values again', async () => {
  const context = talk('values back');
  const secret = 'Vq7Wm2xLp9RtZ4vNc5Kd8Hf7';
  const body = 'MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n'.repeat(6);
  const key = `-----BEGIN PRIVATE KEY-----\n${body}-----END PRIVATE KEY-----`;
  const text =
    `DEBUG=0\n  export API_KEY=${secret}\nURL=postgres://ada:${secret}x@db.local/app\n` +
    `${key}\nLAST=1\n`;
  const file = path.join(daemon.root, 'values.conf');
  writeFileSync(file, text, { mode: 0o600 });
  // As an agent does that has only what it was shown.
  const edit = async (change: (shown: string) => string): Promise<Json> => {
    const shown = dataOf(await call(context, 'terminal', { command: 'cat values.conf' })).stdout;
    assert.ok(!shown.includes(secret));
    const written = change(shown);
    assert.match(written, /\[HIDDEN:[0-9a-f]+\]/u);
    const command = `cat > values.conf <<'EOF'\n${written}EOF`;
    return dataOf(await call(context, 'terminal', { command }));
  };
  const first = await edit((shown) => shown.replace('DEBUG=0', 'DEBUG=1\nNEW=2'));
  assert.deepEqual(first.changes, ['modified values.conf'], JSON.stringify(first));
  assert.equal(readFileSync(file, 'utf8'), text.replace('DEBUG=0', 'DEBUG=1\nNEW=2'));
  const second = await edit((shown) => shown.replace('  export', 'export'));
  assert.deepEqual(second.changes, ['modified values.conf'], JSON.stringify(second));
  const now = text.replace('DEBUG=0', 'DEBUG=1\nNEW=2').replace('  export', 'export');
  assert.equal(readFileSync(file, 'utf8'), now);
  // The session sees what the real tree has.
  const sum = await call(context, 'terminal', { command: 'wc -c < values.conf' });
  assert.equal(dataOf(sum).stdout.trim(), String(Buffer.byteLength(now)));
});

test('a tag that an earlier daemon gave out is held, too', async () => {
  const first = await startRuntime();
  const { home, root } = first;
  writeFileSync(path.join(root, 'app.conf'), 'api_key=Wq7Wm2xLp9RtZ4vNc5Kd8Hf2\n');
  const talkTo = async (one: Daemon, command: string): Promise<Json> => {
    const own = await connectLocal({ socketPath: one.socketPath });
    try {
      const sessions = createConversation({ client: own, root, name: 'again' });
      const context = { ...talk('again'), client: own, workspace: { root }, sessions };
      return dataOf(await call(context, 'terminal', { command }));
    } finally {
      await own.close();
    }
  };
  let read: Json;
  try {
    read = await talkTo(first, 'cat app.conf');
  } finally {
    await first.kill('SIGTERM');
  }
  await using second = await startRuntime({ home });
  const written = await talkTo(second, `echo '${read.stdout.trim()}' > new.conf`);
  assert.deepEqual(written.changes, ['added new.conf (held: redaction-tag)']);
});
