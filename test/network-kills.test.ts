// kill -9 of each process beside a command with a connection that lives: what goes on, what is
// reset, and that nothing is left.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { connectLocal } from '../src/local/index.ts';
import { whyNoBox } from './support/box.ts';
import { startRuntime, type Daemon } from './support/daemon.ts';
import { descendantsOf, egressPid, eventually, noneLeft } from './support/processes.ts';
import { processesWhere, runnerPid } from './support/processes.ts';
import { TalkingServer } from './support/talking-server.ts';

const skip = whyNoBox;

interface Scene extends AsyncDisposable {
  readonly daemon: Daemon;
  readonly runner: number;
  readonly egress: number;
  readonly count: TalkingServer['count'];
}

async function openScene(): Promise<Scene> {
  const talking = new TalkingServer();
  const port = await talking.listen();
  const daemon = await startRuntime({
    prepare: (home) => {
      mkdirSync(path.join(home, 'config/trl'), { recursive: true });
      const text = `network:\n  connect: { live.test: "127.0.0.1:${port}" }\n`;
      writeFileSync(path.join(home, 'config/trl/config.yaml'), text);
      return {};
    },
  });
  const client = await connectLocal({ socketPath: daemon.socketPath });
  const session = await client.createSession({ working_dir: daemon.root, hosts: ['live.test'] });
  await session.start('while :; do curl -sSN http://live.test/; sleep 0.2; done');
  await eventually('a live connection', () => (talking.count.open > 0 ? true : null));
  const runner = runnerPid(daemon) ?? 0;
  const egress = egressPid(runner) ?? 0;
  await client.close();
  return {
    daemon,
    runner,
    egress,
    count: talking.count,
    [Symbol.asyncDispose]: async () => {
      await daemon.stop();
      talking.server.closeAllConnections();
      talking.server.close();
    },
  };
}

const goesOn = async ({ count }: Scene): Promise<void> => {
  const before = count.said;
  const isMore = (): true | null => (count.open === 1 && count.said > before + 5 ? true : null);
  await eventually('more on the connection', isMore);
};
const isThere = (pid: number): boolean => processesWhere((one) => one === pid).length > 0;

test('the daemon is killed: connections live, and the next one has them', { skip }, async (t) => {
  await using at = await openScene();
  await at.daemon.kill();
  await goesOn(at);
  const next = await startRuntime({ home: at.daemon.home });
  t.after(() => next.stop());
  assert.equal(runnerPid(next), at.runner);
  await goesOn(at);
  assert.equal(at.count.begun, 1, 'it was cut off');
});

test('the egress process is killed: connections end, later ones work', { skip }, async () => {
  await using at = await openScene();
  process.kill(at.egress, 'SIGKILL');
  await eventually('another connection', () => (at.count.begun > 1 ? true : null));
  await goesOn(at);
  assert.ok(isThere(at.runner) && !isThere(at.egress));
});

test('the runner is killed: all is gone', { skip }, async () => {
  await using at = await openScene();
  const own = descendantsOf(at.runner).map(({ pid }) => pid);
  assert.ok(own.includes(at.egress));
  process.kill(at.runner, 'SIGKILL');
  await eventually('the end of the connection', () => (at.count.open === 0 ? true : null));
  const left = await noneLeft(() => processesWhere((pid) => own.includes(pid)));
  assert.deepEqual(left, []);
});
