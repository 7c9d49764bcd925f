/** The runner as the daemon sees it: opened on demand, one at a time, its events passed on. */
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
import { limits } from '../limits.ts';
import { launch, type LaunchOptions } from '../process/launch.ts';
import type { RunnerLink } from '../process/runner-link.ts';
import {
  removeLostRunner,
  endRunner,
  openRunner,
  type Runner,
  type RunnerOptions,
} from '../process/runner.ts';

/** What still runs in a runner that ends has as long as that, and then some. */
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
  readonly #options: RunnerOptions;
  readonly #exits = new Map<string, Awaited>();
  readonly #waiting = new Map<ExecId, Set<(info: WaitingInfo) => void>>();
  #opening: Promise<Runner> | null = null;

  constructor(options: RunnerOptions) {
    this.#options = options;
  }

  /** Called when a runner without values took the place of one that may have had some. */
  onFresh: () => void = () => {};

  /** Called about once a second for each command that prints, and of all at an adoption. */
  onProgress: (progress: OutputProgress) => void = () => {};

  /** Called for each command that ends while this runtime is there. */
  onExit: (exit: Exit) => void = () => {};

  /** Called when a script calls a tool. Must not throw. */
  onCall: (id: ExecId, call: number, text: string) => void = () => {};

  /** Where the runner's socket and pipes are, once it was opened. */
  dir: string | null = null;

  /** @throws TrlError `BACKEND_UNAVAILABLE` when no runner can be had */
  async open(): Promise<Runner> {
    this.#opening ??= openRunner(this.#options, {
      exit: (exit) => {
        this.onExit(exit);
        this.#exits.get(exit.exec_id)?.resolve(exit);
      },
      progress: (progress) => this.onProgress(progress),
      waiting: (id, info) => {
        for (const tell of this.#waiting.get(id) ?? []) tell(info);
      },
      toolCall: (id, call, text) => this.onCall(id, call, text),
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
    const link = await this.link();
    this.expect(approved.plan.exec_id);
    try {
      await launch(link, approved, options);
    } catch (error) {
      this.#exits.delete(approved.plan.exec_id);
      throw error;
    }
  }

  /**
   * Tells of values that have become known: what runs must not show them either, and nothing that
   * is launched after this call has them before. `session`: they are of that session alone.
   */
  async addKnownSecrets(known: readonly KnownSecret[], session: SessionId | null): Promise<void> {
    if (known.length === 0 || this.#opening === null) return;
    const link = await this.link();
    const of = session === null ? {} : { session_id: session };
    await link.request('learn', { known, ...of });
  }

  /** Hands a script the answer to one of its calls. */
  async answer(id: ExecId, call: number, text: string): Promise<void> {
    const link = await this.link();
    await link.request('answer', { exec_id: id, call, text });
  }

  /** Ends commands; those that have ended meanwhile are no matter. */
  async stop(ids: readonly ExecId[], reason: StopReason, graceMs?: number): Promise<void> {
    const link = await this.link();
    const grace = graceMs === undefined ? {} : { grace_ms: graceMs };
    for (const id of ids) {
      await link.request('stop', { exec_id: id, reason, ...grace }).catch(() => null);
    }
  }

  /** Ends them at once; those that have ended meanwhile are no matter. */
  async kill(ids: readonly ExecId[]): Promise<void> {
    const { link } = await this.open();
    const kill = (id: ExecId): Promise<object> =>
      link.request('signal', { signal: 'SIGKILL', exec_id: id });
    await Promise.allSettled(ids.map(kill));
  }

  /** Prepares to hear of an exit, so that none comes unheard. */
  expect(id: ExecId): void {
    let resolve: Awaited['resolve'] = () => {};
    let reject: Awaited['reject'] = () => {};
    const promise = new Promise<Exit>((yes, no) => {
      resolve = yes;
      reject = no;
    });
    // Whoever waits hears of it; until then it is no unhandled rejection.
    promise.catch(() => {});
    this.#exits.set(id, { promise, resolve, reject });
  }

  /** Whether an exit is awaited. */
  expects(id: string): boolean {
    return this.#exits.has(id);
  }

  /** Passes on an exit that was learnt otherwise than by its event. */
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

  /** Hears when `id` waits for input; answers a function that stops it. */
  onWaiting(id: ExecId, tell: (info: WaitingInfo) => void): () => void {
    const tellers = this.#waiting.get(id) ?? new Set();
    this.#waiting.set(id, tellers.add(tell));
    return () => {
      tellers.delete(tell);
      if (tellers.size === 0) this.#waiting.delete(id);
    };
  }

  /** Leaves the runner and what runs in it, or ends both, also where it does not answer. */
  async close(end: boolean, waitMs = endMs): Promise<void> {
    if (this.#opening === null) return;
    const runner = await this.#opening.catch(() => null);
    this.#opening = null;
    if (runner === null) return;
    if (end) await endRunner(runner, waitMs);
    runner.link.close();
    // What it did not tell any more, nobody will.
    if (end) this.#lost();
  }

  #lost(): void {
    const lost = this.#opening;
    this.#opening = null;
    // What it left is nobody's now; where it cannot be removed, the next start tries again.
    void lost?.then(removeLostRunner).catch(() => {});
    for (const awaited of this.#exits.values()) awaited.reject(lostError());
    this.#exits.clear();
  }
}

const lostError = (): TrlError =>
  new TrlError(
    'BACKEND_UNAVAILABLE',
    'The execution was lost: its runner ended, and everything in it',
  );
