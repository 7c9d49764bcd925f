/** Takes something a command made out of the workspace, as it is, without following links. */
import {
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  symlinkSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';
import type { DirectoryHandle } from './directory-handle.ts';

/** What is kept of a thing that must be copied; the rest of it is removed all the same. */
const keptBytesMax = 16 * 1024 * 1024;
const depthMax = 256;
/** Copying waits for nobody: of a thing of more parts, the rest is renamed where it is. */
const partsMax = 2_000;
const nameShown = 64;
const chunkBytes = 64 * 1024;

/**
 * Moves `name` of `directory` to `target`: by rename, across file systems by copying the first
 * 16 MiB. What can be neither moved nor removed gets a name that nothing looks for.
 *
 * @throws Error where not even that is possible.
 */
export function quarantineEntry(directory: DirectoryHandle, name: string, target: string): void {
  try {
    renameSync(directory.at(name), target);
  } catch {
    directory.unlock();
    try {
      const budget = { bytes: keptBytesMax, parts: partsMax };
      takeOut({ directory, name, target, depth: 0, budget });
    } catch {
      const away = `.trl-reverted-${process.pid}-${Date.now()}-${name.slice(0, nameShown)}`;
      renameSync(directory.at(name), directory.at(away));
    }
  }
}

interface Take {
  readonly directory: DirectoryHandle;
  readonly name: string;
  readonly target: string;
  readonly depth: number;
  readonly budget: { bytes: number; parts: number };
}

function takeOut(take: Take): void {
  const { directory, name, target, depth, budget } = take;
  const stat = directory.stat(name);
  if (stat === null) return;
  if ((budget.parts -= 1) < 0) throw new Error(`more than ${partsMax} parts`);
  if (stat.isDirectory()) {
    if (depth > depthMax) throw new Error(`more than ${depthMax} directories deep`);
    takeDirectory(take);
    rmdirSync(directory.at(name));
    return;
  }
  if (stat.isSymbolicLink()) symlinkSync(readlinkSync(directory.at(name)), target);
  else if (stat.isFile()) copyStart(directory.at(name), target, budget);
  unlinkSync(directory.at(name));
}

function takeDirectory({ directory, name, target, depth, budget }: Take): void {
  mkdirSync(target, { mode: 0o700 });
  const inner = directory.enter(name);
  if (inner === null) return;
  using _ = inner;
  inner.unlock();
  for (const child of inner.names()) {
    const to = path.join(target, child);
    takeOut({ directory: inner, name: child, target: to, depth: depth + 1, budget });
  }
}

/** Copies until the budget is used up. */
function copyStart(source: string, target: string, budget: { bytes: number }): void {
  const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
  const from = openSync(source, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    if (!fstatSync(from).isFile()) return;
    const to = openSync(target, 'wx', 0o600);
    try {
      const buffer = new Uint8Array(chunkBytes);
      let count = readSync(from, buffer);
      while (count > 0 && budget.bytes > 0) {
        budget.bytes -= writeSync(to, buffer, 0, count);
        count = readSync(from, buffer);
      }
    } finally {
      closeSync(to);
    }
  } finally {
    closeSync(from);
  }
}
