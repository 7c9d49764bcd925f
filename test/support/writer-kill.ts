/**
 * A command and a person add lines to one file while the daemon is killed, and another one goes on.
 * Each line is in the file once, or the receipt says conflict and what the file has not is in the
 * version that was kept.
 */
import assert from 'node:assert/strict';
import { appendFileSync, closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { renameSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { raw, startRuntime, type Json } from './daemon.ts';
import { eventually } from './processes.ts';
import { openSession } from './session.ts';

export const appenders = {
  'opens it each time': 'for i in $(seq 0 29); do echo "c $i" >>f; sleep 0.1; done',
  'has it open': 'exec 3>>f; for i in $(seq 0 29); do echo "c $i" >&3; sleep 0.1; done',
  // In the instant in which `f` gives way to a save, mv says ESTALE.
  'replaces it':
    'for i in $(seq 0 29); do { cat f; echo "c $i"; } >t; ' +
    'mv t f || { sleep 0.2; mv t f; }; sleep 0.1; done',
} as const;

/** It watches, so that what the person saves is written through the view. As mv, it tries again. */
const watching = `const fs = require('fs');
let n = 0;
fs.watch('.', () => {});
setInterval(() => {
  try {
    fs.appendFileSync('f', 'c ' + n + '\\n');
  } catch ({ code }) {
    if (code !== 'ESTALE') throw code;
    return;
  }
  if (++n === 30) process.exit();
}, 100);`;
export const watchingAppender = `node -e "${watching}"`;

export const savers = {
  'in place': (dir: string, line: string) => appendFileSync(path.join(dir, 'f'), line),
  'by rename': saveAnew,
} as const;

/** What it read may have been replaced when it has written: a program that saves so looks again. */
function saveAnew(dir: string, line: string): void {
  const file = path.join(dir, 'f');
  const fd = openSync(file, 'r');
  const read = readFileSync(fd, 'utf8');
  const { ino } = fstatSync(fd);
  writeFileSync(`${file}.swp`, `${read}${line}`);
  const isIt = statSync(file).ino === ino;
  closeSync(fd);
  if (isIt) renameSync(`${file}.swp`, file);
  else saveAnew(dir, line);
}

/** The next daemon may take long to come on a busy machine. */
const patience = { TRL_RUNNER_LINGER_MS: '60000' };

export interface KilledWriters {
  readonly command: string;
  readonly saver: keyof typeof savers;
  /** After the command began. */
  readonly killMs: number;
}

/** @returns whether all is in the file; else it is a conflict. Throws where a line is lost. */
export async function killedWriters({ command, saver, killMs }: KilledWriters): Promise<boolean> {
  const first = await startRuntime({ env: patience });
  const { home, root: dir } = first;
  writeFileSync(path.join(dir, 'f'), 'start\n');
  const session = await openSession(first.socketPath, { working_dir: dir });
  const exec = await session.start(command);
  const mine: string[] = [];
  const over = new AbortController();
  const person = (async (): Promise<void> => {
    while (!over.signal.aborted) {
      await wait(70);
      mine.push(`p ${mine.length}`);
      savers[saver](dir, `${mine.at(-1)}\n`);
    }
  })();
  await wait(killMs);
  await first.kill();
  session.client.drop();
  await using second = await startRuntime({ home, env: patience });
  using client = await raw(second.socketPath);
  await wait(700);
  over.abort();
  await person;
  const info = async (): Promise<Json> => await client.ask('exec.info', { exec_id: exec });
  const ended = async (): Promise<Json> => (await info()).data?.receipt ?? null;
  await eventually('a receipt', ended, 60_000).catch(async (cause: unknown) => {
    const how = { command, saver, killMs, info: await info() };
    throw new Error(`${JSON.stringify(how)}\n${second.log()}`, { cause });
  });
  const found = readFileSync(path.join(dir, 'f'), 'utf8').split('\n').slice(0, -1);
  const ours = Array.from({ length: 30 }, (_, at) => `c ${at}`);
  const all = ['start', ...ours, ...mine].toSorted();
  const isWhole = found.toSorted().join('\n') === all.join('\n');
  if (!isWhole) {
    const once = new Set(found);
    assert.equal(once.size, found.length, `a line is there twice: ${found.join(', ')}`);
    for (const line of ['start', ...mine]) assert.ok(once.has(line), `${line} of theirs is lost`);
    const snapshot = await client.ask('snapshot.get', { exec_id: exec, content: 'f' });
    assert.equal(snapshot.ok, true, JSON.stringify([snapshot, found, await ended()]));
    const kept = Buffer.from(snapshot.data.content.base64, 'base64').toString().split('\n');
    const receipt = await ended();
    const how = JSON.stringify({ command, saver, killMs, found, kept, receipt });
    const isConflict = receipt.changes.some(({ state }: Json) => state === 'conflict');
    // What went to a file that had given way came into the file by itself.
    const isThere = (line: string): boolean => once.has(line) || kept.includes(line);
    for (const line of ours) assert.ok(isThere(line), `${line} is lost: ${how}`);
    assert.ok(ours.every((line) => once.has(line)) || isConflict, `not told: ${how}`);
  }
  await client.ask('session.destroy', { session_id: session.id, force: true });
  return isWhole;
}
