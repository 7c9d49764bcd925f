/** Empties a directory whose content commands made: of any depth, without following a link. */
import { chmodSync, lstatSync, readdirSync, renameSync, rmdirSync, unlinkSync } from 'node:fs';
import { Pace } from './pace.ts';
import { bytePathOf, bytesOf } from '../byte-path.ts';

const ownersBits = 0o700;

/**
 * Directories are brought to the top before they are emptied, so that no path becomes long. Only
 * while nobody else writes there. `mode` is what the directory has at the end.
 *
 * @throws Error of the system call that failed, with the rest still there
 */
export async function emptyDirectory(directory: string, mode: number): Promise<void> {
  const pace = new Pace();
  const top = bytePathOf(directory);
  const at = (name: string): Buffer => bytesOf(`${top}/${name}`);
  chmodSync(directory, mode | ownersBits);
  let count = 0;
  /** Directories at the top, still to be emptied. */
  const waiting: string[] = [];
  const take = (name: string, isTop: boolean): void => {
    const where = at(name);
    if (!lstatSync(where).isDirectory()) {
      unlinkSync(where);
      return;
    }
    chmodSync(where, ownersBits);
    if (isTop) {
      waiting.push(name);
      return;
    }
    const short = freeName();
    renameSync(where, at(short));
    waiting.push(short);
  };
  const names = readdirSync(directory, { encoding: 'latin1' });
  const taken = new Set(names);
  const freeName = (): string => {
    do count += 1;
    while (taken.has(`${count}`));
    return `${count}`;
  };
  for (const name of names) {
    if (pace.isDue()) await pace.rest();
    take(name, true);
  }
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    for (const child of readdirSync(at(name), { encoding: 'latin1' })) {
      if (pace.isDue()) await pace.rest();
      take(`${name}/${child}`, false);
    }
    rmdirSync(at(name));
  }
  chmodSync(directory, mode);
}
