// What commands make has the modes that its caller makes files with, within bounds.
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { raw, shareRuntime } from './support/daemon.ts';
import { openSession } from './support/session.ts';

const corner = shareRuntime();
const root = path.dirname(import.meta.dirname);
const modeOf = (...name: readonly string[]): string =>
  (statSync(path.join(...name)).mode & 0o777).toString(8);

test('a session makes files as it says, and others never get to write', async () => {
  const { root: dir, socketPath } = await corner();
  const masks = [
    [undefined, '755', '644'],
    ['077', '700', '600'],
    ['0027', '750', '640'],
    ['002', '775', '664'],
    ['000', '775', '664'],
    ['777', '700', '600'],
  ] as const;
  for (const sandbox of ['bubblewrap', 'none'] as const) {
    for (const [umask, directory, file] of masks) {
      const name = `${sandbox}${umask}`;
      const params = { working_dir: dir, sandbox, ...(umask === undefined ? {} : { umask }) };
      await using session = await openSession(socketPath, params);
      await session.run(`mkdir ${name}; echo > ${name}/f`);
      assert.deepEqual([modeOf(dir, name), modeOf(dir, name, 'f')], [directory, file], name);
    }
  }
  using client = await raw(socketPath);
  for (const umask of ['8', '22; id', '-022', '12345']) {
    const refused = await client.ask('session.create', { umask });
    assert.equal(refused.error?.code, 'INVALID_PARAMS', umask);
  }
});

test('clients on this machine say what their own mask is', async () => {
  const { root: dir, socketPath } = await corner();
  const env = { ...process.env, TRL_SOCKET_PATH: socketPath, PYTHONPATH: `${root}/clients/python` };
  const under = async (umask: string, command: string): Promise<void> => {
    await promisify(execFile)('sh', ['-c', `umask ${umask}; ${command}`], { cwd: dir, env });
  };
  await under('077', `'${root}/trl' run -- touch mine`);
  await under('007', `'${root}/trl' run -- touch ours`);
  assert.deepEqual([modeOf(dir, 'mine'), modeOf(dir, 'ours')], ['600', '660']);
  if (spawnSync('python3', ['-c', '']).status !== 0) return;
  const script = `import trl
with trl.connect() as client:
    client.create_session(working_dir="${dir}").run("touch python")`;
  await under('027', `python3 -B -c '${script}'`);
  assert.equal(modeOf(dir, 'python'), '640');
});
