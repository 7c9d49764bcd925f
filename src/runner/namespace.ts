/**
 * Makes a session's namespaces and keeps them as descriptors of this process.
 *
 *   perl              for root: binds trees idmapped, gives up the host's uid; where the
 *                     workspace has an overlay, mounts it; becomes
 *   bubblewrap        builds the whole root file system, becomes
 *   sh                prints its pid and waits
 *
 * Then the descriptors are opened and the process is ended: nothing runs for an idle session, and
 * the namespaces vanish with the last descriptor, however this process ends.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { Duplex } from 'node:stream';
import { promisify } from 'node:util';
import type { SandboxNamespace, Overlay } from '../command.ts';
import { TrlError } from '../errors.ts';
import { enclosedArgv, helperEnvironment } from './enclose.ts';
import type { SessionBridge } from './session-bridge.ts';
import { findMisplacedMount } from './mount-check.ts';
import { namespaceSystemCalls, namespaceScript } from './namespace-script.ts';
import { boundKernelObjects } from './kernel-bounds.ts';
import { sharedTreeArgs } from './shared-trees.ts';
import {
  checkOverlay,
  overlayArgs,
  prepareLayers,
  takeOverlay,
  type NamespaceProcess,
  type MountedOverlay,
} from './overlay.ts';

/** A session's namespaces, ready to be entered any number of times. */
export interface OpenNamespace {
  /** The words that start `program` in the namespaces, with the descriptors `kept` alone. */
  entering(program: readonly string[], kept: readonly number[]): readonly string[];
  /** The path of a descriptor of its user namespace. */
  readonly userNamespace: string;
  /** The path of a descriptor of its network namespace; `null`: the host's network. */
  readonly networkNamespace: string | null;
  /** Its overlay, as it is refreshed; `null`: it has none. */
  readonly overlay: MountedOverlay | null;
  /** Its way to hosts; absent: it has none. */
  readonly bridge?: SessionBridge;
  /** Settles when commands may start; sandboxes are made before that. */
  readonly bounded: Promise<void>;
  /** Closes the namespaces; running commands keep theirs. May be called again. */
  close(): void;
}

const readyTimeoutMs = 10_000;
const complaintBytesMax = 4 * 1024;
/** Exit codes of the script: root may not mount, or not idmapped; no overlay can be mounted. */
const refusals: ReadonlyMap<number | null, Reason> = new Map([
  [9, 'idmap'],
  [10, 'overlay'],
]);
type Reason = 'idmap' | 'overlay' | 'holder';
/** The shell's own pid is the host's: a holder has no process namespace. */
const waiting = ['--', '/bin/sh', '-c', 'echo $$; read -r _'];

/**
 * Opens `holder`. On any failure no process, mount or descriptor is left.
 *
 * @param taken the overlay that it is to have, of another holder of the same view; no other is
 *   mounted then. Default: it mounts its own.
 * @param files more of its view; see {@link SandboxNamespace.bridged}
 * @throws TrlError SANDBOX_UNAVAILABLE with what perl or bubblewrap said; `data.reason` is `idmap`
 *   where idmapped mounts are refused and a plan without them (`HostFacts.idmap: false`) could do,
 *   `overlay` where a plan without an overlay could do, else `holder`.
 */
export async function openNamespace(
  holder: SandboxNamespace,
  signal?: AbortSignal,
  taken: MountedOverlay | null = null,
  files: SandboxNamespace['files'] = [],
): Promise<OpenNamespace> {
  signal?.throwIfAborted();
  const child = start({ ...holder, files: [...holder.files, ...files] }, taken);
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  const stop = (): void => end(child);
  signal?.addEventListener('abort', stop, { once: true });
  const timer = setTimeout(stop, readyTimeoutMs);
  try {
    const { keeper, pid } = await readPids(child);
    const opened = keep(holder, { script: child.pid ?? pid, keeper, inside: pid }, taken);
    if (holder.level === 'root-uid') await closeNodes(opened);
    // It may have written its pid before the kill: what was opened is closed.
    if (signal?.aborted === true) opened.close();
    signal?.throwIfAborted();
    return opened;
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', stop);
    stop();
    await ended;
    for (const pipe of child.stdio) pipe?.destroy();
  }
}

/**
 * The device nodes of /dev are the host's own. Where its uid 0 is inside, it owns them and could
 * change their modes for everybody, so their mounts become read-only; bubblewrap has no way to say
 * that without making them unusable.
 */
async function closeNodes(opened: OpenNamespace): Promise<void> {
  const script =
    'for n in null zero full random urandom tty; do mount -o "$1" /dev/$n || exit; done';
  const program = ['/bin/sh', '-c', script, 'sh', 'remount,bind,ro,nosuid'];
  const [file = '', ...args] = opened.entering(program, [0, 1, 2]);
  const options = { env: helperEnvironment, timeout: readyTimeoutMs };
  try {
    await promisify(execFile)(file, args, options);
  } catch (cause) {
    opened.close();
    throw unavailable(`device nodes: ${String(cause).slice(0, complaintBytesMax)}`, 'holder');
  }
}

/** Where it fails, commands can use up what the host's user has, as SECURITY.md says. */
async function bound({ tools }: SandboxNamespace, userNamespace: string): Promise<void> {
  if (tools.perl !== null) await boundKernelObjects(tools.perl, userNamespace).catch(() => {});
}

function start(holder: SandboxNamespace, taken: MountedOverlay | null): ChildProcess {
  const { bwrap } = holder.tools;
  const build = [bwrap, ...holder.args, ...waiting];
  const isScripted = holder.level === 'root-idmap' || hasLayers(holder);
  const kept = [0, 1, 2, ...holder.files.map(({ fd }) => fd)];
  const { perl } = holder.tools;
  const [program = bwrap, ...args] = isScripted
    ? [...scriptCall(holder, kept, taken), ...build]
    : enclosedArgv(build, kept, { perl });
  const stdio: ('pipe' | 'ignore')[] = ['pipe', 'pipe', 'pipe'];
  for (const { fd } of holder.files) {
    while (stdio.length < fd) stdio.push('ignore');
    stdio[fd] = 'pipe';
  }
  const child = spawn(program, args, { stdio, env: helperEnvironment, cwd: '/', detached: true });
  for (const { fd, base64 } of holder.files) {
    const pipe = child.stdio[fd];
    if (!(pipe instanceof Duplex)) continue;
    // A process that failed early closes its end; its message is on standard error.
    pipe.on('error', () => undefined);
    pipe.end(Buffer.from(base64, 'base64'));
  }
  child.stdin?.on('error', () => undefined);
  return child;
}

/**
 * Ends it and everything that it started. A child that bubblewrap has just made would wait for it
 * without end: the kernel does not end it with its parent yet.
 */
function end({ pid, exitCode, signalCode }: ChildProcess): void {
  if (pid === undefined || exitCode !== null || signalCode !== null) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It ended a moment ago.
  }
}

function scriptCall(
  holder: SandboxNamespace,
  kept: readonly number[],
  taken: MountedOverlay | null,
): string[] {
  const { hostUid, hostGid, level, overlay, stage, staged, tools } = holder;
  const calls = namespaceSystemCalls.get(process.arch);
  if (tools.perl === null || calls === undefined) {
    throw unavailable('perl is not installed', level === 'root-idmap' ? 'holder' : 'overlay');
  }
  const trees = staged.map(({ source, writable, uid, gid }) => [
    writable ? 'rw' : 'ro',
    String(uid),
    String(gid),
    source,
  ]);
  return [
    tools.perl,
    '-e',
    namespaceScript,
    '--',
    ...calls.map(String),
    kept.join(','),
    level,
    stage,
    ...[taken?.mnt ?? null, taken?.user ?? null].map((fd) => (fd === null ? '' : pathOf(fd))),
    ...[hostUid, hostGid, staged.length].map(String),
    ...trees.flat(),
    ...sharedArgs(holder),
    ...(overlay === null || taken !== null ? ['0'] : layerArgs(holder, overlay)),
  ];
}

const hasLayers = ({ overlay, shared = [] }: SandboxNamespace): boolean =>
  overlay !== null || shared.length > 0;

function sharedArgs(holder: SandboxNamespace): string[] {
  try {
    return sharedTreeArgs(holder);
  } catch (error) {
    throw unavailable(error instanceof Error ? error.message : String(error), 'holder');
  }
}

function layerArgs(holder: SandboxNamespace, overlay: Overlay): string[] {
  try {
    return overlayArgs(holder, overlay, prepareLayers(holder, overlay));
  } catch (error) {
    throw unavailable(error instanceof Error ? error.message : String(error), 'overlay');
  }
}

/** The processes of a new namespace: the one with its overlay, and the one that waits inside. */
interface HolderPids {
  readonly keeper: number;
  readonly pid: number;
}

/** Rejects with what the process wrote instead. */
function readPids(child: ChildProcess): Promise<HolderPids> {
  return new Promise((resolve, reject) => {
    let said = '';
    let complaint = '';
    child.stdout?.on('data', (bytes: Buffer) => {
      said += bytes.toString('latin1');
      const [, keeper = 0, pid] = /^(?:keeper (\d+)\n)?(\d+)\n/.exec(said) ?? [];
      if (pid !== undefined) resolve({ keeper: Number(keeper), pid: Number(pid) });
    });
    child.stderr?.on('data', (bytes: Buffer) => {
      complaint = (complaint + bytes.toString('utf8')).slice(0, complaintBytesMax);
    });
    child.once('error', (error) => reject(unavailable(error.message, 'holder')));
    child.once('close', (code, by) => {
      const text = complaint.trim() || `it ended with ${by ?? code} before it was ready`;
      reject(unavailable(text, refusals.get(code) ?? 'holder'));
    });
  });
}

/** Of a descriptor of this process, for another one. */
const pathOf = (fd: number): string => `/proc/${process.pid}/fd/${fd}`;

/** @throws Error where commands would see another directory in the workspace's place */
function overlayIn(
  holder: SandboxNamespace,
  taken: MountedOverlay | null,
  from: NamespaceProcess,
): MountedOverlay | null {
  const { overlay } = holder;
  if (overlay === null) return null;
  if (taken === null) return takeOverlay(holder, overlay, from);
  checkOverlay(taken.root, overlay, from.view);
  return taken.use();
}

/**
 * Opens the namespaces of process `inside`, which has the view, and the overlay as the process
 * `script` has mounted it. Node opens every descriptor close-on-exec.
 */
function keep(
  holder: SandboxNamespace,
  { script, keeper, inside }: { script: number; keeper: number; inside: number },
  taken: MountedOverlay | null,
): OpenNamespace {
  const names = ['user', 'mnt', ...(holder.args.includes('--unshare-net') ? ['net'] : [])];
  const open = new Map<string, number>();
  let overlay: MountedOverlay | null = null;
  const close = (): void => {
    for (const fd of open.values()) closeSync(fd);
    open.clear();
    overlay?.close();
    overlay = null;
  };
  try {
    const view = readFileSync(`/proc/${inside}/mountinfo`, 'utf8');
    const misplaced = findMisplacedMount(holder.args, view);
    if (misplaced !== null) throw new Error(`"${misplaced}" changed meanwhile`);
    for (const name of names) open.set(name, openSync(`/proc/${inside}/ns/${name}`, 'r'));
    overlay = overlayIn(holder, taken, { pid: script, keeper, view });
  } catch (error) {
    close();
    throw unavailable(error instanceof Error ? error.message : String(error), 'holder');
  }
  const { nsenter, perl } = holder.tools;
  const asRoot = holder.level !== 'user';
  const userNamespace = pathOf(open.get('user') ?? -1);
  const network = open.get('net');
  return {
    userNamespace,
    networkNamespace: network === undefined ? null : pathOf(network),
    bounded: bound(holder, userNamespace),
    entering: (program, kept) => {
      // Without namespaces to enter, the program would run on the host.
      if (open.size === 0) throw unavailable('it was closed', 'holder');
      const paths = new Map(
        Array.from(open, ([name, fd]) => [name === 'mnt' ? 'mount' : name, pathOf(fd)]),
      );
      return enclosedArgv(program, kept, { perl, namespaces: { paths, asRoot, nsenter } });
    },
    overlay,
    close,
  };
}

function unavailable(text: string, reason: Reason): TrlError {
  const message = `Cannot make the sandbox's namespaces: ${text}`;
  return new TrlError('SANDBOX_UNAVAILABLE', message, { data: { reason } });
}
