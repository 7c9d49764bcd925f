/**
 * The root file system a session sees, as arguments of its namespace's bubblewrap. Pure.
 *
 * Everything is placed in one pass from short paths to long ones, so that what lies deeper ends up
 * on top. Mount points are made in private tmpfs only: nothing is ever created on the host.
 */
import type { SandboxNamespace } from '../command.ts';
import {
  isBridged,
  type BridgedView,
  type NetworkAccess,
  type TrustFormat,
} from '../network-access.ts';
import {
  addedCertificates,
  chromiumPolicies,
  trustedBundle,
} from '../network/trusted-certificates.ts';
import type { HostFacts } from './host-facts.ts';
import { gitConfig } from './git-identity.ts';

/** Who runs the sandbox, outside and inside. */
export interface SandboxIdentity extends Pick<
  SandboxNamespace,
  'level' | 'hostUid' | 'hostGid' | 'insideUid' | 'insideGid'
> {
  /** Account name inside. */
  readonly user: string;
}

/** A tree beyond the system directories, by real path; it exists on the host. */
export interface MountGrant {
  readonly path: string;
  readonly writable: boolean;
  readonly uid: number;
  readonly gid: number;
}

/**
 * A change on top of a visible tree, at an existing path that is no link.
 * `pin`: may not be renamed or replaced, else as before. `hidden-*`: nothing of it can be read.
 */
export interface MountCover {
  readonly path: string;
  readonly as: 'pin' | 'read-only' | 'hidden-file' | 'hidden-directory';
}

/** A directory on disk that commands see in HOME, and write. */
export interface HomeTree {
  /** What is bound as a whole before. */
  readonly tree: string;
  readonly source: string;
  readonly target: string;
  readonly uid: number;
  readonly gid: number;
}

/** A file of the host that is shown with another content. */
export interface MaskedFile {
  /** Real path; where its directory is not shown, it is shown alone. */
  readonly path: string;
  readonly base64: string;
}

export type RootFilesystem = Pick<SandboxNamespace, 'args' | 'files' | 'bridged'>;

export interface RootFilesystemInput {
  readonly host: HostFacts;
  readonly identity: SandboxIdentity;
  readonly granted: readonly MountGrant[];
  readonly covers: readonly MountCover[];
  readonly masked: readonly MaskedFile[];
  readonly caches: readonly HomeTree[];
  /** Where the holder finds a host path: in the stage, or as it is. */
  readonly sourceOf: (path: string) => string;
  /** Whether commands see a layer of their own at a path. */
  readonly isLayered: (path: string) => boolean;
  readonly network: NetworkAccess;
  /** Certificates that are trusted beside the host's, in sessions with a bridge. PEM. */
  readonly roots: readonly string[];
  /** Bound of each private tmpfs (HOME, /tmp) in bytes. */
  readonly scratchBytes: number;
}

/** First descriptor of a holder's files. */
export const namespaceFilesFd = 20;
export const sandboxHostname = 'trl';
/** Uid 0 of this namespace is `hostUid`: only uid 0 may mount devpts. */
const namespaces = '--unshare-user --uid 0 --gid 0 --cap-drop ALL --die-with-parent'.split(' ');
const skeleton = '--dev /dev --dir /sys --dir /etc --dir /var --symlink ../run /var/run'.split(' ');
/** The host's /proc lies under every command's own: one may be mounted only where one is seen. */
const finish = '--bind /proc /proc --remount-ro /dev --remount-ro /'.split(' ');
const runBytes = 64 * 1024 * 1024;
const hiddenBytes = 64 * 1024;

/** What is asked of bubblewrap, and what programs look names up by. */
interface NetworkView {
  readonly args: readonly string[];
  readonly lookup: string;
  readonly resolver: (host: HostFacts) => string;
}

/** Of the session's own network namespace. */
const ownNetwork = ['--unshare-net'];
/** The bridge listens there (`egress/`). */
const bridged: NetworkView = {
  args: ownNetwork,
  lookup: 'files dns',
  resolver: () => 'nameserver 127.0.0.53\n',
};
const networks: Readonly<Record<NetworkAccess, NetworkView>> = {
  off: { args: ownNetwork, lookup: 'files', resolver: () => '' },
  hosts: bridged,
  open: bridged,
  host: { args: [], lookup: 'files dns', resolver: ({ resolver }) => resolver },
};

interface Placed {
  readonly path: string;
  readonly args: readonly string[];
}

export function planRootFilesystem(input: RootFilesystemInput): RootFilesystem {
  const { args, files } = etcFiles(input);
  const masks = input.masked.map(({ base64: content }, at) => ({
    fd: namespaceFilesFd + files.length + at,
    base64: content,
  }));
  const trusted = trustedFiles(input, namespaceFilesFd + files.length + masks.length);
  const placed = [...systemTrees(input), ...scratch(input), ...trees(input), ...covers(input)];
  const ordered = placed.toSorted((a, b) => a.path.length - b.path.length);
  const hidden = input.covers.filter((cover) => cover.as === 'hidden-directory');
  return {
    args: [
      ...namespaces,
      ...networks[input.network].args,
      ...skeleton,
      ...args,
      ...ordered.flatMap((one) => one.args),
      ...hidden.flatMap((cover) => ['--remount-ro', cover.path]),
      ...masks.flatMap(({ fd }, at) => dataArgs('0600', fd, input.masked[at]?.path ?? '')),
      ...trusted.args,
      ...finish,
    ],
    files: [...files, ...masks],
    ...(trusted.bridged === null ? {} : { bridged: trusted.bridged }),
  };
}

const dataArgs = (mode: string, fd: number, target: string): string[] => [
  '--perms',
  mode,
  '--ro-bind-data',
  String(fd),
  target,
];

/** What its programs trust, in the place of what the host's do. */
function trustedFiles(
  { host: { trustStores }, network, roots }: RootFilesystemInput,
  firstFd: number,
): { readonly args: readonly string[]; readonly bridged: BridgedView | null } {
  if (!isBridged(network)) return { args: [], bridged: null };
  const wanted: readonly (readonly [string, TrustFormat])[] = [
    [trustedBundle, 'bundle'],
    [addedCertificates, 'added'],
    ...chromiumPolicies.map((path) => [path, 'chromium'] as const),
    ...trustStores.bundles.map((path) => [path, 'bundle'] as const),
    ...trustStores.java.map((path) => [path, 'java'] as const),
  ];
  return {
    args: wanted.flatMap(([path], at) => [
      '--perms',
      '0444',
      '--ro-bind-data',
      String(firstFd + at),
      path,
    ]),
    bridged: {
      bundle: trustStores.bundles[0] ?? null,
      roots,
      trust: wanted.map(([, as], at) => ({ fd: firstFd + at, as })),
    },
  };
}

function systemTrees({ host, identity }: RootFilesystemInput): Placed[] {
  return host.system.flatMap((entry) => {
    // Uid 0 could read what only root may read there; the usual system directories hold no such.
    if (identity.level === 'root-uid' && entry.path === '/opt') return [];
    if (entry.kind === 'copy') return [];
    if (entry.kind === 'bind') return [bind('--ro-bind', entry.path, entry.path)];
    return [{ path: entry.path, args: ['--symlink', entry.target, entry.path] }];
  });
}

function scratch({ host, identity, scratchBytes }: RootFilesystemInput): Placed[] {
  const runtime = `/run/user/${identity.insideUid}`;
  return [
    tmpfs(host.home, '0700', scratchBytes),
    tmpfs('/tmp', '1777', scratchBytes),
    tmpfs('/var/tmp', '1777', scratchBytes),
    tmpfs('/dev/shm', '1777', scratchBytes),
    tmpfs('/run', '0755', runBytes),
    { path: runtime, args: ['--perms', '0700', '--dir', runtime] },
  ];
}

/** Workspace, grants and toolchains. */
function trees({ host, granted, caches, sourceOf }: RootFilesystemInput): Placed[] {
  return [
    ...caches.map(({ source, target }) => bind('--bind', sourceOf(source), target)),
    ...host.toolchains.map((tree) => bind('--ro-bind', sourceOf(tree.path), tree.path)),
    ...host.masked.map((name) => bind('--ro-bind', '/dev/null', name)),
    ...granted.map((tree) =>
      bind(tree.writable ? '--bind' : '--ro-bind', sourceOf(tree.path), tree.path),
    ),
  ];
}

function covers({ covers: all, sourceOf, isLayered }: RootFilesystemInput): Placed[] {
  // What commands removed from their layer is not there to be covered.
  const readOnly = (path: string): '--ro-bind' | '--ro-bind-try' =>
    isLayered(path) ? '--ro-bind-try' : '--ro-bind';
  const place = {
    pin: (path: string) => bind('--bind', sourceOf(path), path),
    'read-only': (path: string) => bind(readOnly(path), sourceOf(path), path),
    // A device node on a mount without devices: it cannot be opened.
    'hidden-file': (path: string) => bind('--ro-bind', '/dev/null', path),
    'hidden-directory': (path: string) => tmpfs(path, '0555', hiddenBytes),
  } as const satisfies Record<MountCover['as'], (path: string) => Placed>;
  return all.map((cover) => place[cover.as](cover.path));
}

function bind(
  how: '--bind' | '--ro-bind' | '--ro-bind-try',
  source: string,
  target: string,
): Placed {
  return { path: target, args: [how, source, target] };
}

function tmpfs(target: string, mode: string, bytes: number): Placed {
  return { path: target, args: ['--perms', mode, '--size', String(bytes), '--tmpfs', target] };
}

/** Copies of public files, and those that must speak of the sandbox instead of the host. */
function etcFiles(input: RootFilesystemInput): {
  readonly args: readonly string[];
  readonly files: SandboxNamespace['files'];
} {
  const copied = input.host.system.flatMap((entry) => (entry.kind === 'copy' ? [entry] : []));
  const written = Object.entries(generated(input)).map(([name, text]) => ({
    path: `/etc/${name}`,
    base64: base64(text),
  }));
  const all = [...copied, ...written].map((file, index) => ({
    ...file,
    fd: namespaceFilesFd + index,
  }));
  return {
    args: all.flatMap((file) => ['--perms', '0644', '--file', String(file.fd), file.path]),
    files: all.map(({ fd, base64 }) => ({ fd, base64 })),
  };
}

function generated({
  host,
  identity,
  network,
}: RootFilesystemInput): Readonly<Record<string, string>> {
  const { user, insideUid: uid, insideGid: gid } = identity;
  const { lookup, resolver } = networks[network];
  return {
    passwd: [
      'root:x:0:0:root:/nonexistent:/usr/sbin/nologin',
      `${user}:x:${uid}:${gid}:${user}:${host.home}:${host.shells.bash ?? '/bin/sh'}`,
      'nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin',
      '',
    ].join('\n'),
    group: `root:x:0:\n${user}:x:${gid}:\nnogroup:x:65534:\n`,
    hosts:
      `127.0.0.1 localhost ${sandboxHostname}\n` +
      `::1 localhost ip6-localhost ${sandboxHostname}\n`,
    hostname: `${sandboxHostname}\n`,
    'nsswitch.conf': `passwd: files\ngroup: files\nshadow: files\nhosts: ${lookup}\n`,
    'resolv.conf': resolver(host),
    gitconfig: gitConfig(host.gitIdentity),
  };
}

function base64(text: string): string {
  return btoa(
    Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join(''),
  );
}
