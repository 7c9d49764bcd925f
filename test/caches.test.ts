// What programs keep in HOME lasts with the project, and nowhere else.
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import * as z from 'zod/mini';
import { methods } from '../src/api/methods.ts';
import { newSession, raw, startRuntime, type Daemon, type Json } from './support/daemon.ts';
import { whyNoBox } from './support/box.ts';

const skip = whyNoBox;
const args = ['serve', '--socket-path', '{socket}', '--workspace-root', '{root}/a']
  .concat(['--workspace-root', '{root}/b'])
  .map((one) => one.replace(/^\{root\}/, '{home}/work'));
let daemon: Daemon;
before(async () => {
  daemon = await startRuntime({ args, prepare: prepared });
});
after(() => daemon?.stop());

function prepared(home: string): Record<string, string> {
  for (const name of ['a', 'b', 'apart']) {
    mkdirSync(path.join(home, 'work', name), { recursive: true });
  }
  return {};
}

async function ask(method: string, params: object = {}): Promise<Json> {
  using client = await raw(daemon.socketPath);
  return await client.ask(method, params);
}

/** What a command prints in a session of its own. */
async function ran(command: string, params: object = {}, name = 'a'): Promise<string> {
  using client = await raw(daemon.socketPath);
  const working_dir = path.join(daemon.root, name);
  const session_id = await newSession(client, { working_dir, ...params });
  const { data, error } = await client.ask('exec.run', { session_id, command });
  await client.ask('session.destroy', { session_id });
  assert.equal(data?.exit_code, 0, JSON.stringify(error ?? data));
  return data.stdout;
}

const kept = 'cat ~/.npm/kept 2>/dev/null || echo none';

test(
  'they last for sessions of the project that may see the same, over a restart',
  { skip },
  async () => {
    await ran(
      'echo one >~/.npm/kept; mkdir -p ~/.local/share/pnpm/v3; echo x >~/.npmrc; ls -d ~/go',
    );
    assert.equal(await ran(`${kept}; ls ~/.local/share/pnpm; ls ~/.npmrc || true`), 'one\nv3\n');
    assert.equal(await ran(kept, { network: 'on' }), 'one\n');
    await daemon.kill('SIGTERM');
    const { home, socketPath } = daemon;
    const again = await startRuntime({ home, socketPath, args });
    daemon = again;
    assert.equal(await ran(kept), 'one\n');
  },
);

test(
  'no other project has them, nor who sees less, nor what is staged or thrown away',
  { skip },
  async () => {
    await ran('echo one >~/.npm/kept');
    assert.equal(await ran(kept, {}, 'b'), 'none\n');
    const less = { files: { read: { deny: [path.join(daemon.root, 'a/secret')] } } };
    for (const params of [less, { workspace_mode: 'staged' }, { workspace_mode: 'discard' }]) {
      assert.equal(await ran(`${kept}; mkdir -p ~/.npm; echo bad >~/.npm/kept`, params), 'none\n');
    }
    assert.equal(await ran(kept), 'one\n');
  },
);

test('what lets in somewhere ends with the last session, by no link', { skip }, async () => {
  const outside = path.join(daemon.root, 'apart/huggingface');
  mkdirSync(outside);
  writeFileSync(path.join(outside, 'token'), 'of the person');
  await ran(
    'echo t >~/.cargo/credentials.toml; cd ~/.cache; mkdir huggingface; echo t >huggingface/token',
  );
  const left = 'cat ~/.cargo/credentials.toml ~/.cache/huggingface/token 2>/dev/null || echo gone';
  assert.equal(await ran(left), 'gone\n');
  await ran(`rm -r ~/.cache/huggingface; ln -s '${outside}' ~/.cache/huggingface`);
  await ran(`rm -rf ~/.m2/settings.xml; ln -s '${outside}/token' ~/.m2/settings.xml`);
  await ran('true');
  assert.equal(readFileSync(path.join(outside, 'token'), 'utf8'), 'of the person');
});

test('so does what a later command would obey', { skip }, async () => {
  await ran(
    "cd ~/.cargo; echo '[build]' >config.toml; mkdir -p registry; " +
      'cd ~/.gradle; mkdir init.d; touch init.gradle init.d/x.gradle ~/.m2/extensions.xml',
  );
  const left = 'cd; ls -d .cargo/registry .cargo/config.toml .gradle/* .m2/* 2>/dev/null || :';
  assert.equal(await ran(left), '.cargo/registry\n');
});

test(
  'they are listed and cleared, not while a command has them, and by no link',
  { skip },
  async () => {
    const outside = path.join(daemon.root, 'apart/tree');
    mkdirSync(outside);
    writeFileSync(path.join(outside, 'file'), 'stays');
    await ran(
      `cd ~/.cache; head -c 3000000 /dev/urandom >big; ln -s '${outside}' tree; chmod 0 big`,
    );
    const listed = await ask('cache.list');
    assert.deepEqual(z.safeParse(methods['cache.list'].answer, listed.data).data, listed.data);
    const root = path.join(daemon.root, 'a');
    const sizes = listed.data.caches.filter((one: Json) => one.path === root);
    assert.ok(
      sizes.some(({ bytes }: Json) => bytes >= 3_000_000),
      JSON.stringify(listed),
    );
    using client = await raw(daemon.socketPath);
    const session_id = await newSession(client, { working_dir: root });
    const started = await client.ask('exec.start', {
      session_id,
      command: 'cat',
      stdin_open: true,
    });
    assert.equal((await ask('cache.clear', { path: root })).error.code, 'SESSION_BUSY');
    await client.ask('exec.write', { exec_id: started.data.exec_id, eof: true });
    await client.ask('exec.read', { exec_id: started.data.exec_id, wait_ms: 60_000 });
    let cleared: Json = {};
    do cleared = await ask('cache.clear', { path: path.join(root, 'below') });
    while (cleared.error?.code === 'SESSION_BUSY');
    assert.deepEqual(z.safeParse(methods['cache.clear'].answer, cleared.data).data, cleared.data);
    assert.ok(cleared.data.cleared >= 1);
    // The session that waits has them still, empty.
    const { data } = await client.ask('exec.run', {
      session_id,
      command: 'ls -A ~/.cache; echo n >~/.cache/new',
    });
    assert.deepEqual([data.exit_code, data.stdout], [0, '']);
    assert.equal(readFileSync(path.join(outside, 'file'), 'utf8'), 'stays');
    rmSync(outside, { recursive: true });
  },
);

test(
  'what its owner made unwritable is cleared, too, and of the rest it is said',
  { skip },
  async () => {
    await ran(
      'cd ~/go; mkdir -p pkg/mod/x@v1/deep; echo 1 >pkg/mod/x@v1/deep/f; chmod -R a-w pkg/mod; ' +
        'mkdir ~/.cache/shut; echo 1 >~/.cache/shut/f; chmod 0 ~/.cache/shut',
    );
    let cleared: Json = {};
    do cleared = await ask('cache.clear', { path: path.join(daemon.root, 'a') });
    while (cleared.error?.code === 'SESSION_BUSY');
    assert.equal(cleared.data.left, 0, JSON.stringify(cleared));
    assert.equal(await ran('ls -A ~/go; ls -A ~/.cache'), '');
  },
);

test('a command that begins while they are cleared has all of them or none', { skip }, async () => {
  const many =
    'mkdir -p ~/.npm/d; cd ~/.npm/d; for i in $(seq 3000); do : >$i; done; touch ~/.npm/all';
  await ran(many);
  const clearing = ask('cache.clear', { path: path.join(daemon.root, 'a') });
  const counts = new Set<string>();
  const state = { isCleared: false };
  void clearing.then(() => (state.isCleared = true));
  do counts.add((await ran('ls ~/.npm/d 2>/dev/null | wc -l')).trim());
  while (!state.isCleared);
  assert.deepEqual(
    [...counts].filter((count) => count !== '0' && count !== '3000'),
    [],
  );
});

test('a link in the place of a cache leads nowhere', { skip }, async () => {
  const outside = path.join(daemon.root, 'apart/linked');
  mkdirSync(outside);
  writeFileSync(path.join(outside, 'file'), 'stays');
  const { caches } = (await ask('cache.list')).data;
  const root = path.join(daemon.root, 'a');
  await daemon.kill('SIGTERM');
  // As a daemon might leave it whose configuration named what holds it.
  for (const { cache_id: id, path: of } of caches) {
    if (of !== root) continue;
    const place = path.join(daemon.home, 'state/trl/caches', id, 'home/.npm');
    rmSync(place, { recursive: true, force: true });
    symlinkSync(outside, place);
  }
  const { home, socketPath } = daemon;
  daemon = await startRuntime({ home, socketPath, args });
  assert.equal(
    await ran('ls -A ~/.npm; echo planted >~/.npm/file2; cat ~/.npm/file2'),
    'planted\n',
  );
  let cleared: Json = {};
  do cleared = await ask('cache.clear', { path: root });
  while (cleared.error?.code === 'SESSION_BUSY');
  assert.deepEqual(readdirSync(outside), ['file']);
  rmSync(outside, { recursive: true });
});

test('a credential is not for who begins after a crash', { skip }, async () => {
  using client = await raw(daemon.socketPath);
  const working_dir = path.join(daemon.root, 'a');
  const session_id = await newSession(client, { working_dir });
  const command = 'echo t >~/.cargo/credentials.toml; echo kept >~/.npm/kept; cat';
  const started = await client.ask('exec.start', { session_id, command, stdin_open: true });
  const left = 'cat ~/.cargo/credentials.toml 2>/dev/null || echo gone';
  // Who works beside it has what it has.
  while ((await ran(left)) !== 't\n');
  await daemon.kill();
  const { home, socketPath } = daemon;
  daemon = await startRuntime({ home, socketPath, args });
  assert.equal(await ran(`${left}; ${kept}`), 'gone\nkept\n');
  using again = await raw(daemon.socketPath);
  // What was adopted goes on.
  const { exec_id } = started.data;
  assert.equal((await again.ask('exec.read', { exec_id })).data.state, 'running');
  await again.ask('session.destroy', { session_id, force: true });
});
