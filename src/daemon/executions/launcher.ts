/** Starts executions: the session's ground first, then the story of `run.ts`. */
import { setTimeout as sleep } from 'node:timers/promises';
import { RefusalBackoff } from '../../approval/refusal-backoff.ts';
import { PolicyRefusal } from '../../approval/approve.ts';
import { policyProfiles, type Caller, type CommandRequest, type Verdict } from '../../command.ts';
import { isTrlError, TrlError } from '../../errors.ts';
import type { Policy } from '../../policy/policy.ts';
import type { ExecParams } from '../../protocol/types.ts';
import { finishRun, authorizeByApproval, authorize, run } from '../../run.ts';
import type {
  ExecutionRequest,
  AuthorizedExecution,
  ExecutionContext,
  PendingApproval,
  Authorization,
  RunDependencies,
} from '../../run.ts';
import { newExecId } from '../../session/record.ts';
import type { CoreOptions } from '../core-options.ts';
import { errorFromWire, execKeysOf } from './executions.ts';
import type { ExecRecord, Executions, QueuedExecution, TrackedExecution } from './executions.ts';
import { basisOf, type ExecBasis } from '../auditing/exec-basis.ts';
import {
  pendingApprovalEvents,
  refusalEvents,
  type ExecRecorder,
} from '../auditing/exec-recorder.ts';
import { recordUnended } from '../auditing/unended.ts';
import type { DaemonSessionService } from '../sessions/session-service.ts';
import { exposureOf } from '../sessions/execution-context.ts';
import type { ContextCache } from '../sessions/context-cache.ts';
import type { RecordedEnd } from '../auditing/recorded-ends.ts';
import {
  withSignedChanges,
  recordedEndsOf,
  lostExecutionError,
  noteTags,
  notStartedError,
  revertSurveyed,
} from './adoption.ts';
import { createExecRecord, type LaunchOrigin } from './create-record.ts';
import { withHints } from './hints.ts';
import { ExecKeys } from './keys.ts';
import { authorizeByEarlierAnswer } from '../approvals/earlier-answers.ts';
import { ApprovalQueue, type QueuedExecutionActions } from '../approvals/approval-queue.ts';
import { createSessionRequest, type CommandParams } from './requests.ts';
import type { LiveSession, Sessions } from '../sessions/sessions.ts';
import { CommandShares } from './command-shares.ts';
import { acquireSessionLock } from './session-lock.ts';
import { recordTypedSecrets, refuseSecretInCommand } from '../secrets/typed-secrets.ts';
import { refuseNestedScript, type ScriptCalls } from '../tools/script-calls.ts';
import { refuseToolSession } from '../tools/tool-session.ts';
import { namesOnly, sessionVariables } from '../secrets/variables.ts';
import { createRunDependencies } from '../run-dependencies.ts';

/** A command that a person has to be asked about. */
interface Asks {
  readonly question: PendingApproval;
  readonly request: ExecutionRequest;
  readonly caller: Caller;
  readonly record: Omit<ExecRecord, 'parked'>;
}

interface StarterParts {
  readonly sessions: Sessions;
  readonly execs: Executions;
  readonly grounds: ContextCache;
  readonly recorder: ExecRecorder;
  readonly scripts: ScriptCalls;
  readonly sessionDesk: DaemonSessionService;
}

export class Launcher {
  readonly #options: CoreOptions;
  readonly #sessions: Sessions;
  readonly #execs: Executions;
  readonly #world: RunDependencies;
  readonly #parking: ApprovalQueue;
  readonly #patience = new RefusalBackoff();
  readonly #keys: ExecKeys;
  readonly #shares: CommandShares;
  readonly #grounds: ContextCache;
  readonly #recorder: ExecRecorder;
  readonly #scripts: ScriptCalls;

  constructor(options: CoreOptions, parts: StarterParts) {
    const { sessions, execs, grounds, recorder, scripts } = parts;
    this.#scripts = scripts;
    this.#options = options;
    this.#recorder = recorder;
    this.#sessions = sessions;
    this.#execs = execs;
    this.#keys = new ExecKeys(execs, options.macKey);
    this.#shares = new CommandShares({ ...parts, bounds: options.bounds });
    this.#world = createRunDependencies(options, recorder);
    this.#grounds = grounds;
    const { approvals } = options.approvalService;
    this.#parking = new ApprovalQueue(approvals, execs, this.#unparking());
    // A person's no counts as a block does, for the session's next question.
    approvals.watch(({ state, asked }) => {
      if (state === 'denied') this.#patience.recordRefusal(asked.session);
    });
  }

  get approvalQueue(): ApprovalQueue {
    return this.#parking;
  }

  /** Takes over what an earlier daemon left: its executions run on, or are found lost. */
  async adopt(): Promise<void> {
    const stored = this.#execs.stored();
    const open = stored.filter(({ outcome, lost }) => outcome === null && lost === null);
    for (const record of stored.filter((one) => !open.includes(one))) {
      const { outcome, lost } = record;
      noteTags(this.#options, outcome);
      const known =
        outcome === null ? Promise.reject(errorFromWire(lost)) : Promise.resolve(outcome);
      this.#execs.track(record, known);
    }
    await revertSurveyed(this.#options);
    const runner = await this.#options.runners.open();
    if (!runner.adopted) this.#sessions.markNamespacesGone();
    const answer = runner.adopted ? await runner.link.request({ op: 'list' }) : {};
    const listed: unknown = Reflect.get(answer, 'executions');
    const entries = Array.isArray(listed) ? listed : [];
    const ends = await recordedEndsOf(this.#options.auditing, open, entries);
    this.#recorder.takeOver(ends);
    const waiting: [LiveSession, ExecRecord & { readonly parked: QueuedExecution }][] = [];
    for (const record of open) {
      const entry = entries.find(({ exec_id: id }) => id === record.id);
      const session = this.#sessions.find(record.sessionId);
      const end = ends.get(record.id);
      const isOver = end !== undefined;
      if (entry === undefined && session !== null && record.parked !== null && !isOver) {
        waiting.push([session, { ...record, parked: record.parked }]);
        continue;
      }
      if (entry === undefined || session === null) {
        const lost = lostExecutionError(end);
        this.#recorder.failed(record.id, lost);
        this.#execs.track(record, Promise.reject(lost));
        continue;
      }
      this.#options.runners.expect(record.id);
      if (entry.exit !== null) this.#options.runners.reportExit(entry.exit);
      this.#resume(session, { ...record, parked: null }, end);
    }
    // One that looks parked may have been started: its record is written after its yes is used.
    const waits = new Set(waiting.map(([, { id }]) => id));
    const known = open.filter(({ id }) => !waits.has(id)).map(({ id }) => id);
    await recordUnended(this.#options.auditing, new Set(known));
    // Last: by then it shows which sessions are busy.
    for (const [session, record] of waiting) {
      // What policy permits for its question must be known before somebody answers it.
      await this.#policyOf(session).catch(() => null);
      this.#parking.restore(session, record);
      this.#scripts.restored(record.parked, this.#execs.get(record.id));
    }
    this.#parking.cancelOrphans();
  }

  /** Whether a command of the session runs or starts. */
  isBusy(session: LiveSession): boolean {
    return this.#shares.hasCommands(session);
  }

  /** From a call to a running command; a repeated key answers the first execution. */
  async begin(
    params: CommandParams,
    asked: CommandRequest['mode'],
    caller: Caller,
  ): Promise<TrackedExecution> {
    refuseNestedScript(params.language, caller);
    const session = this.#sessions.get(params.session_id);
    if (params.tool === undefined) refuseToolSession(session.record);
    // Its script has the session as long as it runs: what it calls runs beside it.
    const isBeside = caller.within !== undefined && session.busy === caller.within;
    const mode = isBeside ? 'detached' : asked;
    const keyed = this.#keys.of(params);
    const of: LaunchOrigin = { mode, caller, call: keyed?.call ?? null };
    const start = (): Promise<TrackedExecution> =>
      this.#shares.start(caller, session, () => this.#startIn(session, params, of));
    if (keyed === null) return start();
    const known = this.#keys.find(keyed);
    if (known === null) return this.#keys.start(keyed, start);
    const policy = await this.#policyOf(session);
    return this.#parking.resupplyValues(
      known,
      createSessionRequest(session, params, { mode, policy }),
    );
  }

  async #startIn(
    session: LiveSession,
    params: CommandParams,
    of: LaunchOrigin,
  ): Promise<TrackedExecution> {
    const { mode } = of;
    if (mode === 'foreground') {
      if (session.busy !== null) {
        const message = `Cannot run in ${session.record.id}: a command is running in it`;
        throw new TrlError('SESSION_BUSY', message);
      }
      session.busy = 'starting';
    }
    let found: TrackedExecution | Asks;
    try {
      const launching = this.#launch(session, params, of);
      if (mode === 'foreground') session.starting = launching.catch(() => {});
      found = await launching;
    } catch (error) {
      if (mode === 'foreground') session.busy = null;
      // Answered later the more refusals there were: trying spellings is no way out.
      if (isTrlError(error, 'POLICY_DENIED')) {
        await sleep(this.#patience.recordRefusal(session.record.id));
      }
      throw error;
    }
    const tracked = 'question' in found ? await this.#ask(session, found) : found;
    this.#scripts.watch(tracked);
    return tracked;
  }

  /** Slowness is the asker's: by now nobody else waits for the session. */
  async #ask(
    session: LiveSession,
    { question, request, caller, record }: Asks,
  ): Promise<TrackedExecution> {
    const waitMs = this.#patience.remainingMs(session.record.id);
    if (waitMs > 0) await sleep(waitMs);
    this.#sessions.get(session.record.id);
    const tracked = this.#parking.enqueue(session, question, { request, caller, record });
    if (tracked.record.id !== record.id) {
      this.#scripts.end(record.id);
      const [own] = execKeysOf({ ...record, parked: null });
      if (own !== undefined) this.#execs.addKey(tracked, own);
    } else {
      this.#options.auditing.noteAll(
        pendingApprovalEvents(record.id, question, this.#options.maskText),
      );
    }
    return tracked;
  }

  async #launch(
    session: LiveSession,
    params: CommandParams,
    { mode, caller, call }: LaunchOrigin,
  ): Promise<TrackedExecution | Asks> {
    const { names: secrets } = this.#options.masking.look(params.command);
    if (secrets.length > 0) recordTypedSecrets(session, secrets, this.#options);
    const policy = await this.#policyOf(session);
    const request = createSessionRequest(session, params, { mode, policy });
    this.#grounds.separate(session, request, this.#execs.running(session.record.id));
    const id = newExecId();
    const { ground, prepared } = await this.#prepare(session, request, { policy, caller, id });
    const decided =
      'approved' in prepared
        ? prepared
        : authorizeByEarlierAnswer(this.#options.approvalService, prepared);
    const judged = { id, session: session.record, request, ground, prepared, call, decided };
    const record = createExecRecord(judged);
    if (request.language === 'python') this.#scripts.expect(id, caller, session.record.id);
    if (decided === null && !('approved' in prepared)) {
      refuseSecretInCommand(secrets);
      if (request.mode === 'foreground') session.busy = null;
      return { question: prepared, request, caller, record };
    }
    if (decided === null) throw new TrlError('INTERNAL_ERROR', 'Cannot run what nobody decided');
    this.#patience.reset(session.record.id);
    const facts = { ...record.facts, basis: this.#expect(decided, ground) };
    return this.#track(session, ground, decided, { ...record, facts, parked: null });
  }

  /** What is refused is recorded before anybody is told. */
  async #prepare(
    session: LiveSession,
    request: ExecutionRequest,
    of: { readonly policy: Policy; readonly caller: Caller; readonly id: ExecRecord['id'] },
  ): Promise<{ ground: ExecutionContext; prepared: AuthorizedExecution | PendingApproval }> {
    const { policy, caller, id } = of;
    try {
      const of = { policy, caller, request };
      const { ground, standing } = await this.#circumstances(session, of);
      return { ground, prepared: await authorize(this.#world, { ground, standing }, request, id) };
    } catch (error) {
      const { actor, within: parent = null } = caller;
      const asked = { id, parent, session: session.record.id, actor, request };
      await this.#options.auditing.append(refusalEvents(asked, error, this.#options.maskText));
      throw error;
    }
  }

  /** Tells the recorder of what is about to start; answers what is kept of it. */
  #expect(decided: AuthorizedExecution, ground: ExecutionContext): ExecBasis {
    const { masking, maskText: shown, workspaceHost } = this.#options;
    const { session_id: session, exec_id: id } = decided.approved.plan;
    const mask = workspaceHost.views.maskOf(session);
    const basis = basisOf(decided, ground, { masking, shown, mask });
    this.#recorder.expect(id, basis);
    return basis;
  }

  /** What policy says of a command in a session; nothing is refused, asked or run. */
  async explain(
    session: LiveSession,
    asked: Pick<ExecParams, 'command' | 'language'>,
    caller: Caller,
  ): Promise<Verdict> {
    const policy = await this.#policyOf(session);
    const params = { session_id: session.record.id, ...asked };
    const request = createSessionRequest(session, params, { mode: 'detached', policy });
    const { ground, standing } = await this.#circumstances(session, { policy, caller, request });
    // Nothing is read for a question: where a value lies may ask somebody, or cost something.
    const variables = namesOnly(this.#options.variables);
    const world = { ...this.#world, variables };
    try {
      return (await authorize(world, { ground, standing }, request, newExecId())).verdict;
    } catch (error) {
      if (error instanceof PolicyRefusal) return error.verdict;
      throw error;
    }
  }

  async #track(
    session: LiveSession,
    ground: ExecutionContext,
    decided: AuthorizedExecution,
    record: ExecRecord,
  ): Promise<TrackedExecution> {
    let running = (): void => {};
    const started = new Promise<void>((resolve) => {
      running = resolve;
    });
    const kept = Promise.withResolvers<void>();
    const outcome = kept.promise.then(() =>
      withHints(this.#options, ground, run(this.#world, ground, decided, running)),
    );
    let tracked: TrackedExecution;
    try {
      tracked = this.#execs.track(record, outcome, started);
    } catch (error) {
      this.#recorder.failed(record.id, error);
      throw isTrlError(error) ? notStartedError(error) : error;
    }
    kept.resolve();
    if (record.mode === 'foreground') this.#occupy(session, tracked);
    try {
      await Promise.race([started, tracked.settled]);
    } catch (error) {
      this.#execs.forget(record.id);
      this.#scripts.end(record.id);
      throw error;
    }
    this.#execs.started += 1;
    return tracked;
  }

  /** Looked up once for a command: what follows from it must not follow from two of them. */
  #policyOf(session: LiveSession): Promise<Policy> {
    return this.#options.policies.of(session.record.workspace);
  }

  async #circumstances(
    session: LiveSession,
    of: { readonly policy: Policy; readonly caller: Caller; readonly request: ExecutionRequest },
  ): Promise<{ ground: ExecutionContext; standing: Authorization }> {
    const { policy, caller, request } = of;
    const ground = await this.#grounds.of(session, policy);
    const { record } = session;
    // Loaded when the first command comes: what knows commands takes a while to load.
    const { createPolicyJudge } = await import('../../policy/judge.ts');
    const profiles = [record.policy, request.policy];
    const atLeast = policyProfiles.findLast((one) => profiles.includes(one)) ?? null;
    const standing = {
      judge: createPolicyJudge(policy, caller, atLeast),
      exposure: exposureOf(record, ground),
      requester: caller.actor,
      parent: caller.within ?? null,
      session: sessionVariables(record),
    };
    return { ground, standing };
  }

  #unparking(): QueuedExecutionActions {
    return {
      authorizeByApproval,
      prepare: async (session, { request, caller }, id) => {
        const policy = await this.#policyOf(session);
        const circumstances = await this.#circumstances(session, { policy, caller, request });
        return authorize(this.#world, circumstances, request, id);
      },
      hasSession: (session) => this.#sessions.find(session.record.id) === session,
      lockSession: (session, signal) => acquireSessionLock(session, this.#execs, signal),
      run: async (session, decided, started) => {
        const ground = await this.#grounds.of(session, await this.#policyOf(session));
        const basis = this.#expect(decided, ground);
        const tracked = this.#execs.get(decided.approved.plan.exec_id);
        this.#execs.update(tracked, { facts: { ...tracked.record.facts, basis } });
        this.#execs.started += 1;
        const outcome = run(this.#world, ground, decided, started);
        return this.#shares.occupy(session, withHints(this.#options, ground, outcome));
      },
      occupy: (session, tracked) => this.#occupy(session, tracked),
    };
  }

  #resume(session: LiveSession, record: ExecRecord, end: RecordedEnd | undefined): void {
    const { basis } = record.facts;
    if (basis !== undefined) this.#recorder.expect(record.id, basis);
    const outcome = this.#policyOf(session)
      .then((policy) => this.#grounds.of(session, policy))
      .then(async (ground) => {
        const { id, command: text, workspaceMode: mode = null, startedAt } = record;
        await ground.changeTracker?.begin({ id, text, mode, startedAt });
        const done = withHints(this.#options, ground, finishRun(this.#world, ground, id));
        return withSignedChanges(await done, end);
      });
    const tracked = this.#execs.track(record, this.#shares.occupy(session, outcome));
    if (record.mode === 'foreground') this.#occupy(session, tracked);
  }

  /** The session is busy until the command has ended. */
  #occupy(session: LiveSession, tracked: TrackedExecution): void {
    session.busy = tracked.record.id;
    const free = (): void => {
      session.busy = null;
      const count = session.record.commandCount + 1;
      this.#sessions.update(session, { lastActivity: Date.now(), commandCount: count });
    };
    void tracked.settled.then(free, free);
  }
}
