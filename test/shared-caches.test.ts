// Caches of the host's user are seen where they were granted, and stay as they are.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { newSession, raw, startRuntime, surroundings } from './support/daemon.ts';
import type { Daemon, Json } from './support/daemon.ts';
import { mcpClient, stdioOf, type Person } from './support/mcp.ts';
import { whyNoBox } from './support/box.ts';

const skip = whyNoBox;
const args = ['serve', '--socket-path', '{socket}']
  .concat(['--workspace-root', '{home}/work/a'])
  .concat(['--workspace-root', '{home}/work/b']);
let daemon: Daemon;
before(async () => {
  daemon = await startRuntime({ args, prepare });
});
after(async () => {
  // An ordinary user removes no entry of what is not writable.
  for (const name of ['user', 'state']) openAll(path.join(daemon.home, name));
  await daemon.stop();
});

function openAll(directory: string): void {
  chmodSync(directory, 0o700);
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    if (entry.isDirectory()) openAll(path.join(directory, entry.name));
  }
}

/** What the host's user has: downloads, and what lets in somewhere beside them. */
function prepare(home: string): Record<string, string> {
  const user = path.join(home, 'user');
  for (const name of ['.npm/_cacache', '.npm/_logs', '.cargo/registry/index', 'go/pkg/mod/x@v1']) {
    mkdirSync(path.join(user, name), { recursive: true });
  }
  for (const name of ['a', 'b']) mkdirSync(path.join(home, 'work', name), { recursive: true });
  writeFileSync(path.join(user, '.npm/_cacache/mine'), 'of the host\n');
  writeFileSync(path.join(user, '.cargo/credentials.toml'), 'not for others');
  writeFileSync(path.join(user, '.cargo/registry/index/mine'), 'of the host\n');
  writeFileSync(path.join(user, 'go/pkg/mod/x@v1/f'), 'of the host\n');
  chmodSync(path.join(user, 'go/pkg/mod/x@v1'), 0o555);
  return { HOME: user };
}

/** What a command prints in a session of its own that has `share_cache`. */
async function ran(command: string, share_cache: string[], params: object = {}): Promise<string> {
  using client = await raw(daemon.socketPath);
  const working_dir = path.join(daemon.home, 'work/a');
  const session_id = await newSession(client, { working_dir, share_cache, ...params });
  const { data, error } = await client.ask('exec.run', { session_id, command });
  await client.ask('session.destroy', { session_id });
  assert.equal(data?.exit_code, 0, JSON.stringify(error ?? data));
  return data.stdout;
}

test('commands see what was granted, and write over it without changing it', { skip }, async () => {
  const all = 'cat ~/.npm/_cacache/* ~/.cargo/registry/index/mine ~/go/pkg/mod/x@v1/f';
  assert.equal(await ran(all, ['npm', 'cargo', 'go']), 'of the host\n'.repeat(3));
  assert.equal(
    await ran(
      'cd ~/.npm/_cacache; echo more >>mine; echo new >own; cat mine; ' +
        'chmod u+w ~/go/pkg/mod/x@v1; rm ~/go/pkg/mod/x@v1/f; ls ~/go/pkg/mod/x@v1',
      ['npm', 'go'],
    ),
    'of the host\nmore\n',
  );
  assert.equal(
    readFileSync(path.join(daemon.home, 'user/.npm/_cacache/mine'), 'utf8'),
    'of the host\n',
  );
  assert.deepEqual(readdirSync(path.join(daemon.home, 'user/.npm/_cacache')), ['mine']);
  assert.ok(existsSync(path.join(daemon.home, 'user/go/pkg/mod/x@v1/f')));
  // What was added is the project's own.
  assert.equal(await ran('cat ~/.npm/_cacache/own', ['npm', 'go']), 'new\n');
});

test('nothing besides is seen, and nothing of it without the grant', { skip }, async () => {
  const all = 'cd; ls -A .npm; ls -A .cargo; ls -A go';
  assert.equal(await ran(all, ['npm', 'cargo']), '_cacache\nregistry\n');
  assert.equal(await ran('find ~ -name mine', []), '');
});

test('sessions at once write apart, and later ones see what each added', { skip }, async () => {
  using client = await raw(daemon.socketPath);
  const params = { working_dir: path.join(daemon.home, 'work/a'), share_cache: ['npm', 'pip'] };
  mkdirSync(path.join(daemon.home, 'user/.cache/pip'), { recursive: true });
  const ids = [await newSession(client, params), await newSession(client, params)];
  for (const [index, session_id] of ids.entries()) {
    const command = `cd ~/.npm/_cacache; echo ${index} >of-${index}; cat mine`;
    const { data } = await client.ask('exec.run', { session_id, command });
    assert.equal(data.stdout, 'of the host\n');
    assert.deepEqual(data.sandbox.share_cache, ['npm', 'pip']);
  }
  for (const session_id of ids) await client.ask('session.destroy', { session_id });
  assert.equal(await ran('cat ~/.npm/_cacache/of-*', ['npm', 'pip']), '0\n1\n');
  assert.equal(await ran('ls ~/.npm/_cacache', ['npm', 'm2']), 'mine\n');
  const b = { working_dir: path.join(daemon.home, 'work/b') };
  assert.equal(await ran('ls ~/.npm/_cacache', ['npm', 'pip'], b), 'mine\n');
});

test('what was added lasts over a crash of the runtime', { skip }, async () => {
  using client = await raw(daemon.socketPath);
  const params = { working_dir: path.join(daemon.home, 'work/a'), share_cache: ['m2', 'npm'] };
  const session_id = await newSession(client, params);
  const first = 'echo 1 >~/.npm/_cacache/first';
  assert.equal((await client.ask('exec.run', { session_id, command: first })).data.exit_code, 0);
  await daemon.kill();
  const { home, socketPath } = daemon;
  const env = { HOME: path.join(home, 'user') };
  daemon = await startRuntime({ home, socketPath, args, env });
  assert.equal(await ran('cat ~/.npm/_cacache/first', ['m2', 'npm']), '1\n');
  using again = await raw(daemon.socketPath);
  const command = 'cat ~/.npm/_cacache/first; echo 2 >~/.npm/_cacache/second';
  assert.equal((await again.ask('exec.run', { session_id, command })).data.stdout, '1\n');
  await again.ask('session.destroy', { session_id });
  assert.equal(await ran('cat ~/.npm/_cacache/second', ['m2', 'npm']), '2\n');
});

test('a link that a command put in the way is not followed', { skip }, async () => {
  const outside = path.join(daemon.home, 'work/b/outside');
  mkdirSync(path.join(outside, 'mod'), { recursive: true });
  await ran(`mv ~/go/pkg ~/go/away; ln -s '${outside}' ~/go/pkg; ls -d ~/go/pkg`, ['go']);
  assert.equal(
    await ran('echo n >~/go/pkg/mod/new; cat ~/go/pkg/mod/x@v1/f', ['go']),
    'of the host\n',
  );
  assert.deepEqual(readdirSync(path.join(outside, 'mod')), []);
});

test('they are cleared when no session has them', { skip }, async () => {
  const root = path.join(daemon.home, 'work/a');
  const ask = async (method: string, params: object): Promise<Json> => {
    using other = await raw(daemon.socketPath);
    return await other.ask(method, params);
  };
  {
    using client = await raw(daemon.socketPath);
    const session_id = await newSession(client, { working_dir: root, share_cache: ['npm'] });
    const command = 'echo 1 >~/.npm/_cacache/mine-too; mkdir ~/.npm/_cacache/d; chmod 0 ~/.npm/*/d';
    await client.ask('exec.run', { session_id, command });
    assert.equal((await ask('cache.clear', { path: root })).error.code, 'SESSION_BUSY');
    await client.ask('session.destroy', { session_id });
  }
  let cleared: Json = {};
  do cleared = await ask('cache.clear', { path: root });
  while (cleared.error?.code === 'SESSION_BUSY');
  assert.equal(cleared.data.left, 0, JSON.stringify(cleared));
  assert.equal(await ran('ls ~/.npm/_cacache', ['npm']), 'mine\n');
});

test(
  'it is a grant: shown, asked about, and refused where nothing holds it',
  { skip },
  async () => {
    using client = await raw(daemon.socketPath);
    const working_dir = path.join(daemon.home, 'work/a');
    const session_id = await newSession(client, {
      working_dir,
      share_cache: ['npm'],
      policy: 'auto',
    });
    const { data: info } = await client.ask('session.info', { session_id });
    assert.deepEqual(info.share_cache, ['npm']);
    const { data } = await client.ask('policy.explain', { session_id, command: 'touch a' });
    const reason = `may read ${JSON.stringify(path.join(daemon.home, 'user/.npm/_cacache'))}`;
    const [rule] = data.rules;
    assert.deepEqual([rule.id, rule.decision, rule.reason], ['reach.files', 'ask', reason]);
    await client.ask('session.destroy', { session_id });
    for (const params of [
      { share_cache: ['bash'] },
      { share_cache: ['npm'], sandbox: 'none' },
      { share_cache: ['npm'], workspace_mode: 'discard' },
      { share_cache: ['npm'], workspace_mode: 'staged' },
    ]) {
      const { error } = await client.ask('session.create', { working_dir, ...params });
      assert.equal(error?.code, 'INVALID_PARAMS', JSON.stringify(params));
    }
    // What the host's own link leads to was not named.
    const place = path.join(daemon.home, 'user/.npm');
    renameSync(place, `${place}-apart`);
    symlinkSync(`${place}-apart`, place);
    const { error } = await client.ask('session.create', { working_dir, share_cache: ['npm'] });
    assert.equal(error?.code, 'INVALID_PARAMS');
    rmSync(place);
    renameSync(`${place}-apart`, place);
  },
);

test('the command line and MCP share them, once a person said yes', { skip }, async () => {
  const cwd = path.join(daemon.home, 'work/a');
  const words = ['run', '--json', '--socket-path', daemon.socketPath];
  const { stdout } = await promisify(execFile)(
    path.join(import.meta.dirname, '../trl'),
    [...words, '--share-cache', 'npm,go', '--share-cache', 'pip', '--', 'cat ~/.npm/_cacache/mine'],
    { cwd, env: { ...process.env, ...surroundings(daemon.home) } },
  );
  const receipt: Json = JSON.parse(stdout);
  assert.equal(receipt.stdout, 'of the host\n');
  assert.deepEqual(receipt.sandbox.share_cache, ['go', 'npm', 'pip']);
  const person: Person = { says: 'approve', seen: [] };
  const client = mcpClient('2025-11-25', person);
  await client.connect(stdioOf(daemon, { cwd, shareCache: 'npm' }));
  const answer = await client.callTool({
    name: 'terminal',
    arguments: { command: 'cat ~/.npm/_cacache/mine' },
  });
  await client.close();
  assert.match(JSON.stringify(answer), /of the host/);
  assert.match(person.seen.join(''), /user\/\.npm\/_cacache/);
});

test('nor is one in the way of a grant that lies in a cache', { skip }, async () => {
  const granted = path.join(daemon.home, 'user/.cache/x/foo');
  mkdirSync(granted, { recursive: true });
  writeFileSync(path.join(granted, 'mine'), 'of the host\n');
  writeFileSync(path.join(daemon.home, 'user/.cache/x/file'), 'of the host\n');
  const outside = path.join(daemon.home, 'work/b/granted');
  mkdirSync(outside, { recursive: true });
  const allow = [granted, path.join(daemon.home, 'user/.cache/x/file')];
  const params = { files: { read: { allow } } };
  const read = 'cat ~/.cache/x/foo/mine ~/.cache/x/file';
  assert.equal(await ran(read, [], params), 'of the host\n'.repeat(2));
  for (const to of [outside, `/oldroot${outside}`]) {
    await ran(`cd ~/.cache; mv x away-$$; ln -sfn '${to}' x`, [], params);
    assert.equal(await ran(read, [], params), 'of the host\n'.repeat(2));
  }
  assert.deepEqual(readdirSync(outside), []);
});
