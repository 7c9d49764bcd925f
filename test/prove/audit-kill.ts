// npm run prove: a writer of the audit log is killed at random moments, and loses the power of its
// file system (ext4 in an image, shut down without a flush), which needs root. What was answered
// for is there after each, and the log is checked to the byte.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { cutPower, killWriters, type CrashFigures } from '../support/audit-crash.ts';

const [, program = '', mode, root = ''] = process.argv;
const isFull = process.env['TRL_PROVE'] === 'full';

if (mode === 'power') {
  say('power cuts', await cutPower(isFull ? 60 : 3, root));
} else {
  say('kills', await killWriters(isFull ? 220 : 5));
  powerInNamespace();
}

function powerInNamespace(): void {
  const why = whyNoPower();
  if (why !== null) {
    process.stdout.write(`power cuts skipped: ${why}\n`);
    return;
  }
  const directory = mkdtempSync(path.join(tmpdir(), 'trl-audit-power-'));
  try {
    const args = ['-m', '--propagation', 'private', process.execPath, program, 'power', directory];
    const { status } = spawnSync('unshare', args, { stdio: 'inherit', timeout: 900_000 });
    if (status !== 0) process.exitCode = 1;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** `null`: power can be cut here. */
function whyNoPower(): string | null {
  if (process.getuid?.() !== 0) return 'only root mounts images';
  if (spawnSync('mkfs.ext4', ['-V']).error !== undefined) return 'there is no mkfs.ext4';
  if (spawnSync('perl', ['-v']).error !== undefined) return 'there is no perl';
  const loop = spawnSync('losetup', ['-f'], { encoding: 'utf8' });
  return loop.status === 0 ? null : `there is no loop device: ${loop.stderr?.trim() ?? ''}`;
}

function say(what: string, figures: CrashFigures): void {
  const { trials, acknowledged, repaired, lostInTheMoment } = figures;
  process.stdout.write(
    `${trials} ${what}: ${acknowledged} events answered for, none lost; ` +
      `${repaired} unfinished ends set aside and recorded; each log checked good; ` +
      `${lostInTheMoment} lost of those answered for while the crash was made\n`,
  );
}
