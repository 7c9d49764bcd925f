/**
 * While commands run, what was applied stays in the upper layer: they may have it open. Where
 * somebody else then changes it in the real tree, theirs must show through.
 */
import {
  closeSync,
  constants,
  ftruncateSync,
  openSync,
  readSync,
  unlinkSync,
  writeSync,
  type BigIntStats,
} from 'node:fs';
import type { BytePath } from '../../change.ts';
import { isIt } from '../beneath.ts';
import { nameOf, parentOf } from '../byte-path.ts';
import { statKey } from '../stat.ts';
import type { TreeCursor } from './cursor.ts';
import type { Ledger } from './ledger.ts';

const { O_NOFOLLOW, O_NONBLOCK, O_WRONLY } = constants;
const chunkBytes = 1024 * 1024;
/** Of a larger file a command that has it open keeps its own. */
const copiedBytesMax = 64 * chunkBytes;

export interface GiveWayGround {
  readonly ledger: Ledger;
  readonly upperCursor: TreeCursor;
  readonly realCursor: TreeCursor;
}

/**
 * A file that was replaced or removed is taken out of the layer: who has it open keeps the old one,
 * as without a layer. One that was written in place is written in place here too.
 *
 * @param ino of the file that applying left in the real tree; `null`: nothing
 * @returns `false` where a command changed it since, too: the next capture tells a conflict
 */
export function giveWay(ground: GiveWayGround, path: BytePath, ino: bigint | null): boolean {
  const { ledger, upperCursor, realCursor } = ground;
  const told = ledger.get(path);
  const name = nameOf(path);
  if (told?.key == null || told.entry?.type !== 'file') return false;
  if (upperCursor.goto(parentOf(path)) !== 'here') return false;
  const stat = upperCursor.stat(name);
  if (stat === null || statKey(stat) !== told.key) return false;
  const real = realCursor.goto(parentOf(path)) === 'here' ? realCursor.stat(name) : null;
  const matches = real !== null && real.isFile() && real.ino === ino && real.size <= copiedBytesMax;
  if (!matches || !copyInto(ground, name, stat)) unlinkSync(upperCursor.at(name));
  ledger.forget([path]);
  return true;
}

function copyInto(
  { upperCursor, realCursor }: GiveWayGround,
  name: string,
  upper: BigIntStats,
): boolean {
  const from = realCursor.openFile(name);
  if (typeof from === 'string') return false;
  try {
    // A FIFO in its place waits for nobody.
    const to = openSync(upperCursor.at(name), O_WRONLY | O_NOFOLLOW | O_NONBLOCK);
    try {
      if (!isIt(to, upper)) return false;
      const buffer = Buffer.allocUnsafe(chunkBytes);
      let at = 0;
      for (let count = readSync(from.fd, buffer); count > 0; count = readSync(from.fd, buffer)) {
        writeSync(to, buffer, 0, count, at);
        at += count;
      }
      ftruncateSync(to, at);
      return true;
    } finally {
      closeSync(to);
    }
  } catch {
    return false;
  } finally {
    closeSync(from.fd);
  }
}
