/**
 * The redactor: all output of commands passes through it. The runner starts it and
 * sends it raw output on descriptor 3; it answers with redacted output (`wire.ts`). It holds the
 * known values of running commands, and ends with the runner. To disk it writes what it seals to
 * auditors (`sealing/`) and nothing else.
 */
import { Socket } from 'node:net';
import type { KnownSecret, KnownValue } from '../redacted.ts';
import { encodeHeader, FrameReader, frameTypes, type Frame } from '../frame.ts';
import { SecretRuleSet } from '../redaction/rules/rule-set.ts';
import type { KnownIndex } from '../redaction/known/known-index.ts';
import { buildKnownIndex } from '../redaction/known/maskable.ts';
import { RedactionTags } from '../redaction/redaction-tags.ts';
import { RedactorChannel, type StreamName } from './channel.ts';
import {
  redactorControlBytesMax,
  type ChannelOpen,
  type RedactorEvent,
  type RedactorRequest,
  type RedactorStart,
} from './wire.ts';
import { FairScheduler } from './fair-scheduler.ts';

const linkFd = 3;
/** Indexes of values kept for the next command of a session. */
const indexesMax = 16;
const idleMs = 60_000;

interface Started {
  readonly tags: RedactionTags;
  readonly indexes: Indexes;
  readonly options: RedactorStart;
}

/** A cached value, and when it was last used. */
interface Used<What> {
  readonly what: What;
  usedAt: number;
}

/** Indexes by the values in them. Indexes without use for a while are dropped. */
class Indexes {
  readonly #indexes = new Map<string, Used<KnownIndex>>();
  /** One object for one value: what was computed for it belongs to the object. */
  readonly #values = new Map<string, Used<KnownValue>>();
  readonly #tags: RedactionTags;
  /** The last index, from which a set with one more value is made. */
  #last: KnownIndex | null = null;

  constructor(tags: RedactionTags) {
    this.#tags = tags;
  }

  of(known: readonly KnownSecret[]): KnownIndex | null {
    const secrets = [...new Map(known.map((one) => [one.value, one])).values()];
    if (secrets.length === 0) return null;
    const values = secrets.map((secret) => this.#valueOf(secret));
    const index = taken(this.#indexes, JSON.stringify(secrets), () => {
      this.#last = buildKnownIndex(values, this.#last);
      return this.#last;
    });
    const [oldest] = this.#indexes.keys();
    if (this.#indexes.size > indexesMax && oldest !== undefined) this.#indexes.delete(oldest);
    return index;
  }

  forget(): void {
    if (this.#indexes.size === 0) this.#last = null;
    for (const all of [this.#indexes, this.#values]) {
      for (const [id, { usedAt }] of all) if (Date.now() - usedAt > idleMs) all.delete(id);
    }
  }

  #valueOf({ name, value }: KnownSecret): KnownValue {
    const tag = (): string => this.#tags.of(value);
    return taken(this.#values, `${name}\n${value}`, () => ({ name, value, tag: tag() }));
  }
}

/** The value of `id`, made where it is missing, and marked as used. */
function taken<What>(all: Map<string, Used<What>>, id: string, make: () => What): What {
  const found = all.get(id) ?? { what: make(), usedAt: 0 };
  found.usedAt = Date.now();
  all.delete(id);
  all.set(id, found);
  return found.what;
}

class Redactions {
  readonly #link: Socket;
  readonly #channels = new Map<number, RedactorChannel>();
  readonly #turns = new FairScheduler();
  #started: Started | null = null;

  constructor(link: Socket) {
    this.#link = link;
    setInterval(() => this.#started?.indexes.forget(), idleMs).unref();
  }

  frame(frame: Frame): void {
    if (frame.type === frameTypes.control) {
      const request: RedactorRequest = JSON.parse(Buffer.from(frame.payload).toString('utf8'));
      return this.#request(request);
    }
    const stream = frame.type === frameTypes.stdout ? 'stdout' : 'stderr';
    // Copied: the frame is a view of a buffer that is reused.
    this.#take(frame.channel, stream, Buffer.from(frame.payload));
  }

  /** Searches a chunk in parts, which become smaller where they take long. */
  #take(number: number, stream: StreamName, bytes: Uint8Array): void {
    let at = 0;
    this.#turns.add(number, () => {
      const channel = this.#channels.get(number);
      if (channel === undefined) return false;
      const part = bytes.subarray(at, at + channel.stepBytes);
      at += part.length;
      this.#guard(number, () => channel.take(stream, part));
      return at < bytes.length;
    });
  }

  #request(request: RedactorRequest): void {
    if ('start' in request) {
      const { key } = request.start;
      const tags = new RedactionTags(Buffer.from(key, 'hex'));
      this.#started = { tags, indexes: new Indexes(tags), options: request.start };
      this.#send({ ready: true });
    } else if ('open' in request) this.#once(request.open.channel, () => this.#open(request.open));
    else if ('learn' in request) {
      const { channel, known } = request.learn;
      this.#once(channel, () =>
        this.#channels.get(channel)?.learn(this.#started?.indexes.of(known) ?? null),
      );
    } else if ('end' in request) {
      const { channel } = request.end;
      this.#once(channel, () => this.#end(channel));
    } else {
      const { n, channel, entries } = request.check;
      const all = entries.map(([name]) => name);
      this.#once(channel, () =>
        this.#send({ checked: { n, names: this.#channels.get(channel)?.check(entries) ?? all } }),
      );
    }
  }

  /** Runs after the channel's earlier work. */
  #once(channel: number, act: () => void): void {
    this.#turns.add(channel, () => {
      this.#guard(channel, act);
      return false;
    });
  }

  #end(number: number): void {
    const channel = this.#channels.get(number);
    if (channel === undefined) return;
    const ended = channel.end();
    this.#channels.delete(number);
    // The raw log is on disk before the command counts as ended.
    void ended.then(
      (end) => this.#send({ ended: { channel: number, ...end } }),
      (error: unknown) => this.#sendFailure(number, error),
    );
  }

  #open(open: ChannelOpen): void {
    const started = this.#started;
    if (started === null) throw new Error('not started');
    const parts = { ...started, index: started.indexes.of(open.known) };
    const channel: RedactorChannel = new RedactorChannel(open, parts, {
      give: (stream, bytes) => {
        this.#give(open.channel, { stream, bytes, taken: channel.takenBytes(stream) });
      },
      unsealed: (failure) => this.#send({ unsealed: { channel: open.channel, failure } }),
    });
    this.#channels.set(open.channel, channel);
  }

  /** A failure in one channel ends that channel: no more of its output is released. */
  #guard(number: number, act: () => void): void {
    try {
      act();
    } catch (error) {
      this.#channels.get(number)?.close();
      this.#channels.delete(number);
      this.#sendFailure(number, error);
    }
  }

  #sendFailure(number: number, error: unknown): void {
    // The class of the error only: its message may quote what was looked at.
    const reason = error instanceof Error ? error.name : 'unknown';
    this.#send({ failed: { channel: number, reason } });
  }

  #give(
    number: number,
    {
      stream,
      bytes,
      taken,
    }: { readonly stream: StreamName; readonly bytes: Uint8Array; readonly taken: number },
  ): void {
    this.#link.cork();
    this.#link.write(encodeHeader(frameTypes[stream], number, taken, bytes.length));
    if (bytes.length > 0) this.#link.write(bytes);
    process.nextTick(() => this.#link.uncork());
  }

  #send(event: RedactorEvent): void {
    const payload = Buffer.from(JSON.stringify(event));
    this.#link.write(
      Buffer.concat([encodeHeader(frameTypes.control, 0, 0, payload.length), payload]),
    );
  }
}

function main(): void {
  // Made once for all streams, before any output waits.
  SecretRuleSet.shipped();
  const link = new Socket({ fd: linkFd, readable: true, writable: true });
  const reader = new FrameReader(redactorControlBytesMax);
  const redactions = new Redactions(link);
  const end = (): void => process.exit(0);
  link.on('data', (bytes: Buffer) => {
    for (const frame of reader.push(bytes)) redactions.frame(frame);
  });
  link.on('close', end);
  link.on('error', end);
  // It ignores signals of a terminal or a service manager, and ends with the runner.
  for (const signal of ['SIGINT', 'SIGHUP', 'SIGTERM', 'SIGPIPE'] as const) {
    process.on(signal, () => {});
  }
}

main();
