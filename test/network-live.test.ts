// What a session is connected to now, and a person who ends it: at once, for later commands, and
// for that session alone.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { connectLocal } from '../src/local/index.ts';
import { whyNoBox } from './support/box.ts';
import { startRuntime } from './support/daemon.ts';
import { egressPid, eventually, runnerPid } from './support/processes.ts';
import { TalkingServer } from './support/talking-server.ts';

test('a blocked host is cut off, and stays so', { skip: whyNoBox }, async (t) => {
  const talking = new TalkingServer();
  const port = await talking.listen();
  await using daemon = await startRuntime({
    prepare: (home) => {
      mkdirSync(path.join(home, 'config/trl'), { recursive: true });
      const at = `"127.0.0.1:${port}"`;
      const text = `network:\n  connect: { live.test: ${at}, other.test: ${at} }\n`;
      writeFileSync(path.join(home, 'config/trl/config.yaml'), text);
      return {};
    },
  });
  t.after(() => {
    talking.server.closeAllConnections();
    talking.server.close();
  });
  const client = await connectLocal({ socketPath: daemon.socketPath });
  t.after(() => client.close());
  const open = () =>
    client.createSession({ working_dir: daemon.root, hosts: ['live.test', 'other.test'] });
  const [one, two] = [await open(), await open()];
  const loop = (host: string): string =>
    `while :; do curl -sSN http://${host}/; echo again; sleep 0.1; done`;
  await one.start(loop('live.test'));
  await one.start(loop('other.test'));
  await two.start(loop('live.test'));
  const hostsOf = async (session: typeof one): Promise<string> =>
    (await session.connections())
      .filter(({ state, received_bytes: bytes }) => state === 'open' && bytes > 0)
      .map(({ host, port: to }) => `${host}:${to}`)
      .toSorted()
      .join(' ');
  const until = async (session: typeof one, wanted: string): Promise<void> => {
    await eventually(wanted, async () => ((await hostsOf(session)) === wanted ? true : null));
  };
  await until(one, 'live.test:80 other.test:80');
  await until(two, 'live.test:80');
  await one.blockHost('LIVE.test.');
  await until(one, 'other.test:80');
  await until(two, 'live.test:80');
  const later = await one.run('curl -sS -m 5 http://live.test/; true');
  assert.equal(later.stdout, '');
  assert.deepEqual(
    later.denials?.map(({ kind, host }) => [kind, host]),
    [['network', 'live.test']],
  );
  await assert.rejects(one.blockHost('1.2.3.4'), { code: 'INVALID_PARAMS' });
  process.kill(egressPid(runnerPid(daemon) ?? 0) ?? 0, 'SIGKILL');
  await until(two, 'live.test:80');
  await until(one, 'other.test:80');
});
