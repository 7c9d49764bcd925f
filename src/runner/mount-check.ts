/**
 * Checks that a sandbox namespace has its mounts where the plan says. Pure.
 *
 * Between looking at a workspace and mounting it, anyone who may write there could put a link in
 * the way, and bubblewrap would follow it. So the mounts are compared with the plan.
 *
 * /proc/PID/mountinfo, one mount a line: `ID PARENT MAJOR:MINOR ROOT MOUNTPOINT OPTIONS …`, with
 * space, tab, newline and backslash as three octal digits.
 */

export interface MountInfoEntry {
  /** `MAJOR:MINOR` */
  readonly device: string;
  /** What of its file system it shows. */
  readonly root: string;
}

type Mounts = ReadonlyMap<string, readonly MountInfoEntry[]>;

interface Bind {
  readonly source: string;
  readonly target: string;
}

/** The first target of a bind or tmpfs in `args` that differs from the plan, or `null`. */
export function findMisplacedMount(args: readonly string[], mountinfo: string): string | null {
  const mounts = readMounts(mountinfo);
  const binds = bindsOf(args);
  const shown = withoutEmpty(mounts, args);
  for (const bind of binds) {
    const mount = mounts.get(bind.target)?.at(-1);
    if (mount === undefined) return bind.target;
    if (!binds.some((outer) => isPartOf(bind, outer))) continue;
    const around = enclosing(bind.target, shown);
    const expected = around && join(around.mount.root, bind.target.slice(around.at.length));
    if (around?.mount.device !== mount.device || expected !== mount.root) return bind.target;
  }
  return null;
}

/** What `mountinfo` has at `target`, of mounts on one another the upper. */
export function mountInfoAt(mountinfo: string, target: string): MountInfoEntry | undefined {
  return readMounts(mountinfo).get(target)?.at(-1);
}

/** Whether `inner` shows, inside what `outer` shows, the same place of the same tree. */
function isPartOf(inner: Bind, outer: Bind): boolean {
  const rest = inner.target.slice(outer.target.length);
  return (
    inner !== outer &&
    rest.startsWith('/') &&
    inner.target.startsWith(outer.target) &&
    inner.source === outer.source + rest
  );
}

function enclosing(target: string, mounts: ReadonlyMap<string, MountInfoEntry>): Around | null {
  for (let at = parent(target); at !== ''; at = parent(at)) {
    const mount = mounts.get(at);
    if (mount !== undefined) return { at, mount };
  }
  return null;
}

interface Around {
  readonly at: string;
  readonly mount: MountInfoEntry;
}

/**
 * What lies under the empty directories of `args`: a tree shown again on top of one that hides its
 * surroundings is compared with what it is a part of.
 */
function withoutEmpty(mounts: Mounts, args: readonly string[]): Map<string, MountInfoEntry> {
  const empty = new Set(args.filter((_, index) => args[index - 1] === '--tmpfs'));
  return new Map(
    [...mounts].flatMap(([target, stack]) => {
      const upper = stack.at(empty.has(target) ? -2 : -1);
      return upper === undefined ? [] : [[target, upper] as const];
    }),
  );
}

function bindsOf(args: readonly string[]): Bind[] {
  return args.flatMap((option, index) => {
    if (option !== '--bind' && option !== '--ro-bind') return [];
    return [{ source: args[index + 1] ?? '', target: args[index + 2] ?? '' }];
  });
}

/** By mount point; of mounts on one another, the upper last. */
function readMounts(mountinfo: string): Mounts {
  const mounts = new Map<string, MountInfoEntry[]>();
  for (const line of mountinfo.split('\n')) {
    const [, , device, root, target] = line.split(' ');
    if (device === undefined || root === undefined || target === undefined) continue;
    const stack = mounts.get(unescape(target)) ?? [];
    stack.push({ device, root: unescape(root) });
    mounts.set(unescape(target), stack);
  }
  return mounts;
}

function unescape(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/g, (_, octal: string) =>
    String.fromCharCode(Number.parseInt(octal, 8)),
  );
}

function parent(name: string): string {
  return name.slice(0, Math.max(0, name.lastIndexOf('/')));
}

function join(root: string, rest: string): string {
  return root === '/' ? rest : root + rest;
}
