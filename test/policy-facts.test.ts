// What the file system says of a command that policy would allow.
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { analyseShell } from '../src/policy/analyse.ts';
import { gatherFacts } from '../src/policy/facts.ts';

test('a name starts the first file that may be run, and none of the workspace', async (t) => {
  const root = realpathSync(mkdtempSync(path.join(tmpdir(), 'trl-facts-')));
  t.after(() => rmSync(root, { recursive: true }));
  const [unusable, work, usable] = ['unusable', 'work', 'usable'].map((name) => {
    const directory = path.join(root, name);
    mkdirSync(directory);
    writeFileSync(path.join(directory, 'ls'), '#!/bin/sh\n', { mode: 0o755 });
    return directory;
  });
  assert.ok(unusable !== undefined && work !== undefined && usable !== undefined);
  chmodSync(path.join(unusable, 'ls'), 0o644);
  const found = async (...directories: string[]): Promise<string | null> => {
    const scope = {
      workspace: work,
      cwd: work,
      path: directories.join(':'),
      parseGitConfig: () => assert.fail('git is not started'),
    };
    const { executable, contents } = await gatherFacts(analyseShell('ls', 'bash'), null, scope);
    assert.deepEqual(
      contents.map(({ path: file }) => file),
      [executable],
    );
    return executable;
  };
  const expected = path.join(usable, 'ls');
  assert.equal(await found(unusable, work, usable), expected);
  assert.equal(await found('', 'usable', usable), expected);
  assert.equal(await found(unusable, work, path.join(root, 'missing')), null);
});
