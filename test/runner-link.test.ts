// Whoever reaches the runner's socket without the key, or says an old thing twice, gets nothing,
// and what runs does not notice.
import assert from 'node:assert/strict';
import { createHmac, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { collectOutput } from '../src/daemon/executions/read-output.ts';
import { approveByPolicy } from '../src/approval/approve.ts';
import type { ExecId, Plan } from '../src/command.ts';
import { encodeHeader, FrameReader, frameTypes } from '../src/frame.ts';
import { launch } from '../src/process/launch.ts';
import type { RunnerLink } from '../src/process/runner-link.ts';
import { allowVerdict } from '../src/policy/verdict.ts';
import { openRunner } from '../src/process/runner.ts';
import { resolveBounds } from '../src/session/bounds.ts';
import { newExecId, newSessionId } from '../src/session/record.ts';
import { startRuntime, type Json } from './support/daemon.ts';
import { noneLeft, processesNamed, runnerPid, runnerRecord } from './support/processes.ts';
import { openSession } from './support/session.ts';

const hmac = (key: Buffer, ...parts: string[]): string =>
  createHmac('sha256', key).update(parts.join('\n')).digest('hex');

/** Someone at the socket who says what they like. */
class Stranger implements Disposable {
  readonly socket: Socket;
  readonly heard: Json[] = [];
  readonly #reader = new FrameReader(1 << 24);
  readonly ended: Promise<void>;
  #wake = (): void => {};

  constructor(file: string) {
    this.socket = connect(file);
    this.socket.on('data', (bytes) => {
      for (const { payload } of this.#reader.push(Buffer.from(bytes))) {
        this.heard.push(JSON.parse(Buffer.from(payload).toString('utf8')));
      }
      this.#wake();
    });
    // A reset is an answer, too.
    this.socket.on('error', () => {});
    this.ended = new Promise((resolve) => {
      this.socket.once('close', () => {
        resolve();
        this.#wake();
      });
    });
  }

  say(message: object): void {
    const payload = Buffer.from(JSON.stringify(message));
    this.socket.write(encodeHeader(frameTypes.control, 0, 0, payload.length));
    this.socket.write(payload);
  }

  async hear(): Promise<Json> {
    while (this.heard.length === 0 && !this.socket.closed) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return this.heard.shift();
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }
}

const hello = (epoch: unknown, nonce = 'a'.repeat(64), versions: unknown = [5]) => ({
  hello: { versions, epoch, nonce },
});

test('strangers at the socket are refused, and a running command does not notice', async () => {
  await using daemon = await startRuntime();
  const params = { sandbox: 'none', working_dir: daemon.root };
  await using session = await openSession(daemon.socketPath, params);
  const follower = session.client;
  const command = 'i=0; until [ -e stop ]; do i=$((i+1)); echo $i; sleep 0.02; done; exit 7';
  await follower.ask('exec.stream', { session_id: session.id, command });
  const { dir, key: hex, epoch } = runnerRecord(daemon);
  const key = Buffer.from(hex, 'hex');
  const file = path.join(dir, 'runner.sock');
  const runner = runnerPid(daemon);

  const idle = Array.from({ length: 200 }, () => new Stranger(file));
  await Promise.all(idle.map(({ socket }) => once(socket, 'connect')));

  const header = (length: number, type = 0): Uint8Array => encodeHeader(type, 0, 0, length);
  const said: readonly (readonly [string, (stranger: Stranger) => void])[] = [
    ['garbage', ({ socket }) => socket.write(randomBytes(100_000))],
    ['a frame of 100 MB', ({ socket }) => socket.write(header(100_000_000))],
    ['an output frame', ({ socket }) => socket.write(header(4, 1)) && socket.write('abcd')],
    ['an unknown type', ({ socket }) => socket.write(header(0, 9))],
    ['no JSON', ({ socket }) => socket.write(header(4)) && socket.write('abcd')],
    ['null', (stranger) => stranger.socket.write(header(4)) && stranger.socket.write('null')],
    ['a request before a hello', (stranger) => stranger.say({ n: 1, op: 'list' })],
    ['a nonce that is none', (stranger) => stranger.say(hello(epoch + 1, 'x'))],
    ['an epoch that is none', (stranger) => stranger.say(hello('1'))],
    ['no version in common', (stranger) => stranger.say(hello(epoch + 1, 'a'.repeat(64), [99]))],
    ['half a frame', ({ socket }) => socket.end(header(50))],
  ];
  for (const [name, say] of said) {
    using stranger = new Stranger(file);
    say(stranger);
    await stranger.ended;
    assert.deepEqual(stranger.heard, [], name);
  }
  const wrong = randomBytes(32);
  const proofs: readonly (readonly [string, number, Buffer])[] = [
    ['a wrong key', epoch + 5, wrong],
    ['the epoch in use', epoch, key],
    ['an older epoch', epoch - 1, key],
    ['a negative epoch', -5, key],
  ];
  for (const [name, at, secret] of proofs) {
    using stranger = new Stranger(file);
    const nonce = randomBytes(32).toString('hex');
    stranger.say(hello(at, nonce));
    const theirs = await stranger.hear();
    assert.equal(theirs.hello.proof, hmac(key, 'runner', nonce, theirs.hello.nonce, String(at)));
    stranger.say({ proof: hmac(secret, 'daemon', theirs.hello.nonce, nonce, String(at)) });
    stranger.say({ n: 1, op: 'shutdown' });
    await stranger.ended;
    // The reason may be lost with the connection.
    const others = stranger.heard.filter((one) => typeof one.refused !== 'string');
    assert.deepEqual(others, [], name);
  }
  {
    // The runner's own proof sent back to it, and one of another connection.
    using stranger = new Stranger(file);
    stranger.say(hello(epoch + 5));
    const theirs = await stranger.hear();
    stranger.say({ proof: theirs.hello.proof });
    await stranger.ended;
    assert.deepEqual(stranger.heard, []);
  }

  await Promise.all(idle.map(({ ended }) => ended));
  writeFileSync(path.join(daemon.root, 'stop'), '');
  const counted: string[] = [];
  for (;;) {
    const event = await follower.json();
    if (event.stream === 'exit') {
      assert.equal(event.exit_code, 7);
      break;
    }
    counted.push(...event.data.split('\n').filter(Boolean));
  }
  assert.ok(counted.length > 3);
  assert.deepEqual(
    counted,
    counted.map((_, at) => String(at + 1)),
  );
  assert.equal(runnerPid(daemon), runner);
});

/** What no typed daemon would ask. */
const unchecked = (value: Json): Json => value;

/** A command outside a sandbox: what matters here is who may have it run. */
function planOf(command: string): Plan {
  return {
    exec_id: newExecId(),
    session_id: newSessionId(),
    command,
    argv: null,
    shell: { path: '/bin/sh', dialect: 'posix' },
    cwd: null,
    cwd_fallback: '/',
    env: { PATH: '/usr/bin:/bin' },
    command_env: {},
    carry: 'none',
    mode: 'detached',
    stdin: { kind: 'closed' },
    pty: null,
    bounds: resolveBounds({}, 'detached'),
    box: { kind: 'none' },
  };
}

const redactionStart = {
  key: '00'.repeat(32),
  profile: 'balanced',
  thresholds: {},
  patterns: [],
} as const;

/** A runner without a daemon, and a place where commands leave signs. */
async function runnerAlone() {
  const home = mkdtempSync(path.join(tmpdir(), 'trl-link-'));
  const program = path.join(import.meta.dirname, '../dist/runner.js');
  const options = {
    stateDir: home,
    env: {},
    journalsBytes: 1 << 20,
    commandsMax: 16,
    sessionsMax: 64,
    lingerMs: 5_000,
    program,
    redaction: redactionStart,
  };
  const exits = new Map<ExecId, () => void>();
  const open = () =>
    openRunner(options, {
      exit: ({ exec_id: id }) => exits.get(id)?.(),
      waiting: () => {},
      progress: () => {},
      toolCall: () => {},
      hostAsked: () => {},
      lost: () => {},
    });
  const { link, dir } = await open();
  return {
    open,
    dir,
    link,
    sign: (name: string) => path.join(home, name),
    exited: (id: ExecId) => new Promise<void>((resolve) => exits.set(id, resolve)),
    end: async (last: RunnerLink) => {
      await last.request('shutdown', {}).catch(() => {});
      last.close();
      const left = await noneLeft(() => processesNamed(new RegExp(dir)));
      rmSync(home, { recursive: true });
      assert.deepEqual([left, existsSync(dir)], [[], false]);
    },
  };
}

test('what is held runs when it is permitted, and never without', async () => {
  const alone = await runnerAlone();
  const { link, sign } = alone;
  const held = (name: string) => {
    const plan = planOf(`echo x >>${sign(name)}`);
    const sealed = link.seal(approveByPolicy(plan, allowVerdict('test', 'is held')));
    const launched = link.request('launch', { ...sealed, known: [], hold: true });
    launched.catch(() => {});
    return { id: plan.exec_id, launched };
  };
  const say = (id: ExecId, start: boolean) => link.request('permit', { exec_id: id, start });
  assert.equal(link.canPrepare, true);
  const [first, second, third] = [held('first'), held('second'), held('third')];
  const done = alone.exited(second.id);
  await say(second.id, true);
  await Promise.all([second.launched, done]);
  await say(first.id, false);
  await assert.rejects(first.launched, { code: 'BACKEND_UNAVAILABLE' });
  // A word for what is not held, or was refused, starts nothing.
  await say(first.id, true);
  await say(newExecId(), true);
  const next = await alone.open();
  await assert.rejects(third.launched, { code: 'BACKEND_UNAVAILABLE' });
  await next.link.request('permit', { exec_id: third.id, start: true });
  const answer: Json = await next.link.request('list', {});
  assert.deepEqual(
    answer.executions.map(({ exec_id: id }: Json) => id),
    [second.id],
  );
  const left = ['first', 'second', 'third'].filter((name) => existsSync(sign(name)));
  assert.deepEqual(left, ['second']);
  await alone.end(next.link);
});

test('a command whose record did not reach the disk never runs', async () => {
  const alone = await runnerAlone();
  const { link, sign } = alone;
  const begin = (name: string, permitted: Promise<unknown>) => {
    const plan = planOf(`echo x >>${sign(name)}`);
    const options = { known: [], own: false, committed: permitted };
    const approved = approveByPolicy(plan, allowVerdict('test', 'is recorded'));
    return { done: alone.exited(plan.exec_id), launched: launch(link, approved, options) };
  };
  const recorded = Promise.withResolvers<void>();
  const waiting = begin('waiting', recorded.promise);
  const refused = begin('refused', Promise.reject(new Error('the disk is full')));
  await assert.rejects(refused.launched, /the disk is full/);
  const other = begin('other', Promise.resolve());
  await Promise.all([other.launched, other.done]);
  const there = () => ['waiting', 'refused', 'other'].filter((name) => existsSync(sign(name)));
  assert.deepEqual(there(), ['other']);
  recorded.resolve();
  await Promise.all([waiting.launched, waiting.done]);
  assert.deepEqual(there(), ['waiting', 'other']);
  const listed: Json = await link.request('list', {});
  assert.equal(listed.executions.length, 2);
  await alone.end(link);
});

test('what is made ready counts, learns what is secret, and ends with its session', async () => {
  const alone = await runnerAlone();
  const { link, sign } = alone;
  const value = 'correct-horse-battery-9';
  const plans = Array.from({ length: 20 }, (_, at) => planOf(`echo ${value}; : >${sign(`${at}`)}`));
  const held = plans.map((plan) => {
    const sealed = link.seal(approveByPolicy(plan, allowVerdict('test', 'is held')));
    return link.request('launch', { ...sealed, known: [], hold: true });
  });
  const ends = Promise.allSettled(held);
  const [first, second] = plans;
  assert.ok(first && second);
  const done = alone.exited(first.exec_id);
  await link.request('learn', { known: [{ name: 'LATE', value }] });
  await link.request('permit', { exec_id: first.exec_id, start: true });
  await Promise.all([held[0], done]);
  const said = await collectOutput(link, first.exec_id, 1_024);
  assert.match(said.stdout.result().text, /^\[HIDDEN:\w+\]\n$/);
  // Withdrawn at once, though nobody said a word of it; a late word is too late.
  await link.request('close', { session_id: second.session_id });
  await assert.rejects(held[1] ?? ends, { code: 'BACKEND_UNAVAILABLE' });
  for (const { exec_id: id } of plans) {
    await link.request('permit', { exec_id: id, start: true });
  }
  const codes: Json[] = (await ends).map((one) =>
    one.status === 'rejected' ? one.reason.code : '',
  );
  const count = (code: string): number => codes.filter((one) => one === code).length;
  assert.deepEqual([count('BACKEND_UNAVAILABLE'), count('QUOTA_EXCEEDED'), count('')], [1, 4, 15]);
  assert.equal(existsSync(sign('1')), false);
  await alone.end(link);
});

test('a plan runs once, unchanged, for the daemon that sealed it', async () => {
  const alone = await runnerAlone();
  const { link, sign } = alone;
  const good = planOf(`echo x >>${sign('good')}`);
  const sealed = (plan: Plan) =>
    link.seal(approveByPolicy(plan, allowVerdict('test', 'is sealed')));
  const refused = async (name: string, request: object): Promise<void> => {
    const answer = link.request('launch', unchecked({ known: [], ...request }));
    await assert.rejects(answer, { code: 'AUTH_FAILED' }, name);
  };
  const seal = sealed(good);
  const { plan: text, mac, box = '' } = seal;
  await refused('no MAC', { ...seal, mac: undefined });
  await refused('no number', { ...seal, seq: undefined });
  await refused('no plan', { ...seal, plan: undefined });
  await refused('a wrong MAC', { ...seal, mac: 'a'.repeat(64) });
  const evil = text.replace('echo x >>', 'touch ');
  await refused('a plan altered after it was sealed', { ...seal, plan: evil });
  const other = text.replace(good.exec_id, newExecId());
  await refused('the seal of another execution', { ...seal, plan: other });
  await refused('another number', { ...seal, seq: seal.seq + 1 });
  await refused('half a MAC', { ...seal, mac: mac.slice(0, 32) });
  await refused('another sandbox', { ...sealed(good), box: '{"kind":"none" }' });
  await refused('a sandbox that nobody sent', sealed(good));

  const done = alone.exited(good.exec_id);
  const launched = { ...sealed(good), box };
  await link.request('launch', { ...launched, known: [] });
  await done;
  await refused('the same launch again', launched);
  const later = planOf('true');
  const first = sealed(later);
  const newest = planOf('true');
  await link.request('launch', { ...sealed(newest), known: [] });
  await refused('an older number', first);
  const stale = sealed(later);

  const next = await alone.open();
  assert.equal(next.adopted, true);
  const again = next.link.request('launch', { ...stale, known: [] });
  await assert.rejects(again, { code: 'AUTH_FAILED' }, 'the seal of an older epoch');
  const late = link.request('list', {});
  await assert.rejects(late, { code: 'BACKEND_UNAVAILABLE' }, 'the older connection');
  const unknown = next.link.request(unchecked('nonsense'), {});
  await assert.rejects(unknown, { code: 'INVALID_PARAMS' });
  const listed: Json = await next.link.request('list', {});
  const ids = listed.executions.map(({ exec_id: id }: Json) => id);
  assert.deepEqual(ids, [good.exec_id, newest.exec_id]);
  assert.deepEqual([existsSync(sign('good')), existsSync(sign('evil'))], [true, false]);
  await alone.end(next.link);
});
