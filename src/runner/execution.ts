/**
 * One command from its script to its exit record. The exit code comes from a wait, the counts
 * from the bytes read; where the runtime ended the command, the record says why.
 */
import type { Socket } from 'node:net';
import type { EnforcedLimit, ExecId, Exit, Plan, SessionId, StopReason } from '../command.ts';
import { TrlError } from '../errors.ts';
import { limits } from '../limits.ts';
import type { CommandBox } from './box.ts';
import { boundMemory, type MemoryGroup } from './cgroup.ts';
import type { Journal, Stream } from './journal.ts';
import { isAlive, marked, send, waitingForInput, type Waiting } from './processes.ts';
import { script } from './shell.ts';
import { capturedState, type States } from './state.ts';

/** After the end: how long nothing must come of output that others still hold open. */
const drainPollMs = 50;
const drainPolls = 5;
/** More than two pipes and their readers hold. */
const drainBytesMax = 4 * 1024 * 1024;
const survivorPollMs = 50;
const targetPollMs = 5;
const waitingPollMs = 250;
const signalNumbers: Readonly<Record<string, number>> = { SIGKILL: 9, SIGTERM: 15, SIGSEGV: 11 };

/** Writes of 1 MiB at most that may wait for a command to read. */
const writesMax = 16;

/** Room again, or nobody to read any more. */
function drained(stdin: Socket): Promise<void> {
  return new Promise((resolve) => {
    stdin.once('drain', () => resolve());
    stdin.once('close', () => resolve());
    if (stdin.destroyed) resolve();
  });
}

export interface ExecutionEvents {
  output(): void;
  waiting(info: Waiting): void;
  exit(exit: Exit): void;
}

/** What is kept of an execution; once it ended, nothing but this. */
export interface Kept {
  readonly id: ExecId;
  readonly sessionId: SessionId;
  readonly mode: Plan['mode'];
  /** Unix milliseconds. */
  readonly startedAt: number;
  readonly journal: Journal;
  readonly exit: Exit | null;
  /** The execution itself while it runs. */
  readonly live: Execution | null;
}

export class Execution implements Kept {
  readonly id: ExecId;
  readonly sessionId: SessionId;
  readonly mode: Plan['mode'];
  readonly plan: Plan;
  readonly journal: Journal;
  readonly startedAt = Date.now();
  readonly live = this;
  readonly done: Promise<Exit>;
  exit: Exit | null = null;
  /** Set while a follower holds the command back. */
  #held = false;
  readonly #box: CommandBox;
  readonly #warm: boolean;
  readonly #states: States;
  readonly #events: ExecutionEvents;
  #stopped: StopReason | null = null;
  #killTimer: NodeJS.Timeout | null = null;
  readonly #timers: NodeJS.Timeout[] = [];
  #lastOutput = Date.now();
  #memory: MemoryGroup | null = null;
  readonly #stdinLink: string | null;

  constructor(
    plan: Plan,
    parts: { box: CommandBox; warm: boolean; journal: Journal; states: States },
    events: ExecutionEvents,
  ) {
    this.id = plan.exec_id;
    this.sessionId = plan.session_id;
    this.mode = plan.mode;
    this.plan = plan;
    this.#box = parts.box;
    this.#warm = parts.warm;
    this.journal = parts.journal;
    this.#states = parts.states;
    this.#events = events;
    this.#boundMemory();
    this.#stdinLink = this.#box.stdinLink();
    this.#take();
    this.#box.feed(script(plan, this.#states.get(plan.session_id)));
    if (plan.stdin.kind === 'bytes') this.#box.stdin?.end(Buffer.from(plan.stdin.base64, 'base64'));
    this.#startTimers();
    this.done = this.#finish();
  }

  /** What outlives the command: without its sandbox, its plan and its text. */
  get kept(): Kept {
    const { id, sessionId, mode, startedAt, journal, exit } = this;
    return { id, sessionId, mode, startedAt, journal, exit, live: null };
  }

  /** @throws TrlError `INVALID_PARAMS` when stdin is not open */
  async write(data: Uint8Array, eof: boolean): Promise<void> {
    if (this.#box.terminal !== null) {
      if (data.length > 0) this.#box.terminal.master.write(data);
      if (eof) this.#box.terminal.master.write('\u0004');
      return;
    }
    const { stdin } = this.#box;
    if (this.plan.stdin.kind !== 'open' || stdin === null) {
      throw new TrlError('INVALID_PARAMS', `Cannot write to ${this.id}: its stdin is closed`);
    }
    if (this.#writes >= writesMax) {
      throw new TrlError('QUOTA_EXCEEDED', `Cannot write to ${this.id}: its input is not read`);
    }
    this.#writes += 1;
    this.#written = this.#writeInTurn(this.#written, stdin, { data, eof });
    return this.#written;
  }

  async #writeInTurn(
    before: Promise<void>,
    stdin: Socket,
    { data, eof }: { data: Uint8Array; eof: boolean },
  ): Promise<void> {
    await before;
    // What the command has not read yet is bounded: the next bytes wait until it has.
    if (stdin.writableLength > limits.stdinBytes.max) await drained(stdin);
    if (data.length > 0) stdin.write(data);
    if (eof) stdin.end();
    this.#writes -= 1;
  }

  resize(columns: number, rows: number): void {
    this.#box.terminal?.resize(columns, rows);
  }

  /** Sends one signal to everything the command started. */
  signal(signal: NodeJS.Signals): void {
    if (signal === 'SIGKILL') this.#kill();
    else for (const pid of this.#targets()) send(pid, signal);
  }

  /** TERM to everything, then KILL after the grace period. */
  stop(reason: StopReason): void {
    if (this.#stopped !== null || this.exit !== null || this.#box.dead) return;
    this.#stopped = reason;
    this.#terminate();
    const graceMs = reason === 'session-destroyed' ? 0 : this.plan.bounds.graceMs;
    this.#killTimer = setTimeout(() => this.#kill(), graceMs);
  }

  /** TERM to all; a shell that is only just being made has no process yet, so it is looked for. */
  #terminate(): void {
    const targets = this.#targets();
    for (const pid of targets) {
      send(pid, 'SIGTERM');
      // A stopped process cannot act on TERM.
      send(pid, 'SIGCONT');
    }
    if (targets.length > 0 || this.exit !== null) return;
    this.#timers.push(setTimeout(() => this.#terminate(), targetPollMs));
  }

  /** Stops reading while a follower is behind; the command then blocks on its pipe. */
  hold(held: boolean): void {
    if (this.#held === held) return;
    this.#held = held;
    if (held) return;
    this.#box.stdout?.resume();
    this.#box.stderr?.resume();
    this.#box.terminal?.master.resume();
  }

  #targets(): number[] {
    const found = this.#box.processes();
    if (this.plan.box.kind === 'bubblewrap') return found;
    return [...new Set([...found, ...marked(this.id)])].filter((pid) => pid !== this.#box.pid);
  }

  #kill(): void {
    if (this.plan.box.kind === 'none') {
      for (const pid of this.#targets()) send(pid, 'SIGKILL');
    }
    this.#box.kill();
    this.hold(false);
  }

  #take(): void {
    const take = (stream: Stream) => ({
      take: (bytes: Uint8Array): boolean => {
        this.#lastOutput = Date.now();
        this.journal.append(stream, bytes);
        this.#events.output();
        return !this.#held;
      },
    });
    this.#box.stdout?.start(take('stdout'));
    this.#box.stderr?.start(take('stderr'));
    const master = this.#box.terminal?.master;
    master?.on('data', (bytes: Buffer) => {
      if (!take('stdout').take(bytes)) master.pause();
    });
  }

  #boundMemory(): void {
    const { memoryBytesMax, memoryRequired } = this.plan.bounds;
    if (memoryBytesMax === null) return;
    this.#memory = boundMemory(this.id, memoryBytesMax, () => this.#box.all());
    if (this.#memory === null && memoryRequired) {
      void this.#box.discard();
      throw new TrlError('SANDBOX_UNAVAILABLE', 'Cannot bound memory: no cgroup can be used here');
    }
  }

  #startTimers(): void {
    const { timeoutMs, idleTimeoutMs } = this.plan.bounds;
    if (timeoutMs !== null) this.#timers.push(setTimeout(() => this.stop('timeout'), timeoutMs));
    if (idleTimeoutMs !== null) {
      const check = (): void => {
        const left = this.#lastOutput + idleTimeoutMs - Date.now();
        if (left <= 0) this.stop('idle-timeout');
        else this.#timers.push(setTimeout(check, left));
      };
      this.#timers.push(setTimeout(check, idleTimeoutMs));
    }
    if (this.plan.stdin.kind === 'open' || this.plan.pty !== null) this.#watchInput();
  }

  #watchInput(): void {
    let told = 0;
    const stdin = this.#stdinLink;
    if (stdin === null) return;
    const look = (): void => {
      if (this.#lastOutput + waitingPollMs > Date.now() || told >= this.#lastOutput) return;
      const found = waitingForInput(this.#box.processes(), stdin);
      if (found === null) return;
      told = Date.now();
      this.#events.waiting(found);
    };
    const timer = setInterval(look, waitingPollMs);
    this.#timers.push(timer);
  }

  async #finish(): Promise<Exit> {
    const end = await this.#box.exited;
    const endedAt = Date.now();
    // A command that has ended cannot run out of time while its output is read.
    for (const timer of this.#timers) clearTimeout(timer);
    const survivors = await this.#sweep();
    if (!this.#box.takeRest()) await this.#drain();
    if (this.#killTimer !== null) clearTimeout(this.#killTimer);
    const captured = this.#capture();
    const exit = this.#record(end, { endedAt, survivors, captured });
    this.#memory?.remove();
    this.#box.close();
    this.journal.finish();
    this.exit = exit;
    this.#events.exit(exit);
    return exit;
  }

  /** In a sandbox the kernel ended everything with process 1; outside, what is marked is ended. */
  async #sweep(): Promise<number[]> {
    if (this.plan.box.kind === 'bubblewrap') return [];
    const found = marked(this.id);
    this.#background = found.length;
    for (const pid of found) send(pid, 'SIGTERM');
    const deadline = Date.now() + (found.length === 0 ? 0 : this.plan.bounds.graceMs);
    while (Date.now() < deadline && marked(this.id).length > 0) {
      await new Promise((resolve) => setTimeout(resolve, survivorPollMs));
    }
    for (const pid of marked(this.id)) send(pid, 'SIGKILL');
    if (found.length > 0) await new Promise((resolve) => setTimeout(resolve, survivorPollMs));
    return found.filter(isAlive);
  }
  #background = 0;
  /** Writes that wait for the command to read, in their order. */
  #written = Promise.resolve();
  #writes = 0;

  /**
   * What was written before the end is in the pipes, and each ends with its last writer. Somebody
   * else who was handed one through a socket must not keep the command from ending: then reading
   * stops when nothing comes any more, or more than pipes can have held.
   */
  async #drain(): Promise<void> {
    const { stdout, stderr, terminal } = this.#box;
    const readers = [stdout, stderr].filter((reader) => reader !== null);
    const master = terminal === null || terminal.master.destroyed ? null : terminal.master;
    const closed = new Promise<void>((resolve) => {
      if (master === null) resolve();
      else master.once('close', () => resolve());
    });
    const ends = [...readers.map((reader) => reader.ended), this.#box.settled(), closed];
    let ended = false;
    const all = Promise.all(ends).finally(() => {
      ended = true;
    });
    await Promise.race([all, this.#quiet(() => ended)]);
    for (const reader of readers) reader.close();
  }

  /** Polls: between two of them everything that lies in the pipes is read. */
  async #quiet(isOver: () => boolean): Promise<void> {
    const { journal } = this;
    const stop = journal.end + drainBytesMax;
    let seen = journal.end;
    for (let polls = 0; polls < drainPolls && !isOver() && journal.end < stop; polls += 1) {
      await new Promise((resolve) => setTimeout(resolve, drainPollMs));
      if (this.#held || journal.end !== seen) polls = 0;
      seen = journal.end;
    }
  }

  #capture(): ReturnType<typeof capturedState> {
    if (this.mode !== 'foreground' || this.plan.carry === 'none') return null;
    // What a shell that was ended half-way would leave is nobody's state.
    if (this.#stopped !== null) return null;
    const before = this.#states.get(this.sessionId);
    // A program in place of the shell leaves no state; where it ran is what a shell would leave.
    if (this.plan.argv !== null) {
      const state = { ...before, cwd: this.plan.cwd ?? before.cwd };
      this.#states.put(this.sessionId, state);
      return { state, dropped: [] };
    }
    const captured = capturedState(this.#box.stateBytes(), this.plan, before);
    if (captured !== null) this.#states.put(this.sessionId, captured.state);
    return captured;
  }

  #record(
    end: { code: number | null; signal: NodeJS.Signals | null },
    rest: { endedAt: number; survivors: number[]; captured: ReturnType<typeof capturedState> },
  ): Exit {
    const timedOut = this.#stopped === 'timeout' || this.#stopped === 'idle-timeout';
    const bySignal = end.signal === null ? null : 128 + (signalNumbers[end.signal] ?? 9);
    const state = this.#states.get(this.sessionId);
    return {
      exec_id: this.id,
      session_id: this.sessionId,
      exit_code: timedOut ? 124 : (bySignal ?? end.code ?? 125),
      signal: end.signal,
      timed_out: timedOut,
      stopped: this.#stopped,
      started_at: this.startedAt,
      ended_at: rest.endedAt,
      duration_ms: rest.endedAt - this.startedAt,
      stdout_bytes: this.journal.bytesOf.stdout,
      stderr_bytes: this.journal.bytesOf.stderr,
      journal_bytes: this.journal.end,
      journal_from: this.journal.from,
      cwd: state.cwd,
      state_captured: rest.captured !== null,
      state_names: this.#states.names(this.sessionId),
      state_dropped: rest.captured?.dropped ?? [],
      cwd_fallback: this.#box.cwdFallback,
      // The command can write to the status pipe, but not before the shell entered its directory.
      cwd_missing: this.plan.cwd !== null && end.code === 126 && this.#box.cwdMissing,
      ended_background: Math.max(this.#background, this.#box.end?.background ?? 0),
      survivors: rest.survivors,
      warm: this.#warm,
      limits: this.#limits(),
    };
  }

  /** The kernel lets uid 0 of the host have any number of processes. */
  #bindsProcesses(): boolean {
    const { box } = this.plan;
    return box.kind !== 'none' && box.holder.level !== 'root-uid';
  }

  #limits(): EnforcedLimit[] {
    const { bounds } = this.plan;
    const memory = this.#memory;
    const rows: [string, number | null, EnforcedLimit['by'], boolean | null][] = [
      ['timeout_ms', bounds.timeoutMs, 'runtime', this.#stopped === 'timeout'],
      ['idle_timeout_ms', bounds.idleTimeoutMs, 'runtime', this.#stopped === 'idle-timeout'],
      ['cpu_s', bounds.cpuSeconds, 'setrlimit', null],
      ['processes', bounds.processesMax, this.#bindsProcesses() ? 'setrlimit' : 'none', null],
      ['open_files', bounds.openFilesMax, 'setrlimit', null],
      ['file_bytes', bounds.fileBytesMax, 'setrlimit', null],
      ['address_space_bytes', bounds.addressSpaceBytesMax, 'setrlimit', null],
      ['memory_bytes', bounds.memoryBytesMax, memory?.by ?? 'none', memory?.hit() ?? false],
      ['journal_bytes', bounds.journalBytesMax, 'runtime', this.journal.from > 0],
    ];
    return rows.flatMap(([name, value, by, hit]) =>
      value === null ? [] : [{ name, value, by, hit }],
    );
  }
}
