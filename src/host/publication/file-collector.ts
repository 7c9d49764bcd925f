/** Reads files of a workspace as they are: no link is followed, no FIFO or device opened. */
import { closeSync, constants, fstatSync, openSync, readlinkSync, readSync } from 'node:fs';
import type { BytePath } from '../../change.ts';
import { TrlError } from '../../errors.ts';
import {
  makeLinkItem,
  type PublicationBudget,
  type OutgoingItem,
  type UnscannedItem,
} from '../../publish/publication.ts';
import { joinPath, baseNameOf, parentPathOf, pathText } from '../../workspace/byte-path.ts';
import { errnoCodeOf } from '../../workspace/descriptor.ts';
import { OpenDirectory } from '../../workspace/projection/open-directory.ts';
import { TimeSlices } from '../../workspace/time-slices.ts';
import { permissionsOf, statKey, entryTypeOf } from '../../workspace/stat.ts';
import type { WorkspaceFileContent } from '../port.ts';

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
const stepBytes = 1024 * 1024;

/**
 * The bytes of a regular file of an open directory; `null`: it is none (any more), or larger than
 * `bytesMax`.
 *
 * @throws the system's error where it cannot be read
 */
export async function readFileIn(
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
export function openParentDirectory(root: string, path: BytePath): OpenDirectory {
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

  /** @param isDenied of what is denied the path says it all: whether it is there is not told */
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
