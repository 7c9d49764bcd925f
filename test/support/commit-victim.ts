// Applies the intent in a file, to be killed meanwhile: `node commit-victim.ts FILE [STAGING]`.
import { readFileSync } from 'node:fs';
import { applyChanges } from '../../src/workspace/commit/apply.ts';
import type { CommitIntent } from '../../src/workspace/commit/commit-item.ts';
import { AtomicRenames } from '../../src/workspace/commit/atomic-renames.ts';

const file = process.argv[2] ?? '';
// The file is written by the test that starts this.
const intent: CommitIntent = JSON.parse(readFileSync(file, 'utf8'));
const [staging] = process.argv.slice(3);
const renames = new AtomicRenames(undefined, staging === undefined ? {} : { staging });
// Its program runs before the work begins, as in a daemon that has been at it for a while.
await renames.run([
  {
    kind: 'away',
    directory: 0,
    staging: null,
    name: 'x',
    temporary: 'y',
    fallbackName: 'z',
    key: 'none',
  },
]);
process.stdout.write('ready');
const { id, tree, items } = intent;
const contents = { read: (): Promise<null> => Promise.resolve(null) };
await applyChanges({ id, tree, items, contents, renames });
renames[Symbol.dispose]();
