/**
 * The runtime's control files and its stored state. A command that could write them could escape
 * its sandbox, so no workspace root contains any of them, and no grant opens them.
 */
import { dirname, resolve } from 'node:path';
import { TrlError } from '../errors.ts';
import { limits } from '../limits.ts';
import { isPolicyBaseName } from '../policy/policy.ts';
import { findOtherNames } from '../workspace/walk.ts';
import { isBelow, realPathPrefix } from '../workspace/inspect-path.ts';
import { linkTrailOf } from '../workspace/grants.ts';
import type { ReservedPaths } from '../workspace/grants.ts';
import { configDirectory } from '../yaml/config-directories.ts';
import type { DaemonArgs } from './args.ts';

export interface RuntimeFiles {
  /** The runtime's own directories; they need not exist yet. */
  readonly ownDirectories: readonly string[];
  /** Files that the daemon's flags and variables name. */
  readonly controlFiles: readonly string[];
}

const advice = 'start in a project directory, or name one: --workspace-root, or --cwd of trl run';

/**
 * @throws TrlError `INVALID_PARAMS` for a root that contains any of these files or lies within them
 */
export async function findRuntimeFiles(of: {
  readonly roots: readonly string[];
  readonly args: DaemonArgs;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Directories of the runtime's state. */
  readonly state: readonly string[];
}): Promise<RuntimeFiles> {
  const { roots, args, env, state } = of;
  const kept = [...state, configDirectory({ ...env })];
  const obeyed = namedFiles(args, env);
  refuseKept(roots, kept);
  for (const file of obeyed) refuseControlFile(roots, file);
  await refuseOtherNames(roots, obeyed);
  return { ownDirectories: kept, controlFiles: obeyed };
}

/**
 * The paths that no grant opens, once the runner exists.
 *
 * @param at.place of its socket; `null`: it has none
 * @throws TrlError as {@link findRuntimeFiles}
 */
export function reservedPaths(
  roots: readonly string[],
  { ownDirectories: kept, controlFiles: obeyed }: RuntimeFiles,
  at: { readonly runner: string | null; readonly place: { readonly path: string } | null },
): ReservedPaths {
  const ofRunner = at.runner === null ? [] : [at.runner];
  refuseKept(roots, ofRunner);
  // The socket's directory may contain files of other programs and workspace roots, so only the
  // socket is reserved.
  const sockets = at.place === null ? [] : [at.place.path];
  for (const socket of sockets) refuseIn(roots, dirname(socket), keeping(dirname(socket)));
  const hidden = [...kept, ...ofRunner, ...sockets].map((one) => resolve(one));
  return { hidden, readOnly: obeyed.flatMap(linkTrailOf) };
}

/**
 * Checks whether a directory may become a root of a running daemon.
 *
 * @throws TrlError as {@link findRuntimeFiles} and {@link reservedPaths}
 */
export async function checkRoot(
  root: string,
  { ownDirectories: kept, controlFiles: obeyed }: RuntimeFiles,
  reserved: ReservedPaths,
): Promise<void> {
  refuseKept([root], [...kept, ...reserved.hidden]);
  for (const file of [...obeyed, ...reserved.readOnly]) refuseControlFile([root], file);
  await refuseOtherNames([root], obeyed);
}

/** The files that flags and variables name. */
function namedFiles(
  { policy, config, http }: DaemonArgs,
  env: Readonly<Record<string, string | undefined>>,
): string[] {
  const chosen = policy !== null && isPolicyBaseName(policy) ? null : policy;
  const names = [chosen, config ?? env['TRL_CONFIG'], http.cert, http.key];
  return names.flatMap((name) => (name ? [resolve(name)] : []));
}

function refuseKept(roots: readonly string[], kept: readonly string[]): void {
  for (const place of kept) {
    refuseIn(roots, place, keeping(place));
    const root = roots.find((one) => isBelow(one, realPathPrefix(resolve(place))));
    if (root !== undefined) throw refusal(root, `the runtime keeps it for itself; ${advice}`);
  }
}

/** @throws TrlError `INVALID_PARAMS` for a file that commands could write */
export function refuseControlFile(roots: readonly string[], file: string): void {
  refuseIn(roots, file, obeying(file));
}

const keeping = (place: string): string => `the runtime keeps "${place}" in it; ${advice}`;
const obeying = (file: string): string =>
  `the runtime obeys "${file}" in it, which commands could write; move that out of the root`;

function refuseIn(roots: readonly string[], place: string, why: string): void {
  const names = linkTrailOf(resolve(place));
  const root = roots.find((one) => names.some((name) => isBelow(name, one)));
  if (root !== undefined) throw refusal(root, why);
}

const refusal = (root: string, why: string): TrlError =>
  new TrlError('INVALID_PARAMS', `Cannot use workspace root "${root}": ${why}`);

/** Refuses hard links: a hard link within a root gives access to the file itself. */
async function refuseOtherNames(roots: readonly string[], files: readonly string[]): Promise<void> {
  const covers = files.map((file) => ({ path: realPathPrefix(file), as: file }));
  const [found] = await findOtherNames(covers, roots, limits.workspaceEntries.default);
  if (found === undefined) return;
  const [name, file] = found;
  const root = roots.find((one) => isBelow(name, one)) ?? name;
  throw refusal(root, `the runtime obeys "${file}" in it, also named "${name}"; remove that name`);
}
