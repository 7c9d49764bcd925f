/** Digests of what one command printed, as it went into the journal. */
import { createHash, hash, type Hash } from 'node:crypto';
import type { OutputDigests } from '../command.ts';
import type { JournalStream } from './journal.ts';

/** How often running digests are reported. */
const tellEveryMs = 1_000;
const nothing = hash('sha256', '');

export class OutputDigester {
  readonly #hashes: Record<JournalStream, Hash | null> = { stdout: null, stderr: null };
  readonly #report: () => void;
  #timer: NodeJS.Timeout | null = null;

  /** @param report called at most once a second, after new output. Must not throw */
  constructor(report: () => void) {
    this.#report = report;
  }

  add(stream: JournalStream, bytes: Uint8Array): void {
    // Made at the first byte: most streams of most commands stay empty.
    this.#hashes[stream] ??= createHash('sha256');
    this.#hashes[stream].update(bytes);
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#report();
    }, tellEveryMs);
  }

  /** Of all bytes so far. */
  get(): OutputDigests {
    const { stdout, stderr } = this.#hashes;
    return { stdout_sha256: hexOf(stdout), stderr_sha256: hexOf(stderr) };
  }

  /** Reports nothing more. */
  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}

const hexOf = (running: Hash | null): string => running?.copy().digest('hex') ?? nothing;
