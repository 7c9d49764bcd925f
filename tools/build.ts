// npm run build: what is published. Bundles each program and the client into dist/, with every
// package inside except the optional native ones, and emits the client's types into dist/types/.
// `--out DIR` builds elsewhere.
import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, globSync, mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';
import type { BuildOptions } from 'esbuild';
import { buildClient, emitTypes } from './build-client.ts';
import { writeNotices } from './build-notices.ts';

const root = path.dirname(import.meta.dirname);
process.chdir(root);
const { values } = parseArgs({ options: { out: { type: 'string' } } });
const out = path.resolve(values.out ?? 'dist');
const inputs = new Set<string>();

const common = {
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node24',
  // What esbuild makes of it in a loop throws the error of an earlier turn once more.
  supported: { using: true },
  mainFields: ['module', 'main'],
  external: ['@napi-rs/keyring'],
  // Its entry for Node is CommonJS, which a bundle of modules cannot hold.
  alias: { yaml: path.join(root, 'node_modules/yaml/browser/index.js') },
  // Names stay as they are in the sources: they are in stack traces.
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
} as const satisfies BuildOptions;

/** Each in one file, as it is started from nothing but that. */
const alone = [
  { from: 'src/daemon/auditing/reader.ts', to: 'audit-reader.js' },
  { from: 'src/runner/main.ts', to: 'runner.js' },
  { from: 'src/redactor/main.ts', to: 'redactor.js' },
  { from: 'src/egress/main.ts', to: 'egress.js' },
] as const;

mkdirSync(out, { recursive: true });
for (const chunk of globSync('chunk-*.js', { cwd: out })) rmSync(path.join(out, chunk));
// Each verb and door is loaded when it is asked for, so it is a file of its own.
await bundle(
  {
    entryPoints: { cli: 'src/cli/main.ts', daemon: 'src/daemon/main.ts' },
    outdir: out,
    chunkNames: 'chunk-[hash]',
    splitting: true,
    // A package in the older form of modules (ws) asks for parts of Node by a function.
    banner: {
      js: [
        "import{createRequire as requireOfModules}from'node:module'",
        'const require=requireOfModules(import.meta.url);',
      ].join(';'),
    },
  },
  'cli.js, daemon.js',
);
for (const { from, to } of alone) {
  await bundle({ entryPoints: [from], outfile: path.join(out, to) }, to);
}
for (const input of await buildClient(out)) inputs.add(input);
console.log('built client.js, client-node.js, local.js');
for (const name of globSync('*.cjs', { cwd: 'tools/launcher' })) {
  copyFileSync(path.join('tools/launcher', name), path.join(out, name));
}

async function bundle(options: BuildOptions, name: string): Promise<void> {
  const { metafile } = await build({ ...common, ...options, metafile: true });
  for (const input of Object.keys(metafile.inputs)) inputs.add(input);
  console.log(`built ${name}`);
}

execFileSync('tools/build-console', { stdio: 'inherit' });
const consoleOut = path.join(out, 'console');
if (out !== path.resolve('dist')) cpSync('dist/console', consoleOut, { recursive: true });
console.log('built console');
writeNotices(inputs, path.join(out, 'THIRD_PARTY_NOTICES.txt'));

await emitTypes(path.join(out, 'types'));
console.log('built types');
