// Digests of what a command printed: told while it runs, and at its end of all that it printed.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, test } from 'node:test';
import type { Exit, OutputProgress } from '../src/command.ts';
import { resolveBounds } from '../src/session/bounds.ts';
import { eventually } from './support/processes.ts';
import { openLoneRunner } from './support/runner.ts';

const sha256 = (text: string | Uint8Array): string =>
  createHash('sha256').update(text).digest('hex');
const box = { kind: 'none' } as const;

/** A runner in a directory of its own. */
async function openRunner() {
  const dir = mkdtempSync(path.join(tmpdir(), 'trl-digests-'));
  const runner = await openLoneRunner(dir);
  return {
    ...runner,
    sign: (name: string) => writeFileSync(path.join(dir, name), ''),
    [Symbol.asyncDispose]: async () => {
      await runner[Symbol.asyncDispose]();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

const digestsOf = ({ stdout_sha256: out, stderr_sha256: err }: Exit | OutputProgress) => [out, err];

describe('the digests of an exit', () => {
  test('are of each stream, also of an empty one', async () => {
    await using runner = await openRunner();
    const exit = await runner.run('printf a; printf b >&2; printf c', box);
    assert.deepEqual(digestsOf(exit), [sha256('ac'), sha256('b')]);
    assert.deepEqual(digestsOf(await runner.run('true', box)), [sha256(''), sha256('')]);
  });

  test('are of redacted bytes, not of what was printed', async () => {
    await using runner = await openRunner();
    const secret = 'ghp_0aF3kQ9zLmN4pR7tV2wX5yB8cD1eG6hJ0000';
    const exit = await runner.run(`echo token=${secret}`, box);
    assert.equal(exit.redactions?.count, 1);
    const [entry] = exit.redactions?.entries ?? [];
    assert.ok(entry !== undefined);
    assert.notEqual(exit.stdout_sha256, sha256(`token=${secret}\n`));
    assert.equal(exit.stdout_sha256, sha256(`token=${entry.tag}\n`));
  });

  test('are of all bytes, also of those that the journal holds no more', async () => {
    await using runner = await openRunner();
    const exit = await runner.run('seq 1 60000', box, {
      bounds: { ...resolveBounds({}, 'foreground'), journalBytesMax: 4_096 },
    });
    const all = Array.from({ length: 60_000 }, (_, at) => `${at + 1}\n`).join('');
    assert.ok(exit.journal_from > 0);
    assert.equal(exit.stdout_sha256, sha256(all));
    assert.equal(exit.stdout_bytes, all.length);
  });
});

describe('running digests', () => {
  test('are of what came so far, and come only when something came', async () => {
    await using runner = await openRunner();
    const wait = (name: string): string => `until [ -e ${name} ]; do sleep 0.05; done`;
    const command = `echo one; ${wait('first')}; echo two; ${wait('second')}; echo end`;
    const { ended } = await runner.start(command, box);
    await eventually('the first', () => runner.progress.length === 1);
    runner.sign('first');
    await eventually('the second', () => runner.progress.length === 2);
    assert.deepEqual(
      runner.progress.map((one) => [one.stdout_bytes, ...digestsOf(one)]),
      [
        [4, sha256('one\n'), sha256('')],
        [8, sha256('one\ntwo\n'), sha256('')],
      ],
    );
    runner.sign('second');
    const exit = await ended;
    assert.equal(exit.stdout_sha256, sha256('one\ntwo\nend\n'));
    // None comes after the exit.
    assert.equal(runner.progress.filter(({ exec_id: id }) => id === exit.exec_id).length, 2);
  });

  test('are told to a daemon that takes over, though nothing new came', async () => {
    await using runner = await openRunner();
    const { ended } = await runner.start('echo before; sleep 600', box);
    await eventually('the first', () => runner.progress.length === 1);
    const [told] = runner.progress;
    const link = await runner.takeOver();
    await eventually('the second', () => runner.progress.length === 2);
    assert.deepEqual(runner.progress[1], told);
    assert.ok(told !== undefined);
    assert.equal(told.stdout_sha256, sha256('before\n'));
    await link.request('stop', { exec_id: told.exec_id, reason: 'audit-failed' });
    const exit = await ended;
    assert.equal(exit.stopped, 'audit-failed');
    assert.equal(exit.stdout_sha256, sha256('before\n'));
  });
});
