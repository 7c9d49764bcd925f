/**
 * Publications that wait for the caller: exactly the checked bytes, in a directory that no other
 * program writes.
 *
 *   publish/outgoing/p-…/N     the N-th file
 *
 * The caller takes them from there with its own rights: this runtime writes to no path that a
 * caller names.
 */
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { limits } from '../../limits.ts';
import type { PublicationId, PublishedFile } from '../../api/publish.ts';
import { octalMode } from '../diffs/git-text.ts';
import { pathView } from '../workspaces/change-views.ts';
import type { OutgoingItem } from '../../publish/publication.ts';

export interface LaidOutPublication {
  readonly id: PublicationId;
  readonly directory: string;
  readonly files: readonly PublishedFile[];
}

/** @param directory private to the user */
export async function layOutPublication(
  directory: string,
  items: readonly OutgoingItem[],
): Promise<LaidOutPublication> {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  sweep(directory);
  const id: PublicationId = `p-${randomBytes(16).toString('hex')}`;
  const place = join(directory, id);
  mkdirSync(place, { mode: 0o700 });
  const files: PublishedFile[] = [];
  try {
    for (const { bytes, file } of items) {
      if (file === null) continue;
      await using handle = await open(join(place, String(files.length)), 'wx', 0o600);
      await handle.writeFile(bytes);
      files.push({
        ...pathView(file.path),
        type: file.type,
        mode: octalMode(file.mode),
        size: bytes.length,
        sha256: createHash('sha256').update(bytes).digest('hex'),
      });
    }
  } catch (error) {
    rmSync(place, { recursive: true, force: true });
    throw error;
  }
  setTimeout(() => removePublication(place), limits.publicationKeepMs.default).unref();
  return { id, directory: place, files };
}

export function removePublication(place: string): void {
  rmSync(place, { recursive: true, force: true });
}

/** Removes publications that an earlier runtime left and no caller took. */
function sweep(directory: string): void {
  const oldest = Date.now() - limits.publicationKeepMs.default;
  for (const name of existsSync(directory) ? readdirSync(directory) : []) {
    const place = join(directory, name);
    const stat = statSync(place, { throwIfNoEntry: false });
    if (stat !== undefined && stat.mtimeMs < oldest) removePublication(place);
  }
}
