/**
 * What is denied and what the audience already sees, in a form in which text is looked for fast:
 * `DeniedIndex` is kept up to date file by file and answers which passages of a text are taken
 * from denied files.
 */

/** A passage of a text that is, apart from white space and quotes, one of a denied file. */
export interface Match {
  /** The denied file, as it was given to `put`. */
  readonly path: string;
  /** Lines `[from, to]` of the denied file, from 1. */
  readonly lines: readonly [number, number];
  /** Bytes `[from, to)` of the text as it was given. */
  readonly span: readonly [number, number];
  /** Characters (bytes that are no white space) that are the same. */
  readonly length: number;
  /** Those among them that the audience does not know yet: the score. */
  readonly novel: number;
  /** How the lines of the text were read. */
  readonly via: 'text' | 'prefix' | 'marker' | 'literal';
  /** At most 200 characters of the text. */
  readonly text: string;
}

export interface IndexStats {
  readonly deniedFiles: number;
  readonly deniedBytes: number;
  readonly seenFiles: number;
  readonly fingerprints: number;
  /** All that is held in memory for denied files, `bytes`. */
  readonly indexBytes: number;
  /** All that is held in memory for what is seen, `bytes`. */
  readonly seenBytes: number;
}

export class DeniedIndex {
  /** Adds a denied file, or gives it another content. Cost: what `bytes` is long. */
  put(path: string, bytes: Uint8Array): void {
    throw new Error(`not here yet: ${path} ${bytes.length}`);
  }
  remove(path: string): void {
    throw new Error(`not here yet: ${path}`);
  }
  /** Whether the denied file has this content; `digest`: SHA-256 of its bytes in lower-case hex. */
  has(path: string, digest: string): boolean {
    throw new Error(`not here yet: ${path} ${digest}`);
  }
  /** Adds a file that the audience sees already, or gives it another content. */
  see(path: string, bytes: Uint8Array): void {
    throw new Error(`not here yet: ${path} ${bytes.length}`);
  }
  unsee(path: string): void {
    throw new Error(`not here yet: ${path}`);
  }
  /** Whether the seen file has this content. */
  sees(path: string, digest: string): boolean {
    throw new Error(`not here yet: ${path} ${digest}`);
  }
  deniedPaths(): Iterable<string> {
    throw new Error('not here yet');
  }
  seenPaths(): Iterable<string> {
    throw new Error('not here yet');
  }
  /**
   * Passages of denied files in `text`, largest score first; spans of one source do not overlap.
   * Synchronous: some milliseconds for 64 KiB, so longer texts go through `matchText`.
   */
  match(text: Uint8Array): readonly Match[] {
    throw new Error(`not here yet: ${text.length}`);
  }
  stats(): IndexStats {
    throw new Error('not here yet');
  }
}

/**
 * `index.match` for texts of any length: cut at line ends into pieces of 64 KiB that overlap by
 * 4 KiB, so that what is shorter than that is whole in one piece; `turn` is awaited between them.
 */
export async function matchText(
  index: DeniedIndex,
  text: Uint8Array,
  turn: () => Promise<void>,
): Promise<readonly Match[]> {
  await turn();
  return index.match(text);
}
