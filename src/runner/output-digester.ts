/** Digests of what one command printed, as it went into the journal. */
import { createHash, hash, type Hash } from 'node:crypto';
import type { OutputDigests } from '../command.ts';
import type { JournalStream } from './journal.ts';

/** How often the running digests of a command that prints are told. */
const tellEveryMs = 1_000;
const nothing = hash('sha256', '');

export class OutputDigester {
  readonly #hashes: Record<JournalStream, Hash | null> = { stdout: null, stderr: null };
  readonly #tell: () => void;
  #timer: NodeJS.Timeout | null = null;

  /** @param tell called at most once a second, when there was output since. Must not throw */
  constructor(tell: () => void) {
    this.#tell = tell;
  }

  add(stream: JournalStream, bytes: Uint8Array): void {
    // Made at the first byte: most streams of most commands stay empty.
    this.#hashes[stream] ??= createHash('sha256');
    this.#hashes[stream].update(bytes);
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#tell();
    }, tellEveryMs);
  }

  /** Of all bytes so far. */
  get(): OutputDigests {
    const { stdout, stderr } = this.#hashes;
    return { stdout_sha256: hexOf(stdout), stderr_sha256: hexOf(stderr) };
  }

  /** Nothing more is told. */
  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}

const hexOf = (running: Hash | null): string => running?.copy().digest('hex') ?? nothing;
