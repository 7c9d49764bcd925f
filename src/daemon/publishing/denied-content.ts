/** What is denied, by workspace and audience: kept up to date, and used by one check at once. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { ContentStore } from '../../content-store.ts';
import type { ChangeRecord, SurveyedFiles, WorkspaceFiles } from '../../host/port.ts';
import { DeniedFiles, type EarlierVersion } from './denied-files.ts';
import type { PublicationScope } from './publication-scope.ts';

/** Indexes held in memory; the others are on disk. */
const heldMax = 4;
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
  readonly #held = new Map<string, { files: Promise<DeniedFiles>; turn: Promise<unknown> }>();

  /** @param directory private to the user */
  constructor(directory: string, workspaces: WorkspaceFiles) {
    this.#directory = directory;
    this.#workspaces = workspaces;
  }

  /** Runs `work` with what is denied now; others wait for it. */
  use<T>(
    place: PublicationScope,
    recorded: RecordedHistory,
    work: (denied: DeniedContentIndex) => Promise<T>,
  ): Promise<T> {
    const key = createHash('sha256').update(place.visibility.digest).digest('hex').slice(0, 32);
    const held = this.#held.get(key) ?? {
      files: DeniedFiles.open(join(this.#directory, key)),
      turn: Promise.resolve(),
    };
    held.files.catch(() => this.#held.delete(key));
    this.#hold(key, held);
    const done = held.turn.then(async () => {
      const files = await held.files;
      const surveyed = await this.#workspaces.survey(place);
      using source = this.#workspaces.open(place.root);
      await files.update(source, surveyed.denied, earlierVersions(place, recorded));
      return work({ files, surveyed });
    });
    held.turn = done.catch(() => {});
    return done;
  }

  #hold(key: string, held: { files: Promise<DeniedFiles>; turn: Promise<unknown> }): void {
    this.#held.delete(key);
    this.#held.set(key, held);
    const [oldest] = this.#held.keys();
    if (this.#held.size > heldMax && oldest !== undefined) this.#held.delete(oldest);
  }
}

/** What commands saw and left of denied files before these were denied. */
function earlierVersions(
  { visibility }: PublicationScope,
  { records, contents }: RecordedHistory,
): EarlierVersion[] {
  if (visibility.isEverything) return [];
  const found = new Map<string, EarlierVersion>();
  for (const { changes } of records) {
    for (const { path, before, after, state } of changes) {
      if (!visibility.hides(path)) continue;
      // What a command wanted to put there is its own, and was never the denied file.
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
