// npm run prove: a redactor that stands still, with and without output that waits for it. Commands
// end within the bound, say why, and the next one works.
import assert from 'node:assert/strict';
import { limits } from '../../src/limits.ts';
import { startRuntime } from '../support/daemon.ts';
import { descendantsOf, runnerPid } from '../support/processes.ts';
import { openSession } from '../support/session.ts';

await using daemon = await startRuntime();
await using session = await openSession(daemon.socketPath, { working_dir: daemon.root });
await session.run('true');
const redactor = (): number =>
  descendantsOf(runnerPid(daemon) ?? 0).find(({ command }) => command.endsWith('redactor.js'))
    ?.pid ?? 0;

for (const command of ['true', 'echo output; sleep 1']) {
  process.kill(redactor(), 'SIGSTOP');
  const begun = performance.now();
  const { data } = await session.ask(command, { timeout_ms: 2_000 });
  const seconds = (performance.now() - begun) / 1e3;
  process.stdout.write(`"${command}" ended after ${seconds.toFixed(1)} s: ${data.stopped}\n`);
  assert.equal(data.stopped, 'redaction-failed');
  assert.equal(data.redactions, null);
  assert.ok(seconds < limits.redactionMs.default / 1e3 + 10);
  assert.equal((await session.run('echo works')).stdout, 'works\n');
}
