// The client as it is published: built, then run where nothing of Node is, and on an older Node.
import assert from 'node:assert/strict';
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { transform } from 'esbuild';
import { buildClient } from '../tools/build-client.ts';
import { startRuntime } from './support/daemon.ts';
import type { Daemon } from './support/daemon.ts';
import { openTunnel } from './support/tunnel.ts';

const root = path.dirname(import.meta.dirname);
const systemNode = '/usr/bin/node';
let daemon: Daemon;
let base: string;
let directory: string;
before(async () => {
  base = mkdtempSync(path.join(tmpdir(), 'trl-client-'));
  directory = path.join(base, 'dist');
  cpSync(path.join(root, 'package.json'), path.join(base, 'package.json'));
  const cwd = process.cwd();
  process.chdir(root);
  await buildClient(directory).finally(() => process.chdir(cwd));
  daemon = await startRuntime();
});
after(async () => {
  rmSync(base, { recursive: true, force: true });
  await daemon.stop();
});

/** Runs a module; answers what it printed, as JSON. */
async function run(node: string, program: string): Promise<unknown> {
  const args = ['--input-type=module', '-e', program];
  const { stdout } = await promisify(execFile)(node, args, {
    encoding: 'utf8',
    env: { PATH: '/usr/bin:/bin', HOME: base, TRL_SOCKET_PATH: daemon.socketPath },
  });
  return JSON.parse(stdout);
}

const built = (name: string): string => JSON.stringify(path.join(directory, name));

const use = `
  const session = await client.createSession();
  const receipt = await session.run("printf 'caf\\\\303\\\\251 '; head -c3000000 /dev/zero|wc -c");
  const binary = await session.run("printf '\\\\377\\\\000'");
  const stream = session.stream('cat', { stdin: 'given' });
  let bytes = 0;
  for await (const event of stream) bytes += event.bytes.length;
  const refused = await client.session('s-none').info().catch((error) => error.code);
  await session.destroy();
  await client.close();
  console.log(JSON.stringify([
    receipt.stdout, binary.stdout, binary.stdout_encoding, bytes, refused,
  ]));
`;
const wanted = ['café 3000000\n', '/wA=', 'base64', 5, 'SESSION_NOT_FOUND'];

test('the client for browsers needs the platform of the web alone', async () => {
  await using tunnel = await openTunnel(daemon.socketPath);
  const { url, token } = tunnel;
  const text = readFileSync(path.join(directory, 'client.js'), 'utf8');
  assert.doesNotMatch(text, /child_process|node:|globalThis\.(?!WebSocket\b)/);
  // The platform's own code stands on these, so they are hidden rather than taken away.
  const { code } = await transform(text, { format: 'iife', globalName: 'client' });
  const hidden = ['process', 'Buffer', 'global', 'require', 'module', 'setImmediate'];
  const got = await run(
    process.execPath,
    `
    const names = ${JSON.stringify(hidden)};
    const load = new Function(...names, ${JSON.stringify(`'use strict';${code}; return client;`)});
    const { connect } = load();
    const client = await connect(${JSON.stringify({ url, token })});
    ${use}`,
  );
  assert.deepEqual(got, wanted);
});

test("Node's client reaches this user's socket by itself, and a runtime by its URL", async () => {
  await using tunnel = await openTunnel(daemon.socketPath);
  const { url, token } = tunnel;
  for (const options of ['', JSON.stringify({ url, token })]) {
    const got = await run(
      process.execPath,
      `import { connect } from ${built('client-node.js')};
       const client = await connect(${options}); ${use}`,
    );
    assert.deepEqual(got, wanted, options);
  }
});

test('both roots export the same, and know the errors of the way to an own runtime', async () => {
  const got = await run(
    process.execPath,
    `import * as web from ${built('client.js')};
     import * as node from ${built('client-node.js')};
     import { connect } from ${built('local.js')};
     const error = await connect({ socketPath: '/nowhere/trl.sock' }).catch((error) => error);
     console.log(JSON.stringify([
       Object.keys(web).toSorted().join() === Object.keys(node).toSorted().join(),
       node.isTrlError(error, 'BACKEND_UNAVAILABLE'),
     ]));`,
  );
  assert.deepEqual(got, [true, true]);
});

const olderMajor = ((): number | null => {
  try {
    const said = execFileSync(systemNode, ['--version'], { encoding: 'utf8' });
    return Number(/^v(\d+)/.exec(said)?.[1]);
  } catch {
    return null;
  }
})();
const skip = olderMajor === 20 ? false : `${systemNode} is no Node 20`;

test('the client runs on Node 20, which has no WebSocket of its own', { skip }, async () => {
  await using tunnel = await openTunnel(daemon.socketPath);
  const options = JSON.stringify({ url: tunnel.url, token: tunnel.token });
  const ws = JSON.stringify(path.join(root, 'node_modules/ws/wrapper.mjs'));
  const onSocket = `import { connect } from ${built('client-node.js')};
    const client = await connect(); ${use}`;
  assert.deepEqual(await run(systemNode, onSocket), wanted);
  const onWeb = `import { connect } from ${built('client-node.js')};
    import { WebSocket } from ${ws};
    const why = await connect(${options}).catch((error) => error.message);
    if (!why.includes('has no WebSocket')) throw new Error(why);
    const client = await connect({ ...${options}, WebSocket }); ${use}`;
  assert.deepEqual(await run(systemNode, onWeb), wanted);
});

test('what starts a runtime says on Node 20 which Node that needs', { skip }, async () => {
  const tries = `import { connect, connectPrivate } from ${built('local.js')};
    const client = await connect({ start: 'background' }); ${use}`;
  // Where one runs, it is reached.
  assert.deepEqual(await run(systemNode, tries), wanted);
  const fails = `import { connect, connectPrivate } from ${built('local.js')};
    process.env.TRL_SOCKET_PATH = ${built('none.sock')};
    const said = [connect(), connect({ ephemeral: {} }), connectPrivate({})];
    console.log(JSON.stringify(await Promise.all(
      said.map((one) => one.catch(({ code, message }) => [code, message])),
    )));`;
  const said = await run(systemNode, fails);
  assert.ok(Array.isArray(said) && said.length === 3);
  for (const one of said) {
    assert.match(String(one), /^BACKEND_UNAVAILABLE,Cannot .*needs Node >= 24, found 20\.[^\n]*$/);
  }
});

test('the package says which Node a client needs, and its program which one it needs', () => {
  const text = readFileSync(path.join(root, 'package.json'), 'utf8');
  assert.deepEqual(Reflect.get(JSON.parse(text), 'engines'), { node: '>=20' });
  if (skip !== false) return;
  // As it is published: the launcher comes before anything that an old Node cannot read.
  const launcher = path.join(root, 'tools/launcher/trl.cjs');
  for (const args of [['run', 'true'], ['--version'], ['mcp']]) {
    const ran = spawnSync(systemNode, [launcher, ...args], { encoding: 'utf8' });
    assert.deepEqual([ran.status, ran.stdout, ran.stderr.split('\n').length], [125, '', 2]);
    assert.match(ran.stderr, /^trl: needs Node >= 24, found 20\./);
  }
});
