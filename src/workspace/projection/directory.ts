/** Directories of a tree by byte paths of any depth, read without following a last link. */
import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync } from 'node:fs';
import type { BigIntStats, Dirent } from 'node:fs';
import type { BytePath } from '../../change.ts';

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
/** Well below PATH_MAX (4096 bytes), and room for `/proc/self/fd/N/`. */
const stepBytesMax = 3_000;

/** The bytes of a byte path. */
export function bytesOf(path: BytePath): Buffer {
  return Buffer.from(path, 'latin1');
}

/** The byte path of a string of the host, which is UTF-8. */
export function bytePathOf(text: string): BytePath {
  return Buffer.from(text, 'utf8').toString('latin1');
}

export function joined(directory: BytePath, name: string): BytePath {
  return directory === '' ? name : `${directory}/${name}`;
}

/** What holds `path`; `''` for what lies at the root. */
export function parentOf(path: BytePath): BytePath {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}

/** Whether `paths` holds `path` or what holds it. */
export function isAtOrBelow(path: BytePath, paths: ReadonlySet<BytePath>): boolean {
  return paths.has(path) || isBelow(path, paths);
}

/** Whether `paths` holds what holds `path`. */
export function isBelow(path: BytePath, paths: ReadonlySet<BytePath>): boolean {
  for (let at = path; at !== '';) {
    at = parentOf(at);
    if (paths.has(at)) return true;
  }
  return false;
}

/** Without what lies below another of them, in byte order. */
export function topmost(paths: readonly BytePath[]): BytePath[] {
  const all = new Set(paths);
  return [...all].filter((path) => !isBelow(path, all)).toSorted();
}

export function sameList(one: readonly BytePath[], other: readonly BytePath[]): boolean {
  return one.length === other.length && one.every((path, at) => path === other[at]);
}

/** A directory held open. What it names stays the same whatever is renamed meanwhile. */
export class OpenDirectory {
  readonly #fd: number;

  private constructor(fd: number) {
    this.#fd = fd;
  }

  /**
   * Opens `path` below `root`, which is a path of the host; in several steps where it is long.
   *
   * @throws the system's error where it is missing, no directory, a link, or not to be read
   */
  static open(root: string, path: BytePath = ''): OpenDirectory {
    let from: Buffer = Buffer.from(root, 'utf8');
    let held: number | null = null;
    try {
      for (const step of steps(path)) {
        const name = step === '' ? from : Buffer.concat([from, bytesOf(`/${step}`)]);
        const fd = openSync(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK);
        if (held !== null) closeSync(held);
        held = fd;
        from = Buffer.from(`/proc/self/fd/${fd}`);
      }
    } catch (error) {
      if (held !== null) closeSync(held);
      throw error;
    }
    // There is always one step.
    return new OpenDirectory(held ?? -1);
  }

  /** A path of the host for this directory, as long as it is open. */
  get self(): string {
    return `/proc/self/fd/${this.#fd}`;
  }

  /** A path of the host for an entry, as long as this is open. */
  at(name: string): Buffer {
    return bytesOf(`${this.self}/${name}`);
  }

  stat(): BigIntStats {
    return fstatSync(this.#fd, { bigint: true });
  }

  /** What stands at a name; `null`: nothing. */
  look(name: string): BigIntStats | null {
    return lstatSync(this.at(name), { bigint: true, throwIfNoEntry: false }) ?? null;
  }

  /** @throws the system's error where it cannot be read */
  entries(): Dirent<Buffer>[] {
    return readdirSync(this.self, { withFileTypes: true, encoding: 'buffer' });
  }

  [Symbol.dispose](): void {
    closeSync(this.#fd);
  }
}

/** A path in parts that the kernel takes at once. One component is at most 255 bytes. */
function steps(path: BytePath): string[] {
  if (path.length <= stepBytesMax) return [path];
  const found: string[] = [];
  let step = '';
  for (const part of path.split('/')) {
    if (step.length + part.length >= stepBytesMax) {
      found.push(step);
      step = part;
    } else {
      step = joined(step, part);
    }
  }
  return [...found, step];
}

/** Gives other work a turn before it waited for long. */
export class Slices {
  readonly #sliceMs: number;
  #until: number;

  constructor(sliceMs = 4) {
    this.#sliceMs = sliceMs;
    this.#until = performance.now() + sliceMs;
  }

  /** Whether it is time to wait for {@link turn}. */
  get over(): boolean {
    return performance.now() >= this.#until;
  }

  async turn(): Promise<void> {
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
    this.#until = performance.now() + this.#sliceMs;
  }
}
