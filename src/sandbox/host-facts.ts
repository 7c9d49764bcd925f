/** Finds what this host offers a sandbox: once per start, read-only, without side effects. */
import { execFile } from 'node:child_process';
import { accessSync, constants, readFileSync, statSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { findGitIdentity, type GitIdentity } from './git-identity.ts';
import type { Arch } from './seccomp.ts';
import { resolverText, systemEntries, type SystemEntry } from './system.ts';
import {
  findToolchains,
  isInsideAnyTree,
  toolchainRealPath,
  type ExposedTree,
} from './toolchains.ts';
import { findTrustStores, type TrustStores } from './trust-stores.ts';

export interface HostFacts {
  readonly uid: number;
  readonly gid: number;
  readonly user: string;
  /** Real path; private and empty inside every sandbox. */
  readonly home: string;
  readonly arch: Arch | null;
  readonly kernelRelease: string;
  readonly tools: {
    readonly bwrap: string | null;
    readonly nsenter: string | null;
    readonly perl: string | null;
  };
  /** `0.8.0`, or `null` where it is unknown. */
  readonly bwrapVersion: string | null;
  readonly shells: { readonly sh: string | null; readonly bash: string | null };
  readonly system: readonly SystemEntry[];
  readonly toolchains: readonly ExposedTree[];
  /** Credential files inside toolchains. */
  readonly masked: readonly string[];
  /** `PATH` for commands: the host's entries that are visible inside, then the standard ones. */
  readonly path: string;
  readonly resolver: string;
  readonly trustStores: TrustStores;
  /** The person's name and address for commits, or `null`. */
  readonly gitIdentity: GitIdentity | null;
  /** First of a range of 262,144 host ids that nobody else uses. Root only. */
  readonly idBase: number;
  /** An existing directory that is mounted over while a sandbox namespace is made. */
  readonly stage: string;
  /** Whether this process may bind trees idmapped (root, Linux 5.12 and perl). */
  readonly idmap: boolean;
  /** Why no sandbox can be made here, and what helps; `null`: nothing is known to be missing. */
  readonly unavailable: string | null;
}

const systemPath = ['/usr/bin', '/bin', '/usr/sbin', '/sbin', '/usr/local/bin'];
const standardPath = [
  '/usr/local/sbin',
  '/usr/local/bin',
  '/usr/sbin',
  '/usr/bin',
  '/sbin',
  '/bin',
];
/** Never sources of plain binds, so covering one hides nothing that is needed. */
const stages = ['/mnt', '/media', '/srv', '/run'];
const idBases = [1_900_000_000, 1_800_000_000, 1_700_000_000, 1_600_000_000];
/** Ids of one sandbox: the owner's range and, apart from it, everybody else's. */
export const sandboxIdCount = 262_144;
/** Sized tmpfs mounts came with 0.7. */
const bwrapOldest = [0, 7];

/**
 * Costs a hundred `stat` calls and one `bwrap --version`.
 * Missing parts are values (`unavailable`), not errors: `sandbox: none` needs none of them.
 */
export async function gatherHostFacts(env: NodeJS.ProcessEnv): Promise<HostFacts> {
  const pathVariable = env['PATH'] ?? '';
  const tools = findTools(pathVariable);
  const system = systemEntries();
  const versionAsked = tools.bwrap === null ? Promise.resolve(null) : askVersion(tools.bwrap);
  const person = userInfo(env);
  const found = toolsOf({ pathVariable, home: person.home, system }, tools.bwrap);
  const bwrapVersion = await versionAsked;
  const known = { arch: archOrNull(), tools, bwrapVersion };
  const kernelRelease = os.release();
  return {
    ...person,
    ...known,
    kernelRelease,
    shells: { sh: find('sh', pathVariable), bash: find('bash', pathVariable) },
    system,
    ...found,
    resolver: resolverText(),
    trustStores: trustStoresOf(system, found.toolchains),
    gitIdentity: findGitIdentity(
      person.home,
      env['XDG_CONFIG_HOME'] || path.join(person.home, '.config'),
    ),
    idBase: freeIdBase(),
    stage: stages.find(isDirectory) ?? '/mnt',
    idmap: person.uid === 0 && tools.perl !== null && isAtLeast(kernelRelease, [5, 12]),
    unavailable: whyUnavailable(known),
  };
}

/** The facts for programs that are found by another `PATH`. Reads metadata only. */
export function withPathVariable(host: HostFacts, pathVariable: string): HostFacts {
  const { home, system } = host;
  const found = toolsOf({ pathVariable, home, system }, host.tools.bwrap);
  return { ...host, ...found, trustStores: trustStoresOf(system, found.toolchains) };
}

function trustStoresOf(
  system: readonly SystemEntry[],
  toolchains: readonly ExposedTree[],
): TrustStores {
  const bound = [...system.filter(({ kind }) => kind === 'bind'), ...toolchains];
  return findTrustStores(bound.map((one) => one.path));
}

type Tools = Pick<HostFacts, 'toolchains' | 'masked' | 'path'>;

function toolsOf(
  { pathVariable, home, system }: Pick<HostFacts, 'home' | 'system'> & { pathVariable: string },
  bwrap: string | null,
): Tools {
  const shown = system.filter((entry) => entry.kind !== 'copy').map((entry) => entry.path);
  const found = findToolchains({ pathVariable, home, shown });
  return {
    toolchains: [...found.trees, ...toolItself(bwrap, shown)],
    masked: found.masked,
    path: [...new Set([...found.path, ...standardPath.filter(isDirectory)])].join(':'),
  };
}

function userInfo(env: NodeJS.ProcessEnv): Pick<HostFacts, 'uid' | 'gid' | 'user' | 'home'> {
  const uid = process.getuid?.() ?? 0;
  const gid = process.getgid?.() ?? 0;
  const given = env['HOME'] ?? '';
  const home = path.isAbsolute(given) && given !== '/' ? given : homeOfAccount(uid);
  return {
    uid,
    gid,
    user: uid === 0 ? 'root' : accountName(uid),
    home: toolchainRealPath(home) ?? home,
  };
}

function homeOfAccount(uid: number): string {
  try {
    return os.userInfo().homedir;
  } catch {
    // No account for this uid, as in many containers.
    return uid === 0 ? '/root' : '/home/user';
  }
}

function accountName(uid: number): string {
  try {
    return os.userInfo().username;
  } catch {
    return `user${uid}`;
  }
}

function archOrNull(): Arch | null {
  return process.arch === 'x64' || process.arch === 'arm64' ? process.arch : null;
}

function findTools(pathVariable: string): HostFacts['tools'] {
  const bwrap = find('bwrap', pathVariable);
  return {
    // Called inside the view, where links that leave the system directories lead nowhere.
    bwrap:
      bwrap !== null && !isInsideAnyTree(bwrap, ['/usr', '/bin'])
        ? toolchainRealPath(bwrap)
        : bwrap,
    nsenter: find('nsenter', pathVariable),
    perl: find('perl', pathVariable),
  };
}

/** The system's directories first: what runs as root must not come from a user's `PATH`. */
function find(name: string, pathVariable: string): string | null {
  const entries = [...systemPath, ...pathVariable.split(':').filter((one) => path.isAbsolute(one))];
  return entries.map((entry) => path.join(entry, name)).find(isProgram) ?? null;
}

function isProgram(name: string): boolean {
  if (!statSync(name, { throwIfNoEntry: false })?.isFile()) return false;
  try {
    accessSync(name, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function isDirectory(name: string): boolean {
  return statSync(name, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function toolItself(bwrap: string | null, shown: readonly string[]): ExposedTree[] {
  if (bwrap === null || isInsideAnyTree(bwrap, shown)) return [];
  const { uid, gid } = statSync(bwrap);
  return [{ path: bwrap, uid, gid }];
}

function askVersion(bwrap: string): Promise<string | null> {
  return new Promise((resolve) => {
    const options = { env: { PATH: '/usr/bin:/bin' }, timeout: 2_000, encoding: 'utf8' } as const;
    execFile(bwrap, ['--version'], options, (error, stdout) => {
      resolve(error === null ? (/\d+\.\d+(?:\.\d+)?/.exec(stdout)?.[0] ?? null) : null);
    });
  });
}

function isAtLeast(version: string, wanted: readonly number[]): boolean {
  const parts = version.split('.').map((part) => Number.parseInt(part, 10) || 0);
  const at = wanted.findIndex((part, index) => (parts[index] ?? 0) !== part);
  return at === -1 || (parts[at] ?? 0) > (wanted[at] ?? 0);
}

/** A range that no line of the subordinate id files touches. */
function freeIdBase(): number {
  const ranges = ['/etc/subuid', '/etc/subgid']
    .flatMap((name) => (readOrNull(name) ?? '').split('\n'))
    .map((line) => line.split(':').map(Number))
    .map(([, start = Number.NaN, count = 0]) => [start, start + count] as const);
  const isFree = (base: number): boolean =>
    ranges.every(([start, end]) => !(base < end && start < base + sandboxIdCount));
  return idBases.find(isFree) ?? 1_500_000_000;
}

function whyUnavailable(known: Pick<HostFacts, 'arch' | 'tools' | 'bwrapVersion'>): string | null {
  const { arch, tools, bwrapVersion } = known;
  if (process.platform !== 'linux') return `sandboxes need Linux, this is ${process.platform}`;
  if (arch === null) return `no system call filter for the architecture ${process.arch}`;
  if (tools.bwrap === null) return 'bubblewrap is not installed: apt-get install bubblewrap';
  if (tools.nsenter === null) return 'nsenter is not installed: apt-get install util-linux';
  if (bwrapVersion !== null && !isAtLeast(bwrapVersion, bwrapOldest)) {
    return `bubblewrap ${bwrapVersion} is too old: 0.7 or newer is needed`;
  }
  const sysctl = (name: string): string | null => readOrNull(`/proc/sys/${name}`)?.trim() ?? null;
  if (sysctl('user/max_user_namespaces') === '0') {
    return 'user namespaces are off: sysctl -w user.max_user_namespaces=10000';
  }
  if (sysctl('kernel/unprivileged_userns_clone') === '0') {
    return 'user namespaces are off: sysctl -w kernel.unprivileged_userns_clone=1';
  }
  return null;
}

function readOrNull(name: string): string | null {
  try {
    return readFileSync(name, 'utf8');
  } catch {
    return null;
  }
}
