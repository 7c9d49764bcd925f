// ./trl on a stand-in checkout: this one's launcher and packages around programs of a line.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { renameSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';

const root = path.dirname(import.meta.dirname);
/** How often as long as Node alone a start by the launcher may take. */
const overheadMax = 4;

function checkout(t: TestContext, program: string, runner = 'export {};'): string {
  const dir = realpathSync(mkdtempSync(path.join(tmpdir(), 'trl-launcher-')));
  t.after(() => rmSync(dir, { recursive: true }));
  const filter = (file: string): boolean => path.basename(file) !== 'node_modules';
  for (const name of ['trl', 'tools', 'package.json', 'package-lock.json']) {
    const options = { recursive: true, preserveTimestamps: true, filter };
    cpSync(path.join(root, name), path.join(dir, name), options);
  }
  for (const name of ['node_modules', 'tools/node24/node_modules']) {
    symlinkSync(path.join(root, name), path.join(dir, name));
  }
  programs(dir, program, runner);
  return dir;
}

test('the launcher passes arguments, directory, input and exit code through', (t) => {
  const program = `import { readFileSync } from 'node:fs';
    const seen: unknown = [process.argv.slice(2), process.cwd(), readFileSync(0, 'utf8')];
    console.log(JSON.stringify(seen));
    process.exitCode = 7;`;
  const dir = checkout(t, program);
  symlinkSync('trl', path.join(dir, 'first'));
  symlinkSync(path.join(dir, 'first'), path.join(dir, 'second'));
  const args = ['run', '', 'a  b', '*', '--', "it's"];
  const env = { PATH: '/usr/bin:/bin', HOME: '/nonexistent', CDPATH: '/' };
  const ran = spawnSync('../second', args, { cwd: path.join(dir, 'src'), env, input: 'in' });
  assert.deepEqual(
    { stdout: ran.stdout.toString(), stderr: ran.stderr.toString(), status: ran.status },
    { stdout: `${JSON.stringify([args, `${dir}/src`, 'in'])}\n`, stderr: '', status: 7 },
  );
});

test('a runner that does not build is a failure of the runtime, with the reason on stderr', (t) => {
  const dir = checkout(t, 'console.log("ran")', 'not a program');
  const ran = spawnSync(path.join(dir, 'trl'), { encoding: 'utf8' });
  assert.deepEqual([ran.status, ran.stdout], [125, '']);
  assert.match(ran.stderr, /cannot build dist\/runner\.js/);
});

test('what came with an older date runs, and so does a bundle that is missing', (t) => {
  const dir = checkout(t, 'console.log("first")');
  const run = (): string => spawnSync(path.join(dir, 'trl'), { encoding: 'utf8' }).stdout;
  const [from, to] = [path.join(dir, 'other.ts'), path.join(dir, 'src/cli/main.ts')];
  assert.equal(run(), 'first\n');
  writeFileSync(from, 'console.log("second")');
  utimesSync(from, 0, 0);
  renameSync(from, to);
  assert.equal(run(), 'second\n');
  rmSync(path.join(dir, 'dist/cli.js'));
  assert.equal(run(), 'second\n');
});

test('the launcher adds little to the Node it starts', (t) => {
  const dir = checkout(t, 'export {};');
  const trl = path.join(dir, 'trl');
  const main = path.join(dir, 'dist/cli.js');
  // By turns, so that other work of the machine meets both alike.
  const times = Array.from({ length: 10 }, () => [
    msOf(() => spawnSync(trl).status),
    msOf(() => spawnSync(process.execPath, [main]).status),
  ]);
  const [launched = 0, bare = 0] = [0, 1].map((at) =>
    Math.min(...times.map((one) => one[at] ?? 0)),
  );
  t.diagnostic(`launched ${launched.toFixed(1)} ms, bare ${bare.toFixed(1)} ms`);
  assert.ok(launched < overheadMax * bare);
});

/** What is bundled: a command line and a runner of these texts, and programs that do nothing. */
function programs(dir: string, cli: string, runner: string): void {
  for (const [file, text] of Object.entries({
    'cli/main.ts': cli,
    'daemon/main.ts': 'export {};',
    'daemon/auditing/reader.ts': 'export {};',
    'redactor/main.ts': 'export {};',
    'egress/main.ts': 'export {};',
    'runner/main.ts': runner,
  })) {
    mkdirSync(path.dirname(path.join(dir, 'src', file)), { recursive: true });
    writeFileSync(path.join(dir, 'src', file), text);
  }
}

/** How long it takes, in `ms`. */
function msOf(run: () => number | null): number {
  const begun = performance.now();
  assert.equal(run(), 0);
  return performance.now() - begun;
}
