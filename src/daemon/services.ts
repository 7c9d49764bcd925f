/** Wires the services of a runtime: each receives its dependencies as constructor parameters. */
import type { EgressRules, UpstreamProxy } from '../network-access.ts';
import type { Enrolment } from '../approval/enrolment.ts';
import type { WorkspaceHost } from '../host/port.ts';
import type { RuntimeBounds } from '../limits.ts';
import { version } from '../protocol/version.ts';
import type { HostFacts } from '../sandbox/host-facts.ts';
import type { SecretStore } from '../secrets/secret-store.ts';
import type { RequestedBounds } from '../session/bounds.ts';
import type { StateStore } from '../session/store.ts';
import type { ReservedPaths } from '../workspace/grants.ts';
import { ConsoleService } from './access/console-service.ts';
import { AccessGate } from './access/gate.ts';
import type { Identities } from './access/identities.ts';
import type { DaemonApprovalService } from './approvals/approval-service.ts';
import { HostQuestions } from './approvals/host-questions.ts';
import { createPersonProver } from './approvals/person-proof.ts';
import type { Auditing } from './auditing/auditing.ts';
import { approvalAuditRecord } from './auditing/audit-records.ts';
import { DaemonAuditService } from './auditing/audit-service.ts';
import type { MaskText } from './auditing/exec-basis.ts';
import { ExecRecorder, type StatementSigner } from './auditing/exec-recorder.ts';
import { InputAudit } from './auditing/input-audit.ts';
import { RepeatedRecords } from './auditing/repeated-records.ts';
import type { DiffRedaction } from './diffs/diff-redaction.ts';
import type { EventLoopYield } from './event-loop-yield.ts';
import { CommandShares } from './executions/command-shares.ts';
import { CommandExecutor } from './executions/execute.ts';
import { DaemonExecutionService } from './executions/execution-service.ts';
import type { Executions } from './executions/executions.ts';
import { ExecKeys } from './executions/keys.ts';
import { CommandStarter } from './executions/start.ts';
import { Feed } from './feed.ts';
import { RuntimeMetrics } from './metrics.ts';
import type { Policies } from './policies.ts';
import { LazyPublicationService } from './publishing/lazy-publication-service.ts';
import { createRunDependencies } from './run-dependencies.ts';
import type { Runners } from './runners.ts';
import type { Runtime } from './runtime.ts';
import type { Masking } from './secrets/masking.ts';
import { DaemonSecretService } from './secrets/secret-service.ts';
import type { RuntimeVariables } from './secrets/variables.ts';
import { ContextCache } from './sessions/context-cache.ts';
import type { SearchPathHosts } from './sessions/search-path-hosts.ts';
import { DaemonSessionService } from './sessions/session-service.ts';
import type { Sessions } from './sessions/sessions.ts';
import { toolEnvironment, writableDirectories } from './tools/open-tools.ts';
import { RegisteredTools } from './tools/registered-tools.ts';
import { ScriptCalls } from './tools/script-calls.ts';
import type { ToolFiles } from './tools/tool-files.ts';
import { DaemonToolService } from './tools/tool-service.ts';
import { createInProcessClient } from './transport/in-process-client.ts';
import type { UsedKeys } from './used-keys.ts';
import type { OpenWorkspaces } from './workspaces/open-workspaces.ts';
import { DaemonProjectService } from './workspaces/project-service.ts';
import type { Projects } from './workspaces/projects.ts';
import { DaemonWorkspaceService } from './workspaces/workspace-service.ts';

/** The parts that `open-core.ts` opens before the services are wired. */
export interface RuntimeParts {
  readonly sessions: Sessions;
  readonly execs: Executions;
  readonly keys: UsedKeys;
  readonly store: StateStore;
  readonly host: HostFacts;
  /** The same facts for sessions with their own search path. */
  readonly searchPathHosts: SearchPathHosts;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Directories in which sessions may work, as {@link Projects.roots}. */
  readonly roots: readonly string[];
  readonly projects: Projects;
  /** Paths that no grant opens. */
  readonly reserved: ReservedPaths;
  readonly policies: Policies;
  readonly eventLoop: EventLoopYield;
  readonly approvalService: DaemonApprovalService;
  readonly enrolment: Enrolment;
  readonly identities: Identities;
  readonly secrets: SecretStore;
  readonly variables: RuntimeVariables;
  /** Key of the hashes that replace values in the subject of an approval. */
  readonly macKey: Uint8Array;
  /** Where names of hosts are served instead, by the configuration. */
  readonly connectHosts: EgressRules['connect'];
  readonly upstreamProxy: UpstreamProxy | null;
  /** Certificates by which hosts are trusted beside the host's own list. PEM. */
  readonly rootCertificates: readonly string[];
  /** Hides known secrets in everything that the daemon returns or stores. */
  readonly masking: Masking;
  /** Hides known and likely secrets in texts that are stored permanently. */
  readonly maskText: MaskText;
  /** How the contents of files are redacted. */
  readonly redaction: Omit<DiffRedaction, 'index'>;
  readonly runners: Runners;
  readonly workspaceHost: WorkspaceHost;
  readonly openWorkspaces: OpenWorkspaces;
  readonly auditing: Auditing;
  readonly auditDirectory: string;
  readonly statementSigner: StatementSigner;
  readonly toolFiles: ToolFiles;
  /** Where the runtime moves files that a command may not leave in a workspace. */
  readonly quarantine: string;
  /** Where publications are checked and laid out; private to the user. */
  readonly publicationDirectory: string;
  /** Bounds of sessions and commands. */
  readonly bounds: RuntimeBounds;
  /** Bounds of sessions whose callers specify none. */
  readonly sessionBounds: Pick<RequestedBounds, 'timeout_ms' | 'cpu_s'>;
  /** Whether the runner and its commands end with the daemon. */
  readonly endRunner: boolean;
  /** Time from TERM to KILL when the daemon is stopped, in `ms`. */
  readonly stopMs: number;
  /** The file that lists the commands that ended with the daemon. */
  readonly stoppedFile: string;
  readonly log: (text: string) => void;
}

export type Services = ReturnType<typeof createServices>;

/** @param runtime receives the calls of scripts, once it is complete */
export function createServices(parts: RuntimeParts, runtime: Runtime) {
  const { sessions, approvalService, auditing, secrets, workspaceHost } = parts;
  const sessionService = new DaemonSessionService(parts);
  const execution = wireExecution(parts, sessionService, runtime);
  const { executor, contexts, inputs, shares } = execution;
  const executionService = new DaemonExecutionService({ ...parts, executor, inputs });
  const counts = new RuntimeMetrics();
  auditing.watch(counts.recordEvent);
  approvalService.approvals.watch((approval) => auditing.note(approvalAuditRecord(approval)));
  const gate = new AccessGate({
    ...parts,
    approvals: approvalService.approvals,
    history: workspaceHost.history,
  });
  const { requests } = secrets;
  const feed = new Feed({ ...parts, requests, views: workspaceHost.views, visibility: gate });
  workspaceHost.attach({
    all: () => sessions.all().map(({ record }) => record),
    running: (id) => parts.execs.running(id).map(({ record }) => record.id),
    sessionsIn: (view) => sessions.listInView(view),
    onPendingChange: (id) => feed.reportPendingChanges(id),
  });
  parts.identities.watchEnded(() => void sessionService.endAbandoned());
  return {
    ...execution,
    sessionService,
    executionService,
    counts,
    gate,
    feed,
    callAudit: { auditing, repeats: new RepeatedRecords(auditing) },
    secretService: new DaemonSecretService(parts),
    console: new ConsoleService(parts),
    audit: new DaemonAuditService({ ...parts, directory: parts.auditDirectory }),
    publications: new LazyPublicationService(parts),
    tools: new DaemonToolService({
      ...parts,
      ...toolEnvironment(parts),
      files: parts.toolFiles,
      registered: new RegisteredTools(),
      sessionService,
      executionService,
      writable: () => writableDirectories(parts),
    }),
    projectService: new DaemonProjectService({
      projects: parts.projects,
      caches: workspaceHost.caches,
      sessions,
      isBusy: (session) => shares.hasCommands(session),
    }),
    workspaceService: new DaemonWorkspaceService({
      ...parts,
      gate,
      host: workspaceHost,
      home: parts.host.home,
      viewOfSession: (session) => contexts.workspaceOf(session),
      prove: createPersonProver(parts),
    }),
  };
}

/** Wires the execution of commands: see `executions/execute.ts`. */
function wireExecution(
  parts: RuntimeParts,
  sessionService: DaemonSessionService,
  runtime: Runtime,
) {
  const { sessions, execs, runners, auditing, approvalService, log } = parts;
  const contexts = new ContextCache(parts);
  const inputs = new InputAudit(parts);
  const recorder = new ExecRecorder(auditing, parts.statementSigner);
  const dependencies = createRunDependencies(parts, recorder);
  const shares = new CommandShares({ sessions, bounds: parts.bounds, sessionService });
  const scripts = new ScriptCalls({
    client: (caller) => createInProcessClient({ runtime, caller, version: version(), log }),
    answer: (id, call, text) => runners.answer(id, call, text),
    cancelApprovals: (script) => {
      const calls = execs.list(null).filter(({ record }) => record.parent === script);
      for (const { record } of calls) {
        if (record.parked !== null) approvalService.approvals.cancel({ exec: record.id });
      }
    },
  });
  const wired = { ...parts, contexts, recorder, dependencies, shares, scripts };
  const hostQuestions = new HostQuestions(approvalService.approvals, runners);
  const { views } = parts.workspaceHost;
  const starter = new CommandStarter({ ...wired, views, hostQuestions });
  const keys = new ExecKeys(execs, parts.macKey);
  const executor = new CommandExecutor({ ...wired, keys, starter });
  runners.onProgress = (progress) => recorder.printed(progress);
  runners.onHost = (id, host, port) => hostQuestions.ask(id, host, port);
  runners.onCall = (id, call, text) => void scripts.called(id, call, text);
  // The lost runner had the values of the sessions, so their names would now mislead.
  runners.onFresh = () => {
    sessions.markNamespacesGone();
    for (const session of sessions.all()) {
      if (session.record.envKeys.length > 0) sessions.update(session, { envKeys: [] });
    }
  };
  auditing.watchFailures(() => {
    // The audit log could no longer record what these commands do.
    const running = execs.running(null).map(({ record }) => record.id);
    void runners.stop(running, 'audit-failed').catch(() => {});
  });
  return { contexts, inputs, recorder, dependencies, shares, scripts, starter, executor };
}
