// Which directory is the project, where nobody names one.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { chownSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { projectOf } from '../src/workspace/roots.ts';
import { surroundings } from './support/daemon.ts';

const trl = path.join(path.dirname(import.meta.dirname), 'trl');
const place = realpathSync(mkdtempSync(path.join(tmpdir(), 'trl-project-')));
after(() => rmSync(place, { recursive: true, force: true }));

const made = (name: string): string => {
  const dir = path.join(place, name);
  mkdirSync(dir, { recursive: true });
  return dir;
};

test('the top of the git worktree is the project, else the directory itself', () => {
  const deep = made('repository/src/deep');
  execFileSync('git', ['init', '-q'], { cwd: path.join(place, 'repository') });
  assert.equal(projectOf(deep, homedir()), path.join(place, 'repository'));
  const alone = made('alone');
  assert.equal(projectOf(alone, homedir()), alone);
  assert.equal(projectOf(homedir(), homedir()), homedir());
});

const isRoot = process.getuid?.() === 0;
test('what another user made above is no project', { skip: !isRoot && 'only root' }, () => {
  const deep = made('others/deep');
  const git = made('others/.git');
  chownSync(git, 12_345, 12_345);
  assert.equal(projectOf(deep, homedir()), deep);
});

test('trl run in a directory of a repository has all of that, and undo with it', () => {
  const top = made('whole');
  const below = made('whole/below');
  const env = { ...process.env, ...surroundings(made('home')) };
  execFileSync('git', ['init', '-q'], { cwd: top });
  const script = 'git rev-parse --show-toplevel; pwd; echo x >../beside';
  const ran = spawnSync(trl, ['run', '--', 'sh', '-c', script], {
    cwd: below,
    env,
    encoding: 'utf8',
  });
  assert.deepEqual([ran.stdout, ran.status], [`${top}\n${below}\n`, 0], ran.stderr);
});
