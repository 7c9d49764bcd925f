// What is seen in a command's text to need the network, and what is not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { networkSessionParams } from '../src/cli/run.ts';
import { detectNetworkNeed, hostsInText, isStateChanging } from '../src/network/network-need.ts';

test('what needs the network is seen from the text', () => {
  const needs = [
    ['npm install', 'npm install'],
    ['cd web && npm ci', 'npm ci'],
    ['CI=1 npm i --no-audit left-pad', 'npm i'],
    ['npm --prefix=web install', 'npm install'],
    ['pnpm add vitest; pnpm test', 'pnpm add'],
    ['yarn', 'yarn'],
    ['(cd a; yarn install)', 'yarn install'],
    ['python3 -m pip install -q requests', 'pip install'],
    ['.venv/bin/pip install -e .', 'pip install'],
    ['timeout 60 cargo fetch', 'cargo fetch'],
    ['go mod download', 'go mod'],
    ['go get example.org/x', 'go get'],
    ['git -C sub fetch origin', 'git fetch'],
    ['git pull --rebase', 'git pull'],
    ['git clone https://example.org/a/b', 'git clone'],
    ['git clone git@example.org:a/b', 'git clone'],
    ['if true; then curl -fsS https://example.org/x; fi', 'curl -fsS'],
    ["curl -sL 'https://example.org/x?a=1&b=2' | tar x", 'curl -sL'],
    ['wget -q https://example.org/x', 'wget https://example.org/x'],
  ] as const;
  for (const [text, need] of needs) assert.equal(detectNetworkNeed(text), need, text);
});

test('what does not need the network is not asked about', () => {
  const others = [
    'npm test',
    'npm run build',
    'npm install --offline',
    'npm ls install',
    'echo npm install',
    "echo 'npm install'",
    'echo "x; npm install"',
    'grep -rn "npm install" .',
    '# npm install',
    'cat <<EOF\nnpm install\nEOF',
    "git commit -m 'x\nnpm install'",
    'git clone ../other here',
    'git status',
    'git push',
    'cargo build',
    'cargo fetch --offline',
    'go build ./...',
    'pip list',
    'pip install --no-index --find-links wheels x',
    'curl -s http://127.0.0.1:8080/',
    'curl -s "http://localhost:3000/a"',
    'wget http://[::1]:80/',
    'curl --version',
    'ls yarn',
    '',
  ];
  for (const text of others) assert.equal(detectNetworkNeed(text), null, text);
});

test('text of any form is looked at in little time', () => {
  const forms = ["'".repeat(8_000), '<<A\n'.repeat(2_000), '\\'.repeat(8_001), '"\\'.repeat(4_000)];
  for (const text of [...forms, 'x'.repeat(1_000_000), '('.repeat(8_000)]) {
    assert.equal(detectNetworkNeed(text), null);
  }
});

test('a command that leaves variables for the next one is known', () => {
  const leaving = ['export A=1; npm i', '. ./env && npm i', 'npm i; umask 022'];
  assert.deepEqual(leaving.map(isStateChanging), [true, true, true]);
  assert.deepEqual(['npm i', 'cd x && npm i', 'A=1 npm i'].map(isStateChanging), [
    false,
    false,
    false,
  ]);
});

test('the hosts that a text implies are named by rules', () => {
  const implied: Readonly<Record<string, string>> = {
    'npm ci && npm test': 'registry.npmjs.org registry.yarnpkg.com',
    'python3 -m pip install x': 'files.pythonhosted.org pypi.org',
    'cargo fetch': 'crates.io index.crates.io static.crates.io',
    'curl -sS https://API.Example.com/a?b https://example.com:8443/':
      'api.example.com example.com:8443',
    'curl http://user:pass@example.com:80/x': 'example.com',
    'git clone git@github.com:o/r.git': 'github.com:22',
    'git clone ssh://git@git.example.com:2222/r': 'git.example.com:2222',
    "git clone 'https://example.com/r.git'": 'example.com',
    'curl http://127.0.0.1:80/ http://localhost:3000': '',
    'curl https://10.0.0.1/ https://[::1]/': '',
    'git fetch': '',
    'npm test': '',
    'echo https://example.com': '',
  };
  for (const [text, hosts] of Object.entries(implied)) {
    assert.equal(hostsInText(text).join(' '), hosts, text);
  }
});

test('trl run gets network only as a question, where somebody may answer it', () => {
  const none = { has: () => false };
  const asked = { network: 'hosts', policy: 'auto' };
  assert.deepEqual(networkSessionParams(none, 'npm install', true), asked);
  // Its hosts are in the configuration of the repository, which the text does not tell.
  assert.deepEqual(networkSessionParams(none, 'git fetch', true), { ...asked, network: 'host' });
  assert.deepEqual(networkSessionParams(none, 'npm install', false), {});
  assert.deepEqual(networkSessionParams(none, 'npm test', true), {});
  for (const flag of ['net', 'policy', 'session']) {
    assert.deepEqual(
      networkSessionParams({ has: (name) => name === flag }, 'npm install', true),
      {},
    );
  }
});
