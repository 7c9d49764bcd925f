/** The lines of the files that an audience sees already. */
import { LineCounts } from './index-lines.ts';

interface SeenContent {
  readonly digest: string;
  /** Two numbers for each line (index-lines.ts). */
  readonly lines: Uint32Array;
  paths: number;
}

export class VisibleFiles {
  readonly lines = new LineCounts();
  readonly #byPath = new Map<string, SeenContent>();
  readonly #byDigest = new Map<string, SeenContent>();
  #lineBytes = 0;

  get count(): number {
    return this.#byPath.size;
  }
  get bytes(): number {
    return this.#lineBytes + this.lines.bytes + this.#byPath.size * 200;
  }

  digest(path: string): string | undefined {
    return this.#byPath.get(path)?.digest;
  }
  paths(): Iterable<string> {
    return this.#byPath.keys();
  }
  linesOf(path: string): Uint32Array | undefined {
    return this.#byPath.get(path)?.lines;
  }

  /** `hashes`: asked for where no other file has this content. */
  put(path: string, digest: string, hashes: () => Uint32Array): void {
    this.delete(path);
    let content = this.#byDigest.get(digest);
    if (content === undefined) {
      content = { digest, lines: hashes(), paths: 0 };
      this.#byDigest.set(digest, content);
      this.lines.add(content.lines);
      this.#lineBytes += content.lines.byteLength;
    }
    content.paths += 1;
    this.#byPath.set(path, content);
  }

  delete(path: string): void {
    const content = this.#byPath.get(path);
    if (content === undefined) return;
    this.#byPath.delete(path);
    content.paths -= 1;
    if (content.paths > 0) return;
    this.#byDigest.delete(content.digest);
    this.lines.delete(content.lines);
    this.#lineBytes -= content.lines.byteLength;
  }
}
