// Brings a plan over, and ends as if killed after so many steps: node git-victim.ts PLAN STEPS
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { GitTransaction } from '../../src/workspace/git-sync/transaction.ts';

const [file = '', steps = '0'] = process.argv.slice(2);
const { plan, root, id, scratch, contents } = JSON.parse(readFileSync(file, 'utf8'));
let left = Number(steps);
const transaction = new GitTransaction(plan, {
  root,
  owner: { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 },
  contents: {
    read: (sha256) => Promise.resolve(readFileSync(path.join(contents, sha256))),
    put: () => '',
  },
  scratch,
  id,
  isTouched: () => true,
  reached: () => {
    left -= 1;
    if (left === 0) process.kill(process.pid, 'SIGKILL');
  },
});
transaction.removeLeftovers();
if (await transaction.prepare()) await transaction.settle();
transaction.close();
