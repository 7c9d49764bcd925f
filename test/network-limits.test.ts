// Rules that limit what a command sends to a host and how often it connects: exactly, in every way
// to send, and for all rules that name the host.
import assert from 'node:assert/strict';
import { createServer as createHttp } from 'node:http';
import { createServer as createTcp, type Server } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { parseHostRule } from '../src/network/host-rules.ts';
import { egressExec, openBox, whyNoBox } from './support/box.ts';

test('limits are parts of a rule, in one form', () => {
  const text = (rule: string): string | undefined => parseHostRule(rule)?.text;
  assert.equal(text('a.test upload=10000kB'), 'a.test upload=10MB');
  assert.equal(text('GET a.test/x connections=5 upload=0'), 'GET a.test/x upload=0 connections=5');
  assert.equal(parseHostRule('*.a.test:8443 upload=1500')?.uploadBytesMax, 1_500);
  for (const bad of [
    'a.test upload',
    'a.test upload=',
    'a.test upload=-1',
    'a.test upload=1TB',
    'a.test upload=1 upload=2',
    'a.test connections=5MB',
    'a.test download=1',
    'a.test  upload=1',
    'a.test upload=1 ',
  ]) {
    assert.equal(parseHostRule(bad), null, bad);
  }
});

describe('limits', { skip: whyNoBox }, () => {
  let got = 0;
  const http = createHttp((request, response) => {
    request.on('data', (bytes: Buffer) => (got += bytes.length));
    request.on('end', () => response.end('all\n'));
  });
  const tcp = createTcp((socket) => {
    socket.on('data', (bytes) => (got += bytes.length));
    socket.on('error', () => {});
  });
  const servers: readonly Server[] = [http, tcp];
  let connect: Record<string, string> = {};
  before(async () => {
    const at: string[] = [];
    for (const server of servers) {
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      at.push(`127.0.0.1:${String(Object(server.address())['port'])}`);
    }
    connect = { 'web.a.test': at[0] ?? '', 'raw.test': at[1] ?? '' };
  });
  after(() => {
    http.closeAllConnections();
    for (const server of servers) server.close();
  });
  const run = async (allow: readonly string[], command: string) => {
    got = 0;
    await using box = await openBox({ network: 'hosts', egress: { allow, connect } });
    const answer = await box.run(command);
    const records = (await box.bridge?.end(egressExec)) ?? [];
    const refused = records.filter(({ allowed }) => !allowed).map(({ rule }) => rule);
    return { ...answer, refused: [...new Set(refused)] };
  };
  const post = (bytes: number): string =>
    `head -c ${bytes} /dev/zero | curl -sS -m 10 --data-binary @- http://web.a.test/`;

  test('a body that is too much for the rule does not pass', async () => {
    const fits = await run(['web.a.test upload=20kB'], post(10_000));
    assert.equal(fits.stdout, 'all\n', fits.stderr);
    const twice = await run(['web.a.test upload=20kB'], `${post(10_000)}; ${post(10_000)}`);
    assert.match(twice.stdout, /^all\n/);
    assert.deepEqual(twice.refused, ['upload of web.a.test upload=20kB']);
    assert.ok(got < 20_000, String(got));
    const large = await run(['web.a.test upload=1MB'], post(50_000_000));
    assert.deepEqual(large.refused, ['upload of web.a.test upload=1MB']);
    assert.ok(got <= 1_000_000, String(got));
  });

  test('the strictest of all rules that name the host decides', async () => {
    const rules = ['web.a.test', '*.a.test upload=5kB', 'web.a.test upload=1MB'];
    const { refused } = await run(rules, post(10_000));
    assert.deepEqual(refused, ['upload of *.a.test upload=5kB']);
  });

  test('a connection that is no HTTP is cut off at the limit', async () => {
    const send = 'head -c 5000000 /dev/zero > /dev/tcp/raw.test/9000';
    const { refused } = await run(['raw.test:9000 upload=1MB'], `bash -c '${send}'`);
    assert.deepEqual(refused, ['upload of raw.test:9000 upload=1MB']);
    assert.ok(got <= 1_000_000, String(got));
  });

  test('connections are counted', async () => {
    const get = 'curl -sS -m 10 http://web.a.test/; ';
    const found = await run(['web.a.test connections=2'], get.repeat(4));
    assert.equal(found.stdout.split('\n').filter((line) => line === 'all').length, 2);
    assert.deepEqual(found.refused, ['connections of web.a.test connections=2']);
  });
});
