// Tools over a real runtime: what an agent calls, what it gets, and what it is refused.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import type { Client } from '../src/client/index.ts';
import { connectLocal } from '../src/local/index.ts';
import { builtinTools, callTool, createConversation } from '../src/tools/index.ts';
import type { ToolContext, ToolResult } from '../src/tools/index.ts';
import { startRuntime, type Daemon, type Json } from './support/daemon.ts';
import { withGrowingTimeout } from './support/processes.ts';

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
    sessions: createConversation({ client, root, name: `test ${made}` }),
    ...more,
  };
}

async function call(context: ToolContext, name: string, args: object): Promise<ToolResult> {
  return callTool(context, name, { ...args });
}

/** The data of a result, to look into. */
const dataOf = ({ data }: ToolResult): Json => data;

test('a session keeps its directory for the next command, a project call does not', async () => {
  const context = talk();
  mkdirSync(path.join(daemon.root, 'sub'), { recursive: true });
  const first = dataOf(await call(context, 'terminal', { command: 'cd sub' }));
  assert.equal(first.exit_code, 0, JSON.stringify(first));
  const second = dataOf(await call(context, 'terminal', { command: 'pwd' }));
  assert.equal(second.stdout, `${daemon.root}/sub\n`);
  assert.equal(second.session_id, first.session_id);
  const third = dataOf(await call(context, 'terminal_exec', { command: 'pwd; cd /tmp' }));
  assert.equal(third.stdout, `${daemon.root}\n`);
  // Where it ran is told, not where the session is.
  assert.equal(third.cwd, daemon.root);
  const below = { command: 'pwd', workingDirectory: 'sub' };
  const fourth = dataOf(await call(context, 'terminal_exec', below));
  assert.deepEqual([fourth.stdout, fourth.cwd], [`${daemon.root}/sub\n`, `${daemon.root}/sub`]);
  const same = dataOf(await call(context, 'terminal', { command: 'pwd' }));
  assert.equal(same.stdout, `${daemon.root}/sub\n`);
  // The name finds the session again, as a call that knows nothing of the one before needs it.
  const again = talk({
    sessions: createConversation({ client, root: daemon.root, name: `test ${made}` }),
  });
  const found = dataOf(await call(again, 'terminal', { command: 'pwd' }));
  assert.equal(found.session_id, first.session_id);
  const other = dataOf(await call(again, 'terminal', { command: 'pwd', session_id: 'new' }));
  assert.notEqual(other.session_id, first.session_id);
});

test('a directory that leaves the project, or reads as if it did, is refused', async () => {
  const context = talk();
  const outside = path.join(daemon.home, 'outside');
  mkdirSync(outside, { recursive: true });
  symlinkSync(outside, path.join(daemon.root, 'link'));
  symlinkSync('link', path.join(daemon.root, 'link-to-link'));
  const plain = [
    '..',
    '../',
    'sub/../..',
    './../work/..',
    '../outside',
    '/',
    '/etc',
    outside,
    '//etc',
  ];
  const near = [`${daemon.root}-beside`, `${daemon.root}/../outside`, '/proc/self/root'];
  const linked = [
    'link',
    'link/',
    'link-to-link',
    './link/.',
    '~',
    '~/x',
    '~root',
    '/proc/self/cwd',
  ];
  const alike = ['．．/', '..\u2215..', '．．／etc', '‥', '\u2024\u2024/', '..\u2044..', '..＼..'];
  const coded = ['..\\..', '%2e%2e/', '%252e%252e%252f', '..%2f..', '%2e./'];
  const unseen = ['.\u200b./', '\u202e../', '..\u00ad', '\ufeff..', '.\ufe0f./'];
  const escapes = [...plain, ...near, ...linked, ...alike, ...coded, ...unseen];
  for (const workingDirectory of escapes) {
    const tried = { command: 'ls', workingDirectory };
    const { error } = await call(context, 'terminal_exec', tried);
    assert.equal(error?.code, 'WORKSPACE_ESCAPE', JSON.stringify([workingDirectory, error]));
    const cwd = await call(context, 'terminal', { command: 'ls', cwd: workingDirectory });
    assert.equal(cwd.error?.code, 'WORKSPACE_ESCAPE', JSON.stringify([workingDirectory, cwd]));
  }
  const long = 'x'.repeat(10_240);
  const unfit = ['sub\0', '\0', '', '\ud800', 'missing', long, `${long}/..`, 1, ['sub'], {}];
  for (const workingDirectory of unfit) {
    const tried = { command: 'ls', workingDirectory };
    const { error } = await call(context, 'terminal_exec', tried);
    assert.equal(error?.code, 'INVALID_PARAMS', JSON.stringify([workingDirectory, error]));
    // In the words of the tool, about what was given.
    assert.match(error.message, /^Cannot (call terminal_exec|work in|use working directory)/);
  }
  for (const name of ['a..b', '...', 'ünï', 'a b', '%2e']) {
    mkdirSync(path.join(daemon.root, name), { recursive: true });
    const inside = { command: 'pwd', workingDirectory: name };
    const { stdout } = dataOf(await call(context, 'terminal_exec', inside));
    assert.equal(stdout, `${daemon.root}/${name}\n`);
  }
});

test('no link leads out of the project, on the host or in the session alone', async () => {
  const root = path.join(daemon.root, 'app');
  mkdirSync(path.join(root, 'sub'), { recursive: true });
  mkdirSync(path.join(daemon.root, 'beside'));
  symlinkSync('../beside', path.join(root, 'link'));
  symlinkSync('app', path.join(daemon.root, 'project'));
  for (const project of [root, path.join(daemon.root, 'project')]) {
    const context = talk({ workspace: { root: project } });
    for (const name of ['link', `${project}/link`, 'sub/../link/.']) {
      const tried = await call(context, 'terminal_exec', {
        command: 'pwd',
        workingDirectory: name,
      });
      assert.equal(tried.error?.code, 'WORKSPACE_ESCAPE', JSON.stringify([name, tried.data]));
      const cwd = await call(context, 'terminal', { command: 'pwd', cwd: name });
      assert.equal(cwd.error?.code, 'WORKSPACE_ESCAPE', JSON.stringify([name, cwd.data]));
    }
    const inside = { command: 'pwd -P', workingDirectory: 'sub' };
    const { stdout } = dataOf(await call(context, 'terminal_exec', inside));
    assert.equal(stdout, `${root}/sub\n`);
  }
  // What only the session sees cannot be looked at before it runs.
  const own = { working_dir: root, workspace_mode: 'staged', policy: 'trusted' } as const;
  await using session = await client.createSession(own);
  const shell = (command: string, more: object = {}) =>
    client.call('exec.run', { session_id: session.id, command, ...more });
  await shell('rmdir sub; ln -s ../beside sub');
  const swapped = shell('pwd -P', { cwd: path.join(root, 'sub'), cwd_within: root });
  await assert.rejects(swapped, /Cannot use the working directory/);
});

test('a call that is cancelled while it is asked about leaves no question', async () => {
  for (const background of [false, true]) {
    const over = new AbortController();
    // It is cancelled just when its question is there.
    const watched = new Proxy(client, {
      get: (target, name) => {
        const found: unknown = Reflect.get(target, name, target);
        if (typeof found !== 'function') return found;
        return (...given: unknown[]): unknown => {
          if (name === 'approval') over.abort(new Error('the caller left'));
          return Reflect.apply(found, target, given);
        };
      },
    });
    const context = talk({ client: watched, signal: over.signal, policy: 'guarded' });
    const command = `touch never-${background}`;
    await assert.rejects(call(context, 'terminal', { command, background }), /the caller left/);
    const { approvals } = await client.call('approval.list', {});
    assert.deepEqual(
      approvals.filter(({ asked, state }) => state === 'pending' && asked.command === command),
      [],
    );
  }
});

test('output is cut to 8 KB a stream with counts, and the rest can be read', async () => {
  const context = talk();
  writeFileSync(path.join(daemon.root, 'big'), 'é'.repeat(20_000));
  const cut = dataOf(await call(context, 'terminal_exec', { command: 'cat big big >&2; cat big' }));
  assert.ok(Buffer.byteLength(cut.stdout) <= 8_192 && Buffer.byteLength(cut.stderr) <= 8_192);
  assert.deepEqual(
    [cut.truncated, cut.stdout_bytes, cut.stderr_bytes],
    [true, 40_000, 80_000],
    JSON.stringify(cut),
  );
  assert.equal(cut.stdout_omitted_bytes, 40_000 - Buffer.byteLength(cut.stdout));
  let read = '';
  for (let from = 0; from < 120_000;) {
    const args = { exec_id: cut.exec_id, from, max: 10_001 };
    const piece = dataOf(await call(context, 'terminal_output', args));
    read += piece.output;
    from = piece.next;
  }
  assert.equal(read.replaceAll('\ufffd', '').length + 24 > 60_000, true);
});

test('a command that runs late ends with 124, its partial output and a note', async () => {
  const context = talk();
  // It ignores TERM, so that KILL has to come, a second later.
  const command = "trap '' TERM; echo before; while :; do sleep 1; done";
  for (const [tool, more] of [
    ['terminal', {}],
    ['terminal_exec', { workingDirectory: '.' }],
  ] as const) {
    const late = await withGrowingTimeout(
      300,
      (timeoutMs) => call(context, tool, { command, timeout: timeoutMs / 1_000, ...more }),
      (answer) => dataOf(answer).stdout !== '',
    );
    const data = dataOf(late);
    assert.equal(late.error, undefined);
    assert.deepEqual([data.exit_code, data.timed_out, data.stdout], [124, true, 'before\n']);
    assert.match(data.stderr, /ended after [\d.]+ s, its time-out/);
  }
  const capped = dataOf(await call(context, 'terminal_exec', { command: 'pwd', timeout: 30_000 }));
  assert.match(capped.notes.join(), /120 s, the most there is/);
  assert.equal(capped.exit_code, 0);
});

test('the end of a command in the background is said once, by the next answer', async () => {
  const context = talk();
  const args = { command: 'read -r line; exit 3', background: true };
  const { exec_id: id } = dataOf(await call(context, 'terminal', args));
  // It may be over before the answer that feeds it.
  const fed = await call(context, 'terminal_input', { exec_id: id, eof: true });
  await client.attach(id).drain();
  const later = await call(context, 'terminal', { command: 'echo next' });
  const next = dataOf(fed).ended === undefined ? later : fed;
  const row = { exec_id: id, command: args.command, state: 'exited', exit_code: 3 };
  assert.deepEqual(dataOf(next).ended, [row]);
  assert.match(next.text, new RegExp(`In the background ${id} ended, exit 3: read -r line`));
  assert.equal(dataOf(await call(context, 'terminal_list', {})).ended, undefined);
  // So does an answer that fails; who reads its end there is not told again.
  const second = dataOf(await call(context, 'terminal', { command: 'exit 4', background: true }));
  await client.attach(second.exec_id).drain();
  const failed = second.ended ?? dataOf(await call(context, 'read', { path: 'nowhere' })).ended;
  assert.deepEqual([failed[0].exec_id, failed[0].exit_code], [second.exec_id, 4]);
  const third = dataOf(await call(context, 'terminal', args));
  await call(context, 'terminal_input', { exec_id: third.exec_id, eof: true });
  await client.attach(third.exec_id).drain();
  const read = dataOf(await call(context, 'terminal_output', { exec_id: third.exec_id }));
  assert.deepEqual([read.exit_code, read.ended], [3, undefined]);
});

test('a command in the background is read, fed, listed and ended', async () => {
  const context = talk();
  const begun = dataOf(await call(context, 'terminal', { command: 'cat', background: true }));
  assert.equal(begun.status, 'running');
  const { exec_id } = begun;
  await call(context, 'terminal_input', { exec_id, data: 'one\ntwo\n' });
  const read = dataOf(await call(context, 'terminal_output', { exec_id, wait_ms: 60_000 }));
  assert.equal(read.output, 'one\ntwo\n');
  const found = dataOf(await call(context, 'terminal_output', { exec_id, grep: 'tw' }));
  assert.equal(found.output, 'two\n');
  const listed = dataOf(await call(context, 'terminal_list', { session_id: begun.session_id }));
  assert.deepEqual(
    listed.execs.map((one: Json) => [one.exec_id, one.state]),
    [[exec_id, 'running']],
  );
  assert.deepEqual(dataOf(await call(context, 'terminal_stop', { exec_id })).stopped, [exec_id]);
  const end = await client.attach(exec_id).drain();
  assert.equal(end.stopped, 'cancelled');
});

test('calls of one session wait for each other, and one key runs once', async () => {
  const context = talk();
  const args = { command: 'echo x >> many; sleep 0.2' };
  const both = await Promise.all([
    call(context, 'terminal', { ...args }),
    call(context, 'terminal', { command: 'cat many' }),
  ]);
  assert.deepEqual(
    both.map(({ error }) => error),
    [undefined, undefined],
  );
  const keyed = { ...context, callKey: 'k1' };
  const counted = { command: 'echo x >> counted; cat counted' };
  const first = dataOf(await call(keyed, 'terminal', counted));
  const again = dataOf(await call(keyed, 'terminal', counted));
  assert.deepEqual([again.exec_id, again.stdout], [first.exec_id, 'x\n']);
});

test('the strict tools of a session with a milder policy still pass theirs', async () => {
  const mild = await client.createSession({ working_dir: daemon.root, policy: 'trusted' });
  const asked = talk({ ask: async () => 'later' });
  const args = { script: 'open("never", "w")', session_id: mild.id };
  assert.equal(dataOf(await call(asked, 'python_rpc', args)).status, 'waiting');
  const inProject = await call(asked, 'terminal_exec', { command: 'touch never' });
  assert.equal(dataOf(inProject).status, 'waiting');
  assert.equal(inProject.approval?.state, 'pending');
});

test('the general tools ask about what reaches beyond the sandbox alone', async () => {
  const asked = talk({ ask: async () => 'later' });
  const work = 'mkdir -p made/x; rm -rf made; env | sort | tail -1 >out; eval "echo $((1+1))"';
  const { status, exit_code, stdout } = dataOf(await call(asked, 'terminal', { command: work }));
  assert.deepEqual([status, exit_code, stdout], ['exited', 0, '2\n']);
  const online = await client.createSession({ working_dir: daemon.root, network: 'on' });
  const args = { command: 'true', session_id: online.id };
  assert.equal(dataOf(await call(asked, 'terminal', args)).status, 'waiting');
});

test('secrets are named, and changes shown and checked', async () => {
  const context = talk();
  const missing = dataOf(await call(context, 'secrets', { action: 'check', name: 'NO_SUCH' }));
  assert.equal(missing.state, 'missing');
  const request = { action: 'request', name: 'NO_SUCH', reason: 'to test' };
  assert.equal(dataOf(await call(context, 'secrets', request)).state, 'pending');
  assert.deepEqual(dataOf(await call(context, 'secrets', { action: 'list' })).secrets, []);
  await call(context, 'terminal', { command: 'echo hello > greeting' });
  const { diff } = dataOf(await call(context, 'workspace_diff', {}));
  assert.match(diff, /\+hello/);
  const checked = dataOf(await call(context, 'publish_check', {}));
  assert.equal(checked.decision, 'pass', JSON.stringify(checked));
  const text = dataOf(await call(context, 'publish_check', { kind: 'text', text: 'hello' }));
  assert.equal(text.decision, 'pass');
});

test('what does not fit a schema is refused with a code, and names the argument', async () => {
  const context = talk({ ask: async () => 'deny' });
  let tried = 0;
  for (const { name, input } of builtinTools) {
    const { properties = {}, required = [] }: Json = input;
    const whole = Object.fromEntries(required.map((key: string) => [key, sample(key)]));
    const wrong: object[] = [
      { ...whole, surprise: 1 },
      ...required.map((key: string) => ({ ...whole, [key]: undefined })),
    ];
    for (const key of Object.keys(properties)) {
      for (const value of [{}, [{}], 1e300, -1, 'x'.repeat(1_100_000), 'a\ud800', true, '\0']) {
        // What is sent, or fed to a command, may hold any character.
        const isFree = ['text', 'data', 'content', 'old', 'new'].includes(key) && value === '\0';
        if (isFree || fits(properties[key], value)) continue;
        wrong.push({ ...whole, [key]: value });
      }
    }
    for (const args of wrong) {
      const { error, text } = await call(context, name, JSON.parse(JSON.stringify(args)));
      assert.ok(error !== undefined, `${name} took ${JSON.stringify(args).slice(0, 200)}`);
      const known = ['INVALID_PARAMS', 'SESSION_NOT_FOUND', 'EXEC_NOT_FOUND', 'WORKSPACE_ESCAPE'];
      assert.ok(
        known.includes(error.code),
        `${name} ${JSON.stringify(args).slice(0, 99)}: ${text}`,
      );
      assert.ok(text.length < 1_000, `${name}: ${text.slice(0, 200)}`);
      tried += 1;
    }
  }
  assert.ok(tried > 150, `${tried}`);
  const none = await call(context, 'terminl', {});
  assert.match(none.error?.message ?? '', /did you mean "terminal"/);
});

function sample(key: string): unknown {
  if (key === 'exec_id') return `x-${'0'.repeat(32)}`;
  return key === 'action' ? 'check' : 'pwd';
}

/** Whether a schema, taken loosely, may take the value. */
function fits(schema: Json, value: unknown): boolean {
  if (schema.enum !== undefined) return false;
  const type = Array.isArray(value) ? 'array' : typeof value;
  if (schema.type === 'integer') return type === 'number' && value === 1;
  if (schema.type === 'number') return type === 'number' && value === 1e300;
  if (schema.type === 'array') return false;
  return schema.type === type && value !== 'a\ud800' && value !== '\0' && value !== '';
}

test('one approved script does the work of many calls, each decided by policy', async (t) => {
  if (spawnSync('python3', ['--version']).status !== 0) {
    t.skip('there is no python3');
    return;
  }
  const asked: string[] = [];
  const context = talk({
    ask: async (approval) => {
      asked.push(approval.asked.command);
      return 'approve';
    },
  });
  const script = [
    'import rpc',
    'first = rpc.call("terminal", command="pwd")',
    'print(first["stdout"].strip(), first["exit_code"])',
  ].join('\n');
  const ran = await call(context, 'python_rpc', { script });
  assert.equal(dataOf(ran).stdout, `${daemon.root} 0\n`, ran.text);
  assert.deepEqual(asked, [script]);
});
