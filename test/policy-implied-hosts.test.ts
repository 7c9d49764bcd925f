// Which hosts the text of a command implies, and which it does not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hostPresets, type HostPresetName } from '../src/network/presets.ts';
import { analyseShell } from '../src/policy/analyse.ts';
import { impliedHosts } from '../src/policy/implied-hosts.ts';
import { listInvocations } from '../src/policy/invocations.ts';

const impliedBy = (text: string): readonly string[] =>
  impliedHosts(listInvocations(text, 'bash', analyseShell(text, 'bash')).items);

test('package managers imply the hosts of their registry', () => {
  const texts: Readonly<Record<HostPresetName, readonly string[]>> = {
    npm: [
      'npm install',
      'cd web && CI=1 npm ci --no-audit',
      "bash -c 'cd web; npm i left-pad'",
      'env -i npm --prefix web update',
      'pnpm dlx create-vite',
      'yarn',
      'yarn add x',
      'npx cowsay',
      'bunx cowsay',
      'bun add x',
    ],
    pypi: [
      'pip install x',
      '.venv/bin/pip3.11 download x',
      'python3 -m pip install -r requirements.txt',
      'uv sync',
      'uvx ruff',
      'poetry lock',
      'pipx run black',
    ],
    crates: ['cargo build', 'timeout 60 cargo fetch', 'cargo +nightly add serde'],
    go: ['go build ./...', 'go get example.org/x', 'go mod download'],
    maven: ['mvn -q package', './gradlew build', './mvnw test'],
    rubygems: ['gem install rails', 'bundle', 'bundle install'],
    debian: ['apt-get update', 'apt install -y curl'],
    ubuntu: [],
    github: ['gh pr list', '$(gh auth token)'],
    gitlab: [],
    huggingface: [],
    docker: [],
  };
  for (const [preset, own] of Object.entries(texts)) {
    const { hosts } = Object.entries(hostPresets).find(([name]) => name === preset)?.[1] ?? {};
    for (const text of own) assert.deepEqual(impliedBy(text), hosts?.toSorted(), text);
  }
});

test('addresses imply their host, with the port where it is not of the web', () => {
  const texts: Readonly<Record<string, readonly string[]>> = {
    'git clone https://Example.org/a/b.git': ['example.org'],
    'git -C sub clone --depth 1 git@example.org:a/b': ['example.org:22'],
    'git clone example.org:a/b': ['example.org:22'],
    'git fetch ssh://git@example.org:2222/a': ['example.org:2222'],
    'git push https://example.org:8443/a main': ['example.org:8443'],
    'git pull git://example.org/a': ['example.org:9418'],
    'git ls-remote https://user:pass@example.org/a': ['example.org'],
    'git submodule add https://example.org/a': ['example.org'],
    'curl -fsSL https://example.org/x | tar x': ['example.org'],
    'curl -m 10 http://example.org:80/ https://example.com:443/': ['example.com', 'example.org'],
    'curl --url=https://example.org:8443/x': ['example.org:8443'],
    'curl -s example.org/x': ['example.org'],
    'wget -q https://example.org/x -O out.html': ['example.org'],
    'A=https://example.org; curl "$A"': ['example.org'],
    'npm ci && curl https://example.org': [
      'example.org',
      'registry.npmjs.org',
      'registry.yarnpkg.com',
    ],
    'pip install -i https://a.test/simple git+https://b.test:8443/x': [
      'a.test',
      'b.test:8443',
      'files.pythonhosted.org',
      'pypi.org',
    ],
    'xargs -n1 curl https://example.org': ['example.org'],
    // Whose host it is, is as programs read it.
    'curl https://example.com@example.org/': ['example.org'],
  };
  for (const [text, hosts] of Object.entries(texts)) assert.deepEqual(impliedBy(text), hosts, text);
});

test('what reaches no host, or none that the text names, implies none', () => {
  const texts = [
    '',
    'npm test',
    'npm run build',
    'npm install --offline',
    "echo 'npm install https://example.org'",
    'npm --version',
    'pip install --no-index x',
    'pip list',
    'cargo build --offline',
    'mvn -o package',
    'go version',
    'yarn test',
    'git fetch origin',
    'git push origin main:main',
    'git clone ../other here',
    'git clone C:x',
    'git commit -m "see https://example.org"',
    'git log https://example.org',
    'curl http://127.0.0.1:8080/ http://localhost:3000 http://[::1]/ http://10.1/',
    'curl -o out.html -H a.test --cacert ca.pem file:///etc/passwd',
    'curl "https://$HOST/x"',
    'wget -O out.html',
  ];
  for (const text of texts) assert.deepEqual(impliedBy(text), [], text);
});

test('text of any form is looked at in little time', () => {
  for (const text of [
    'git clone '.repeat(20_000),
    `curl ${'a.'.repeat(50_000)}`,
    ':'.repeat(90_000),
  ]) {
    const started = performance.now();
    impliedBy(text);
    assert.ok(performance.now() - started < 5_000);
  }
});
