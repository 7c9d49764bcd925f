// The sandbox tests once more, as an ordinary user: the way in differs from root's. With those of
// sessions in workspaces: `npm run prove -- test/prove/long-tests.ts`.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { isRoot, onHost, temporary, whyNoBox } from './support/box.ts';

const root = path.dirname(import.meta.dirname);
/** The filter is the same bytes; the table of cases runs where the whole suite does as a user. */
const others: ReadonlySet<string> = new Set([
  path.basename(import.meta.filename),
  'sandbox-cases.test.ts',
  'sandbox-seccomp.test.ts',
]);
/** An account that exists nowhere. */
const uid = 54_321;

test(
  'an ordinary user has the same sandbox',
  {
    skip: whyNoBox || (isRoot ? false : 'the other files ran as one'),
  },
  () => {
    using place = temporary();
    chmodSync(place.path, 0o755);
    const node = path.join(place.path, 'node');
    copyFileSync(process.execPath, node);
    const ours = ['src', 'test', 'trl', 'tools', 'dist', 'package.json', 'package-lock.json'];
    const needed = [
      'diff',
      'fast-check',
      'picomatch',
      'pure-rand',
      're2js',
      'unbash',
      'ws',
      'yaml',
      'zod',
    ];
    const packages = [...needed, '@lydell', '@napi-rs'].map((one) => `node_modules/${one}`);
    const isOurs = (name: string): boolean => !name.includes('/node24/node_modules');
    const asIs = { recursive: true, preserveTimestamps: true, filter: isOurs } as const;
    for (const name of [...ours, ...packages].filter((one) => existsSync(path.join(root, one)))) {
      cpSync(path.join(root, name), path.join(place.path, name), asIs);
    }
    writeFileSync(path.join(place.path, 'node_modules/.trl-setup'), `${node}\n`);
    mkdirSync(path.join(place.path, 'home'));
    // What starts is compiled once, as in a checkout of the user's own.
    const cache = path.join(place.path, 'node_modules/.cache');
    mkdirSync(cache);
    // Below a directory of ours, so that nothing is left when a test fails.
    const temp = path.join(place.path, 'tmp');
    mkdirSync(temp);
    // The copy is as current as what it was made from: nothing in it is to be built.
    onHost(`touch dist/runner.js node_modules/.trl-setup`, place.path);
    onHost(`chmod -R a+rX . && chown ${uid}:${uid} home tmp '${cache}'`, place.path);
    // What is the same for every user once the sandbox stands runs once.
    const isFull = process.env['TRL_PROVE'] === 'full';
    const own = isFull ? '{guard,new-git,protect,session}' : '{guard,protect}';
    const files = globSync(`test/{sandbox-*,workspace-${own}}.test.ts`, { cwd: root });
    const tests = files.filter((name) => !others.has(path.basename(name)));
    const identity = [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups'];
    const run = ['--test', '--test-reporter=tap', '--test-concurrency=2'];
    const args = [...identity, node, ...run, ...tests];
    const home = path.join(place.path, 'home');
    const env = {
      PATH: '/usr/local/bin:/usr/bin:/bin',
      HOME: home,
      TMPDIR: temp,
      NODE_COMPILE_CACHE: path.join(cache, 'node'),
    };
    const options = { cwd: place.path, env, encoding: 'utf8', timeout: 300_000 } as const;
    const { stdout, stderr } = spawnSync('setpriv', args, options);
    const skipped = stdout
      .split('\n')
      .filter((line) => / # SKIP (?!needs root|\S+ is not installed)/.test(line));
    assert.deepEqual(skipped, []);
    assert.match(stdout, /^# pass [1-9]\d+$/m, stderr);
    assert.match(stdout, /^# fail 0$/m, stdout);
  },
);
