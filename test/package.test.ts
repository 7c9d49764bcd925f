// What is published: one package that needs no other; test/prove/package.ts installs it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';

const root = path.dirname(import.meta.dirname);
const launcher = path.join(root, 'tools/launcher/trl.cjs');
const base = mkdtempSync(path.join(tmpdir(), 'trl-package-'));
after(() => rmSync(base, { recursive: true, force: true }));

const told: unknown = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
const manifest = new Map(Object.entries(typeof told === 'object' && told !== null ? told : {}));

test('the package depends on nothing, and what is optional brings no script', () => {
  assert.equal(manifest.get('dependencies'), undefined);
  const lock = readFileSync(path.join(root, 'package-lock.json'), 'utf8');
  const packages: unknown = Reflect.get(JSON.parse(lock), 'packages');
  const entries = Object.entries(packages ?? {}).map(([name, entry]) => ({ name, entry }));
  for (const wanted of Object.keys(manifest.get('optionalDependencies') ?? {})) {
    const found = entries.filter(({ name }) => name.startsWith(`node_modules/${wanted}`));
    assert.ok(found.length > 0, wanted);
    for (const { name, entry } of found) {
      assert.doesNotMatch(JSON.stringify(entry), /hasInstallScript/, name);
    }
  }
});

test('every file that is published by name is here', () => {
  const files: unknown = manifest.get('files');
  assert.ok(Array.isArray(files));
  // Of what is built nothing but what is named: a build under way has parts of its own there.
  assert.ok(!files.includes('dist'));
  for (const file of files.map(String).filter((one) => !one.startsWith('dist/'))) {
    assert.ok(globSync(file, { cwd: root }).length > 0, `"${file}" is not in the checkout`);
  }
});

for (const version of ['0.10.48', '6.17.1', '18.20.4', '23.11.0']) {
  test(`Node ${version} is told what is needed, before it meets what it cannot read`, () => {
    const fake = path.join(base, 'old.cjs');
    const versions = `Object.assign({}, process.versions, { node: '${version}' })`;
    writeFileSync(fake, `Object.defineProperty(process, 'versions', { value: ${versions} });`);
    const options = { encoding: 'utf8' } as const;
    const ran = spawnSync(process.execPath, ['--require', fake, launcher, 'run'], options);
    assert.equal(ran.status, 125);
    assert.match(ran.stderr, new RegExp(`^trl: needs Node >= 24, found ${version};`));
    assert.equal(ran.stdout, '');
  });
}

test('the launcher has no syntax that came after 2009', () => {
  const text = readFileSync(launcher, 'utf8').replaceAll(/\/\/.*|'[^']*'/g, '');
  assert.doesNotMatch(text, /\b(?:const|let|class|import|async|await)\b|=>|`|,\s*\)|\.\.\.|\?\?/);
});

test('what the image copies is here', () => {
  const text = readFileSync(path.join(root, 'Dockerfile'), 'utf8').replaceAll('\\\n', ' ');
  const ignored = readFileSync(path.join(root, '.dockerignore'), 'utf8').split('\n');
  const stages = [...text.matchAll(/^FROM \S+ AS (\S+)$/gm)].map(([, name]) => name);
  let copies = 0;
  for (const [, words = ''] of text.matchAll(/^COPY (.*)$/gm)) {
    const parts = words.trim().split(/ +/);
    const from = /^--from=(\S+)$/.exec(parts.find((one) => one.startsWith('--from')) ?? '')?.[1];
    if (from !== undefined) {
      assert.ok(stages.includes(from), `there is no stage "${from}"`);
      continue;
    }
    for (const source of parts.filter((one) => !one.startsWith('--')).slice(0, -1)) {
      copies += 1;
      assert.ok(globSync(source, { cwd: root }).length > 0, `"${source}" is not in the checkout`);
      assert.ok(!ignored.includes(source.replace(/\/$/, '')), `"${source}" is ignored`);
    }
  }
  assert.ok(copies > 0);
  // Neither root nor a door to the network, unless somebody asks for it.
  assert.match(text, /^USER (?!root|0)\S+/m);
  assert.doesNotMatch(text, /EXPOSE|--http|TRL_AUTH_TOKEN/);
});
