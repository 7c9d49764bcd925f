// npm run prove: a published package's own test suite, run by `./trl run` with the network off.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const trl = path.join(import.meta.dirname, '../../trl');
const home = mkdtempSync(path.join(tmpdir(), 'trl-project-'));
const project = path.join(home, 'package');
const npm = (...args: string[]): string =>
  execFileSync('npm', [...args, '--ignore-scripts', '--no-audit', '--no-fund', '--silent'], {
    cwd: home,
    encoding: 'utf8',
    timeout: 240_000,
  });

try {
  const archive = npm('pack', 'minimist@1.2.8').trim();
  execFileSync('tar', ['xf', archive], { cwd: home });
  npm('install', '--prefix', home, '--no-save', 'tape@4.17.0');
  execFileSync('mv', [path.join(home, 'node_modules'), project]);

  const command = 'node_modules/.bin/tape "test/*.js" | tail -6; exit "${PIPESTATUS[0]}"';
  const run = spawnSync(trl, ['run', '--json', '--net', 'off', '--', command], {
    cwd: project,
    encoding: 'utf8',
    timeout: 120_000,
  });
  const receipt = JSON.parse(run.stdout);
  process.stdout.write(`${receipt.stdout}\n`);
  const { exit_code: code, duration_ms: ms, sandbox, timed_out: late, cwd } = receipt;
  process.stdout.write(`${JSON.stringify({ code, ms, late, cwd, sandbox })}\n`);
  assert.deepEqual(
    { status: run.status, code, late, cwd, network: sandbox.network, kind: sandbox.kind },
    { status: 0, code: 0, late: false, cwd: project, network: 'off', kind: 'bubblewrap' },
  );
  assert.match(receipt.stdout, /# tests 153\n# pass {2}153\n/);
} finally {
  rmSync(home, { recursive: true, force: true });
}
