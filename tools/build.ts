// npm run build: what is published. Bundles each program and the client into dist/, with every
// package inside except the optional native ones, and emits the client's types into dist/types/.
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';

const root = path.dirname(import.meta.dirname);
process.chdir(root);

const clientEntry = 'src/client/index.ts';
const bundles = [
  { from: 'src/cli/main.ts', to: 'dist/cli.js', program: true },
  { from: 'src/daemon/main.ts', to: 'dist/daemon.js', program: false },
  { from: 'src/daemon/auditing/reader.ts', to: 'dist/audit-reader.js', program: false },
  { from: 'src/runner/main.ts', to: 'dist/runner.js', program: false },
  { from: 'src/redactor/main.ts', to: 'dist/redactor.js', program: false },
  { from: clientEntry, to: 'dist/client.js', program: false },
  { from: 'src/local/index.ts', to: 'dist/local.js', program: false },
] as const;

for (const { from, to, program } of bundles) {
  if (!existsSync(from)) {
    console.log(`skipped ${to}: there is no ${from}`);
    continue;
  }
  await build({
    entryPoints: [from],
    outfile: to,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    mainFields: ['module', 'main'],
    external: ['@lydell/node-pty', '@napi-rs/keyring'],
    // Its entry for Node is CommonJS, which a bundle of modules cannot hold.
    alias: { yaml: path.join(root, 'node_modules/yaml/browser/index.js') },
    legalComments: 'linked',
    banner: program ? { js: '#!/usr/bin/env node' } : {},
    logLevel: 'warning',
  });
  console.log(`built ${to}`);
}

execFileSync('tools/build-console', { stdio: 'inherit' });
console.log('built dist/console');

if (existsSync(clientEntry)) {
  emitTypes();
}

function emitTypes(): void {
  rmSync('dist/types', { recursive: true, force: true });
  const tsc = [
    'node_modules/typescript/bin/tsc',
    '--ignoreConfig',
    clientEntry,
    'src/local/index.ts',
  ];
  const options = ['--rootDir', 'src', '--outDir', 'dist/types', '--declaration'];
  const only = ['--emitDeclarationOnly', '--strict', '--exactOptionalPropertyTypes'];
  const modules = ['--module', 'nodenext', '--target', 'es2024', '--types', 'node'];
  const syntax = ['--allowImportingTsExtensions', '--skipLibCheck'];
  const args = [...tsc, ...options, ...only, ...modules, ...syntax];
  execFileSync(process.execPath, args, { stdio: 'inherit' });
  console.log('built dist/types');
  for (const name of packagesNamedByTypes()) {
    console.warn(`dist/types names the package "${name}", which users of the client lack`);
  }
}

function packagesNamedByTypes(): Set<string> {
  const names = new Set<string>();
  for (const file of globSync('dist/types/**/*.d.ts')) {
    const text = readFileSync(file, 'utf8');
    for (const [, name] of text.matchAll(/(?:from |import\()["']([^."'][^"']*)["']/g)) {
      if (name !== undefined && !name.startsWith('node:')) {
        names.add(name);
      }
    }
  }
  return names;
}
