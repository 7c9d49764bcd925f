// npm run bench:package: what it takes to have it, beside a peer in the same run: size and number
// of packages, time to install and to start. Both are installed twice with one cache, and the
// second time counts, so that no network is in it. Needs the registry for the peer.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { packAt } from '../test/support/package.ts';
import { runProgram } from './processes.ts';
import { roundRobin } from './stats.ts';

const peer = '@anthropic-ai/sandbox-runtime';
const peerVersion = '0.0.83';
const rounds = 10;

interface Row {
  readonly name: string;
  readonly packages: number;
  readonly megabytes: number;
  readonly files: number;
  readonly installMs: number;
  readonly directory: string;
}

const place = packAt();
/** As npm is set up here: which registry, by which proxy. Its cache is the bench's own. */
const npmEnv = {
  ...process.env,
  npm_config_cache: path.join(place.base, 'cache'),
  npm_config_fetch_retries: '0',
};
try {
  const ours = measure('terminal-runtime-layer', place.tarball);
  const bare = measure('  without optional packages', place.tarball, '--omit=optional');
  const theirs = measure(peer, `${peer}@${peerVersion}`);
  const rows = [ours, bare, theirs].filter((row) => row !== null);
  console.log('package                            packages   files      MB   install');
  for (const { name, packages, files, megabytes, installMs } of rows) {
    const cells = [
      `${packages}`.padStart(8),
      `${files}`.padStart(7),
      megabytes.toFixed(1).padStart(7),
    ];
    console.log(`${name.padEnd(33)} ${cells.join(' ')} ${installMs.toFixed(0).padStart(6)} ms`);
  }
  if (theirs === null) console.log(`no row for ${peer}: the registry cannot be reached`);
  await startUp([ours, theirs].filter((row) => row !== null));
} finally {
  rmSync(place.base, { recursive: true, force: true });
}

/** `null`: it cannot be installed here. */
function measure(name: string, what: string, ...more: string[]): Row | null {
  let installMs = 0;
  let directory = '';
  for (const round of [1, 2]) {
    directory = path.join(place.base, `${path.basename(name).trim()}-${round}`);
    mkdirSync(directory);
    writeFileSync(path.join(directory, 'package.json'), '{"name":"app","private":true}');
    const flags = ['--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund'];
    const options = { cwd: directory, env: npmEnv, stdio: 'ignore', timeout: 60_000 } as const;
    const begun = performance.now();
    if (spawnSync('npm', ['install', ...flags, ...more, what], options).status !== 0) return null;
    installMs = performance.now() - begun;
  }
  const modules = path.join(directory, 'node_modules');
  const entries = readdirSync(modules, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const bytes = files.reduce((sum, { parentPath, name: file }) => {
    return sum + statSync(path.join(parentPath, file)).size;
  }, 0);
  const listed = execFileSync('npm', ['ls', '--all', '--parseable'], {
    cwd: directory,
    env: npmEnv,
    encoding: 'utf8',
  });
  const packages = listed.trim().split('\n').length - 1;
  return { name, packages, megabytes: bytes / 1e6, files: files.length, installMs, directory };
}

async function startUp(rows: readonly Row[]): Promise<void> {
  const bin = (row: Row, program: string): string =>
    path.join(row.directory, 'node_modules/.bin', program);
  const version = rows.map((row) => {
    const program = bin(row, row.name === peer ? 'srt' : 'trl');
    const options = { cwd: row.directory, env: { ...place.env } };
    return {
      name: `${path.basename(program)} --version`,
      run: () => runProgram(program, ['--version'], options),
    };
  });
  const node = {
    name: 'node -e 0',
    run: () => runProgram(process.execPath, ['-e', '0'], { env: { ...place.env } }),
  };
  const measured = await roundRobin([node, ...version], rounds);
  console.log(`\nstart-up, ${rounds} rounds in turn            min      p50`);
  for (const [name, { min, p50 }] of measured) {
    console.log(
      `${name.padEnd(33)} ${min.toFixed(0).padStart(6)} ms ${p50.toFixed(0).padStart(5)} ms`,
    );
  }
}
