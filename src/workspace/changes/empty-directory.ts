/** Empties a directory whose content commands made: of any depth, without following a link. */
import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readdirSync,
  renameSync,
  rmdirSync,
  unlinkSync,
} from 'node:fs';
import { openDirectory, openEntry, setMode } from '../beneath.ts';
import { entryPathIn, O_PATH } from '../byte-path.ts';
import { WorkPacer } from '../time-slices.ts';

const { O_DIRECTORY, O_NOFOLLOW } = constants;
const ownersBits = 0o700;

/**
 * Directories are brought to the top before they are emptied, so that no path becomes long. `mode`
 * is what the directory has at the end.
 *
 * @throws Error of the system call that failed, with the rest still there
 */
export async function emptyDirectory(directory: string, mode: number): Promise<void> {
  const top = openDirectory(directory);
  try {
    await empty(top, mode);
  } finally {
    closeSync(top);
  }
}

async function empty(top: number, mode: number): Promise<void> {
  const pace = new WorkPacer();
  setMode(top, mode | ownersBits);
  /** Directories at the top, still to be emptied. */
  const waiting: string[] = [];
  let count = 0;
  const names = namesIn(top);
  const taken = new Set(names);
  const freeName = (): string => {
    do count += 1;
    while (taken.has(`${count}`));
    return `${count}`;
  };
  for (const name of names) {
    if (pace.isDue()) await pace.rest();
    if (!unlinked(top, name)) waiting.push(name);
  }
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    const inner = openSync(entryPathIn(top, name), O_PATH | O_DIRECTORY | O_NOFOLLOW);
    try {
      for (const child of namesIn(inner)) {
        if (pace.isDue()) await pace.rest();
        if (unlinked(inner, child)) continue;
        const short = freeName();
        renameSync(entryPathIn(inner, child), entryPathIn(top, short));
        waiting.push(short);
      }
    } finally {
      closeSync(inner);
    }
    rmdirSync(entryPathIn(top, name));
  }
  setMode(top, mode);
}

function namesIn(directory: number): string[] {
  return readdirSync(entryPathIn(directory, '.'), { encoding: 'latin1' });
}

/** `false`: it is a directory, which its owner may now empty. */
function unlinked(directory: number, name: string): boolean {
  const at = entryPathIn(directory, name);
  const entry = openEntry(at);
  try {
    if (fstatSync(entry).isDirectory()) {
      setMode(entry, ownersBits);
      return false;
    }
  } finally {
    closeSync(entry);
  }
  unlinkSync(at);
  return true;
}
