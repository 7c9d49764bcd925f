// What `npm test` does about programs that tests need: `tools/test-tools`, `tools/skips.ts`.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { temporary } from './support/box.ts';

const root = path.dirname(import.meta.dirname);

/** Programs of any Linux that it uses itself. */
const basic = ['sh', 'cat', 'ln', 'mktemp', 'rm', 'tail', 'uname'];
/** Stand-ins for root and for apt-get, which writes down its words and brings `rg` and `zsh`. */
const apt = `#!/bin/sh
echo "$*" >>"$0.calls"
[ -z "$OFFLINE" ] || exit 100
case "$*" in *ripgrep*zsh*) cd "\${0%/*}" && ln -s sh rg && ln -s sh zsh ;; esac
`;

interface Machine {
  readonly here: string;
  bring(env?: Readonly<Record<string, string>>): { code: number | null; out: string; err: string };
  calls(): string[];
}

function machine(t: TestContext, uid: number): Machine {
  const place = temporary();
  t.after(() => place[Symbol.dispose]());
  const put = (name: string, text: string): void =>
    writeFileSync(path.join(place.path, name), text, { mode: 0o755 });
  for (const name of basic) {
    const found = ['/usr/bin', '/bin'].map((one) => path.join(one, name));
    symlinkSync(
      found.find((one) => spawnSync(one).error === undefined) ?? '',
      `${place.path}/${name}`,
    );
  }
  put('id', `#!/bin/sh\necho ${uid}\n`);
  put('apt-get', apt);
  put('apt-cache', '#!/bin/sh\ncase "$*" in *fish) exit 100 ;; esac\n');
  put('apt-get.calls', '');
  return {
    here: place.path,
    bring: (env = {}) => {
      const options = { encoding: 'utf8', env: { PATH: place.path, OFFLINE: '', ...env } } as const;
      const file = path.join(root, 'tools/test-tools');
      const { status, stdout, stderr } = spawnSync('/bin/sh', [file], options);
      return { code: status, out: stdout, err: stderr };
    },
    calls: () =>
      readFileSync(path.join(place.path, 'apt-get.calls'), 'utf8').split('\n').slice(0, -1),
  };
}

test('root gets what is missing, in one line, but for what the distribution lacks', (t) => {
  const it = machine(t, 0);
  const first = it.bring({ CI: 'true' });
  assert.match(first.err, /^npm test: installing what the tests need, once: .*fish.* zsh \n$/);
  const [update, install = ''] = it.calls();
  assert.equal(update, 'update -qq');
  assert.match(install, /^install -y -qq --no-install-recommends .* ripgrep .*zsh$/);
  assert.doesNotMatch(install, /\bfish\b/);
  assert.match(first.out, /\bfish\b/);
  assert.doesNotMatch(first.out, /\bripgrep\b|\bzsh\b/);
  assert.equal(first.code, 0, 'what cannot be had is skipped');
});

test('what could have been brought and was not fails in CI, and is named elsewhere', (t) => {
  for (const [uid, calls] of [
    [0, 1],
    [1000, 0],
  ] as const) {
    const it = machine(t, uid);
    const [there, elsewhere] = [it.bring({ OFFLINE: '1', CI: 'true' }), it.bring({ OFFLINE: '1' })];
    assert.deepEqual([there.code, elsewhere.code], [1, 0]);
    for (const { out } of [there, elsewhere]) assert.match(out, / ripgrep .*zsh \n$/);
    assert.equal(it.calls().length, 2 * calls);
  }
});

test('what was skipped is counted by its reason', (t) => {
  const place = temporary();
  t.after(() => place[Symbol.dispose]());
  const file = path.join(place.path, 'some.test.mjs');
  writeFileSync(
    file,
    `import { describe, test } from 'node:test';
    for (const name of ['a', 'b']) test(name, { skip: 'there is no zsh' }, () => {});
    test('runs', () => {});
    describe('group', { skip: 'there is no box' }, () => {});
    describe('other', () => test('inner', (t) => t.skip('not now')));`,
  );
  const reporter = path.join(root, 'tools/skips.ts');
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const args = ['--test', `--test-reporter=${reporter}`, file];
  const { stdout } = spawnSync(process.execPath, args, { encoding: 'utf8', env });
  assert.deepEqual(stdout.split('\n').toSorted(), [
    '',
    '  1  all of "group": there is no box',
    '  1  not now',
    '  2  there is no zsh',
    'npm test: skipped: 4',
  ]);
});
