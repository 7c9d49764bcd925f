/**
 * What is in a directory that is told as one: an entry a line, so that it can be told later whether
 * it still is as it came. A line is `KEY PATH` and ends in NUL; paths begin in it.
 */
import type { BytePath, StatKey, DirectorySummary } from '../../change.ts';
import type { ContentStore } from '../../content-store.ts';
import { pathBytes } from '../byte-path.ts';

const partBytes = 256 * 1024;

export interface ManifestLine {
  readonly key: StatKey;
  readonly path: BytePath;
}

/** Keeps lines as they come, and holds no more than a part of them. */
export class ManifestWriter {
  readonly #contents: Pick<ContentStore, 'put'>;
  readonly #hashes: string[] = [];
  #lines: string[] = [];
  #size = 0;

  constructor(contents: Pick<ContentStore, 'put'>) {
    this.#contents = contents;
  }

  add({ key, path }: ManifestLine): void {
    const line = `${key} ${path}\0`;
    if (this.#size + line.length > partBytes) this.#flush();
    this.#lines.push(line);
    this.#size += line.length;
  }

  end(): readonly string[] {
    this.#flush();
    return this.#hashes;
  }

  #flush(): void {
    if (this.#size > 0) this.#hashes.push(this.#contents.put(pathBytes(this.#lines.join(''))));
    this.#lines = [];
    this.#size = 0;
  }
}

/** Directories before what is in them. Ends early, with `null`, where a part is not kept. */
export async function* readManifest(
  { manifest }: DirectorySummary,
  contents: Pick<ContentStore, 'read'>,
): AsyncGenerator<ManifestLine | null> {
  for (const sha256 of manifest) {
    const part = await contents.read(sha256);
    if (part === null) {
      yield null;
      return;
    }
    for (const line of part.toString('latin1').split('\0').slice(0, -1)) {
      const end = line.indexOf(' ');
      yield { key: line.slice(0, end), path: line.slice(end + 1) };
    }
  }
}
