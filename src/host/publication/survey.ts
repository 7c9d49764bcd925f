/** Which files of a workspace an audience must not see, and which it may. */
import type { BytePath } from '../../change.ts';
import { limits } from '../../limits.ts';
import { joinPath, baseNameOf, parentPathOf } from '../../workspace/byte-path.ts';
import { errnoCodeOf } from '../../workspace/descriptor.ts';
import { OpenDirectory } from '../../workspace/projection/open-directory.ts';
import { TimeSlices } from '../../workspace/time-slices.ts';
import { HiddenPaths } from '../../workspace/projection/hidden-paths.ts';
import type { Visibility } from '../../workspace/projection/visibility.ts';
import { statKey } from '../../workspace/stat.ts';
import type { DeniedFile, FileSource, WorkspaceFileContent, SurveyedFiles } from '../port.ts';
import { openParentDirectory, readFileIn } from './file-collector.ts';

/**
 * Walks the whole tree; what lies in a `.git` is neither.
 *
 * @throws TrlError `QUOTA_EXCEEDED` where it is larger than the bound; the system's error where a
 *   denied file cannot be looked at: what is not known cannot be told from what leaves
 */
export async function surveyFiles(root: string, visibility: Visibility): Promise<SurveyedFiles> {
  const entriesMax = limits.workspaceEntries.default;
  const hiddenPaths = await HiddenPaths.read({ root, visibility, entriesMax });
  const walk = new Walk(new Set(await hiddenPaths.list()));
  using top = OpenDirectory.open(root);
  await walk.into(top, '', visibility.denies(''));
  return walk;
}

class Walk implements SurveyedFiles {
  readonly denied: DeniedFile[] = [];
  readonly visible: BytePath[] = [];
  readonly #hidden: ReadonlySet<BytePath>;
  readonly #slices = new TimeSlices();

  constructor(hidden: ReadonlySet<BytePath>) {
    this.#hidden = hidden;
  }

  async into(directory: OpenDirectory, path: BytePath, isHidden: boolean): Promise<void> {
    if (this.#slices.isOver) await this.#slices.yieldTurn();
    for (const entry of directory.entries()) {
      const name = entry.name.toString('latin1');
      if (name === '.git') continue;
      const at = joinPath(path, name);
      const isDenied = isHidden || this.#hidden.has(at);
      if (entry.isDirectory()) await this.#below(directory, at, isDenied);
      else if (entry.isFile()) this.#file(directory, at, isDenied);
    }
  }

  async #below(directory: OpenDirectory, path: BytePath, isDenied: boolean): Promise<void> {
    try {
      using below = OpenDirectory.open(directory.self, baseNameOf(path));
      await this.into(below, path, isDenied);
    } catch (error) {
      // What is gone holds nothing; what is shown and cannot be read is not subtracted.
      if (errnoCodeOf(error) === '' || (isDenied && errnoCodeOf(error) !== 'ENOENT')) throw error;
    }
  }

  #file(directory: OpenDirectory, path: BytePath, isDenied: boolean): void {
    if (!isDenied) {
      this.visible.push(path);
      return;
    }
    const stat = directory.look(baseNameOf(path));
    if (stat === null || !stat.isFile()) return;
    this.denied.push({ path, key: statKey(stat), size: Number(stat.size) });
  }
}

/** Reads files one after the other; neighbours share what holds them. */
export class LocalFileSource implements FileSource {
  readonly #root: string;
  readonly #slices = new TimeSlices();
  #parent: { readonly path: BytePath; readonly directory: OpenDirectory } | null = null;

  constructor(root: string) {
    this.#root = root;
  }

  async read(path: BytePath, bytesMax: number): Promise<WorkspaceFileContent | null> {
    if (this.#slices.isOver) await this.#slices.yieldTurn();
    return readFileIn(this.#parentOf(path), baseNameOf(path), bytesMax, this.#slices);
  }

  #parentOf(path: BytePath): OpenDirectory {
    const parent = parentPathOf(path);
    if (this.#parent?.path === parent) return this.#parent.directory;
    this[Symbol.dispose]();
    const directory = openParentDirectory(this.#root, path);
    this.#parent = { path: parent, directory };
    return directory;
  }

  [Symbol.dispose](): void {
    this.#parent?.directory[Symbol.dispose]();
    this.#parent = null;
  }
}
