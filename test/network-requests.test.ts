// What may be asked of a session's network, what policy makes of it, and what records of earlier
// versions mean.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { ApprovalView, Client, Receipt, Session } from '../src/client/index.ts';
import type { SessionCreateParams } from '../src/api/session.ts';
import { Sessions } from '../src/daemon/sessions/sessions.ts';
import { isTrlError } from '../src/errors.ts';
import { connectLocal } from '../src/local/index.ts';
import { hostPresets } from '../src/network/presets.ts';
import { newSessionId } from '../src/session/record.ts';
import { StateStore } from '../src/session/store.ts';
import { auditEvents } from './support/audit-daemon.ts';
import { whyNoBox } from './support/box.ts';
import { runOrAsk } from './support/hosts-runtime.ts';
import { startRuntime, surroundings, type Daemon } from './support/daemon.ts';

const trl = path.join(path.dirname(import.meta.dirname), 'trl');
const policy = `base: trusted
network:
  mode: on
  allow: [known.test]
  deny: [all.test, '*.wild.test', port.test:8443]
`;
const curl = (host: string): string => `curl -sS -m 10 http://${host}/`;

async function greeting(): Promise<Server> {
  const server = createServer((_request, response) => response.end('hello\n'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

describe('what is asked of the network', { skip: whyNoBox }, () => {
  let server: Server;
  let daemon: Daemon;
  let client: Client;

  before(async () => {
    server = await greeting();
    const port = Number(Object(server.address())['port']);
    const served = ['one.test', 'port.test', 'known.test'];
    const connect = served.map((name) => `    ${name}: "127.0.0.1:${port}"\n`).join('');
    daemon = await startRuntime({
      prepare: (home) => {
        const config = path.join(home, 'config/trl');
        mkdirSync(config, { recursive: true });
        writeFileSync(path.join(config, 'config.yaml'), `network:\n  connect:\n${connect}`);
        writeFileSync(path.join(config, 'policy.yaml'), policy);
        return { TRL_POLICY: path.join(config, 'policy.yaml') };
      },
    });
    client = await connectLocal({ socketPath: daemon.socketPath });
  });
  after(async () => {
    await client?.close();
    await daemon?.stop();
    server?.close();
  });

  const open = (more: SessionCreateParams): Promise<Session> =>
    client.createSession({ working_dir: daemon.root, ...more });

  const run = (session: Session, command: string): Promise<ApprovalView | Receipt> =>
    runOrAsk(client, session, command);

  test('hosts alone are the mode hosts, in their normal form; the record has them', async () => {
    const { id } = await open({ hosts: ['npm', 'Example.COM', 'example.com', 'a.test:8443'] });
    const hosts = ['a.test:8443', 'example.com', ...hostPresets.npm.hosts];
    const { network, hosts: found } = await client.call('session.info', { session_id: id });
    assert.deepEqual([network, found], ['hosts', hosts]);
    const created = auditEvents(daemon.home).findLast(({ kind }) => kind === 'session.created');
    assert.deepEqual(created?.data['hosts'], ['npm', 'Example.COM', 'example.com', 'a.test:8443']);
    const { network: old } = await client.call('session.info', {
      session_id: (await open({ network: 'on' })).id,
    });
    assert.equal(old, 'host');
  });

  test('what cannot be a host, or is too much, is refused by its name', async () => {
    const many = Array.from({ length: 250 }, (_, at) => `h${at}.test`);
    const refused: readonly (readonly [SessionCreateParams, RegExp])[] = [
      [{ hosts: ['a.test', '1.2.3.4'] }, /"1\.2\.3\.4"/],
      [{ hosts: ['*.com'] }, /"\*\.com"/],
      [{ hosts: [''] }, /"hosts\.0" must be a host or a preset/],
      [{ hosts: ['a.test'], network: 'off' }, /"hosts".*"off"/],
      [{ hosts: ['a.test'], network: 'host' }, /"hosts".*"host"/],
      [{ hosts: ['a.test'], network: 'on' }, /"hosts".*"host"/],
      [{ hosts: ['a.test'], sandbox: 'none' }, /without a sandbox/],
      [{ hosts: [...many, 'github'] }, /259 hosts: at most 256/],
    ];
    for (const [params, message] of refused) {
      await assert.rejects(open(params), { code: 'INVALID_PARAMS', message }, String(message));
    }
  });

  test('a host of which policy denies all that is asked for is refused by its name', async () => {
    const denied = ['all.test', 'all.test:22', 'x.wild.test', '*.wild.test', '*.x.wild.test'];
    for (const host of [...denied, 'port.test:8443']) {
      await assert.rejects(open({ hosts: ['b.test', host] }), (error) => {
        return isTrlError(error, 'POLICY_DENIED') && error.message.includes(` ${host}:`);
      });
    }
    for (const host of ['port.test', 'wild.test', '*.a.test', 'xall.test']) {
      assert.ok((await open({ hosts: [host] })).id, host);
    }
  });

  test('what policy asks nothing about may be reached, what it denies not', async () => {
    const session = await open({ network: 'hosts' });
    const found = await run(session, `${curl('one.test')}; ${curl('all.test')}`);
    assert.ok(!('asked' in found), 'it was asked about');
    assert.equal(found.stdout, 'hello\n');
    assert.deepEqual(
      found.denials?.map(({ host, rule }) => [host, rule]),
      [['all.test', 'deny all.test']],
    );
    // What nobody named is not reached because nothing is asked.
    writeFileSync(path.join(daemon.root, 'x.sh'), curl('port.test'));
    const other = await run(session, 'sh x.sh');
    assert.ok(!('asked' in other) && other.stdout === '');
  });

  test('a denied port leaves a question about the other ports of its host', async () => {
    const asked = async (more: SessionCreateParams, command: string) => {
      const found = await run(await open({ policy: 'auto', ...more }), command);
      return 'asked' in found ? found.asked.hosts : found.stdout;
    };
    assert.deepEqual(await asked({ network: 'hosts' }, curl('port.test')), ['port.test']);
    assert.deepEqual(await asked({ hosts: ['port.test'] }, 'true'), ['port.test']);
    const both = `${curl('port.test')}; ${curl('one.test')}`;
    assert.deepEqual(await asked({ network: 'hosts' }, both), ['one.test', 'port.test']);
    assert.equal(await asked({ network: 'hosts' }, curl('known.test')), 'hello\n');
  });

  test('trl run says what was refused, also of a command that succeeds', async () => {
    const command = `${curl('one.test')}; ${curl('all.test')} 2>/dev/null || true`;
    const child = spawn(trl, ['run', '--net', 'one.test', command], {
      cwd: daemon.root,
      env: {
        ...process.env,
        ...surroundings(daemon.home),
        TRL_SOCKET_PATH: daemon.socketPath,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const printed = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].setEncoding('utf8').on('data', (text: string) => {
        printed[name] += text;
      });
    }
    const [code] = await once(child, 'close');
    assert.deepEqual([code, printed.stdout], [0, 'hello\n'], printed.stderr);
    assert.match(printed.stderr, /^trl: refused: network to all\.test \(deny all\.test\)$/m);
    assert.doesNotMatch(printed.stderr, /one\.test/);
  });

  test('commands in any wrapper imply their hosts', async () => {
    const session = await open({ network: 'hosts', policy: 'auto' });
    const found = await run(session, `bash -c 'true; env A=b ${curl('one.test')}'`);
    assert.deepEqual('asked' in found ? found.asked.hosts : null, ['one.test']);
  });
});

test('a stored session of an earlier version has the network host, of a later one none', () => {
  const store = new StateStore(':memory:');
  const files = { read: { allow: [], deny: [] }, write: { allow: [], deny: [] } };
  const words = { on: 'host', off: 'off', hosts: 'hosts', open: 'open', host: 'host', all: 'off' };
  const ids = Object.entries(words).map(([network, wanted]) => {
    const id = newSessionId();
    store.put('sessions', id, { id, grants: { files, network, sandbox: 'bubblewrap' } });
    return [id, wanted] as const;
  });
  const sessions = new Sessions(store, 100);
  for (const [id, wanted] of ids) assert.equal(sessions.get(id).record.grants.network, wanted);
  store.close();
});
