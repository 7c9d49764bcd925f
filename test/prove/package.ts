// The package as a user gets it: packed, installed without a network into an empty directory, and
// used from there with an empty home.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { globSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { packAt, install } from '../support/package.ts';

const root = path.dirname(path.dirname(import.meta.dirname));
const place = packAt();
try {
  const { tarball, base, env } = place;
  console.log(`packed: ${(statSync(tarball).size / 1e6).toFixed(2)} MB`);
  const app = install(place, 'app', tarball);
  const modules = path.join(app, 'node_modules');
  const packages = readdirSync(modules).filter((name) => !name.startsWith('.'));
  assert.deepEqual(packages, ['terminal-runtime-layer'], 'one package, and none besides');
  const trl = (...args: string[]): string => {
    const bin = path.join(modules, '.bin/trl');
    const ran = spawnSync(bin, args, { cwd: app, env, encoding: 'utf8', input: '' });
    assert.equal(ran.status, 0, `trl ${args.join(' ')}: ${ran.stdout}${ran.stderr}`);
    return ran.stdout;
  };
  assert.match(trl('--version'), /^\d+\.\d+\.\d+\n$/);
  assert.equal(trl('run', 'echo installed'), 'installed\n');
  const demo: unknown = JSON.parse(trl('demo', '--json'));
  assert.ok(typeof demo === 'object' && demo !== null && 'ok' in demo && demo.ok === true);
  assert.match(trl('mcp', 'install', '--client', 'cursor', '--json'), /"action":"added"/);
  assert.match(
    trl('mcp', 'status', '--client', 'cursor', '--json'),
    /"tools":\d+,"problem":null,"installed":true/,
  );
  const text = "import * as m from 'terminal-runtime-layer'; console.log(typeof m.connect)";
  const imported = spawnSync(process.execPath, ['--input-type=module', '--eval', text], {
    cwd: app,
    env,
    encoding: 'utf8',
  });
  assert.equal(imported.stdout, 'function\n', imported.stderr);
  // Its types hold for who aims at an older platform and checks every library.
  const compilerOptions = {
    noEmit: true,
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    target: 'es2022',
    lib: ['es2022', 'dom'],
    types: [],
  };
  writeFileSync(path.join(app, 'use.mts'), "export * from 'terminal-runtime-layer';\n");
  for (const [module, moduleResolution] of [
    ['node16', 'node16'],
    ['esnext', 'bundler'],
  ]) {
    const settings = { compilerOptions: { ...compilerOptions, module, moduleResolution } };
    const file = path.join(app, 'tsconfig.json');
    writeFileSync(file, JSON.stringify({ ...settings, files: ['use.mts'] }));
    const tsc = path.join(root, 'node_modules/typescript/bin/tsc');
    const checked = spawnSync(process.execPath, [tsc, '-p', file], { encoding: 'utf8' });
    assert.equal(checked.stdout, '', moduleResolution);
  }
  // Nothing in it says where it was built, and no source or test is in it.
  const listed = spawnSync('tar', ['-tzf', tarball], { encoding: 'utf8' }).stdout.split('\n');
  const odd = listed.filter((name) =>
    /^package\/(?:src|test|bench|tools|node_modules)\//.test(name),
  );
  assert.deepEqual(odd, []);
  const told = globSync('**/*', { cwd: path.join(modules, 'terminal-runtime-layer/dist') })
    .map((name) => path.join(modules, 'terminal-runtime-layer/dist', name))
    .filter((name) => statSync(name).isFile() && readFileSync(name).includes(`${root}/`));
  assert.deepEqual(told, []);
  assert.ok(listed.includes('package/dist/THIRD_PARTY_NOTICES.txt'));
  console.log(`package: ${listed.length} files, one package, works from ${path.basename(base)}`);
} finally {
  rmSync(place.base, { recursive: true, force: true });
}
