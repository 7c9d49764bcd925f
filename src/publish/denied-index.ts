/**
 * The denied files, and the files that the audience can already see, as an index that finds
 * passages quickly. `DeniedIndex` is updated file by file and reports which passages of a text come
 * from denied files.
 */
import { hash } from 'node:crypto';
import { utf16ToUtf8 } from '../encodings/text.ts';
import { GramHashes, winnowGrams } from './fingerprint.ts';
import { FingerprintTable, IndexedContents, type IndexedContent } from './index-table.ts';
import { hashLines, VisibleFiles } from './index-lines.ts';
import { PassageMatcher, type PassageMatch } from './match.ts';
import { ShortContents } from './match-short.ts';
import { NormalText, normaliseText } from './view-normal.ts';

export interface IndexStats {
  readonly deniedFiles: number;
  /** Of the original files; equal contents count once. */
  readonly deniedBytes: number;
  readonly visibleFiles: number;
  readonly fingerprints: number;
  /** Memory for denied files, `bytes`. */
  readonly indexBytes: number;
  /** Memory for visible files, `bytes`. */
  readonly visibleBytes: number;
}

/** The whole content of an index, in the order of insertion. */
export interface SavedIndex {
  readonly contents: readonly {
    readonly digest: string;
    readonly chars: Uint8Array;
    readonly base: number;
    readonly size: number;
    readonly paths: Iterable<string>;
  }[];
  readonly visible: readonly {
    readonly path: string;
    readonly digest: string;
    readonly lines: Uint32Array;
  }[];
  /** Fingerprint, position, fingerprint, position … */
  readonly pairs: Uint32Array;
}

export class DeniedIndex {
  /** Whether it differs from the last saved or restored state. */
  isChanged = false;
  readonly #denied = new Map<string, IndexedContent>();
  readonly #visible = new VisibleFiles();
  readonly #normal = new NormalText();
  readonly #grams = new GramHashes();
  readonly #kept = new GramHashes();
  #table = new FingerprintTable();
  #contents = new IndexedContents();
  #short = new ShortContents();
  #matcher = this.#newMatcher();

  /** Adds a denied file or replaces its content. The cost grows with the length of `bytes`. */
  put(path: string, bytes: Uint8Array): void {
    const digest = digestOf(bytes);
    if (this.has(path, digest)) return;
    this.remove(path);
    this.isChanged = true;
    const known = this.#contents.get(digest);
    const content =
      known ?? this.#index(digest, normaliseText(textOf(bytes), this.#normal), bytes.length);
    content.paths.add(path);
    this.#denied.set(path, content);
  }

  /** The cost grows with the length of the content, unless another file has the same. */
  remove(path: string): void {
    const content = this.#denied.get(path);
    if (content === undefined) return;
    this.isChanged = true;
    this.#denied.delete(path);
    content.paths.delete(path);
    if (content.paths.size > 0) return;
    this.#fingerprints(content.chars);
    const { hashes, starts, count } = this.#kept;
    for (let i = 0; i < count; i += 1) {
      this.#table.delete(hashes[i] ?? 0, content.base + (starts[i] ?? 0));
    }
    this.#short.delete(content);
    this.#contents.delete(content);
  }

  /** Whether the denied file has this content; `digest`: SHA-256 of its bytes in lower-case hex. */
  has(path: string, digest: string): boolean {
    return this.#denied.get(path)?.digest === digest;
  }

  /** Adds a file that the audience can already see, or replaces its content. */
  putVisible(path: string, bytes: Uint8Array): void {
    const digest = digestOf(bytes);
    if (this.hasVisible(path, digest)) return;
    this.isChanged = true;
    this.#visible.put(path, digest, () => hashLines(normaliseText(textOf(bytes), this.#normal)));
  }

  removeVisible(path: string): void {
    this.isChanged ||= this.#visible.digest(path) !== undefined;
    this.#visible.delete(path);
  }

  /** Whether the visible file has this content. */
  hasVisible(path: string, digest: string): boolean {
    return this.#visible.digest(path) === digest;
  }

  deniedPaths(): Iterable<string> {
    return this.#denied.keys();
  }

  visiblePaths(): Iterable<string> {
    return this.#visible.paths();
  }

  /**
   * Passages of denied files in `text`, highest score first, without those that are mostly within a
   * better one. Synchronous: some milliseconds for 64 KiB, so longer texts go through {@link
   * matchDeniedText}.
   */
  match(text: Uint8Array): readonly PassageMatch[] {
    return this.#denied.size === 0 ? [] : this.#matcher.match(text);
  }

  stats(): IndexStats {
    let deniedBytes = 0;
    for (const { size } of this.#contents.all()) deniedBytes += size;
    return {
      deniedFiles: this.#denied.size,
      deniedBytes,
      visibleFiles: this.#visible.count,
      fingerprints: this.#table.count,
      indexBytes: this.#table.bytes + this.#contents.bytes,
      visibleBytes: this.#visible.bytes,
    };
  }

  /** Everything that {@link DeniedIndex.fromSaved} needs. */
  toSaved(): SavedIndex {
    const contents = [...this.#contents.all()];
    const visible = [...this.#visible.paths()].map((path) => {
      const lines = this.#visible.linesOf(path) ?? new Uint32Array(0);
      return { path, digest: this.#visible.digest(path) ?? '', lines };
    });
    return { contents, visible, pairs: this.#table.pairs() };
  }

  static fromSaved({ contents, visible, pairs }: SavedIndex): DeniedIndex {
    const index = new DeniedIndex();
    for (const { digest, chars, base, size, paths } of contents) {
      index.#contents.skipTo(base);
      const content = index.#contents.add(digest, chars, size);
      if (content === null || content.base !== base) throw new RangeError('places overlap');
      for (const path of paths) {
        content.paths.add(path);
        index.#denied.set(path, content);
      }
      index.#short.add(content);
    }
    index.#table.reserve(pairs.length / 2);
    for (let i = 0; i < pairs.length; i += 2) index.#table.add(pairs[i] ?? 0, pairs[i + 1] ?? 0);
    for (const { path, digest, lines } of visible) index.#visible.put(path, digest, () => lines);
    return index;
  }

  /** Adds a content that no file has yet. */
  #index(digest: string, chars: Uint8Array, size: number): IndexedContent {
    const content = this.#contents.add(digest, chars, size);
    if (content === null) {
      this.#rebuild();
      return this.#index(digest, chars, size);
    }
    this.#fingerprints(chars);
    const { hashes, starts, count } = this.#kept;
    this.#table.reserve(count);
    for (let i = 0; i < count; i += 1) {
      this.#table.add(hashes[i] ?? 0, content.base + (starts[i] ?? 0));
    }
    this.#short.add(content);
    return content;
  }

  #fingerprints(chars: Uint8Array): void {
    this.#grams.compute(chars, chars.length);
    winnowGrams(chars, this.#grams, this.#kept);
  }

  /** Assigns all positions again, after contents of 4 GiB in total came and went. */
  #rebuild(): void {
    const old = this.#contents;
    this.#table = new FingerprintTable();
    this.#contents = new IndexedContents();
    this.#short = new ShortContents();
    this.#matcher = this.#newMatcher();
    for (const { digest, chars, size, paths } of old.all()) {
      const content = this.#index(digest, chars, size);
      for (const path of paths) {
        content.paths.add(path);
        this.#denied.set(path, content);
      }
    }
  }

  #newMatcher(): PassageMatcher {
    const sources = { table: this.#table, contents: this.#contents, short: this.#short };
    return new PassageMatcher({ ...sources, visible: this.#visible.lines });
  }
}

function digestOf(bytes: Uint8Array): string {
  return hash('sha256', bytes, 'hex');
}

/** UTF-16 with a byte order mark as UTF-8; anything else unchanged. */
function textOf(bytes: Uint8Array): Uint8Array {
  const mark = ((bytes[0] ?? 0) << 8) | (bytes[1] ?? 0);
  if (mark !== 0xfffe && mark !== 0xfeff) return bytes;
  return utf16ToUtf8(bytes, mark === 0xfffe ? 'little' : 'big');
}

const windowBytes = 64 * 1024;
const overlapBytes = 4 * 1024;

/**
 * `index.match` for texts of any length. It splits the text at line ends into windows of about 64
 * KiB that overlap by 4 KiB, so that any shorter passage is whole in one window, and awaits
 * `yieldToEventLoop` between them. A longer passage gives several matches.
 */
export async function matchDeniedText(
  index: DeniedIndex,
  text: Uint8Array,
  yieldToEventLoop: () => Promise<void>,
): Promise<readonly PassageMatch[]> {
  if (text.length <= windowBytes) return index.match(text);
  const matches: PassageMatch[] = [];
  let reportedTo = 0;
  for (let from = 0; from < text.length;) {
    const to = windowEnd(text, from);
    for (const match of index.match(text.subarray(from, to))) {
      const span = [match.span[0] + from, match.span[1] + from] as const;
      // A match in the overlap was reported with the window before.
      if (span[1] > reportedTo) matches.push({ ...match, span });
    }
    if (to === text.length) break;
    reportedTo = to;
    from = to - overlapBytes;
    await yieldToEventLoop();
  }
  return matches.toSorted((a, b) => b.novel - a.novel);
}

function windowEnd(text: Uint8Array, from: number): number {
  if (text.length - from <= windowBytes) return text.length;
  const end = from + windowBytes;
  const line = text.lastIndexOf(0x0a, end - 1) + 1;
  // A line longer than a window is split anywhere.
  return line > end - overlapBytes ? line : end;
}
