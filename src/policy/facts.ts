/**
 * Looks up what cannot be determined from the text of a command: which file an executable is, where
 * links lead, what a script contains. Reads the host's file system.
 */
import { createHash } from 'node:crypto';
import {
  accessSync,
  closeSync,
  constants,
  fstatSync,
  openSync,
  realpathSync,
  statSync,
  type BigIntStats,
} from 'node:fs';
import { open, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import type { ContentRole } from '../binding.ts';
import type { AllowedCommand, Analysis, CommandFinding, ContentReference } from './analysis.ts';
import { findGitFilters, type GitLookupScope } from './git-filters.ts';
import { isPathInside } from './path-containment.ts';
import { findPackageScript, type PackageScript } from './package-script.ts';
import { fileSecrecy } from './shell/secret.ts';

/** Where the command would run. */
export interface LookupScope extends GitLookupScope {
  /** Real path of the workspace, or `null`: the session has no directory of the host. */
  readonly workspace: string | null;
  /** Absolute; inside the workspace, or private to the sandbox. */
  readonly cwd: string;
  /** `PATH` as the runtime gives it to commands: no command can have changed it. */
  readonly path: string;
  /** Whether commands see something else at a path of the host. Default: nowhere. */
  readonly isElsewhere?: (path: string) => boolean;
}

/** The current state of a file that determines what a command does. */
export interface ContentFingerprint {
  readonly role: ContentRole;
  readonly name: string;
  /** Real path, or `null` where nothing was found. */
  readonly path: string | null;
  /** SHA-256 (hex) of the bytes; of device, inode, size and times for a file of the system. */
  readonly sha256: string | null;
  /** Permission bits of a file or directory of the workspace. */
  readonly mode?: number;
}

export interface Facts {
  /** Absolute path of what a plain command starts in place of a shell, or `null`. */
  readonly executable: string | null;
  readonly script: PackageScript | null;
  readonly contents: readonly ContentFingerprint[];
  /** Findings of the lookup about the command. */
  readonly findings: readonly CommandFinding[];
  /** Filter drivers that the repository configures, when git would be started. */
  readonly gitFilters: readonly string[];
}

/** Larger files are distinguished by their times. */
const hashedBytesMax = 16 * 1024 * 1024;

const finding = (code: string, evidence: string, why: string): CommandFinding => ({
  code,
  bound: 'ask',
  span: [0, 0],
  via: [],
  evidence,
  why,
  instead: null,
});

/**
 * Never throws: what cannot be looked up is a finding.
 *
 * @param plain the words of a plain command that a user-written rule may allow to start
 */
export async function gatherFacts(
  analysis: Analysis,
  plain: readonly string[] | null,
  place: LookupScope,
): Promise<Facts> {
  const { allowed } = analysis;
  const [program] = allowed?.run.argv ?? plain ?? [];
  const executable = program === undefined ? null : findExecutable(program, place);
  const listed =
    allowed?.packageScript == null ? null : await findPackageScript(allowed.packageScript, place);
  const findings =
    allowed === null ? [] : await checkAllowed(allowed, place, { executable, script: listed });
  // A missing program starts nothing.
  const script = listed === 'missing' ? null : listed;
  const filters = allowed?.run.argv[0] === 'git' ? await findGitFilters(place) : { names: [] };
  if ('unknown' in filters) {
    findings.push(finding('facts.git-config', '.git/config', filters.unknown));
  }
  const contents = await Promise.all(analysis.named.map((named) => contentOf(named, place)));
  const other = elsewhere([script?.file, ...contents.map((one) => one.path)], allowed, place);
  if (other !== null) {
    const why = 'is another file for commands: changes of the session wait there';
    findings.push(finding('facts.layer', other, why));
  }
  const names = 'names' in filters ? filters.names : [];
  return { executable, script, contents, findings, gitFilters: names };
}

/** The first file that a command would resolve differently from this lookup. */
function elsewhere(
  names: readonly (string | null | undefined)[],
  allowed: AllowedCommand | null,
  { workspace, isElsewhere = () => false }: LookupScope,
): string | null {
  const git =
    allowed?.run.argv[0] === 'git' && workspace !== null ? `${workspace}/.git/config` : null;
  return [...names, git].find((name) => name != null && isElsewhere(name)) ?? null;
}

async function checkAllowed(
  allowed: AllowedCommand,
  place: LookupScope,
  found: { readonly executable: string | null; readonly script: unknown },
): Promise<CommandFinding[]> {
  const name = allowed.run.argv[0] ?? '';
  const findings: CommandFinding[] = [];
  if (found.executable === null) {
    findings.push(finding('facts.executable', name, 'is not found on the fixed PATH'));
  }
  if (allowed.packageScript !== null && found.script === null) {
    const why = 'has a package.json that cannot be looked at';
    findings.push(finding('facts.package-script', allowed.packageScript, why));
  }
  for (const operand of allowed.files) {
    const why = await whyNotReadable(operand, name, place);
    if (why !== null) findings.push(finding('facts.file', operand, why));
  }
  for (const word of name === 'git' ? allowed.argv.slice(2) : []) {
    const why = await whyNotFollowed(word, place);
    if (why !== null) findings.push(finding('facts.file', word, why));
  }
  return findings;
}

/**
 * Why git may not be given this word, or `null`. In a repository it follows no link; where it takes
 * two words for plain files that it compares, it does, though not the last name of a path.
 */
async function whyNotFollowed(
  word: string,
  { workspace, cwd }: LookupScope,
): Promise<string | null> {
  const lexical = path.resolve(cwd, word);
  const followed = /\/\.?$/.test(word) ? lexical : path.dirname(lexical);
  const real = await realpath(followed).catch(() => null);
  if (real === null || workspace === null) return null;
  if (!isPathInside(real, workspace)) return 'leads out of the workspace';
  const file = followed === lexical ? real : path.join(real, path.basename(lexical));
  return fileSecrecy(file) === null ? null : 'leads to a file that holds secrets';
}

/** Why reading a file operand needs approval, or `null`. */
async function whyNotReadable(
  operand: string,
  program: string,
  place: LookupScope,
): Promise<string | null> {
  const { workspace } = place;
  const lexical = path.resolve(place.cwd, operand);
  if (workspace === null || !isPathInside(lexical, workspace)) return 'lies outside the workspace';
  const real = await realpath(lexical).catch((error: unknown) => codeOf(error));
  // A missing file cannot be read: the command itself reports it.
  if (real === 'ENOENT') return null;
  if (!real.startsWith('/')) return `cannot be resolved (${real})`;
  if (!isPathInside(real, workspace)) return 'leads out of the workspace';
  if (fileSecrecy(real) !== null) return 'leads to a file that holds secrets';
  const found = await stat(real).catch(() => null);
  if (found === null) return 'cannot be looked at';
  // A search of a directory follows no links in it and skips everything but regular files.
  if (found.isDirectory() && program === 'rg') return null;
  const { nlink: links } = found;
  if (!found.isFile()) return 'is not a regular file';
  return links > 1 ? 'has other names, which may lie elsewhere' : null;
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
}

/**
 * The file that `name` starts, by the runtime's own `PATH`. Directories of the workspace do not
 * count: a file that a command can write is not the allowed one. Synchronous: through the thread
 * pool each lookup costs twenty times as much, and a command waits for all of them.
 */
function findExecutable(name: string, place: LookupScope): string | null {
  if (name === '' || name.includes('/')) return null;
  for (const directory of place.path.split(':')) {
    if (!path.isAbsolute(directory)) continue;
    const file = path.join(directory, name);
    const real = programAt(file);
    if (real === null) continue;
    if (place.workspace !== null && isPathInside(real, place.workspace)) continue;
    if (statSync(real, { throwIfNoEntry: false })?.isFile() === true) return file;
  }
  return null;
}

/** Its real path; `null`: nothing there may be started. */
function programAt(file: string): string | null {
  try {
    accessSync(file, constants.X_OK);
    return realpathSync.native(file);
  } catch {
    return null;
  }
}

async function contentOf(named: ContentReference, place: LookupScope): Promise<ContentFingerprint> {
  const { role, name } = named;
  if (role === 'package-script') {
    const listed = await findPackageScript(name, place);
    const script = listed === 'missing' ? null : listed;
    const sha256 = script === null ? null : script.sha256;
    return { role, name, path: script?.file ?? null, sha256 };
  }
  const bare = role === 'executable' && !name.includes('/');
  const file = bare ? findExecutable(name, place) : path.resolve(place.cwd, name);
  const real = file === null ? null : bare ? programAt(file) : await realOf(file);
  if (real === null) return { role, name, path: null, sha256: null };
  const isOwn = place.workspace !== null && isPathInside(real, place.workspace);
  const sha256 = bare && !isOwn ? systemIdentity(real) : await identity(real, isOwn);
  return { role, name, path: real, sha256 };
}

const realOf = (file: string): Promise<string | null> => realpath(file).catch(() => null);

// A FIFO must not be waited for.
const looking = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

/** By content if a command could have written it, else by the file's metadata. */
async function identity(file: string, isOwn: boolean): Promise<string | null> {
  const handle = await open(file, looking).catch(() => null);
  if (handle === null) return null;
  try {
    const seen = await handle.stat({ bigint: true });
    if (!isOwn || !seen.isFile() || seen.size > hashedBytesMax) return markOf(seen);
    return createHash('sha256')
      .update(await handle.readFile())
      .digest('hex');
  } finally {
    await handle.close();
  }
}

/** The same for a program of the system, synchronously. */
function systemIdentity(file: string): string | null {
  let fd: number;
  try {
    fd = openSync(file, looking);
  } catch {
    return null;
  }
  try {
    return markOf(fstatSync(fd, { bigint: true }));
  } finally {
    closeSync(fd);
  }
}

function markOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  const mark = [dev, ino, size, mtimeNs, ctimeNs].join(':');
  return createHash('sha256').update(mark).digest('hex');
}
