/** A process that applies changes is killed at a random moment; then the changes are recovered. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { CommitIntent } from '../../src/workspace/commit/commit-item.ts';
import { recoverCommit } from '../../src/workspace/commit/recover.ts';
import { AtomicRenames } from '../../src/workspace/commit/atomic-renames.ts';
import {
  itemsBetween,
  leftovers,
  makeTrees,
  noContents,
  readTree,
  standingAt,
  withoutTime,
} from './commit.ts';
import { eventually } from './processes.ts';

const setup = `for i in $(seq 60); do echo old $i >f$i; done; mkdir -p d/e keep; ln -s f1 link
  for i in $(seq 30); do echo old >d/e/$i; done; echo x >turns; mkdir folds; chmod 640 f9 f10`;
const command = `for i in $(seq 1 2 60); do yes new $i | head -c 40000 >f$i; done; rm f2 f4 f6
  rm -r d; mkdir -p n/o; for i in $(seq 30); do echo $i >n/o/$i; done; chmod 555 n/o
  ln -sfn f3 link
  rm turns; mkdir turns; echo y >turns/in; rmdir folds; echo z >folds; chmod 600 f8 f10; ln -s a s
  touch -d @1000000000 f12; chmod 711 keep`;

/** Where a kill met the work. */
export interface Kills {
  untouched: number;
  between: number;
  finished: number;
}

/** Kills once, after at most `withinMs`, and looks at every path before and after recovery. */
export async function killOnce(kills: Kills, withinMs: number, isStaged = false): Promise<void> {
  using trees = makeTrees(setup);
  const staging = path.join(trees.base, 'staging');
  trees.run(command);
  const [before, after] = [readTree(trees.real), readTree(trees.session)];
  const items = itemsBetween(trees.real, trees.session);
  const tree = { root: trees.real, uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  const intent: CommitIntent = { id: '5eed5eed', tree, items };
  const file = path.join(trees.base, 'intent.json');
  writeFileSync(file, JSON.stringify(intent));
  const victim = spawn(
    process.execPath,
    [path.join(import.meta.dirname, 'commit-victim.ts'), file, ...(isStaged ? [staging] : [])],
    {
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
  const closed = once(victim, 'close');
  await once(victim.stdout, 'data');
  const helpers = childrenOf(victim.pid ?? 0);
  assert.equal(helpers.length, 1);
  const until = performance.now() + (randomInt(10_000) / 10_000) * withinMs;
  while (performance.now() < until);
  victim.kill('SIGKILL');
  await closed;
  // The program that renames ends with the process that it works for, but is no child of this one.
  await eventually('the program that renames has ended', () => !helpers.some(isRunning));

  const met = readTree(trees.real);
  // Directories have their modes when everything in them is done, so they prove nothing here.
  const files = items.filter(({ base, after }) => ![base?.type, after?.type].includes('directory'));
  const done = files.filter(({ path: name, base, after: wanted }) => {
    const text = withoutTime(met.get(name)?.entry);
    assert.ok(
      [base, wanted].some((one) => withoutTime(one ?? undefined) === text),
      `"${name}"`,
    );
    return text === withoutTime(wanted ?? undefined);
  });
  for (const [name, { entry }] of met) {
    const isKnown = before.has(name) || after.has(name) || /(^|\/)\.trl-5eed5eed-\d+$/.test(name);
    assert.ok(isKnown, `"${name}", ${entry.type}, came from nowhere`);
  }
  using renames = new AtomicRenames(undefined, isStaged ? { staging } : {});
  const results = await recoverCommit({ intent, contents: noContents, renames });
  assert.deepEqual(
    results.filter((result) => result.state !== 'applied'),
    [],
  );
  assert.deepEqual(leftovers(trees.real), []);
  assert.deepEqual(existsSync(staging) ? readdirSync(staging) : [], []);
  const now = readTree(trees.real);
  const look = (all: typeof now): [string, string][] =>
    [...all].map(([name, { entry }]): [string, string] => [name, withoutTime(entry)]);
  assert.deepEqual(new Map(look(now)), new Map(look(after)));
  for (const { path: name, state, ...rest } of results) {
    const standing = now.has(name) ? standingAt(`${trees.real}/${name}`) : null;
    if (state !== 'applied' || !('key' in rest)) continue;
    // A directory's times change with what is put in it after it was looked at.
    const isDirectory = standing?.entry.type === 'directory';
    const [told, is] = [rest.key, standing?.key ?? null].map((key) =>
      isDirectory ? key?.split(':').slice(0, 2).join(':') : key,
    );
    assert.equal(told, is);
  }
  if (done.length === 0) kills.untouched += 1;
  else if (done.length < files.length) kills.between += 1;
  else kills.finished += 1;
}

/** Needs no rights, and lists those of every thread. */
function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((thread) => {
    const list = readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8');
    return list.split(' ').filter(Boolean).map(Number);
  });
}

/** One that ended and that nobody has waited for does nothing any more. */
function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/mu.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
