/**
 * One single-use sandbox with a shell in it that waits for its script. It may be made ahead: it
 * holds no command and no variable, only mounts, network, uid and limits.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { basename, join } from 'node:path';
import type { Plan } from '../command.ts';
import { TrlError } from '../errors.ts';
import { limits } from '../limits.ts';
import { enclosedArgv } from './enclose.ts';
import type { SessionBridge } from './session-bridge.ts';
import type { Fifos, FifoPipe } from './fifo.ts';
import type { OpenNamespace } from './namespace.ts';
import type { PseudoTerminal } from './pty.ts';
import { descendants, isAlive, descriptorTarget } from './processes.ts';
import { scriptFd } from './python-boot.ts';
import { PipeReader, pipeReadBytesMax } from './pipe-reader.ts';
import { shellBootArgs, shimScript } from './shell-script.ts';

/** The seccomp program, as the plan's arguments name it. */
const seccompFd = 6;
/** Time for a sandbox to say `ready`. */
const readyMs = 15_000;
/** Time for the processes of a sandbox to be gone after it was killed. */
const goneMs = 2_000;
const gonePollMs = 2;
/** A shell writes its state in many small parts: they are read together. */
const stateRestMs = 5;

/** What two plans must share to be able to use the same prepared sandbox. */
export function sandboxShapeOf(plan: Plan): string {
  const { cpuSeconds, processesMax, openFilesMax, fileBytesMax, addressSpaceBytesMax } =
    plan.bounds;
  const bounds = [cpuSeconds, processesMax, openFilesMax, fileBytesMax, addressSpaceBytesMax];
  const stdin = plan.stdin.kind === 'closed' ? 'null' : 'pipe';
  const { box } = plan;
  const sandbox = box.kind === 'none' ? [] : [box.holder.id, box.args, box.seccomp];
  const made = [stdin, plan.pty !== null, umaskOf(plan)];
  return JSON.stringify([plan.session_id, plan.shell, bounds, made, sandbox]);
}

const umaskOf = ({ umask = 0o022 }: Plan): number => umask;

/** How the box's first process ended, by its wait status. */
export interface WaitResult {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** The lines that the shim wrote. */
export interface ShimReport {
  readonly code: number;
  readonly background: number;
}

export interface BoxParts {
  readonly holder: OpenNamespace | null;
  readonly fifos: Fifos;
  readonly dir: string;
  readonly terminal: PseudoTerminal | null;
  /** Marks processes outside a sandbox so that they can be found again. */
  readonly mark: string;
}

interface Pipes {
  readonly stdin: FifoPipe | null;
  readonly stdout: FifoPipe | null;
  readonly stderr: FifoPipe | null;
  readonly script: FifoPipe;
  readonly status: FifoPipe;
  readonly state: FifoPipe;
}

async function makePipes(plan: Plan, fifos: Fifos): Promise<Pipes> {
  const pty = plan.pty !== null;
  return {
    stdin: pty || plan.stdin.kind === 'closed' ? null : await fifos.writing(),
    stdout: pty ? null : await fifos.reading(),
    stderr: pty ? null : await fifos.reading(),
    script: await fifos.writing(),
    status: await fifos.reading(),
    state: await fifos.reading(),
  };
}

function commandLine(plan: Plan, parts: BoxParts): readonly string[] {
  const { box } = plan;
  const sandboxed = box.kind === 'bubblewrap';
  const text = shimScript(plan.bounds, { sandboxed, pty: plan.pty !== null, umask: umaskOf(plan) });
  const boot = shellBootArgs(plan.shell.dialect, plan.env['LC_ALL'] || plan.env['LANG'] || 'C');
  const shell = ['/bin/sh', '-c', text, 'sh', plan.shell.path, ...boot];
  const kept = [0, 1, 2, 3, 4, 5, ...(plan.language === 'python' ? [scriptFd] : [])];
  if (box.kind === 'none' || parts.holder === null) {
    return enclosedArgv(shell, kept, { adopts: true });
  }
  const sandbox = [box.holder.tools.bwrap, ...box.args, '--', ...shell];
  return parts.holder.entering(sandbox, [...kept, seccompFd]);
}

export class CommandBox {
  /** The name of the runner's directory, which no other runner has. */
  readonly runner: string;
  readonly shape: string;
  readonly madeAt = Date.now();
  readonly stdout: PipeReader | null;
  readonly stderr: PipeReader | null;
  readonly stdin: Socket | null;
  readonly terminal: PseudoTerminal | null;
  /** Its session's way to hosts; `null`: it has none. */
  readonly bridge: SessionBridge | null;
  /** The channel of a Python script and its calls. */
  readonly channel: Socket | null;
  /** Settles when the runner has reaped the process that it started. */
  readonly exited: Promise<WaitResult>;
  /** Settles when the shell is over: without a sandbox its shim stays while anything of it runs. */
  readonly over: Promise<void>;
  readonly ready: Promise<void>;
  readonly #child: ChildProcess;
  readonly #sandboxed: boolean;
  readonly #script: Socket;
  readonly #status: PipeReader;
  readonly #state: PipeReader;
  readonly #stateParts: Buffer[] = [];
  #stateBytes = 0;
  #stateRest: NodeJS.Timeout | null = null;
  #statusText = '';
  /** `undefined` until it was looked up. */
  #stdinLink: string | null | undefined;
  /** Process 1 of the sandbox, once it was killed. */
  #first: number | null = null;
  #onLine: (line: string) => void = () => {};
  readonly #onEnd: () => void;
  end: ShimReport | null = null;
  cwdFallback: string | null = null;
  cwdMissing = false;
  dead = false;

  private constructor(plan: Plan, parts: BoxParts, pipes: Pipes, seccomp: number | null) {
    this.shape = sandboxShapeOf(plan);
    this.runner = basename(parts.dir);
    this.terminal = parts.terminal;
    this.bridge = parts.holder?.bridge ?? null;
    this.bridge?.use();
    this.#sandboxed = plan.box.kind === 'bubblewrap';
    const [file = '', ...args] = commandLine(plan, parts);
    const tty = parts.terminal?.slave ?? 'ignore';
    this.#child = spawn(file, args, {
      env: {
        PATH: '/usr/bin:/bin',
        ...(plan.box.kind === 'none' ? { TRL_EXEC_ID: parts.mark, TRL_RUNNER_DIR: parts.dir } : {}),
      },
      cwd: '/',
      detached: plan.box.kind === 'none',
      stdio: [
        pipes.stdin?.theirs ?? tty,
        pipes.stdout?.theirs ?? tty,
        pipes.stderr?.theirs ?? tty,
        pipes.script.theirs,
        pipes.status.theirs,
        pipes.state.theirs,
        seccomp ?? 'ignore',
        plan.language === 'python' ? 'pipe' : 'ignore',
      ],
    });
    // A socket pair: unlike a FIFO, nobody inside can open it by its name in /proc.
    const inherited: readonly unknown[] = this.#child.stdio;
    const channel = inherited[scriptFd];
    this.channel = channel instanceof Socket ? channel : null;
    this.exited = new Promise<WaitResult>((resolve) => {
      this.#child.once('error', () => resolve({ code: 125, signal: null }));
      this.#child.once('exit', (code, signal) => resolve({ code, signal }));
    }).then(async (end) => {
      this.dead = true;
      await this.#gone();
      this.bridge?.release();
      return end;
    });
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    this.#onEnd = end;
    this.over = this.#overAt(ended);
    this.stdout = pipes.stdout === null ? null : new PipeReader(pipes.stdout.ours);
    this.stderr = pipes.stderr === null ? null : new PipeReader(pipes.stderr.ours);
    this.stdin = pipes.stdin === null ? null : writer(pipes.stdin.ours);
    this.#script = writer(pipes.script.ours);
    this.#status = new PipeReader(pipes.status.ours);
    this.#state = new PipeReader(pipes.state.ours);
    this.#state.start({ take: (bytes) => this.#takeState(bytes) });
    this.ready = this.#awaitReady();
    // A launch that uses the box awaits `ready` again; until then a failure is not unhandled.
    this.ready.catch(() => {});
    this.#status.start({ take: (bytes) => this.#takeStatus(bytes) });
  }

  /** @throws TrlError `INTERNAL_ERROR` when pipes cannot be made */
  static async open(plan: Plan, parts: BoxParts): Promise<CommandBox> {
    const pipes = await makePipes(plan, parts.fifos);
    const seccomp =
      plan.box.kind === 'bubblewrap' ? openProgram(plan.box.seccomp, parts.dir) : null;
    try {
      return new CommandBox(plan, parts, pipes, seccomp);
    } finally {
      for (const pipe of Object.values(pipes)) if (pipe !== null) closeSync(pipe.theirs);
      if (seccomp !== null) closeSync(seccomp);
      parts.terminal?.closeSlave();
    }
  }

  get pid(): number | null {
    return this.#child.pid ?? null;
  }

  /** Every process of the box, the monitor first. */
  all(): number[] {
    return this.dead || this.pid === null ? [] : [this.pid, ...descendants(this.pid)];
  }

  /** Processes of the command itself: without the monitor and without the shim. */
  processes(): number[] {
    if (this.dead || this.pid === null) return [];
    const all = descendants(this.pid);
    return this.#sandboxed ? all.slice(1) : all;
  }

  /** What the kernel calls the command's stdin, as its shim holds it. */
  stdinLink(): string | null {
    if (this.#stdinLink !== undefined) return this.#stdinLink;
    const [shim] = this.pid === null ? [] : descendants(this.pid);
    const holder = this.#sandboxed ? shim : this.pid;
    this.#stdinLink = holder === undefined ? null : descriptorTarget(`/proc/${holder}/fd/0`);
    return this.#stdinLink;
  }

  /** Gives the shell its script. A box takes one. */
  feed(text: string): void {
    this.#script.end(text);
  }

  /** What the shell wrote about its state so far. */
  stateBytes(): Buffer {
    return Buffer.concat(this.#stateParts);
  }

  kill(): void {
    if (this.dead) return;
    if (this.#sandboxed && this.pid !== null) this.#first ??= descendants(this.pid)[0] ?? null;
    this.#child.kill('SIGKILL');
  }

  async #overAt(ended: Promise<void>): Promise<void> {
    await Promise.race([this.exited, ...(this.#sandboxed ? [] : [ended])]);
  }

  /** How it ended; `isStuck`: its shim would wait for processes that cannot be killed. */
  async ending(isStuck: boolean): Promise<WaitResult> {
    if (!isStuck || this.dead || this.end === null) return await this.exited;
    const { code } = this.end;
    this.kill();
    await this.exited;
    return { code, signal: null };
  }

  /** Without bubblewrap the kernel ends process 1 and all the others; before that none is over. */
  async #gone(): Promise<void> {
    const until = Date.now() + goneMs;
    while (this.#first !== null && isAlive(this.#first) && Date.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, gonePollMs));
    }
  }

  /** Closes what is open besides the output readers. */
  close(): void {
    this.#script.destroy();
    this.stdin?.destroy();
    this.#status.close();
    if (this.#stateRest !== null) clearTimeout(this.#stateRest);
    this.#state.close();
    this.channel?.destroy();
    this.terminal?.close();
  }

  /** Ends a box that was never used. */
  async discard(): Promise<void> {
    this.kill();
    await this.exited;
    this.stdout?.close();
    this.stderr?.close();
    this.close();
  }

  /** Reads everything that was written, at once; returns whether every writer is gone. */
  readRest(): boolean {
    if (this.terminal !== null) return false;
    const readers = [this.stdout, this.stderr, this.#status, this.#state];
    return readers.filter((reader) => reader?.readRest() === false).length === 0;
  }

  /** Resolves when everything written to status and state was read. */
  async settled(): Promise<void> {
    await Promise.all([this.#status.ended, this.#state.ended]);
  }

  #takeState(bytes: Uint8Array): boolean {
    this.#stateBytes += bytes.length;
    // Reading continues: a full pipe would block the shell at its end.
    if (this.#stateBytes > limits.stateBytes.max) this.#stateParts.length = 0;
    else this.#stateParts.push(Buffer.from(bytes));
    if (bytes.length === pipeReadBytesMax) return true;
    this.#stateRest ??= setTimeout(() => {
      this.#stateRest = null;
      this.#state.resume();
    }, stateRestMs);
    return false;
  }

  #takeStatus(bytes: Uint8Array): boolean {
    this.#statusText += Buffer.from(bytes).toString('utf8');
    for (let at = this.#statusText.indexOf('\n'); at >= 0; at = this.#statusText.indexOf('\n')) {
      const line = this.#statusText.slice(0, at);
      this.#statusText = this.#statusText.slice(at + 1);
      this.#line(line);
    }
    // The command can write here as well (the shim is its parent): bounded, and data only.
    if (this.#statusText.length > 64 * 1024) this.#statusText = '';
    return true;
  }

  #line(line: string): void {
    const [word = '', first = '', second = ''] = line.split(' ');
    if (word === 'exit') {
      this.end = { code: count(first), background: count(second) };
      this.#onEnd();
    } else if (word === 'fallback') this.cwdFallback = line.slice('fallback '.length);
    else if (word === 'nocwd') this.cwdMissing = true;
    this.#onLine(line);
  }

  async #awaitReady(): Promise<void> {
    const said = new Promise<string>((resolve) => {
      this.#onLine = resolve;
    });
    const errors: Buffer[] = [];
    this.stderr?.start({ take: (bytes) => errors.push(Buffer.from(bytes)) < 64 });
    const timer = setTimeout(() => this.kill(), readyMs);
    const first = await Promise.race([said, this.exited.then(() => null)]);
    clearTimeout(timer);
    if (first === null) {
      const why = Buffer.concat(errors).toString('utf8').trim().slice(0, 500);
      throw new TrlError(
        'SANDBOX_UNAVAILABLE',
        `Cannot make a sandbox: ${why || 'it ended at once'}`,
      );
    }
    const [word, ...failed] = first.split(' ');
    if (word === 'ready' && failed.length === 0) return;
    this.kill();
    // The kernel can accept a bound that is too narrow for the shell that sets it.
    const why =
      word === 'ready'
        ? `Cannot set the bounds asked for: ${failed.join(', ')}`
        : 'Cannot make a sandbox: no shell starts within the bounds asked for';
    throw new TrlError('SANDBOX_UNAVAILABLE', why);
  }
}

/** A small number in decimal digits; anything else, which only a command would write, is 0. */
const count = (text: string): number => (/^\d{1,6}$/.test(text) ? Number(text) : 0);

function writer(fd: number): Socket {
  const socket = new Socket({ fd, readable: false, writable: true });
  // EPIPE: the command closed its input, which is allowed.
  socket.on('error', () => socket.destroy());
  return socket;
}

/** A descriptor of its own for every box: bubblewrap reads it to the end. */
function openProgram(base64: string, dir: string): number {
  const path = join(
    dir,
    `seccomp-${createHash('sha256').update(base64).digest('hex').slice(0, 16)}`,
  );
  try {
    return openSync(path, 'r');
  } catch {
    writeFileSync(path, Buffer.from(base64, 'base64'), { mode: 0o600 });
    return openSync(path, 'r');
  }
}
