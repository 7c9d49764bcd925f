/**
 * What the runner keeps per session: its namespaces, a sandbox prepared ahead, and its executions.
 * Nothing here is a process except a prepared sandbox, which expires.
 */
import type { BytePath } from '../change.ts';
import type { ExecId, Exit, OutputProgress, Plan, SessionId, StopReason } from '../command.ts';
import type { KnownSecret } from '../redacted.ts';
import { TrlError } from '../errors.ts';
import { limits } from '../limits.ts';
import { CommandBox, sandboxShapeOf } from './command-box.ts';
import { Execution, type ExecutionParts, type ExecutionSummary } from './execution.ts';
import { EgressProcess, withBridge } from './egress-process.ts';
import { connectCommand, disconnectCommand } from './session-bridge.ts';
import type { HostAnswer, HostQuestion } from './session-bridge.ts';
import { Fifos } from './fifo.ts';
import { openNamespace, type OpenNamespace } from './namespace.ts';
import { SandboxNamespaces } from './namespaces.ts';
import type { JournalSpace } from './journal.ts';
import type { InputWait } from './processes.ts';
import { openPseudoTerminal } from './pty.ts';
import { DeferredSink, RedactorProcess, type RedactionChannelOptions } from './redactor-process.ts';
import { PreparedLaunch } from './prepared-launch.ts';
import { ShellStates } from './shell-state.ts';
import type { RefreshResult, WatchedMount } from './operations.ts';

export interface SandboxPoolEvents {
  output(execution: Execution): void;
  progress(progress: OutputProgress): void;
  waiting(execution: Execution, info: InputWait): void;
  /** A script calls a tool; returns whether a daemon is connected to take the call. */
  toolCall(execution: Execution, call: number, text: string): boolean;
  /** A connection is held until a person has answered. */
  host(question: HostQuestion): void;
  exit(execution: Execution, exit: Exit): void;
}

/** Delay before the next sandbox is made: the command's answer goes first. */
const prepareAfterMs = 2;

const isOnce = ({ box }: Plan): boolean => box.kind === 'bubblewrap' && box.holder.once;

export class SandboxPool {
  readonly states = new ShellStates();
  readonly executions = new Map<ExecId, ExecutionSummary>();
  readonly redaction: RedactorProcess;
  readonly #egress: EgressProcess;
  readonly #dir: string;
  readonly #space: JournalSpace;
  readonly #commandsMax: number;
  readonly #events: SandboxPoolEvents;
  readonly #fifos: Fifos;
  readonly namespaces: SandboxNamespaces;
  readonly #warm = new Map<SessionId, CommandBox>();
  /** Sandboxes that are being made ahead, one a session. */
  readonly #preparing = new Map<SessionId, Promise<void>>();
  readonly #starting = new Set<PreparedLaunch>();
  readonly #closed = new Set<SessionId>();
  /** Hosts that nobody has answered for yet. */
  readonly #questions = new Set<HostQuestion>();
  readonly #sweeper: NodeJS.Timeout;
  #isEnding = false;

  constructor(
    options: {
      dir: string;
      space: JournalSpace;
      commandsMax: number;
      sessionsMax: number;
      /** The redactor's program. */
      redactor: string;
      /** The egress process's program. */
      egress: string;
    },
    events: SandboxPoolEvents,
  ) {
    this.redaction = new RedactorProcess(options.redactor);
    this.#egress = new EgressProcess(options.egress, (question) => this.#ask(question));
    this.#dir = options.dir;
    this.#space = options.space;
    this.#commandsMax = options.commandsMax;
    this.namespaces = new SandboxNamespaces(this.#egress, options.sessionsMax, async (session) => {
      await this.#preparing.get(session);
      await this.#discardWarm(session);
      this.#noteIdle(session);
    });
    this.#events = events;
    this.#fifos = new Fifos(options.dir);
    this.#sweeper = setInterval(() => this.#sweep(), 5_000);
    this.#sweeper.unref();
  }

  /**
   * Adds values that output must not show. Those of one session are kept for its later commands,
   * because a daemon that adopts this runner does not know them.
   */
  learn(known: readonly KnownSecret[], session: SessionId | null): void {
    if (session !== null) this.states.learn(session, known);
    for (const one of [...this.#live(), ...this.#starting]) {
      if (session === null || one.sessionId === session) one.learn(known);
    }
  }

  /**
   * Starts a command. `known`: values that its output must not show; `own`: the runtime's command,
   * whose output is not sealed; `permitted`: the command is prepared, and starts when this is true.
   *
   * @throws TrlError `SANDBOX_UNAVAILABLE`, `QUOTA_EXCEEDED`, `BACKEND_UNAVAILABLE`
   */
  async launch(
    plan: Plan,
    known: readonly KnownSecret[],
    { own, permitted }: { readonly own: boolean; readonly permitted: Promise<boolean> | null },
  ): Promise<Execution> {
    const running = this.#live().length + this.#starting.size;
    if (running >= this.#commandsMax) {
      throw new TrlError('QUOTA_EXCEEDED', `Cannot start a command: ${running} are running`);
    }
    this.#closed.delete(plan.session_id);
    const starting = new PreparedLaunch(plan.session_id);
    this.#starting.add(starting);
    try {
      const { taken, box } = isOnce(plan)
        ? await this.#openOnce(plan)
        : await this.#enterHeld(plan);
      try {
        const sink = new DeferredSink();
        const redaction = await this.redaction.open(this.#openOf(plan, known, own), sink);
        starting.attachOutput(redaction);
        try {
          if (permitted !== null) await this.#held(plan, starting, permitted);
          await connectCommand(box.bridge, plan);
          return this.#begin(plan, { box, warm: taken !== null, redaction, sink });
        } catch (error) {
          void disconnectCommand(box.bridge, plan);
          void redaction.end();
          throw error;
        }
      } catch (error) {
        await box.discard();
        throw error;
      }
    } finally {
      this.#starting.delete(starting);
    }
  }

  /** @throws TrlError `BACKEND_UNAVAILABLE` when it is not to start after all */
  async #held(plan: Plan, starting: PreparedLaunch, permitted: Promise<boolean>): Promise<void> {
    if ((await starting.isCommitted(permitted)) && !this.#closed.has(plan.session_id)) return;
    throw new TrlError('BACKEND_UNAVAILABLE', `Cannot start ${plan.exec_id}: it was withdrawn`);
  }

  /** @throws TrlError `SANDBOX_UNAVAILABLE` */
  #begin(plan: Plan, parts: Omit<ExecutionParts, 'journal' | 'states'>): Execution {
    const journal = this.#space.open(plan.bounds.journalBytesMax);
    const execution: Execution = new Execution(
      plan,
      { ...parts, journal, states: this.states },
      {
        output: () => this.#events.output(execution),
        progress: (progress) => this.#events.progress(progress),
        waiting: (info) => this.#events.waiting(execution, info),
        toolCall: (call, text) => this.#events.toolCall(execution, call, text),
        exit: (exit) => {
          this.executions.set(plan.exec_id, execution.summary);
          this.#noteIdle(plan.session_id);
          this.#events.exit(execution, exit);
          if (
            plan.mode === 'foreground' &&
            !isOnce(plan) &&
            plan.language === undefined &&
            plan.pty === null &&
            exit.stopped === null
          ) {
            setTimeout(() => void this.prepare(plan), prepareAfterMs).unref();
          }
        },
      },
    );
    this.executions.set(plan.exec_id, execution);
    return execution;
  }

  async #enterHeld(plan: Plan): Promise<{ taken: CommandBox | null; box: CommandBox }> {
    const session = plan.session_id;
    await this.namespaces.settled(plan);
    // A sandbox that is being made is ready sooner than one that is not begun.
    await this.#preparing.get(session);
    const taken = this.#takeWarm(plan);
    const box = taken ?? (await this.#openBox(plan));
    try {
      await box.ready;
    } catch (error) {
      await box.discard();
      this.namespaces.drop(session);
      throw error;
    }
    this.namespaces.expectRefresh(plan);
    return { taken, box };
  }

  /** Only the sandbox keeps these namespaces; the session's own are not changed. */
  async #openOnce(plan: Plan): Promise<{ taken: null; box: CommandBox }> {
    if (plan.box.kind === 'none') throw new TrlError('INTERNAL_ERROR', 'Cannot enter: no holder');
    const { holder: planned } = plan.box;
    const holder = await withBridge(this.#egress, planned, (files) =>
      openNamespace(planned, undefined, null, files),
    );
    try {
      const box = await this.#enter(plan, holder, plan.box.holder.hostUid);
      await holder.bounded;
      await box.ready.catch(async (error: unknown) => {
        await box.discard();
        throw error;
      });
      return { taken: null, box };
    } finally {
      holder.close();
    }
  }

  /** Commands of the view that start later wait for it. See {@link SandboxNamespaces.refresh}. */
  refresh(view: string, paths: readonly BytePath[]): Promise<RefreshResult> {
    return this.namespaces.refresh(view, paths);
  }

  /** See {@link SandboxNamespaces.watched}: of all commands that run in the view. */
  watched(view: string): Promise<WatchedMount | null> {
    const running = this.#live().filter(({ plan: { box } }) => {
      return box.kind !== 'none' && box.holder.overlay?.view === view;
    });
    return this.namespaces.watched(
      view,
      running.flatMap((execution) => execution.processes()),
    );
  }

  #openOf(plan: Plan, known: readonly KnownSecret[], own: boolean): RedactionChannelOptions {
    const { command, exec_id: exec } = plan;
    const interactive = plan.pty !== null || plan.stdin.kind === 'open';
    const carried = this.states.secrets(plan.session_id);
    const all = [...known, ...carried];
    return { exec: own ? null : exec, command, known: all, interactive, reveal: plan.reveal ?? [] };
  }

  /** Makes one sandbox of the plan's shape ahead. A failure shows when it is needed. */
  async prepare(plan: Plan): Promise<void> {
    const session = plan.session_id;
    if (plan.box.kind === 'none' || plan.stdin.kind !== 'closed' || plan.pty !== null) return;
    if (isOnce(plan) || this.#isEnding) return;
    if (this.#closed.has(session) || this.#preparing.has(session)) return;
    if (this.#warm.get(session)?.shape === sandboxShapeOf(plan)) return;
    const making = this.#makeWarm(plan).catch(() => {
      // Preparing ahead is an attempt; the next command makes its own sandbox and reports.
    });
    this.#preparing.set(session, making);
    await making;
    this.#preparing.delete(session);
  }

  async #makeWarm(plan: Plan): Promise<void> {
    const session = plan.session_id;
    await this.#discardWarm(session);
    const box = await this.#openBox(plan);
    try {
      await box.ready;
    } catch (error) {
      await box.discard();
      throw error;
    }
    if (this.#closed.has(session)) return box.discard();
    // Looked up now, while no request waits.
    box.stdinLink();
    this.#warm.set(session, box);
    const oldest = [...this.#warm.keys()][0];
    if (this.#warm.size > limits.warmCount.default && oldest !== undefined) {
      await this.#discardWarm(oldest);
    }
  }

  /** Ends everything of a session and forgets its state and namespaces. */
  async close(session: SessionId): Promise<void> {
    this.#closed.add(session);
    this.#withdraw((one) => one.sessionId === session);
    const own = this.#live().filter(({ sessionId }) => sessionId === session);
    this.#stop(own, 'session-destroyed');
    await this.#preparing.get(session);
    await this.#discardWarm(session);
    await Promise.all(own.map(({ done }) => done));
    this.namespaces.leave(session);
    this.states.delete(session);
  }

  /** What a person said about a host that a command is held at. */
  answerHost(id: ExecId, answer: HostAnswer): void {
    for (const one of this.#questions) {
      const isSame = one.exec === id && one.host === answer.host && one.port === answer.port;
      if (isSame) this.#questions.delete(one);
    }
    this.executions.get(id)?.live?.bridge?.answer(answer);
  }

  #ask(question: HostQuestion): void {
    this.#questions.add(question);
    this.#events.host(question);
  }

  /** Reports the output so far of all running commands, and what they are held at. */
  reportProgress(): void {
    for (const one of this.#questions) {
      if (this.executions.get(one.exec)?.live === null) this.#questions.delete(one);
      else this.#events.host(one);
    }
    for (const { progress } of this.#live()) {
      if (progress.stdout_bytes + progress.stderr_bytes > 0) this.#events.progress(progress);
    }
  }

  /** TERM, grace, KILL for everything. */
  async shutdown(): Promise<void> {
    clearInterval(this.#sweeper);
    this.#isEnding = true;
    this.#withdraw(() => true);
    const all = this.#live();
    this.#stop(all, 'shutdown');
    await Promise.all(this.#preparing.values());
    for (const session of this.#warm.keys()) await this.#discardWarm(session);
    await Promise.all(all.map(({ done }) => done));
    this.redaction.close();
    this.#egress.close();
    this.namespaces.close();
  }

  #withdraw(isMeant: (starting: PreparedLaunch) => boolean): void {
    for (const starting of this.#starting) if (isMeant(starting)) starting.cancel();
  }

  #live(): Execution[] {
    return [...this.executions.values()].flatMap(({ live }) => (live === null ? [] : [live]));
  }

  #noteIdle(session: SessionId): void {
    if (!this.#live().some(({ sessionId }) => sessionId === session)) this.namespaces.idle(session);
  }

  #stop(executions: readonly Execution[], reason: StopReason): void {
    for (const execution of executions) {
      execution.stop(reason);
      execution.setReadingPaused(false);
    }
  }

  async #openBox(plan: Plan): Promise<CommandBox> {
    if (plan.box.kind === 'none') return this.#enter(plan, null, process.getuid?.() ?? 0);
    const { holder } = plan.box;
    return this.namespaces.enter(plan.session_id, holder, (open) =>
      this.#enter(plan, open, holder.hostUid),
    );
  }

  async #enter(plan: Plan, holder: OpenNamespace | null, uid: number): Promise<CommandBox> {
    const terminal = plan.pty === null ? null : await openPseudoTerminal(uid, plan.pty);
    const parts = { holder, fifos: this.#fifos, dir: this.#dir, terminal, mark: plan.exec_id };
    try {
      return await CommandBox.open(plan, parts);
    } catch (error) {
      terminal?.closeSlave();
      terminal?.close();
      throw error;
    }
  }

  #takeWarm(plan: Plan): CommandBox | null {
    const box = this.#warm.get(plan.session_id);
    // A script has a sandbox of its own; the next command may still use this one.
    if (box === undefined || plan.language !== undefined) return null;
    this.#warm.delete(plan.session_id);
    if (!box.dead && box.shape === sandboxShapeOf(plan)) return box;
    void box.discard();
    return null;
  }

  async #discardWarm(session: SessionId): Promise<void> {
    const box = this.#warm.get(session);
    this.#warm.delete(session);
    await box?.discard();
  }

  #sweep(): void {
    const now = Date.now();
    for (const [session, box] of this.#warm) {
      if (now - box.madeAt > limits.warmIdleMs.default) void this.#discardWarm(session);
    }
    for (const [id, { exit, journal }] of this.executions) {
      if (exit === null || now - exit.ended_at < limits.journalKeepMs.default) continue;
      journal.drop();
      this.executions.delete(id);
    }
  }
}
