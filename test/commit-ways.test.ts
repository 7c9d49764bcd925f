// What a receipt tells of git's own files where somebody else changed them in the same moment.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Change, Entry } from '../src/change.ts';
import { outcomeWithGit } from '../src/host/dispositions.ts';
import type { GitFileLocation } from '../src/workspace/git-sync/git-files.ts';

const directory: Entry = { type: 'directory', mode: 0o755 };
const file: Entry = { type: 'file', mode: 0o644, size: 1, mtimeMs: 1, sha256: 'aa' };

const placeOf = (kind: GitFileLocation['kind']): GitFileLocation => {
  return { common: '.git', git: '.git', kind, name: '' };
};
const places = new Map([
  ['.git/COMMIT_EDITMSG', placeOf('scratch')],
  ['.git/config', placeOf('state')],
  [`.git/objects/26/${'0'.repeat(38)}`, placeOf('object')],
]);

/** Of a change that met somebody else's version when it was to be put there. */
function metAnother(path: string, after: Entry): string {
  const change: Change = {
    path,
    kind: 'modified',
    before: null,
    after,
    marks: [],
    state: 'applied',
    reason: null,
    concurrentWith: [],
  };
  const reason = after.type === 'directory' ? 'no-directory' : 'changed-meanwhile';
  const result = { path, state: 'conflict', reason, detail: null, keptAt: null } as const;
  const item = { path, base: null, baseKey: null, after, source: null, sourceKey: null };
  const how = { isStale: () => false, isLost: false, overlapping: [], places, busy: new Set('') };
  const origin = { mode: 'direct', exec: `x-${'0'.repeat(32)}`, ...how } as const;
  const told = outcomeWithGit(change, { result, item, isMerged: false }, origin);
  return [told.state, told.reason, told.keptAs ?? 'not kept'].join(' ');
}

test("what one git process has for itself is nobody's conflict", () => {
  assert.deepEqual(
    [
      metAnother('.git/COMMIT_EDITMSG', file),
      metAnother('.git/objects/26', directory),
      metAnother('.git/config', file),
      metAnother('src', directory),
    ],
    [
      'discarded git-scratch not kept',
      'discarded git-scratch not kept',
      `conflict changed-meanwhile x-${'0'.repeat(32)}:.git/config`,
      'conflict no-directory not kept',
    ],
  );
});
