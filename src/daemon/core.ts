/** The runtime behind the transports: its services, and how it stops. */
import { readdirSync } from 'node:fs';
import type { Caller } from '../command.ts';
import { limits } from '../limits.ts';
import type { PolicyExplainParams } from '../api/approval.ts';
import type { UsedKeys } from './used-keys.ts';
import { checkAudited, runAudited } from './auditing/call-audit.ts';
import { adoptExecutions } from './executions/adoption.ts';
import { explainCommand } from './executions/explain.ts';
import type { RuntimeMetrics } from './metrics.ts';
import type { Runtime } from './runtime.ts';
import { createServices, type RuntimeParts, type Services } from './services.ts';
import { SessionSweeper } from './sessions/session-sweeper.ts';
import {
  listRemainingCommands,
  stopCommands,
  stoppedLine,
  writeStoppedReport,
} from './stopping.ts';
import type { StoppedExecution } from './stopping.ts';

export class Core implements Runtime {
  readonly startedAt = Date.now();
  readonly sessions: Services['sessionService'];
  readonly execs: Services['executionService'];
  readonly approvals: RuntimeParts['approvalService'];
  readonly masking: RuntimeParts['masking'];
  readonly clients: Runtime['clients'];
  readonly secrets: Services['secretService'];
  readonly projects: Services['projectService'];
  readonly workspaces: Services['workspaceService'];
  readonly publications: Services['publications'];
  readonly audit: Services['audit'];
  readonly tools: Services['tools'];
  readonly gate: Services['gate'];
  readonly feed: Services['feed'];
  readonly console: Services['console'];
  readonly counts: RuntimeMetrics;
  readonly keys: UsedKeys;
  readonly #parts: RuntimeParts;
  readonly #services: Services;
  readonly #sweeper: SessionSweeper;
  #isClosed = false;

  constructor(parts: RuntimeParts) {
    const services = createServices(parts, this);
    this.#parts = parts;
    this.#services = services;
    this.sessions = services.sessionService;
    this.execs = services.executionService;
    this.approvals = parts.approvalService;
    this.masking = parts.masking;
    this.clients = parts.sessions.clients;
    this.secrets = services.secretService;
    this.projects = services.projectService;
    this.workspaces = services.workspaceService;
    this.publications = services.publications;
    this.audit = services.audit;
    this.tools = services.tools;
    this.gate = services.gate;
    this.feed = services.feed;
    this.console = services.console;
    this.counts = services.counts;
    this.keys = parts.keys;
    this.#sweeper = new SessionSweeper({
      sessions: parts.sessions,
      execs: parts.execs,
      sessionService: services.sessionService,
      caches: parts.workspaceHost.caches,
      bounds: parts.bounds,
    });
  }

  runAudited: Runtime['runAudited'] = (call, act) =>
    runAudited(this.#services.callAudit, call, act);

  checkAudited: Runtime['checkAudited'] = (call, check) =>
    checkAudited(this.#services.callAudit, call, check);

  explain(caller: Caller, params: PolicyExplainParams): ReturnType<Runtime['explain']> {
    return explainCommand({ ...this.#parts, ...this.#services }, caller, params);
  }

  /** Takes over the sessions and commands that an earlier daemon left. */
  async adopt(): Promise<void> {
    const { sessions, workspaceHost, endRunner, redaction } = this.#parts;
    const records = sessions.all().map(({ record }) => record);
    // The runtime of a single command recovers only when its first command changes something.
    if (!endRunner) await workspaceHost.recover(records);
    const { queue } = this.#services.executor;
    await adoptExecutions({ ...this.#parts, ...this.#services, queue, tags: redaction.tags });
    this.tools.adopt();
  }

  stats(): ReturnType<Runtime['stats']> {
    return {
      active_sessions: this.#parts.sessions.size,
      total_commands_run: this.#parts.execs.started,
      uptime_s: Math.floor((Date.now() - this.startedAt) / 1_000),
      memory_rss_bytes: process.memoryUsage.rss(),
      open_fds: countOpenFiles(),
    };
  }

  metrics(): ReturnType<Runtime['metrics']> {
    const { active_sessions, uptime_s, memory_rss_bytes, open_fds } = this.stats();
    const { execs, approvalService } = this.#parts;
    return this.counts.view({
      active_sessions,
      uptime_s,
      memory_rss_bytes,
      open_fds,
      commands_running: execs.running(null).length,
      approvals_pending: approvalService.approvals.list({ state: 'pending' }).length,
    });
  }

  /**
   * Ends all running commands and then the runner. A later daemon could not use the sessions that
   * remain: the runner keeps their directories and variables in memory.
   *
   * @param hurry when it is aborted, the remaining commands are killed at once
   */
  async stop(hurry: AbortSignal): Promise<void> {
    const { execs, sessions, runners, stopMs: graceMs } = this.#parts;
    const masked = (text: string): string => this.masking.text(text);
    this.#report(await stopCommands({ execs, sessions, runners, graceMs, masked }, hurry));
  }

  /**
   * Waits for the foreground commands of connected callers, then leaves the rest running for the
   * next daemon.
   */
  async leave(): Promise<void> {
    const { execs, sessions } = this.#parts;
    const open = execs.running(null).filter(({ record }) => record.mode === 'foreground');
    const all = Promise.allSettled(open.map(({ settled }) => settled));
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise((resolve) => {
      timer = setTimeout(resolve, limits.drainMs.default);
    });
    await Promise.race([all, late]);
    clearTimeout(timer);
    const masked = (text: string): string => this.masking.text(text);
    this.#report(listRemainingCommands({ execs, sessions, masked }));
  }

  #report(commands: readonly StoppedExecution[]): void {
    const { log, stoppedFile } = this.#parts;
    for (const one of commands) log(stoppedLine(one));
    try {
      writeStoppedReport(stoppedFile, commands);
    } catch (error) {
      log(`cannot report the ended commands to trl daemon stop: ${String(error)}`);
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const { approvalService, identities, runners, workspaceHost, auditing, store } = this.#parts;
    const { endRunner, sessions } = this.#parts;
    this.#sweeper[Symbol.dispose]();
    this.counts[Symbol.dispose]();
    approvalService[Symbol.dispose]();
    identities[Symbol.dispose]();
    // Without a session, the runner has no state that a later daemon could use.
    await runners.close(endRunner || sessions.size === 0);
    await workspaceHost.close(endRunner);
    this.#services.inputs.close();
    this.#services.callAudit.repeats[Symbol.dispose]();
    await auditing.close();
    store.close();
  }
}

/** `null`: the system does not report the number. */
function countOpenFiles(): number | null {
  try {
    // One of the descriptors belongs to the directory listing itself.
    return readdirSync('/proc/self/fd').length - 1;
  } catch {
    return null;
  }
}
