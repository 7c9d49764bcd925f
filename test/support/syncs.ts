/** What the code under test does to the disk, in order, as it calls `node:fs`. */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';

export interface DiskCalls extends Disposable {
  /** `sync NAME`, `truncate NAME`, `rename NAME`, `remove NAME`. */
  readonly calls: readonly string[];
}

const nameOf = (fd: unknown): string =>
  path.basename(fs.readlinkSync(`/proc/self/fd/${String(fd)}`));
const named = (at: unknown): string => path.basename(String(at));

const watched: Readonly<Record<string, (argument: unknown) => string>> = {
  fdatasyncSync: (fd) => `sync ${nameOf(fd)}`,
  fsyncSync: (fd) => `sync ${nameOf(fd)}`,
  ftruncateSync: (fd) => `truncate ${nameOf(fd)}`,
  renameSync: (from) => `rename ${named(from)}`,
  rmSync: (at) => `remove ${named(at)}`,
  unlinkSync: (at) => `remove ${named(at)}`,
};

/** Records until it is disposed of; every call is made, too. */
export function watchDisk(): DiskCalls {
  const calls: string[] = [];
  const originals = Object.entries(watched).map(([name, tell]) => {
    const original: unknown = Reflect.get(fs, name);
    if (typeof original !== 'function') throw new Error(`node:fs has no ${name}`);
    Reflect.set(fs, name, (...args: unknown[]): unknown => {
      calls.push(tell(args[0]));
      return Reflect.apply(original, fs, args);
    });
    return [name, original] as const;
  });
  syncBuiltinESMExports();
  return {
    calls,
    [Symbol.dispose]: () => {
      for (const [name, original] of originals) Reflect.set(fs, name, original);
      syncBuiltinESMExports();
    },
  };
}
