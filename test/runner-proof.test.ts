// What answers at the runner's socket without the key: the daemon sends it no command.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { encodeHeader, FrameReader, frameTypes } from '../src/frame.ts';
import { RunnerLink } from '../src/process/runner-link.ts';
import { controlBytesMax, hmac } from '../src/runner/wire.ts';

const epoch = 7;
const key = randomBytes(32);
const nonce = '1'.repeat(64);
const welcome = { welcome: { pid: 1, journal: 'ram', holds: true } };
const nothing = (): void => {};
const events = {
  exit: nothing,
  progress: nothing,
  waiting: nothing,
  toolCall: nothing,
  hostAsked: () => {},
  lost: nothing,
};

type Messages = readonly object[];

function bytesOf(message: object): Buffer {
  const payload = Buffer.from(JSON.stringify(message));
  return Buffer.concat([encodeHeader(frameTypes.control, 0, 0, payload.length), payload]);
}

/** Opens a link to a runner that sends `answers(nonce of the daemon)` when it is greeted. */
async function openTo(answers: (daemonNonce: string) => Messages): Promise<RunnerLink> {
  const home = mkdtempSync(path.join(tmpdir(), 'trl-proof-'));
  const file = path.join(home, 's');
  const server = createServer((stream) => {
    const reader = new FrameReader(controlBytesMax);
    stream.on('error', nothing);
    stream.on('data', (bytes) => {
      for (const { payload } of reader.push(bytes)) {
        const { hello } = JSON.parse(Buffer.from(payload).toString());
        if (hello !== undefined) for (const one of answers(hello.nonce)) stream.write(bytesOf(one));
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(file, resolve));
  try {
    return await RunnerLink.open(file, { key, epoch }, events);
  } finally {
    server.close();
    rmSync(home, { recursive: true });
  }
}

const proofBy = (own: Uint8Array, daemon: string, of = epoch): string =>
  hmac(own, 'runner', daemon, nonce, String(of));

test('a runner that proves the key is taken', async () => {
  const link = await openTo((daemon) => [
    { hello: { nonce, proof: proofBy(key, daemon) } },
    welcome,
  ]);
  assert.equal(link.pid, 1);
  link.close();
});

const impostors: readonly (readonly [string, (daemon: string) => Messages])[] = [
  ['without a proof', () => [welcome]],
  ['with an empty hello', () => [{ hello: {} }, welcome]],
  [
    'with another key',
    (daemon) => [{ hello: { nonce, proof: proofBy(nonceKey, daemon) } }, welcome],
  ],
  ['of another epoch', (daemon) => [{ hello: { nonce, proof: proofBy(key, daemon, 6) } }, welcome]],
  [
    'with the proof of another greeting',
    () => [{ hello: { nonce, proof: proofBy(key, '2') } }, welcome],
  ],
  [
    'with the daemon’s own words',
    (daemon) => [
      { hello: { nonce, proof: hmac(key, 'daemon', daemon, nonce, String(epoch)) } },
      welcome,
    ],
  ],
];
const nonceKey = randomBytes(32);

for (const [name, answers] of impostors) {
  test(`a runner ${name} is refused`, async () => {
    // Where one is taken, the link is closed, or the test would not end.
    const open = async (): Promise<void> => (await openTo(answers)).close();
    await assert.rejects(open(), { code: 'BACKEND_UNAVAILABLE' });
  });
}
