/**
 * One command from its script to its exit record. The exit code comes from a wait, the counts
 * from the bytes read; where the runtime ended the command, the record says why.
 */
import type { ExecId, Exit, OutputProgress, Plan, SessionId, StopReason } from '../command.ts';
import type { KnownSecret } from '../redacted.ts';
import { TrlError } from '../errors.ts';
import type { CommandBox } from './command-box.ts';
import { boundMemory, refuseUnboundedMemory, type MemoryGroup } from './cgroup.ts';
import { OutputDigester } from './output-digester.ts';
import { buildExit } from './exit.ts';
import { StdinWriter } from './stdin-writer.ts';
import { waitUntilDrained } from './pipe-reader.ts';
import { disconnectCommand, type SessionBridge } from './session-bridge.ts';
import type { Journal, JournalStream } from './journal.ts';
import { sendSignal, findInputWait, type InputWait } from './processes.ts';
import type { DeferredSink, RedactionChannel, RedactionSink } from './redactor-process.ts';
import type { ScriptChannel } from './script-channel.ts';
import { openScript, type OpenScript } from './script.ts';
import { shellScript } from './shell-script.ts';
import {
  captureShellState,
  changedStateParts,
  withoutSecretParts,
  type ShellStates,
} from './shell-state.ts';
import { freezeProcesses, unsandboxedProcesses, endSurvivors } from './unsandboxed.ts';

const targetPollMs = 5;
const waitingPollMs = 250;
const endOfInput = Buffer.of(4);

export interface ExecutionEvents {
  output(): void;
  /** About once a second while it prints. */
  progress(progress: OutputProgress): void;
  waiting(info: InputWait): void;
  /** A script calls a tool; returns whether a daemon is connected to take the call. */
  readonly toolCall: (call: number, text: string) => boolean;
  exit(exit: Exit): void;
}

export interface ExecutionParts {
  readonly box: CommandBox;
  readonly warm: boolean;
  readonly journal: Journal;
  readonly states: ShellStates;
  readonly redaction: RedactionChannel;
  readonly sink: DeferredSink;
}

/** What the runner keeps of an execution after it ended. */
export interface ExecutionSummary {
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

export class Execution implements ExecutionSummary {
  readonly id: ExecId;
  readonly sessionId: SessionId;
  readonly mode: Plan['mode'];
  readonly plan: Plan;
  readonly journal: Journal;
  readonly startedAt = Date.now();
  readonly live = this;
  readonly done: Promise<Exit>;
  exit: Exit | null = null;
  /** Set while a follower pauses the command. */
  #isPaused = false;
  readonly #box: CommandBox;
  readonly #warm: boolean;
  readonly #states: ShellStates;
  readonly #redaction: RedactionChannel;
  readonly #digests = new OutputDigester(() => this.#events.progress(this.progress));
  /** Raw bytes read. */
  #read = 0;
  readonly #events: ExecutionEvents;
  #stopped: StopReason | null = null;
  /** Output could not be sealed, and sealing is required. */
  #unsealed = false;
  #killTimer: NodeJS.Timeout | null = null;
  readonly #timers: NodeJS.Timeout[] = [];
  #lastOutput = Date.now();
  #memory: MemoryGroup | null = null;
  readonly #stdinLink: string | null;
  readonly #input: StdinWriter | null;
  readonly #script: OpenScript | null;

  constructor(plan: Plan, parts: ExecutionParts, events: ExecutionEvents) {
    this.id = plan.exec_id;
    this.sessionId = plan.session_id;
    this.mode = plan.mode;
    this.plan = plan;
    this.#box = parts.box;
    this.#warm = parts.warm;
    this.journal = parts.journal;
    this.#states = parts.states;
    this.#events = events;
    this.#redaction = parts.redaction;
    parts.sink.attach(this.#sink());
    this.#boundMemory();
    const stdin = this.#box.terminal?.input ?? this.#box.stdin;
    this.#input = stdin === null ? null : new StdinWriter(this.id, stdin);
    this.#stdinLink = this.#box.stdinLink();
    this.#take();
    this.#script = openScript(plan, this.#box.channel, events.toolCall);
    this.#box.feed(shellScript(plan, this.#states.get(plan.session_id)));
    if (plan.stdin.kind === 'bytes') this.#box.stdin?.end(Buffer.from(plan.stdin.base64, 'base64'));
    this.#startTimers();
    this.done = this.#finish();
  }

  /** The part that outlives the command: without its sandbox, its plan and its text. */
  get summary(): ExecutionSummary {
    const { id, sessionId, mode, startedAt, journal, exit } = this;
    return { id, sessionId, mode, startedAt, journal, exit, live: null };
  }

  get progress(): OutputProgress {
    return {
      exec_id: this.id,
      session_id: this.sessionId,
      stdout_bytes: this.journal.bytesOf.stdout,
      stderr_bytes: this.journal.bytesOf.stderr,
      ...this.#digests.get(),
    };
  }

  /** @throws TrlError `INVALID_PARAMS` when stdin is not open */
  async write(data: Uint8Array, eof: boolean): Promise<void> {
    const isTerminal = this.#box.terminal !== null;
    if ((this.plan.stdin.kind !== 'open' && !isTerminal) || this.#input === null) {
      throw new TrlError('INVALID_PARAMS', `Cannot write to ${this.id}: its stdin is closed`);
    }
    // A terminal stays open: its end of input is a character.
    if (!isTerminal) return this.#input.write(data, eof);
    return this.#input.write(eof ? Buffer.concat([data, endOfInput]) : data, false);
  }

  async resize(columns: number, rows: number): Promise<void> {
    await this.#box.terminal?.resize({ columns, rows });
  }

  /** The channel of a Python script's calls; `null`: the command is no script. */
  get calls(): ScriptChannel | null {
    return this.#script?.channel ?? null;
  }

  /** Sends one signal to everything the command started. */
  signal(signal: NodeJS.Signals): void {
    if (signal === 'SIGKILL') this.#kill();
    else for (const pid of this.processes()) sendSignal(pid, signal);
  }

  /** Adds values that its output must not show from now on. */
  learn(known: readonly KnownSecret[]): void {
    this.#redaction.learn(known);
  }

  /** TERM to everything, then KILL after the grace period, of which the longest given counts. */
  stop(reason: StopReason, longestMs: number | null = null): void {
    if (this.exit !== null || this.#box.dead) return;
    if (longestMs !== null) this.#timers.push(setTimeout(() => this.#kill(), longestMs));
    if (this.#stopped !== null) return;
    this.#stopped = reason;
    this.#terminate();
    const graceMs = reason === 'session-destroyed' ? 0 : this.plan.bounds.graceMs;
    this.#killTimer = setTimeout(() => this.#kill(), longestMs ?? graceMs);
  }

  /** TERM to all. A shell that is just starting has no process yet, so it is looked for. */
  #terminate(): void {
    const targets = this.processes();
    for (const pid of targets) {
      sendSignal(pid, 'SIGTERM');
      // A stopped process cannot act on TERM.
      sendSignal(pid, 'SIGCONT');
    }
    if (targets.length > 0 || this.exit !== null) return;
    this.#timers.push(setTimeout(() => this.#terminate(), targetPollMs));
  }

  /** Stops reading while a follower is behind; the command then blocks on its pipe. */
  setReadingPaused(isPaused: boolean): void {
    if (this.#isPaused === isPaused) return;
    this.#isPaused = isPaused;
    if (!isPaused) this.#resume();
  }

  /** Continues reading, unless a follower or the redactor is behind. */
  #resume(): void {
    if (this.#resting) return;
    this.#box.stdout?.resume();
    this.#box.stderr?.resume();
    this.#box.terminal?.output.resume();
  }

  get #resting(): boolean {
    return this.#isPaused || this.#redaction.full;
  }

  /** All that it started. */
  processes(): number[] {
    const isBoxed = this.plan.box.kind === 'bubblewrap';
    return isBoxed ? this.#box.processes() : unsandboxedProcesses(this.#box, this.id);
  }

  #kill(): void {
    const targets = this.plan.box.kind === 'none' ? freezeProcesses(this.#box, this.id) : [];
    // Before its shell: otherwise the shim would report the shell's exit code instead of KILL.
    this.#box.kill();
    for (const pid of targets) sendSignal(pid, 'SIGKILL');
    this.setReadingPaused(false);
  }

  #take(): void {
    const take = (stream: JournalStream) => ({
      take: (bytes: Uint8Array): boolean => {
        this.#lastOutput = Date.now();
        this.#read += bytes.length;
        this.#redaction.send(stream, bytes);
        return !this.#resting;
      },
    });
    this.#box.stdout?.start(take('stdout'));
    this.#box.stderr?.start(take('stderr'));
    const master = this.#box.terminal?.output;
    master?.on('data', (bytes: Buffer) => {
      if (!take('stdout').take(bytes)) master.pause();
    });
  }

  #sink(): RedactionSink {
    return {
      output: (stream, bytes) => {
        this.journal.append(stream, bytes);
        this.#digests.add(stream, bytes);
        this.#events.output();
      },
      room: () => this.#resume(),
      unsealed: () => {
        this.#unsealed = true;
        this.stop('audit-failed');
      },
      failed: () => {
        this.stop('redaction-failed');
        this.#resume();
      },
    };
  }

  #boundMemory(): void {
    const { memoryBytesMax, memoryRequired } = this.plan.bounds;
    if (memoryBytesMax === null) return;
    const group = { runner: this.#box.runner, name: this.id };
    this.#memory = boundMemory(group, memoryBytesMax, () => this.#box.all());
    if (memoryRequired) refuseUnboundedMemory(this.#memory, this.plan.box);
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
    let reportedAt = 0;
    const stdin = this.#stdinLink;
    if (stdin === null) return;
    const look = (): void => {
      if (this.#lastOutput + waitingPollMs > Date.now() || reportedAt >= this.#lastOutput) return;
      const found = findInputWait(this.#box.processes(), stdin);
      if (found === null) return;
      reportedAt = Date.now();
      this.#events.waiting(found);
    };
    const timer = setInterval(look, waitingPollMs);
    this.#timers.push(timer);
  }

  get bridge(): SessionBridge | null {
    return this.#box.bridge;
  }

  async #finish(): Promise<Exit> {
    await this.#box.over;
    const endedAt = Date.now();
    this.#script?.channel.close();
    // A command that has ended cannot run out of time while its output is read.
    for (const timer of this.#timers) clearTimeout(timer);
    const { count: background, survivors } = await this.#sweep();
    const end = await this.#box.ending(survivors.length > 0);
    if (!this.#box.readRest()) await this.#drain();
    if (this.#killTimer !== null) clearTimeout(this.#killTimer);
    const captured = await this.#capture();
    const { summary: redactions, rawLog } = await this.#redaction.end();
    if (redactions === null) this.#stopped = 'redaction-failed';
    // Also where it ended by itself meanwhile: its record is short.
    if (this.#unsealed) this.#stopped ??= 'audit-failed';
    this.#digests.close();
    const connections = await disconnectCommand(this.#box.bridge, this.plan);
    const exit = buildExit({
      plan: this.plan,
      end,
      box: this.#box,
      journal: this.journal,
      digests: this.#digests.get(),
      memory: this.#memory,
      stopped: this.#stopped,
      startedAt: this.startedAt,
      endedAt,
      captured,
      carried: {
        cwd: this.#states.get(this.sessionId).cwd,
        names: this.#states.names(this.sessionId),
      },
      background,
      survivors,
      warm: this.#warm,
      redactions,
      rawLog,
      connections,
    });
    this.#memory?.remove();
    this.#box.close();
    await this.#script?.remove();
    this.journal.finish();
    this.exit = exit;
    this.#events.exit(exit);
    return exit;
  }

  /** In a sandbox the kernel ended everything with process 1. */
  async #sweep(): ReturnType<typeof endSurvivors> {
    if (this.plan.box.kind === 'bubblewrap') return { count: 0, survivors: [] };
    return await endSurvivors(this.#box, this.id, this.plan.bounds.graceMs);
  }

  /**
   * What was written before the end is in the pipes, and each ends with its last writer. A
   * process that got one through a socket must not keep the command from ending: then reading stops
   * when nothing comes any more, or after more bytes than pipes can buffer.
   */
  async #drain(): Promise<void> {
    const { stdout, stderr, terminal } = this.#box;
    const readers = [stdout, stderr].filter((reader) => reader !== null);
    const master = terminal === null || terminal.output.destroyed ? null : terminal.output;
    const closed = new Promise<void>((resolve) => {
      if (master === null) resolve();
      else master.once('close', () => resolve());
    });
    const ends = [...readers.map((reader) => reader.ended), this.#box.settled(), closed];
    let ended = false;
    const all = Promise.all(ends).finally(() => {
      ended = true;
    });
    const reading = { read: () => this.#read, isPaused: () => this.#resting, isOver: () => ended };
    await Promise.race([all, waitUntilDrained(reading)]);
    for (const reader of readers) reader.close();
  }

  async #capture(): Promise<ReturnType<typeof captureShellState>> {
    if (this.mode !== 'foreground' || this.plan.carry === 'none' || this.#script) return null;
    // A shell that was ended half-way leaves no valid state.
    if (this.#stopped !== null) return null;
    const before = this.#states.get(this.sessionId);
    // A program that replaces the shell leaves no state but its directory.
    if (this.plan.argv !== null) {
      const state = { ...before, cwd: this.plan.cwd ?? before.cwd };
      this.#states.put(this.sessionId, state);
      return { state, dropped: [] };
    }
    const found = captureShellState(this.#box.stateBytes(), this.plan, before);
    if (found === null) return null;
    const fresh = changedStateParts(found.state, before);
    const names = fresh.length === 0 ? [] : await this.#redaction.check(fresh);
    const captured = withoutSecretParts(found, before, names);
    this.#states.put(this.sessionId, captured.state);
    return captured;
  }
}
