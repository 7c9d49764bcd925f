/** Reads files of a workspace as they are: no link is followed, no FIFO or device opened. */
import { closeSync, constants, fstatSync, openSync, readlinkSync, readSync } from 'node:fs';
import type { BytePath } from '../../change.ts';
import { TrlError } from '../../errors.ts';
import { limits } from '../../limits.ts';
import {
  makeLinkItem,
  type OutgoingItem,
  type PublicationBudget,
  type UnscannedItem,
} from '../../publish/publication.ts';
import {
  baseNameOf,
  errnoCodeOf,
  joinPath,
  parentPathOf,
  pathText,
} from '../../workspace/byte-path.ts';
import { HiddenPaths } from '../../workspace/projection/hidden-paths.ts';
import { OpenDirectory } from '../../workspace/projection/open-directory.ts';
import type { Visibility } from '../../workspace/projection/visibility.ts';
import { entryTypeOf, permissionsOf, statKey } from '../../workspace/stat.ts';
import { TimeSlices } from '../../workspace/time-slices.ts';
import type { DeniedFile, FileSource, SurveyedFiles, WorkspaceFileContent } from '../port.ts';

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
const stepBytes = 1024 * 1024;

/**
 * The bytes of a regular file of an open directory; `null`: it is none (any more), or larger than
 * `bytesMax`.
 *
 * @throws the system's error where it cannot be read
 */
async function readFileIn(
  directory: OpenDirectory,
  name: string,
  bytesMax: number,
  slices: TimeSlices,
): Promise<WorkspaceFileContent | null> {
  const fd = openSync(directory.at(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const stat = fstatSync(fd, { bigint: true });
    if (!stat.isFile() || stat.size > BigInt(bytesMax)) return null;
    const parts: Buffer[] = [];
    let length = 0;
    for (;;) {
      if (slices.isOver) await slices.yieldTurn();
      const left = Math.max(Number(stat.size) - length, 0) + 1;
      const part = Buffer.allocUnsafe(Math.min(stepBytes, left));
      const read = readSync(fd, part);
      if (read === 0) break;
      length += read;
      // It grows while it is read: as it was is as good as any other moment.
      if (length > bytesMax) return null;
      parts.push(part.subarray(0, read));
    }
    return { bytes: Buffer.concat(parts), mode: permissionsOf(stat), key: statKey(stat) };
  } finally {
    closeSync(fd);
  }
}

/** Opens what holds `path`, a step at a time. @throws the system's error; `ENOTDIR` for a link */
function openParentDirectory(root: string, path: BytePath): OpenDirectory {
  let at = OpenDirectory.open(root);
  for (const part of parentPathOf(path).split('/').filter(Boolean)) {
    using held = at;
    at = OpenDirectory.open(held.self, part);
  }
  return at;
}

/** Collects files below paths of a workspace. */
export class FileCollector {
  readonly items: OutgoingItem[] = [];
  readonly unread: UnscannedItem[] = [];
  readonly #root: string;
  readonly #isDenied: (path: BytePath) => boolean;
  readonly #allowance: PublicationBudget;
  readonly #slices = new TimeSlices();

  /**
   * @param isDenied a denied path is collected by its name alone: whether it exists is not shown
   */
  constructor(root: string, isDenied: (path: BytePath) => boolean, allowance: PublicationBudget) {
    this.#root = root;
    this.#isDenied = isDenied;
    this.#allowance = allowance;
  }

  /** @throws TrlError `INVALID_PARAMS` where a path is not there, or leads through a link */
  async read(path: BytePath): Promise<void> {
    if (this.#isDenied(path)) return this.#takeDenied(path);
    try {
      if (path === '') {
        using root = OpenDirectory.open(this.#root);
        return await this.#readDirectory(root, '');
      }
      using holder = openParentDirectory(this.#root, path);
      await this.#readEntry(holder, path);
    } catch (cause) {
      const code = errnoCodeOf(cause);
      const why = reasons.get(code);
      if (why === undefined) throw cause;
      const shown = JSON.stringify(pathText(path));
      throw new TrlError('INVALID_PARAMS', `Cannot publish ${shown}: ${why}`, { cause });
    }
  }

  async #readDirectory(directory: OpenDirectory, path: BytePath): Promise<void> {
    const names = directory.entries().map(({ name }) => name.toString('latin1'));
    for (const name of names.toSorted()) {
      // Of a repository the commits leave by a push; its other files are its own.
      if (name === '.git') continue;
      if (this.#slices.isOver) await this.#slices.yieldTurn();
      const at = joinPath(path, name);
      if (this.#isDenied(at)) {
        this.#takeDenied(at);
        continue;
      }
      try {
        await this.#readEntry(directory, at);
      } catch (error) {
        if (errnoCodeOf(error) === '') throw error;
        this.#refuse(at, `cannot be read (${errnoCodeOf(error)})`, '');
      }
    }
  }

  async #readEntry(directory: OpenDirectory, path: BytePath): Promise<void> {
    const name = baseNameOf(path);
    const stat = directory.look(name);
    if (stat === null) throw Object.assign(new Error('it is gone'), { code: 'ENOENT' });
    const type = entryTypeOf(stat);
    if (type === 'directory') {
      using below = OpenDirectory.open(directory.self, name);
      return await this.#readDirectory(below, path);
    }
    if (type === 'symlink') return this.#takeLink(directory, path);
    if (type !== 'file') {
      const article = type === 'fifo' ? 'a FIFO' : `a ${type}`;
      return this.#refuse(path, `is ${article}`, statKey(stat));
    }
    const found = await readFileIn(directory, name, this.#allowance.bytes, this.#slices);
    if (found === null) {
      this.#allowance.take(Number(stat.size));
      return this.#refuse(path, 'changed while it was read', statKey(stat));
    }
    this.#allowance.take(found.bytes.length);
    const file = { path, type, mode: found.mode };
    this.items.push({ name: pathText(path), kind: 'file', bytes: found.bytes, path, file });
  }

  #takeLink(directory: OpenDirectory, path: BytePath): void {
    const target = readlinkSync(directory.at(baseNameOf(path)), { encoding: 'buffer' });
    this.#allowance.take(target.length);
    this.items.push(makeLinkItem(path, target));
  }

  #takeDenied(path: BytePath): void {
    this.#allowance.take(0);
    const bytes = new Uint8Array();
    this.items.push({ name: pathText(path), kind: 'text', bytes, path, file: null });
  }

  #refuse(path: BytePath, reason: string, key: string): void {
    this.#allowance.take(0);
    this.unread.push({ name: pathText(path), reason, key: `${path}\0${key}` });
  }
}

const reasons: ReadonlyMap<string, string> = new Map([
  ['ENOENT', 'there is no such file'],
  ['ENOTDIR', 'it leads through a link, or a file'],
  ['ELOOP', 'it leads through a link'],
  ['EACCES', 'it may not be read'],
  ['EPERM', 'it may not be read'],
]);

// Which files of a workspace an audience must not see, and which it may.

/**
 * Walks the whole tree, without any `.git`.
 *
 * @throws TrlError `QUOTA_EXCEEDED` if it is larger than the bound; the system's error if a denied
 *   file cannot be read: unknown content cannot be compared with what is sent
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
