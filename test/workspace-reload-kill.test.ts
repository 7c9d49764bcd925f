// Hot reload beside kill -9 of the daemon: what a person saved stays the person's, and is seen.
import assert from 'node:assert/strict';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { renameSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { noOverlay } from './support/changes.ts';
import { raw, startRuntime, type Daemon, type Json } from './support/daemon.ts';
import { eventually } from './support/processes.ts';
import { openSession } from './support/session.ts';

/** Tells every event in `src`, with what is there then; ends when it hears of `src/end`. */
const watching = `const fs = require('fs');
fs.watch('src', (type, name) => {
  if (name.startsWith('.')) return;
  let text = 'gone';
  try {
    text = fs.readFileSync('src/' + name, 'utf8');
  } catch ({ code }) {
    if (code === 'EISDIR') text = 'dir';
  }
  fs.appendFileSync('seen', name + '=' + text + '\\n');
  if (name === 'end') process.exit();
});
fs.appendFileSync('seen', 'watching\\n');
setInterval(() => {}, 1000);`;

/** Adds a line to `a` when it has heard of a save, and ends when `end` is there. */
const adding = `const fs = require('fs');
let isAdded = false;
fs.watch('.', () => {
  if (isAdded || !fs.readFileSync('a', 'utf8').includes('yours')) return;
  isAdded = true;
  fs.appendFileSync('a', 'mine\\n');
});
fs.writeFileSync('watching', '');
setInterval(() => {
  if (fs.existsSync('end')) process.exit();
}, 50);`;

interface Person {
  readonly save: (name: string, text: string) => void;
  readonly replace: (name: string, text: string) => void;
  readonly remove: (name: string) => void;
  readonly heard: (...lines: readonly string[]) => Promise<void>;
  readonly at: (name: string) => string;
}

function personIn(root: string): Person {
  const at = (name: string): string => path.join(root, 'src', name);
  const save = (name: string, text: string): void => writeFileSync(at(name), text);
  const seen = (): string => readFileSync(path.join(root, 'seen'), 'utf8');
  return {
    at,
    save,
    replace: (name, text) => {
      save('.saving', text);
      renameSync(at('.saving'), at(name));
    },
    remove: (name) => rmSync(at(name)),
    heard: async (...lines) => {
      for (const line of lines) {
        const isHeard = (): boolean => seen().split('\n').includes(line);
        await eventually(line, isHeard, 90_000).catch((cause: unknown) => {
          throw new Error(seen(), { cause });
        });
      }
    },
  };
}

/** Between two saves of a person who waits for what comes of it. */
const saveMs = 2_000;

interface Kill {
  /** Until the daemon is dead. */
  readonly before: (person: Person, daemon: Daemon) => Promise<void>;
  /** While no daemon runs. */
  readonly between?: (person: Person) => void;
  /** What is in `src` at the end. */
  readonly there: Readonly<Record<string, string>>;
}

/** The command has changed nothing but what it heard, and commands see what the tree has. */
async function killed({ before, between, there }: Kill): Promise<void> {
  const first = await startRuntime();
  const { home, root } = first;
  const person = personIn(root);
  mkdirSync(person.at('.'));
  for (const name of ['a', 'b', 'c', 'd']) person.save(name, 'one');
  writeFileSync(path.join(root, 'watch.js'), watching);
  writeFileSync(path.join(root, 'seen'), '');
  const session = await openSession(first.socketPath, { working_dir: root });
  const exec = await session.start('node watch.js');
  await person.heard('watching');
  try {
    await before(person, first);
  } catch (error) {
    await first.stop();
    throw error;
  }
  session.client.drop();
  await first.kill();
  between?.(person);
  await using second = await startRuntime({ home });
  using client = await raw(second.socketPath);
  // What was saved before the next daemon watches the tree is seen, and heard of by nobody.
  let savedAt = 0;
  const isOver = (): boolean => {
    // As a person saves: whole, and not again before the last save could be heard of.
    if (Date.now() - savedAt > saveMs) {
      person.replace('end', 'over');
      savedAt = Date.now();
    }
    return readFileSync(path.join(root, 'seen'), 'utf8').includes('end=');
  };
  await eventually('an event after the kill', isOver, 90_000).catch(async (cause: unknown) => {
    const { data } = await client.ask('exec.info', { exec_id: exec });
    const look = 'ls -lai . src; cat seen; grep inotify /proc/[0-9]*/fdinfo/* 2>&1';
    const inside = await client.ask('exec.run', { session_id: session.id, command: look });
    const layers = spawnSync('ls', ['-laiR', path.join(home, 'state/trl/workspaces/layers')]);
    const found = [JSON.stringify(data), second.log(), JSON.stringify(inside), layers.stdout];
    throw new Error(found.join('\n'), { cause });
  });
  const receipt = async (): Promise<Json> =>
    (await client.ask('exec.info', { exec_id: exec })).data.receipt ?? null;
  while ((await receipt()) === null) await wait(20);
  const { changes } = await receipt();
  const told = changes.map(({ path: name, state }: Json) => `${name} ${state}`);
  const all = Object.entries({ ...there, end: 'over' }).map((one) => one.join('='));
  const found = readdirSync(person.at('.'), { withFileTypes: true }).map((one) => {
    return `${one.name}=${one.isFile() ? readFileSync(person.at(one.name), 'utf8') : 'no file'}`;
  });
  const command = 'cd src; for f in $(ls -A); do echo "$f=$(cat $f)"; done';
  const inside = await client.ask('exec.run', { session_id: session.id, command });
  await client.ask('session.destroy', { session_id: session.id, force: true });
  assert.deepEqual(
    { told, found: found.toSorted(), inside: inside.data.stdout.trim().split('\n').toSorted() },
    { told: ['seen applied'], found: all.toSorted(), inside: all.toSorted() },
  );
}

const strace = spawnSync('strace', ['-V']).status === 0;
const noStrace = strace ? false : 'needs strace to kill at a system call';

/** Does to the daemon what strace calls `what`, at a call of `name` from here on. */
async function trace(daemon: Daemon, name: string, what: string): Promise<ChildProcess> {
  const inject = `inject=${name}:${what}`;
  const args = ['-f', '-e', `trace=${name}`, '-e', inject, '-p', String(daemon.pid)];
  const tracer = spawn('strace', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  const [line] = await once(createInterface(tracer.stderr), 'line');
  assert.match(String(line), /attached/);
  return tracer;
}

/** Kills the daemon instead of its `count`-th call of `name` from here on. */
async function cutAt(daemon: Daemon, name: string, count: number): Promise<() => Promise<void>> {
  const tracer = await trace(daemon, name, `error=EIO:signal=KILL:when=${count}`);
  const ended = once(tracer, 'exit', { signal: AbortSignal.timeout(60_000) });
  return async () => {
    // It ends with the daemon.
    await ended.finally(() => tracer.kill('SIGKILL'));
  };
}

/** Stops the daemon when it is about to tell what `lead` saved, and lets it go on after `work`. */
async function whileStopped(daemon: Daemon, lead: () => void, work: () => void): Promise<void> {
  const tracer = await trace(daemon, 'mkdir', 'signal=STOP:when=1');
  lead();
  const state = (): string => readFileSync(`/proc/${daemon.pid}/stat`, 'utf8');
  await eventually('a stop', () => /\) [tT] /.test(state()), 60_000);
  work();
  const ended = once(tracer, 'exit');
  tracer.kill('SIGINT');
  await ended;
  process.kill(daemon.pid, 'SIGCONT');
}

interface Cut extends Omit<Kill, 'before'> {
  readonly what: string;
  readonly first?: (person: Person) => Promise<void>;
  readonly call: string;
  readonly count?: number;
  readonly act: (person: Person) => void;
}

const start = { a: 'one', b: 'one', c: 'one', d: 'one' };
const { a: _, ...withoutA } = start;
const copied = async ({ save, heard }: Person): Promise<void> => {
  save('a', 'two');
  await heard('a=two');
};
const removed = (person: Person): void => person.remove('a');

const cuts: readonly Cut[] = [
  { what: 'a deletion is told', call: 'rmdir', act: removed, there: withoutA },
  {
    what: 'a deletion is told, and the file comes back',
    call: 'rmdir',
    act: removed,
    between: ({ save }) => save('a', 'back'),
    there: { ...start, a: 'back' },
  },
  {
    what: 'a copy goes, and the file comes back',
    first: copied,
    call: 'unlink',
    act: removed,
    between: ({ save }) => save('a', 'back'),
    there: { ...start, a: 'back' },
  },
  {
    what: 'a save in place is told',
    call: 'utimensat',
    act: ({ save }) => save('a', 'two'),
    there: { ...start, a: 'two' },
  },
  {
    what: 'a second save by rename is told',
    first: copied,
    call: 'utimensat',
    // The first is of the copy that is on its way.
    count: 2,
    act: ({ replace }) => replace('a', 'three'),
    there: { ...start, a: 'three' },
  },
];

describe('watchers and a kill of the daemon', { concurrency: 3 }, () => {
  test(
    'what was announced before a kill is neither lost, nor stale, nor a change of the command',
    { skip: noOverlay() },
    () =>
      killed({
        before: async ({ save, replace, remove, heard, at }) => {
          save('a', 'two');
          save('d', 'two');
          replace('b', 'two');
          save('made', 'two');
          remove('c');
          mkdirSync(at('sub'));
          await heard('a=two', 'd=two', 'b=two', 'made=two', 'c=gone', 'sub=dir');
        },
        between: ({ save, replace, remove, at }) => {
          save('a', 'three');
          replace('b', 'three');
          remove('made');
          save('c', 'back');
          rmdirSync(at('sub'));
        },
        there: { a: 'three', b: 'three', c: 'back', d: 'two' },
      }),
  );

  test(
    'a save while the one before it is on its way is heard, too',
    { skip: noOverlay() || noStrace },
    () =>
      killed({
        before: async ({ replace, heard }, daemon) => {
          await whileStopped(
            daemon,
            () => replace('a', 'two'),
            () => replace('a', 'three'),
          );
          await heard('a=three');
        },
        there: { ...start, a: 'three' },
      }),
  );

  test(
    'what a command adds to what it heard of is merged after a kill',
    { skip: noOverlay() },
    async () => {
      const first = await startRuntime();
      const { home, root } = first;
      const file = path.join(root, 'a');
      writeFileSync(file, 'one\n');
      writeFileSync(path.join(root, 'add.js'), adding);
      const session = await openSession(first.socketPath, { working_dir: root });
      const exec = await session.start('node add.js');
      const layers = path.join(home, 'state/trl/workspaces/layers');
      const isAdded = (): boolean =>
        readdirSync(layers).some((view) => {
          const at = path.join(layers, view, 'upper/a');
          return existsSync(at) && readFileSync(at, 'utf8').endsWith('mine\n');
        });
      await eventually('a watcher', () => existsSync(path.join(root, 'watching')), 60_000);
      appendFileSync(file, 'yours\n');
      await eventually('an addition', isAdded, 60_000);
      await first.kill();
      session.client.drop();
      // The daemon may have merged it in the moment before.
      const isMerged = readFileSync(file, 'utf8').endsWith('mine\n');
      appendFileSync(file, 'later\n');
      await using second = await startRuntime({ home });
      using client = await raw(second.socketPath);
      writeFileSync(path.join(root, 'end'), '');
      const receipt = async (): Promise<Json> =>
        (await client.ask('exec.info', { exec_id: exec })).data.receipt ?? null;
      await eventually('a receipt', receipt, 60_000);
      const { changes } = await receipt();
      await client.ask('session.destroy', { session_id: session.id, force: true });
      assert.deepEqual(
        changes.map(({ path: name, state }: Json) => `${name} ${state}`),
        ['a applied', 'watching applied'],
      );
      const text = readFileSync(file, 'utf8');
      // Between the write and its record a kill leaves the line written, and it is added again.
      if (isMerged) assert.match(text, /^one\nyours\nmine\nlater\n(?:mine\n)?$/u);
      else assert.equal(text, 'one\nyours\nlater\nmine\n');
    },
  );

  for (const { what, first, call, count = 1, act, ...kill } of cuts) {
    test(`a kill while ${what} leaves nothing of it`, { skip: noOverlay() || noStrace }, () =>
      killed({
        before: async (person, daemon) => {
          await first?.(person);
          const dead = await cutAt(daemon, call, count);
          act(person);
          await dead();
        },
        ...kill,
      }),
    );
  }
});
