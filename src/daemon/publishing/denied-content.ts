/**
 * Denied content by workspace and audience: it is kept up to date, and one check at a time uses it.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { ContentStore } from '../../content-store.ts';
import type { ChangeRecord, SurveyedFiles, WorkspaceFiles } from '../../host/port.ts';
import { DeniedFiles, type EarlierVersion } from './denied-files.ts';
import type { PublicationScope } from './publication-scope.ts';

/** The most indexes in memory; the others are on disk. */
const cachedMax = 4;
const earlierMax = 10_000;

export interface RecordedHistory {
  readonly records: readonly ChangeRecord[];
  readonly contents: Pick<ContentStore, 'has' | 'read'>;
}

export interface DeniedContentIndex {
  readonly files: DeniedFiles;
  readonly surveyed: SurveyedFiles;
}

export class DeniedContentIndexes {
  readonly #directory: string;
  readonly #workspaces: WorkspaceFiles;
  readonly #cached = new Map<string, { files: Promise<DeniedFiles>; turn: Promise<unknown> }>();

  /** @param directory private to the user */
  constructor(directory: string, workspaces: WorkspaceFiles) {
    this.#directory = directory;
    this.#workspaces = workspaces;
  }

  /** Runs `work` with the currently denied content; other checks wait for it. */
  use<T>(
    place: PublicationScope,
    recorded: RecordedHistory,
    work: (denied: DeniedContentIndex) => Promise<T>,
  ): Promise<T> {
    const key = createHash('sha256').update(place.visibility.digest).digest('hex').slice(0, 32);
    const entry = this.#cached.get(key) ?? {
      files: DeniedFiles.open(join(this.#directory, key)),
      turn: Promise.resolve(),
    };
    entry.files.catch(() => this.#cached.delete(key));
    this.#cache(key, entry);
    const done = entry.turn.then(async () => {
      const files = await entry.files;
      const surveyed = await this.#workspaces.survey(place);
      using source = this.#workspaces.open(place.root);
      await files.update(source, surveyed.denied, earlierVersions(place, recorded));
      return work({ files, surveyed });
    });
    entry.turn = done.catch(() => {});
    return done;
  }

  #cache(key: string, entry: { files: Promise<DeniedFiles>; turn: Promise<unknown> }): void {
    this.#cached.delete(key);
    this.#cached.set(key, entry);
    const [oldest] = this.#cached.keys();
    if (this.#cached.size > cachedMax && oldest !== undefined) this.#cached.delete(oldest);
  }
}

/** Versions of denied files that commands saw or left before the files were denied. */
function earlierVersions(
  { visibility }: PublicationScope,
  { records, contents }: RecordedHistory,
): EarlierVersion[] {
  if (visibility.isEverything) return [];
  const found = new Map<string, EarlierVersion>();
  for (const { changes } of records) {
    for (const { path, before, after, state } of changes) {
      if (!visibility.hides(path)) continue;
      // Content that a command did not manage to put there is its own, and was never the denied
      // file.
      for (const entry of state === 'applied' ? [before, after] : [before]) {
        if (entry?.type !== 'file' || entry.sha256 === null) continue;
        const { sha256 } = entry;
        if (!contents.has(sha256) || found.size >= earlierMax) continue;
        found.set(`${sha256} ${path}`, { path, sha256, read: () => contents.read(sha256) });
      }
    }
  }
  return [...found.values()];
}
