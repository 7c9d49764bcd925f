// The types that the package publishes are printed from the schemas, from which the sources derive
// theirs: the compiler finds both equal, name by name.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { emitTypes } from '../tools/build-client.ts';

const root = path.dirname(import.meta.dirname);

test('the published types are those of the sources and stand alone', async (t) => {
  const base = mkdtempSync(path.join(root, 'node_modules/.trl-types-'));
  t.after(() => rmSync(base, { recursive: true, force: true }));
  const cwd = process.cwd();
  process.chdir(root);
  t.after(() => process.chdir(cwd));
  await emitTypes(path.join(base, 'types'));
  const exported = readFileSync('src/client/index.ts', 'utf8')
    .matchAll(/export type \{([^}]*)\} from '\.\.\/api\/[\w-]+\.ts'/g)
    .flatMap(([, names = '']) => names.split(',').map((name) => name.trim()))
    .map((name) => name.replace(/.* as /, ''))
    .filter((name) => name !== '' && !/^(?:Data|Params)$/.test(name));
  const checks = [...exported].map((name) => `  ${name}: Equal<ours.${name}, published.${name}>;`);
  assert.ok(checks.length > 60, `${checks.length} types`);
  const program = [
    `import type * as ours from ${JSON.stringify(path.join(root, 'src/client/index.ts'))};`,
    `import type * as published from './types/client/index.d.ts';`,
    'type Equal<A, B> = [A, B] extends [B, A] ? true : false;',
    `interface Checks {\n${checks.join('\n')}\n}`,
    'type Wrong = { [K in keyof Checks]: Checks[K] extends true ? never : K }[keyof Checks];',
    'type Never<T extends never> = T;',
    'export type NoneIsWrong = Never<Wrong>;',
  ];
  writeFileSync(path.join(base, 'check.ts'), program.join('\n'));
  const options = ['--ignoreConfig', '--noEmit', '--skipLibCheck', '--strict', '--types', 'node'];
  const modules = ['--module', 'nodenext', '--target', 'es2024', '--allowImportingTsExtensions'];
  const strict = ['--exactOptionalPropertyTypes', '--lib', 'es2025,esnext.disposable,dom'];
  const tsc = path.join(root, 'node_modules/typescript/bin/tsc');
  const args = [tsc, ...options, ...modules, ...strict, path.join(base, 'check.ts')];
  assert.equal(execFileSync(process.execPath, args, { encoding: 'utf8' }), '');
});
