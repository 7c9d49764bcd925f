/** Several sessions and a person on the host use git in one repository at the same time. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Json } from './daemon.ts';
import { openSession, type TestSession } from './session.ts';

/** Nothing of the person who runs the tests. */
const person = {
  PATH: process.env['PATH'] ?? '/usr/bin:/bin',
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_EDITOR: 'true',
};
const names = ['-c user.name=H -c user.email=h@example.org', '-c gc.auto=0'].join(' ');

/** `git` for a shell of the host or of a session, by name. */
const define = (who: string): string =>
  `export GIT_EDITOR=true; git() { command git ${names.replaceAll('H', who)} "$@"; }\n`;

/** What a script of the person prints. @throws where it fails */
export function onHost(dir: string, script: string): string {
  const { status, stdout, stderr } = spawnSync('bash', ['-ec', define('person') + script], {
    cwd: dir,
    env: person,
    encoding: 'utf8',
  });
  assert.equal(status, 0, `${script}: ${stdout}${stderr}`);
  return stdout.trim();
}

async function onHostAside(dir: string, script: string): Promise<number> {
  const child = spawn('bash', ['-c', define('person') + script], {
    cwd: dir,
    env: person,
    stdio: 'ignore',
  });
  const { promise, resolve } = Promise.withResolvers<number>();
  child.once('close', (code) => resolve(code ?? 1));
  return await promise;
}

/** What a script of a session answers. */
export const inside = (session: TestSession, script: string, more: object = {}): Promise<Json> =>
  session.run(define('agent') + script, more);

/** A repository with one commit. */
export function repository(dir: string, name = '.'): string {
  const at = path.join(dir, name);
  onHost(
    dir,
    `git init -q -b main ${name}; cd ${name}; printf '/trees\\n/build\\n' >>.git/info/exclude
    echo base >base; git add base; git commit -qm base`,
  );
  return at;
}

/** Subjects of every commit that a branch, a tag or `refs/trl` leads to. */
export const subjects = (dir: string): Set<string> =>
  new Set(onHost(dir, 'git log --all --format=%s').split('\n'));

export const isSound = (dir: string): void => {
  const { status, stdout, stderr } = spawnSync('git', ['fsck', '--no-dangling', '--no-progress'], {
    cwd: dir,
    env: person,
    encoding: 'utf8',
  });
  assert.equal(`${status} ${stdout}${stderr}`, '0 ');
};

const changedOf = (one: Json): string =>
  `${one.path} ${one.state}${one.reason ? ` ${one.reason}` : ''}`;
export const changed = (receipt: Json): string[] => receipt.changes.map(changedOf);

export interface Race {
  readonly dir: string;
  readonly socketPath: string;
  readonly sessions: number;
  readonly commits: number;
  readonly seed: number;
  /** Rebases, merges and `git gc` as well. */
  readonly isWild: boolean;
  /** Of a further session: what it runs again and again until the others are done. */
  readonly beside?: string;
}

export interface Raced {
  /** Subjects of commits whose git said yes. */
  readonly yes: string[];
  /** Of turns whose git said no to the end. */
  readonly no: string[];
  readonly lost: string[];
  /** In `refs/trl` only. */
  readonly aside: string[];
  readonly conflicts: number;
  /** How often it ran, and what it said where it did not end with 0. */
  readonly beside: { readonly runs: number; readonly failed: readonly string[] };
}

/** Numbers that follow from a seed. */
function drawing(seed: number): (below: number) => number {
  let state = seed * 2_654_435_761 + 1;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Does a commit of a file of its own, tried until git says yes. */
const committing = (label: string): string => `for try in $(seq 60); do
  echo ${label} >file-${label}
  if git add file-${label} && git commit -qm ${label} -- file-${label}; then exit 0; fi
  sleep 0.0$((RANDOM % 9 + 1)); done; exit 1`;

interface Turn {
  readonly script: string;
  /** Subjects of its commits, where it ends with 0. */
  readonly commits: readonly string[];
}

/**
 * One turn of a writer: a commit, and what goes beside it. Who rebases or merges does it in a
 * worktree of his own: plain git loses commits where a rebase, `merge --abort` or
 * `gc --prune=now` meets other writers.
 */
function turn(label: string, draw: (below: number) => number, isWild: boolean): Turn {
  const commit = committing(label);
  const kind = isWild ? draw(8) : 0;
  if (kind === 5) return { script: `git gc -q; ${commit}`, commits: [label] };
  if (kind !== 6 && kind !== 7) return { script: commit, commits: [label] };
  const side = `side-${label}`;
  const join = kind === 6 ? 'git merge -q --no-edit main' : 'git rebase -q main';
  const script = `git worktree add -q -b ${side} trees/${label} || exit 1
    (cd trees/${label} && ${committing(`${label}-side`)}) || exit 1
    (${commit}) || exit 1
    for try in $(seq 60); do
      (cd trees/${label} && ${join}) && git merge -q --ff-only ${side} && break
      sleep 0.0$((RANDOM % 9 + 1)); done
    git worktree remove --force trees/${label}; exit 0`;
  return { script, commits: [label, `${label}-side`] };
}

export async function race(input: Race): Promise<Raced> {
  const { dir, socketPath, sessions, commits, seed, isWild, beside: program } = input;
  const yes: string[] = [];
  const no: string[] = [];
  const failed: string[] = [];
  const over = new AbortController();
  let [conflicts, runs] = [0, 0];
  const beside = async (): Promise<void> => {
    if (program === undefined) return;
    await using session = await openSession(socketPath, { working_dir: dir });
    for (; !over.signal.aborted; runs += 1) {
      const receipt = await inside(session, program, { timeout_ms: 120_000 });
      const odd = receipt.changes.filter((one: Json) => one.path.startsWith('build/'));
      const states = odd.filter(({ state }: Json) => state !== 'applied').map(changedOf);
      if (receipt.exit_code !== 0) failed.push(receipt.stderr);
      failed.push(...states);
    }
  };
  const work = async (at: number): Promise<void> => {
    await using session = await openSession(socketPath, { working_dir: dir });
    // Each writer's own turns follow from the seed, whatever the others do meanwhile.
    const draw = drawing(seed * 16 + at + 1);
    for (let n = 0; n < commits; n += 1) {
      const label = `s${at}-${n}`;
      const { script, commits: made } = turn(label, draw, isWild);
      const receipt = await inside(session, script);
      (receipt.exit_code === 0 ? yes : no).push(...made);
      conflicts += receipt.changes.filter((one: Json) => one.state === 'conflict').length;
    }
  };
  const host = async (): Promise<void> => {
    const draw = drawing(seed * 16);
    for (let n = 0; n < commits; n += 1) {
      const label = `h-${n}`;
      const { script, commits: made } = turn(label, draw, isWild);
      const isDone = (await onHostAside(dir, script)) === 0;
      (isDone ? yes : no).push(...made);
      await pause(draw(100));
    }
  };
  const programs = beside();
  await Promise.all([host(), ...Array.from({ length: sessions }, (_, at) => work(at))]);
  over.abort();
  await programs;
  const all = subjects(dir);
  const inBranches = new Set(onHost(dir, 'git log --branches --format=%s').split('\n'));
  return {
    yes,
    no,
    lost: yes.filter((label) => !all.has(label)),
    aside: yes.filter((label) => all.has(label) && !inBranches.has(label)),
    conflicts,
    beside: { runs, failed },
  };
}

/** The same writers on one work tree, without any runtime. */
export async function raceOfPlainGit(input: {
  readonly dir: string;
  readonly writers: number;
  readonly commits: number;
  readonly seed: number;
}): Promise<Pick<Raced, 'yes' | 'lost'>> {
  const { dir, writers, commits, seed } = input;
  const yes: string[] = [];
  const work = async (at: number): Promise<void> => {
    const draw = drawing(seed * 16 + at);
    for (let n = 0; n < commits; n += 1) {
      const label = `w${at}-${n}`;
      const { script, commits: made } = turn(label, draw, true);
      if ((await onHostAside(dir, script)) === 0) yes.push(...made);
    }
  };
  await Promise.all(Array.from({ length: writers }, (_, at) => work(at)));
  const all = subjects(dir);
  return { yes, lost: yes.filter((label) => !all.has(label)) };
}

/** Writes as a person does who rebases: the index is locked for a while. */
export function lockIndex(dir: string): string {
  const lock = path.join(dir, '.git/index.lock');
  assert.equal(existsSync(lock), false);
  writeFileSync(lock, '');
  return lock;
}
