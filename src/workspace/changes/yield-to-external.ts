/**
 * While commands run, what was applied stays in the upper layer: they may have it open. Where
 * somebody else then changes it in the real tree, theirs must show through.
 */
import { randomBytes } from 'node:crypto';
import { closeSync, linkSync, mkdirSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { BytePath, Entry } from '../../change.ts';
import { isSameInode } from '../beneath.ts';
import { baseNameOf, parentPathOf } from '../byte-path.ts';
import { statKey } from '../stat.ts';
import type { TreeCursor } from './tree-cursor.ts';
import type { Ledger } from './ledger.ts';

export interface YieldContext {
  /** A directory beside the layer, on the same file system. */
  readonly aside: string;
  readonly ledger: Ledger;
  readonly upperCursor: TreeCursor;
}

/** A file without a name that commands may still have open, and write to. */
export interface DisplacedFile {
  readonly path: BytePath;
  /** Open for reading; whoever gets it closes it. */
  readonly fd: number;
  /** Another name of it outside of the layer, for a later process. */
  readonly at: string;
  /** As it was told last. */
  readonly entry: Extract<Entry, { readonly type: 'file' }>;
}

/**
 * Gives a file of the layer another name beside it. It is to be kept that it has one before
 * {@link removeDisplacedFile}, for whoever has it open goes on to write there.
 *
 * @returns `null` where a command changed it since it was told: the next capture tells
 */
export function displaceFile(
  { ledger, upperCursor, aside }: YieldContext,
  path: BytePath,
): DisplacedFile | null {
  const told = ledger.get(path);
  const name = baseNameOf(path);
  if (told?.key == null || told.entry?.type !== 'file') return null;
  if (upperCursor.goto(parentPathOf(path)) !== 'here') return null;
  const stat = upperCursor.stat(name);
  if (stat === null || statKey(stat) !== told.key) return null;
  const file = upperCursor.openFile(name);
  if (typeof file === 'string') return null;
  if (!isSameInode(file.fd, stat)) {
    closeSync(file.fd);
    return null;
  }
  const at = join(aside, randomBytes(8).toString('hex'));
  try {
    mkdirSync(aside, { recursive: true, mode: 0o700 });
    linkSync(upperCursor.at(name), at);
  } catch {
    closeSync(file.fd);
    return null;
  }
  return { path, fd: file.fd, at, entry: told.entry };
}

/** Takes a file that was set aside out of the layer, if it is still the one that is there. */
export function removeDisplacedFile(
  { ledger, upperCursor }: YieldContext,
  { path, fd }: Pick<DisplacedFile, 'path' | 'fd'>,
): void {
  if (upperCursor.goto(parentPathOf(path)) !== 'here') return;
  const name = baseNameOf(path);
  const stat = upperCursor.stat(name);
  if (stat === null || !isSameInode(fd, stat)) return;
  unlinkSync(upperCursor.at(name));
  ledger.forget([path]);
}
