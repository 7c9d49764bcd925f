/** Which files of a workspace an audience must not see, and which it may. */
import type { BytePath } from '../../change.ts';
import { limits } from '../../limits.ts';
import { joined, nameOf, parentOf } from '../../workspace/byte-path.ts';
import { codeOf } from '../../workspace/descriptor.ts';
import { OpenDirectory } from '../../workspace/projection/directory.ts';
import { Slices } from '../../workspace/slices.ts';
import { HiddenPaths } from '../../workspace/projection/hidden.ts';
import type { Visibility } from '../../workspace/projection/visibility.ts';
import { statKey } from '../../workspace/stat.ts';
import type { DeniedFile, FileSource, FoundFile, SurveyedFiles } from '../port.ts';
import { openParent, readFileIn } from './reading.ts';

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
  readonly #slices = new Slices();

  constructor(hidden: ReadonlySet<BytePath>) {
    this.#hidden = hidden;
  }

  async into(directory: OpenDirectory, path: BytePath, isHidden: boolean): Promise<void> {
    if (this.#slices.over) await this.#slices.turn();
    for (const entry of directory.entries()) {
      const name = entry.name.toString('latin1');
      if (name === '.git') continue;
      const at = joined(path, name);
      const isDenied = isHidden || this.#hidden.has(at);
      if (entry.isDirectory()) await this.#below(directory, at, isDenied);
      else if (entry.isFile()) this.#file(directory, at, isDenied);
    }
  }

  async #below(directory: OpenDirectory, path: BytePath, isDenied: boolean): Promise<void> {
    try {
      using below = OpenDirectory.open(directory.self, nameOf(path));
      await this.into(below, path, isDenied);
    } catch (error) {
      // What is gone holds nothing; what is shown and cannot be read is not subtracted.
      if (codeOf(error) === '' || (isDenied && codeOf(error) !== 'ENOENT')) throw error;
    }
  }

  #file(directory: OpenDirectory, path: BytePath, isDenied: boolean): void {
    if (!isDenied) {
      this.visible.push(path);
      return;
    }
    const stat = directory.look(nameOf(path));
    if (stat === null || !stat.isFile()) return;
    this.denied.push({ path, key: statKey(stat), size: Number(stat.size) });
  }
}

/** Reads files one after the other; neighbours share what holds them. */
export class LocalReader implements FileSource {
  readonly #root: string;
  readonly #slices = new Slices();
  #parent: { readonly path: BytePath; readonly directory: OpenDirectory } | null = null;

  constructor(root: string) {
    this.#root = root;
  }

  async read(path: BytePath, bytesMax: number): Promise<FoundFile | null> {
    if (this.#slices.over) await this.#slices.turn();
    return readFileIn(this.#parentOf(path), nameOf(path), bytesMax, this.#slices);
  }

  #parentOf(path: BytePath): OpenDirectory {
    const parent = parentOf(path);
    if (this.#parent?.path === parent) return this.#parent.directory;
    this[Symbol.dispose]();
    const directory = openParent(this.#root, path);
    this.#parent = { path: parent, directory };
    return directory;
  }

  [Symbol.dispose](): void {
    this.#parent?.directory[Symbol.dispose]();
    this.#parent = null;
  }
}
