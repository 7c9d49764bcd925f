/**
 * The side file of stored hashes. It is written behind the log and never waited for: what it lacks
 * after a crash, or has wrong, is made again out of the lines.
 */
import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  openSync,
  write,
  writeSync,
} from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { limits } from '../limits.ts';
import { linesBackward } from './backward.ts';
import { eventBegin, headBegin, noteOfLine } from './line.ts';
import { bytesOf, linesOf } from './lines.ts';
import { hashBytes, leafHash, storedHashCount, storedHashIndex, treeAt, Tree } from './merkle.ts';
import { readNote, type Checkpoint } from './note.ts';
import { fileNames, openRead, type Segment } from './segments.ts';
import { LogLost, type Trusts } from './store.ts';
import { withFile } from './tail.ts';

const { O_CREAT, O_NOFOLLOW, O_RDWR } = constants;
const writeAt = promisify(write);

/** Of a log. */
interface Lines {
  readonly segments: readonly Segment[];
  /** Bytes of the last segment that count. */
  readonly end: number;
  /** Over all of them. */
  readonly checkpoint: Checkpoint;
  readonly trusts: Trusts;
}

/** From where the lines have to be read. */
interface Known {
  /** Which segment. */
  readonly from: number;
  /** Byte in it. */
  readonly begin: number;
  readonly tree: Tree;
}

/** Some of the last groups. */
const linesNearEnd = 1000;

export class Nodes {
  readonly #fd: number;
  #writing: Promise<unknown> = Promise.resolve();

  constructor(directory: string) {
    this.#fd = openSync(
      path.join(directory, fileNames.nodes),
      O_RDWR | O_CREAT | O_NOFOLLOW,
      0o600,
    );
  }

  /** The tree at `checkpoint`; `null` where the file does not have it, or not with `lastLeaf`. */
  async tree({ size, root }: Checkpoint, lastLeaf: string | null = null): Promise<Tree | null> {
    if (fstatSync(this.#fd).size < storedHashCount(size) * hashBytes) return null;
    if (lastLeaf !== null && size > 0) {
      const leaf = this.#read(storedHashIndex(0, size - 1));
      if (leaf.toString('hex') !== lastLeaf) return null;
    }
    const tree = await treeAt(size, (index) => this.#read(index));
    return tree.root().equals(root) ? tree : null;
  }

  /** Behind the others; an error leaves a file that is made again. */
  append(index: number, hashes: readonly Buffer[]): void {
    const bytes = Buffer.concat(hashes);
    this.#writing = this.#writing
      .then(() => writeAt(this.#fd, bytes, 0, bytes.length, index * hashBytes))
      .catch(() => null);
  }

  /** Out of the lines. @throws LogLost when they are not what the last head covers */
  async rebuild({ segments, end, checkpoint, trusts }: Lines): Promise<Tree> {
    const { from, begin, tree } =
      (await this.#nearEnd(segments, end, checkpoint.size)) ??
      (await this.#atSegment(segments, trusts));
    for (const segment of segments.slice(from)) {
      const isFirst = segment === segments[from];
      const isLast = segment === segments.at(-1);
      withFile(segment.file, (fd, length) => {
        const range = { begin: isFirst ? begin : 0, end: isLast ? end : length };
        this.#replay(fd, range, tree);
      });
    }
    if (tree.size !== checkpoint.size || !tree.root().equals(checkpoint.root)) {
      throw new LogLost('its events are not those that its last head covers');
    }
    ftruncateSync(this.#fd, storedHashCount(tree.size) * hashBytes);
    return tree;
  }

  async close(): Promise<void> {
    await this.#writing;
    closeSync(this.#fd);
  }

  /** After a crash only what was written last lacks: the newest heads are asked first. */
  async #nearEnd(segments: readonly Segment[], end: number, size: number): Promise<Known | null> {
    const segment = segments.at(-1);
    if (segment === undefined) return null;
    const fd = openRead(segment.file);
    try {
      let begin = end;
      let looked = 0;
      for (const line of linesBackward(fd, end)) {
        const note = noteOfLine(line.toString());
        // Whether it was signed does not matter: the newest one was, and must come out.
        const head = note === null ? null : readNote(note);
        // What lies before the newest one is read in any case: something there did not fit.
        const isOlder = head !== null && head.checkpoint.size < size;
        const tree = isOlder ? await this.tree(head.checkpoint) : null;
        if (tree !== null) return { from: segments.length - 1, begin, tree };
        begin -= line.length + 1;
        looked += 1;
        if (looked > linesNearEnd) return null;
      }
    } finally {
      closeSync(fd);
    }
    return null;
  }

  /** The newest segment at whose beginning the file can be believed. */
  async #atSegment(segments: readonly Segment[], trusts: Trusts): Promise<Known> {
    for (let from = segments.length - 1; from > 0; from -= 1) {
      const segment = segments[from];
      const head = segment === undefined ? null : firstHead(segment, trusts);
      const tree = head === null ? null : await this.tree(head);
      if (tree !== null && tree.size === segment?.first) return { from, begin: 0, tree };
    }
    return { from: 0, begin: 0, tree: new Tree() };
  }

  #replay(
    fd: number,
    { begin, end }: { readonly begin: number; readonly end: number },
    tree: Tree,
  ): void {
    let index = storedHashCount(tree.size);
    let waiting: Buffer[] = [];
    const flush = (): void => {
      writeSync(this.#fd, Buffer.concat(waiting), 0, waiting.length * hashBytes, index * hashBytes);
      index += waiting.length;
      waiting = [];
    };
    for (const { buffer, start, end: stop, isWhole } of linesOf(fd, begin, end, lineBytesMax)) {
      const line = buffer.toString('utf8', start, stop);
      if (line.startsWith(headBegin)) continue;
      if (!isWhole || !line.startsWith(eventBegin)) throw new LogLost('it has lines of no kind');
      waiting.push(...tree.append(leafHash(line)));
      if (waiting.length > 10_000) flush();
    }
    flush();
  }

  #read(index: number): Buffer {
    return bytesOf(this.#fd, index * hashBytes, (index + 1) * hashBytes);
  }
}

/** An event of the largest size with its place in the chain. */
const lineBytesMax = limits.auditEventBytes.max + 1024;

/** The head that a segment begins with. */
export function firstHead(segment: Segment, trusts: Trusts): Checkpoint | null {
  return withFile(segment.file, (fd) => {
    const bytes = bytesOf(fd, 0, 1024);
    const end = bytes.indexOf(10);
    const note = end < 0 ? null : noteOfLine(bytes.toString('utf8', 0, end));
    return note === null ? null : trusts(note);
  });
}
