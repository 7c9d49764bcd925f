import assert from 'node:assert/strict';
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { isTrlError, type ErrorCode } from '../src/errors.ts';
import { resolveInside, resolveWorkspace, whyNotRoot } from '../src/workspace/roots.ts';

let base = '';
const at = (...names: string[]): string => path.join(base, ...names);
const home = '/home/nobody-here';

before(async () => {
  base = await realpath(await mkdtemp(path.join(os.tmpdir(), 'trl-roots-')));
  await mkdir(at('root/inner/deep'), { recursive: true });
  await mkdir(at('rooted'));
  await mkdir(at('outside'));
  await writeFile(at('root/file'), '');
  await symlink(at('outside'), at('root/out'));
  await symlink(at('root'), at('link'));
  await symlink('loop', at('root/loop'));
});
after(() => rm(base, { recursive: true, force: true }));

const resolve = (workingDir: string | null, roots = [at('root')]) =>
  resolveWorkspace({ roots, workingDir, home });
const refusal = (code: ErrorCode, text: RegExp) => (error: unknown) =>
  isTrlError(error, code) && text.test(error.message);

test('without a directory, or with the private /tmp, a session has no workspace', async () => {
  for (const workingDir of [null, '/tmp', '/tmp/', '//tmp']) {
    assert.deepEqual(await resolve(workingDir), { workspace: null, cwd: '/tmp' });
  }
});

test('a directory below a root gets that root as its workspace, by real path', async () => {
  const workspace = at('root');
  assert.deepEqual(await resolve(at('root/inner/deep')), { workspace, cwd: at('root/inner/deep') });
  assert.deepEqual(await resolve(at('link/inner')), { workspace, cwd: at('root/inner') });
  // A root that somebody replaced by a link allows nothing.
  await assert.rejects(resolve(at('root'), [at('link')]), { code: 'WORKSPACE_ESCAPE' });
  const nested = [at('root'), at('root/inner'), at('missing')];
  const expected = { workspace: at('root/inner'), cwd: at('root/inner/deep') };
  assert.deepEqual(await resolve(at('root/inner/deep'), nested), expected);
});

test('a directory outside every root is refused, however it is named', async () => {
  const escapes = [at('outside'), at('root/../outside'), at('root/out'), at('rooted'), '/', base];
  for (const name of escapes) {
    await assert.rejects(resolve(name), refusal('WORKSPACE_ESCAPE', /outside the workspace/), name);
  }
  await assert.rejects(resolve(at('root'), []), refusal('WORKSPACE_ESCAPE', /\(none\)/));
});

test('a missing directory, a file and a circle are refused with what was found', async () => {
  const wrong: [string, RegExp][] = [
    [at('root/none'), /^Cannot use working directory ".*\/none": it does not exist$/],
    [at('root/file'), /it is not a directory$/],
    [at('root/file/x'), /it is not a directory$/],
    [at('root/loop'), /links lead in a circle$/],
    ['relative', /"relative": it is not an absolute path$/],
    [`${at('root')}\0`, /it is not an absolute path$/],
  ];
  for (const [name, text] of wrong) {
    await assert.rejects(resolve(name), refusal('INVALID_PARAMS', text), name);
  }
});

test('the home directory, what holds it and the system cannot be roots', () => {
  const why = (root: string): boolean => whyNotRoot(root, '/home/u/me') !== null;
  const refused = ['/', '/home', '/home/u', '/home/u/me', '/etc', '/etc/x', '/usr', '/usr/lib/x'];
  assert.deepEqual(
    refused.filter((root) => !why(root)),
    [],
  );
  const fine = [
    '/home/u/me/p',
    '/home/other',
    '/srv',
    '/opt/app',
    '/usr/src/app',
    '/var/www',
    '/w',
  ];
  assert.deepEqual(fine.filter(why), []);
});

test('a session in a root that cannot be a workspace says what to do', async () => {
  await assert.rejects(
    resolveWorkspace({ roots: [at('root')], workingDir: at('root/inner'), home: at('root') }),
    refusal('INVALID_PARAMS', /is the home directory: name a project directory instead$/),
  );
});

test('a command may start in the workspace or in a private directory, nowhere else', async () => {
  const inside = (cwd: string, workspace: string | null = at('root')): Promise<string> =>
    resolveInside(workspace, cwd, ['/tmp/private', '/root']);
  assert.equal(await inside(at('root/inner/../inner')), at('root/inner'));
  assert.equal(await inside('/root/new/../other'), '/root/other');
  assert.equal(await inside('/root', null), '/root');
  await assert.rejects(inside(at('root/out')), refusal('WORKSPACE_ESCAPE', /it leaves/));
  await assert.rejects(inside('/root/../etc'), refusal('WORKSPACE_ESCAPE', /it leaves/));
  await assert.rejects(inside(at('root'), null), refusal('WORKSPACE_ESCAPE', /no workspace/));
  await assert.rejects(inside(at('root/none')), refusal('INVALID_PARAMS', /does not exist/));
  await assert.rejects(inside('inner'), refusal('INVALID_PARAMS', /not an absolute path/));
});
