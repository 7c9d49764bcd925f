// Which variables of the runtime a command gets, by mode, and what legacy mode warns of.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import './support/seed.ts';
import {
  inheritedVariables,
  legacyWarning,
  toolManagedNames,
  withheldNames,
} from '../src/environment/tiers.ts';
import { usedVariables } from '../src/environment/usage.ts';

const host = {
  PATH: '/usr/bin',
  AWS_PROFILE: 'p',
  MY_TOKEN: 't',
  TRL_AUTH_TOKEN: 'x',
  HERMES_API_KEY: 'x',
  OPENROUTER_API_KEY: 'x',
  DATABASE_URL: 'x',
  DATABASE_URL_RO: 'x',
  CORP_A: 'x',
  LD_PRELOAD: './x.so',
  BASH_ENV: 'x',
  NODE_OPTIONS: 'x',
  PYTHONSTARTUP: 'x',
  GIT_SSH_COMMAND: 'x',
  'BASH_FUNC_ls%%': '() { id; }',
  PWD: '/',
  GONE: undefined,
};

test('legacy inherits all but what is withheld, injects or is the shell’s own', () => {
  assert.deepEqual(inheritedVariables(host, ['CORP_*']), {
    PATH: '/usr/bin',
    AWS_PROFILE: 'p',
    MY_TOKEN: 't',
  });
});

test('a tool gets what it declares and no more', () => {
  const names = [...Object.keys(host), 'BROWSERBASE_KEY', 'BROWSERBASE_ID', 'XBROWSERBASE_'];
  assert.deepEqual(toolManagedNames(['BROWSERBASE_*', 'MY_TOKEN'], names), [
    'BROWSERBASE_ID',
    'BROWSERBASE_KEY',
    'MY_TOKEN',
  ]);
  for (const pattern of ['*', '', 'A B', 'TRL_*', 'DATABASE_URL', 'LD_*', 'BASH_*', 'CORP_*']) {
    assert.deepEqual(toolManagedNames([pattern], names, ['CORP_*']), [], pattern);
  }
});

test('what the runtime withholds is told by name', () => {
  assert.deepEqual(withheldNames(Object.keys(host), ['CORP_*']), [
    'CORP_A',
    'DATABASE_URL',
    'DATABASE_URL_RO',
    'HERMES_API_KEY',
    'OPENROUTER_API_KEY',
    'TRL_AUTH_TOKEN',
  ]);
});

const uses: readonly (readonly [string, string])[] = [
  ['echo $X_A', 'X_A'],
  ['echo "${X_A:-none}" ${X_B%/}', 'X_A X_B'],
  ['echo ${#X_A} ${!X_B}', 'X_A X_B'],
  ['cat <<E\n$X_A\nE', 'X_A'],
  ["sh -c 'echo $X_A'", 'X_A'],
  ['printenv X_A', 'X_A'],
  ['printenv X_A X_B', 'X_A X_B'],
  ['export X_A; ./run', 'X_A'],
  ['declare -p X_A', 'X_A'],
  ['[ -v X_A ]', 'X_A'],
  ['docker run -e X_A -e X_B image', 'X_A X_B'],
  ['docker run --env X_A image', 'X_A'],
  ['sudo --preserve-env=X_A,X_B ./run', 'X_A X_B'],
  ['python3 -c \'import os; print(os.environ["X_A"], os.getenv("X_B"))\'', 'X_A X_B'],
  ['python3 -c "import os; os.environ.get(\'X_A\')"', 'X_A'],
  ['node -e \'console.log(process.env.X_A, process.env["X_B"])\'', 'X_A X_B'],
  ["node -e 'process.env?.X_A'", 'X_A'],
  ['ruby -e \'puts ENV["X_A"] + ENV.fetch("X_B")\'', 'X_A X_B'],
  ["perl -e 'print $ENV{X_A}'", 'X_A'],
  ['php -r \'echo getenv("X_A");\'', 'X_A'],
  ['deno eval "Deno.env.get(\'X_A\')"', 'X_A'],
  ['Write-Output $env:X_A ${env:X_B}', 'X_A X_B'],
  ['echo %X_A%', 'X_A'],
  ['echo $X_A; X_A=1', 'X_A'],
  ['aws s3 ls', 'AWS_PROFILE'],
  ['cd x && aws s3 ls | sort', 'AWS_PROFILE'],
  ['A=1 /usr/local/bin/aws s3 ls', 'AWS_PROFILE'],
  ['timeout 30 aws s3 ls', 'AWS_PROFILE'],
  ["bash -lc 'aws s3 ls'", 'AWS_PROFILE'],
  ['echo "$(aws sts get-caller-identity)"', 'AWS_PROFILE'],
  ['if aws s3 ls; then echo y; fi', 'AWS_PROFILE'],
  ['find . | xargs aws s3 cp', 'AWS_PROFILE'],
  ['terraform plan', 'AWS_PROFILE'],
  ['gh pr list', 'GH_TOKEN'],
  ['git fetch', 'SSH_AUTH_SOCK'],
  ['npm ci', 'NPM_TOKEN'],
  ['npx vercel deploy', 'NPM_TOKEN VERCEL_TOKEN'],
  ['psql -c "select 1"', 'PGHOST'],
  ['uv run pytest', 'PYTHONPATH'],
  ['python3.12 x.py', 'PYTHONPATH'],
];
const names = [
  ...'X_A X_B AWS_PROFILE GH_TOKEN SSH_AUTH_SOCK NPM_TOKEN VERCEL_TOKEN PGHOST'.split(' '),
  'PYTHONPATH',
];

for (const [text, wanted] of uses) {
  test(`uses: ${JSON.stringify(text)}`, () => {
    const found = usedVariables(text, names);
    const shown = wanted.includes('PYTHON') ? found : found.filter((one) => one !== 'PYTHONPATH');
    assert.equal(shown.join(' '), wanted);
  });
}

const unused: readonly string[] = [
  'ls -l',
  'echo X_A',
  String.raw`echo \$X_A`,
  'echo $X_AB $MYX_A',
  'X_A=1; echo $X_A',
  'export X_A=1; echo $X_A',
  'read -r X_A; echo $X_A',
  'for X_A in 1 2; do echo $X_A; done',
  'ls aws gh',
  'grep -r terraform .',
  'cat docs/npm/readme',
  'date +%X_A',
  'AWS_PROFILE=dev aws s3 ls',
];
for (const text of unused) {
  test(`does not use: ${JSON.stringify(text)}`, () => {
    assert.deepEqual(usedVariables(text, names), []);
  });
}

test('any text is looked through in linear time and only given names are answered', () => {
  const shapes = ['$', '\\', 'export ', 'read -r ', '-e A ', '${!', 'env.', '%', '"', 'a_', '\n'];
  for (const shape of shapes) usedVariables(shape.repeat(60_000 / shape.length), names);
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      for (const name of usedVariables(text, names)) assert.ok(names.includes(name));
    }),
  );
});

test('a warning names the variable and the way to ask for it', () => {
  assert.match(legacyWarning('AWS_PROFILE'), /AWS_PROFILE .*--env-key AWS_PROFILE/);
});
