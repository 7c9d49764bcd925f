// Crashes of a process that writes a log, and of the file system below it.
import assert from 'node:assert/strict';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openAuditKey } from '../../src/audit/audit-key.ts';
import { openAuditLog } from '../../src/audit/open-log.ts';
import { readEvents } from '../../src/audit/read-events.ts';
import { verifyLogs } from '../../src/audit/verify.ts';
import { auditEvent } from './audit-log.ts';

export interface CrashFigures {
  readonly trials: number;
  /** Events that were answered for: all of them are there. */
  readonly acknowledged: number;
  /** Unfinished ends that were set aside. */
  readonly repaired: number;
  /**
   * Events that were answered for while the file system was being shut down, which takes a moment,
   * and are not there. A power cut takes none.
   */
  readonly lostInTheMoment: number;
}

/** Leaf hashes by log and number of what was answered for. */
type Acknowledged = Map<string, string>;

/** Kills a writer at random moments; the log goes on after each. */
export async function killWriters(trials: number): Promise<CrashFigures> {
  const root = mkdtempSync(path.join(tmpdir(), 'trl-audit-kill-'));
  const directory = path.join(root, 'audit');
  const acknowledged: Acknowledged = new Map();
  try {
    for (let trial = 0; trial < trials; trial += 1) {
      const late = await oneWriter(directory, acknowledged, (child) => void child.kill('SIGKILL'));
      // What a process said, it said before it was killed.
      for (const [leaf, event] of late) acknowledged.set(event, leaf);
      await mustBeWhole(directory, acknowledged);
    }
    const repaired = await repairs(directory);
    return { trials, acknowledged: acknowledged.size, repaired, lostInTheMoment: 0 };
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

/**
 * Cuts the power of a file system below a writer: what is not on the disk is lost. Run as root in a
 * mount namespace of its own, so that nothing stays mounted whatever happens.
 */
export async function cutPower(trials: number, root: string): Promise<CrashFigures> {
  const [image, mount] = [path.join(root, 'image'), path.join(root, 'mount')];
  const directory = path.join(mount, 'trl', 'audit');
  const acknowledged: Acknowledged = new Map();
  mkdirSync(mount);
  writeFileSync(image, '');
  truncateSync(image, 96 * 2 ** 20);
  must('mkfs.ext4', ['-q', '-F', image]);
  let [repaired, lostInTheMoment] = [0, 0];
  for (let trial = 0; trial < trials; trial += 1) {
    must('mount', ['-o', 'loop', image, mount]);
    let late: Acknowledged = new Map();
    try {
      late = await oneWriter(directory, acknowledged, (child) => {
        // EXT4_IOC_SHUTDOWN without a flush of the journal.
        const go = 'open F,"<",$ARGV[0] or die; my $f=pack("L",2); ioctl(F,0x8004587d,$f) or die';
        must('perl', ['-e', go, mount]);
        child.kill('SIGKILL');
      });
    } finally {
      must('umount', [mount]);
    }
    must('mount', ['-o', 'loop', image, mount]);
    try {
      const there = await mustBeWhole(directory, acknowledged);
      for (const leaf of there.values()) late.delete(leaf);
      lostInTheMoment += late.size;
      repaired = await repairs(directory);
    } finally {
      must('umount', [mount]);
    }
  }
  return { trials, acknowledged: acknowledged.size, repaired, lostInTheMoment };
}

/**
 * The writer as it runs until `crash`, at a random moment after its first answer; answers with what
 * was told after the crash began.
 */
async function oneWriter(
  directory: string,
  acknowledged: Acknowledged,
  crash: (child: ChildProcess) => void,
): Promise<Acknowledged> {
  const program = path.join(import.meta.dirname, 'audit-victim.ts');
  const child = spawn(process.execPath, [program, directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  let failure: Error | null = null;
  let told = Infinity;
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    if (text === '') {
      setTimeout(() => {
        told = text.length;
        try {
          crash(child);
        } catch (error) {
          failure = error instanceof Error ? error : new Error(String(error));
          child.kill('SIGKILL');
        }
      }, Math.random() * 80);
    }
    text += chunk;
  });
  await new Promise((resolve) => {
    child.once('close', resolve);
  });
  mustNot(failure);
  assert.ok(text.includes('\n'), 'the writer wrote nothing');
  const late: Acknowledged = new Map();
  let end = 0;
  for (const line of text.split('\n').slice(0, -1)) {
    end += line.length + 1;
    const [word, log, seq, leaf = ''] = line.split(' ');
    if (word !== 'ack') continue;
    if (end <= told) acknowledged.set(`${log} ${seq}`, leaf);
    else late.set(leaf, `${log} ${seq}`);
  }
  return late;
}

/** Nothing that was answered for is lost, and the next runtime goes on with the same log. */
async function mustBeWhole(directory: string, acknowledged: Acknowledged): Promise<Acknowledged> {
  const { publicKey } = openAuditKey(directory);
  const crashed = await verifyLogs({ directory, publicKey, headWaitMs: 0 });
  const found = crashed.logs.flatMap(({ findings }) => findings);
  assert.deepEqual(
    found.filter(({ kind }) => kind !== 'end.unfinished'),
    [],
  );
  const log = await openAuditLog({ directory });
  await log.append([auditEvent(0, 'after a crash')]);
  const head = log.head() ?? '';
  await log.close();
  const whole = await verifyLogs({ directory, publicKey, heads: [head], headWaitMs: 0 });
  assert.deepEqual([whole.isGood, whole.logs.length], [true, 1], JSON.stringify(whole));
  const there = new Map<string, string>();
  for (const one of readEvents(directory)) there.set(`${one.log} ${one.seq}`, one.leaf);
  for (const [event, leaf] of acknowledged) assert.equal(there.get(event), leaf, `lost ${event}`);
  return there;
}

async function repairs(directory: string): Promise<number> {
  const { publicKey } = openAuditKey(directory);
  const { logs } = await verifyLogs({ directory, publicKey });
  return logs.reduce((sum, { repaired }) => sum + repaired.length, 0);
}

function mustNot(failure: Error | null): void {
  if (failure !== null) throw failure;
}

function must(command: string, args: readonly string[]): void {
  const { status, stderr, error } = spawnSync(command, args, { encoding: 'utf8' });
  assert.equal(status, 0, `${command} ${args.join(' ')}: ${String(error ?? stderr)}`);
}
