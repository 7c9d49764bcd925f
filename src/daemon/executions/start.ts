/** Starts authorized commands, and follows each to its end. */
import { isTrlError } from '../../errors.ts';
import type { AuthorizedExecution, ExecutionContext, RunDependencies } from '../../execution.ts';
import type { WorkspaceViews } from '../../host/port.ts';
import { finishRun, run } from '../../run.ts';
import type { HostQuestions } from '../approvals/host-questions.ts';
import { basisOf, type ExecBasis, type MaskText } from '../auditing/exec-basis.ts';
import type { ExecRecorder } from '../auditing/exec-recorder.ts';
import type { RecordedEnd } from '../auditing/recorded-ends.ts';
import type { Runners } from '../runners.ts';
import type { Masking } from '../secrets/masking.ts';
import type { ContextCache } from '../sessions/context-cache.ts';
import type { LiveSession, Sessions } from '../sessions/sessions.ts';
import type { ScriptCalls } from '../tools/script-calls.ts';
import { notStartedError, withSignedChanges } from './adoption.ts';
import type { CommandShares } from './command-shares.ts';
import type { ExecRecord, Executions, TrackedExecution } from './executions.ts';
import { withHints } from './hints.ts';
import type { EndedExecution } from './receipt.ts';

export interface StarterParts {
  readonly dependencies: RunDependencies;
  readonly sessions: Sessions;
  readonly execs: Executions;
  readonly contexts: ContextCache;
  readonly shares: CommandShares;
  readonly scripts: ScriptCalls;
  readonly recorder: ExecRecorder;
  readonly runners: Runners;
  readonly masking: Masking;
  readonly maskText: MaskText;
  readonly views: WorkspaceViews;
  readonly hostQuestions: HostQuestions;
}

export class CommandStarter {
  readonly #parts: StarterParts;

  constructor(parts: StarterParts) {
    this.#parts = parts;
  }

  /** Resolves when the command runs; an execution that cannot start is forgotten. */
  async start(
    session: LiveSession,
    context: ExecutionContext,
    authorized: AuthorizedExecution,
    record: Omit<ExecRecord, 'parked'>,
  ): Promise<TrackedExecution> {
    const { execs, recorder, scripts } = this.#parts;
    const facts = { ...record.facts, basis: this.#expectRecord(authorized, context) };
    const started = Promise.withResolvers<void>();
    const stored = Promise.withResolvers<void>();
    const outcome = stored.promise.then(() => this.#run(context, authorized, started.resolve));
    let tracked: TrackedExecution;
    try {
      tracked = execs.track({ ...record, facts, parked: null }, outcome, started.promise);
    } catch (error) {
      recorder.failed(record.id, error);
      throw isTrlError(error) ? notStartedError(error) : error;
    }
    stored.resolve();
    this.#occupy(session, tracked);
    try {
      await Promise.race([started.promise, tracked.settled]);
    } catch (error) {
      execs.forget(record.id);
      scripts.end(record.id);
      throw error;
    }
    execs.started += 1;
    return tracked;
  }

  /** Starts a command that waited for its approval; resolves when it has ended. */
  async startQueued(
    session: LiveSession,
    tracked: TrackedExecution,
    authorized: AuthorizedExecution,
    started: () => void,
  ): Promise<EndedExecution> {
    const { execs, contexts, shares } = this.#parts;
    const facts = { ...tracked.record.facts, digest: authorized.approved.digest };
    execs.update(tracked, { parked: null, startedAt: Date.now(), facts });
    this.#occupy(session, tracked);
    const context = await contexts.of(session, await contexts.policyOf(session));
    const basis = this.#expectRecord(authorized, context);
    execs.update(tracked, { facts: { ...tracked.record.facts, basis } });
    execs.started += 1;
    return shares.occupy(session, this.#run(context, authorized, started));
  }

  /** Follows a command that an earlier daemon started. */
  resume(session: LiveSession, record: ExecRecord, end: RecordedEnd | undefined): void {
    const { execs, recorder, contexts, dependencies, shares } = this.#parts;
    const { id, command: text, workspaceMode: mode = null, startedAt, facts } = record;
    if (facts.basis !== undefined) recorder.expect(id, facts.basis);
    const finish = async (): Promise<EndedExecution> => {
      const context = await contexts.of(session, await contexts.policyOf(session));
      await context.changeTracker?.begin({ id, text, mode, startedAt });
      const outcome = finishRun(dependencies, context, id);
      return withSignedChanges(await withHints(this.#parts, context, outcome), end);
    };
    const tracked = execs.track(record, shares.occupy(session, finish()));
    this.#occupy(session, tracked);
  }

  #run(
    context: ExecutionContext,
    authorized: AuthorizedExecution,
    started: () => void,
  ): Promise<EndedExecution> {
    const outcome = run(this.#parts.dependencies, context, authorized, started);
    this.#parts.hostQuestions.expect({ context, authorized }, outcome);
    return withHints(this.#parts, context, outcome);
  }

  /** Prepares the records of a start; returns what the execution keeps of them. */
  #expectRecord(authorized: AuthorizedExecution, context: ExecutionContext): ExecBasis {
    const { masking, maskText, views, recorder } = this.#parts;
    const { session_id: session, exec_id: id } = authorized.approved.plan;
    const mask = views.maskOf(session);
    const basis = basisOf(authorized, context, { masking, maskText, mask });
    recorder.expect(id, basis);
    return basis;
  }

  /** A foreground command makes its session busy until it ends; each command is activity. */
  #occupy(session: LiveSession, tracked: TrackedExecution): void {
    const { sessions } = this.#parts;
    const isForeground = tracked.record.mode === 'foreground';
    if (isForeground) session.busy = tracked.record.id;
    else sessions.update(session, { lastActivity: Date.now() });
    const free = (): void => {
      if (isForeground) session.busy = null;
      const commandCount = session.record.commandCount + (isForeground ? 1 : 0);
      sessions.update(session, { lastActivity: Date.now(), commandCount });
    };
    void tracked.settled.then(free, free);
  }
}
