// `trl doctor`: what is wrong is found, and the line it names mends it.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { utimesSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { surroundings } from './support/daemon.ts';

const trl = path.join(path.dirname(import.meta.dirname), 'trl');
const base = mkdtempSync(path.join(tmpdir(), 'trl-doctor-'));
after(() => rmSync(base, { recursive: true, force: true }));

interface Found {
  readonly name: string;
  readonly state: string;
  readonly found: string;
  readonly fix: string | null;
}

function doctor(env: Record<string, string>): { status: number | null; checks: Found[] } {
  const options = { cwd: base, env, encoding: 'utf8', input: '' } as const;
  const { status, stdout } = spawnSync(trl, ['doctor', '--json'], options);
  const { checks }: { checks: Found[] } = JSON.parse(stdout);
  return { status, checks };
}

test('what is open to others, left over or not installed is named with its fix', () => {
  const programs = path.join(base, 'bin');
  mkdirSync(programs);
  writeFileSync(path.join(programs, 'codex'), '#!/bin/sh\n', { mode: 0o755 });
  const PATH = `${programs}:${process.env['PATH'] ?? ''}`;
  const env = { HOME: base, ...surroundings(base), PATH };
  const state = path.join(base, 'state/trl');
  const left = path.join(base, 'run/trl/r-0123456789abcdef');
  const starting = path.join(base, 'run/trl/r-fedcba9876543210');
  for (const dir of [state, left, starting]) mkdirSync(dir, { recursive: true, mode: 0o700 });
  utimesSync(left, 1, 1);
  writeFileSync(path.join(state, 'tokens.json'), '{}');
  chmodSync(path.join(state, 'tokens.json'), 0o644);
  chmodSync(state, 0o777);
  writeFileSync(path.join(state, 'state.db'), 'no database', { mode: 0o600 });
  writeFileSync(path.join(base, 'run/trl.sock'), '');
  const config = path.join(base, 'config/trl');
  for (const file of [path.join(state, 'audit/key'), path.join(config, 'approver.json')]) {
    mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(file, '', { mode: 0o644 });
  }
  mkdirSync(path.join(config, 'daemon.env'));
  const sick = doctor(env);
  assert.equal(sick.status, 1);
  const wrong = ['state directory', 'tokens', 'runners', 'codex', 'database', 'audit key'];
  wrong.push('enrolment', 'variables', 'socket directory');
  for (const name of wrong) {
    const check = sick.checks.find((one) => one.name === name);
    assert.ok(check !== undefined && check.state !== 'ok' && check.fix !== null, name);
    const mended = spawnSync('sh', ['-c', check.fix], { env, cwd: base, input: '' });
    assert.equal(mended.status, 0, `${check.fix}: ${String(mended.stderr)}`);
  }
  const well = doctor(env);
  for (const name of wrong) {
    const check = well.checks.find((one) => one.name === name);
    // /dev/shm is everybody's: a runtime of somebody else's may just have been killed.
    if (name === 'runners') assert.equal(existsSync(left), false);
    else assert.equal(check?.state, 'ok', `${name}: ${check?.found}`);
  }
  assert.ok(existsSync(starting), 'a runner that is starting is not in the way');
});

test('weak secrets are named, and never shown', () => {
  const weak = { POSTGRES_PASSWORD: 'sunshine', API_TOKEN: 'p7Gx2mQ9vK4tR8wZ' };
  const { checks } = doctor({
    HOME: base,
    ...surroundings(base),
    PATH: process.env['PATH'] ?? '',
    ...weak,
  });
  const check = checks.find(({ name }) => name === 'secrets');
  assert.equal(check?.state, 'warning');
  assert.match(check?.found ?? '', /^weak: POSTGRES_PASSWORD;/);
  assert.ok(!JSON.stringify(checks).includes('sunshine'));
});

test('one that stands still is told of, and so is what is in the way above', async () => {
  const home = path.join(base, 'still');
  mkdirSync(path.join(home, 'run'), { recursive: true, mode: 0o700 });
  const env = { PATH: process.env['PATH'] ?? '', HOME: home, ...surroundings(home) };
  // It takes connections, as a stopped process does, and never answers.
  const socket = path.join(home, 'run/trl.sock');
  const silent = createServer();
  silent.listen(socket);
  await once(silent, 'listening');
  const file = path.join(home, 'file');
  writeFileSync(file, '');
  const { status, checks } = doctor({ ...env, XDG_STATE_HOME: path.join(file, 'state') });
  silent.close();
  assert.equal(status, 1);
  const of = (name: string) => checks.find((one) => one.name === name);
  assert.match(of('runtime')?.found ?? '', /does not answer within 3 s/);
  assert.match(of('runtime')?.fix ?? '', /^fuser -k .*trl\.sock && .* daemon start$/);
  assert.match(of('state directory')?.found ?? '', /cannot be made: .*still\/file is no directory/);
  assert.equal(of('state directory')?.fix, `mv ${file} ${file}.old`);
});

/** A runtime of another version, which answers nothing but a ping. */
const older = `
const { createServer } = require('node:net');
const data = { uptime_s: 1, version: '0.0.0' };
const error = { code: 'METHOD_NOT_FOUND', message: 'no such method' };
const answer = ({ id, method }) =>
  /^system[.]/.test(method) ? { id, ok: true, data } : { id, ok: false, error };
createServer((socket) => {
  socket.setEncoding('utf8').on('data', (text) => {
    const lines = text.trim().split('\\n').map((line) => JSON.parse(line));
    for (const line of lines) socket.write(JSON.stringify(answer(line)) + '\\n');
  });
}).listen(process.argv[1], () => console.log('listens'));
`;

test('after an upgrade it advises what leaves commands running', async () => {
  const home = path.join(base, 'older');
  mkdirSync(path.join(home, 'run'), { recursive: true, mode: 0o700 });
  const env = { PATH: process.env['PATH'] ?? '', HOME: home, ...surroundings(home) };
  const runtime = spawn(process.execPath, ['-e', older, path.join(home, 'run/trl.sock')]);
  try {
    await once(runtime.stdout, 'data');
    const { checks } = doctor(env);
    const found = checks.find(({ name }) => name === 'runtime');
    assert.match(found?.found ?? '', /^0\.0\.0 at .*; this is /);
    assert.match(found?.fix ?? '', / daemon stop --keep-running && .* daemon start$/);
  } finally {
    runtime.kill();
  }
});
