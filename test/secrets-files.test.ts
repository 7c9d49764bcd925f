// Files with credentials: commands see placeholders, hosts get the values, through a real runtime.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test as define } from 'node:test';
import { credentialsIn } from '../src/secrets/credential-file.ts';
import { whyNoBox } from './support/box.ts';
import { receiptOf, startHostsRuntime, type HostsRuntime } from './support/hosts-runtime.ts';

const skip = whyNoBox;
const token = 'tok-REALREALREALREAL';
const npm = 'npm_0fTheTest9876543210abcdefghijklmnop';
const password = 'Passw0rdOfDocker77';
const auth = (text: string): string => Buffer.from(`me:${text}`).toString('base64');
const config = `secrets:
  files:
    - { path: "{home}/out/token", hosts: [known.test], plaintext: true }
    - { path: "{home}/.npmrc", hosts: [known.test], plaintext: true }
    - { path: "{home}/docker/config.json", hosts: [known.test], plaintext: true }
    - { path: "{home}/missing", hosts: [known.test] }
`;
const files = {
  'out/token': `${token}\n`,
  '.npmrc': `registry=https://known.test/\n//known.test/:_authToken=${npm}\n`,
  'docker/config.json': JSON.stringify({ auths: { 'known.test': { auth: auth(password) } } }),
};

let runtime: HostsRuntime;
before(async () => {
  if (skip === false) runtime = await startHostsRuntime({ config, files });
});
after(async () => {
  await runtime?.[Symbol.asyncDispose]();
});
const test = (name: string, run: () => Promise<void>): void => void define(name, { skip }, run);
const at = (name: string): string => path.join(runtime.daemon.home, name);
const send = (header: string): string =>
  `curl -sS -m 10 -H "${header}" http://known.test/ >/dev/null`;

test('a file is shown with placeholders, and its host gets the value in any header', async () => {
  const session = await runtime.open('a');
  const file = at('out/token');
  const run = async (command: string) => receiptOf(await runtime.run(session, command));
  const shown = await run(`cat ${file}; wc -c < ${file}; cat ${file} | rev | cut -c1-4`);
  assert.doesNotMatch(shown.stdout, /REAL|LAER/);
  assert.match(shown.stdout, /^21$/m);
  assert.equal((await run(send(`X-Tok: $(cat ${file})`))).exit_code, 0);
  assert.equal(runtime.authorizations.at(-1), token);
  const written = await run(`echo x > ${file}`);
  assert.notEqual(written.exit_code, 0);
});

test('what programs keep is found in it: lines, JSON, and base64 of Docker', async () => {
  const session = await runtime.open('b');
  const run = async (command: string) => receiptOf(await runtime.run(session, command));
  const line = await run(`sed 's/.*_authToken=//;1d' ${at('.npmrc')} | cut -c1-4`);
  assert.equal(line.stdout, 'npm_\n');
  assert.match(
    (await run(`head -1 ${at('.npmrc')}`)).stdout,
    /^registry=https:\/\/known\.test\/$/m,
  );
  await run(send(`Authorization: Bearer $(sed 's/.*_authToken=//;1d' ${at('.npmrc')})`));
  assert.equal(runtime.authorizations.at(-1), `Bearer ${npm}`);
  const basic = `$(sed 's/.*"auth":"//;s/".*//' ${at('docker/config.json')})`;
  await run(send(`Authorization: Basic ${basic}`));
  assert.equal(runtime.authorizations.at(-1), `Basic ${auth(password)}`);
});

test('without a bridge it is shown so, too; a renewed token is another one', async () => {
  const session = await runtime.open('c', { network: 'off' });
  const digest = async (): Promise<string> =>
    receiptOf(await runtime.run(session, `sha256sum < ${at('out/token')}`)).stdout;
  const first = await digest();
  assert.equal(await digest(), first);
  writeFileSync(at('out/token'), 'tok-NEWNEWNEWNEWNEWNEW\n');
  assert.notEqual(await digest(), first);
  assert.doesNotMatch(
    receiptOf(await runtime.run(session, `cat ${at('out/token')}`)).stdout,
    /NEWNEW/,
  );
});

define('credentials in texts', () => {
  const found = (text: string): string[] => credentialsIn(text).map(({ value }) => value);
  assert.deepEqual(found('ghp_abcdefghijklmnop1234\n'), ['ghp_abcdefghijklmnop1234']);
  assert.deepEqual(found('https://me:s3cretpass99%21@git.test\n'), ['s3cretpass99!']);
  assert.deepEqual(found('machine a.test login me password hunter2hunter2\n'), ['hunter2hunter2']);
  assert.deepEqual(found('github.com:\n  user: me\n  oauth_token: gho_abcdefgh12345678\n'), [
    'gho_abcdefgh12345678',
  ]);
  assert.deepEqual(found('[default]\naws_secret_access_key = abc/DEF+1234567890\n'), [
    'abc/DEF+1234567890',
  ]);
  assert.deepEqual(found('{"token": "abcd1234efgh", "url": "https://x.test/"}'), ['abcd1234efgh']);
  assert.deepEqual(found('registry=https://npm.test/\nemail=me@x.test\n'), []);
});
