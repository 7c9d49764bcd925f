/** A real daemon for tests, started as a user starts it, and a client that hides nothing. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, openSync } from 'node:fs';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { daemonCommand } from '../../src/local/spawn.ts';

const trl = path.join(path.dirname(path.dirname(import.meta.dirname)), 'trl');
const startMs = 120_000;
const stopMs = 60_000;
const pollMs = 10;
/** Tests that share a daemon. */
const cornersMax = 32;

export interface Daemon extends AsyncDisposable {
  readonly socketPath: string;
  readonly pid: number;
  /** The directory of everything below; removed by `stop`. */
  readonly home: string;
  /** The one directory under which sessions may work; its name has no links in it. */
  readonly root: string;
  /** What the daemon wrote to standard error so far. */
  log(): string;
  /** Kills the daemon at once, as a crash would, or ends it; `stop` still cleans up. */
  kill(signal?: NodeJS.Signals): Promise<void>;
  /** SIGTERM, wait, remove the directory. May be called twice. */
  stop(): Promise<void>;
}

export interface DaemonOptions {
  /** In place of `serve …`; `{socket}`, `{root}` and `{home}` stand for this daemon's own. */
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** A directory of an earlier daemon, to start again where it was; `stop` removes it. */
  readonly home?: string;
  /** Default: `trl.sock` in the home. */
  readonly socketPath?: string;
  /** Called with the daemon's home before it starts; answers more variables for it. */
  readonly prepare?: (home: string) => Readonly<Record<string, string>>;
  /** A program with its arguments that runs the daemon in its own place; `{home}` in them. */
  readonly within?: readonly string[];
  /** A file that the daemon is started with as an open descriptor. */
  readonly inherit?: { readonly fd: number; readonly path: string };
}

/**
 * Starts `trl serve` in a directory of its own and waits until it answers.
 *
 * @throws Error with the daemon's standard error when it ends or does not answer in time.
 */
export async function startRuntime(options: DaemonOptions = {}): Promise<Daemon> {
  const home = options.home ?? mkdtempSync(path.join(tmpdir(), 'trl-'));
  const root = mkdirIn(home, 'work');
  const socketPath = options.socketPath ?? path.join(home, 'trl.sock');
  const given = options.args ?? [
    'serve',
    '--socket-path',
    '{socket}',
    '--workspace-root',
    '{root}',
  ];
  const args = given.map((arg) =>
    arg.replace('{socket}', socketPath).replace('{root}', root).replace('{home}', home),
  );
  const within = (options.within ?? []).map((arg) => arg.replace('{home}', home));
  const [program = trl, ...words] = [...within, ...wayOf(args, within.length > 0), ...args];
  const child = spawn(program, words, {
    stdio: ['ignore', 'ignore', 'pipe', ...inherited(options.inherit)],
    env: { ...process.env, ...surroundings(home), ...options.env, ...options.prepare?.(home) },
  });
  let log = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  const ended = once(child, 'exit');
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    const late = setTimeout(() => child.kill('SIGKILL'), stopMs);
    await ended;
    clearTimeout(late);
  };
  const stop = async (): Promise<void> => {
    await end('SIGTERM');
    endRunnerOf(home);
    rmSync(home, { recursive: true, force: true });
  };
  for (const begun = Date.now(); !(await answers(socketPath)); await sleep(pollMs)) {
    const isOver = child.exitCode !== null || Date.now() - begun > startMs;
    if (!isOver) continue;
    await stop();
    throw new Error(`the daemon does not answer on ${socketPath}:\n${log}`);
  }
  return {
    socketPath,
    pid: child.pid ?? 0,
    home,
    root,
    log: () => log,
    kill: (signal = 'SIGKILL') => end(signal),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/**
 * What `trl serve` becomes, without the launcher and the CLI before it: the checkout's bundles are
 * current since the tests began. Whoever asks for another verb, HTTP (whose console the launcher
 * builds) or another user comes by the launcher.
 */
function wayOf([verb = '', ...args]: readonly string[], isWithin: boolean): readonly string[] {
  if (verb !== 'serve' || isWithin || args.includes('--http')) return [trl];
  return [process.execPath, ...daemonCommand()];
}

/**
 * A daemon that tests share, with a directory of the caller's own for its root. To stop this one
 * stops nothing: whoever started the daemon does.
 */
export function cornerOf(daemon: Daemon): Daemon {
  return corner(daemon, mkdtempSync(path.join(daemon.root, 'corner-')));
}

function corner(daemon: Daemon, root: string): Daemon {
  const leave = async (): Promise<void> => {};
  return { ...daemon, root, stop: leave, [Symbol.asyncDispose]: leave };
}

/**
 * One daemon for the tests of a file: started when the first of them asks, stopped after the last.
 * Each gets a workspace root of its own in it.
 */
export function shareRuntime(options: DaemonOptions = {}): () => Promise<Daemon> {
  const names = Array.from({ length: cornersMax }, (_, at) => `corner-${at}`);
  const roots = names.map((name) => `--workspace-root={root}/${name}`);
  const args = ['serve', '--socket-path', '{socket}', ...roots];
  const prepare: DaemonOptions['prepare'] = (home) => {
    for (const name of names) mkdirIn(path.join(home, 'work'), name);
    return options.prepare?.(home) ?? {};
  };
  let started: Promise<Daemon> | undefined;
  after(async () => (await started)?.stop());
  return async () => {
    const daemon = await (started ??= startRuntime({ args, ...options, prepare }));
    const name = names.shift();
    if (name === undefined) throw new Error('no corner is left: share less');
    return corner(daemon, path.join(daemon.root, name));
  };
}

/** What a test started detached outlives its daemon, and would keep the runner for good. */
function endRunnerOf(home: string): void {
  const record = path.join(home, 'state/trl/runner.json');
  if (!existsSync(record)) return;
  const { dir }: { dir: string } = JSON.parse(readFileSync(record, 'utf8'));
  for (const name of readdirSync('/proc').filter((one) => /^\d+$/.test(one))) {
    try {
      if (readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0').includes(dir)) {
        process.kill(Number(name), 'SIGTERM');
      }
    } catch {
      // It ended meanwhile, or is somebody else's.
    }
  }
}

/** Standard streams are 0 to 2; what lies between them and the file is not open. */
function inherited(file: DaemonOptions['inherit']): ('ignore' | number)[] {
  if (file === undefined) return [];
  const between = Array.from({ length: file.fd - 3 }, () => 'ignore' as const);
  return [...between, openSync(file.path, 'r')];
}

/** Where a runtime keeps everything, so that tests share nothing with each other or the user. */
export function surroundings(home: string): Record<string, string> {
  return {
    XDG_RUNTIME_DIR: mkdirIn(home, 'run'),
    XDG_STATE_HOME: mkdirIn(home, 'state'),
    XDG_CONFIG_HOME: mkdirIn(home, 'config'),
    // What commands do is what most tests are about; those of policy name another.
    TRL_POLICY: 'trusted',
    TRL_SOCKET_PATH: '',
    // What starts in the background would outlive the test that needed it.
    TRL_START: 'private',
    // A runner that a test left alone ends soon after its daemon.
    TRL_RUNNER_LINGER_MS: '2000',
  };
}

/** A client of bytes: sends what it is told and keeps everything it receives. */
export class RawClient implements Disposable {
  readonly #socket: Socket;
  /** Whole lines not yet taken, the pieces of the next one, and everything before them. */
  readonly #lines: string[] = [];
  #pieces: string[] = [];
  #taken = '';
  #ended = false;
  #wake: () => void = () => {};

  constructor(socket: Socket) {
    this.#socket = socket;
    const end = (): void => {
      this.#ended = true;
      this.#wake();
    };
    socket.setEncoding('latin1').on('data', (text: string) => {
      const [first = '', ...others] = text.split('\n');
      this.#pieces.push(first);
      for (const other of others) {
        this.#lines.push(this.#pieces.join(''));
        this.#pieces = [other];
      }
      this.#wake();
    });
    socket.on('end', end).on('close', end).on('error', end);
  }

  /** Sends bytes, text as it is, or anything else as one JSON line. Waits until it has left. */
  async send(message: unknown): Promise<void> {
    const isRaw = typeof message === 'string' || message instanceof Uint8Array;
    const data = isRaw ? message : `${JSON.stringify(message)}\n`;
    await new Promise<void>((resolve) => {
      this.#socket.write(data, () => resolve());
    });
  }

  /** The next line, without its end. Rejects when the connection ends before it. */
  async line(): Promise<string> {
    for (;;) {
      const line = this.#lines.shift();
      if (line !== undefined) {
        this.#taken += `${line}\n`;
        return Buffer.from(line, 'latin1').toString('utf8');
      }
      if (this.#ended) throw new Error(`the connection ended after:\n${this.received()}`);
      await this.#more();
    }
  }

  /** The next line, as JSON. */
  async json(): Promise<Json> {
    return JSON.parse(await this.line());
  }

  /** Sends a request and takes the next line as its answer, as clients of one request do. */
  async ask(method: string, params: unknown = {}, id = 'q'): Promise<Json> {
    await this.send({ id, method, params });
    return this.json();
  }

  /** Everything received so far, and all of it when `end` was seen. */
  received(): string {
    const rest = [...this.#lines.map((line) => `${line}\n`), ...this.#pieces].join('');
    return Buffer.from(this.#taken + rest, 'latin1').toString('utf8');
  }

  /** Waits until the other side has ended the connection. */
  async ended(): Promise<void> {
    while (!this.#ended) await this.#more();
  }

  /** Ends the sending half; answers still come. */
  finish(): void {
    this.#socket.end();
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** Leaves without a word. */
  drop(): void {
    this.#socket.destroy();
  }

  [Symbol.dispose](): void {
    this.drop();
  }

  async #more(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
  }
}

/** A JSON value in a test, which looks into it without asking. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Json = any;

export async function raw(socketPath: string): Promise<RawClient> {
  const socket = connect({ path: socketPath, allowHalfOpen: true });
  await once(socket, 'connect');
  return new RawClient(socket);
}

/** Creates a session and returns its id. */
export async function newSession(client: RawClient, params: object = {}): Promise<string> {
  const answer = await client.ask('session.create', params);
  if (answer.ok !== true) throw new Error(`no session: ${JSON.stringify(answer)}`);
  return answer.data.session_id;
}

async function answers(socketPath: string): Promise<boolean> {
  const socket = connect(socketPath);
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

function mkdirIn(home: string, name: string): string {
  const directory = path.join(home, name);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  return directory;
}
