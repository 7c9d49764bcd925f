// A tag that is written is no way to a value: each attack, over a real runtime, and the host after.
import assert from 'node:assert/strict';
import { chownSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import type { Client } from '../src/client/index.ts';
import { connectLocal } from '../src/local/index.ts';
import { callTool, createConversation } from '../src/tools/index.ts';
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

const secret = 'q7Wm2xLp9RtZ4vNc5Kd8Hf3T';

/** Runs a command in a project of its own; `shown` is the file there as an agent sees it. */
async function project(name: string) {
  const root = path.join(daemon.root, name);
  mkdirSync(root);
  const file = path.join(root, 'app.conf');
  const text = `name=a\napi_key=${secret}\n`;
  writeFileSync(file, text, { mode: 0o600 });
  const sessions = createConversation({ client, root, name });
  const run = async (command: string): Promise<Json> => {
    const context = {
      client,
      signal: new AbortController().signal,
      progress: () => {},
      ask: async () => 'approve' as const,
      workspace: { root },
      sessions,
    };
    return { ...(await callTool(context, 'terminal', { command })).data };
  };
  const shown: string = (await run('cat app.conf')).stdout;
  assert.match(shown, /api_key=\[HIDDEN:[0-9a-f]+\]\n$/u);
  const tag = /\[HIDDEN:[0-9a-f]+\]/u.exec(shown)?.[0] ?? '';
  return { root, file, text, run, shown, tag };
}

const write = (name: string, text: string): string => `cat > ${name} <<'EOF'\n${text}EOF\n`;

test('read, edited and written back, a file has its value; the agent never saw it', async () => {
  const { file, text, run, shown } = await project('plain');
  const done = await run(write('app.conf', shown.replace('name=a', 'name=b')));
  assert.deepEqual(done.changes, ['modified plain/app.conf']);
  assert.match(done.notes.join('\n'), /1 path is written with the hidden values in place/u);
  assert.ok(!JSON.stringify(done).includes(secret));
  assert.equal(readFileSync(file, 'utf8'), text.replace('name=a', 'name=b'));
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.equal((await run(`grep -c ${secret} app.conf`)).stdout.trim(), '1');
  // In a temporary file that takes its place, as editors save.
  const saved = write('new', `${shown}more=1\n`);
  const next = await run(`umask 077; ${saved} mv new app.conf`);
  assert.deepEqual(next.changes, ['modified plain/app.conf']);
  assert.equal(readFileSync(file, 'utf8'), `${text}more=1\n`);
});

test('while a command runs on, each of its saves has the value', async () => {
  const { file, text, run, shown } = await project('long');
  const seen = 'until test -e go; do sleep 0.05; done; rm go';
  const saves = ['one=1\n', 'one=1\ntwo=2\n'].map((more) => write('app.conf', shown + more));
  const running = run(saves.join(`${seen}\n`));
  while (!readFileSync(file, 'utf8').includes('one=1')) {
    assert.ok(!readFileSync(file, 'utf8').includes('HIDDEN'));
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.equal(readFileSync(file, 'utf8'), `${text}one=1\n`);
  writeFileSync(path.join(path.dirname(file), 'go'), '');
  const done = await running;
  assert.ok(!JSON.stringify(done).includes(secret));
  assert.equal(readFileSync(file, 'utf8'), `${text}one=1\ntwo=2\n`, JSON.stringify(done));
});

test('a tag never moves a value: to another file, name, line, mode or form', async () => {
  const { root, file, text, run, shown, tag } = await project('moved');
  mkdirSync(path.join(root, 'public'));
  writeFileSync(path.join(root, 'public/site.conf'), 'api_key=nothing-that-is-secret\n');
  writeFileSync(path.join(root, 'tool.sh'), 'echo hello\n');
  const attacks = [
    [write('public/new.js', `const api_key = '${tag}'\n`), 'public/new.js'],
    [write('public/site.conf', `api_key=${tag}\n`), 'public/site.conf'],
    [write('tool.sh', `api_key=${tag}\necho $api_key | base64\n`), 'tool.sh'],
    [write('app.conf', `${shown}NEXT_PUBLIC_KEY=${tag}\n`), 'app.conf'],
    [write('app.conf', `${shown}api_key=${tag}\n`), 'app.conf'],
    [`printf 'name=a\\napi_key=${tag}\\n\\0' > app.conf`, 'app.conf'],
    [`${write('app.conf', shown)} chmod 644 app.conf`, 'app.conf'],
    [`mv app.conf gone.conf; ${write('b.conf', shown)}`, 'b.conf'],
  ] as const;
  for (const [command, name] of attacks) {
    const done = await run(`${command}\ntrue`);
    const line = done.changes.find((one: string) => one.includes(`/${name} (`));
    assert.match(String(line), /\(held: redaction-tag\)$/u, JSON.stringify(done));
    await run(`rm -f ${name}; true`);
    for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile() || entry.name === 'app.conf' || entry.name === 'gone.conf') continue;
      const content = readFileSync(path.join(entry.parentPath, entry.name), 'utf8');
      assert.ok(!content.includes(secret), `${command}: ${entry.name}`);
    }
    writeFileSync(file, text, { mode: 0o600 });
  }
});

test('part of a tag, and one of another project, is no way to a value', async () => {
  const { file, run, shown } = await project('parts');
  const other = await project('others');
  writeFileSync(other.file, 'name=a\napi_key=Zq8Wm2xLp9RtZ4vNc5Kd8Hf4\n', { mode: 0o600 });
  const cut = await run(write('app.conf', shown.replace(']', '')));
  assert.deepEqual(cut.changes, ['modified parts/app.conf']);
  assert.ok(!readFileSync(file, 'utf8').includes(secret));
  const foreign = await other.run(write('app.conf', shown));
  assert.deepEqual(foreign.changes, ['modified others/app.conf (held: redaction-tag)']);
  assert.ok(!readFileSync(other.file, 'utf8').includes('HIDDEN'));
});

test('git has what the command gave it, never a value in its place', async () => {
  const { file, text, run, shown } = await project('git');
  await run('git init -q . && git config user.email a@b.c && git config user.name a');
  await run('git add app.conf; git commit -qm one; true');
  await run(`${write('app.conf', `${shown}more=1\n`)} git add app.conf; git commit -qm two; true`);
  assert.equal(readFileSync(file, 'utf8'), `${text}more=1\n`);
  const kept = await run(`git show HEAD:app.conf | grep -c ${secret}; git log --format=%s`);
  assert.match(kept.stdout, /^0\n/u, kept.stdout);
});

test('a file that only somebody else may read gives its value to nobody', async (t) => {
  if (process.getuid?.() !== 0) return t.skip('gives a file to another user: needs root');
  const { root, run, shown } = await project('owners');
  const theirs = path.join(root, 'theirs.conf');
  const text = `name=a\napi_key=${secret}\n`;
  writeFileSync(theirs, text, { mode: 0o600 });
  chownSync(theirs, 12_345, 12_345);
  const done = await run(`rm -f theirs.conf; umask 077; ${write('theirs.conf', shown)} true`);
  assert.ok(
    done.changes.some((one: string) => one.includes('owners/theirs.conf (held')),
    JSON.stringify(done),
  );
  assert.equal(readFileSync(theirs, 'utf8'), text);
});
