/**
 * Plans the sandbox of a session and of its commands: a value, made from facts alone. Pure.
 *
 *   holder    user, network and mount namespace with the whole root file system; once a session
 *   command   a fresh bubblewrap joined to it: own processes, IPC, host name, /proc and filter
 */
import type { SharedTree } from '../caches.ts';
import type { Box, Grants, SandboxNamespace, Overlay } from '../command.ts';
import { hasOwnNetwork } from '../network-access.ts';
import type { HostFacts } from './host-facts.ts';
import { seccompFd, seccompProgram } from './seccomp.ts';
import {
  sandboxHostname,
  planRootFilesystem,
  type MaskedFile,
  type MountCover,
  type MountGrant,
  type HomeTree,
  type SandboxIdentity,
} from './root-filesystem.ts';

/** Trees of the host that every sandbox here shows. */
export function visibleTrees(host: HostFacts): string[] {
  const system = host.system.flatMap((entry) => (entry.kind === 'bind' ? [entry.path] : []));
  return [...system, ...host.toolchains.map((tree) => tree.path)];
}

/** What was looked up about the workspace and the files granted beyond it. */
export interface BoxWorkspace {
  /** Owner of the workspace; its files appear as the sandbox's own. */
  readonly uid: number;
  readonly gid: number;
  /** Whether the file systems of {@link granted} take idmapped mounts. */
  readonly idmap: boolean;
  /** The workspace (writable) and every grant, by real path. */
  readonly granted: readonly MountGrant[];
  readonly covers: readonly MountCover[];
  /** What is mounted in the workspace's place. Default: the workspace itself, written directly. */
  readonly overlay?: Overlay | null;
}

export interface BoxInput {
  readonly host: HostFacts;
  /** `null`: no workspace and nothing granted beyond the system. */
  readonly workspace: BoxWorkspace | null;
  readonly grants: Pick<Grants, 'network'>;
  /** Files that are shown with another content. Default: none. */
  readonly masked?: readonly MaskedFile[];
  /** What lasts in HOME. Default: nothing. */
  readonly caches?: readonly HomeTree[];
  /** What of the host is shown in {@link caches}, under a layer. Default: nothing. */
  readonly shared?: readonly SharedTree[];
  /** Certificates that are trusted beside the host's, in sessions with a bridge. PEM. */
  readonly roots?: readonly string[];
  /** Bound of each private tmpfs (HOME, /tmp, /var/tmp, /dev/shm) in bytes. */
  readonly scratchBytes: number;
  /** Whether the box is for one command, beside the session's own. Default: no. */
  readonly once?: boolean;
  /** SHA-256 of a text, in hex: keeps this module free of I/O. */
  readonly digest: (text: string) => string;
}

type BubblewrapBox = Extract<Box, { kind: 'bubblewrap' }>;

/** The account of a sandbox that root runs. */
const rootInside = { uid: 1000, gid: 1000, user: 'agent' } as const;
/** Host ids of one range, of which the owner's takes one place. */
const idRange = 65_536;

/**
 * Plans the box of every command of a session; equal input gives an equal box.
 *
 * @throws RangeError where {@link HostFacts.unavailable} names what is missing: callers look there
 *   first.
 */
export function planBox(input: BoxInput): BubblewrapBox {
  const { grants, caches = [], shared = [] } = input;
  const workspace = withoutShared(input.workspace, shared);
  const host = withoutOverlap(input.host, workspace?.granted ?? []);
  const { bwrap, nsenter, perl } = host.tools;
  if (bwrap === null || nsenter === null || host.arch === null) {
    throw new RangeError('planBox needs a host on which sandboxes are available');
  }
  const identity = identify(host, workspace);
  const overlay = workspace?.overlay ?? null;
  const isStaged = identity.level === 'root-idmap' || overlay !== null || shared.length > 0;
  const staged = isStaged ? stagedTrees(host, workspace, caches) : [];
  const view = planRootFilesystem({
    host,
    identity,
    granted: workspace?.granted ?? [],
    covers: workspace?.covers ?? [],
    masked: input.masked ?? [],
    caches,
    sourceOf: (path) =>
      overlay !== null && isWithin(path, overlay.tree)
        ? `${host.stage}/tree${path.slice(overlay.tree.length)}`
        : stagedSource(path, staged, host.stage),
    isLayered: (path) => overlay !== null && isWithin(path, overlay.tree),
    network: grants.network,
    roots: input.roots ?? [],
    scratchBytes: input.scratchBytes,
  });
  const { user: _, ...ids } = identity;
  const holder = {
    ...ids,
    stage: host.stage,
    staged,
    overlay,
    ...(shared.length === 0 ? {} : { shared }),
    once: input.once ?? false,
    ...view,
    tools: { bwrap, nsenter, perl },
  };
  // Without a network namespace of its own, a command could reach the host's abstract sockets.
  const program = seccompProgram(host.arch, {
    unixSockets: hasOwnNetwork(grants.network),
  });
  return {
    kind: 'bubblewrap',
    holder: { id: input.digest(JSON.stringify(holder)), ...holder },
    args: commandArgs(identity),
    seccomp: btoa(Array.from(program, (byte) => String.fromCharCode(byte)).join('')),
  };
}

/** A tree with a layer is mounted with the layer, not as a tree of its own. */
function withoutShared(
  workspace: BoxWorkspace | null,
  shared: readonly SharedTree[],
): BoxWorkspace | null {
  if (workspace === null || shared.length === 0) return workspace;
  const isShared = ({ path }: MountGrant): boolean => shared.some(({ source }) => source === path);
  return { ...workspace, granted: workspace.granted.filter((tree) => !isShared(tree)) };
}

/** A toolchain inside a granted tree is shown with that tree, and writable where it is. */
function withoutOverlap(host: HostFacts, granted: readonly MountGrant[]): HostFacts {
  const isGranted = (name: string): boolean => granted.some((tree) => isWithin(name, tree.path));
  return {
    ...host,
    toolchains: host.toolchains.filter((tree) => !isGranted(tree.path)),
    masked: host.masked.filter((name) => !isGranted(name)),
  };
}

function identify(host: HostFacts, workspace: BoxWorkspace | null): SandboxIdentity {
  if (host.uid !== 0) {
    const { uid, gid, user } = host;
    return { level: 'user', hostUid: uid, hostGid: gid, insideUid: uid, insideGid: gid, user };
  }
  const inside = { insideUid: rootInside.uid, insideGid: rootInside.gid, user: rootInside.user };
  const owner = workspace ?? { uid: 0, gid: 0, idmap: true };
  if (!host.idmap || !owner.idmap) return { level: 'root-uid', hostUid: 0, hostGid: 0, ...inside };
  return {
    level: 'root-idmap',
    hostUid: host.idBase + (owner.uid % idRange),
    hostGid: host.idBase + (owner.gid % idRange),
    ...inside,
  };
}

function stagedTrees(
  host: HostFacts,
  workspace: BoxWorkspace | null,
  caches: readonly HomeTree[],
): SandboxNamespace['staged'] {
  const readOnly = host.toolchains.map((tree) => ({ ...tree, writable: false }));
  const granted = workspace?.granted ?? [];
  const isPart = (tree: MountGrant): boolean =>
    granted.some(
      (outer) => tree.path.startsWith(`${outer.path}/`) && (outer.writable || !tree.writable),
    );
  const overlay = workspace?.overlay ?? null;
  const isMerged = (tree: MountGrant): boolean =>
    overlay !== null && isWithin(tree.path, overlay.tree);
  const own = granted.filter((tree) => !isPart(tree) && !isMerged(tree));
  const kept = [...new Map(caches.map((one) => [one.tree, one])).values()].map(
    ({ tree: path, uid, gid }) => ({ path, uid, gid, writable: true }),
  );
  return [...own, ...readOnly, ...kept].map(({ path, writable, uid, gid }) => ({
    source: path,
    writable,
    uid,
    gid,
  }));
}

const isWithin = (path: string, tree: string): boolean =>
  path === tree || path.startsWith(`${tree}/`);

/** The deepest staged tree that holds `path`, else the path itself. */
function stagedSource(path: string, staged: SandboxNamespace['staged'], stage: string): string {
  let best = -1;
  staged.forEach(({ source }, index) => {
    if (isWithin(path, source) && source.length > (staged[best]?.source.length ?? -1)) best = index;
  });
  const source = staged[best]?.source;
  return source === undefined ? path : `${stage}/${best}${path.slice(source.length)}`;
}

/** Root's own files of /proc that a sandbox with uid 0 could write. */
const writableByRoot = [
  '/proc/sysrq-trigger',
  '/proc/irq',
  '/proc/bus',
  '/proc/acpi',
  '/proc/fs',
  '/proc/scsi',
  '/proc/mtrr',
  '/proc/dynamic_debug',
];

/** Pid 1 is the command's shim: bubblewrap's own would run without the filter. */
const commandOptions = [
  '--unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try --as-pid-1 --cap-drop ALL',
  '--new-session --die-with-parent --dev-bind / / --proc /proc --ro-bind /proc/sys /proc/sys',
  `--hostname ${sandboxHostname} --seccomp ${seccompFd}`,
].flatMap((line) => line.split(' '));

function commandArgs({ level, insideUid, insideGid }: SandboxIdentity): string[] {
  const covered = level === 'root-uid' ? writableByRoot : [];
  const ids = ['--unshare-user', '--uid', String(insideUid), '--gid', String(insideGid)];
  const covers = covered.flatMap((path) => ['--ro-bind-try', path, path]);
  return [...ids, ...commandOptions, ...covers];
}
