/**
 * The client as it is published: `client.js` for browsers and anything else that has the web's
 * platform, `client-node.js` for Node, which reaches sockets too, and `local.js`, which starts a
 * runtime of its own. What the first two promise of their imports is checked here.
 */
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';
import type { Metafile } from 'esbuild';
import { printApiTypes } from './api-types.ts';

/** What the package's root may import in Node: it starts no process. */
const nodeMay = new Set(['node:events', 'node:fs', 'node:net', 'node:path']);

/**
 * Builds the three into `directory`.
 *
 * @returns the files that went into them
 * @throws Error when one imports what it must not
 */
export async function buildClient(directory: string): Promise<readonly string[]> {
  for (const stale of globSync('client-*.js', { cwd: directory })) {
    rmSync(path.join(directory, stale));
  }
  const shared = {
    bundle: true,
    format: 'esm',
    metafile: true,
    legalComments: 'none',
    // Names stay as they are in the sources: they are in stack traces.
    minifyWhitespace: true,
    minifySyntax: true,
    logLevel: 'warning',
  } as const;
  const web = await build({
    ...shared,
    entryPoints: ['src/client/index.ts'],
    outfile: path.join(directory, 'client.js'),
    platform: 'browser',
    target: ['es2022', 'chrome111', 'firefox115', 'safari16.4'],
  });
  const node = await build({
    ...shared,
    entryPoints: { 'client-node': 'src/local/node.ts', local: 'src/local/index.ts' },
    outdir: directory,
    // One class of errors in both, so that `isTrlError` of the one knows the other's.
    splitting: true,
    chunkNames: 'client-[hash]',
    platform: 'node',
    target: 'node20',
  });
  refuse(reached(web.metafile, 'client.js'), new Set());
  refuse(reached(node.metafile, 'client-node.js'), nodeMay);
  const inputs = [web, node].flatMap(({ metafile }) => Object.keys(metafile.inputs));
  const schemas = inputs.filter((name) => /(?:^|\/)(?:src\/api|node_modules\/zod)\//.test(name));
  if (schemas.length > 0) throw new Error(`the client contains ${schemas.join(', ')}`);
  return inputs;
}

/** What a bundle imports that is in none of them, through the chunks that it shares. */
function reached({ outputs }: Metafile, entry: string): Set<string> {
  const found = new Set<string>();
  const todo = Object.keys(outputs).filter((name) => path.basename(name) === entry);
  for (const name of todo) {
    for (const { path: to, external } of outputs[name]?.imports ?? []) {
      if (external === true) found.add(to);
      else if (!todo.includes(to)) todo.push(to);
    }
  }
  return found;
}

function refuse(found: ReadonlySet<string>, may: ReadonlySet<string>): void {
  const wrong = [...found].filter((name) => !may.has(name));
  if (wrong.length > 0) throw new Error(`a bundle of the client imports ${wrong.join(', ')}`);
}

/**
 * Emits the types into `directory`: those of the root without Node's, which users in a browser
 * lack.
 *
 * @throws Error when they do not stand alone
 */
export async function emitTypes(directory: string): Promise<void> {
  rmSync(directory, { recursive: true, force: true });
  const source = mkdtempSync('node_modules/.trl-sources-');
  await copySources(source);
  const options = ['--rootDir', source, '--outDir', directory, '--declaration'];
  const only = ['--emitDeclarationOnly', '--strict', '--exactOptionalPropertyTypes'];
  const modules = ['--module', 'nodenext', '--target', 'es2024', '--allowImportingTsExtensions'];
  const shared = ['--ignoreConfig', '--skipLibCheck', ...options, ...only, ...modules];
  const web = ['--lib', 'es2024,esnext.disposable,dom'];
  const tsc = (...args: string[]): void => {
    execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', ...shared, ...args], {
      stdio: 'inherit',
    });
  };
  try {
    const node = ['--types', 'node', '--lib', 'es2024,esnext.disposable'];
    tsc(path.join(source, 'local/index.ts'), ...node);
    tsc(path.join(source, 'client/index.ts'), ...web);
  } finally {
    rmSync(source, { recursive: true });
  }
  for (const entry of ['client/index.d.ts', 'local/index.d.ts'].map((name) =>
    path.join(directory, name),
  )) {
    // An older platform has no types of `await using`, which ours name.
    const reference = '/// <reference lib="esnext.disposable" />\n';
    writeFileSync(entry, reference + readFileSync(entry, 'utf8'));
  }
  const lacking = [...packagesNamedBy(directory)];
  if (lacking.length > 0) {
    throw new Error(`the types name packages that users lack: ${lacking.join(', ')}`);
  }
}

/**
 * The sources that the types are of, where those of the API are printed ones: in `src/api` they are
 * derived from schemas of zod, which users of the client lack.
 */
async function copySources(to: string): Promise<void> {
  for (const name of [...globSync('*.ts', { cwd: 'src' }), 'client', 'local', 'protocol']) {
    cpSync(path.join('src', name), path.join(to, name), { recursive: true });
  }
  const { text, names } = await printApiTypes();
  mkdirSync(path.join(to, 'api'));
  writeFileSync(path.join(to, 'api/types.ts'), text);
  for (const [file, exported] of names) {
    const all = `export type { ${exported.join(', ')} } from './types.ts';\n`;
    if (exported.length > 0) writeFileSync(path.join(to, 'api', file), all);
  }
}

function packagesNamedBy(directory: string): Set<string> {
  const names = new Set<string>();
  for (const file of globSync('**/*.d.ts', { cwd: directory })) {
    const text = readFileSync(path.join(directory, file), 'utf8');
    for (const [, name] of text.matchAll(/(?:from |import\()["']([^."'][^"']*)["']/g)) {
      const isOfNode = name?.startsWith('node:') === true && file.startsWith('local');
      if (name !== undefined && !isOfNode) names.add(name);
    }
  }
  return names;
}
