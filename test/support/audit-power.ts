/**
 * A runtime whose state lies on a file system of its own, which loses its power: what was not
 * written out is gone, as after a power cut. The file system is an image behind a loop device,
 * mounted where only the runtime sees it, so nothing stays mounted when the runtime has ended.
 */
import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Busy } from './audit-busy.ts';
import { addUp, settled, type CrashCounts, type Held } from './audit-told.ts';
import { startRuntime, type Daemon } from './daemon.ts';
import { descendantsOf, noneLeft, processesWhere } from './processes.ts';

const image = 'disk.img';
const make = (home: string): string[] => ['-q', '-F', '-E', 'nodiscard', path.join(home, image)];
const mount = 'mkdir -p "$0/state" && mount -o loop "$0/disk.img" "$0/state" && exec "$@"';
const within = ['unshare', '-m', '--propagation', 'private', 'sh', '-c', mount, '{home}'];

/** EXT4_IOC_SHUTDOWN with EXT4_GOING_FLAGS_NOLOGFLUSH: not even the journal is written out. */
const cut = `open(my $top, '<', $ARGV[0]) or die "open: $!";
  my $how = pack('L', 2);
  ioctl($top, 0x8004587d, $how) or die "shutdown: $!";`;

/** Why it cannot be done here, or `false`. */
export function noPowerCut(): string | false {
  if (process.getuid?.() !== 0) return 'only root mounts a file system of its own';
  const home = mkdtempSync(path.join(tmpdir(), 'trl-power-'));
  try {
    makeDisk(home);
    const script = `${mount.replace('exec "$@"', '')} perl -e "$1" "$0/state"`;
    const inside = ['-m', '--propagation', 'private', 'sh', '-c', script, home, cut];
    const { status, stderr } = spawnSync('unshare', inside, { encoding: 'utf8' });
    return status === 0 ? false : `a file system cannot be shut down: ${stderr.trim()}`;
  } catch (error) {
    return String(error);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** An empty ext4 in `disk.img`. */
export function makeDisk(home: string): void {
  const commands = [
    ['truncate', '-s', '128M', path.join(home, image)],
    ['mkfs.ext4', ...make(home)],
  ] as const;
  for (const [program, ...args] of commands) {
    const { error, status, stderr } = spawnSync(program, args, { encoding: 'utf8' });
    if (status !== 0) throw new Error(`${program}: ${String(error ?? stderr)}`);
  }
}

/** `$XDG_STATE_HOME` as the runtime sees it. */
export const stateOf = (daemon: Daemon): string =>
  path.join('/proc', String(daemon.pid), 'root', daemon.home, 'state');

/** From here on nothing more reaches the disk, and what had not is gone. */
export function cutPower(state: string): void {
  const { status, stderr } = spawnSync('perl', ['-e', cut, state], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`the power is still there: ${stderr}`);
}

/** Ends every process of the runtime at once; the file system goes with the last of them. */
export async function endAll(daemon: Daemon): Promise<void> {
  const all = descendantsOf(daemon.pid).map(({ pid }) => pid);
  await daemon.kill();
  for (const pid of all) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It went with another one.
    }
  }
  const left = await noneLeft(() => processesWhere((pid) => all.includes(pid)));
  if (left.length > 0) throw new Error(`still there: ${JSON.stringify(left)}`);
}

/**
 * A runtime whose state is on a disk of its own; `home`: one that was cut off before. Disposed, it
 * leaves no process, and so no mount.
 */
export async function startOnDisk(home?: string): Promise<Daemon> {
  const env = { TRL_RUNNER_LINGER_MS: '60000' };
  const prepare = (made: string): Record<string, string> => {
    if (home === undefined) makeDisk(made);
    return {};
  };
  const daemon = await startRuntime({ ...(home && { home }), within, env, prepare });
  const stop = async (): Promise<void> => {
    await endAll(daemon).catch(() => undefined);
    await daemon.stop();
  };
  return { ...daemon, stop, [Symbol.asyncDispose]: stop };
}

export class PoweredAudit implements AsyncDisposable {
  readonly #counts: CrashCounts;
  readonly #busy = new Busy();
  #daemon: Daemon;
  #held: Held | null = null;

  private constructor(daemon: Daemon, counts: CrashCounts) {
    this.#daemon = daemon;
    this.#counts = counts;
  }

  static async start(counts: CrashCounts): Promise<PoweredAudit> {
    return new PoweredAudit(await startOnDisk(), counts);
  }

  /** Works for a while, loses the power, starts again, and looks at all of the log. */
  async round(withinMs: number): Promise<void> {
    const stop = new AbortController();
    const working = this.#busy.work(this.#daemon, stop.signal);
    await this.#busy.moment(working, withinMs);
    cutPower(stateOf(this.#daemon));
    // Answers that are on their way now must be good as well.
    await sleep(randomInt(100));
    stop.abort();
    await endAll(this.#daemon);
    await working;
    this.#counts.crashes += 1;
    this.#daemon = await startOnDisk(this.#daemon.home);
    this.#held = await settled(this.#daemon, this.#busy, stateOf(this.#daemon));
  }

  async end(): Promise<void> {
    if (this.#held !== null) addUp(this.#counts, this.#busy, this.#held);
    await this[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#daemon.stop();
  }
}
