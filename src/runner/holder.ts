/**
 * Makes a session's namespaces and keeps them as descriptors of this process.
 *
 *   perl (root only)  binds trees idmapped, gives up the host's uid, becomes
 *   bubblewrap        builds the whole root file system, becomes
 *   sh                prints its pid and waits
 *
 * Then the descriptors are opened and the process is ended: nothing runs for an idle session, and
 * the namespaces vanish with the last descriptor, whichever way this process ends.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { Duplex } from 'node:stream';
import { promisify } from 'node:util';
import type { Holder } from '../command.ts';
import { TrlError } from '../errors.ts';
import { misplacedMount } from './holder-check.ts';
import { holderCalls, holderScript } from './holder-script.ts';

/** A session's namespaces, ready to be entered any number of times. */
export interface OpenHolder {
  /** What to put before `bwrap …`: `nsenter` (absolute) and its arguments. */
  enterArgs(): string[];
  /** Lets go of the namespaces; commands inside keep theirs. May be called again. */
  close(): void;
}

/** The only variables that a helper on the host's side is ever started with. */
export const helperEnvironment = { PATH: '/usr/bin:/bin' } as const;

const readyTimeoutMs = 10_000;
const complaintBytesMax = 4 * 1024;
/** The exit code of the script where root may not mount, or not idmapped. */
const idmapRefused = 9;
/** The shell's own pid is the host's: a holder has no process namespace. */
const waiting = ['--', '/bin/sh', '-c', 'echo $$; read -r _'];

/**
 * Opens `holder`. On any failure no process, mount or descriptor is left.
 *
 * @throws TrlError SANDBOX_UNAVAILABLE with what perl or bubblewrap said; `data.reason` is `idmap`
 *   where idmapped mounts are refused and a plan without them (`HostFacts.idmap: false`) could do,
 *   else `holder`.
 */
export async function openHolder(holder: Holder, signal?: AbortSignal): Promise<OpenHolder> {
  signal?.throwIfAborted();
  const child = start(holder);
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  const stop = (): void => void child.kill('SIGKILL');
  signal?.addEventListener('abort', stop, { once: true });
  const timer = setTimeout(stop, readyTimeoutMs);
  try {
    const pid = await readPid(child);
    const opened = keep(holder, pid);
    if (holder.level === 'root-uid') await closeNodes(opened);
    // It may have said its pid before the kill came: what was given up is not kept.
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
async function closeNodes(opened: OpenHolder): Promise<void> {
  const [enter = 'nsenter', ...args] = opened.enterArgs();
  const script =
    'for n in null zero full random urandom tty; do mount -o "$1" /dev/$n || exit; done';
  try {
    await promisify(execFile)(
      enter,
      [...args, '/bin/sh', '-c', script, 'sh', 'remount,bind,ro,nosuid'],
      { env: helperEnvironment, timeout: readyTimeoutMs },
    );
  } catch (cause) {
    opened.close();
    throw unavailable(`device nodes: ${String(cause).slice(0, complaintBytesMax)}`, 'holder');
  }
}

function start(holder: Holder): ChildProcess {
  const { bwrap } = holder.tools;
  const build = [bwrap, ...holder.args, ...waiting];
  const [program = bwrap, ...args] =
    holder.level === 'root-idmap' ? [...scriptCall(holder), ...build] : build;
  const stdio: ('pipe' | 'ignore')[] = ['pipe', 'pipe', 'pipe'];
  for (const { fd } of holder.files) {
    while (stdio.length < fd) stdio.push('ignore');
    stdio[fd] = 'pipe';
  }
  const child = spawn(program, args, { stdio, env: helperEnvironment, cwd: '/' });
  for (const { fd, base64 } of holder.files) {
    const pipe = child.stdio[fd];
    if (!(pipe instanceof Duplex)) continue;
    // A holder that failed early closes its end; what it said is on standard error.
    pipe.on('error', () => undefined);
    pipe.end(Buffer.from(base64, 'base64'));
  }
  child.stdin?.on('error', () => undefined);
  return child;
}

function scriptCall(holder: Holder): string[] {
  const { hostUid, hostGid, stage, staged, tools } = holder;
  const calls = holderCalls.get(process.arch);
  if (tools.perl === null || calls === undefined) {
    throw unavailable('perl is not installed', 'holder');
  }
  const ids = [hostUid, hostGid, staged.length].map(String);
  const trees = staged.map(({ source, writable, uid, gid }) => [
    writable ? 'rw' : 'ro',
    String(uid),
    String(gid),
    source,
  ]);
  return [
    tools.perl,
    '-e',
    holderScript,
    '--',
    ...calls.map(String),
    stage,
    ...ids,
    ...trees.flat(),
  ];
}

/** Resolves with the waiting shell's pid, or rejects with what was said instead. */
function readPid(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    let said = '';
    let complaint = '';
    child.stdout?.on('data', (bytes: Buffer) => {
      said += bytes.toString('latin1');
      const line = /^(\d+)\n/.exec(said)?.[1];
      if (line !== undefined) resolve(Number(line));
    });
    child.stderr?.on('data', (bytes: Buffer) => {
      complaint = (complaint + bytes.toString('utf8')).slice(0, complaintBytesMax);
    });
    child.once('error', (error) => reject(unavailable(error.message, 'holder')));
    child.once('close', (code, by) => {
      const text = complaint.trim() || `it ended with ${by ?? code} before it was ready`;
      reject(unavailable(text, code === idmapRefused ? 'idmap' : 'holder'));
    });
  });
}

/** Opens the namespaces of `pid`. Node opens every descriptor close-on-exec. */
function keep(holder: Holder, pid: number): OpenHolder {
  const names = ['user', 'mnt', ...(holder.args.includes('--unshare-net') ? ['net'] : [])];
  const open = new Map<string, number>();
  const close = (): void => {
    for (const fd of open.values()) closeSync(fd);
    open.clear();
  };
  try {
    const misplaced = misplacedMount(holder.args, readFileSync(`/proc/${pid}/mountinfo`, 'utf8'));
    if (misplaced !== null) throw new Error(`"${misplaced}" changed meanwhile`);
    for (const name of names) open.set(name, openSync(`/proc/${pid}/ns/${name}`, 'r'));
  } catch (error) {
    close();
    throw unavailable(error instanceof Error ? error.message : String(error), 'holder');
  }
  const option = (name: string): string => `--${name === 'mnt' ? 'mount' : name}`;
  const credentials = holder.level === 'user' ? ['--preserve-credentials'] : ['-S', '0', '-G', '0'];
  return {
    enterArgs: () => {
      // Without namespaces to enter, the next program would run on the host.
      if (open.size === 0) throw unavailable('it was closed', 'holder');
      return [
        holder.tools.nsenter,
        ...Array.from(open, ([name, fd]) => `${option(name)}=/proc/${process.pid}/fd/${fd}`),
        ...credentials,
      ];
    },
    close,
  };
}

function unavailable(text: string, reason: 'idmap' | 'holder'): TrlError {
  const message = `Cannot make the sandbox's namespaces: ${text}`;
  return new TrlError('SANDBOX_UNAVAILABLE', message, { data: { reason } });
}
