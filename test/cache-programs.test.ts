// Real programs find in a later session what an earlier one, or the host's user, fetched.
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { newSession, raw, startRuntime, type Daemon, type Json } from './support/daemon.ts';
import { whyNoBox } from './support/box.ts';
import { serveRegistries, writeProjects, type Registries } from './support/packages.ts';

type Tool = 'npm' | 'cargo' | 'go' | 'pip';
const tools: readonly Tool[] = ['npm', 'cargo', 'go', 'pip'];
/** Of the toolchain itself: what stands before it looks for its own in HOME. */
const cargo = spawnSync('rustup', ['which', 'cargo'], { encoding: 'utf8' }).stdout?.trim() ?? '';
const found = spawnSync('sh', ['-c', 'command -v npm; command -v go'], {
  encoding: 'utf8',
}).stdout.split('\n');
const directories = [cargo, ...found].filter((one) => one !== '').map((one) => path.dirname(one));
const searchPath = [...new Set([...directories, '/usr/bin', '/bin'])].join(':');
let daemon: Daemon;
let registries: Registries;
const args = ['serve', '--socket-path', '{socket}']
  .concat(['--workspace-root', '{home}/work/a'])
  .concat(['--workspace-root', '{home}/work/b']);
before(async () => {
  registries = await serveRegistries();
  const prepare = (home: string): Record<string, string> => {
    for (const name of ['work/a', 'work/b', 'apart']) {
      writeProjects(path.join(home, name), registries.url);
    }
    mkdirSync(path.join(home, 'user'));
    return { HOME: path.join(home, 'user'), PATH: searchPath };
  };
  daemon = await startRuntime({ args, prepare });
});
after(async () => {
  await registries?.[Symbol.asyncDispose]();
  for (const name of ['user', 'state']) openAll(path.join(daemon.home, name));
  await daemon?.stop();
});

function openAll(directory: string): void {
  chmodSync(directory, 0o700);
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    if (entry.isDirectory()) openAll(path.join(directory, entry.name));
  }
}

/** Installs the package of a tool; it prints `1` at its end, and fails without the package. */
function installing(tool: Tool, isOffline: boolean): string {
  const { url } = registries;
  const away = (flag: string): string => (isOffline ? flag : '');
  const target = '"$(mktemp -d)"';
  return {
    npm:
      `cd npm && rm -rf node_modules && npm install --no-audit --no-fund --no-package-lock ` +
      `${away('--offline')} --registry=${url} tiny@1.0.0 >&2 && node -p 'require("tiny")'`,
    cargo: `cd cargo && cargo check -q ${away('--offline')} --target-dir ${target} && echo 1`,
    go:
      `cd go && export GOTOOLCHAIN=local GOSUMDB=off GOFLAGS=-mod=mod && ` +
      `GOPROXY=${isOffline ? 'off' : url} ` +
      // The whole build would compile the standard library first.
      `sh -c 'go mod download && cd "$(go list -m -f "{{.Dir}}" example.test/tiny)" && ` +
      `grep -c One *.go'`,
    pip:
      `cd "$(mktemp -d)" && /usr/bin/python3 -m pip install -q --no-deps --no-index --retries 0 ` +
      `--trusted-host 127.0.0.1 --target . ` +
      `${url}/tiny-1.0.0-py3-none-any.whl >&2 && python3 -c 'import tiny; print(tiny.one)'`,
  }[tool];
}

interface How {
  readonly project?: 'a' | 'b';
  readonly isOffline?: boolean;
  readonly share?: readonly Tool[];
}

async function installed(
  tool: Tool,
  { project = 'a', isOffline = true, share }: How,
): Promise<Json> {
  using client = await raw(daemon.socketPath);
  const working_dir = path.join(daemon.home, 'work', project);
  const session_id = await newSession(client, {
    working_dir,
    network: isOffline ? 'off' : 'on',
    ...(share === undefined ? {} : { share_cache: share }),
  });
  const command = installing(tool, isOffline);
  const { data, error } = await client.ask('exec.run', { session_id, command });
  await client.ask('session.destroy', { session_id });
  assert.ok(data, JSON.stringify(error));
  return data;
}

function whyNot(tool: Tool): string | false {
  const words = {
    npm: ['npm'],
    cargo: ['cargo'],
    go: ['go'],
    pip: ['/usr/bin/python3', '-m', 'pip'],
  };
  const [program = '', ...rest] = words[tool];
  const version = tool === 'go' ? 'version' : '--version';
  const env = { ...process.env, PATH: searchPath };
  const { status } = spawnSync(program, [...rest, version], { env });
  return status === 0 ? whyNoBox : `${tool} is not installed`;
}

const usable = new Map(tools.map((tool) => [tool, whyNot(tool)]));

for (const [tool, skip] of usable) {
  test(`${tool} installs without the network what a session before fetched`, { skip }, async () => {
    const first = await installed(tool, { isOffline: false });
    assert.equal(first.stdout, '1\n', first.stderr);
    const again = await installed(tool, {});
    assert.equal(again.stdout, '1\n', again.stderr);
    assert.notEqual((await installed(tool, { project: 'b' })).exit_code, 0);
  });

  test(`${tool} installs what the host's user fetched, where it is shared`, { skip }, async () => {
    // npm sets more for the tests themselves.
    const env = { HOME: path.join(daemon.home, 'user'), PATH: searchPath };
    const cwd = path.join(daemon.home, 'apart');
    await promisify(execFile)('sh', ['-c', installing(tool, false)], { env, cwd });
    const how = { project: 'b', share: [tool] } as const;
    const shared = await installed(tool, how);
    assert.equal(shared.stdout, '1\n', shared.stderr);
    assert.equal((await installed(tool, how)).stdout, '1\n');
    assert.notEqual((await installed(tool, { project: 'b' })).exit_code, 0);
  });
}

test('after a restart they find it still', { skip: whyNoBox }, async () => {
  await daemon.kill('SIGTERM');
  const { home, socketPath } = daemon;
  const env = { HOME: path.join(home, 'user'), PATH: searchPath };
  daemon = await startRuntime({ home, socketPath, args, env });
  for (const [tool, skip] of usable) {
    if (skip !== false) continue;
    const { stdout, stderr } = await installed(tool, {});
    assert.equal(stdout, '1\n', `${tool}: ${stderr}`);
    assert.notEqual((await installed(tool, { project: 'b' })).exit_code, 0);
  }
});
