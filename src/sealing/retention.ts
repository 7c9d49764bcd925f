/** Makes raw logs unreadable for good, and keeps their directory within a bound. */
import { randomBytes } from 'node:crypto';
import { lstat, open, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  systemErrorCode,
  rawLogKeyPath,
  rawLogPath,
  syncParentDirectory,
} from './raw-log-files.ts';

/**
 * Destroys the wrapped data key: overwritten, on disk, then removed. The sealed bytes stay, for
 * what was recorded of them; nobody can read them. A file system that writes elsewhere (copy on
 * write, snapshots) or a copy made before may still hold the key.
 *
 * @param base `DIRECTORY/EXEC`
 * @returns whether there was one
 */
export async function shredRawLog(base: string): Promise<boolean> {
  const path = rawLogKeyPath(base);
  const key = await open(path, 'r+').catch((error: unknown) => {
    if (systemErrorCode(error) === 'ENOENT') return null;
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
  await syncParentDirectory(path);
  return true;
}

/** One raw log as it lies on disk. */
export interface RawLogFile {
  readonly exec: string;
  readonly bytes: number;
  /** Unix milliseconds of its last write. */
  readonly writtenAt: number;
  /** Whether its key is there. */
  readonly readable: boolean;
}

/** The raw logs of a directory, oldest first; none where there is no directory. */
export async function listRawLogs(directory: string): Promise<readonly RawLogFile[]> {
  const names = await readdir(directory).catch((error: unknown) => {
    if (systemErrorCode(error) === 'ENOENT') return [];
    throw error;
  });
  const keys = new Set(names.filter((name) => name.endsWith('.key')));
  const found: RawLogFile[] = [];
  for (const name of names.filter((one) => one.endsWith('.log'))) {
    const stat = await lstat(join(directory, name)).catch(() => null);
    if (stat === null || !stat.isFile()) continue;
    const exec = name.slice(0, -'.log'.length);
    const readable = keys.has(`${exec}.key`);
    found.push({ exec, bytes: stat.size, writtenAt: stat.mtimeMs, readable });
  }
  return found.toSorted((a, b) => a.writtenAt - b.writtenAt);
}

export interface RawLogRetentionOptions {
  /** Bytes of all sealed logs that stay. */
  readonly bytesMax: number;
  /** Whether its command still runs: then it stays. */
  readonly isRunning: (exec: string) => boolean;
  /** Told of each before it goes; where it rejects, that one and all later ones stay. */
  readonly record: (log: RawLogFile) => Promise<void>;
}

/**
 * Shreds and removes the oldest logs beyond the bound. Those whose key is gone already go first.
 *
 * @returns what went
 */
export async function applyRawLogRetention(
  directory: string,
  { bytesMax, isRunning, record }: RawLogRetentionOptions,
): Promise<readonly RawLogFile[]> {
  const logs = await listRawLogs(directory);
  let held = logs.reduce((sum, { bytes }) => sum + bytes, 0);
  const ordered = [...logs.filter((log) => !log.readable), ...logs.filter((log) => log.readable)];
  const gone: RawLogFile[] = [];
  for (const log of ordered) {
    if (held <= bytesMax) break;
    if (isRunning(log.exec)) continue;
    await record(log);
    const base = join(directory, log.exec);
    await shredRawLog(base);
    await rm(rawLogPath(base), { force: true });
    held -= log.bytes;
    gone.push(log);
  }
  return gone;
}
