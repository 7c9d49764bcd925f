// What somebody writes to a file in the very moment in which it is replaced or removed is kept.
import assert from 'node:assert/strict';
import {
  closeSync,
  constants,
  existsSync,
  linkSync,
  lstatSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { O_PATH } from '../src/workspace/byte-path.ts';
import { AtomicRenames, type RenameRequest } from '../src/workspace/commit/atomic-renames.ts';
import { statKey } from '../src/workspace/stat.ts';
import { race } from './support/commit-race.ts';

const skip = existsSync('/usr/bin/perl') ? false : 'perl is not installed';
const kinds = ['exchange', 'away'] as const;

/** One rename of `f`, whose name somebody has looked up before it and opens after it. */
async function lookedUp(
  kind: RenameRequest['kind'],
  other: boolean,
): Promise<Record<string, string>> {
  const base = mkdtempSync(path.join(tmpdir(), 'trl-late-'));
  const at = (name: string): string => path.join(base, name);
  const directory = openSync(base, constants.O_RDONLY | constants.O_DIRECTORY);
  const told: string[] = [];
  const renames = new AtomicRenames((late) => {
    told.push(path.basename(late.toString()));
  });
  try {
    writeFileSync(at('f'), 'one\n', { mode: 0o640 });
    if (other) linkSync(at('f'), at('other'));
    if (kind === 'exchange') writeFileSync(at('temporary'), 'new\n');
    const key = statKey(lstatSync(at('f'), { bigint: true }));
    const theirs = openSync(at('f'), O_PATH);
    const paths = { name: 'f', temporary: 'temporary', fallbackName: 'kept' };
    const rename = { kind, directory, staging: null, ...paths, key };
    assert.deepEqual(await renames.run([rename]), ['done']);
    // No writer yet: an open by this descriptor looks nothing up.
    const { O_WRONLY, O_APPEND } = constants;
    const late = openSync(`/proc/self/fd/${theirs}`, O_WRONLY | O_APPEND);
    writeFileSync(late, 'late\n');
    closeSync(late);
    closeSync(theirs);
    await renames.close();
    assert.deepEqual(told, other ? [] : ['kept']);
    const names = readdirSync(base);
    if (!other) assert.equal(lstatSync(at('kept')).mode & 0o7777, 0o640);
    return Object.fromEntries(names.map((name) => [name, readFileSync(at(name), 'utf8')]));
  } finally {
    renames[Symbol.dispose]();
    closeSync(directory);
    rmSync(base, { recursive: true });
  }
}

for (const kind of kinds) {
  const left = kind === 'exchange' ? { f: 'new\n' } : {};
  test(
    `${kind}: what is written after it, by a name from before it, is kept`,
    { skip },
    async () => {
      assert.deepEqual(await lookedUp(kind, false), { ...left, kept: 'one\nlate\n' });
    },
  );

  test(`${kind}: what another name leads to is not kept twice`, { skip }, async () => {
    assert.deepEqual(await lookedUp(kind, true), { ...left, other: 'one\nlate\n' });
  });

  test(`${kind}: writers lose nothing`, { skip }, async () => {
    // On the way back from an exchange, about one in a thousand meets a writer.
    const attempts = kind === 'exchange' ? 2_000 : 500;
    const raced = await race({ kind, files: 8, writers: 2, attempts });
    const { answers, lost, left: names } = raced;
    assert.deepEqual({ lost, names }, { lost: [], names: [] });
    assert.ok(answers.done > 0 && answers.changed + answers.open > 0, JSON.stringify(answers));
    assert.equal(answers.refused, 0);
  });
}
