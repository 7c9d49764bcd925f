// `trl demo`: real runs, each with a check, and nothing is left of it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';

const trl = path.join(path.dirname(import.meta.dirname), 'trl');
const base = mkdtempSync(path.join(tmpdir(), 'trl-demotest-'));
after(() => rmSync(base, { recursive: true, force: true }));
const hasBubblewrap = spawnSync('bwrap', ['--version']).status === 0;
const skip = hasBubblewrap ? false : 'bubblewrap is not here';

function demo(name: string, env: Record<string, string>, ...flags: string[]) {
  const home = path.join(base, name);
  const tmp = path.join(home, 'tmp');
  mkdirSync(tmp, { recursive: true });
  const all = { PATH: process.env['PATH'] ?? '', HOME: home, TMPDIR: tmp, ...env };
  const options = { cwd: home, env: all, encoding: 'utf8', input: '' } as const;
  const { status, stdout, stderr } = spawnSync(trl, ['demo', ...flags], options);
  return { status, stdout, stderr, left: readdirSync(home, { recursive: true }) };
}

test('everything is as it says, without configuration, and no file is left', { skip }, () => {
  const { status, stdout, stderr, left } = demo('plain', {}, '--json');
  const told: unknown = JSON.parse(stdout);
  assert.equal(status, 0, stdout + stderr);
  assert.ok(typeof told === 'object' && told !== null && 'acts' in told && 'install' in told);
  assert.ok(Array.isArray(told.acts) && told.acts.length === 5);
  assert.ok(told.acts.every((act: unknown) => JSON.stringify(act).includes('"ok":true')));
  assert.match(String(told.install), /mcp install --client claude-code$/);
  assert.doesNotMatch(stdout, /ghp_/);
  assert.deepEqual(left, ['tmp']);
});

test('what this user has set changes nothing, and is not changed', { skip }, () => {
  const env = { TRL_POLICY: 'locked', XDG_STATE_HOME: path.join(base, 'none/state') };
  const { status, stdout, left } = demo('set', env);
  assert.equal(status, 0, stdout);
  assert.match(stdout, /✓ denied; archive\/ is still there\n/);
  assert.match(
    stdout,
    /✓ \d+ events, as they were written, checked against the heads of 3 receipts\n/,
  );
  assert.deepEqual(left, ['tmp']);
  assert.deepEqual(readdirSync(base).toSorted(), ['plain', 'set']);
});
