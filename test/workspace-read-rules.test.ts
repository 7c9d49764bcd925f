// Which of two rules about reading holds: the longer path, deny at equal ones, wildcards first.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { onHost, openBox, temporary, whyNoBox } from './support/box.ts';

const sandboxed = { skip: whyNoBox };
/** Files as `find` lists them, with what each holds. */
const list = (where: string): string =>
  `(cd ${where} && find . -type f -readable -exec grep -H . {} + | sort) 2>/dev/null`;

test('a grant below a denied path shows that and nothing else of it', sandboxed, async () => {
  using out = temporary();
  onHost(
    'mkdir -p pub/in/deep other; for d in . pub pub/in pub/in/deep other; do echo x > $d/f; done',
    out.path,
  );
  const rules = (...names: string[]): string[] => names.map((name) => path.join(out.path, name));
  const cases: [string[], string[], string][] = [
    [rules(''), rules('pub'), './pub/f ./pub/in/deep/f ./pub/in/f'],
    [rules(''), rules('', 'pub/f'), './pub/f'],
    [rules('pub'), rules(''), './f ./other/f'],
    [rules('pub'), rules('', 'pub/in'), './f ./other/f ./pub/in/deep/f ./pub/in/f'],
    [rules('pub', 'pub/in/deep'), rules('', 'pub/in'), './f ./other/f ./pub/in/f'],
    [rules('pub', 'pub/in'), rules('', 'pub/in'), './f ./other/f'],
    [rules('pub', 'pub/in/*'), rules('', 'pub/in'), './f ./other/f'],
    [rules('pub', '*'), rules('', 'pub/in'), ''],
    [rules('pub'), rules('pub'), ''],
  ];
  for (const [deny, allow, seen] of cases) {
    await using box = await openBox({ read: { deny, allow } });
    const { stdout } = await box.run(`${list(out.path)}; echo y > ${out.path}/pub/f`);
    const expected = seen
      .split(' ')
      .filter(Boolean)
      .map((name) => `${name}:x\n`);
    assert.equal(stdout, expected.join(''), JSON.stringify({ deny, allow }));
  }
});

const setup = `git init -q .; mkdir -p conf/public/in conf/secret; echo TOPSECRET > conf/secret/k
  echo TOPSECRET > conf/k; echo shown > conf/public/f; echo KEY > conf/public/in/a.key; echo w > w`;

test('in the workspace, a hidden directory shows what is granted below it', sandboxed, async () => {
  using ws = temporary();
  onHost(setup, ws.path);
  const before = onHost('find . | sort', ws.path);
  const read = { deny: ['conf', '*.key'], allow: ['conf/public'] };
  await using box = await openBox({ root: ws.path, read });
  const { stdout } = await box.run(`${list('conf')}; echo e > conf/public/f; echo e > conf/public/n
    mkdir conf/new; mv conf c2; mv conf/public p2; rm -rf conf/public p2
    ln -s / conf/l; echo e > conf/k
    cat conf/k conf/secret/k conf/public/in/a.key; echo more >> w; cat w`);
  assert.equal(stdout, './public/f:shown\nw\nmore\n');
  assert.equal(onHost('find . | sort', ws.path), before);
  assert.equal(readFileSync(path.join(ws.path, 'conf/public/f'), 'utf8'), 'shown\n');
});

test(
  'what is granted there for writing is writable, unless that is denied',
  sandboxed,
  async () => {
    using ws = temporary();
    onHost(`${setup}; git init -q conf/public`, ws.path);
    const write = { allow: ['conf/public'] };
    const command = `echo new > conf/public/f; echo evil > conf/public/.git/hooks/post-commit
    git -C conf/public config alias.x y; cat conf/k conf/public/f`;
    for (const deny of [[], ['conf'], ['.'], ['conf/public'], ['**/public']]) {
      onHost('echo old > conf/public/f', ws.path);
      await using box = await openBox({
        root: ws.path,
        read: { deny: ['conf'] },
        write: { ...write, deny: deny.map((one) => path.join(ws.path, one)) },
      });
      const { stdout } = await box.run(command);
      assert.equal(stdout, deny.length === 0 ? 'new\n' : 'old\n', String(deny));
    }
    assert.equal(onHost('git -C conf/public config alias.x || true', ws.path), '');
    assert.equal(onHost('ls conf/public/.git/hooks | grep -v sample || true', ws.path), '');
  },
);

test('a grant below what is hidden is not followed through a link', sandboxed, async () => {
  using base = temporary();
  onHost(
    'mkdir -p ws/conf out ws/hid; echo TOPSECRET > out/k; echo TOPSECRET > ws/hid/k',
    base.path,
  );
  onHost('ln -s ../../out ws/conf/public; ln -s ../hid ws/conf/inner', base.path);
  const root = path.join(base.path, 'ws');
  const allow = ['conf/public', 'conf/inner', 'conf/public/k'];
  await using box = await openBox({ root, read: { deny: ['conf', 'hid'], allow } });
  const { stdout } = await box.run(`cat conf/*/k ${base.path}/out/k hid/k; echo RAN`);
  assert.equal(stdout, 'RAN\n');
});

test('the workspace is protected as ever where what holds it is denied', sandboxed, async () => {
  using base = temporary();
  onHost('mkdir -p x/ws; echo TOPSECRET > x/f; echo fine > f; cd x/ws; git init -q .', base.path);
  const root = path.join(base.path, 'x/ws');
  const read = { allow: [base.path], deny: [path.join(base.path, 'x')] };
  await using box = await openBox({ root, read });
  const { stdout } = await box.run(`cat ../f ../../f; git config alias.x y
    echo evil > .git/hooks/post-commit; echo x > w; cat w`);
  assert.equal(stdout, 'fine\nx\n');
  assert.equal(
    onHost('git config alias.x || true; ls .git/hooks | grep -v sample || true', root),
    '',
  );
});
