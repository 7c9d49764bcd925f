/**
 * The daemon's access to the runner: it opens one on demand, at most one at a time, and forwards
 * its events.
 */
import type {
  ApprovedPlan,
  ExecId,
  Exit,
  OutputProgress,
  SessionId,
  StopReason,
} from '../command.ts';
import type { KnownSecret } from '../redacted.ts';
import { TrlError } from '../errors.ts';
import type { LiveConnection } from '../network-access.ts';
import { limits } from '../limits.ts';
import type { MachinePort, RunnerConnection } from '../host/port.ts';
import type { LaunchOptions } from '../process/launch.ts';
import type { RunnerLink } from '../process/runner-link.ts';
import type { RunnerOptions } from '../process/runner.ts';

/** Time for the commands of a runner that ends, and some more. */
const endMs = limits.stopMs.default + 2_000;

interface Awaited {
  readonly promise: Promise<Exit>;
  resolve(exit: Exit): void;
  reject(error: TrlError): void;
}

export interface WaitingInfo {
  readonly pid: number;
  readonly program: string;
  readonly certain: boolean;
}

export class Runners {
  readonly #machine: Pick<MachinePort, 'openRunner'>;
  readonly #options: RunnerOptions;
  readonly #exits = new Map<string, Awaited>();
  readonly #waiting = new Map<ExecId, Set<(info: WaitingInfo) => void>>();
  #opening: Promise<RunnerConnection> | null = null;

  constructor(machine: Pick<MachinePort, 'openRunner'>, options: RunnerOptions) {
    this.#machine = machine;
    this.#options = options;
  }

  /** Called when a new runner, which knows no values, replaces one that may know some. */
  onFresh: () => void = () => {};

  /**
   * Called about once a second for each command that prints, and for all commands at an adoption.
   */
  onProgress: (progress: OutputProgress) => void = () => {};

  /** Called for each command that ends while this runtime exists. */
  onExit: (exit: Exit) => void = () => {};

  /** Called when a script calls a tool. Must not throw. */
  onCall: (id: ExecId, call: number, text: string) => void = () => {};

  /** Called when a command is held at a host that no rule names. Must not throw. */
  onHost: (id: ExecId, host: string, port: number) => void = () => {};

  /** Directory of the runner's socket and pipes; `null` before it was opened. */
  dir: string | null = null;

  /** @throws TrlError `BACKEND_UNAVAILABLE` if no runner is available */
  async open(): Promise<RunnerConnection> {
    this.#opening ??= this.#machine.openRunner(this.#options, {
      exit: (exit) => {
        this.onExit(exit);
        this.#exits.get(exit.exec_id)?.resolve(exit);
      },
      progress: (progress) => this.onProgress(progress),
      waiting: (id, info) => {
        for (const listener of this.#waiting.get(id) ?? []) listener(info);
      },
      toolCall: (id, call, text) => this.onCall(id, call, text),
      hostAsked: (id, host, port) => this.onHost(id, host, port),
      lost: () => this.#lost(),
    });
    try {
      const runner = await this.#opening;
      if (!runner.adopted && this.dir !== runner.dir) this.onFresh();
      this.dir = runner.dir;
      return runner;
    } catch (error) {
      this.#opening = null;
      throw error;
    }
  }

  async link(): Promise<RunnerLink> {
    return (await this.open()).link;
  }

  /**
   * Starts a command whose exit is awaited with {@link exited}.
   *
   * @throws TrlError as `process/launch.ts`
   */
  async launch(approved: ApprovedPlan, options: LaunchOptions): Promise<void> {
    const runner = await this.open();
    this.expect(approved.plan.exec_id);
    try {
      await runner.launch(approved, options);
    } catch (error) {
      this.#exits.delete(approved.plan.exec_id);
      throw error;
    }
  }

  /**
   * Sends known values to the runner: running commands must not show them, and no command that is
   * launched after this call gets them earlier. `session`: they are of that session alone.
   */
  async addKnownSecrets(known: readonly KnownSecret[], session: SessionId | null): Promise<void> {
    if (known.length === 0 || this.#opening === null) return;
    const link = await this.link();
    const of = session === null ? {} : { session_id: session };
    await link.request('learn', { known, ...of });
  }

  /** Sends a script the answer to one of its calls. */
  async answer(id: ExecId, call: number, text: string): Promise<void> {
    const link = await this.link();
    await link.request('answer', { exec_id: id, call, text });
  }

  /** Lets a command that is held at a host go on, or refuses it. */
  async answerHost(
    id: ExecId,
    {
      host,
      port,
      allow,
    }: { readonly host: string; readonly port: number; readonly allow: boolean },
  ): Promise<void> {
    const link = await this.link();
    await link.request('host', { exec_id: id, host, port, allow });
  }

  /** Connections of a session through its bridge. */
  async connections(session: SessionId): Promise<readonly LiveConnection[]> {
    const link = await this.link();
    return (await link.request('connections', { session_id: session })).connections;
  }

  async blockHost(session: SessionId, host: string): Promise<void> {
    const link = await this.link();
    await link.request('block_host', { session_id: session, host });
  }

  /** Shows a port of a session on the loopback of its machine. */
  async showPort(session: SessionId, port: number): Promise<{ port: number; token: string }> {
    const link = await this.link();
    return await link.request('show_port', { session_id: session, port });
  }

  async hidePort(session: SessionId, port: number): Promise<boolean> {
    const link = await this.link();
    return (await link.request('hide_port', { session_id: session, port })).hidden;
  }

  /** Stops commands; ended ones are skipped. */
  async stop(ids: readonly ExecId[], reason: StopReason, graceMs?: number): Promise<void> {
    const link = await this.link();
    const grace = graceMs === undefined ? {} : { grace_ms: graceMs };
    for (const id of ids) {
      await link.request('stop', { exec_id: id, reason, ...grace }).catch(() => null);
    }
  }

  /** Kills commands; ended ones are skipped. */
  async kill(ids: readonly ExecId[]): Promise<void> {
    const { link } = await this.open();
    const kill = (id: ExecId): Promise<object> =>
      link.request('signal', { signal: 'SIGKILL', exec_id: id });
    await Promise.allSettled(ids.map(kill));
  }

  /** Registers an execution whose exit is awaited, before it can end. */
  expect(id: ExecId): void {
    let resolve: Awaited['resolve'] = () => {};
    let reject: Awaited['reject'] = () => {};
    const promise = new Promise<Exit>((yes, no) => {
      resolve = yes;
      reject = no;
    });
    // `exited` passes a rejection on; until then it must not count as unhandled.
    promise.catch(() => {});
    this.#exits.set(id, { promise, resolve, reject });
  }

  /** Whether an exit is awaited. */
  expects(id: string): boolean {
    return this.#exits.has(id);
  }

  /** Passes on an exit that did not come by its event. */
  reportExit(exit: Exit): void {
    this.#exits.get(exit.exec_id)?.resolve(exit);
  }

  async exited(id: ExecId): Promise<Exit> {
    const awaited = this.#exits.get(id);
    if (awaited === undefined) throw lostError();
    try {
      return await awaited.promise;
    } finally {
      this.#exits.delete(id);
    }
  }

  /** Calls `listener` when `id` waits for input; returns a function that stops that. */
  onWaiting(id: ExecId, listener: (info: WaitingInfo) => void): () => void {
    const listeners = this.#waiting.get(id) ?? new Set();
    this.#waiting.set(id, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#waiting.delete(id);
    };
  }

  /** Leaves the runner and its commands, or ends both, even if the runner does not answer. */
  async close(end: boolean, waitMs = endMs): Promise<void> {
    if (this.#opening === null) return;
    const runner = await this.#opening.catch(() => null);
    this.#opening = null;
    if (runner === null) return;
    if (end) await runner.end(waitMs);
    runner.link.close();
    // No more exits can come from it.
    if (end) this.#lost();
  }

  #lost(): void {
    const lost = this.#opening;
    this.#opening = null;
    // If its directory cannot be removed now, the next start tries again.
    void lost?.then((runner) => runner.removeLost()).catch(() => {});
    for (const awaited of this.#exits.values()) awaited.reject(lostError());
    this.#exits.clear();
  }
}

const lostError = (): TrlError =>
  new TrlError(
    'BACKEND_UNAVAILABLE',
    'The execution was lost: its runner ended, and everything in it',
  );
