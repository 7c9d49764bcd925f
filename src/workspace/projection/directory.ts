/** Directories of a tree by byte paths of any depth, read without following a last link. */
import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync } from 'node:fs';
import type { BigIntStats, Dirent } from 'node:fs';
import type { BytePath } from '../../change.ts';
import { bytesOf, joined } from '../byte-path.ts';
import { below } from '../descriptor.ts';

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
/** Well below PATH_MAX (4096 bytes), and room for `/proc/self/fd/N/`. */
const stepBytesMax = 3_000;

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
    return below(this.#fd, name);
  }

  stat(): BigIntStats {
    return fstatSync(this.#fd, { bigint: true });
  }

  /** What stands at a name; `null`: nothing. */
  look(name: string): BigIntStats | null {
    return lstatSync(this.at(name), { bigint: true, throwIfNoEntry: false }) ?? null;
  }

  /** How many names the file at a name has; 0: nothing stands there. */
  links(name: string): number {
    return lstatSync(this.at(name), { throwIfNoEntry: false })?.nlink ?? 0;
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
