/**
 * The runner's end of the redactor (`redactor/`): starts it, sends it raw output, and
 * receives redacted output. When it fails, the commands whose output it had are ended: raw output
 * goes nowhere else.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { Socket } from 'node:net';
import { join } from 'node:path';
import type { ExecId } from '../command.ts';
import type { RawLog, KnownSecret, RedactionSummary } from '../redacted.ts';
import { TrlError } from '../errors.ts';
import { encodeHeader, FrameReader, frameTypes, type Frame } from '../frame.ts';
import { limits } from '../limits.ts';
import type { ChannelEnd, ChannelOpen, CheckEntry, RedactorEvent } from '../redactor/wire.ts';
import type { RedactorStart, Sealing } from '../redactor/wire.ts';
import { redactorControlBytesMax, type RedactorRequest } from '../redactor/wire.ts';
import type { JournalStream } from './journal.ts';
import { salvageRawLog } from './raw-log.ts';

const linkFd = 3;
const readyMs = 15_000;
const watchMs = 1_000;
const channelsMax = 65_535;
/** Keeps the redactor's memory small. */
const lean = ['--max-semi-space-size=8', '--disable-sigusr1'];

/** Receives one command's redacted output. */
export interface RedactionSink {
  output(stream: JournalStream, bytes: Uint8Array): void;
  /** Room again after {@link RedactionChannel.full}. */
  room(): void;
  /** The raw log is required, and cannot be written any more. */
  unsealed(): void;
  /** Nothing more comes; what was sent and not answered is lost. Called once, at any time. */
  failed(): void;
}

/** A placeholder for an execution that is not made yet: its channel is opened first. */
export class DeferredSink implements RedactionSink {
  #to: RedactionSink | null = null;
  #failed = false;
  #unsealed = false;

  attach(to: RedactionSink): void {
    this.#to = to;
    if (this.#unsealed) to.unsealed();
    if (this.#failed) to.failed();
  }
  output(stream: JournalStream, bytes: Uint8Array): void {
    this.#to?.output(stream, bytes);
  }
  room(): void {
    this.#to?.room();
  }
  unsealed(): void {
    this.#unsealed = true;
    this.#to?.unsealed();
  }
  failed(): void {
    this.#failed = true;
    this.#to?.failed();
  }
}

/** What is known of the output of a command that has ended. */
export interface RedactionEnd {
  /** `null`: the redactor failed, and output is missing. */
  readonly summary: RedactionSummary | null;
  readonly rawLog: RawLog | null;
}

/** Parameters of a channel besides its number. */
export interface RedactionChannelOptions extends Omit<ChannelOpen, 'channel' | 'seal'> {
  /** The label of its sealed output; `null`: there are no recipients. */
  readonly exec: ExecId | null;
}

export class RedactionChannel {
  readonly #link: RedactorLink;
  readonly #number: number;
  readonly #sink: RedactionSink;
  readonly #seal: ChannelOpen['seal'];
  readonly #isSealRequired: boolean;
  readonly #sent = { stdout: 0, stderr: 0 };
  readonly #taken = { stdout: 0, stderr: 0 };
  #settle: ((end: ChannelEnd | null) => void) | null = null;
  #failed = false;

  constructor(
    link: RedactorLink,
    number: number,
    { sink, seal, required }: Pick<Opening, 'sink' | 'seal' | 'required'>,
  ) {
    this.#link = link;
    this.#number = number;
    this.#sink = sink;
    this.#seal = seal;
    this.#isSealRequired = required;
  }

  /** Whether so much waits that its source should pause. */
  get full(): boolean {
    return this.#behind() > limits.redactionLagBytes.default;
  }

  send(stream: JournalStream, bytes: Uint8Array): void {
    if (this.#failed || bytes.length === 0) return;
    this.#sent[stream] += bytes.length;
    this.#link.write(frameTypes[stream], this.#number, bytes);
  }

  /** Values that have become known since it was opened. */
  learn(known: readonly KnownSecret[]): void {
    if (!this.#failed) this.#link.request({ learn: { channel: this.#number, known } });
  }

  /** Whether an answer is awaited. */
  get isAwaitingAnswer(): boolean {
    return this.#settle !== null || this.#behind() > 0;
  }

  /** Nothing more is sent. Without output, the end needs no request. */
  async end(): Promise<RedactionEnd> {
    if (this.#isSilent) {
      this.#link.request({ end: { channel: this.#number } });
      return { summary: { count: 0, forced_flushes: 0, entries: [], omitted: 0 }, rawLog: null };
    }
    const end = this.#failed ? null : await this.#ended();
    if (end !== null) return { summary: end.summary, rawLog: end.raw_log };
    const wasSent = this.#sent.stdout + this.#sent.stderr > 0;
    const isThere = this.#seal !== null && wasSent;
    return { summary: null, rawLog: isThere ? await salvageRawLog(this.#seal) : null };
  }

  get #isSilent(): boolean {
    const { stdout, stderr } = this.#sent;
    return stdout + stderr === 0 && this.#seal === null && !this.#failed;
  }

  #ended(): Promise<ChannelEnd | null> {
    return new Promise((resolve) => {
      this.#settle = resolve;
      this.#link.request({ end: { channel: this.#number } });
    });
  }

  /** Names of the entries that hold a known value; all of them when the redactor fails. */
  check(entries: readonly CheckEntry[]): Promise<readonly string[]> {
    if (this.#failed) return Promise.resolve(entries.map(([name]) => name));
    return this.#link.check(this.#number, entries);
  }

  takeOutput(stream: JournalStream, taken: number, bytes: Uint8Array): void {
    const wasFull = this.full;
    this.#taken[stream] = taken;
    if (bytes.length > 0) this.#sink.output(stream, bytes);
    if (wasFull && !this.full) this.#sink.room();
  }

  ended(end: ChannelEnd | null): void {
    const settle = this.#settle;
    this.#settle = null;
    if (end === null && !this.#failed) {
      this.#failed = true;
      this.#sink.failed();
    }
    settle?.(end);
  }

  /** Reaching the bound of a raw log is no failure; the receipt reports it. */
  unsealed(by: 'bound' | 'system'): void {
    if (this.#isSealRequired && by === 'system') this.#sink.unsealed();
  }

  #behind(): number {
    const { stdout, stderr } = this.#sent;
    return stdout + stderr - this.#taken.stdout - this.#taken.stderr;
  }
}

interface Opening {
  readonly open: Omit<ChannelOpen, 'channel' | 'seal'>;
  readonly seal: ChannelOpen['seal'];
  readonly required: boolean;
  readonly sink: RedactionSink;
}

/** One redactor process. */
class RedactorLink {
  readonly ready: Promise<void>;
  readonly #child: ChildProcess;
  readonly #stream: Socket;
  readonly #reader = new FrameReader(redactorControlBytesMax);
  readonly #channels = new Map<number, RedactionChannel>();
  readonly #checks = new Map<
    number,
    { readonly names: readonly string[]; readonly resolve: (names: readonly string[]) => void }
  >();
  #settleReady: { resolve: () => void; reject: (error: Error) => void } | null = null;
  #n = 0;
  #number = 0;
  #retired = false;
  /** When it last said something, or nothing was awaited. */
  #heardAt = Date.now();
  dead = false;

  constructor(program: string) {
    this.#child = spawn(process.execPath, [...lean, program], {
      // Its environment has nothing of ours, and it speaks only through its link.
      env: {},
      cwd: '/',
      stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
    });
    const stream = this.#child.stdio[linkFd];
    if (!(stream instanceof Socket)) throw new TrlError('INTERNAL_ERROR', 'No link to a redactor');
    this.#stream = stream;
    this.ready = new Promise((resolve, reject) => {
      this.#settleReady = { resolve, reject };
    });
    this.ready.catch(() => {});
    const timer = setTimeout(() => this.kill(), readyMs);
    void this.ready.then(
      () => clearTimeout(timer),
      () => clearTimeout(timer),
    );
    stream.on('data', (bytes: Buffer) => this.#take(bytes));
    stream.on('error', () => this.kill());
    stream.on('close', () => this.#lose());
    this.#child.once('error', () => this.#lose());
    this.#child.once('exit', () => this.#lose());
  }

  /** What it waits for; `ready` settles afterwards. Called once. */
  start(start: RedactorStart): this {
    this.request({ start });
    return this;
  }

  open(opening: Opening): RedactionChannel {
    for (let tries = 0; tries < channelsMax; tries += 1) {
      this.#number = (this.#number % channelsMax) + 1;
      if (this.#channels.has(this.#number)) continue;
      const channel = new RedactionChannel(this, this.#number, opening);
      this.#channels.set(this.#number, channel);
      const { open, seal } = opening;
      this.request({ open: { ...open, seal, channel: this.#number } });
      return channel;
    }
    throw new TrlError('QUOTA_EXCEEDED', 'Cannot start a command: all channels are in use');
  }

  request(request: RedactorRequest): void {
    this.write(frameTypes.control, 0, Buffer.from(JSON.stringify(request)));
  }

  write(type: number, channel: number, bytes: Uint8Array): void {
    if (this.dead) return;
    this.#stream.cork();
    this.#stream.write(encodeHeader(type, channel, 0, bytes.length));
    // Copied: readers use their buffer again.
    this.#stream.write(Buffer.from(bytes));
    this.#stream.uncork();
  }

  check(channel: number, entries: readonly CheckEntry[]): Promise<readonly string[]> {
    const n = (this.#n += 1);
    return new Promise((resolve) => {
      this.#checks.set(n, { names: entries.map(([name]) => name), resolve });
      this.request({ check: { n, channel, entries } });
    });
  }

  /** Takes no new channels; ends when the last one has. */
  retire(): void {
    this.#retired = true;
    if (this.#channels.size === 0) this.kill();
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  /** Ends a redactor that answers nothing while a channel waits for it. */
  watch(): void {
    const isAwaited =
      this.#checks.size > 0 ||
      [...this.#channels.values()].some(({ isAwaitingAnswer: waits }) => waits);
    if (!isAwaited) this.#heardAt = Date.now();
    else if (Date.now() - this.#heardAt > limits.redactionMs.default) this.kill();
  }

  #lose(): void {
    if (this.dead) return;
    this.dead = true;
    this.#stream.destroy();
    const message = 'Cannot run a command: the redactor ended';
    this.#settleReady?.reject(new TrlError('BACKEND_UNAVAILABLE', message));
    this.#settleReady = null;
    for (const { names, resolve } of this.#checks.values()) resolve(names);
    this.#checks.clear();
    const channels = [...this.#channels.values()];
    this.#channels.clear();
    for (const channel of channels) channel.ended(null);
  }

  #take(bytes: Uint8Array): void {
    this.#heardAt = Date.now();
    try {
      for (const frame of this.#reader.push(bytes)) this.#frame(frame);
    } catch {
      this.kill();
    }
  }

  #frame(frame: Frame): void {
    if (frame.type !== frameTypes.control) {
      const stream = frame.type === frameTypes.stdout ? 'stdout' : 'stderr';
      this.#channels.get(frame.channel)?.takeOutput(stream, frame.offset, frame.payload);
      return;
    }
    const event: RedactorEvent = JSON.parse(Buffer.from(frame.payload).toString('utf8'));
    if ('ready' in event) {
      this.#settleReady?.resolve();
      this.#settleReady = null;
    } else if ('checked' in event) {
      this.#checks.get(event.checked.n)?.resolve(event.checked.names);
      this.#checks.delete(event.checked.n);
    } else if ('unsealed' in event) {
      this.#channels.get(event.unsealed.channel)?.unsealed(event.unsealed.failure.by);
    } else if ('ended' in event) this.#end(event.ended.channel, event.ended);
    else this.#end(event.failed.channel, null);
  }

  #end(number: number, end: ChannelEnd | null): void {
    const channel = this.#channels.get(number);
    this.#channels.delete(number);
    channel?.ended(end);
    if (this.#retired && this.#channels.size === 0) this.kill();
  }
}

/** The redactor of a runner: one process, started again after a failure. */
export class RedactorProcess {
  readonly #program: string;
  #start: RedactorStart | null = null;
  #sealing: Sealing | null = null;
  #link: RedactorLink;
  readonly #watcher: NodeJS.Timeout;

  /** @param program the redactor's bundle */
  constructor(program: string) {
    this.#program = program;
    // It starts early, and loads its tables while a session's sandbox is made.
    this.#link = new RedactorLink(program);
    this.#watcher = setInterval(() => this.#link.watch(), watchMs);
    this.#watcher.unref();
  }

  /** Sets how output of later commands is redacted and sealed. */
  configure(start: RedactorStart, sealing: Sealing | null): void {
    this.#sealing = sealing;
    if (JSON.stringify(start) === JSON.stringify(this.#start)) return;
    const isFirst = this.#start === null && !this.#link.dead;
    this.#start = start;
    if (isFirst) this.#link.start(start);
    else {
      this.#link.retire();
      this.#link = new RedactorLink(this.#program).start(start);
    }
  }

  /** @throws TrlError `BACKEND_UNAVAILABLE` when there is no redactor: then nothing may run */
  async open(
    { exec, ...open }: RedactionChannelOptions,
    sink: RedactionSink,
  ): Promise<RedactionChannel> {
    if (this.#start === null) {
      const message = 'Cannot run a command: no daemon said how output is redacted';
      throw new TrlError('BACKEND_UNAVAILABLE', message);
    }
    if (this.#link.dead) this.#link = new RedactorLink(this.#program).start(this.#start);
    const link = this.#link;
    const sealing = this.#sealing;
    await link.ready;
    const seal = sealing === null || exec === null ? null : sealOf(sealing, exec);
    return link.open({ open, seal, required: sealing?.required === true, sink });
  }

  close(): void {
    clearInterval(this.#watcher);
    this.#link.kill();
  }
}

const sealOf = ({ directory, recipients, bytesMax }: Sealing, exec: ExecId): ChannelOpen['seal'] =>
  recipients.length === 0 ? null : { base: join(directory, exec), recipients, bytesMax };
