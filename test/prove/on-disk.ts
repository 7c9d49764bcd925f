// npm run prove: the tests of what lies in files, with their files on a disk. `npm test` has them
// in memory where it can, where each sync succeeds at once and names come in another order.
import { spawnSync } from 'node:child_process';
import path from 'node:path';

const groups = ['audit', 'changes', 'commit', 'durable', 'git', 'snapshot', 'view', 'workspace'];
const files = groups.map((group) => `test/${group}*.test.ts`);
const { status } = spawnSync('sh', ['tools/test', ...files], {
  cwd: path.dirname(path.dirname(import.meta.dirname)),
  env: { ...process.env, TRL_PROVE: '', TRL_TEST_DISK: '1' },
  stdio: 'inherit',
});
process.exitCode = status ?? 1;
