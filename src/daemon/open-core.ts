/** Builds a runtime from its parts and the user configuration. */
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { LastingRules, lastingRulesFile } from '../approval/lasting-rules.ts';
import { Enrolment, enrolmentFiles } from '../approval/enrolment.ts';
import { openSecretKey, redactionKeyName } from '../approval/key.ts';
import type { Configuration } from '../configuration/configuration.ts';
import { loadConfiguration } from '../configuration/load.ts';
import { checkSecretPatterns } from '../configuration/configuration.ts';
import { limits, type RuntimeBounds } from '../limits.ts';
import { version } from '../protocol/version.ts';
import type { RunnerOptions } from '../process/runner.ts';
import type { RedactionOptions } from '../redaction/open-redactor.ts';
import { RedactionTags } from '../redaction/redaction-tags.ts';
import type { HostFacts } from '../sandbox/host-facts.ts';
import { StateStore } from '../session/store.ts';
import { mainTokenIn } from '../identity/token.ts';
import { Identities } from './access/identities.ts';
import { DaemonApprovalService } from './approvals/approval-service.ts';
import { notifyDesktop } from './approvals/desktop-notifications.ts';
import type { DaemonArgs } from './args.ts';
import { configDirectory } from '../yaml/config-directories.ts';
import { checkRoot, findRuntimeFiles, refuseControlFile, reservedPaths } from './runtime-files.ts';
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
import { UsedKeys } from './used-keys.ts';
import { Executions } from './executions/executions.ts';
import type { RuntimeParts } from './services.ts';
import { Sessions } from './sessions/sessions.ts';
import { openToolFiles } from './tools/open-tools.ts';
import { Masking } from './secrets/masking.ts';
import type { OwnEnvironment } from './own-environment.ts';
import { legacySessionBounds } from '../configuration/legacy-variables.ts';
import { openStateDir, runnerProgram, locateDaemonSocket, stateHomeDirectory } from './paths.ts';
import { Policies } from './policies.ts';
import { RawLogs } from './auditing/raw-logs.ts';
import { Runners } from './runners.ts';
import { shouldTakeBySettings, openSecrets } from './secrets/open-secrets.ts';
import { stoppedFileName } from './stopping.ts';
import { SearchPathHosts } from './sessions/search-path-hosts.ts';
import { EventLoopYield } from './event-loop-yield.ts';
import { RuntimeVariables } from './secrets/variables.ts';
import { Projects } from './workspaces/projects.ts';
import { OpenWorkspaces } from './workspaces/open-workspaces.ts';
import { LocalMachine } from '../host/local-machine.ts';
import type { MachinePort, WorkspaceHost } from '../host/port.ts';

type Env = OwnEnvironment['env'];
type Log = (text: string) => void;

export interface OpenCoreParts {
  readonly args: DaemonArgs;
  readonly own: OwnEnvironment;
  readonly stateDir: string;
  /** Must not throw. */
  readonly log: Log;
}

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
export async function openCore({ args, own, stateDir, log }: OpenCoreParts): Promise<OpenedDaemon> {
  const { env } = own;
  const machine = new LocalMachine(env);
  const roots = args.roots.map((root) => machine.resolveRoot(root));
  const authority = await findRuntimeFiles({
    roots,
    args,
    env,
    state: [stateDir, stateHomeDirectory()],
  });
  const configuration = await loadConfiguration({ env, flags: args, version: version() });
  await tryPatterns(configuration);
  const policies = await Policies.open(args.policy, log, (file) => refuseControlFile(roots, file));
  const isTaken = shouldTakeBySettings(configuration, (await policies.of(null)).withhold);
  logProblem(own.take(isTaken, args.verb === 'serve'), log);
  const store = new StateStore(args.ephemeral ? ':memory:' : join(stateDir, 'state.db'));
  // The private runtime of a single command stores nothing for a later one.
  const kept = args.ephemeral ? null : stateDir;
  const tagKey = openTagKey(args.ephemeral, log);
  const runners = runnersOf({ machine, kept, env, configuration, tagKey });
  const [host, secrets] = await sideBySide(
    machine.gatherFacts(),
    openSecrets({ configuration, env, roots, log }),
    runners.open(),
  );
  const tags = new RedactionTags(tagKey);
  const masking = new Masking(tags, secrets);
  // Runners must know a secret before any command can receive or show its value.
  secrets.watch(() => void runners.addKnownSecrets(secrets.known(), null).catch(() => {}));
  const masked = (text: string): void => log(masking.text(text));
  const place = locateDaemonSocket(args, env);
  const reserved = reservedPaths(roots, authority, { runner: runners.dir, place });
  const enrolment = new Enrolment(enrolmentFiles(env, homedir()));
  const redaction = { options: redactionOf(configuration), tags };
  const maskText = createTextMasker(redaction, masking);
  const auditLog = new LazyAuditLog(auditDirectory());
  const auditing = auditingOf({ auditLog, args, configuration, masking, maskText, log: masked });
  await follow(auditing, { runners, policies, tags, log: masked });
  const identities = identitiesOf({ env, enrolment, policies, auditing, log: masked });
  const workspaceHost = hostOf({
    machine,
    stateDir,
    host,
    configuration,
    runners,
    tags,
    log: masked,
  });
  const check = (root: string): Promise<void> => checkRoot(root, authority, reserved);
  const { allowsTrust } = args;
  const by = { allowsTrust, home: host.home, host: workspaceHost, check, log: masked };
  const projects = await Projects.open({ roots, store, ...by });
  const sessions = new Sessions(store, configuration.limits.sessionRecords);
  const keys = new UsedKeys(store);
  const execs = new Executions(store, masking, keys);
  const toolFiles = openToolFiles({
    sessions,
    roots,
    env,
    toolDirectories: args.tools,
    log: masked,
  });
  const managedBy: RuntimeVariables['managedBy'] = (name, workspace) =>
    toolFiles.managedBy(name, workspace);
  const core = new Core({
    sessions,
    execs,
    keys,
    toolFiles,
    host,
    searchPathHosts: new SearchPathHosts(machine, host, env['PATH'] ?? ''),
    identities,
    auditing,
    statementSigner: new ExecStatementSigner(() => auditLog.key().privateKey, masking),
    env,
    roots,
    projects,
    reserved,
    policies,
    eventLoop: new EventLoopYield(),
    approvalService: approvingOf({
      store,
      enrolment,
      policies,
      masking,
      args,
      env,
      maskText,
      secrets,
      sessions,
      execs,
    }),
    enrolment,
    secrets,
    variables: new RuntimeVariables({ configuration, secrets, env, managedBy, log }),
    macKey: openSecretKey(kept),
    masking,
    store,
    runners,
    ...directories(),
    bounds: configuration.limits,
    openWorkspaces: new OpenWorkspaces(store),
    redaction,
    maskText,
    workspaceHost,
    ...startedWith(args, env),
    log: masked,
  });
  const ends = { idleExitMs: idleExitOf(args, env), close: () => auditLog.close() };
  return { core, identities, auditing, roots, socketLocation: place, ...ends, log: masked };
}

/**
 * Equal values have equal tags in every runtime of the user, also in a runtime that stores nothing
 * else.
 *
 * @throws TrlError `BACKEND_UNAVAILABLE` if an existing key cannot be used, or if a persistent
 *   runtime cannot store a new one
 */
function openTagKey(ephemeral: boolean, log: Log): Buffer {
  try {
    return openSecretKey(openStateDir(false), redactionKeyName);
  } catch (error) {
    if (!ephemeral || existsSync(join(stateHomeDirectory(), redactionKeyName))) throw error;
    log(`tags of hidden values are valid in this run only: ${String(error)}`);
    return openSecretKey(null);
  }
}

/**
 * Opens these parts in parallel: each waits some tens of milliseconds, and every command needs all
 * of them.
 */
const sideBySide = async <Host, Secrets>(
  host: Promise<Host>,
  secrets: Promise<Secrets>,
  runners: Promise<unknown>,
) => Promise.all([host, secrets, runners, import('../policy/judge.ts')]);

const idleExitOf = ({ exitsWhenIdle: endsIdle }: DaemonArgs, env: Env): number | null =>
  endsIdle ? boundIn(env, 'idleExitMs', 'TRL_IDLE_EXIT_MS') : null;

const directories = (): Pick<
  RuntimeParts,
  'quarantine' | 'auditDirectory' | 'publicationDirectory'
> => ({
  quarantine: join(stateHomeDirectory(), 'quarantine'),
  auditDirectory: auditDirectory(),
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

interface RunnerParts {
  readonly machine: MachinePort;
  /** The state directory. `null`: nothing is stored. */
  readonly kept: string | null;
  readonly env: Env;
  readonly configuration: Configuration;
  readonly tagKey: Buffer;
}

function runnersOf({ machine, kept, env, configuration, tagKey }: RunnerParts): Runners {
  return new Runners(machine, {
    stateDir: kept,
    env,
    ...boundsOfRunner(env, configuration.limits),
    program: runnerProgram(),
    redaction: { key: tagKey.toString('hex'), ...redactionOf(configuration) },
    sealing: sealingOf(configuration),
  });
}

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

const auditDirectory = (): string => join(stateHomeDirectory(), 'audit');
const rawDirectory = (): string => join(auditDirectory(), 'raw');

/** Raw output is for auditors only: without recipients, the runner does not store it. */
function sealingOf({
  audit: { recipients, required },
}: Configuration): NonNullable<RunnerOptions['sealing']> | null {
  if (recipients.length === 0) return null;
  const bytesMax = limits.rawLogBytes.default;
  return { directory: rawDirectory(), recipients, bytesMax, required };
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

/** Loads the pattern reader only if patterns are configured. */
async function tryPatterns({ redaction }: Configuration): Promise<void> {
  if (redaction.patterns.length === 0) return;
  const { compileUserRules } = await import('../redaction/rules/user-rules.ts');
  checkSecretPatterns(redaction.patterns, compileUserRules);
}

/** The configuration of the redactor. */
function redactionOf({ redaction }: Configuration): RedactionOptions {
  const { profile, thresholds, patterns } = redaction;
  return {
    profile,
    thresholds,
    patterns: patterns.map(({ id, pattern, keywords }) => ({ id, pattern, keywords })),
  };
}

export function logProblem(problem: string | null, log: Log): void {
  if (problem !== null) log(`secrets of the environment show in /proc/${process.pid}: ${problem}`);
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

function boundsOfRunner(env: Env, { sessionsActive, commandsConcurrent }: RuntimeBounds) {
  return {
    journalsBytes: boundIn(env, 'journalsBytes', 'TRL_JOURNALS_BYTES'),
    commandsMax: commandsConcurrent,
    sessionsMax: sessionsActive,
    lingerMs: boundIn(env, 'runnerLingerMs', 'TRL_RUNNER_LINGER_MS'),
  };
}

/** A bound of the runtime: the variable overrides the default, up to the maximum. */
function boundIn(
  env: Env,
  name: 'journalsBytes' | 'runnerLingerMs' | 'stopMs' | 'idleExitMs',
  variable: string,
): number {
  const asked = Number(env[variable]);
  const { default: usual, max } = limits[name];
  if (!Number.isSafeInteger(asked) || asked <= 0) return usual;
  return max === null ? asked : Math.min(asked, max);
}
