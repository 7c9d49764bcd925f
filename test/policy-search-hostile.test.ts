// An allowed search runs nothing that was configured, and shows no file with secrets: with the
// real ripgrep, on a directory of the test.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { analyseShell } from '../src/policy/analyse.ts';

const ground = mkdtempSync(path.join(os.tmpdir(), 'trl-search-'));
after(() => rmSync(ground, { recursive: true, force: true }));
const marker = path.join(ground, 'marker');
const write = (name: string, text: string): void => writeFileSync(path.join(ground, name), text);
write('helper', `#!/bin/sh\necho > '${marker}'\ncat\n`);
chmodSync(path.join(ground, 'helper'), 0o755);
write('config', `--pre=${path.join(ground, 'helper')}\n`);
write('.env', 'NEEDLE=secret\n');
write('.env.local', 'NEEDLE=secret\n');
write('.hidden', 'NEEDLE hidden\n');
write('a.txt', 'NEEDLE seen\n');

const env = {
  PATH: '/usr/local/bin:/usr/bin:/bin',
  RIPGREP_CONFIG_PATH: path.join(ground, 'config'),
};
const hasRipgrep = spawnSync('rg', ['--version'], { env: { PATH: env.PATH } }).status === 0;
const skip = hasRipgrep ? false : 'there is no rg';

function search(argv: readonly string[], variables: Record<string, string>): string {
  rmSync(marker, { force: true });
  const [program = '', ...rest] = argv;
  const options = { cwd: ground, env: variables, input: '', timeout: 120_000 };
  return String(spawnSync(program, [...rest, './'], options).stdout);
}

test('an allowed search runs no preprocessor of a configuration file', { skip }, () => {
  search(['rg', 'NEEDLE'], env);
  assert.ok(existsSync(marker), 'plain rg runs it');
  const { allowed } = analyseShell('rg NEEDLE', 'bash');
  assert.ok(allowed !== null);
  assert.ok(allowed.run.unset.includes('RIPGREP_CONFIG_PATH'));
  // The option alone holds already.
  search(allowed.run.argv, env);
  assert.ok(!existsSync(marker));
});

test('an allowed search of hidden files shows none with secrets', { skip }, () => {
  const commands = ['rg --hidden NEEDLE', 'rg -uuu NEEDLE', "rg --iglob '*' -. NEEDLE"];
  for (const command of [...commands, "rg -g '*' --hidden NEEDLE", 'rg -uu -e NEEDLE']) {
    const { allowed } = analyseShell(command, 'bash');
    assert.ok(allowed !== null, command);
    const shown = search(allowed.run.argv, { PATH: env.PATH });
    assert.match(shown, /hidden/, command);
    assert.doesNotMatch(shown, /secret/, command);
  }
});
