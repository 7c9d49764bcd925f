/** Makes raw logs permanently unreadable, and limits the size of their directory. */
import { randomBytes } from 'node:crypto';
import { lstat, open, readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { syncDirectory, systemErrorCode } from '../segment-files.ts';
import { rawLogPath } from './chunk.ts';
import { rawLogKeyPath } from './header.ts';

/**
 * Destroys the wrapped data key: overwrites it on disk, then removes it. The sealed bytes stay as
 * evidence for the audit log; nobody can read them. A file system that writes elsewhere (copy on
 * write, snapshots) or an earlier copy may still have the key.
 *
 * @param base `DIRECTORY/EXEC`
 * @returns whether there was a key
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
  await syncDirectory(dirname(path));
  return true;
}

/** One raw log on disk. */
export interface RawLogFile {
  readonly exec: string;
  readonly bytes: number;
  /** Unix milliseconds of its last write. */
  readonly writtenAt: number;
  /** Its key exists. */
  readonly readable: boolean;
}

/** The raw logs of a directory, oldest first; none if there is no directory. */
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
  /** Limit of all sealed logs together. */
  readonly bytesMax: number;
  /** Whether its command still runs; then it stays. */
  readonly isRunning: (exec: string) => boolean;
  /** Records each log before it is removed; if it rejects, that one and all later ones stay. */
  readonly record: (log: RawLogFile) => Promise<void>;
}

/**
 * Shreds and removes the oldest logs above the limit, first those whose key is already destroyed.
 *
 * @returns the removed logs
 */
export async function applyRawLogRetention(
  directory: string,
  { bytesMax, isRunning, record }: RawLogRetentionOptions,
): Promise<readonly RawLogFile[]> {
  const logs = await listRawLogs(directory);
  let total = logs.reduce((sum, { bytes }) => sum + bytes, 0);
  const ordered = [...logs.filter((log) => !log.readable), ...logs.filter((log) => log.readable)];
  const removed: RawLogFile[] = [];
  for (const log of ordered) {
    if (total <= bytesMax) break;
    if (isRunning(log.exec)) continue;
    await record(log);
    const base = join(directory, log.exec);
    await shredRawLog(base);
    await rm(rawLogPath(base), { force: true });
    total -= log.bytes;
    removed.push(log);
  }
  return removed;
}
