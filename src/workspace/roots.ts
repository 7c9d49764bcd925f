/** Which directory of the host a session may work in, after every link is resolved. */
import { lstatSync } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { type ErrorCode, TrlError } from '../errors.ts';
import { errnoCodeOf } from './byte-path.ts';
import { isBelow, realPathPrefix } from './inspect-path.ts';

export interface RootsInput {
  /** Directories that the operator allows, by real path: one that became a link allows nothing. */
  readonly roots: readonly string[];
  /** The requested directory; `null` or `/tmp`: no workspace. */
  readonly workingDir: string | null;
  /** The operator's home directory: never a workspace as a whole. */
  readonly home: string;
}

export interface ResolvedRoots {
  /** Real path of the allowed root that becomes the session's workspace. */
  readonly workspace: string | null;
  /** Real path of the working directory inside the sandbox. */
  readonly cwd: string;
}

/** The session's own, empty at first: no directory of the host. */
const privateDirectory = '/tmp';
/** Whole trees that commands must not write, or that a sandbox has of its own. */
const systemTrees = [
  '/usr',
  '/bin',
  '/sbin',
  '/lib',
  '/lib32',
  '/lib64',
  '/libx32',
  '/etc',
  '/boot',
  '/dev',
  '/proc',
  '/sys',
  '/run',
  '/nix',
  '/gnu',
];
/** Too wide as they are; a directory below one is fine. */
const wideDirectories = ['/', '/home', '/root', '/opt', '/var', '/var/tmp', '/tmp', '/var/lib'];
/** Below a system tree, yet where images and people keep sources. */
const sourceTrees = ['/usr/src', '/usr/local/src'];

/**
 * The workspace and working directory of a new session.
 *
 * @throws TrlError INVALID_PARAMS where the directory is missing, not a directory or not absolute,
 *   or where the root that holds it cannot be a workspace; WORKSPACE_ESCAPE where it lies outside
 *   every root.
 */
export async function resolveWorkspace(input: RootsInput): Promise<ResolvedRoots> {
  const { workingDir, home } = input;
  if (workingDir === null || path.normalize(`${workingDir}/`) === `${privateDirectory}/`) {
    return { workspace: null, cwd: privateDirectory };
  }
  const cwd = await realDirectory(workingDir);
  const near = input.roots.filter((root) => isBelow(cwd, root));
  const real = await Promise.all(near.map((root) => realpath(root).catch(() => null)));
  const holding = near.filter((root, at) => real[at] === root);
  const workspace = holding.toSorted((a, b) => b.length - a.length)[0];
  if (workspace === undefined) {
    const help =
      `it is outside the workspace roots of this runtime (${listed(input.roots)}); ` +
      'start it with another --workspace-root to work there, or, where it takes any project, ' +
      'run: trl workspace trust DIR';
    throw refused('WORKSPACE_ESCAPE', workingDir, help);
  }
  await refuseRoot(workspace, { home, given: workingDir });
  return { workspace, cwd };
}

const listedMax = 8;

function listed(roots: readonly string[]): string {
  const named = roots.slice(0, listedMax).map((root) => JSON.stringify(root));
  const more = roots.length - named.length;
  return [...named, ...(more > 0 ? [`${more} more`] : [])].join(', ') || 'none';
}

/**
 * The directory itself, and the project that holds it: what becomes a root where it is trusted.
 *
 * @throws TrlError INVALID_PARAMS as {@link resolveWorkspace}
 */
export async function resolveProject(
  directory: string,
  home: string,
): Promise<{ readonly directory: string; readonly project: string }> {
  const real = await realDirectory(directory);
  const realHome = await realpath(home).catch(() => home);
  const top = projectOf(real, realHome);
  // A repository in a shared place does not identify the projects in it.
  const project = whyNotRoot(top, realHome) === null ? top : real;
  await refuseRoot(project, { home, given: directory });
  return { directory: real, project };
}

async function refuseRoot(
  root: string,
  { home, given }: { readonly home: string; readonly given: string },
): Promise<void> {
  const reason = whyNotRoot(root, await realpath(home).catch(() => home));
  if (reason !== null) {
    throw refused('INVALID_PARAMS', given, `the workspace root "${root}" ${reason}`);
  }
}

/** Why `root` (a real path) cannot be a workspace, as the end of a sentence; `null` when it can. */
export function whyNotRoot(root: string, home: string): string | null {
  const advice = 'name a project directory instead';
  if (root === home) return `is the home directory: ${advice}`;
  if (isBelow(home, root)) return `holds the home directory: ${advice}`;
  if (wideDirectories.includes(root)) return `is shared by the whole system: ${advice}`;
  if (sourceTrees.some((tree) => root !== tree && isBelow(root, tree))) return null;
  return systemTrees.some((tree) => isBelow(root, tree))
    ? `is part of the system: ${advice}`
    : null;
}

/**
 * The working directory of one command: inside the workspace by real path, or inside a directory
 * that is private to the sandbox, where only the sandbox can tell whether it exists.
 *
 * @throws TrlError as {@link resolveWorkspace}.
 */
export async function resolveInside(
  workspace: string | null,
  cwd: string,
  privateDirectories: readonly string[],
): Promise<string> {
  const lexical = path.resolve('/', cwd);
  if (workspace === null || !isBelow(lexical, workspace)) {
    const isPrivate = privateDirectories.some((directory) => isBelow(lexical, directory));
    if (path.isAbsolute(cwd) && !cwd.includes('\0') && isPrivate) return lexical;
  }
  const real = await realDirectory(cwd);
  if (workspace !== null && isBelow(real, workspace)) return real;
  const place = workspace === null ? 'the session has no workspace' : `it leaves "${workspace}"`;
  throw refused('WORKSPACE_ESCAPE', cwd, place);
}

/**
 * Where a call says to start; `null`: where its session is.
 *
 * @throws TrlError as {@link resolveInside}; WORKSPACE_ESCAPE for what leaves `cwdWithin`.
 */
export async function resolveGivenDirectory(
  by: { readonly workspace: string | null; readonly privateDirs: readonly string[] },
  { cwd, cwdWithin }: { readonly cwd: string | null; readonly cwdWithin?: string },
): Promise<string | null> {
  if (cwd === null) return null;
  const found = await resolveInside(by.workspace, cwd, by.privateDirs);
  const within = cwdWithin === undefined ? null : path.resolve('/', cwdWithin);
  const isWithin = (one: string): boolean => isBelow(found, one);
  if (within === null || [within, realPathPrefix(within)].some(isWithin)) return found;
  throw refused('WORKSPACE_ESCAPE', cwd, `it leaves "${within}"`);
}

async function realDirectory(given: string): Promise<string> {
  if (!path.isAbsolute(given) || given.includes('\0')) {
    throw refused('INVALID_PARAMS', given, 'it is not an absolute path');
  }
  const real = await realpath(given).catch((error: unknown) => {
    throw refused('INVALID_PARAMS', given, reasonOf(error), error);
  });
  if (!(await stat(real)).isDirectory()) {
    throw refused('INVALID_PARAMS', given, 'it is not a directory');
  }
  return real;
}

function reasonOf(error: unknown): string {
  const code = errnoCodeOf(error);
  if (code === 'ENOENT') return 'it does not exist';
  if (code === 'ENOTDIR') return 'it is not a directory';
  if (code === 'EACCES') return 'it cannot be read';
  if (code === 'ELOOP') return 'its links lead in a circle';
  return 'it cannot be resolved';
}

function refused(code: ErrorCode, given: string, reason: string, cause?: unknown): TrlError {
  const shown = JSON.stringify(given.slice(0, 4096));
  return new TrlError(code, `Cannot use working directory ${shown}: ${reason}`, { cause });
}

// The default project of a directory.

/**
 * The project that a directory belongs to: the top of its git worktree, else itself. What another
 * user made above it, or the home directory, is no project.
 *
 * @param home the person's home directory; both by real path
 */
export function projectOf(directory: string, home: string): string {
  for (let at = directory; at !== path.dirname(at); at = path.dirname(at)) {
    const git = lstatSync(path.join(at, '.git'), { throwIfNoEntry: false });
    if (git === undefined) continue;
    const isOwn = git.uid === process.getuid?.() && (git.isDirectory() || git.isFile());
    return isOwn && !isTooWideProject(at, home) ? at : directory;
  }
  return directory;
}

/** Whether it is the home directory, or holds it: no project, but where programs start servers. */
export const isTooWideProject = (directory: string, home: string): boolean =>
  `${home}/`.startsWith(directory === '/' ? directory : `${directory}/`);
