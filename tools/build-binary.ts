// npm run build:binary: dist/trl, one executable with Node and everything of this package in it.
// It needs nothing but the C library; `--out FILE` writes it elsewhere.
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  globSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';

const root = path.dirname(import.meta.dirname);
process.chdir(root);
const { values } = parseArgs({ options: { out: { type: 'string' } } });
const out = path.resolve(values.out ?? 'dist/trl');
const fuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';
const scratch = mkdtempSync(path.join(tmpdir(), 'trl-binary-'));

try {
  execFileSync(process.execPath, ['--disable-warning=ExperimentalWarning', 'tools/build.ts'], {
    stdio: 'inherit',
  });
  await bundleBoot();
  writeFileSync(path.join(scratch, 'sea.json'), JSON.stringify(configuration()));
  execFileSync(process.execPath, ['--experimental-sea-config', path.join(scratch, 'sea.json')], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const made = path.join(scratch, 'trl');
  copyFileSync(process.execPath, made);
  chmodSync(made, 0o755);
  // Before the parts go in: afterwards strip would not find them again. Without it, it is larger.
  spawnSync('strip', [made], { stdio: 'ignore' });
  inject(made);
  execFileSync(made, ['--version'], { stdio: ['ignore', 'ignore', 'inherit'] });
  // By rename, so that one that runs is not written to.
  copyFileSync(made, `${out}.new`);
  chmodSync(`${out}.new`, 0o755);
  renameSync(`${out}.new`, out);
  const megabytes = (statSync(out).size / 1e6).toFixed(0);
  console.log(`built ${path.relative(root, out)}: ${megabytes} MB, Node ${process.version}`);
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

async function bundleBoot(): Promise<void> {
  await build({
    entryPoints: ['tools/binary-boot.ts'],
    outfile: path.join(scratch, 'boot.cjs'),
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node24',
    logLevel: 'warning',
  });
}

function configuration(): object {
  return {
    main: path.join(scratch, 'boot.cjs'),
    output: path.join(scratch, 'blob'),
    disableExperimentalSEAWarning: true,
    // As daemons and runners are started elsewhere; a signal opens no debugger in any of them.
    execArgv: [
      '--disable-warning=ExperimentalWarning',
      '--max-semi-space-size=4',
      '--disable-sigusr1',
    ],
    // No NODE_OPTIONS from outside changes what it runs.
    execArgvExtension: 'none',
    assets: bundles(),
  };
}

/** Programs, console and package.json, as they lie in the package. */
function bundles(): Record<string, string> {
  const names = globSync(['*.js', 'console/**/*.*'], { cwd: 'dist' });
  const files = names
    .filter((name) => statSync(path.join('dist', name)).isFile())
    .map((name) => [name, path.join('dist', name)]);
  return { ...Object.fromEntries(files), 'package.json': 'package.json' };
}

/** Puts the parts into the executable; postject says nothing of use where it succeeds. */
function inject(made: string): void {
  const program = 'node_modules/postject/dist/cli.js';
  const args = [program, made, 'NODE_SEA_BLOB', path.join(scratch, 'blob')];
  const { status, stderr } = spawnSync(process.execPath, [...args, '--sentinel-fuse', fuse], {
    encoding: 'utf8',
  });
  const isIn = readFileSync(made).includes(`${fuse}:1`);
  if (status !== 0 || !isIn) throw new Error(`Cannot inject the parts: ${stderr}`);
}
