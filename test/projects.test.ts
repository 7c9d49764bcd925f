// Which directories become ones that sessions may work in, and which never do.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import * as z from 'zod/mini';
import { findMethod, methods } from '../src/api/methods.ts';
import { raw, startRuntime, type Daemon, type Json } from './support/daemon.ts';

const serve = ['serve', '--socket-path', '{socket}', '--projects', '--config', '{home}/set/c.yaml'];
let daemon: Daemon;
before(async () => {
  daemon = await startRuntime({
    args: serve,
    prepare: (home) => {
      mkdirSync(path.join(home, 'set'));
      writeFileSync(path.join(home, 'set/c.yaml'), 'limits:\n  sessions_active: 100\n', {
        mode: 0o600,
      });
      return { HOME: path.join(home, 'work/person') };
    },
  });
  mkdirSync(path.join(daemon.root, 'person'));
});
after(() => daemon?.stop());

function made(name: string): string {
  const place = path.join(daemon.root, name);
  mkdirSync(place, { recursive: true });
  return place;
}

async function ask(method: string, params: object = {}): Promise<Json> {
  using client = await raw(daemon.socketPath);
  const answer = await client.ask(method, params);
  if (answer.ok === true) {
    const schema: Json = methods[findMethod(method)].answer;
    assert.deepEqual(z.safeParse(schema, answer.data).data, answer.data, method);
  }
  return answer;
}

test('the top of the git worktree is trusted, and what lies in it is part of it', async () => {
  const top = made('app');
  const below = made('app/src/deep');
  execFileSync('git', ['init', '-q'], { cwd: top });
  assert.equal(
    (await ask('session.create', { working_dir: below })).error.code,
    'WORKSPACE_ESCAPE',
  );
  assert.deepEqual((await ask('workspace.trust', { path: below })).data, {
    path: top,
    is_new: true,
  });
  const nested = made('app/vendor/other');
  execFileSync('git', ['init', '-q'], { cwd: nested });
  const again = await ask('workspace.trust', { path: nested });
  assert.deepEqual(again.data, { path: top, is_new: false });
  const { data } = await ask('session.create', { working_dir: below });
  assert.equal(data.workspace, top);
  const { workspaces } = (await ask('workspace.list')).data;
  assert.deepEqual(
    workspaces.map(({ path: root, sessions, is_there: isThere }: Json) => [
      root,
      sessions,
      isThere,
    ]),
    [[top, 1, true]],
  );
});

test('what the runtime obeys or keeps, and what is no project, is refused', async () => {
  const { home } = daemon;
  const person = path.join(daemon.root, 'person');
  symlinkSync(person, path.join(daemon.root, 'to-home'));
  linkSync(path.join(home, 'set/c.yaml'), path.join(made('holds-link'), 'c.yaml'));
  const wrong = [
    '/ /etc /usr/lib /tmp /proc/self'.split(' '),
    [person, `${daemon.root}/to-home`],
    [daemon.root, home, `${home}/state`, `${home}/state/trl/audit`, `${home}/config`],
    [`${home}/set`, `${daemon.root}/holds-link`, path.dirname(daemon.socketPath)],
    [`${daemon.root}/absent`, `${home}/set/c.yaml`, 'relative'],
  ];
  for (const one of wrong.flat()) {
    const answer = await ask('workspace.trust', { path: one });
    assert.equal(answer.error?.code, 'INVALID_PARAMS', JSON.stringify([one, answer]));
  }
});

test('it lasts over a restart; one that became a link, or is forgotten, is none', async () => {
  const [first, second, third] = [made('one'), made('two'), made('three')];
  for (const one of [first, second, third]) await ask('workspace.trust', { path: one });
  assert.equal((await ask('workspace.forget', { path: third })).data.forgotten, true);
  await daemon.kill('SIGTERM');
  const { home, socketPath } = daemon;
  const person = path.join(daemon.root, 'person');
  renameSync(second, `${second}.old`);
  symlinkSync(first, second);
  await using again = await startRuntime({
    home,
    socketPath,
    args: serve,
    prepare: () => ({ HOME: person }),
  });
  daemon = { ...again, stop: async () => rmSync(home, { recursive: true, force: true }) };
  assert.equal((await ask('session.create', { working_dir: first })).ok, true);
  rmSync(first, { recursive: true });
  symlinkSync(person, first);
  for (const one of [first, second, third]) {
    const { error } = await ask('session.create', { working_dir: one });
    assert.equal(error?.code, 'WORKSPACE_ESCAPE', one);
  }
});

test('a runtime with directories of its own keeps to them', async () => {
  await using other = await startRuntime();
  using client = await raw(other.socketPath);
  const outside = await client.ask('workspace.trust', { path: other.home });
  assert.equal(outside.error.code, 'WORKSPACE_ESCAPE');
  const inside = path.join(other.root, 'sub');
  mkdirSync(inside);
  const held = await client.ask('workspace.trust', { path: inside });
  assert.deepEqual(held.data, { path: other.root, is_new: false });
});
