/** Builds a runtime from its parts and the user configuration. */
import { homedir } from 'node:os';
import { join } from 'node:path';
import { LastingRules, lastingRulesFile } from '../approval/lasting-rules.ts';
import { Enrolment, enrolmentFiles } from '../approval/enrolment.ts';
import { openSecretKey } from '../approval/key.ts';
import type { Configuration } from '../configuration/configuration.ts';
import type { RedactionTags } from '../redaction/redaction-tags.ts';
import { rootCertificates } from '../network/root-certificates.ts';
import { upstreamProxyOf } from '../network/upstream-proxy.ts';
import type { HostFacts } from '../sandbox/host-facts.ts';
import type { StateStore } from '../session/store.ts';
import { mainTokenIn } from '../identity/token.ts';
import { Identities } from './access/identities.ts';
import { DaemonApprovalService } from './approvals/approval-service.ts';
import { notifyDesktop } from './approvals/desktop-notifications.ts';
import type { DaemonArgs } from './args.ts';
import { configDirectory } from '../yaml/config-directories.ts';
import { checkRoot, reservedPaths } from './runtime-files.ts';
import { Auditing } from './auditing/auditing.ts';
import type { MaskText } from './auditing/exec-basis.ts';
import { createTextMasker } from './auditing/create-text-masker.ts';
import { LazyAuditLog } from './auditing/lazy-audit-log.ts';
import { ExecStatementSigner } from './auditing/statement-signer.ts';
import {
  configurationAuditRecord,
  policyAuditRecord,
  policyRefusalRecord,
} from './auditing/audit-records.ts';
import { Core } from './core.ts';
import {
  auditLogDirectory,
  boundIn,
  openBasis,
  rawDirectory,
  type Env,
  type OpenCoreParts,
} from './open-basis.ts';
import { UsedKeys } from './used-keys.ts';
import { Executions } from './executions/executions.ts';
import type { RuntimeParts } from './services.ts';
import { Sessions } from './sessions/sessions.ts';
import { openToolFiles } from './tools/open-tools.ts';
import type { Masking } from './secrets/masking.ts';
import { legacySessionBounds } from '../configuration/legacy-variables.ts';
import { locateDaemonSocket, stateHomeDirectory } from './paths.ts';
import type { Policies } from './policies.ts';
import { RawLogs } from './auditing/raw-logs.ts';
import type { Runners } from './runners.ts';
import { stoppedFileName } from './stopping.ts';
import { SearchPathHosts } from './sessions/search-path-hosts.ts';
import { EventLoopYield } from './event-loop-yield.ts';
import { RuntimeVariables } from './secrets/variables.ts';
import { Projects } from './workspaces/projects.ts';
import { OpenWorkspaces } from './workspaces/open-workspaces.ts';
import type { MachinePort, WorkspaceHost } from '../host/port.ts';
import type { Log } from './transport/reply-messages.ts';

export interface OpenedDaemon {
  readonly core: Core;
  /** Identifies the owner of a token, for transports that accept tokens. */
  readonly identities: Identities;
  readonly auditing: Auditing;
  /** Real paths of the directories in which sessions may work. */
  readonly roots: readonly string[];
  /** Where the daemon listens. `null`: on its own stdin and stdout. */
  readonly socketLocation: ReturnType<typeof locateDaemonSocket>;
  /** Idle time after which the runtime exits. `null`: it does not exit. */
  readonly idleExitMs: number | null;
  /** The runtime's log messages, without known secrets. */
  readonly log: Log;
  /** Call this after the runtime's last command. */
  close(): Promise<void>;
}

/**
 * @throws TrlError and PolicyError for unusable user configuration: the runtime never falls back to
 *   weaker settings
 */
export async function openCore(parts: OpenCoreParts): Promise<OpenedDaemon> {
  const { args } = parts;
  const basis = await openBasis(parts);
  const { env, roots, authority, configuration, policies, store, log } = basis;
  const { machine, runners, host, secrets, tags, masking, redaction } = basis;
  const socketLocation = locateDaemonSocket(args, env);
  const place = { runner: runners.dir, place: socketLocation };
  const reserved = reservedPaths(roots, authority, place);
  const enrolment = new Enrolment(enrolmentFiles(env, homedir()));
  const maskText = createTextMasker(redaction, masking);
  const auditLog = new LazyAuditLog(auditLogDirectory());
  const auditing = auditingOf({ auditLog, args, configuration, masking, maskText, log });
  await follow(auditing, { runners, policies, tags, log });
  const identities = identitiesOf({ env, enrolment, policies, auditing, log });
  const work = await openWork(parts, basis, (root) => checkRoot(root, authority, reserved));
  const { sessions, execs } = work;
  const toolFiles = openToolFiles({ sessions, roots, env, toolDirectories: args.tools, log });
  const managedBy: RuntimeVariables['managedBy'] = (name, workspace) =>
    toolFiles.managedBy(name, workspace);
  const { key } = basis;
  const approving = { store, enrolment, policies, masking, args, env, maskText, secrets };
  const core = new Core({
    ...basis,
    ...work,
    toolFiles,
    searchPathHosts: new SearchPathHosts(machine, host, env['PATH'] ?? ''),
    identities,
    auditing,
    statementSigner: new ExecStatementSigner(() => auditLog.key().privateKey, masking),
    reserved,
    eventLoop: new EventLoopYield(),
    approvalService: approvingOf({ ...approving, sessions, execs }),
    enrolment,
    variables: new RuntimeVariables({
      configuration,
      secrets,
      env,
      managedBy,
      key,
      files: basis.credentialFiles,
      log: parts.log,
    }),
    macKey: key,
    connectHosts: configuration.connectHosts,
    upstreamProxy: upstreamProxyOf(configuration.proxy, env),
    rootCertificates: rootCertificates({
      files: configuration.rootFiles,
      env,
      bundle: host.trustStores.bundles[0] ?? null,
    }),
    ...directories(),
    bounds: configuration.limits,
    maskText,
    ...startedWith(args, env),
  });
  const ends = { idleExitMs: idleExitOf(args, env), close: () => auditLog.close() };
  return { core, identities, auditing, roots, socketLocation, ...ends, log };
}

/** Sessions, executions and the workspaces that they work in. */
async function openWork(
  { args, stateDir }: OpenCoreParts,
  basis: Awaited<ReturnType<typeof openBasis>>,
  check: (root: string) => Promise<void>,
) {
  const { roots, store, host, masking, configuration, log } = basis;
  const workspaceHost = hostOf({ ...basis, stateDir });
  const { allowsTrust } = args;
  const where = { roots, home: host.home, host: workspaceHost };
  const keys = new UsedKeys(store);
  return {
    workspaceHost,
    projects: await Projects.open({ ...where, store, allowsTrust, check, log }),
    openWorkspaces: new OpenWorkspaces(store),
    sessions: new Sessions(store, configuration.limits.sessionRecords),
    keys,
    execs: new Executions(store, masking, keys),
  };
}

const idleExitOf = ({ exitsWhenIdle: endsIdle }: DaemonArgs, env: Env): number | null =>
  endsIdle ? boundIn(env, 'idleExitMs', 'TRL_IDLE_EXIT_MS') : null;

const directories = (): Pick<
  RuntimeParts,
  'quarantine' | 'auditDirectory' | 'publicationDirectory'
> => ({
  quarantine: join(stateHomeDirectory(), 'quarantine'),
  auditDirectory: auditLogDirectory(),
  publicationDirectory: join(stateHomeDirectory(), 'publish'),
});

const startedWith = (
  { ephemeral }: DaemonArgs,
  env: Env,
): Pick<RuntimeParts, 'endRunner' | 'stopMs' | 'stoppedFile' | 'sessionBounds'> => ({
  sessionBounds: legacySessionBounds(env),
  endRunner: ephemeral,
  stopMs: boundIn(env, 'stopMs', 'TRL_STOP_MS'),
  stoppedFile: join(stateHomeDirectory(), stoppedFileName),
});

interface AuditingParts extends Pick<OpenCoreParts, 'args' | 'log'> {
  readonly auditLog: LazyAuditLog;
  readonly configuration: Configuration;
  readonly masking: Masking;
  readonly maskText: MaskText;
}

function auditingOf({ auditLog, args, configuration, ...texts }: AuditingParts): Auditing {
  const auditing = new Auditing({
    sink: auditLog,
    required: configuration.audit.required,
    ...texts,
    // The runtime of a single command does not take over earlier commands.
    ends: async (execs, since) => (args.ephemeral ? new Map() : auditLog.ends(execs, since)),
    unended: async () => (args.ephemeral ? [] : auditLog.unended()),
  });
  auditing.note(configurationAuditRecord(configuration));
  return auditing;
}

/** Records events that no call causes. */
async function follow(
  auditing: Auditing,
  by: {
    readonly runners: Runners;
    readonly policies: Policies;
    readonly tags: RedactionTags;
    readonly log: Log;
  },
): Promise<void> {
  const { policies } = by;
  watchExits(by.runners, { auditing, tags: by.tags, log: by.log });
  auditing.note(policyAuditRecord(await policies.of(null)));
  policies.watch((read) =>
    auditing.note(
      'policy' in read ? policyAuditRecord(read.policy) : policyRefusalRecord(read.refused),
    ),
  );
}

/** Limits the size of the raw logs, and records the tags in each command's output. */
function watchExits(
  runners: Runners,
  {
    auditing,
    tags,
    log,
  }: { readonly auditing: Auditing; readonly tags: RedactionTags; readonly log: Log },
): void {
  const isRunning = (exec: string): boolean => runners.expects(exec);
  const rawLogs = new RawLogs({ directory: rawDirectory(), auditing, isRunning, log });
  runners.onExit = ({ raw_log: left, redactions }) => {
    if (left !== null) rawLogs.added(left);
    for (const { tag } of redactions?.entries ?? []) tags.note(tag);
  };
}

/** Layers end with this runtime; the changes in them are stored for all later runtimes. */
function hostOf(given: {
  readonly machine: MachinePort;
  readonly stateDir: string;
  readonly host: HostFacts;
  readonly configuration: Configuration;
  readonly runners: Runners;
  readonly tags: RedactionTags;
  readonly log: (text: string) => void;
}): WorkspaceHost {
  const { machine, stateDir, host, configuration, runners, tags, log } = given;
  return machine.openWorkspaces({
    stateDirectory: stateDir,
    dataDirectory: stateHomeDirectory(),
    facts: host,
    homeCaches: configuration.homeCaches,
    key: (directory) => openSecretKey(directory, 'key'),
    mounts: () => runners.link(),
    tags,
    log,
  });
}

interface IdentityParts extends Pick<ApprovingParts, 'enrolment' | 'policies'> {
  readonly env: Env;
  readonly auditing: Auditing;
  readonly log: Log;
}

function identitiesOf({ env, enrolment, policies, auditing, log }: IdentityParts): Identities {
  return Identities.open({
    directory: stateHomeDirectory(),
    mainToken: mainTokenIn(env),
    enrolment,
    isSameUidAllowed: () => policies.permits(null).sameUid,
    note: (told) => auditing.note(told),
    log,
  });
}

interface ApprovingParts extends Pick<
  RuntimeParts,
  'env' | 'maskText' | 'secrets' | 'sessions' | 'execs'
> {
  readonly args: DaemonArgs;
  readonly store: StateStore;
  readonly enrolment: Enrolment;
  readonly policies: Policies;
  readonly masking: Masking;
}

function approvingOf(parts: ApprovingParts): DaemonApprovalService {
  const { args, store, enrolment, policies, masking, sessions, execs } = parts;
  const approving = new DaemonApprovalService({
    store: {
      put: (id, json) => store.putDurable('approvals', id, json),
      remove: (id) => store.remove('approvals', id),
      all: () => store.all('approvals'),
    },
    enrolment,
    rules: new LastingRules(join(configDirectory(), lastingRulesFile)),
    permits: (asked) => policies.permits(asked?.workspace?.path ?? null),
    mask: (text) => masking.text(text),
    // A queued command's own values are secret from now on: they are masked in what a person sees.
    inputOf: (id) => {
      const { sessionId, parked } = execs.find(id)?.record ?? {};
      if (sessionId === undefined || parked == null) return null;
      masking.given.note(sessionId, parked.request.env);
      return parked.request.stdin;
    },
    shareHolderOf: ({ session, requester }) => {
      const found = sessions.find(session);
      return found === null ? requester : sessions.shareHolderOf(found);
    },
  });
  const { approvals } = approving;
  // The runtime of a single command ends before a person could answer.
  if (!args.ephemeral) notifyDesktop(parts, { approvals, requests: parts.secrets.requests });
  return approving;
}
