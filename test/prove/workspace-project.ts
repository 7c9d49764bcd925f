// npm run prove: `npm ci`, `npm test` and `git commit` of a published package, in each mode and on
// the host: equal exit codes, outputs and trees.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { readlinkSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startRuntime, type Json } from '../support/daemon.ts';
import { openSession } from '../support/session.ts';

const identity = {
  GIT_AUTHOR_NAME: 'n',
  GIT_AUTHOR_EMAIL: 'a@b',
  GIT_COMMITTER_NAME: 'n',
  GIT_COMMITTER_EMAIL: 'a@b',
  GIT_AUTHOR_DATE: '2026-01-01T00:00:00Z',
  GIT_COMMITTER_DATE: '2026-01-01T00:00:00Z',
};
const npm = String.raw`--no-audit --no-fund --no-update-notifier --offline \
  --omit-lockfile-registry-resolved=false --cache "$PWD/.npm-cache"`;
const quiet = '--no-audit --no-fund --silent --ignore-scripts';
/** What a person does in a project; each is a command of its own. */
const steps = [
  `npm ci ${npm} --ignore-scripts --silent && ls node_modules | wc -l`,
  'npm test --silent | tail -6; exit "${PIPESTATUS[0]}"',
  'echo changed >>README.md; git status --short',
  'git add -A && git commit -q -m "a change" && git log --format="%H %s"',
  'git rm -q README.md; git commit -q -m gone; git checkout -q HEAD~1 && git status --short',
];

/** Content and mode of everything, but what differs by time alone. */
function treeOf(dir: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const name of readdirSync(dir, { recursive: true, encoding: 'utf8' })) {
    if (name.startsWith('.npm-cache') || name === '.git/index') continue;
    const stat = lstatSync(path.join(dir, name));
    const mode = (stat.mode & 0o7777).toString(8);
    found.set(name, `${mode} ${contentOf(path.join(dir, name))}`);
  }
  return found;
}

function contentOf(file: string): string {
  const stat = lstatSync(file);
  if (stat.isSymbolicLink()) return `-> ${readlinkSync(file)}`;
  if (!stat.isFile()) return 'directory';
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}

interface Ran {
  readonly code: number | null;
  readonly stdout: string;
}

/** A checkout with a lock file and a cache that has every package of it. */
function prepare(home: string): string {
  const run = (command: string, cwd: string): string =>
    execFileSync('/bin/bash', ['-ec', command], { cwd, encoding: 'utf8', timeout: 240_000 });
  const archive = run('npm pack minimist@1.2.8 --silent', home).trim();
  run(`tar xf ${archive}`, home);
  const project = path.join(home, 'package');
  const manifest: Json = JSON.parse(readFileSync(path.join(project, 'package.json'), 'utf8'));
  manifest.devDependencies = { tape: '4.17.0' };
  manifest.scripts = { test: 'tape "test/*.js"' };
  writeFileSync(path.join(project, 'package.json'), JSON.stringify(manifest, null, 2));
  writeFileSync(path.join(project, '.gitignore'), 'node_modules\n.npm-cache\n');
  const online = `${quiet} --omit-lockfile-registry-resolved=false --cache "$PWD/.npm-cache"`;
  run(`npm install ${online} && rm -rf node_modules`, project);
  run('git init -q -b main . && git add -A && git commit -q -m first', project);
  return project;
}

function onHost(project: string): Ran[] {
  return steps.map((step) => {
    const env = { ...process.env, ...identity };
    const ran = spawnSync('/bin/bash', ['-c', step], { cwd: project, encoding: 'utf8', env });
    return { code: ran.status, stdout: ran.stdout };
  });
}

async function inMode(
  project: string,
  mode: string,
): Promise<{ ran: Ran[]; dir: string; end: () => Promise<void> }> {
  const runtime = await startRuntime();
  const dir = runtime.root;
  cpSync(project, dir, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
  const session = await openSession(runtime.socketPath, { working_dir: dir, workspace_mode: mode });
  const ran: Ran[] = [];
  const held: string[] = [];
  for (const step of steps) {
    const receipt = await session.run(step, { env: identity, timeout_ms: 120_000 });
    ran.push({ code: receipt.exit_code, stdout: receipt.stdout });
    for (const { path: name, state, reason } of receipt.changes) {
      if (state === 'held' || state === 'conflict') held.push(`${name}: ${state} ${reason}`);
    }
    process.stdout.write(`${mode}: ${receipt.duration_ms} ms, ${receipt.changes.length} changes\n`);
  }
  assert.deepEqual(held, [], 'nothing of it is held');
  if (mode === 'staged') {
    const applied = await session.client.ask('workspace.apply', { session_id: session.id });
    assert.equal(applied.data.totals.conflicts + applied.data.totals.held, 0);
  }
  await session.destroy();
  return { ran, dir, end: () => runtime.stop() };
}

const home = realpathSync(mkdtempSync(path.join(tmpdir(), 'trl-project-')));
try {
  Object.assign(process.env, identity);
  const project = prepare(home);
  const host = path.join(home, 'host');
  mkdirSync(host);
  const copy = { recursive: true, preserveTimestamps: true, verbatimSymlinks: true } as const;
  cpSync(project, host, copy);
  const untouched = treeOf(host);
  const expected = onHost(host);
  for (const { code, stdout } of expected) process.stdout.write(`host: ${code} ${stdout}\n`);
  assert.deepEqual(
    expected.map(({ code }) => code),
    steps.map(() => 0),
  );
  for (const mode of ['direct', 'staged', 'discard']) {
    const { ran, dir, end } = await inMode(project, mode);
    try {
      assert.deepEqual(ran, expected, mode);
      assert.deepEqual(treeOf(dir), mode === 'discard' ? untouched : treeOf(host), mode);
    } finally {
      await end();
    }
    process.stdout.write(`${mode}: as on the host\n`);
  }
} finally {
  rmSync(home, { recursive: true, force: true });
}
