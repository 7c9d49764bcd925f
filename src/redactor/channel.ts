/** The output of one execution: both streams, what was hidden in them, and what is sealed. */
import type { RedactionEntry, RedactionSummary } from '../redacted.ts';
import { limits } from '../limits.ts';
import { secretPriorOf } from '../redaction/detect/secret-prior.ts';
import type { KnownIndex } from '../redaction/known/known-index.ts';
import { findKnownValues } from '../redaction/known/maskable.ts';
import { makeMaskers, openRedactor, type RedactionOptions } from '../redaction/open-redactor.ts';
import type {
  SecretReplacement,
  StreamRedactorParts,
  StreamRedactor,
} from '../redaction/stream-redactor.ts';
import type { RedactionTags } from '../redaction/redaction-tags.ts';
import { RawLogWriter, type SealFailure } from '../sealing/raw-log-writer.ts';
import type { ChannelEnd, ChannelOpen, CheckEntry } from './wire.ts';

export type StreamName = 'stdout' | 'stderr';

/** Silence after which withheld output is released. */
const quietMs = 50;
const stepMs = 8;
const stepBytesMin = 2 * 1024;
const stepBytesMax = 64 * 1024;

/** Events of a channel. Must not throw. */
export interface RedactorChannelEvents {
  /** Redacted bytes; possibly none, when only the count of raw bytes has grown. */
  give(stream: StreamName, bytes: Uint8Array): void;
  unsealed(failure: SealFailure): void;
}

const nothing = Buffer.alloc(0);

export class RedactorChannel {
  /** Bytes that are searched at once: fewer where that takes long. */
  stepBytes = stepBytesMax;
  /** Raw bytes taken so far. */
  readonly #taken = { stdout: 0, stderr: 0 };
  /** The counts that the runner got last. */
  readonly #reported = { stdout: 0, stderr: 0 };
  readonly #raw: RawLogWriter | null;
  readonly #streams: Readonly<Record<StreamName, StreamRedactor>>;
  readonly #indexes: KnownIndex[];
  readonly #interactive: boolean;
  readonly #events: RedactorChannelEvents;
  readonly #entries = new Map<string, RedactionEntry>();
  readonly #beyond = new Set<string>();
  #count = 0;
  #quiet: NodeJS.Timeout | null = null;

  constructor(
    { command, interactive, reveal, seal }: ChannelOpen,
    parts: {
      readonly index: KnownIndex | null;
      readonly tags: RedactionTags;
      readonly options: RedactionOptions;
    },
    events: RedactorChannelEvents,
  ) {
    this.#indexes = parts.index === null ? [] : [parts.index];
    this.#interactive = interactive;
    this.#events = events;
    this.#raw = seal === null ? null : new RawLogWriter(seal, this.#sealEvents());
    const prior = secretPriorOf(command);
    const onRedaction = (redaction: SecretReplacement): void => this.#note(redaction);
    const revealed = reveal.length === 0 ? undefined : new Set(reveal);
    const open = { ...parts, prior, onRedaction, revealed };
    this.#streams = {
      stdout: openRedactor({ ...open, ...this.#sealing('stdout') }),
      stderr: openRedactor({ ...open, ...this.#sealing('stderr') }),
    };
  }

  /**
   * Raw bytes that count as taken. The count stops while the raw log waits for the disk, which
   * pauses the command.
   */
  takenBytes(stream: StreamName): number {
    if (this.#raw?.isBehind !== true) this.#reported[stream] = this.#taken[stream];
    return this.#reported[stream];
  }

  take(stream: StreamName, bytes: Uint8Array): void {
    const begun = performance.now();
    const redacted = this.#streams[stream].push(bytes);
    const tookMs = performance.now() - begun;
    if (tookMs > stepMs) this.stepBytes = Math.max(stepBytesMin, this.stepBytes >> 1);
    else if (tookMs < stepMs / 4) this.stepBytes = Math.min(stepBytesMax, this.stepBytes << 1);
    this.#taken[stream] += bytes.length;
    this.#events.give(stream, redacted);
    if (this.#quiet !== null) clearTimeout(this.#quiet);
    const { stdout, stderr } = this.#streams;
    this.#quiet =
      stdout.hasPending || stderr.hasPending ? setTimeout(() => this.#flush(), quietMs) : null;
  }

  /** More values have become known. `null`: none that this command did not have. */
  learn(index: KnownIndex | null): void {
    if (index === null) return;
    this.#indexes.push(index);
    for (const stream of Object.values(this.#streams)) stream.learn(makeMaskers(index));
  }

  /** Releases the rest at once; resolves when the raw log is on disk. */
  async end(): Promise<ChannelEnd> {
    this.#stopTimer();
    for (const name of ['stdout', 'stderr'] as const) {
      const rest = this.#streams[name].end();
      if (rest.length > 0) this.#events.give(name, rest);
    }
    const summary = this.#summary();
    return { summary, raw_log: (await this.#raw?.end()) ?? null };
  }

  #summary(): RedactionSummary {
    const { stdout, stderr } = this.#streams;
    return {
      count: this.#count,
      forced_flushes: stdout.forcedFlushes + stderr.forcedFlushes,
      entries: [...this.#entries.values()],
      omitted: this.#beyond.size,
    };
  }

  /** Closes it after a failure. */
  close(): void {
    this.#stopTimer();
    this.#raw?.abandon();
  }

  #stopTimer(): void {
    if (this.#quiet !== null) clearTimeout(this.#quiet);
    this.#quiet = null;
  }

  /** Names of the entries in which a known value lies, in any encoding. */
  check(entries: readonly CheckEntry[]): string[] {
    const holds = (value: string): boolean =>
      this.#indexes.some((index) => findKnownValues(index, Buffer.from(value)).length > 0);
    return entries.flatMap(([name, value]) => (holds(value) ? [name] : []));
  }

  #flush(): void {
    this.#quiet = null;
    for (const name of ['stdout', 'stderr'] as const) {
      const bytes = this.#streams[name].flush(this.#interactive ? 'all' : 'whole');
      if (bytes.length > 0) this.#events.give(name, bytes);
    }
  }

  /** Only bytes without known values are sealed. */
  #sealing(stream: StreamName): Pick<StreamRedactorParts, 'onMasked'> {
    const raw = this.#raw;
    if (raw === null) return {};
    return {
      onMasked: (pieces) => {
        for (const piece of pieces) {
          raw.append(stream, piece.kind === 'text' ? piece.bytes : Buffer.from(piece.tag));
        }
      },
    };
  }

  #sealEvents(): ConstructorParameters<typeof RawLogWriter>[1] {
    return {
      onFailure: (failure) => this.#events.unsealed(failure),
      onRoom: () => {
        for (const stream of ['stdout', 'stderr'] as const) this.#events.give(stream, nothing);
      },
    };
  }

  #note({ from, to, tag, digest, finding }: SecretReplacement): void {
    this.#count += 1;
    const { kind, rule, score, key } = finding;
    const id = `${tag} ${rule} ${key ?? ''}`;
    const known = this.#entries.get(id);
    if (known !== undefined) this.#entries.set(id, { ...known, count: known.count + 1 });
    else if (this.#entries.size < limits.redactionEntries.max) {
      // The length of a known value is secret; that of another is visible in what is left.
      const length = kind === 'known' ? null : to - from;
      this.#entries.set(id, { tag, kind, rule, score, key, length, count: 1, digest });
    } else if (this.#beyond.size < limits.redactionEntries.max * 100) this.#beyond.add(id);
  }
}
