/** The package, built and packed apart from the checkout, and installed where nothing else is. */
import { execFileSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, readdirSync } from 'node:fs';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const root = path.dirname(path.dirname(import.meta.dirname));

export interface Packed {
  /** To be removed by the caller. */
  readonly base: string;
  readonly tarball: string;
  /** An empty home, and a PATH with this Node, npm and the system's own tools. */
  readonly env: Readonly<Record<string, string>>;
}

/** Builds into a new directory and packs what `package.json` names. */
export function packAt(): Packed {
  const base = mkdtempSync(path.join(tmpdir(), 'trl-pack-'));
  const stage = path.join(base, 'stage');
  mkdirSync(path.join(base, 'home'));
  const env = {
    PATH: `${path.dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
    HOME: path.join(base, 'home'),
    npm_config_update_notifier: 'false',
    npm_config_loglevel: 'error',
  };
  const build = [path.join(root, 'tools/build.ts'), '--out', path.join(stage, 'dist')];
  execFileSync(process.execPath, ['--disable-warning=ExperimentalWarning', ...build], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const manifest: unknown = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
  const files: unknown =
    typeof manifest === 'object' && manifest !== null ? Reflect.get(manifest, 'files') : [];
  const named = Array.isArray(files) ? files.map(String) : [];
  for (const pattern of ['package.json', ...named]) {
    if (pattern.startsWith('dist/') || pattern.startsWith('!')) continue;
    for (const name of globSync(pattern, { cwd: root })) {
      cpSync(path.join(root, name), path.join(stage, name), { recursive: true });
    }
  }
  const args = ['pack', '--ignore-scripts', '--silent', '--pack-destination', base];
  execFileSync('npm', args, { cwd: stage, env, stdio: ['ignore', 'ignore', 'inherit'] });
  const [tarball = ''] = readdirSync(base).filter((name) => name.endsWith('.tgz'));
  return { base, tarball: path.join(base, tarball), env };
}

/** Installs `what` into the new directory `name`, without network; answers its path. */
export function install({ base, env }: Packed, name: string, what: string): string {
  const app = path.join(base, name);
  mkdirSync(app);
  writeFileSync(path.join(app, 'package.json'), '{"name":"app","private":true}');
  const flags = ['--offline', '--ignore-scripts', '--omit=optional', '--no-audit', '--no-fund'];
  execFileSync('npm', ['install', ...flags, what], {
    cwd: app,
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return app;
}
