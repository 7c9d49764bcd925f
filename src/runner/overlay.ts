/**
 * The overlay of a sandbox namespace, seen from the host: makes its layers, checks that the mount
 * is the planned one, and keeps the descriptors for refreshing it.
 */
import {
  chmodSync,
  chownSync,
  closeSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  utimesSync,
  type BigIntStats,
} from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import type { BytePath } from '../change.ts';
import type { SandboxNamespace, Overlay } from '../command.ts';
import { mountInfoAt } from './mount-check.ts';

/** An overlay that is mounted for the sessions of a view, as descriptors of this process. */
export interface MountedOverlay {
  /** The root of what the layers show together. */
  readonly root: number;
  /** A mount namespace that has it at `/tree`, and nothing of the host. */
  readonly mnt: number;
  /** The user namespace with the right to it; `null`: this process has the right. */
  readonly user: number | null;
  /** Brings the time of the root itself up to date: its attributes are always `upper`'s. */
  touch(): void;
  /**
   * The first of `paths` that is shown from the tree but is not what lies there, else `null`: a
   * process is using it, or a directory above it.
   */
  stale(paths: readonly BytePath[]): Promise<BytePath | null>;
  /** One more user of it, who closes it, too. */
  use(): MountedOverlay;
  /** When its last user has called it, the descriptors are closed. */
  close(): void;
}

/** Opens a name without asking for a right to read it; Node has no constant for it. */
const O_PATH = 0o10000000;
/** Names that are looked at in one turn. */
const turnPaths = 64;
const ownUser = '/proc/self/ns/user';

/**
 * Makes `upper` where it is missing, in a directory that is made too if its own parent exists, and
 * a work directory of this mount's own, which is answered: the kernel empties the one it is given,
 * and commands of an earlier mount may still be using theirs.
 *
 * @throws Error what the file system said
 */
export function prepareLayers(holder: SandboxNamespace, { tree, upper, work }: Overlay): string {
  const layers = dirname(upper);
  if (dirname(work) !== layers) throw new Error('its upper and work directory lie apart');
  for (const dir of [layers, work]) if (isAbsent(dir)) mkdirSync(dir, { mode: 0o700 });
  if (isAbsent(upper)) {
    const { mode, gid, atime, mtime } = lstatSync(tree);
    mkdirSync(upper, { mode: 0o700 });
    give(upper, holder, gid);
    chmodSync(upper, mode & 0o7777);
    utimesSync(upper, atime, mtime);
  }
  return mkdtempSync(join(work, 'm'));
}

function give(upper: string, { level, hostUid, hostGid }: SandboxNamespace, gid: number): void {
  if (level !== 'user') return chownSync(upper, hostUid, hostGid);
  try {
    chownSync(upper, hostUid, gid);
  } catch {
    // A group that the user is no member of: new files get the user's own.
  }
}

type Layers = Overlay & { readonly shown: string };

async function firstStale(paths: readonly BytePath[], layers: Layers): Promise<BytePath | null> {
  for (const [index, path] of paths.entries()) {
    // Other work of this process continues in between.
    if (index % turnPaths === turnPaths - 1) await new Promise((resolve) => setImmediate(resolve));
    if (isStale(path, layers)) return path;
  }
  return null;
}

function isStale(path: BytePath, { shown, mask, upper, tree }: Layers): boolean {
  const below = (top: string): BigIntStats | undefined => look(top, path);
  const seen = below(shown);
  if (seen === undefined || below(upper) !== undefined) return false;
  if (mask !== null && below(mask) !== undefined) return false;
  const there = below(tree);
  // A directory of an overlay may have a number of its own.
  const isSame = seen.isDirectory() || seen.ino === there?.ino;
  return !isSame || seen.mode !== there?.mode || seen.ctimeNs !== there.ctimeNs;
}

function look(top: string, path: BytePath): BigIntStats | undefined {
  const name = Buffer.concat([Buffer.from(`${top}/`), Buffer.from(path, 'latin1')]);
  try {
    return lstatSync(name, { bigint: true, throwIfNoEntry: false });
  } catch {
    // A file, or nothing, in the place of a directory above it; or too long to be named at once.
    return undefined;
  }
}

const isAbsent = (name: string): boolean =>
  lstatSync(name, { throwIfNoEntry: false }) === undefined;

/** The overlay's part of the holder script's arguments. `work`: of this mount. */
export function overlayArgs(holder: SandboxNamespace, overlay: Overlay, work: string): string[] {
  const { tree, place, mask, upper, below = '' } = overlay;
  const layers = dirname(upper);
  const inLayers = [basename(upper), relative(layers, work)];
  const owner = ownerOf(holder, tree);
  return ['1', tree, place, ...owner, mask ?? '', below, realpathSync(layers), ...inLayers];
}

/** The kernel gives its work directories mode 000, so layers could not be removed. */
function openWork({ work }: Overlay): void {
  for (const name of readdirSync(work)) {
    try {
      chmodSync(join(work, name, 'work'), 0o700);
    } catch {
      // It is being made or removed: no command depends on it.
    }
  }
}

/** Whose files in the tree are the sandbox's own. */
function ownerOf({ level }: SandboxNamespace, tree: string): string[] {
  const { uid, gid } = level === 'root-idmap' ? lstatSync(tree) : { uid: 0, gid: 0 };
  return [String(uid), String(gid)];
}

/** The processes and the mount table in which an overlay is found. */
export interface NamespaceProcess {
  /** Of the process that has it at the stage's `tree`. */
  readonly pid: number;
  /** Of the one that keeps it; 0: it was taken. */
  readonly keeper: number;
  /** The mountinfo of what commands see. */
  readonly view: string;
}

/**
 * Opens the overlay that the namespace's process has mounted.
 *
 * @throws Error where commands would see another directory in the workspace's place
 */
export function takeOverlay(
  { level, stage }: SandboxNamespace,
  overlay: Overlay,
  from: NamespaceProcess,
): MountedOverlay {
  const open: number[] = [];
  let users = 1;
  const close = (): void => {
    users -= 1;
    if (users > 0) return;
    for (const fd of open.splice(0)) closeSync(fd);
  };
  const keep = (path: string, flags: number | 'r'): number => {
    const fd = openSync(path, flags);
    open.push(fd);
    return fd;
  };
  try {
    const root = keep(`/proc/${from.pid}/root${stage}/tree`, O_PATH);
    checkOverlay(root, overlay, from.view);
    openWork(overlay);
    const user = `/proc/${from.pid}/ns/user`;
    // Where uids are mapped, root has mounted before it entered their namespace.
    const isOurs = level === 'root-idmap' || readlinkSync(user) === readlinkSync(ownUser);
    const mnt = keep(`/proc/${from.keeper}/ns/mnt`, 'r');
    const layers = { ...overlay, shown: `/proc/self/fd/${root}` };
    const stale = (paths: readonly BytePath[]): ReturnType<typeof firstStale> =>
      firstStale(paths, layers);
    const mounted: MountedOverlay = {
      root,
      mnt,
      user: isOurs ? null : keep(user, 'r'),
      touch: () => touch(overlay),
      stale,
      use: () => {
        users += 1;
        return mounted;
      },
      close,
    };
    return mounted;
  } catch (error) {
    close();
    throw error;
  }
}

/**
 * Whether what commands see in the workspace's place, by their mountinfo, is the overlay of `root`.
 *
 * @throws Error where it is not
 */
export function checkOverlay(root: number, { tree }: Overlay, view: string): void {
  const shown = mountInfoAt(view, tree);
  const isShown = shown?.root === '/' && shown.device === deviceOf(fstatSync(root).dev);
  if (!isShown) throw new Error(`"${tree}" changed meanwhile`);
}

/** `dev` as mountinfo writes it, by the kernel's layout of a 32-bit device number. */
function deviceOf(dev: number): string {
  const minor = (dev & 0xff) | ((dev >>> 12) & 0xfff00);
  return `${(dev >>> 8) & 0xfff}:${minor}`;
}

/** A later time of the tree's own directory is that of a change from outside. */
function touch({ tree, upper }: Overlay): void {
  const { atime, mtime } = lstatSync(tree);
  if (mtime > lstatSync(upper).mtime) utimesSync(upper, atime, mtime);
}
