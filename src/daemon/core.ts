/** The runtime behind the doors: sessions, executions and how they are started. */
import { readdirSync } from 'node:fs';
import type { Caller, ExecId, StdinChoice, Verdict } from '../command.ts';
import { limits } from '../limits.ts';
import type { PolicyExplainParams } from '../protocol/types.ts';
import { version } from '../protocol/version.ts';
import { ConsoleService } from './access/console-service.ts';
import { AccessGate } from './access/gate.ts';
import { DaemonAuditService } from './auditing/audit-service.ts';
import { ExecRecorder } from './auditing/exec-recorder.ts';
import { runAudited, checkAudited, type CallAuditParts } from './auditing/call-audit.ts';
import { InputAudit } from './auditing/input-audit.ts';
import { RepeatedRecords } from './auditing/repeated-records.ts';
import { approvalAuditRecord } from './auditing/audit-records.ts';
import { createInProcessClient } from './transport/in-process-client.ts';
import { DaemonExecutionService } from './executions/execution-service.ts';
import { Executions, isExecutionOver } from './executions/executions.ts';
import { Feed } from './feed.ts';
import { ContextCache } from './sessions/context-cache.ts';
import type { Masking } from './secrets/masking.ts';
import { RuntimeMetrics } from './metrics.ts';
import { LazyPublicationService } from './publishing/lazy-publication-service.ts';
import type {
  ApprovalService,
  Runtime,
  SecretService,
  ProjectService,
  WorkspaceService,
} from './runtime.ts';
import { DaemonSecretService } from './secrets/secret-service.ts';
import { Sessions } from './sessions/sessions.ts';
import { DaemonSessionService } from './sessions/session-service.ts';
import { Launcher } from './executions/launcher.ts';
import { openTools } from './tools/open-tools.ts';
import { ScriptCalls } from './tools/script-calls.ts';
import type { DaemonToolService } from './tools/tool-service.ts';
import {
  listRemainingCommands,
  stopCommands,
  stoppedLine,
  writeStoppedReport,
} from './stopping.ts';
import type { StoppedExecution } from './stopping.ts';
import { UsedKeys } from './used-keys.ts';
import { DaemonProjectService } from './workspaces/project-service.ts';
import { DaemonWorkspaceService } from './workspaces/workspace-service.ts';
import { createPersonProver } from './approvals/person-proof.ts';
import type { CoreOptions } from './core-options.ts';

const idleSweepMs = 60_000;
/** How often it is looked whether a session has become idle whose client has left. */
const leftPollMs = 250;

export class Core implements Runtime {
  readonly startedAt = Date.now();
  readonly sessions: DaemonSessionService;
  readonly execs: DaemonExecutionService;
  readonly secrets: SecretService;
  readonly projects: ProjectService;
  readonly workspaces: WorkspaceService;
  readonly publications: LazyPublicationService;
  readonly audit: DaemonAuditService;
  readonly tools: DaemonToolService;
  readonly gate: AccessGate;
  readonly feed: Feed;
  /** Whoever opens the doors says where it is. */
  readonly console: ConsoleService;
  readonly #options: CoreOptions;
  readonly #sessions: Sessions;
  readonly #inputs: InputAudit;
  readonly #execs: Executions;
  readonly #starter: Launcher;
  readonly #telling: CallAuditParts;
  readonly #sweeper: NodeJS.Timeout;
  readonly counts = new RuntimeMetrics();
  /** Of calls that are over. */
  readonly keys: UsedKeys;
  #leaving: NodeJS.Timeout | null = null;
  #closed = false;

  constructor(options: CoreOptions) {
    this.#options = options;
    this.#sessions = new Sessions(options.store, options.bounds.sessionRecords);
    const inputs = (this.#inputs = new InputAudit(options, this.#sessions));
    this.secrets = new DaemonSecretService({ ...options, sessions: this.#sessions });
    const keys = new UsedKeys(options.store);
    this.keys = keys;
    this.#execs = new Executions(options.store, options.masking, keys);
    this.sessions = new DaemonSessionService(options, this.#sessions, this.#execs);
    const grounds = new ContextCache(options, this.#sessions);
    const { auditing } = options;
    this.#telling = { auditing, repeats: new RepeatedRecords(auditing) };
    const recorder = new ExecRecorder(auditing, options.statementSigner);
    options.runners.onProgress = (progress) => recorder.printed(progress);
    const scripts = this.#scriptCalls();
    const parts = { sessions: this.#sessions, execs: this.#execs, grounds, recorder, scripts };
    const starter = new Launcher(options, { ...parts, sessionDesk: this.sessions });
    this.#starter = starter;
    this.execs = new DaemonExecutionService(options, { ...parts, launcher: starter, inputs });
    const desks = { sessionService: this.sessions, executionService: this.execs };
    const called = { sessions: this.#sessions, execs: this.#execs, keys };
    this.tools = openTools(options, { ...called, ...desks });
    options.approvalService.approvals.watch((approval) =>
      auditing.note(approvalAuditRecord(approval)),
    );
    auditing.onRecord = this.counts.recordEvent;
    // What it does could not be recorded any more.
    auditing.onFailing = () => {
      const running = this.#execs.running(null).map(({ record }) => record.id);
      void options.runners.stop(running, 'audit-failed').catch(() => {});
    };
    this.console = new ConsoleService(options);
    this.gate = new AccessGate({
      sessions: this.#sessions,
      execs: this.#execs,
      approvals: options.approvalService.approvals,
      openWorkspaces: options.openWorkspaces,
      history: options.workspaceHost.history,
      identities: options.identities,
    });
    options.approvalService.stdinOf = (id) => this.#inputOf(id);
    this.feed = new Feed({
      sessions: this.#sessions,
      execs: this.#execs,
      approvalService: options.approvalService,
      requests: options.secrets.requests,
      views: options.workspaceHost.views,
      visibility: this.gate,
    });
    this.projects = this.#places();
    this.workspaces = new DaemonWorkspaceService({
      ...options,
      ...parts,
      gate: this.gate,
      host: options.workspaceHost,
      home: options.host.home,
      viewOfSession: (session) => grounds.workspaceOf(session),
      prove: createPersonProver(options),
    });
    this.publications = new LazyPublicationService(options, {
      sessions: this.#sessions,
      execs: this.#execs,
    });
    this.audit = new DaemonAuditService({ ...options, directory: options.auditDirectory });
    // Values lived in the runner that is gone; names of what is not there would mislead.
    options.runners.onFresh = () => {
      this.#sessions.markNamespacesGone();
      for (const session of this.#sessions.all()) {
        if (session.record.envKeys.length > 0) this.#sessions.update(session, { envKeys: [] });
      }
    };
    this.#sweeper = setInterval(() => this.#endIdle(), idleSweepMs);
    this.#sweeper.unref();
    this.#followCallers();
  }

  #places(): DaemonProjectService {
    const { projects, workspaceHost } = this.#options;
    return new DaemonProjectService({
      projects,
      caches: workspaceHost.caches,
      sessions: this.#sessions,
      isBusy: (session) => this.#starter.isBusy(session),
    });
  }

  /** Who is gone needs no sessions; who is there has a share; who works together, a view. */
  #followCallers(): void {
    const { approvalService: approving, identities } = this.#options;
    this.#options.workspaceHost.attach({
      all: () => this.#sessions.all().map(({ record }) => record),
      running: (id) => this.#execs.running(id).map(({ record }) => record.id),
      sessionsIn: (view) => this.#sessions.listInView(view),
      onPendingChange: (id) => this.feed.onWaiting(id),
    });
    identities.onEnded = () => void this.sessions.endAbandoned();
    this.#sessions.clients.onLeft = (id) => this.#clientLeft(id);
    approving.approvals.callerOf = ({ session, requester }) => {
      const found = this.#sessions.find(session);
      return found === null ? requester : this.#sessions.shareHolderOf(found);
    };
  }

  runAudited: Runtime['runAudited'] = (call, act) => runAudited(this.#telling, call, act);

  checkAudited: Runtime['checkAudited'] = (call, check) => checkAudited(this.#telling, call, check);

  get masking(): Masking {
    return this.#options.masking;
  }

  get approvals(): ApprovalService {
    return this.#options.approvalService;
  }

  /** Takes over what an earlier daemon left. */
  async adopt(): Promise<void> {
    const { workspaceHost, endRunner } = this.#options;
    const sessions = this.#sessions.all().map(({ record }) => record);
    // A runtime for one command leaves that to the first command that changes something.
    if (!endRunner) await workspaceHost.recover(sessions);
    await this.#starter.adopt();
    this.tools.adopt();
  }

  async explain(caller: Caller, params: PolicyExplainParams): Promise<Verdict> {
    const { command, session_id: id, shell = 'bash' } = params;
    if (id !== undefined) {
      // Any other text is what the session's own shell would take it for.
      const asked = shell === 'python' ? { command, language: shell } : { command };
      return this.#starter.explain(this.#sessions.get(id), asked, caller);
    }
    const { explainText } = await import('../policy/explain.ts');
    const policy = await this.#options.policies.of(null);
    await this.#options.eventLoop.next();
    return explainText(policy, shell, command, caller);
  }

  stats(): ReturnType<Runtime['stats']> {
    return {
      active_sessions: this.#sessions.size,
      total_commands_run: this.#execs.started,
      uptime_s: Math.floor((Date.now() - this.startedAt) / 1_000),
      memory_rss_bytes: process.memoryUsage.rss(),
      open_fds: openFiles(),
    };
  }

  #scriptCalls(): ScriptCalls {
    const { runners, approvalService: approving, log } = this.#options;
    const scripts = new ScriptCalls({
      client: (caller) => createInProcessClient({ runtime: this, caller, version: version(), log }),
      answer: (id, call, text) => runners.answer(id, call, text),
      cancelApprovals: (script) => {
        const asked = this.#execs.list(null).filter(({ record }) => record.parent === script);
        for (const { record } of asked) {
          if (record.parked !== null) approving.approvals.cancel({ exec: record.id });
        }
      },
    });
    runners.onCall = (id, call, text) => void scripts.called(id, call, text);
    return scripts;
  }

  metrics(): ReturnType<Runtime['metrics']> {
    const { active_sessions, uptime_s, memory_rss_bytes, open_fds } = this.stats();
    return this.counts.view({
      active_sessions,
      uptime_s,
      memory_rss_bytes,
      open_fds,
      commands_running: this.#execs.running(null).length,
      approvals_pending: this.#options.approvalService.approvals.list({ state: 'pending' }).length,
    });
  }

  /** Waits for the foreground commands that somebody waits for; the others outlive the daemon. */
  async #drain(): Promise<void> {
    const open = this.#execs.running(null).filter(({ record }) => record.mode === 'foreground');
    const all = Promise.allSettled(open.map(({ settled }) => settled));
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise((resolve) => {
      timer = setTimeout(resolve, limits.drainMs.default);
    });
    await Promise.race([all, late]);
    clearTimeout(timer);
  }

  /**
   * Ends what runs, and the runner with it. What a later daemon could want is gone then: the
   * directories and variables that sessions carry live in the runner's memory.
   *
   * @param hurry aborted: what is left is killed at once
   */
  async stop(hurry: AbortSignal): Promise<void> {
    const { runners, stopMs: graceMs } = this.#options;
    const told = { sessions: this.#sessions, masked: (text: string) => this.masking.text(text) };
    const parts = { execs: this.#execs, runners, graceMs, ...told };
    this.#tell(await stopCommands(parts, hurry));
  }

  /** Leaves what runs to the next daemon, but waits for what somebody waits for. */
  async leave(): Promise<void> {
    await this.#drain();
    const masked = (text: string): string => this.masking.text(text);
    this.#tell(listRemainingCommands({ execs: this.#execs, sessions: this.#sessions, masked }));
  }

  #tell(commands: readonly StoppedExecution[]): void {
    const { log, stoppedFile } = this.#options;
    for (const one of commands) log(stoppedLine(one));
    try {
      writeStoppedReport(stoppedFile, commands);
    } catch (error) {
      log(`what ended cannot be told to trl daemon stop: ${String(error)}`);
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    clearInterval(this.#sweeper);
    if (this.#leaving !== null) clearTimeout(this.#leaving);
    this.counts[Symbol.dispose]();
    this.#options.approvalService[Symbol.dispose]();
    this.#options.identities[Symbol.dispose]();
    // Without a session there is no state that a later daemon could want.
    await this.#options.runners.close(this.#options.endRunner || this.#sessions.size === 0);
    await this.#options.workspaceHost.close(this.#options.endRunner);
    this.#inputs.close();
    this.#telling.repeats[Symbol.dispose]();
    await this.#options.auditing.close();
    this.#options.store.close();
  }

  /** What a parked command gets on standard input; what its caller gave it is known from now on. */
  #inputOf(id: ExecId): StdinChoice | null {
    const parked = this.#execs.find(id)?.record.parked ?? null;
    const session = this.#execs.find(id)?.record.sessionId;
    if (parked === null || session === undefined) return null;
    this.masking.given.note(session, parked.request.env);
    return parked.request.stdin;
  }

  get clients(): Runtime['clients'] {
    return this.#sessions.clients;
  }

  /** A client that was killed may be started over, and find its session again. */
  #clientLeft(id: string): void {
    const left = this.#sessions.all().filter(({ record }) => record.client === id);
    for (const session of left) session.leftAt = Date.now();
    this.#endLeft();
  }

  /** Looks again as long as commands run in sessions whose client has left. */
  #endLeft(): void {
    const { sessionGoneMs } = this.#options.bounds;
    const isLeft = this.#sessions
      .all()
      .some(({ record, leftAt }) => record.lifetime === 'client' && leftAt !== undefined);
    if (this.#closed || !isLeft || this.#leaving !== null) return;
    const look = async (): Promise<void> => {
      await this.sessions.endAbandoned(sessionGoneMs);
      this.#leaving = null;
      this.#endLeft();
    };
    this.#leaving = setTimeout(() => void look(), Math.max(sessionGoneMs, leftPollMs)).unref();
  }

  #endIdle(): void {
    const { sessionGoneMs, sessionIdleMs } = this.#options.bounds;
    void this.sessions.endAbandoned(sessionGoneMs);
    this.#options.workspaceHost.caches.endIdle(Date.now());
    const oldest = Date.now() - sessionIdleMs;
    for (const { record, busy } of this.#sessions.all()) {
      if (busy !== null || record.lastActivity > oldest) continue;
      // What a person is asked about is wanted still.
      if (this.#execs.list(record.id).some((one) => !isExecutionOver(one))) continue;
      void this.sessions.endUnused(record.id).catch(() => {});
    }
  }
}

/** `null`: the system does not say. */
function openFiles(): number | null {
  try {
    // One of them is the list that is read.
    return readdirSync('/proc/self/fd').length - 1;
  } catch {
    return null;
  }
}
