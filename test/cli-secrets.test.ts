// `trl secrets …` against a real daemon: names on standard output, values only into the daemon.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { raw, startRuntime, surroundings } from './support/daemon.ts';
import type { Daemon } from './support/daemon.ts';
import { enroll, person, whyNoTerminal } from './support/pty.ts';

const trl = path.join(path.dirname(import.meta.dirname), 'trl');
const value = 'c0rrect-horse-Battery';
const phrase = 'correct horse battery';
const skip = whyNoTerminal;

let daemon: Daemon;
let env: Record<string, string>;

before(async () => {
  daemon = await startRuntime({ env: { DEPLOY_TOKEN: value } });
  env = { ...surroundings(daemon.home), TRL_SOCKET_PATH: daemon.socketPath };
});
after(() => daemon.stop());

/** Without a terminal, also where the tests have one. */
function piped(input: string, ...args: string[]) {
  const cwd = daemon.root;
  const options = { env: { ...process.env, ...env }, cwd, input, encoding: 'utf8' } as const;
  const { status, stdout, stderr } = spawnSync('setsid', ['-w', trl, ...args], options);
  assert.ok(!`${stdout}${stderr}`.includes(value), `${stdout}${stderr}`);
  return { status, stdout, stderr };
}
const ask = (...args: string[]) => piped('', 'secrets', ...args);

test('a list has names and sources', () => {
  const { status, stdout } = ask('list');
  assert.equal(status, 0);
  assert.match(
    stdout,
    /^SECRET +SOURCE +ORIGIN +LAST USED\nDEPLOY_TOKEN +environment +- +never\n$/,
  );
  const entry = { name: 'DEPLOY_TOKEN', source: 'environment', origin: null, last_used: null };
  assert.deepEqual(JSON.parse(ask('list', '--json').stdout), { secrets: [entry], problems: [] });
});

test('a check exits by what it finds', () => {
  assert.equal(ask('check', 'DEPLOY_TOKEN').status, 0);
  const { status, stderr } = ask('check', 'ABSENT');
  assert.equal(status, 1);
  assert.match(stderr, /trl secrets set ABSENT/);
  assert.equal(JSON.parse(ask('check', 'ABSENT', '--json').stdout).state, 'missing');
});

test('a value comes from a pipe, and is kept', () => {
  const given = piped(`${value}2\n`, 'secrets', 'set', 'PIPED', '--stdin');
  assert.equal(given.status, 0, given.stderr);
  assert.equal(given.stdout, '');
  assert.match(given.stderr, /PIPED is kept in the memory of the runtime/);
  const answer = JSON.parse(
    piped('changeme1\n', 'secrets', 'set', 'W', '--stdin', '--json').stdout,
  );
  assert.equal(answer.name, 'W');
  assert.match(answer.warning, /common word/);
  const listed = ask('list').stdout;
  assert.match(listed, /^PIPED +person/m);
  assert.equal(ask('delete', 'PIPED').status, 0);
  assert.doesNotMatch(ask('list').stdout, /PIPED/);
  assert.match(ask('delete', 'PIPED').stderr, /SECRET_NOT_FOUND/);
  assert.match(ask('delete', 'DEPLOY_TOKEN').stderr, /its source \(environment\) still has it/);
});

test('a value as an argument is refused, with the reason, and not repeated', () => {
  for (const args of [['API_KEY', value], [`API_KEY=${value}`], ['--stdin', 'API_KEY', value]]) {
    const { status, stderr } = ask('set', ...args);
    assert.equal(status, 125);
    assert.match(stderr, /a value is never an argument/);
    assert.match(stderr, /run: trl secrets set API_KEY/);
  }
  assert.equal(ask('check', 'API_KEY').status, 1);
});

test('what cannot be a secret is refused in one sentence', () => {
  const refused = (input: string, name = 'BAD'): string => {
    const { status, stderr } = piped(input, 'secrets', 'set', name, '--stdin');
    assert.equal(status, 125);
    return stderr;
  };
  assert.match(refused('ab\\n12\\t3!\n'), /fewer than 6 letters or digits/);
  assert.match(refused(''), /must be text that is not empty/);
  assert.match(refused('x'.repeat(65_540)), /larger than 65536 bytes/);
  assert.match(refused(`${value}\0x`), /without NUL/);
  assert.match(refused('valid-value-1', 'A B'), /letters, digits and "_"/);
  assert.match(refused('valid-value-1', 'LD_PRELOAD'), /programs run what this variable says/);
  const { status, stderr } = ask('set', 'BAD');
  assert.equal(status, 125);
  assert.match(stderr, /there is no terminal/);
});

test('secrets are injected into a session and taken back', () => {
  const id = piped('', 'session', 'create', '--name', 'web').stdout.trim();
  assert.match(ask('inject', 'DEPLOY_TOKEN').stderr, /--session/);
  const absent = ask('inject', 'DEPLOY_TOKEN', 'ABSENT', '--session', 'web');
  assert.match(absent.stderr, /ABSENT/);
  const info = () => JSON.parse(piped('', 'session', 'info', 'web', '--json').stdout);
  assert.deepEqual(info().injected, []);
  const done = ask('inject', 'DEPLOY_TOKEN', '--session', 'web', '--json');
  assert.deepEqual(JSON.parse(done.stdout), { session_id: id, names: ['DEPLOY_TOKEN'] });
  assert.deepEqual(info().injected, ['DEPLOY_TOKEN']);
  assert.equal(ask('delete', 'DEPLOY_TOKEN', '--session', 'web').status, 0);
  assert.deepEqual(info().injected, []);
  assert.match(ask('delete', 'DEPLOY_TOKEN', '--session', 'web').stderr, /SECRET_NOT_FOUND/);
});

test('a person gives at a terminal what an agent asked for, unseen', { skip }, async () => {
  const asking = ask('request', 'ASKED', '--reason', 'to \u202edeploy');
  assert.equal(asking.status, 1);
  assert.match(asking.stderr, /a person can give it until .*: trl secrets set ASKED/);
  assert.match(ask('request', 'ASKED').stderr, /--reason/);
  assert.match(ask('requests').stdout, /ASKED .* to \\u\{202E\}deploy/);
  using human = person(['secrets', 'set', 'ASKED'], env);
  await human.sees('Value of ASKED (not shown): ');
  human.types(`${value}X\b\r`);
  await human.sees('ASKED is kept in the memory of the runtime');
  assert.equal(await human.left(), 0);
  assert.ok(!human.shown().includes('orse'), human.shown());
  const there = ask('request', 'ASKED', '--reason', 'again');
  assert.equal(there.status, 0, there.stderr);
  assert.doesNotMatch(ask('requests').stdout, /ASKED/);
});

test('several lines at a terminal are refused, and none is kept', { skip }, async () => {
  using human = person(['secrets', 'set', 'LINES'], env);
  await human.sees('not shown');
  human.types('first-line-of-it\rsecond-line-of-it\r');
  await human.sees('a value of several lines comes by --stdin');
  assert.equal(await human.left(), 125);
  assert.ok(!human.shown().includes('line-of-it'), human.shown());
  assert.equal(ask('check', 'LINES').status, 1);
});

test('who leaves the prompt keeps nothing', { skip }, async () => {
  for (const keys of ['\x03', '\r', 'half-a-value\x04']) {
    using human = person(['secrets', 'set', 'LEFT'], env);
    await human.sees('not shown');
    human.types(keys);
    await human.sees('nothing was kept');
    assert.equal(await human.left(), 130);
  }
  assert.equal(ask('check', 'LEFT').status, 1);
});

// Last: it enrols somebody.
test('where a person is enrolled, only they give values', { skip }, async () => {
  assert.equal(await enroll(phrase, env), 0);
  const alone = piped(`${value}\n`, 'secrets', 'set', 'MINE', '--stdin');
  assert.equal(alone.status, 125);
  assert.match(alone.stderr, /there is no terminal/);
  using human = person(['secrets', 'set', 'MINE'], env);
  await human.sees('not shown');
  human.types(`${value}3\r`);
  await human.sees('Passphrase: ');
  human.types('a guess\r');
  await human.sees('the passphrase is wrong');
  await human.sees('Passphrase: ');
  human.types(`${phrase}\r`);
  await human.sees('MINE is kept');
  assert.equal(await human.left(), 0);
  assert.ok(!human.shown().includes(phrase));
  const unproved = piped('', 'secrets', 'delete', 'MINE');
  assert.equal(unproved.status, 125);
  assert.match(unproved.stderr, /there is no terminal/);
  using client = await raw(daemon.socketPath);
  for (const proof of [{}, { passphrase: 'a guess' }]) {
    const answer = await client.ask('secrets.delete', { name: 'MINE', ...proof });
    assert.equal(answer.error.code, 'AUTH_FAILED', JSON.stringify(answer));
  }
  assert.equal(piped('', 'secrets', 'check', 'MINE').status, 0);
  using again = person(['secrets', 'delete', 'MINE'], env);
  await again.sees('Passphrase: ');
  again.types(`${phrase}\r`);
  await again.sees('MINE is forgotten');
  assert.equal(await again.left(), 0);
});
