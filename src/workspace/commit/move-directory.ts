/** Moves a directory with thousands of entries into the real tree in one step. */
import { type BigIntStats, closeSync, lstatSync } from 'node:fs';
import type { BytePath, DirectorySummary, Entry, StatKey } from '../../change.ts';
import type { ContentStore } from '../../content-store.ts';
import { baseNameOf, entryPathIn, parentPathOf, pathBytes } from '../byte-path.ts';
import { isSameStat, statKey } from '../stat.ts';
import { openStaging, type RenameResult } from './atomic-renames.ts';
import type { ApplyInput, CommitItem, CommitRefusal } from './commit-item.ts';
import { statAt, TreePathResolver } from './tree-path-resolver.ts';

/** What is moved, where the change of a path is that. */
export function bulkDirectoryOf(entry: Entry | null): DirectorySummary | null {
  return entry?.type === 'directory' ? (entry.whole ?? null) : null;
}

/**
 * Moves the source of an item to its path in the open `directory`, if the name is free.
 *
 * @returns the key of the moved entry, or why it is not moved
 */
export async function moveBulkDirectory(
  { path, source }: CommitItem,
  directory: number,
  { renames }: Pick<ApplyInput, 'renames'>,
): Promise<{ readonly key: StatKey } | CommitRefusal> {
  if (source === null) return 'no-content';
  const steps = new TreePathResolver(source.tree);
  try {
    const from = steps.directory(parentPathOf(source.path));
    if (from === null) return 'no-content';
    const names = { name: baseNameOf(path), temporary: baseNameOf(source.path), fallbackName: '' };
    const [answer] = await renames.run([
      { kind: 'name', directory, staging: from, ...names, key: '' },
    ]);
    if (answer === 'changed') return 'changed-meanwhile';
    if (answer !== 'done') return 'refused';
    return { key: statKey(lstatSync(entryPathIn(directory, names.name), { bigint: true })) };
  } finally {
    steps.close();
  }
}

/**
 * Moves the entry at the path of an item in the open `directory` to the place where it is kept, and
 * back if something in it differs from the manifest: another process changed it in that moment.
 */
export async function moveBulkDirectoryAway(
  { path, base }: CommitItem,
  directory: number,
  { renames, contents, tree }: Pick<ApplyInput, 'renames' | 'contents' | 'tree'>,
): Promise<{ readonly key: null } | CommitRefusal> {
  const kept = bulkDirectoryOf(base)?.kept;
  const to = kept === undefined ? null : openStaging(kept.tree, tree.root);
  if (kept === undefined || to === null) return 'refused';
  const move = async (
    from: number,
    name: string,
    into: number,
    as: string,
  ): Promise<RenameResult> => {
    const names = { temporary: name, name: as, fallbackName: '', key: '' };
    const rename = { kind: 'name', directory: into, staging: from, ...names } as const;
    return (await renames.run([rename]))[0] ?? 'refused';
  };
  try {
    const answer = await move(directory, baseNameOf(path), to, kept.path);
    if (answer !== 'done') return 'refused';
    if (await matchesManifest({ after: base, source: kept }, contents)) return { key: null };
    await move(to, kept.path, directory, baseNameOf(path));
    return 'changed-meanwhile';
  } finally {
    closeSync(to);
  }
}

/** Whether everything to be moved is there as captured, judging by its stats. */
export async function matchesManifest(
  { after, source }: Pick<CommitItem, 'after' | 'source'>,
  contents: Pick<ContentStore, 'read'>,
): Promise<boolean> {
  const whole = bulkDirectoryOf(after);
  if (whole === null || source === null) return false;
  const steps = new TreePathResolver(source.tree);
  try {
    for await (const line of readManifest(whole, contents)) {
      if (line === null) return false;
      const stat: BigIntStats | null = statAt(steps, `${source.path}/${line.path}`);
      if (!isSameStat(stat, line.key)) return false;
    }
    return true;
  } finally {
    steps.close();
  }
}

// The manifest of a directory that is handled as one: one line for each entry, so that a later
// check can find out whether it is unchanged. A line is `KEY PATH` and ends in NUL; paths begin at
// the directory.

const partBytes = 256 * 1024;

interface ManifestLine {
  readonly key: StatKey;
  readonly path: BytePath;
}

/** Keeps lines as they come, and holds no more than a part of them. */
export class ManifestWriter {
  readonly #contents: Pick<ContentStore, 'put'>;
  readonly #hashes: string[] = [];
  #lines: string[] = [];
  #size = 0;

  constructor(contents: Pick<ContentStore, 'put'>) {
    this.#contents = contents;
  }

  add({ key, path }: ManifestLine): void {
    const line = `${key} ${path}\0`;
    if (this.#size + line.length > partBytes) this.#flush();
    this.#lines.push(line);
    this.#size += line.length;
  }

  end(): readonly string[] {
    this.#flush();
    return this.#hashes;
  }

  #flush(): void {
    if (this.#size > 0) this.#hashes.push(this.#contents.put(pathBytes(this.#lines.join(''))));
    this.#lines = [];
    this.#size = 0;
  }
}

/** Directories before what is in them. Ends early, with `null`, where a part is not kept. */
export async function* readManifest(
  { manifest }: DirectorySummary,
  contents: Pick<ContentStore, 'read'>,
): AsyncGenerator<ManifestLine | null> {
  for (const sha256 of manifest) {
    const part = await contents.read(sha256);
    if (part === null) {
      yield null;
      return;
    }
    for (const line of part.toString('latin1').split('\0').slice(0, -1)) {
      const end = line.indexOf(' ');
      yield { key: line.slice(0, end), path: line.slice(end + 1) };
    }
  }
}
