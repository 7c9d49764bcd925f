// What the analysis of a shell script tells beyond its decision: spans, wrappers, names, recipes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Analysis } from '../src/policy/analysis.ts';
import { analyseShell } from '../src/policy/analyse.ts';
import { classifyArgv } from '../src/policy/shell/classify.ts';

const analyse = (text: string): Analysis => analyseShell(text, 'bash');

function blocks(text: string): unknown[] {
  const found = analyse(text).findings.filter(({ bound }) => bound === 'block');
  return found.map(({ code, span, via }) => [code, text.slice(...span), via.join(' > ')]);
}

test('a finding stands where its command stands, and says through what it was reached', () => {
  const cases = [
    ['ls; rm -rf x', 'fs.rm-rf', 'rm -rf x', ''],
    ['timeout 5 nice rm -rf x', 'fs.rm-rf', 'timeout 5 nice rm -rf x', 'timeout > nice'],
    ["ls && bash -lc 'cd x; sudo id'", 'privilege.sudo', "'cd x; sudo id'", 'bash -c'],
    ["env -S 'git push' x", 'deploy.git-push', "env -S 'git push' x", 'env'],
    ['sh <<E\nnpm pub\nE\n', 'publish.npm', 'npm pub\n', 'sh'],
    ['find . -exec kill -9 {} +', 'kill.force', 'find . -exec kill -9 {} +', 'find'],
  ] as const;
  for (const [text, ...finding] of cases) {
    assert.deepEqual(blocks(text)[0], finding, text);
  }
});

test('the innermost program keeps the span of the word in the original text', () => {
  const text = `bash -c "sh -c 'rm -rf x'"`;
  assert.deepEqual(blocks(text), [['fs.rm-rf', `"sh -c 'rm -rf x'"`, 'bash -c > sh -c']]);
});

test('what decides by its content is named', () => {
  const cases: readonly (readonly [string, readonly string[]])[] = [
    ['bash x.sh', ['executable bash', 'script x.sh']],
    ['./build --fast', ['executable ./build']],
    ['python3 -u s.py', ['executable python3', 'script s.py']],
    ['node a.js', ['executable node', 'script a.js']],
    ['source ./f', ['script ./f']],
    ['make all', ['executable make', 'script Makefile']],
    ['npm run build', ['executable npm', 'package-script build']],
    ['npm test', ['executable npm', 'package-script test']],
    ['bash -c "./x; ls"', ['executable bash', 'executable ./x', 'executable ls']],
    ['f() { g; }; f', ['executable g']],
  ];
  for (const [text, names] of cases) {
    const named = analyse(text).named.map(({ role, name }) => `${role} ${name}`);
    assert.deepEqual(named, names, text);
  }
});

test('an allowed command is started as its recipe says', () => {
  const git = analyse('git diff --stat -- src').allowed;
  assert.ok(git !== null);
  assert.equal(git.rule, 'git.diff');
  const { argv, unset, set } = git.run;
  assert.deepEqual(argv.slice(0, 4), ['git', '--no-pager', '-c', 'core.fsmonitor=false']);
  assert.deepEqual(argv.slice(argv.indexOf('diff')), [
    'diff',
    '--no-ext-diff',
    '--no-textconv',
    '--ignore-submodules=dirty',
    '--stat',
    '--',
    'src',
  ]);
  assert.ok(unset.includes('GIT_*'));
  assert.equal(set['GIT_ALLOW_PROTOCOL'], 'none');

  const search = analyse('rg --hidden x -- src').allowed;
  assert.deepEqual(search?.files, ['src']);
  assert.deepEqual(search.run.argv.slice(0, 5), ['rg', '--no-config', '--hidden', 'x', '--iglob']);
  assert.deepEqual(search.run.argv.slice(-2), ['--', 'src']);

  const script = analyse('npm run -s build').allowed;
  assert.equal(script?.packageScript, 'build');
  assert.equal(script.runsRepositoryCode, true);
  assert.deepEqual(analyse('npx tsc --noEmit').allowed?.run.argv, [
    'npx',
    '--no-install',
    'tsc',
    '--noEmit',
  ]);
  assert.deepEqual(analyse('cat -n src/a.ts').allowed?.files, ['src/a.ts']);
});

test('a command line of another shell is classified by its words', () => {
  const codes = (argv: readonly (string | null)[]): readonly string[] =>
    classifyArgv(argv, { span: [3, 9] }).findings.map(({ code }) => code);
  assert.deepEqual(codes(['git', '-C', null, 'push']), ['deploy.git-push']);
  assert.deepEqual(codes(['npm.exe', 'pack']), []);
  assert.deepEqual(codes(['npm.cmd', 'publish']), ['publish.npm']);
  assert.deepEqual(codes(['bash', '-c', 'rm -rf x']), ['fs.rm-rf']);
  assert.deepEqual(codes([null, 'push']), []);
  const [finding] = classifyArgv(['npm', 'login'], { span: [3, 9] }).findings;
  assert.deepEqual(finding?.span, [3, 9]);
});

test('a secret variable may be tested and measured, not shown', () => {
  for (const text of ['echo $API_KEY', 'printf %s "$db_password"', 'cat <<< "x$GH_TOKEN"']) {
    assert.equal(blocks(text).length, 1, text);
  }
  for (const text of [
    'echo ${#API_KEY}',
    'echo "${API_KEY:+set}"',
    '[ -n "$API_KEY" ]',
    'echo $PUBLIC_KEY',
    'for key in a b; do echo "$key"; done',
    'API_KEY=abc; echo $API_KEY',
  ]) {
    assert.deepEqual(blocks(text), [], text);
  }
});
