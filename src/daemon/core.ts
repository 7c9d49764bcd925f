/** The runtime behind the doors: sessions, executions and how they are started. */
import { readdirSync } from 'node:fs';
import type { Caller, ExecId, StdinChoice, Verdict } from '../command.ts';
import { limits } from '../limits.ts';
import type { PolicyExplainParams } from '../protocol/types.ts';
import { version } from '../protocol/version.ts';
import { ConsoleDesk } from './access/console.ts';
import { Gate } from './access/gate.ts';
import { AuditReading } from './auditing/desk.ts';
import { ExecRecorder } from './auditing/exec-recorder.ts';
import { audited, checked, type CallTelling } from './auditing/calls.ts';
import { Inputs } from './auditing/inputs.ts';
import { Repeats } from './auditing/repeats.ts';
import { approvalEvent } from './auditing/telling.ts';
import { insideClient } from './door/inside.ts';
import { ExecDesk } from './execs/desk.ts';
import { Executions, isOver } from './execs/executions.ts';
import { Feed } from './feed.ts';
import { Grounds } from './sessions/grounds.ts';
import type { Masking } from './secrets/masking.ts';
import { Metrics } from './metrics.ts';
import { Publications } from './publishing/opening.ts';
import type { ApprovalDesk, Runtime, SecretDesk, PlacesDesk, WorkspaceDesk } from './runtime.ts';
import { DaemonSecrets } from './secrets/desk.ts';
import { Sessions } from './sessions/sessions.ts';
import { SessionDesk } from './sessions/desk.ts';
import { Starter } from './execs/starter.ts';
import { openTools } from './tools/open-tools.ts';
import { ScriptCalls } from './tools/script-calls.ts';
import type { ToolDesk } from './tools/tool-desk.ts';
import { leftCommands, stopCommands, stoppedLine, tellStopped } from './stopping.ts';
import type { StoppedCommand } from './stopping.ts';
import { UsedKeys } from './used-keys.ts';
import { Places } from './workspaces/places-desk.ts';
import { DaemonWorkspaces } from './workspaces/desk.ts';
import { proverOf } from './approvals/proof.ts';
import type { CoreOptions } from './core-options.ts';

const idleSweepMs = 60_000;
/** How often it is looked whether a session has become idle whose client has left. */
const leftPollMs = 250;

export class Core implements Runtime {
  readonly startedAt = Date.now();
  readonly sessions: SessionDesk;
  readonly execs: ExecDesk;
  readonly secrets: SecretDesk;
  readonly places: PlacesDesk;
  readonly workspaces: WorkspaceDesk;
  readonly publications: Publications;
  readonly audit: AuditReading;
  readonly tools: ToolDesk;
  readonly gate: Gate;
  readonly feed: Feed;
  /** Whoever opens the doors says where it is. */
  readonly console: ConsoleDesk;
  readonly #options: CoreOptions;
  readonly #sessions: Sessions;
  readonly #inputs: Inputs;
  readonly #execs: Executions;
  readonly #starter: Starter;
  readonly #telling: CallTelling;
  readonly #sweeper: NodeJS.Timeout;
  readonly counts = new Metrics();
  /** Of calls that are over. */
  readonly keys: UsedKeys;
  #leaving: NodeJS.Timeout | null = null;
  #closed = false;

  constructor(options: CoreOptions) {
    this.#options = options;
    this.#sessions = new Sessions(options.store, options.bounds.sessionRecords);
    const inputs = (this.#inputs = new Inputs(options, this.#sessions));
    this.secrets = new DaemonSecrets({ ...options, sessions: this.#sessions });
    const keys = new UsedKeys(options.store);
    this.keys = keys;
    this.#execs = new Executions(options.store, options.masking, keys);
    this.sessions = new SessionDesk(options, this.#sessions, this.#execs);
    const grounds = new Grounds(options, this.#sessions);
    const { auditing } = options;
    this.#telling = { auditing, repeats: new Repeats(auditing) };
    const recorder = new ExecRecorder(auditing, options.stating);
    options.runners.onProgress = (progress) => recorder.printed(progress);
    const scripts = this.#scriptCalls();
    const parts = { sessions: this.#sessions, execs: this.#execs, grounds, recorder, scripts };
    const starter = new Starter(options, { ...parts, sessionDesk: this.sessions });
    this.#starter = starter;
    this.execs = new ExecDesk(options, { ...parts, starter, inputs });
    const desks = { sessionDesk: this.sessions, execDesk: this.execs };
    const called = { sessions: this.#sessions, execs: this.#execs, keys };
    this.tools = openTools(options, { ...called, ...desks });
    options.approving.approvals.watch((approval) => auditing.note(approvalEvent(approval)));
    auditing.onTold = this.counts.told;
    // What it does could not be recorded any more.
    auditing.onFailing = () => {
      const running = this.#execs.running(null).map(({ record }) => record.id);
      void options.runners.stop(running, 'audit-failed').catch(() => {});
    };
    this.console = new ConsoleDesk(options);
    this.gate = new Gate({
      sessions: this.#sessions,
      execs: this.#execs,
      approvals: options.approving.approvals,
      opened: options.opened,
      history: options.workspaceHost.history,
      identities: options.identities,
    });
    options.approving.stdinOf = (id) => this.#inputOf(id);
    this.feed = new Feed({
      sessions: this.#sessions,
      execs: this.#execs,
      approving: options.approving,
      requests: options.secrets.requests,
      views: options.workspaceHost.views,
      sight: this.gate,
    });
    this.places = this.#places();
    this.workspaces = new DaemonWorkspaces({
      ...options,
      ...parts,
      gate: this.gate,
      host: options.workspaceHost,
      home: options.host.home,
      of: (session) => grounds.workspaceOf(session),
      prove: proverOf(options),
    });
    this.publications = new Publications(options, { sessions: this.#sessions, execs: this.#execs });
    this.audit = new AuditReading({ ...options, directory: options.auditDirectory });
    // Values lived in the runner that is gone; names of what is not there would mislead.
    options.runners.onFresh = () => {
      this.#sessions.noneHolds();
      for (const session of this.#sessions.all()) {
        if (session.record.envKeys.length > 0) this.#sessions.update(session, { envKeys: [] });
      }
    };
    this.#sweeper = setInterval(() => this.#endIdle(), idleSweepMs);
    this.#sweeper.unref();
    this.#followCallers();
  }

  #places(): Places {
    const { projects, workspaceHost } = this.#options;
    return new Places({
      projects,
      caches: workspaceHost.caches,
      sessions: this.#sessions,
      isBusy: (session) => this.#starter.isBusy(session),
    });
  }

  /** Who is gone needs no sessions; who is there has a share; who works together, a view. */
  #followCallers(): void {
    const { approving, identities } = this.#options;
    this.#options.workspaceHost.attach({
      all: () => this.#sessions.all().map(({ record }) => record),
      running: (id) => this.#execs.running(id).map(({ record }) => record.id),
      sessionsIn: (view) => this.#sessions.in(view),
      onWaiting: (id) => this.feed.onWaiting(id),
    });
    identities.onEnded = () => void this.sessions.endAbandoned();
    this.#sessions.clients.onLeft = (id) => this.#clientLeft(id);
    approving.approvals.callerOf = ({ session, requester }) => {
      const found = this.#sessions.find(session);
      return found === null ? requester : this.#sessions.holderOf(found);
    };
  }

  audited: Runtime['audited'] = (call, act) => audited(this.#telling, call, act);

  checked: Runtime['checked'] = (call, check) => checked(this.#telling, call, check);

  get masking(): Masking {
    return this.#options.masking;
  }

  get approvals(): ApprovalDesk {
    return this.#options.approving;
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
    await this.#options.turns.next();
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
    const { runners, approving, log } = this.#options;
    const scripts = new ScriptCalls({
      client: (caller) => insideClient({ runtime: this, caller, version: version(), log }),
      answer: (id, call, text) => runners.answer(id, call, text),
      cancelAsked: (script) => {
        const asked = this.#execs.of(null).filter(({ record }) => record.parent === script);
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
      approvals_pending: this.#options.approving.approvals.list({ state: 'pending' }).length,
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
    this.#tell(leftCommands({ execs: this.#execs, sessions: this.#sessions, masked }));
  }

  #tell(commands: readonly StoppedCommand[]): void {
    const { log, stoppedFile } = this.#options;
    for (const one of commands) log(stoppedLine(one));
    try {
      tellStopped(stoppedFile, commands);
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
    this.#options.approving[Symbol.dispose]();
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
      if (this.#execs.of(record.id).some((one) => !isOver(one))) continue;
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
