/**
 * The execution context of a session: facts about its workspace, the sandbox that is planned from
 * them, and what a probe inside that sandbox found enforced. Made at the first command, then
 * cached.
 */
import type { NetworkAccess } from '../../network-access.ts';
import { createHash } from 'node:crypto';
import type { Assurance, Box, FileGrants, Overlay, PathRules } from '../../command.ts';
import { TrlError } from '../../errors.ts';
import { baseEnvironment, isWithheldVariable, runtimeMarkers } from '../../environment/base.ts';
import { inheritedVariables } from '../../environment/tiers.ts';
import { limits } from '../../limits.ts';
import type { Exposure } from '../../policy/decide.ts';
import type { Policy } from '../../policy/policy.ts';
import type { ExecutionContext } from '../../execution.ts';
import type { HostFacts } from '../../sandbox/host-facts.ts';
import type { MaskedFile } from '../../sandbox/root-filesystem.ts';
import { planBox, visibleTrees } from '../../sandbox/plan.ts';
import type { SessionRecord } from '../../session/record.ts';
import { isBelow } from '../../workspace/inspect-path.ts';
import { mayNameInside } from '../../workspace/path-rules.ts';
import type { WorkspaceFacts } from '../../workspace/workspace-survey.ts';
import type { ReservedPaths } from '../../workspace/grants.ts';
import { refuseDeniedGrants, refuseUnenforceableGrants } from './grant-checks.ts';
import { createChangeTracker } from '../workspaces/change-tracker.ts';
import { sessionWorkspaceMode } from '../../session/views.ts';
import type { ViewContext, WorkspaceHost } from '../../host/port.ts';

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');

export interface ExecutionContextInput {
  readonly record: SessionRecord;
  readonly host: HostFacts;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly policy: Pick<Policy, 'name' | 'files' | 'withhold' | 'layers'>;
  /** Patterns that the configuration withholds. */
  readonly withhold: readonly string[];
  /** What commands inherit in `legacy` mode; `null`: the mode is `scoped`. */
  readonly legacy: Readonly<Record<string, string>> | null;
  /** Where files that were put back are moved to (0700). */
  readonly quarantine: string;
  /** What no grant opens. */
  readonly reserved: ReservedPaths;
  readonly files: WorkspaceHost;
  /** Certificates that are trusted beside the host's. PEM. */
  readonly roots: readonly string[];
  /** Files with credentials, as commands see them. */
  readonly credentialFiles: readonly MaskedFile[];
  /** A text as it is kept: without known secrets. */
  readonly masked: (text: string) => string;
}

/** What its variables follow from. */
type Surroundings = Omit<
  ExecutionContextInput,
  'quarantine' | 'reserved' | 'files' | 'masked' | 'credentialFiles' | 'roots'
>;

/** A session's context, and what was found in its workspace. */
export interface OpenedContext {
  readonly context: ExecutionContext;
  readonly facts: WorkspaceFacts | null;
  readonly opened: ViewContext;
}

/** What a daemon that crashed could not put back any more, by the survey it had made. */
export async function revertAfterCrash(
  files: WorkspaceHost,
  facts: WorkspaceFacts,
  quarantine: string,
): Promise<void> {
  await (await files.guard(facts, quarantine)).revert();
}

/**
 * Identifies the directory of a workspace; `null`: there is none. A directory made again under the
 * same name is another one: an earlier sandbox would show the old one.
 */
export function workspaceIdentityOf(
  workspace: string | null,
  { lookups }: Pick<WorkspaceHost, 'lookups'>,
): string | null {
  const found = workspace === null ? null : lookups.directoryAt(workspace);
  return found?.isDirectory === true ? `${found.dev}:${found.ino}` : null;
}

function boundTo(place: string | null, box: Box): Box {
  if (box.kind === 'none') return box;
  return { ...box, holder: { ...box.holder, id: digest(`${box.holder.id} ${place}`) } };
}

/**
 * @throws TrlError `SANDBOX_UNAVAILABLE` with what is missing and what helps; `POLICY_DENIED` for
 *   grants that policy does not permit
 */
export async function openExecutionContext(input: ExecutionContextInput): Promise<OpenedContext> {
  const { record, host, quarantine, policy } = input;
  const { workspace } = record;
  const asked = withRules(record);
  const grants = { ...record.grants, files: denying(asked, policy.files.deny) };
  const none = grants.sandbox === 'none';
  refuseUnenforceableGrants(grants, policy);
  if (!none && host.unavailable !== null) {
    throw new TrlError('SANDBOX_UNAVAILABLE', `Cannot make a sandbox: ${host.unavailable}`);
  }
  const visible = visibleTrees(host);
  const rules = record.workspaceRules;
  const hidden = { allow: rules?.read.allow ?? [], deny: grants.files.read.deny };
  const directory = workspaceIdentityOf(workspace, input.files);
  const plan = await input.files.views.plan(record, directory, hidden);
  if (plan === null) refuseUnlayered(input, hidden);
  const facts = none
    ? null
    : await input.files.survey({
        root: workspace,
        layered: plan !== null,
        files: grants.files,
        home: host.home,
        visible,
        reserved: input.reserved,
        entriesMax: limits.workspaceEntries.default,
      });
  refuseDeniedGrants(facts?.granted ?? [], { workspace, policy, home: host.home });
  const guard = facts === null ? null : await input.files.guard(facts, quarantine);
  const kept = none ? {} : input.files.caches.trees(record, facts?.granted ?? []);
  const boxWith = (overlay: Overlay | null, once: boolean): Box => {
    if (none) return { kind: 'none' };
    const scratchBytes = limits.scratchBytes.default;
    const shown = facts === null ? null : { ...facts, overlay };
    // What is thrown away leaves nothing behind, also not there.
    const files = { masked: input.credentialFiles, roots: input.roots };
    const parts = { host, workspace: shown, grants, ...files, ...(once ? {} : kept) };
    const planned = planBox({ ...parts, scratchBytes, once, digest });
    return boundTo(workspaceIdentityOf(workspace, input.files), planned);
  };
  const box = boxWith(plan?.overlay ?? null, false);
  const scratch = ['/tmp', '/var/tmp', host.home];
  const shown = [...(facts?.granted ?? []).map(({ path }) => path), ...visible];
  const opened = { facts, box, plan, write: grants.files.write };
  const context: ExecutionContext = {
    sessionId: record.id,
    shell: record.shell,
    statePersistence: record.carry,
    ...(record.umask === undefined ? {} : { umask: record.umask }),
    workspace,
    network: grants.network,
    home: record.cwd,
    box,
    scope: scopeOf({ box, granted: facts?.granted ?? [], visible, network: grants.network }),
    workspaceIdentity: directoryOf(workspace, input.files),
    ...input.files.lookups.inSandbox({ none, visible: shown, scratch, workspace }),
    layer: plan?.overlay.upper ?? null,
    isHidden: hiding(input, facts),
    files: record.grants.files,
    extraGrants: beyondOf(grants.files, workspace, facts?.granted ?? []),
    ...environmentOf(input, sightOf(host, box), visible),
    privateDirs: scratch,
    revert: async () => (guard === null ? [] : guard.revert()),
    changeTracker: changesOf(input, opened, {
      unlayered: input.files.views.whyNotLayered(record, hidden),
      boxWith: (overlay) => boxWith(overlay, true),
    }),
  };
  return { context, facts, opened };
}

/**
 * Without layers, git's history and other names of a file would still tell of what is hidden.
 *
 * @throws TrlError `SANDBOX_UNAVAILABLE` where the workspace's rules or a policy hide a part of it
 */
function refuseUnlayered(
  { record, host, policy }: ExecutionContextInput,
  { allow }: PathRules,
): void {
  const { workspace: root, workspaceRules: rules } = record;
  const isDenied = root !== null && mayNameInside(policy.files.deny, { root, home: host.home });
  if (!isDenied && allow.length === 0 && (rules?.read.deny.length ?? 0) === 0) return;
  const message = 'Cannot show a part of the workspace only: it cannot be layered here';
  throw new TrlError('SANDBOX_UNAVAILABLE', message);
}

/** What does not exist for the session's commands, by a mask or by what is mounted over it. */
function hiding(
  { record, files: { views } }: ExecutionContextInput,
  facts: OpenedContext['facts'],
): ExecutionContext['isHidden'] {
  const { id, workspace } = record;
  const covers = (facts?.covers ?? []).filter(({ as }) => as.startsWith('hidden'));
  return (file) =>
    (workspace !== null && views.hides(id, workspace, file)) ||
    covers.some(({ path }) => isBelow(file, path));
}

function changesOf(
  input: ExecutionContextInput,
  opened: ViewContext,
  by: { readonly unlayered: string | null; readonly boxWith: (overlay: Overlay) => Box },
): ExecutionContext['changeTracker'] {
  const { record, masked } = input;
  const { views } = input.files;
  const { workspace: root } = record;
  if (root === null) return null;
  return createChangeTracker({
    session: record.id,
    sessionMode: sessionWorkspaceMode(record),
    unlayered: by.unlayered,
    view: () => views.open(record, root, opened),
    boxWith: by.boxWith,
    isWaiting: (path) => views.hasPendingChange(record.id, path),
    masked,
  });
}

/** What a sandbox shows and lets be written, whatever else lies in the workspace just now. */
function scopeOf(parts: {
  readonly box: Box;
  readonly granted: readonly { readonly path: string; readonly writable: boolean }[];
  readonly visible: readonly string[];
  readonly network: NetworkAccess;
}): string {
  const { box, granted, visible, network } = parts;
  const held = box.kind === 'none' ? null : { seccomp: box.seccomp, level: box.holder.level };
  const trees = granted.map(({ path, writable }) => ({ path, writable }));
  return digest(JSON.stringify({ kind: box.kind, held, trees, visible, network }));
}

function directoryOf(
  workspace: string | null,
  { lookups }: WorkspaceHost,
): ExecutionContext['workspaceIdentity'] {
  const found = workspace === null ? null : lookups.directoryAt(workspace);
  return workspace === null || found === null
    ? null
    : { path: workspace, dev: found.dev, ino: found.ino };
}

/** How far a session's commands reach, by what was granted and what the probe found. */
export function exposureOf(
  { grants, assurance }: SessionRecord,
  context: ExecutionContext,
): Exposure {
  const checks = assurance?.checks ?? [];
  const held = checks.find(({ name }) => name === 'workspace_protected');
  return {
    sandbox: context.box.kind,
    level: assurance?.level ?? boxAssuranceLevel(context.box),
    protectedPaths: held?.enforced ?? true,
    network: grants.network,
    keysHidden: !/\/\.(?:ssh|aws|gnupg)(?:\/|$)/.test(context.workspace ?? ''),
    // A scan finds what changed, not what a file had before.
    undo: context.workspace === null || context.layer !== null,
    extraGrants: context.extraGrants,
  };
}

/** The session's grants, limited by the rules of its workspace. */
function withRules({ grants, workspaceRules }: SessionRecord): FileGrants {
  const { read, write } = grants.files;
  if (workspaceRules === undefined) return grants.files;
  return {
    read: { ...read, deny: [...read.deny, ...workspaceRules.read.deny] },
    write: { ...write, deny: [...write.deny, ...workspaceRules.write.deny] },
  };
}

/** What policy denies is denied for reading and for writing, whatever is granted. */
function denying({ read, write }: FileGrants, deny: readonly string[]): FileGrants {
  const added = (rules: PathRules): PathRules => ({ ...rules, deny: [...rules.deny, ...deny] });
  return deny.length === 0 ? { read, write } : { read: added(read), write: added(write) };
}

type Level = Pick<ExecutionContext, 'env' | 'inherited' | 'withhold'>;

/** What a command learns about its surroundings. */
interface Sight {
  readonly none: boolean;
  readonly user: string;
  readonly runtimeDir: string | null;
}

function sightOf(host: HostFacts, box: Box): Sight {
  if (box.kind === 'none') return { none: true, user: host.user, runtimeDir: null };
  const { level, insideUid } = box.holder;
  const user = level === 'user' ? host.user : 'agent';
  return { none: false, user, runtimeDir: `/run/user/${insideUid}` };
}

/** The same before there is a sandbox: the names are those that a command will get. */
export function expectedEnvironment(input: Surroundings): Level {
  const { record, host } = input;
  const none = record.grants.sandbox === 'none';
  const sight = { none, user: host.user, runtimeDir: none ? null : '/run/user/0' };
  return environmentOf(input, sight, visibleTrees(host));
}

/** The runtime's level: the safe variables, and in `legacy` mode what is inherited below them. */
function environmentOf(
  { record, host, env, policy, withhold: configured, legacy }: Surroundings,
  { none, user, runtimeDir }: Sight,
  visible: readonly string[],
): Level {
  const withhold = [...policy.withhold, ...configured];
  const base = baseEnvironment({
    env,
    path: none ? (env['PATH'] ?? host.path) : host.path,
    home: host.home,
    user,
    shell: record.shell.path,
    tmp: '/tmp',
    runtimeDir,
    visible,
  });
  // By these a command can tell where it runs: the runtime sets them, it does not inherit them.
  const isMark = (name: string): boolean => Object.hasOwn(runtimeMarkers, name);
  const safe = Object.entries(base).filter(
    ([name]) => isMark(name) || !isWithheldVariable(name, withhold),
  );
  const below =
    legacy === null ? {} : inheritedVariables(legacy, [...withhold, ...grantedByName(policy)]);
  const own = new Set(safe.map(([name]) => name));
  return {
    env: { ...below, ...Object.fromEntries(safe) },
    inherited: new Set(Object.keys(below).filter((name) => !own.has(name))),
    withhold,
  };
}

/** Names that policy asks about or blocks: `legacy` mode is no way around the question. */
function grantedByName({ layers }: Pick<Policy, 'layers'>): string[] {
  return layers.flatMap(({ grants }) =>
    grants == null
      ? []
      : [grants.secrets, grants.environment].flatMap(({ ask, block }) => [...ask, ...block]),
  );
}

/** What was granted besides the workspace, one clause each. */
function beyondOf(
  files: FileGrants,
  workspace: string | null,
  granted: readonly { readonly path: string; readonly writable: boolean }[],
): string[] {
  const trees = granted.filter(
    ({ path }) => path !== workspace && !files.write.allow.includes(path),
  );
  const clause = (verb: string, path: string): string => `may ${verb} ${JSON.stringify(path)}`;
  return [
    ...trees.map(({ path, writable }) => clause(writable ? 'write' : 'read', path)),
    // Inside the workspace such a grant can only be meant for what is protected.
    ...files.write.allow.map((path) => clause('write', path)),
  ];
}

/** The level that the plan of a box promises, before the probe confirmed it. */
export function boxAssuranceLevel(box: Box): Assurance['level'] {
  if (box.kind === 'none') return 'none';
  return box.holder.level === 'root-uid' ? 'root-uid' : 'full';
}
