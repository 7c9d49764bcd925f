// A process that is killed while it brings a commit over leaves a repository that works, and the
// next one ends what it began: both sides' commits are in the branch, and nothing is left behind.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import type { CommitItem } from '../src/workspace/commit/commit-item.ts';
import type { GitPlan } from '../src/workspace/git-sync/ref-values.ts';
import { isSound, onHost, repository, subjects } from './support/git-sync.ts';

const root = mkdtempSync(path.join(tmpdir(), 'trl-git-kill-'));
after(() => rmSync(root, { recursive: true, force: true }));

const commit = (name: string): string =>
  `echo ${name} >${name}; git add ${name}; git commit -qm ${name}`;

/** A person and a session that have both committed, and what the session's is to be brought by. */
function scene(at: number): { readonly dir: string; readonly plan: string } {
  const place = path.join(root, String(at));
  const [dir, session, contents] = ['host', 'session', 'contents'].map((name) =>
    path.join(place, name),
  );
  mkdirSync(place);
  repository(place, 'host');
  cpSync(dir ?? '', session ?? '', { recursive: true });
  mkdirSync(contents ?? '');
  const commitOf = (of: string): string => onHost(of, 'git rev-parse HEAD');
  const base = commitOf(dir ?? '');
  onHost(session ?? '', `${commit('agent')}; echo staged >s; git add s`);
  onHost(dir ?? '', commit('person'));
  for (const name of ['agent', 's']) {
    copyFileSync(path.join(session ?? '', name), path.join(dir ?? '', name));
  }
  const index = readFileSync(path.join(session ?? '', '.git/index'));
  const sha256 = createHash('sha256').update(index).digest('hex');
  writeFileSync(path.join(contents ?? '', sha256), index);
  const head = 'ref: refs/heads/main\n';
  const now = commitOf(session ?? '');
  const plan: GitPlan = {
    label: 'x-1',
    common: '.git',
    refs: [{ name: 'refs/heads/main', base, now }],
    logs: [],
    checkouts: [
      {
        git: '.git',
        head: { base: head, now: head },
        seen: null,
        host: commitOf(dir ?? ''),
        session: now,
        isRebasing: false,
        index: { commit: now, sha256, blind: null },
        isWritten: false,
        blind: null,
        last: null,
        untouched: null,
      },
    ],
    objects: objectsOf(session ?? ''),
  };
  const file = path.join(place, 'plan.json');
  const scratch = path.join(place, 'scratch');
  mkdirSync(scratch);
  writeFileSync(file, JSON.stringify({ plan, root: dir, id: '01234567', scratch, contents }));
  return { dir: dir ?? '', plan: file };
}

function objectsOf(tree: string): CommitItem[] {
  const names = readdirSync(path.join(tree, '.git/objects'), { recursive: true, encoding: 'utf8' });
  return names
    .filter((name) => /^[0-9a-f]{2}\/[0-9a-f]+$/.test(name))
    .map((name) => {
      const at = `.git/objects/${name}`;
      const after = { type: 'file', mode: 0o444, size: 0, mtimeMs: 0, sha256: null } as const;
      return {
        path: at,
        base: null,
        baseKey: null,
        after,
        source: { tree, path: at },
        sourceKey: null,
      };
    });
}

const bring = (plan: string, steps: number): NodeJS.Signals | null =>
  spawnSync(
    process.execPath,
    [path.join(import.meta.dirname, 'support/git-victim.ts'), plan, `${steps}`],
    {
      stdio: 'inherit',
    },
  ).signal;

test('whenever it is killed, a repository works, and the next process ends what it began', () => {
  let killed = 0;
  for (let steps = 1; ; steps += 1) {
    const { dir, plan } = scene(steps);
    const signal = bring(plan, steps);
    isSound(dir);
    assert.equal(onHost(dir, 'git cat-file -t HEAD'), 'commit');
    assert.equal(subjects(dir).has('person'), true);
    if (signal === null) break;
    killed += 1;
    assert.equal(bring(plan, 0), null);
    isSound(dir);
    assert.deepEqual(
      ['agent', 'person'].map((one) => subjects(dir).has(one)),
      [true, true],
    );
    assert.equal(onHost(dir, 'git status --porcelain'), 'A  s');
    assert.equal(onHost(dir, "find .git -name '*.lock' -o -name 'tmp_obj*'"), '');
  }
  assert.equal(killed, 5);
});
