/**
 * Searches lines in an execution's stored output, one chunk at a time, so that memory is bounded by
 * the size of the answer.
 */
import type { ExecId } from '../../command.ts';
import { limits } from '../../limits.ts';
import type { RunnerLink } from '../../process/runner-link.ts';
import type { JournalRange } from './read-output.ts';

type OutputChunk = JournalRange['pieces'][number];
type Stream = OutputChunk['stream'];

export interface LineFilter {
  /** Lines with this text; `null`: all. */
  readonly grep: string | null;
  /** The last so many; `null`: the first that fit. */
  readonly tail: number | null;
  /** Bytes of the answer. */
  readonly max: number;
}

export interface LineSearchResult extends JournalRange {
  /** Lines that were asked for and are cut, or not answered, as they are over `max`. */
  readonly omitted: number;
}

/** One line of one stream; the other stream's output may be between its chunks. */
interface Line {
  readonly start: number;
  readonly pieces: OutputChunk[];
  /** Bytes in `pieces`, which are the start of the line. */
  kept: number;
  bytes: number;
  isFound: boolean;
  /** The last bytes that were searched: the text may span two chunks. */
  seen: Buffer;
}

const newline = 10;

export class LineSearch {
  readonly #filter: LineFilter;
  readonly #text: Buffer | null;
  readonly #open = new Map<Stream, Line>();
  /** In the order in which they ended. */
  #found: Line[] = [];
  /** Those before it were dropped. */
  #first = 0;
  #kept = 0;
  #total = 0;
  /** Where the first line begins that did not fit; `null`: all did. */
  #full: number | null = null;

  constructor(filter: LineFilter) {
    this.#filter = filter;
    this.#text = filter.grep === null ? null : Buffer.from(filter.grep);
  }

  /** Answers whether more is wanted. */
  take(stream: Stream, offset: number, bytes: Buffer): boolean {
    for (let at = 0; at < bytes.length && this.#full === null;) {
      const end = bytes.indexOf(newline, at);
      const stop = end < 0 ? bytes.length : end + 1;
      const line = this.#add(stream, offset + at, bytes.subarray(at, stop));
      if (end >= 0) this.#end(stream, line);
      at = stop;
    }
    return this.#full === null;
  }

  /** What is missing is in no line. */
  interrupt(): void {
    for (const [stream, line] of this.#open) this.#end(stream, line);
  }

  /** @param reached offset up to which everything was taken */
  result(reached: number): Pick<LineSearchResult, 'pieces' | 'next' | 'omitted'> {
    this.interrupt();
    const found = this.#found.slice(this.#first);
    const pieces = found.flatMap((line) => line.pieces);
    const wanted = Math.min(this.#total, this.#filter.tail ?? Infinity);
    const cut = found.filter(({ kept, bytes }) => kept < bytes).length;
    return {
      pieces: pieces.toSorted((a, b) => a.offset - b.offset),
      next: this.#full ?? reached,
      omitted: wanted - found.length + cut,
    };
  }

  #add(stream: Stream, offset: number, bytes: Buffer): Line {
    const { max } = this.#filter;
    const line = this.#open.get(stream) ?? {
      start: offset,
      pieces: [],
      kept: 0,
      bytes: 0,
      isFound: this.#text === null,
      seen: Buffer.alloc(0),
    };
    this.#open.set(stream, line);
    line.bytes += bytes.length;
    if (!line.isFound && this.#text !== null) {
      const looked = Buffer.concat([line.seen, bytes]);
      line.isFound = looked.includes(this.#text);
      line.seen = looked.subarray(Math.max(0, looked.length - this.#text.length + 1));
    }
    // A copy: a slice would keep the whole message of the runner in memory.
    const own = Buffer.from(bytes.subarray(0, Math.max(0, max - line.kept)));
    if (own.length > 0) line.pieces.push({ stream, offset, bytes: own });
    line.kept += own.length;
    return line;
  }

  #end(stream: Stream, line: Line): void {
    this.#open.delete(stream);
    if (!line.isFound || this.#full !== null) return;
    const { max, tail } = this.#filter;
    if (tail === null && this.#found.length > 0) {
      const isFull = this.#kept + line.kept > max || this.#found.length >= linesMax;
      if (isFull) {
        this.#full = line.start;
        return;
      }
    }
    this.#found.push(line);
    this.#kept += line.kept;
    this.#total += 1;
    if (tail === null) return;
    while (this.#found.length - this.#first > tail || this.#kept > max) this.#dropFirst();
    if (this.#first * 2 < this.#found.length) return;
    this.#found = this.#found.slice(this.#first);
    this.#first = 0;
  }

  #dropFirst(): void {
    this.#kept -= this.#found[this.#first]?.kept ?? 0;
    this.#first += 1;
  }
}

const linesMax = 100_000;

/** Looks through what the journal has from `from` up to `to`. */
export async function searchLines(
  link: RunnerLink,
  id: ExecId,
  range: { readonly from: number; readonly to: number },
  filter: LineFilter,
): Promise<LineSearchResult> {
  const search = new LineSearch(filter);
  let next = range.from;
  let gap: JournalRange['gap'] = null;
  const { promise: done, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, limits.slowReaderMs.default * 6);
  const following = link.follow(
    id,
    { from: range.from, max: range.to - range.from },
    {
      output: (stream, offset, bytes) => {
        const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
        if (!search.take(stream, offset, view)) resolve();
        next = offset + bytes.length;
      },
      gap: (from, to) => {
        search.interrupt();
        gap = { from: gap?.from ?? from, to };
        next = to;
      },
      end: () => resolve(),
    },
  );
  following.catch(reject);
  try {
    await done;
  } finally {
    clearTimeout(timer);
    void following.then((stop) => stop()).catch(() => {});
  }
  return { ...search.result(next), gap };
}
