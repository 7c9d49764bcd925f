/** Adds objects to a repository of the host, each only as what its name says. */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { inflate } from 'node:zlib';
import type { BytePath } from '../../change.ts';
import { pathBytes, joinPath, baseNameOf, parentPathOf } from '../byte-path.ts';
import { runGit } from '../projection/git-process.ts';
import type { GitFiles } from './git-files.ts';

const inflated = promisify(inflate);
const objectBytesMax = 2 ** 31;
const objectMode = 0o444;
const packTimeoutMs = 600_000;
/** `blob 12`, a zero, and so much content. */
const heading = /^(?:blob|tree|commit|tag) (\d+)$/;

/** Whether the bytes of a loose object are what its name says. */
async function matchesObjectId(oid: string, bytes: Uint8Array): Promise<boolean> {
  try {
    const content = await inflated(bytes, { maxOutputLength: objectBytesMax });
    const zero = content.indexOf(0);
    const size = heading.exec(content.toString('latin1', 0, Math.max(0, zero)))?.[1];
    if (Number(size) !== content.length - zero - 1) return false;
    return createHash(algorithmOf(oid)).update(content).digest('hex') === oid;
  } catch {
    return false;
  }
}

export const algorithmOf = (oid: string): 'sha1' | 'sha256' =>
  oid.length === 40 ? 'sha1' : 'sha256';

/** The object id that a file's content has. */
export function blobId(bytes: Uint8Array, algorithm: 'sha1' | 'sha256'): string {
  return createHash(algorithm).update(`blob ${bytes.length}\0`).update(bytes).digest('hex');
}

export class ObjectStore {
  readonly #files: GitFiles;
  readonly #objects: BytePath;

  constructor(files: GitFiles, common: BytePath) {
    this.#files = files;
    this.#objects = joinPath(common, 'objects');
  }

  has(oid: string): boolean {
    return this.#files.stat(this.#place(oid)) !== null;
  }

  /** `false`: the bytes are something else. */
  async add(oid: string, bytes: Uint8Array): Promise<boolean> {
    if (this.has(oid)) return true;
    if (!(await matchesObjectId(oid, bytes))) return false;
    this.#put(this.#place(oid), bytes);
    return true;
  }

  /** Adds every loose object and pack of a directory that git of ours has written. */
  async addAll(directory: string): Promise<void> {
    for (const two of readdirSync(directory).filter((name) => /^[0-9a-f]{2}$/.test(name))) {
      for (const rest of readdirSync(path.join(directory, two))) {
        await this.add(`${two}${rest}`, readFileSync(path.join(directory, two, rest)));
      }
    }
  }

  /**
   * Adds a pack that a command wrote: git reads it whole and writes a new index for it.
   *
   * @param workplace an empty directory
   * @throws GitFailure if it is no pack
   */
  async addPack(bytes: Uint8Array, workplace: string, env: GitEnvironment): Promise<void> {
    mkdirSync(workplace, { recursive: true });
    const made = path.join(workplace, 'taken.pack');
    try {
      writeFileSync(made, bytes);
      const args = ['index-pack', made];
      const said = await runGit({ args, env, timeoutMs: packTimeoutMs });
      const name = `pack/pack-${said.trim().split(/\s/).at(-1) ?? ''}`;
      for (const end of ['pack', 'idx']) {
        const at = joinPath(this.#objects, `${name}.${end}`);
        if (this.#files.stat(at) === null) {
          this.#put(at, readFileSync(path.join(workplace, `taken.${end}`)));
        }
      }
    } finally {
      rmSync(workplace, { recursive: true, force: true });
    }
  }

  #put(at: BytePath, bytes: Uint8Array): void {
    const made = joinPath(parentPathOf(at), `tmp_obj_trl-${this.#files.id}-${baseNameOf(at)}`);
    this.#files.makeParents(at);
    this.#files.remove(made);
    this.#files.create(made, bytes, objectMode);
    this.#files.name(made, at);
  }

  #place(oid: string): BytePath {
    return joinPath(this.#objects, `${oid.slice(0, 2)}/${oid.slice(2)}`);
  }
}

/** For git that reads objects in the name of an empty repository. */
export type GitEnvironment = Readonly<Record<string, string>>;

/** The ids in the index of a pack, which anybody may have written; `null`: it cannot be read. */
export function objectIdsOfPack(index: Uint8Array, algorithm: 'sha1' | 'sha256'): string[] | null {
  const bytes = Buffer.from(index);
  const [table, idBytes] = [8 + 255 * 4, algorithm === 'sha1' ? 20 : 32];
  if (bytes.length < table + 4 || bytes.readUInt32BE(0) !== 0xff744f63) return null;
  const count = bytes.readUInt32BE(table);
  if (bytes.length < table + 4 + count * idBytes) return null;
  return Array.from({ length: count }, (_, at) => {
    const from = table + 4 + at * idBytes;
    return bytes.toString('hex', from, from + idBytes);
  });
}

/** As git reads `objects/info/alternates`; `null`: a name that it cannot have. */
export function alternatesLine(directory: BytePath): Buffer | null {
  return directory.includes('\n') ? null : pathBytes(`${directory}\n`);
}
