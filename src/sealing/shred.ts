/** Makes raw logs unreadable for good, and keeps their directory within a bound. */
import { randomBytes } from 'node:crypto';
import { lstat, open, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode, keyPath, logPath, syncAround } from './files.ts';

/**
 * Destroys the wrapped data key: overwritten, on disk, then removed. The sealed bytes stay, for
 * what was recorded of them; nobody can read them. A file system that writes elsewhere (copy on
 * write, snapshots) or a copy made before may still hold the key.
 *
 * @param base `DIRECTORY/EXEC`
 * @returns whether there was one
 */
export async function shred(base: string): Promise<boolean> {
  const path = keyPath(base);
  const key = await open(path, 'r+').catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return null;
    throw error;
  });
  if (key === null) return false;
  try {
    const { size } = await key.stat();
    await key.write(randomBytes(size), 0, size, 0);
    await key.sync();
  } finally {
    await key.close();
  }
  await rm(path);
  await syncAround(path);
  return true;
}

/** One raw log as it lies on disk. */
export interface KeptLog {
  readonly exec: string;
  readonly bytes: number;
  /** Unix milliseconds of its last write. */
  readonly writtenAt: number;
  /** Whether its key is there. */
  readonly readable: boolean;
}

/** The raw logs of a directory, oldest first; none where there is no directory. */
export async function keptLogs(directory: string): Promise<readonly KeptLog[]> {
  const names = await readdir(directory).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return [];
    throw error;
  });
  const keys = new Set(names.filter((name) => name.endsWith('.key')));
  const found: KeptLog[] = [];
  for (const name of names.filter((one) => one.endsWith('.log'))) {
    const stat = await lstat(join(directory, name)).catch(() => null);
    if (stat === null || !stat.isFile()) continue;
    const exec = name.slice(0, -'.log'.length);
    const readable = keys.has(`${exec}.key`);
    found.push({ exec, bytes: stat.size, writtenAt: stat.mtimeMs, readable });
  }
  return found.toSorted((a, b) => a.writtenAt - b.writtenAt);
}

export interface RetainOptions {
  /** Bytes of all sealed logs that stay. */
  readonly bytesMax: number;
  /** Whether its command still runs: then it stays. */
  readonly isRunning: (exec: string) => boolean;
  /** Told of each before it goes; where it rejects, that one and all later ones stay. */
  readonly record: (log: KeptLog) => Promise<void>;
}

/**
 * Shreds and removes the oldest logs beyond the bound. Those whose key is gone already go first.
 *
 * @returns what went
 */
export async function retain(
  directory: string,
  { bytesMax, isRunning, record }: RetainOptions,
): Promise<readonly KeptLog[]> {
  const logs = await keptLogs(directory);
  let held = logs.reduce((sum, { bytes }) => sum + bytes, 0);
  const ordered = [...logs.filter((log) => !log.readable), ...logs.filter((log) => log.readable)];
  const gone: KeptLog[] = [];
  for (const log of ordered) {
    if (held <= bytesMax) break;
    if (isRunning(log.exec)) continue;
    await record(log);
    const base = join(directory, log.exec);
    await shred(base);
    await rm(logPath(base), { force: true });
    held -= log.bytes;
    gone.push(log);
  }
  return gone;
}
