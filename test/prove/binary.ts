// The single executable in an empty home, with a PATH on which there is nothing at all: every door
// and program of the runtime is in it.
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connectLocal } from '../../src/local/index.ts';

const root = path.dirname(path.dirname(import.meta.dirname));
const base = mkdtempSync(path.join(tmpdir(), 'trl-binary-'));
const binary = path.join(base, 'trl');
const home = path.join(base, 'home');
const work = path.join(base, 'work');
const run = path.join(base, 'run');
for (const dir of [home, work, run]) mkdirSync(dir, { mode: 0o700 });
const env = {
  HOME: home,
  PATH: path.join(base, 'nothing'),
  XDG_RUNTIME_DIR: run,
  TRL_RUNNER_LINGER_MS: '1000',
};

interface Ran {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function trl(...args: string[]): Ran {
  const { status, stdout, stderr } = spawnSync(binary, args, { env, cwd: work, encoding: 'utf8' });
  return { status, stdout, stderr };
}

function ok(...args: string[]): string {
  const { status, stdout, stderr } = trl(...args);
  assert.equal(status, 0, `trl ${args.join(' ')}: ${stdout}${stderr}`);
  return stdout;
}

try {
  const build = ['tools/build-binary.ts', '--out', binary];
  execFileSync(process.execPath, ['--disable-warning=ExperimentalWarning', ...build], {
    cwd: root,
    stdio: 'inherit',
  });
  console.log(`size: ${(statSync(binary).size / 1e6).toFixed(1)} MB`);
  const begun = performance.now();
  assert.match(ok('--version'), /^\d+\.\d+\.\d+\n$/);
  console.log(`trl --version: ${(performance.now() - begun).toFixed(0)} ms`);
  assert.equal(ok('run', 'echo from inside'), 'from inside\n');
  // Its own flags and Node's are not mixed up with those of a command.
  const words = ['--disable-sigusr1', '--node-options=--inspect', '--max-semi-space-size=1'];
  assert.equal(ok('run', '--', 'echo', ...words), `${words.join(' ')}\n`);
  const outside = spawnSync(binary, ['--version'], {
    env: { ...env, NODE_OPTIONS: '--require /nonexistent' },
  });
  assert.equal(outside.status, 0, 'NODE_OPTIONS from outside changes nothing');
  const told: unknown = JSON.parse(ok('demo', '--json'));
  assert.ok(typeof told === 'object' && told !== null && 'ok' in told && told.ok === true);
  await throughDaemon();
  assert.match(ok('audit', 'verify'), /good/);
  // Records and settings only: nothing is unpacked to the disk.
  const left = readdirSync(home).filter((name) => !['.config', '.local'].includes(name));
  assert.deepEqual(left, []);
  console.log('binary: run, demo, daemon, terminal, audit reader and MCP work without Node');
} finally {
  trl('daemon', 'stop');
  rmSync(base, { recursive: true, force: true });
}

async function throughDaemon(): Promise<void> {
  ok('daemon', 'start', '--workspace-root', work);
  const socketPath = path.join(run, 'trl.sock');
  await using client = await connectLocal({ socketPath });
  const session = await client.createSession({ working_dir: work });
  const receipt = await session.run('test -t 1 && echo terminal', {
    pty: { columns: 80, rows: 24 },
  });
  assert.match(receipt.stdout, /terminal/);
  // A thread reads the log: it has no file to start from.
  const { events } = await client.call('audit.list', { session_id: session.id });
  assert.ok(events.length > 0);
  await session.destroy();
  assert.ok((await toolsOfMcp()) > 5);
  ok('daemon', 'stop');
}

/** How many tools `trl mcp` lists. */
async function toolsOfMcp(): Promise<number> {
  const child = spawn(binary, ['mcp'], { env, cwd: work, stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => child.once('close', resolve));
  const params = { protocolVersion: '2025-06-18', capabilities: {} };
  const hello = { ...params, clientInfo: { name: 'proof', version: '0' } };
  const messages = [
    { jsonrpc: '2.0', id: 1, method: 'initialize', params: hello },
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    { jsonrpc: '2.0', id: 2, method: 'tools/list', params: {} },
  ];
  child.stdin.write(messages.map((one) => `${JSON.stringify(one)}\n`).join(''));
  let text = '';
  for await (const chunk of child.stdout) {
    text += String(chunk);
    if (/"id":2/.test(text) && text.endsWith('\n')) child.stdin.end();
  }
  await ended;
  return (text.match(/"inputSchema"/g) ?? []).length;
}
