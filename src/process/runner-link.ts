/** The daemon's end of the runner's socket: proof, requests, output and events. */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { connect as dial } from 'node:net';
import type { Duplex } from 'node:stream';
import type { ApprovedPlan, ExecId, Exit, OutputProgress } from '../command.ts';
import { TrlError } from '../errors.ts';
import { encodeHeader, FrameReader, frameTypes, type Frame } from '../frame.ts';
import { fieldOf } from '../json-shape.ts';
import { redactedBytes, type RedactedBytes } from '../redaction/redacted-text.ts';
import { BoxCache, controlBytesMax, hmac, wireVersions } from '../runner/wire.ts';
import type { RunnerAnswer, RunnerEvent } from '../runner/wire.ts';
import {
  parseOperationAnswer,
  type OperationAnswer,
  type OperationName,
  type OperationParams,
  type SealedPlan,
} from '../runner/operations.ts';

/** Output of one follow. Bytes are acknowledged when the promise of `output` has settled. */
export interface OutputFollower {
  output(stream: 'stdout' | 'stderr', offset: number, bytes: RedactedBytes): void | Promise<void>;
  gap(from: number, to: number): void;
  end(offset: number, reason: 'exit' | 'max' | 'slow' | 'lost'): void;
}

interface Waiting {
  readonly pid: number;
  readonly program: string;
  readonly certain: boolean;
}

export interface RunnerLinkEvents {
  exit(exit: Exit): void;
  /** What a running command has printed so far; about once a second while it prints. */
  progress(progress: OutputProgress): void;
  waiting(id: ExecId, info: Waiting): void;
  /** A script calls a tool; `text` is what it wrote, unchecked. */
  toolCall(id: ExecId, call: number, text: string): void;
  /** A connection is held until the operation `host` answers. */
  hostAsked(id: ExecId, host: string, port: number): void;
  /** The runner is gone: nothing more comes. Called once. */
  lost(): void;
}

const proofMs = 5_000;
const channelsMax = 65_535;

interface Pending {
  resolve(answer: object): void;
  reject(error: Error): void;
}

const gone = (cause?: unknown): TrlError =>
  new TrlError('BACKEND_UNAVAILABLE', 'The runner ended; what ran in it is lost', { cause });

export class RunnerLink {
  readonly #stream: Duplex;
  readonly #key: Uint8Array;
  readonly epoch: number;
  readonly #events: RunnerLinkEvents;
  readonly #reader = new FrameReader(controlBytesMax);
  readonly #nonce = randomBytes(32).toString('hex');
  readonly #pending = new Map<number, Pending>();
  readonly #following = new Map<number, OutputFollower>();
  readonly #opened: Promise<void>;
  #settleOpen: { resolve: () => void; reject: (error: Error) => void } | null = null;
  /** Boxes that were sent on this connection. */
  readonly #boxes = new BoxCache<true>();
  #n = 0;
  #seq = 0;
  #channel = 0;
  #closed = false;
  /** The runner proved the key: only then its welcome counts. */
  #isProven = false;
  /** The runner's process id, once connected. */
  pid = 0;
  journal: 'tmpfs' | 'ram' = 'ram';
  /** Whether the runner prepares launches before they are permitted. */
  canPrepare = false;

  private constructor(stream: Duplex, key: Uint8Array, epoch: number, events: RunnerLinkEvents) {
    this.#stream = stream;
    this.#key = key;
    this.epoch = epoch;
    this.#events = events;
    this.#opened = new Promise((resolve, reject) => {
      this.#settleOpen = { resolve, reject };
    });
    stream.on('data', (bytes: Buffer) => this.#take(bytes));
    stream.on('error', (error) => this.#lose(error));
    stream.on('close', () => this.#lose());
    this.#send({ hello: { versions: wireVersions, epoch, nonce: this.#nonce } });
  }

  /** @throws TrlError `BACKEND_UNAVAILABLE` when no runner answers that can prove the key */
  static async open(
    path: string,
    auth: { key: Uint8Array; epoch: number },
    events: RunnerLinkEvents,
  ): Promise<RunnerLink> {
    const stream = dial(path);
    const link = new RunnerLink(stream, auth.key, auth.epoch, events);
    const timer = setTimeout(() => stream.destroy(), proofMs);
    try {
      await link.#opened;
      return link;
    } finally {
      clearTimeout(timer);
    }
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Seals a plan for one launch: call it right before the request is sent. */
  seal({ plan: { exec_id: id }, canonical, digest, box }: ApprovedPlan): SealedPlan {
    const seq = (this.#seq += 1);
    const mac = hmac(this.#key, 'plan', digest, id, String(this.epoch), String(seq));
    const sealed = { plan: canonical, seq, mac };
    if (this.#boxes.get(box.digest) !== undefined) return sealed;
    this.#boxes.add(box.digest, true);
    return { ...sealed, box: box.canonical };
  }

  /** @throws TrlError with the runner's code, or `BACKEND_UNAVAILABLE` when it is gone */
  async request<Name extends OperationName>(
    name: Name,
    params: OperationParams<Name>,
  ): Promise<OperationAnswer<Name>> {
    if (this.#closed) throw gone();
    const n = (this.#n += 1);
    const answer = Promise.withResolvers<object>();
    this.#pending.set(n, answer);
    this.#send({ n, op: name, ...params });
    return parseOperationAnswer(name, await answer.promise);
  }

  /** Streams a journal from `from`; returns a function that ends it. */
  async follow(
    id: ExecId,
    range: { from: number; max?: number },
    following: OutputFollower,
  ): Promise<() => void> {
    const channel = this.#freeChannel();
    this.#following.set(channel, following);
    try {
      await this.request('follow', { exec_id: id, channel, ...range });
    } catch (error) {
      this.#following.delete(channel);
      throw error;
    }
    return () => {
      if (!this.#following.delete(channel) || this.#closed) return;
      this.request('unfollow', { channel }).catch(() => {});
    };
  }

  close(): void {
    this.#closed = true;
    this.#stream.destroy();
  }

  #freeChannel(): number {
    for (let tries = 0; tries < channelsMax; tries += 1) {
      this.#channel = (this.#channel % channelsMax) + 1;
      if (!this.#following.has(this.#channel)) return this.#channel;
    }
    throw new TrlError('QUOTA_EXCEEDED', 'Cannot follow: every channel to the runner is in use');
  }

  #send(message: object): void {
    const payload = Buffer.from(JSON.stringify(message));
    this.#stream.cork();
    this.#stream.write(encodeHeader(frameTypes.control, 0, 0, payload.length));
    this.#stream.write(payload);
    this.#stream.uncork();
  }

  #lose(cause?: unknown): void {
    // A link that never opened is a failed attempt, not a loss.
    const wasOpen = !this.#closed && this.#settleOpen === null;
    this.#closed = true;
    this.#settleOpen?.reject(gone(cause));
    this.#settleOpen = null;
    for (const pending of this.#pending.values()) pending.reject(gone(cause));
    this.#pending.clear();
    for (const following of this.#following.values()) following.end(0, 'lost');
    this.#following.clear();
    if (wasOpen) this.#events.lost();
  }

  #take(bytes: Uint8Array): void {
    try {
      for (const frame of this.#reader.push(bytes)) this.#frame(frame);
    } catch (error) {
      this.#stream.destroy(error instanceof Error ? error : undefined);
    }
  }

  #frame(frame: Frame): void {
    if (frame.type === frameTypes.control) {
      const text = Buffer.from(frame.payload).toString('utf8');
      if (this.#settleOpen === null) this.#message(JSON.parse(text));
      else this.#handshake(JSON.parse(text));
      return;
    }
    if (this.#settleOpen !== null) throw new Error('output before the proof');
    const following = this.#following.get(frame.channel);
    if (following === undefined) return;
    const stream = frame.type === frameTypes.stdout ? 'stdout' : 'stderr';
    const next = frame.offset + frame.payload.length;
    // A runner's journal has only output of its redactor.
    const taken = following.output(stream, frame.offset, redactedBytes(frame.payload));
    const ack = (): void => {
      if (!this.#closed) this.#send({ n: 0, op: 'ack', channel: frame.channel, offset: next });
    };
    if (taken === undefined) ack();
    else void taken.then(ack, ack);
  }

  #handshake(message: unknown): void {
    const hello = fieldOf(message, 'hello');
    if (hello !== undefined) {
      const nonce = fieldOf(hello, 'nonce');
      const proof = fieldOf(hello, 'proof');
      const wanted = hmac(this.#key, 'runner', this.#nonce, String(nonce), String(this.epoch));
      if (typeof proof !== 'string' || proof.length !== wanted.length) throw new Error('no proof');
      if (!timingSafeEqual(Buffer.from(proof), Buffer.from(wanted))) throw new Error('wrong proof');
      const own = hmac(this.#key, 'daemon', String(nonce), this.#nonce, String(this.epoch));
      this.#isProven = true;
      this.#send({ proof: own });
      return;
    }
    const welcome = fieldOf(message, 'welcome');
    if (!this.#isProven) throw new Error('no proof');
    if (welcome === undefined) throw new Error('the runner refused');
    this.pid = Number(fieldOf(welcome, 'pid'));
    this.journal = fieldOf(welcome, 'journal') === 'tmpfs' ? 'tmpfs' : 'ram';
    this.canPrepare = fieldOf(welcome, 'holds') === true;
    this.#settleOpen?.resolve();
    this.#settleOpen = null;
  }

  /** After the proof, events are our own runner's and are not checked. */
  #message(message: RunnerAnswer | RunnerEvent): void {
    if (!('n' in message)) return this.#event(message);
    const pending = this.#pending.get(message.n);
    this.#pending.delete(message.n);
    if (message.ok) pending?.resolve(message);
    else pending?.reject(answered(message));
  }

  #event(event: RunnerEvent): void {
    switch (event.event) {
      case 'exit':
        return this.#events.exit(event.exit);
      case 'progress':
        return this.#events.progress(event.progress);
      case 'waiting': {
        const { exec_id: id, pid, program, certain } = event;
        return this.#events.waiting(id, { pid, program, certain });
      }
      case 'host':
        return this.#events.hostAsked(event.exec_id, event.host, event.port);
      case 'call':
        return this.#events.toolCall(event.exec_id, event.call, event.text);
      case 'gap':
        return this.#following.get(event.channel)?.gap(event.from, event.to);
      case 'end': {
        const following = this.#following.get(event.channel);
        this.#following.delete(event.channel);
        return following?.end(event.offset, event.reason);
      }
    }
  }
}

function answered({ code, message, data }: RunnerAnswer & { ok: false }): TrlError {
  return new TrlError(code, message, data === undefined ? {} : { data });
}
