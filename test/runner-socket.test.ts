// The runner's end of its socket: who is let in, and which plans are taken.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { Duplex } from 'node:stream';
import { test } from 'node:test';
import { encodeHeader, FrameReader, frameTypes } from '../src/frame.ts';
import {
  DaemonConnection,
  sha256OfText,
  type RunnerGate,
} from '../src/runner/daemon-connection.ts';
import { parseOperationParams } from '../src/runner/operations.ts';
import type { RunnerService } from '../src/runner/serve-request.ts';
import { controlBytesMax, hmac } from '../src/runner/wire.ts';
import type { Json } from './support/daemon.ts';

const nonce = 'd'.repeat(64);
const failed = { code: 'AUTH_FAILED' };

/** One runner: what its connections share, and what it was told. */
class Door {
  readonly told: string[] = [];
  readonly gate: RunnerGate = { key: randomBytes(32), epoch: 4, current: null };

  enter(): Caller {
    // Of what the runner keeps, a list is all that these requests look at.
    const keep: Json = { executions: new Map() };
    const served: RunnerService = {
      pool: keep,
      ports: keep,
      welcome: () => ({ pid: 1 }),
      onAuthenticated: () => void this.told.push('opened'),
      onDisconnected: () => void this.told.push('gone'),
      shutdown: async () => {},
    };
    return new Caller(this.gate, served);
  }
}

/** A daemon, or somebody else, at the other end. */
class Caller {
  readonly link: DaemonConnection;
  readonly heard: Json[] = [];
  readonly #stream: Duplex;
  readonly #gate: RunnerGate;

  constructor(gate: RunnerGate, served: RunnerService) {
    const reader = new FrameReader(controlBytesMax);
    this.#gate = gate;
    this.#stream = new Duplex({
      read: () => {},
      write: (bytes: Buffer, _encoding, done) => {
        for (const { payload } of reader.push(bytes)) {
          this.heard.push(JSON.parse(Buffer.from(payload).toString()));
        }
        done();
      },
    });
    this.link = new DaemonConnection(this.#stream, gate, served);
  }

  /** Says it, and waits until all that comes at once has come. */
  async say(message: unknown, type: number = frameTypes.control): Promise<void> {
    const payload = Buffer.from(JSON.stringify(message));
    this.#stream.push(Buffer.concat([encodeHeader(type, 0, 0, payload.length), payload]));
    await new Promise<void>((resolve) => setImmediate(resolve));
  }

  /** Greets and proves the key. */
  async prove(epoch: number): Promise<void> {
    await this.say({ hello: { versions: [4, 5, 6], epoch, nonce } });
    const theirs = this.heard.shift();
    const words = ['daemon', theirs?.hello.nonce ?? '', nonce, String(epoch)] as const;
    await this.say({ proof: hmac(this.#gate.key, ...words) });
  }

  get isEnded(): boolean {
    return this.#stream.destroyed;
  }
}

test('who proves the key is welcome', async () => {
  const door = new Door();
  const caller = door.enter();
  await caller.say({ hello: { versions: [4, 5, 6], epoch: 5, nonce } });
  const { hello } = caller.heard[0] ?? {};
  assert.match(hello.nonce, /^[0-9a-f]{64}$/);
  const proof = hmac(door.gate.key, 'runner', nonce, hello.nonce, '5');
  assert.deepEqual(caller.heard, [{ hello: { version: 5, nonce: hello.nonce, proof } }]);
  assert.deepEqual([door.told, door.gate.epoch, door.gate.current], [[], 4, null]);
  await caller.say({ proof: hmac(door.gate.key, 'daemon', hello.nonce, nonce, '5') });
  assert.deepEqual(caller.heard[1], { welcome: { pid: 1 } });
  assert.deepEqual([door.told, door.gate.epoch], [['opened'], 5]);
  assert.equal(door.gate.current, caller.link);
  caller.link.end();
});

const greeting = { versions: [5], epoch: 5, nonce };
const notGreetings: readonly (readonly [string, unknown])[] = [
  ['a text', 'hello'],
  ['nothing', null],
  ['no hello', { n: 1, op: 'list' }],
  ['a hello that is nothing', { hello: null }],
  ['a hello that is a text', { hello: 'hello' }],
  ['no nonce', { hello: { ...greeting, nonce: undefined } }],
  ['a short nonce', { hello: { ...greeting, nonce: nonce.slice(1) } }],
  ['a long nonce', { hello: { ...greeting, nonce: `${nonce}d` } }],
  ['a nonce that is 64 numbers', { hello: { ...greeting, nonce: Array.from(nonce, () => 1) } }],
  ['an epoch that is a text', { hello: { ...greeting, epoch: '5' } }],
  ['an epoch between two', { hello: { ...greeting, epoch: 5.5 } }],
  ['no versions', { hello: { ...greeting, versions: undefined } }],
  ['versions that are a text', { hello: { ...greeting, versions: '5' } }],
  ['another version', { hello: { ...greeting, versions: [4, 6] } }],
];
for (const [name, message] of notGreetings) {
  test(`a greeting that is none gets no word: ${name}`, async () => {
    const door = new Door();
    const caller = door.enter();
    await caller.say(message);
    assert.deepEqual([caller.heard, caller.isEnded, door.told], [[], true, []]);
  });
}

test('output does not come in', async () => {
  const caller = new Door().enter();
  await caller.say({ hello: greeting }, frameTypes.stdout);
  assert.deepEqual([caller.heard, caller.isEnded], [[], true]);
});

test('what does not prove the key is not let in', async () => {
  const door = new Door();
  const wrong = (proof: unknown) => async (): Promise<void> => {
    const caller = door.enter();
    await caller.say({ hello: greeting });
    const theirs = caller.heard.shift();
    await caller.say({ proof: typeof proof === 'function' ? proof(theirs) : proof });
    assert.deepEqual([caller.heard, caller.isEnded], [[], true]);
  };
  await wrong(undefined)();
  await wrong('')();
  await wrong('0'.repeat(64))();
  await wrong(Array.from({ length: 64 }, () => '0'))();
  await wrong(({ hello }: Json) => hello.proof)();
  const { key } = door.gate;
  await wrong(({ hello }: Json) => hmac(key, 'runner', hello.nonce, nonce, '5'))();
  await wrong(({ hello }: Json) => hmac(key, 'daemon', nonce, hello.nonce, '5'))();
  await wrong(({ hello }: Json) => hmac(key, 'daemon', hello.nonce, nonce, '6'))();
  assert.deepEqual([door.told, door.gate.epoch, door.gate.current], [[], 4, null]);
});

test('an epoch that is not above the last one is refused', async () => {
  const door = new Door();
  for (const epoch of [4, 3, -1]) {
    const caller = door.enter();
    await caller.prove(epoch);
    assert.deepEqual(caller.heard, [{ refused: `epoch ${epoch} is not above 4` }]);
    assert.equal(caller.isEnded, true);
  }
  assert.deepEqual(door.told, []);
});

test('a newer daemon takes the place of the older one', async () => {
  const door = new Door();
  const [older, newer] = [door.enter(), door.enter()];
  await older.prove(5);
  await newer.prove(6);
  assert.deepEqual([older.isEnded, newer.isEnded], [true, false]);
  assert.deepEqual(door.told, ['opened', 'gone', 'opened']);
  assert.equal(door.gate.current, newer.link);
  older.link.event({ event: 'exit' });
  assert.equal(older.heard.length, 1, 'it hears no more');
  newer.link.end();
  newer.link.end();
  assert.deepEqual(door.told, ['opened', 'gone', 'opened', 'gone']);
  assert.equal(door.gate.current, null);
});

test('who does not prove the key in five seconds is left; who did is not', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const door = new Door();
  const [silent, greeted, proven] = [door.enter(), door.enter(), door.enter()];
  await greeted.say({ hello: greeting });
  await proven.prove(5);
  t.mock.timers.tick(4_999);
  assert.deepEqual([silent.isEnded, greeted.isEnded, proven.isEnded], [false, false, false]);
  t.mock.timers.tick(1);
  assert.deepEqual([silent.isEnded, greeted.isEnded, proven.isEnded], [true, true, false]);
  assert.deepEqual(door.told, ['opened']);
  proven.link.end();
});

test('a daemon that leaves is gone once', async () => {
  const door = new Door();
  const caller = door.enter();
  await caller.prove(5);
  const held = caller.link.pendingLaunches.waitForCommit('x-1');
  caller.link.end();
  assert.equal(await held, false, 'nothing that is held starts any more');
  assert.deepEqual(door.told, ['opened', 'gone']);
});

test('a request is answered by its number, also where it fails', async () => {
  const door = new Door();
  const caller = door.enter();
  await caller.prove(5);
  caller.heard.splice(0);
  await caller.say({ n: 7, op: 'list' });
  await caller.say({ n: 8, op: 'info', exec_id: 'x-9' });
  await caller.say({ n: 9, op: 'launch' });
  assert.deepEqual(
    caller.heard.map(({ n, ok, code, message }) => [n, ok, code ?? null, message ?? null]),
    [
      [7, true, null, null],
      [8, false, 'EXEC_NOT_FOUND', 'Cannot find execution x-9'],
      [9, false, 'AUTH_FAILED', 'Cannot serve the daemon: "plan" of "launch" is wrong'],
    ],
  );
  // One that comes late, when a newer daemon has proved itself elsewhere.
  door.gate.epoch = 6;
  await caller.say({ n: 10, op: 'list' });
  const { n, ok, code, message, data } = caller.heard.at(-1) ?? {};
  assert.deepEqual([n, ok, code, message], [10, false, 'AUTH_FAILED', 'an older epoch']);
  assert.equal(data, undefined);
  caller.link.end();
});

test('a plan is taken once, with its MAC, its number and its box', async () => {
  const door = new Door();
  const caller = door.enter();
  await caller.prove(5);
  const box = JSON.stringify({ kind: 'none' });
  const plan = JSON.stringify({ exec_id: 'x-1', command: 'true', box: sha256OfText(box) });
  const { key } = door.gate;
  const macOf = (seq: unknown, of = plan, epoch = '5'): string =>
    hmac(key, 'plan', sha256OfText(of), 'x-1', epoch, String(seq));
  const refused = (sealed: Record<string, unknown>): void => {
    const launch = { ...sealed, known: [] };
    assert.throws(() => caller.link.verify(parseOperationParams('launch', launch)), failed);
  };
  refused({ seq: 1, mac: macOf(1), box });
  refused({ plan, seq: 1, box });
  refused({ plan, seq: 1, mac: '0'.repeat(64), box });
  refused({ plan: plan.replace('true', 'false'), seq: 1, mac: macOf(1), box });
  refused({ plan: plan.replace('x-1', 'x-2'), seq: 1, mac: macOf(1, plan.replace('1', '2')), box });
  refused({ plan, seq: 2, mac: macOf(1), box });
  refused({ plan, seq: 1, mac: macOf(1, plan, '4'), box });
  refused({ plan, seq: '1', mac: macOf('1'), box });
  refused({ plan, seq: 0, mac: macOf(0), box });
  // Used up, whatever comes with it: the box is not the one that was approved.
  refused({ plan, seq: 1, mac: macOf(1), box: JSON.stringify({ kind: 'other' }) });
  refused({ plan, seq: 1, mac: macOf(1), box });
  refused({ plan, seq: 2, mac: macOf(2) });
  const wanted = { exec_id: 'x-1', command: 'true', box: { kind: 'none' } };
  assert.deepEqual(caller.link.verify({ plan, seq: 3, mac: macOf(3), box }), wanted);
  refused({ plan, seq: 3, mac: macOf(3), box });
  refused({ plan, seq: 2, mac: macOf(2), box });
  // A box that came before need not come again.
  assert.deepEqual(caller.link.verify({ plan, seq: 9, mac: macOf(9) }), wanted);
  caller.link.end();
});

test('what is sent together leaves in its order', async () => {
  const door = new Door();
  const caller = door.enter();
  await caller.prove(5);
  caller.heard.splice(0);
  caller.link.batch(() => {
    caller.link.event({ event: 'one' });
    caller.link.event({ event: 'two' });
  });
  await new Promise<void>((resolve) => setImmediate(resolve));
  assert.deepEqual(caller.heard, [{ event: 'one' }, { event: 'two' }]);
  assert.equal(sha256OfText('a'), createHash('sha256').update('a').digest('hex'));
  caller.link.end();
});
