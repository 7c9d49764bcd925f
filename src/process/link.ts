/** The daemon's end of the runner's socket: proves itself, asks, and takes output and events. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { connect as dial } from 'node:net';
import type { Duplex } from 'node:stream';
import type { ApprovedPlan, ExecId, Exit } from '../command.ts';
import { errorTable, TrlError, type ErrorCode } from '../errors.ts';
import { encodeHeader, FrameReader, frameTypes, type Frame } from '../frame.ts';
import { BoxMemory, controlBytesMax, wireVersions } from '../runner/wire.ts';
import type { RunnerRequest, SealedPlan } from '../runner/wire.ts';

/** Output of one follow. Bytes are acknowledged when the promise of `output` has settled. */
export interface Following {
  output(stream: 'stdout' | 'stderr', offset: number, bytes: Uint8Array): void | Promise<void>;
  gap(from: number, to: number): void;
  end(offset: number, reason: 'exit' | 'max' | 'slow' | 'lost'): void;
}

interface Waiting {
  readonly pid: number;
  readonly program: string;
  readonly certain: boolean;
}

export interface LinkEvents {
  exit(exit: Exit): void;
  waiting(id: ExecId, info: Waiting): void;
  /** The runner is gone: nothing more comes. Called once. */
  lost(): void;
}

const proofMs = 5_000;
const channelsMax = 65_535;

export const hmac = (key: Uint8Array, ...parts: readonly string[]): string =>
  createHmac('sha256', key).update(parts.join('\n')).digest('hex');

interface Pending {
  resolve(answer: object): void;
  reject(error: Error): void;
}

const field = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;

const gone = (cause?: unknown): TrlError =>
  new TrlError('BACKEND_UNAVAILABLE', 'The runner ended; what ran in it is lost', { cause });

export class RunnerLink {
  readonly #stream: Duplex;
  readonly #key: Uint8Array;
  readonly epoch: number;
  readonly #events: LinkEvents;
  readonly #reader = new FrameReader(controlBytesMax);
  readonly #nonce = randomBytes(32).toString('hex');
  readonly #pending = new Map<number, Pending>();
  readonly #following = new Map<number, Following>();
  readonly #opened: Promise<void>;
  #settleOpen: { resolve: () => void; reject: (error: Error) => void } | null = null;
  /** Boxes that were sent on this connection. */
  readonly #boxes = new BoxMemory<true>();
  #n = 0;
  #seq = 0;
  #channel = 0;
  #closed = false;
  /** The runner's process id, once connected. */
  pid = 0;
  journal: 'tmpfs' | 'ram' = 'ram';

  private constructor(stream: Duplex, key: Uint8Array, epoch: number, events: LinkEvents) {
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

  /** @throws TrlError `BACKEND_UNAVAILABLE` when nobody answers or the answer proves no key */
  static async open(
    path: string,
    auth: { key: Uint8Array; epoch: number },
    events: LinkEvents,
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

  /** What makes the runner accept a plan, once: call it right before the request is sent. */
  seal({ plan: { exec_id: id }, canonical, digest, box }: ApprovedPlan): SealedPlan {
    const seq = (this.#seq += 1);
    const mac = hmac(this.#key, 'plan', digest, id, String(this.epoch), String(seq));
    const sealed = { plan: canonical, seq, mac };
    if (this.#boxes.get(box.digest) !== undefined) return sealed;
    this.#boxes.add(box.digest, true);
    return { ...sealed, box: box.canonical };
  }

  /** @throws TrlError with the runner's code, or `BACKEND_UNAVAILABLE` when it is gone */
  request(request: RunnerRequest): Promise<object> {
    if (this.#closed) return Promise.reject(gone());
    const n = (this.#n += 1);
    return new Promise((resolve, reject) => {
      this.#pending.set(n, { resolve, reject });
      this.#send({ n, ...request });
    });
  }

  /** Streams a journal from `from`; answers a function that ends it. */
  async follow(
    id: ExecId,
    range: { from: number; max?: number },
    following: Following,
  ): Promise<() => void> {
    const channel = this.#freeChannel();
    this.#following.set(channel, following);
    try {
      await this.request({ op: 'follow', exec_id: id, channel, ...range });
    } catch (error) {
      this.#following.delete(channel);
      throw error;
    }
    return () => {
      if (!this.#following.delete(channel) || this.#closed) return;
      this.request({ op: 'unfollow', channel }).catch(() => {});
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
    for (const { reject } of this.#pending.values()) reject(gone(cause));
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
      const message: unknown = JSON.parse(Buffer.from(frame.payload).toString('utf8'));
      if (this.#settleOpen === null) this.#message(message);
      else this.#handshake(message);
      return;
    }
    if (this.#settleOpen !== null) throw new Error('output before the proof');
    const following = this.#following.get(frame.channel);
    if (following === undefined) return;
    const stream = frame.type === frameTypes.stdout ? 'stdout' : 'stderr';
    const next = frame.offset + frame.payload.length;
    const taken = following.output(stream, frame.offset, frame.payload);
    const ack = (): void => {
      if (!this.#closed) this.#send({ n: 0, op: 'ack', channel: frame.channel, offset: next });
    };
    if (taken === undefined) ack();
    else void taken.then(ack, ack);
  }

  #handshake(message: unknown): void {
    const hello = field(message, 'hello');
    if (hello !== undefined) {
      const nonce = field(hello, 'nonce');
      const proof = field(hello, 'proof');
      const wanted = hmac(this.#key, 'runner', this.#nonce, String(nonce), String(this.epoch));
      if (typeof proof !== 'string' || proof.length !== wanted.length) throw new Error('no proof');
      if (!timingSafeEqual(Buffer.from(proof), Buffer.from(wanted))) throw new Error('wrong proof');
      const own = hmac(this.#key, 'daemon', String(nonce), this.#nonce, String(this.epoch));
      this.#send({ proof: own });
      return;
    }
    const welcome = field(message, 'welcome');
    if (welcome === undefined) throw new Error('the runner refused');
    this.pid = Number(field(welcome, 'pid'));
    this.journal = field(welcome, 'journal') === 'tmpfs' ? 'tmpfs' : 'ram';
    this.#settleOpen?.resolve();
    this.#settleOpen = null;
  }

  #message(message: unknown): void {
    if (typeof message !== 'object' || message === null) return;
    const n = field(message, 'n');
    if (typeof n === 'number') {
      const pending = this.#pending.get(n);
      this.#pending.delete(n);
      if (field(message, 'ok') === true) pending?.resolve(message);
      else pending?.reject(answered(message));
      return;
    }
    const channel = Number(field(message, 'channel'));
    const following = this.#following.get(channel);
    switch (field(message, 'event')) {
      case 'exit':
        return this.#events.exit(field(message, 'exit') as Exit);
      case 'waiting': {
        const { exec_id: id, ...info } = message as { exec_id: ExecId } & Waiting;
        return this.#events.waiting(id, info);
      }
      case 'gap':
        return following?.gap(Number(field(message, 'from')), Number(field(message, 'to')));
      case 'end': {
        this.#following.delete(channel);
        const reason = field(message, 'reason');
        return following?.end(Number(field(message, 'offset')), reason === 'max' ? 'max' : 'exit');
      }
    }
  }
}

const isCode = (value: unknown): value is ErrorCode =>
  typeof value === 'string' && Object.hasOwn(errorTable, value);

function answered(message: object): TrlError {
  const code = field(message, 'code');
  const data = field(message, 'data');
  const text = String(field(message, 'message'));
  const known = typeof data === 'object' && data !== null ? { data: { ...data } } : {};
  return new TrlError(isCode(code) ? code : 'INTERNAL_ERROR', text, known);
}
