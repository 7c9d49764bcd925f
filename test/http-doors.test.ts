// The HTTP door over TLS, and the one that a person's login opens.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { readTlsPair } from '../src/daemon/http/tls.ts';
import { raw, startRuntime, surroundings } from './support/daemon.ts';
import { ask, mainToken, startHttp } from './support/http.ts';
import type { HttpDaemon } from './support/http.ts';
import { eventually } from './support/processes.ts';

const trl = path.join(path.dirname(import.meta.dirname), 'trl');
const openssl = spawnSync('openssl', ['version']).status === 0;

function newPair(directory: string, name: string): { cert: string; key: string } {
  const [cert, key] = [`${name}.pem`, `${name}.key`].map((file) => path.join(directory, file));
  assert.ok(cert !== undefined && key !== undefined);
  const kind = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'];
  const made = [...kind, '-nodes', '-days', '2', '-subj', `/CN=${name}`, '-keyout', key];
  execFileSync('openssl', [...made, '-out', cert], { stdio: 'ignore' });
  chmodSync(key, 0o600);
  return { cert, key };
}

async function overTls(daemon: HttpDaemon): Promise<{ status: number; name: string }> {
  const headers = { Authorization: `Bearer ${mainToken}` };
  const options = { host: '127.0.0.1', port: daemon.port, path: '/v1/ping', agent: false, headers };
  const asked = request({ ...options, rejectUnauthorized: false }).end();
  const [response] = await once(asked, 'response');
  const name = response.socket.getPeerCertificate().subject.CN;
  response.resume();
  await once(response, 'end');
  return { status: response.statusCode, name };
}

test('over TLS it answers, and takes another certificate without an end', async (t) => {
  if (!openssl) return t.skip('there is no openssl');
  const directory = mkdtempSync(path.join(tmpdir(), 'trl-tls-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const { cert, key } = newPair(directory, 'one');
  await using daemon = await startHttp({ flags: ['--http-cert', cert, '--http-key', key] });
  assert.match(daemon.origin, /^https:/);
  assert.deepEqual(await overTls(daemon), { status: 200, name: 'one' });
  const other = newPair(directory, 'two');
  copyFileSync(other.cert, cert);
  copyFileSync(other.key, key);
  process.kill(daemon.pid, 'SIGHUP');
  await eventually('the other one', async () => (await overTls(daemon)).name === 'two');
});

test('it does not start without a token, and with a key that others may read', (t) => {
  const home = mkdtempSync(path.join(tmpdir(), 'trl-doors-'));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  const run = (token: string, ...flags: readonly string[]) => {
    const env = { ...process.env, ...surroundings(home), TRL_AUTH_TOKEN: token };
    const root = path.join(home, 'work');
    mkdirSync(root, { recursive: true });
    const place = ['--socket-path', path.join(home, 's.sock'), '--workspace-root', root];
    const args = ['serve', ...place, '--http', '127.0.0.1:0', ...flags];
    const { status, stderr } = spawnSync(trl, args, { env, encoding: 'utf8', timeout: 120_000 });
    return { status, stderr };
  };
  for (const token of ['', 'x'.repeat(31)]) {
    const { status, stderr } = run(token);
    assert.equal(status, 125);
    assert.match(stderr, /TRL_AUTH_TOKEN.*32/s);
    assert.ok(token === '' || !stderr.includes(token));
  }
  if (!openssl) return;
  const { cert, key } = newPair(home, 'open');
  chmodSync(key, 0o644);
  assert.match(run(mainToken, '--http-cert', cert, '--http-key', key).stderr, /open to others/);
  const missing = run(mainToken, '--http-cert', '/nowhere', '--http-key', key);
  assert.match(missing.stderr, /cannot be read/);
  // A key of another kind, which TLS itself takes beside the certificate.
  chmodSync(key, 0o600);
  readTlsPair({ cert, key });
  const other = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' });
  writeFileSync(key, other);
  assert.throws(() => readTlsPair({ cert, key }), /are no pair: the key is of another certificate/);
});

test('a login opens a door for people alone, good once for whoever has the link', async () => {
  await using daemon = await startRuntime({ env: { TRL_AUTH_TOKEN: mainToken } });
  using client = await raw(daemon.socketPath);
  const { ok, data } = await client.ask('console.login');
  assert.equal(ok, true);
  const { origin, port, hash } = new URL(data.url);
  const http = { ...daemon, origin, port: Number(port) };
  assert.match(origin, /^http:\/\/127\.0\.0\.1:\d+$/);
  assert.equal((await ask(http, '/v1/ping')).status, 401);
  const code = new URLSearchParams(hash.slice(1)).get('login') ?? '';
  const asked = { body: { code }, token: null };
  const first = await ask(http, '/v1/login', asked);
  assert.equal(first.status, 200);
  const { token, roles } = JSON.parse(first.text);
  assert.ok(roles.includes('approver'));
  assert.equal((await ask(http, '/v1/approvals', { token })).status, 200);
  assert.equal((await ask(http, '/v1/sessions', { token, body: {} })).status, 403);
  const again = await ask(http, '/v1/login', asked);
  assert.deepEqual([again.status, JSON.parse(again.text).code], [401, 'AUTH_FAILED']);
  assert.ok(!again.text.includes(code) && !daemon.log().includes(code));
  const elsewhere = { ...asked, headers: { Origin: 'https://evil.example' } };
  assert.equal((await ask(http, '/v1/login', elsewhere)).status, 403);
});
