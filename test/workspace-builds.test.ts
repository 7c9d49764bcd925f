// Builds in a workspace are what they are without one: nothing conflicts, nothing is left stale.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { shareRuntime, type Json } from './support/daemon.ts';
import { openSession } from './support/session.ts';

const corner = shareRuntime();
const isThere = (program: string): boolean => spawnSync(program, ['--version']).status === 0;
const notApplied = (receipt: Json): string[] =>
  receipt.changes
    .filter(({ state }: Json) => state !== 'applied')
    .map(({ path: name, state }: Json) => `${name} ${state}`);

test('make builds again after an undo', async (t) => {
  if (!isThere('make')) return t.skip('make is not installed');
  const { root: dir, socketPath } = await corner();
  await using session = await openSession(socketPath, { working_dir: dir });
  const file = (name: string): string => path.join(dir, name);
  writeFileSync(file('Makefile'), 'prog: main.c\n\t@echo built\n\t@cp main.c prog\n');
  writeFileSync(file('main.c'), 'old\n');
  const before = Date.now() / 1_000 - 3_600;
  utimesSync(file('main.c'), before, before);
  const edited = await session.run('echo new > main.c');
  assert.match((await session.run('make')).stdout, /built/);
  const undone = await session.client.ask('exec.undo', { exec_id: edited.exec_id });
  assert.equal(undone.ok, true, JSON.stringify(undone));
  assert.equal(readFileSync(file('main.c'), 'utf8'), 'old\n');
  assert.match(execFileSync('make', { cwd: dir, encoding: 'utf8' }), /built/);
  assert.equal(readFileSync(file('prog'), 'utf8'), 'old\n');
  return undefined;
});

test('cargo builds what it says, and again after an undo', async (t) => {
  const { root: dir, socketPath } = await corner();
  await using session = await openSession(socketPath, { working_dir: dir });
  if ((await session.run('cargo --version')).exit_code !== 0) return t.skip('cargo is not there');
  const file = (name: string): string => path.join(dir, name);
  mkdirSync(file('src'));
  const main = (text: string): string => `fn main() { println!("${text}"); }\n`;
  writeFileSync(file('Cargo.toml'), '[package]\nname = "p"\nversion = "0.1.0"\nedition = "2021"\n');
  writeFileSync(file('src/main.rs'), main('old'));
  const build = async (): Promise<string> => {
    const receipt = await session.run('cargo build -q --offline', { timeout_ms: 120_000 });
    assert.equal(receipt.exit_code, 0, receipt.stderr);
    assert.deepEqual(notApplied(receipt), []);
    return execFileSync(file('target/debug/p'), { encoding: 'utf8' });
  };
  assert.equal(await build(), 'old\n');
  const edited = await session.run(`cat > src/main.rs <<'END'\n${main('new')}END`);
  assert.equal(await build(), 'new\n');
  const stale = statSync(file('target/debug/p')).mtimeMs;
  const undone = await session.client.ask('exec.undo', { exec_id: edited.exec_id });
  assert.equal(undone.ok, true, JSON.stringify(undone));
  assert.ok(statSync(file('src/main.rs')).mtimeMs > stale, 'what undo writes is newer');
  assert.equal(await build(), 'old\n');
  return undefined;
});
