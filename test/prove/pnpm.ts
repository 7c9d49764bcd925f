// npm run prove: pnpm from npm installs from a tarball, with hard links between its store and the
// tree, twice; all of it works on the host. Skipped where npm has no registry.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { startRuntime, type Json } from '../support/daemon.ts';
import { openSession } from '../support/session.ts';

await using runtime = await startRuntime();
const { root, home } = runtime;
const at = (name: string): string => path.join(root, name);
const npm = ['install', '--no-audit', '--no-fund', '--silent', '--prefix', home, 'pnpm@9'];
const fetched = spawnSync('npm', npm, { encoding: 'utf8', timeout: 180_000 });

if (fetched.status !== 0) {
  console.log(`skipped: npm brings no packages here: ${fetched.stderr.slice(0, 200)}`);
} else {
  cpSync(path.join(home, 'node_modules/pnpm'), at('.tools/pnpm'), { recursive: true });
  mkdirSync(path.join(home, 'package'));
  const made = { name: 'a', version: '1.0.0', bin: { a: 'cli.js' } };
  writeFileSync(path.join(home, 'package/package.json'), JSON.stringify(made));
  writeFileSync(path.join(home, 'package/index.js'), 'module.exports = 41;\n');
  writeFileSync(
    path.join(home, 'package/cli.js'),
    '#!/usr/bin/env node\nconsole.log(require("./index.js"));\n',
  );
  execFileSync('tar', ['-czf', at('a.tgz'), '-C', home, 'package']);
  writeFileSync(at('package.json'), '{"name":"p","dependencies":{"a":"file:a.tgz"}}');
  await using session = await openSession(runtime.socketPath, { working_dir: root });
  const pnpm = 'node .tools/pnpm/bin/pnpm.cjs install --offline --store-dir .store';
  const works = (): void => {
    const asks = ['-e', 'console.log(require("a"))'];
    assert.equal(execFileSync(process.execPath, asks, { cwd: root, encoding: 'utf8' }), '41\n');
    assert.equal(execFileSync(at('node_modules/.bin/a'), { encoding: 'utf8' }), '41\n');
  };
  const run = async (command: string): Promise<Json> => {
    const receipt = await session.run(command, { timeout_ms: 120_000 });
    assert.equal(receipt.exit_code, 0, receipt.stderr);
    const odd = receipt.changes.filter(({ state }: Json) => state !== 'applied');
    assert.deepEqual(odd, [], command);
    return receipt;
  };
  const undo = async ({ exec_id }: Json): Promise<void> => {
    const { ok, data } = await session.client.ask('exec.undo', { exec_id });
    assert.deepEqual([ok, data?.conflicts], [true, []]);
  };
  const first = await run(pnpm);
  works();
  await undo(first);
  assert.equal(existsSync(at('node_modules')), false);
  await run(pnpm);
  works();
  await run(`${pnpm} --frozen-lockfile`);
  works();
  await undo(await run(`rm -rf node_modules; ${pnpm} --frozen-lockfile`));
  works();
  const { nlink } = statSync(at('node_modules/a/index.js'));
  console.log(`pnpm: four installs, ${first.changes.length} changes, ${nlink} name(s) on the host`);
}
