// The TypeScript client against a real daemon. `sandbox: none` where the sandbox is not the point.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { after, before, test } from 'node:test';
import { isTrlError } from '../src/client/index.ts';
import { connectLocal } from '../src/local/index.ts';
import type { Client, ExecStream, Session } from '../src/client/index.ts';
import { startRuntime } from './support/daemon.ts';
import type { Daemon } from './support/daemon.ts';
import { withGrowingTimeout } from './support/processes.ts';

const client_ts = path.join(path.dirname(import.meta.dirname), 'src/local/index.ts');
let daemon: Daemon;
before(async () => {
  daemon = await startRuntime();
});
after(() => daemon.stop());

async function open(
  frames: 'json' | 'bin' = 'bin',
  socketPath = daemon.socketPath,
): Promise<AsyncDisposable & { client: Client; session: Session }> {
  const client = await connectLocal({ socketPath, frames });
  const session = await client.createSession({ working_dir: daemon.root, sandbox: 'none' });
  return {
    client,
    session,
    [Symbol.asyncDispose]: async () => {
      await session.destroy({ force: true });
      await client.close();
    },
  };
}

/** Everything one stream said, in order. */
async function textOf(stream: ExecStream): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const event of stream) {
    assert.notEqual(event.type, 'gap');
    if (event.type === 'output') {
      parts.push(event.bytes);
    }
  }
  return Buffer.concat(parts).toString();
}

/** Settles once `holds` does; the test's own time-out bounds it. */
async function eventually(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) {
    await delay(5);
  }
}

/** A way to the daemon that can be cut. */
async function cuttable(): Promise<AsyncDisposable & { socketPath: string; cut(): void }> {
  const socketPath = path.join(daemon.home, `cut-${process.hrtime.bigint()}.sock`);
  const sides = new Set<net.Socket>();
  const server = net.createServer((near) => {
    const far = net.connect(daemon.socketPath);
    for (const side of [near, far]) {
      sides.add(side);
      side.on('error', () => {}).on('close', () => sides.delete(side));
    }
    near.pipe(far).pipe(near);
  });
  server.listen(socketPath);
  await once(server, 'listening');
  const cut = (): void => {
    for (const side of sides) {
      side.destroy();
    }
  };
  return {
    socketPath,
    cut,
    [Symbol.asyncDispose]: async () => {
      cut();
      server.close();
      await once(server, 'close');
    },
  };
}

for (const frames of ['bin', 'json'] as const) {
  test(`a command's receipt is an answer whatever its exit code (${frames})`, async () => {
    await using opened = await open(frames);
    const receipt = await opened.session.run('echo out; echo err >&2; exit 3');
    const { stdout, stderr, exit_code: code, timed_out: late } = receipt;
    assert.deepEqual([stdout, stderr, code, late], ['out\n', 'err\n', 3, false]);
  });

  test(`a stream and its collected receipt are what the command wrote (${frames})`, async () => {
    await using opened = await open(frames);
    const wanted = `${Array.from({ length: 50_000 }, (_, at) => at + 1).join('\n')}\n`;
    assert.equal(await textOf(opened.session.stream('seq 50000')), wanted);
    const receipt = await opened.session.stream('seq 50000').collect();
    assert.equal(receipt.stdout, wanted);
    const binary = await opened.session.stream(String.raw`printf '\377\000x'`).collect();
    assert.deepEqual([binary.stdout, binary.stdout_encoding], ['/wB4', 'base64']);
  });
}

test('a time-out is an answer with the partial output', async () => {
  await using opened = await open();
  const receipt = await withGrowingTimeout(
    300,
    (timeout_ms) => opened.session.run('echo begun; sleep 900', { timeout_ms }),
    ({ stdout }) => stdout !== '',
  );
  const { stdout, exit_code: code, timed_out: late } = receipt;
  assert.deepEqual([stdout, code, late], ['begun\n', 124, true]);
});

test('an error has the code of the daemon', async () => {
  await using opened = await open();
  const gone = opened.client.session(`s-${'0'.repeat(32)}`);
  await assert.rejects(gone.run('true'), (error) => isTrlError(error, 'SESSION_NOT_FOUND'));
  const stream = gone.stream('true');
  await assert.rejects(textOf(stream), (error) => isTrlError(error, 'SESSION_NOT_FOUND'));
  await assert.rejects(stream.exit, (error) => isTrlError(error, 'SESSION_NOT_FOUND'));
});

test('a stream goes on through lost connections, with nothing lost and nothing twice', async () => {
  await using way = await cuttable();
  await using opened = await open('bin', way.socketPath);
  const stream = opened.session.stream('for i in $(seq 100); do echo $i; sleep 0.01; done; exit 4');
  let text = '';
  let events = 0;
  for await (const event of stream) {
    assert.equal(event.type, 'output');
    if (event.type === 'output') {
      assert.equal(event.offset, text.length);
      text += Buffer.from(event.bytes).toString();
      events += 1;
      if (events % 10 === 0) {
        way.cut();
      }
    }
  }
  assert.equal(text, `${Array.from({ length: 100 }, (_, at) => at + 1).join('\n')}\n`);
  assert.equal((await stream.exit).exit_code, 4);
});

test('a command whose connection is lost runs once and its receipt arrives', async () => {
  await using way = await cuttable();
  await using opened = await open('bin', way.socketPath);
  const file = path.join(daemon.root, `runs-${process.hrtime.bigint()}`);
  const running = opened.session.run(`echo run >> ${file}; sleep 1; cat ${file}`);
  await eventually(async () => {
    return (await opened.client.execs(opened.session.id).catch(() => [])).length > 0;
  });
  way.cut();
  assert.equal((await running).stdout, 'run\n');
});

test('an abort ends the wait and the command', async () => {
  await using opened = await open();
  const { client, session } = opened;
  const aborted = { name: 'AbortError' };
  const stop = new AbortController();
  const running = session.run('sleep 60', { signal: stop.signal });
  await eventually(async () => (await client.execs(session.id)).length > 0);
  stop.abort();
  await assert.rejects(running, aborted);
  const streaming = new AbortController();
  const second = session.start('sleep 61');
  const stream = client.attach(await second, { signal: streaming.signal, cancelOnAbort: true });
  streaming.abort();
  await assert.rejects(stream.exit, aborted);
  await eventually(async () => {
    return (await client.execs(session.id)).every(({ state }) => state === 'exited');
  });
});

test('disposing a stream ends its command; leaving its loop does not', async () => {
  await using opened = await open();
  let id;
  {
    await using stream = opened.session.stream('echo begun; sleep 60');
    id = await stream.execId;
    for await (const _begun of stream) {
      break;
    }
  }
  const end = await opened.client.attach(id).drain();
  assert.equal(end.stopped, 'cancelled');
  const left = opened.session.stream('echo first; seq 100000; exit 5');
  for await (const _first of left) {
    break;
  }
  assert.equal((await left.exit).exit_code, 5);
});

test('a reader that pauses gets every byte and holds little', async () => {
  await using opened = await open();
  const stream = opened.session.stream('head -c 30000000 /dev/zero');
  let bytes = 0;
  for await (const event of stream) {
    if (event.type === 'output') {
      if (bytes === 0) {
        await delay(300);
      }
      bytes += event.bytes.length;
    }
  }
  assert.equal(bytes, 30_000_000);
});

test('collecting keeps head and tail and counts the rest', async () => {
  await using opened = await open();
  const receipt = await opened.session.stream('seq 100000').collect({ outputBytes: 20 });
  assert.equal(receipt.stdout, '1\n2\n3\n4\n5\n99\n100000\n');
  assert.deepEqual([receipt.truncated, receipt.stdout_omitted_bytes], [true, 588_895 - 20]);
});

test('input that is written reaches the command', async () => {
  await using opened = await open();
  const stream = opened.session.stream('tr a-z A-Z', { stdin_open: true });
  const exec_id = await stream.execId;
  await opened.client.write({ exec_id, data: 'ab' });
  await opened.client.write({ exec_id, data: 'Y2Q=', encoding: 'base64', eof: true });
  assert.equal(await textOf(stream), 'ABCD');
});

test('a detached command is followed and read by offset', async () => {
  await using opened = await open();
  const id = await opened.session.start('printf abcdef; exit 7');
  assert.equal((await opened.client.attach(id).drain()).exit_code, 7);
  assert.equal(await textOf(opened.client.attach(id, { from: 4 })), 'ef');
  const answer = await opened.client.read({ exec_id: id, from: 2, max: 3 });
  assert.deepEqual(
    answer.chunks.map((chunk) => ('data' in chunk ? chunk.data : chunk.b64)).join(''),
    'cde',
  );
});

test('a socket where nothing listens is BACKEND_UNAVAILABLE at once', async () => {
  const socketPath = path.join(daemon.home, 'none.sock');
  const error = await connectLocal({ socketPath }).catch((found: unknown) => found);
  assert.ok(isTrlError(error, 'BACKEND_UNAVAILABLE'));
  assert.match(error.message, /none\.sock": nothing listens there; start it: trl serve$/);
});

test('a client that waits for nothing lets its program end', async () => {
  const program = `
    import { connect } from ${JSON.stringify(client_ts)};
    const client = await connect({ socketPath: ${JSON.stringify(daemon.socketPath)} });
    const session = await client.createSession();
    await client.ping();
    console.log(session.id);`;
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', program];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const [code] = await once(child, 'exit');
  assert.equal(code, 0);
});
