// Registered tools through the front door: what they run, who gets their variables, who may not.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { connectLocal } from '../src/local/index.ts';
import { isTrlError } from '../src/errors.ts';
import { callRegisteredTool } from '../src/tools/index.ts';
import { whyNoBox } from './support/box.ts';
import { startRuntime, surroundings, type Daemon, type Json } from './support/daemon.ts';
import { eventually } from './support/processes.ts';
import { openSession, type TestSession } from './support/session.ts';

const skip = whyNoBox;
const trl = path.join(import.meta.dirname, '..', 'trl');
const token = 'wq8-Zk2mmVV-911-aaQQ';
const tools: Readonly<Record<string, string>> = {
  greet: `
name: greet
description: Greets somebody.
input:
  type: object
  properties: { who: { type: string }, tag: { type: string } }
  required: [who]
command: [printf, "%s|", "hello {input.who}", ["--tag", "{input.tag}"]]
`,
  sealed: `
name: sealed
description: Says how long its variable is, and shows it.
command: [sh, -c, 'echo "\${{#TICKETS_TOKEN}} $TICKETS_TOKEN"; ls -A "$HOME" /tmp; pwd']
injects_env: [TICKETS_TOKEN, "TICKETS_*"]
`,
  numbers: `
name: numbers
description: Answers numbers.
input: { type: object, properties: { n: { type: integer, minimum: 1 } }, required: [n] }
command: [cat]
stdin: '{{"n":{input.n}}}'
output: json
`,
  slow: `
name: slow
description: Takes long.
command: [sh, -c, "echo begun; sleep 900"]
timeout: 3
`,
  terminal: 'name: terminal\ndescription: Shadows one that is there.\ncommand: [id]\n',
  broken: 'name: broken\ncommand: id\n',
};

let daemon: Daemon;
let session: TestSession;
let directory = '';

before(async () => {
  if (skip !== false) return;
  daemon = await startRuntime({
    env: { PLANT_TOKEN: token, TICKETS_TOKEN: token, TICKETS_URL: 'https://tickets.example' },
    prepare: (home) => {
      directory = path.join(home, 'config', 'trl', 'tools');
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      for (const [name, text] of Object.entries(tools)) put(`${name}.yaml`, text);
      const programs = path.join(home, 'bin');
      mkdirSync(programs);
      symlinkSync(path.join(home, 'work', 'run'), path.join(programs, 'linked'));
      return { PATH: `${programs}:${process.env['PATH'] ?? ''}` };
    },
  });
  session = await openSession(daemon.socketPath, { working_dir: daemon.root });
});
after(async () => {
  if (skip !== false) return;
  await session[Symbol.asyncDispose]();
  await daemon.stop();
});

function put(name: string, text: string): void {
  writeFileSync(path.join(directory, name), text, { mode: 0o600 });
}
const ask = (method: string, params: object = {}): Promise<Json> =>
  session.client.ask(method, params);
const call = (name: string, given: object = {}, more: object = {}): Promise<Json> =>
  ask('tool.call', { name, arguments: given, session_id: session.id, ...more });
const names = async (): Promise<string[]> =>
  (await ask('tool.list')).data.tools.map(({ name }: Json) => name);

test('is listed unless it cannot be used, or has a name that is taken', { skip }, async () => {
  assert.deepEqual(await names(), ['greet', 'numbers', 'sealed', 'slow']);
  await logged(daemon, /broken\.yaml:1:1: the key "description" is missing/);
});

test('runs as the words of its file, whatever the arguments hold', { skip }, async () => {
  const who = '$(touch x) `id` " \' * ; rm -rf / \n--tag';
  const { receipt } = (await call('greet', { who })).data;
  assert.equal(receipt.stdout, `hello ${who}|`);
  const tagged = (await call('greet', { who: 'a', tag: 'b' })).data;
  assert.equal(tagged.receipt.stdout, 'hello a|--tag|b|');
  assert.equal((await call('numbers', { n: 41 })).data.result.n, 41);
});

test('has a sandbox of its own where its caller has none', { skip }, async () => {
  const params = { working_dir: daemon.root, sandbox: 'none' };
  await using bare = await openSession(daemon.socketPath, params);
  const { receipt } = (await call('greet', { who: 'you' }, { session_id: bare.id })).data;
  const { kind, network } = receipt.sandbox;
  assert.deepEqual([kind, network], ['bubblewrap', 'off']);
});

test('is refused arguments that do not fit', { skip }, async () => {
  const code = async (name: string, given: object): Promise<string> =>
    (await call(name, given)).error.message;
  assert.match(await code('greet', {}), /"who" is missing/);
  assert.match(await code('greet', { who: 1 }), /type string/);
  assert.match(await code('greet', { who: 'a', other: 1 }), /"other" is not known/);
  assert.match(await code('greet', { who: 'a', tag: '-x' }), /take it for an option/);
  assert.match(await code('great', {}), /none is called "great"; did you mean "greet"/);
});

test('alone gets the variables that its file injects, hidden in its output', { skip }, async () => {
  const { receipt } = (await call('sealed')).data;
  const [line, ...listed] = receipt.stdout.trimEnd().split('\n');
  assert.match(line, new RegExp(`^${token.length} \\[HIDDEN:`));
  // A home and a /tmp that no command of another session has prepared.
  assert.deepEqual(listed.slice(1, -1).filter((one: string) => one.endsWith(':')).length, 1);
  assert.equal(listed.at(-1), daemon.root);

  const asked = await session.ask('true', { env_keys: ['TICKETS_TOKEN'] });
  assert.match(asked.error.message, /only the tool "sealed" gets it/);
  const pattern = await session.ask('true', { env_keys: ['TICKETS_URL'] });
  assert.match(pattern.error.message, /only the tool "sealed" gets it/);
  const made = await ask('session.create', { env_keys: ['TICKETS_TOKEN'] });
  assert.match(made.error.message, /only the tool/);
  const names = ['TICKETS_TOKEN'];
  const injected = await ask('secrets.inject', { session_id: session.id, names });
  assert.match(injected.error.message, /only the tool "sealed" gets it/);
  const script = await session.ask('import os; print(os.environ.get("TICKETS_TOKEN"))', {
    language: 'python',
    env_keys: ['TICKETS_TOKEN'],
  });
  assert.match(script.error.message, /only the tool/);
  assert.equal((await session.run('env')).stdout.includes('TICKETS'), false);
});

test('keeps its variables when its file breaks, or is taken away', { skip }, async () => {
  put('sealed.yaml', 'name: sealed\n');
  const broken = await session.ask('true', { env_keys: ['TICKETS_TOKEN'] });
  assert.match(broken.error.message, /only the tool "sealed"/);
  rmSync(path.join(directory, 'sealed.yaml'));
  const gone = await session.ask('true', { env_keys: ['TICKETS_TOKEN'] });
  assert.match(gone.error.message, /only the tool "sealed"/);
  put('sealed.yaml', tools['sealed'] ?? '');
  assert.equal((await call('sealed')).ok, true);
});

test('has a session that nobody else can use', { skip }, async () => {
  using other = await openClient(daemon);
  const running = call('slow');
  let found: Json;
  while (found === undefined) {
    const { sessions } = (await other.ask('session.list')).data;
    found = sessions.find(({ name }: Json) => name === 'tool slow');
  }
  const { session_id: id } = found;
  const tries = [
    await other.ask('exec.start', { session_id: id, command: 'id' }),
    await other.ask('session.fork', { session_id: id }),
    await other.ask('session.update', { session_id: id, env: { LD_PRELOAD: '/tmp/x.so' } }),
  ];
  for (const { error } of tries) assert.match(error.message, /belongs to a call of the tool/);
  const { error, data } = await running;
  assert.equal(error.code, 'COMMAND_TIMEOUT');
  assert.equal(data.stdout, 'begun\n');
  const { sessions } = (await other.ask('session.list')).data;
  assert.deepEqual(
    sessions.map(({ session_id: one }: Json) => one),
    [session.id],
  );
});

test('runs once for a key, however often it is called with it', { skip }, async () => {
  put('count.yaml', 'name: count\ndescription: d\ncommand: [sh, -c, "echo x >>counted"]\n');
  const more = { exec_key: 'one' };
  const [first, second] = [await call('count', {}, more), await call('count', {}, more)];
  assert.equal(first.data.receipt.exec_id, second.data.receipt.exec_id);
  assert.equal((await session.run('cat counted')).stdout, 'x\n');
  const other = await call('greet', { who: 'you' }, more);
  assert.equal(other.error?.code, 'IDEMPOTENCY_CONFLICT');
  // What is kept of a call is its answer: sessions are few.
  const { sessions } = (await ask('session.list')).data;
  assert.deepEqual(
    sessions.map(({ session_id: id }: Json) => id),
    [session.id],
  );
});

test('is asked about under a policy that asks, with its words and its file', { skip }, async () => {
  const guarded = { working_dir: daemon.root, policy: 'guarded' };
  await using strict = await openSession(daemon.socketPath, guarded);
  const params = { name: 'greet', arguments: { who: 'you' }, session_id: strict.id };
  const first = await strict.client.ask('tool.call', params);
  assert.equal(first.error.code, 'APPROVAL_REQUIRED');
  const { approval_id: id } = first.data;
  const { asked, digest } = (await ask('approval.get', { approval_id: id })).data;
  assert.deepEqual(asked.argv, ['printf', '%s|', 'hello you']);
  assert.match(asked.tool.sha256, /^[0-9a-f]{64}$/);
  const waiting = strict.client.ask('tool.call', { ...params, wait_ms: 120_000 });
  await ask('approval.decide', { approval_id: id, decision: 'approve', digest });
  const { receipt } = (await waiting).data;
  assert.deepEqual([receipt.stdout, receipt.exec_id], ['hello you|', first.data.exec_id]);
  const { events } = (await ask('audit.list', { session_id: receipt.session_id })).data;
  const told = events.find(({ kind }: Json) => kind === 'exec.requested');
  assert.equal(told.data.tool.name, 'greet');
});

test('is not taken from where commands may write, or others may', { skip }, async () => {
  const before = await names();
  const inside = path.join(daemon.root, 'tools');
  mkdirSync(inside, { recursive: true });
  writeFileSync(path.join(inside, 'evil.yaml'), 'name: evil\ndescription: d\ncommand: [id]\n');
  symlinkSync(path.join(inside, 'evil.yaml'), path.join(directory, 'evil.yaml'));
  put('loose.yaml', 'name: loose\ndescription: d\ncommand: [id]\n');
  chmodSync(path.join(directory, 'loose.yaml'), 0o666);
  assert.deepEqual(await names(), before);
  await logged(daemon, /evil\.yaml" is left out: commands may write below/);
  await logged(daemon, /loose\.yaml:.*others may write it/);
  rmSync(path.join(directory, 'evil.yaml'));
  rmSync(path.join(directory, 'loose.yaml'));
  writeFileSync(path.join(daemon.root, 'run'), '#!/bin/sh\necho "$TICKETS_URL"\n', { mode: 0o755 });
  const { home, root } = daemon;
  for (const program of [
    `${root}/run`,
    `${home}//work/run`,
    `${home}/config/../work/run`,
    `${home}/bin/linked`,
    'linked',
  ]) {
    const open = `name: open\ndescription: d\ncommand: ["${program}"]\n`;
    put('open.yaml', `${open}injects_env: [TICKETS_URL]\n`);
    const { error } = await call('open');
    assert.match(error?.message ?? '', /lies where commands may write/, program);
  }
  rmSync(path.join(directory, 'open.yaml'));
});

test('of a project holds only while it is as it was trusted', { skip }, async () => {
  const place = path.join(daemon.root, '.trl', 'tools');
  mkdirSync(place, { recursive: true });
  const file = path.join(place, 'own.yaml');
  writeFileSync(file, 'name: own\ndescription: d\ncommand: [echo, own]\n');
  assert.ok(!(await names()).includes('own'));
  await logged(daemon, /not trusted as they are now; look at them, then run: trl tool trust/);
  await cli(daemon, ['tool', 'trust', daemon.root]);
  assert.equal((await call('own')).data.receipt.stdout, 'own\n');
  writeFileSync(file, 'name: own\ndescription: d\ncommand: [echo, changed]\n');
  assert.match((await call('own')).error.message, /none is called "own"/);
  await cli(daemon, ['tool', 'trust', daemon.root]);
  assert.equal((await call('own')).data.receipt.stdout, 'changed\n');
  writeFileSync(path.join(place, 'more.yaml'), 'name: more\ndescription: d\ncommand: [id]\n');
  assert.match((await call('own')).error.message, /none is called "own"/);
  rmSync(path.join(daemon.root, '.trl'), { recursive: true });
});

test('of a project keeps its variables from sessions of others', { skip }, async () => {
  const project = path.join(daemon.root, 'plant');
  const place = path.join(project, '.trl', 'tools');
  mkdirSync(place, { recursive: true });
  const text = 'name: plant\ndescription: d\ncommand: [id]\ninjects_env: [PLANT_TOKEN]\n';
  writeFileSync(path.join(place, 'plant.yaml'), text);
  await cli(daemon, ['tool', 'trust', project]);
  // Nobody has asked for the tools of that project yet.
  const { error } = await session.ask('true', { env_keys: ['PLANT_TOKEN'] });
  assert.match(error?.message ?? '', /only the tool "plant" gets it/);
  rmSync(project, { recursive: true });
});

test('is listed, called and checked at the command line', { skip }, async () => {
  const { stdout } = await cli(daemon, ['tool', 'list', '--json']);
  assert.ok(JSON.parse(stdout).tools.some(({ name }: Json) => name === 'greet'));
  const words = ['tool', 'call', 'greet', '--input', '{"who":"cli"}'];
  // Nobody's session is one of the terminal tools: it is asked about.
  assert.match((await cli(daemon, words)).stderr, /APPROVAL_REQUIRED/);
  const greeted = await cli(daemon, [...words, '--session', session.id]);
  assert.equal(greeted.stdout, 'hello cli|');
  const wrong = await cli(daemon, ['tool', 'check', path.join(directory, 'broken.yaml')]);
  assert.equal(wrong.code, 1);
  assert.match(wrong.stderr, /broken\.yaml:1:1: the key "description" is missing/);
  const input = await cli(daemon, ['tool', 'call', 'greet', '--input', '[1]']);
  assert.match(input.stderr, /one JSON object/);
});

test('that a program offers is answered by it, as long as it lasts', { skip }, async () => {
  await using client = await connectLocal({ socketPath: daemon.socketPath, ephemeral: false });
  let heard = 0;
  const offer = await client.registerTool({
    name: 'add',
    description: 'Adds numbers.',
    inputSchema: {
      type: 'object',
      properties: { a: { type: 'number' }, b: { type: 'number' } },
      required: ['a', 'b'],
    },
    handler: ({ a, b }) => {
      heard += 1;
      if (a === 0) throw new Error('zero is not added');
      return { sum: Number(a) + Number(b) };
    },
  });
  assert.deepEqual((await call('add', { a: 1, b: 2 })).data.result, { sum: 3 });
  assert.match((await call('add', { a: 1 })).error.message, /"b" is missing/);
  const keyed = { exec_key: 'sum' };
  assert.deepEqual((await call('add', { a: 4, b: 2 }, keyed)).data.result, { sum: 6 });
  const asked = heard;
  assert.deepEqual((await call('add', { a: 4, b: 2 }, keyed)).data.result, { sum: 6 });
  assert.equal(heard, asked);
  const failed = await call('add', { a: 0, b: 1 });
  assert.deepEqual([failed.error.code, failed.data], ['COMMAND_FAILED', undefined]);
  assert.match(failed.error.message, /zero is not added/);
  for (const name of ['add', 'greet', 'terminal']) {
    await assert.rejects(
      client.registerTool({ name, description: 'd', handler: () => null }),
      (error: unknown) =>
        isTrlError(error, 'INVALID_PARAMS') && /the name is taken/.test(error.message),
    );
  }
  // Nobody else answers what was asked of it.
  const stranger = await ask('tool.answer', { call_id: `c-${'0'.repeat(32)}`, result: 1 });
  assert.match(stranger.error.message, /no such call is open here/);
  await offer.close();
  while ((await names()).includes('add')) await new Promise(setImmediate);
  assert.match((await call('add', { a: 1, b: 2 })).error.message, /none is called "add"/);
});

test('of a program is told when nobody waits for its answer any more', { skip }, async () => {
  await using client = await connectLocal({ socketPath: daemon.socketPath, ephemeral: false });
  const events = new EventEmitter();
  const offer = (name: string, timeoutMs: number) =>
    client.registerTool({
      name,
      description: 'Answers when nobody waits any more.',
      timeoutMs,
      handler: async (_, { signal }) => {
        events.emit('begun');
        if (!signal.aborted) await once(signal, 'abort');
        events.emit('over', String(signal.reason?.name));
      },
    });
  await using late = await offer('late', 500);
  await using patient = await offer('patient', 60_000);
  let over = once(events, 'over');
  assert.equal((await call('late')).error.code, 'BACKEND_UNAVAILABLE');
  assert.deepEqual(await over, ['AbortError']);
  const stop = new AbortController();
  over = once(events, 'over');
  void once(events, 'begun').then(() => stop.abort(new Error('enough')));
  await assert.rejects(callRegisteredTool(client, { name: 'patient' }, stop.signal), /enough/);
  await over;
  const begun = once(events, 'begun');
  over = once(events, 'over');
  const cancelled = call('patient', {}, { exec_key: 'mine' });
  await begun;
  await client.cancel({ exec_key: 'mine' });
  const { error } = await cancelled;
  assert.deepEqual([error.code, /was cancelled/.test(error.message)], ['COMMAND_FAILED', true]);
  await over;
  await Promise.all([late.close(), patient.close()]);
});

/** What the daemon says may come a moment later. */
async function logged(daemon: Daemon, wanted: RegExp): Promise<void> {
  await eventually(String(wanted), () => wanted.test(daemon.log()));
  assert.match(daemon.log(), wanted);
}

async function openClient(daemon: Daemon) {
  const { raw } = await import('./support/daemon.ts');
  return raw(daemon.socketPath);
}

async function cli(
  daemon: Daemon,
  args: readonly string[],
): Promise<{ code: number; stdout: string; stderr: string }> {
  const env = {
    ...process.env,
    ...surroundings(daemon.home),
    TRL_SOCKET_PATH: daemon.socketPath,
  };
  try {
    return { code: 0, ...(await promisify(execFile)(trl, [...args], { env, cwd: daemon.root })) };
  } catch (error) {
    const failed: Json = error;
    return { code: failed.code, stdout: failed.stdout, stderr: failed.stderr };
  }
}
