/**
 * Digests of programs. Those of the system are large and rarely change: each is read once, and
 * again only when its inode shows that it may have changed.
 */
import { createHash } from 'node:crypto';
import { constants, statSync, type BigIntStats } from 'node:fs';
import { open } from 'node:fs/promises';

/** A program that started, or that the text of a command names. */
export interface CommandProgram {
  /** As the command names it: `npm`, `./build.sh`. */
  readonly name: string;
  readonly role: 'shell' | 'executable' | 'script' | 'package-script';
  /** Absolute and without symbolic links; `null`: not found. */
  readonly path: string | null;
  /** Hex, of its content; `null`: not read. */
  readonly sha256: string | null;
  /** Hex, of device, inode, size and times; `null`: unknown, or `sha256` is known. */
  readonly identity: string | null;
}

/** Larger ones are recorded by their identity: reading them would delay concurrent work. */
const programBytesMax = 16 * 1024 * 1024;
const knownMax = 1_024;

interface KnownDigest {
  readonly key: string;
  readonly sha256: string;
}

export class ProgramDigests {
  readonly #known = new Map<string, KnownDigest>();

  /** Reads the content unless it is known. Must not throw: an unreadable file stays unknown. */
  async learn(path: string): Promise<void> {
    if (this.#current(path).sha256 !== null) return;
    try {
      const { O_RDONLY, O_NONBLOCK, O_NOCTTY } = constants;
      await using file = await open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
      const before = await file.stat({ bigint: true });
      if (!before.isFile() || before.size > programBytesMax) return;
      const hash = createHash('sha256').update(await file.readFile());
      // A file that changed while it was read has neither content.
      if (keyOf(await file.stat({ bigint: true })) !== keyOf(before)) return;
      this.#keep(path, { key: keyOf(before), sha256: hash.digest('hex') });
    } catch {
      this.#known.delete(path);
    }
  }

  /** What is known about the file as it is now. */
  of(path: string): Pick<CommandProgram, 'sha256' | 'identity'> {
    const { key, sha256 } = this.#current(path);
    if (key === null || sha256 !== null) return { sha256, identity: null };
    return { sha256, identity: createHash('sha256').update(key).digest('hex') };
  }

  #current(path: string): { readonly key: string | null; readonly sha256: string | null } {
    try {
      const key = keyOf(statSync(path, { bigint: true }));
      const known = this.#known.get(path);
      return { key, sha256: known?.key === key ? known.sha256 : null };
    } catch {
      return { key: null, sha256: null };
    }
  }

  #keep(path: string, known: KnownDigest): void {
    const [oldest] = this.#known.keys();
    if (this.#known.size >= knownMax && oldest !== undefined) this.#known.delete(oldest);
    this.#known.set(path, known);
  }
}

const keyOf = ({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string =>
  [dev, ino, size, mtimeNs, ctimeNs].join(':');
