// Sessions with hosts through a real runtime: what is asked once, what an answer holds for, what a
// receipt says, and what goes on when the runtime or the egress process is killed.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { ApprovalView, Client, Receipt, Session } from '../src/client/index.ts';
import { isTrlError } from '../src/errors.ts';
import { connectLocal } from '../src/local/index.ts';
import { whyNoBox } from './support/box.ts';
import { startRuntime, type Daemon } from './support/daemon.ts';
import { descendantsOf, runnerPid } from './support/processes.ts';

const skip = whyNoBox;
const projects = ['a', 'b', 'c', 'd'];
const hosts = ['one.test', 'two.test', 'three.test', 'denied.test', 'known.test'];

const receiptOf = (found: ApprovalView | Receipt): Receipt => {
  assert.ok(!('asked' in found), 'it was asked about');
  return found;
};
const questionOf = (found: ApprovalView | Receipt): ApprovalView => {
  assert.ok('asked' in found, 'it was not asked about');
  return found;
};
const curl = (host: string): string => `curl -sS -m 10 http://${host}/`;

async function greeting(): Promise<Server> {
  const server = createServer((request, response) => {
    response.end(`hello from ${request.headers.host}\n`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

describe('sessions with hosts', { skip }, () => {
  let server: Server;
  let daemon: Daemon;
  let client: Client;

  before(async () => {
    server = await greeting();
    const port = Number(Object(server.address())['port']);
    const connect = hosts.map((name) => `    ${name}: "127.0.0.1:${port}"\n`).join('');
    daemon = await startRuntime({
      args: [
        'serve',
        '--socket-path',
        '{socket}',
        ...projects.map((name) => `--workspace-root={root}/${name}`),
      ],
      prepare: (home) => {
        const config = path.join(home, 'config/trl');
        mkdirSync(config, { recursive: true });
        for (const name of projects) mkdirSync(path.join(home, 'work', name));
        writeFileSync(path.join(config, 'config.yaml'), `network:\n  connect:\n${connect}`);
        const policy = 'base: auto\nnetwork:\n  mode: ask\n  allow: [known.test]\n';
        writeFileSync(path.join(config, 'policy.yaml'), `${policy}  deny: [denied.test]\n`);
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

  const open = (name: string, more: object = {}): Promise<Session> =>
    client.createSession({ working_dir: path.join(daemon.root, name), network: 'hosts', ...more });

  /** The question that a command is met with, or its receipt. */
  async function run(session: Session, command: string): Promise<ApprovalView | Receipt> {
    try {
      return await session.run(command);
    } catch (error) {
      if (!isTrlError(error, 'APPROVAL_REQUIRED')) throw error;
      const found = (await client.approvals({ state: 'pending' })).at(-1);
      assert.ok(found !== undefined);
      return found;
    }
  }
  async function answer(
    { approval_id, digest, exec_id }: ApprovalView,
    scope: 'once' | 'session' | 'project',
  ): Promise<void> {
    await client.decide({ approval_id, digest, decision: 'approve', scope });
    await client.attach(exec_id).drain();
  }

  test('a host of the text is asked about once a session', async () => {
    const session = await open('a');
    const first = questionOf(await run(session, `${curl('one.test')}; ${curl('two.test')}`));
    assert.deepEqual(first.asked.hosts, ['one.test', 'two.test']);
    assert.deepEqual(
      first.verdict.rules.map(({ id }) => id),
      ['reach.hosts'],
    );
    await answer(first, 'session');
    const { stdout, connections = [] } = receiptOf(await run(session, curl('two.test')));
    assert.equal(stdout, 'hello from two.test\n');
    assert.deepEqual(
      connections.map(({ host, port, count }) => [host, port, count]),
      [['two.test', 80, 1]],
    );
    assert.ok((connections[0]?.received_bytes ?? 0) > 0);
    questionOf(await run(session, curl('three.test')));
    // Another session of the project is another question.
    questionOf(await run(await open('a'), curl('one.test')));
  });

  test('an answer for the project holds for its later sessions, there alone', async () => {
    await answer(questionOf(await run(await open('b'), curl('one.test'))), 'project');
    const found = receiptOf(await run(await open('b'), `true && ${curl('one.test')}`));
    assert.equal(found.stdout, 'hello from one.test\n');
    questionOf(await run(await open('c'), curl('one.test')));
  });

  test('once is once: the next command is asked about again', async () => {
    const session = await open('d');
    const first = questionOf(await run(session, curl('one.test')));
    await answer(first, 'once');
    questionOf(await run(session, curl('one.test')));
  });

  test('policy answers for hosts that it names', async () => {
    const session = await open('c');
    assert.equal(
      receiptOf(await run(session, curl('known.test'))).stdout,
      'hello from known.test\n',
    );
    const refused = receiptOf(await run(session, curl('denied.test')));
    assert.notEqual(refused.exit_code, 0);
    assert.deepEqual(refused.denials, [
      { kind: 'network', host: 'denied.test', port: 0, rule: 'deny denied.test' },
    ]);
    await assert.rejects(open('c', { hosts: ['denied.test'] }), { code: 'POLICY_DENIED' });
    await assert.rejects(open('c', { hosts: ['1.2.3.4'] }), { code: 'INVALID_PARAMS' });
    await assert.rejects(open('c', { network: 'off', hosts: ['npm'] }), { code: 'INVALID_PARAMS' });
  });

  test('a host that no text names is refused, and the receipt says how to ask', async () => {
    const session = await open('c');
    writeFileSync(path.join(daemon.root, 'c/script.sh'), curl('two.test'));
    const found = receiptOf(await run(session, 'sh script.sh'));
    assert.deepEqual(found.denials, [
      { kind: 'network', host: 'two.test', port: 0, rule: 'not allowed' },
    ]);
    assert.match(found.hints.join('\n'), /two\.test.*--net two\.test/);
  });

  test('hosts of the session are asked with its first command, and never again', async () => {
    const session = await open('c', { hosts: ['two.test'] });
    writeFileSync(path.join(daemon.root, 'c/script.sh'), curl('two.test'));
    const first = questionOf(await run(session, 'sh script.sh'));
    assert.deepEqual(first.asked.hosts, ['two.test']);
    await answer(first, 'session');
    assert.equal(receiptOf(await run(session, 'sh script.sh')).stdout, 'hello from two.test\n');
  });

  test('sessions are apart: the address of one is nothing in another', async () => {
    const [one, other] = [await open('c'), await open('c')];
    const look = "getent hosts known.test | cut -d' ' -f1";
    const at = receiptOf(await run(one, look)).stdout.trim();
    assert.match(at, /^198\.18\./);
    const found = receiptOf(await run(other, `curl -sS -m 5 -H 'Host: known.test' http://${at}/`));
    assert.notEqual(found.exit_code, 0);
    assert.equal(found.stdout, '');
  });

  test('the egress process is killed: connections end, and the next one works', async () => {
    const session = await open('c');
    const again = `${curl('known.test')} --retry 5 --retry-all-errors`;
    const command = `${curl('known.test')}; sleep 3; ${again}`;
    const running = run(session, command);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    const egress = descendantsOf(runnerPid(daemon) ?? 0)
      .map(({ pid }) => pid)
      .filter((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('egress.js'));
    assert.equal(egress.length, 1);
    process.kill(egress[0] ?? 0, 'SIGKILL');
    assert.equal(receiptOf(await running).stdout, 'hello from known.test\n'.repeat(2));
  });
});
