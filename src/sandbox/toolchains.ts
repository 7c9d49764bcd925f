/**
 * Tools a `PATH` finds outside the system directories: which trees to show, read-only.
 *
 * A version manager known by name is shown as the trees it needs; of anything else only the entry
 * and the library directories beside it. Credentials that live in such a tree are masked.
 */
import { lstatSync, readdirSync, realpathSync, statSync } from 'node:fs';
import path from 'node:path';

/** One tree or file of the host, shown read-only. */
export interface ExposedTree {
  readonly path: string;
  /** Owner on the host. */
  readonly uid: number;
  readonly gid: number;
}

export interface Toolchains {
  readonly trees: readonly ExposedTree[];
  /** Credential files inside {@link trees}: never readable. */
  readonly masked: readonly string[];
  /** `PATH` entries that can be seen inside, in the host's order, by real path. */
  readonly path: readonly string[];
}

/** Under `$HOME`: when a `PATH` entry lies below the key, these trees are shown. */
const managers: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>([
  ['.cargo', ['.cargo/bin', '.rustup']],
  ['.local/bin', ['.local/bin', '.local/lib']],
  ['.dotnet', ['.dotnet/dotnet', '.dotnet/host', '.dotnet/sdk', '.dotnet/shared', '.dotnet/tools']],
  ...[
    '.pyenv',
    '.nvm',
    '.volta',
    '.sdkman',
    '.asdf',
    '.rbenv',
    '.nodenv',
    '.goenv',
    '.jenv',
    '.tfenv',
    '.phpenv',
    '.plenv',
    '.ghcup',
    '.opam',
    '.juliaup',
    '.pixi',
    '.npm-global',
    '.npm-packages',
    '.local/share/mise',
    '.local/share/fnm',
    '.local/share/pnpm',
    'miniconda3',
    'anaconda3',
    'miniforge3',
    'mambaforge',
  ].map((root) => [root, [root]] as const),
]);

const librariesBeside = ['lib', 'lib64', 'libexec', 'share', 'include'];
const credentialNames = [
  '.npmrc',
  'npmrc',
  'etc/npmrc',
  '.condarc',
  'condarc',
  '.netrc',
  '.pypirc',
  'pip.conf',
  'etc/pip.conf',
  'credentials',
  'credentials.toml',
];
/** Directories whose children each have an `etc/npmrc`. */
const nodeVersions = ['.nvm/versions/node', '.volta/tools/image/node', '.nodenv/versions'];
/** Every tree is a mount that each command clones: past this many, tools stay invisible. */
const treesMax = 16;
const linksMax = 64;
/** Private inside every sandbox, so nothing of the host is shown there. */
const privateRoots = ['/tmp', '/var/tmp', '/run', '/proc', '/dev', '/sys'];

export interface ToolchainSearch {
  /** The host's `PATH`. */
  readonly pathVariable: string;
  readonly home: string;
  /** Trees that are shown anyway. */
  readonly shown: readonly string[];
}

/** Looks up what each entry of `PATH` needs. Reads metadata only; never throws. */
export function findToolchains(search: ToolchainSearch): Toolchains {
  const entries = search.pathVariable.split(':').flatMap((entry) => toolchainDirectory(entry));
  const outside = entries.filter(
    (entry) => !isInsideAnyTree(entry, search.shown) && mayShow(entry, search.home),
  );
  const direct = outside.flatMap((entry) => treesFor(entry, search.home));
  const known = [...search.shown, ...direct];
  const linked = outside.flatMap((entry) => linkTargets(entry, search.home, known));
  const wanted = [...direct, ...linked];
  const trees = fold(wanted.filter((tree) => isShowable(tree, search.home)))
    .slice(0, treesMax)
    .flatMap((tree) => shown(tree));
  const roots = trees.map((tree) => tree.path);
  return {
    trees,
    masked: credentialsIn(roots, search.home),
    path: [...new Set(entries)].filter((entry) =>
      isInsideAnyTree(entry, [...search.shown, ...roots]),
    ),
  };
}

/** Whether `inner` is `outer` or lies below it. Both absolute and normalised. */
export function isInsideTree(inner: string, outer: string): boolean {
  return inner === outer || outer === '/' || inner.startsWith(`${outer}/`);
}

export function isInsideAnyTree(inner: string, outers: readonly string[]): boolean {
  return outers.some((outer) => isInsideTree(inner, outer));
}

/** The real path of an absolute directory, or nothing. */
export function toolchainDirectory(entry: string): string[] {
  if (!path.isAbsolute(entry)) return [];
  const real = toolchainRealPath(entry);
  return real !== null && statSync(real, { throwIfNoEntry: false })?.isDirectory() ? [real] : [];
}

export function toolchainRealPath(name: string): string | null {
  try {
    return realpathSync.native(name);
  } catch {
    return null;
  }
}

/** `npm run` puts a project's own `.bin` first; it belongs to a workspace or to nobody. */
function mayShow(entry: string, home: string): boolean {
  return !entry.endsWith('/node_modules/.bin') && isShowable(entry, home);
}

/** Never the home directory as a whole, nor anything that holds it. */
function isShowable(tree: string, home: string): boolean {
  return (
    !isInsideTree(home, tree) && (isInsideTree(tree, home) || !isInsideAnyTree(tree, privateRoots))
  );
}

function treesFor(entry: string, home: string): string[] {
  for (const [root, trees] of managers) {
    if (isInsideTree(entry, path.join(home, root))) {
      return trees.map((tree) => path.join(home, tree));
    }
  }
  return [entry, ...besides(entry, home)];
}

function besides(directory: string, home: string): string[] {
  const parent = path.dirname(directory);
  return isShowable(parent, home) ? librariesBeside.map((name) => path.join(parent, name)) : [];
}

/** What links in a directory such as `~/.local/bin` need, when they lead elsewhere in `$HOME`. */
function linkTargets(entry: string, home: string, known: readonly string[]): string[] {
  if (!isInsideTree(entry, home)) return [];
  return readdirSync(entry, { withFileTypes: true })
    .filter((item) => item.isSymbolicLink())
    .slice(0, linksMax)
    .flatMap((item) => toolchainRealPath(path.join(entry, item.name)) ?? [])
    .filter((target) => isInsideTree(target, home) && !isInsideAnyTree(target, known))
    .flatMap((target) => programTrees(target, home));
}

/** A program in the `bin` of a Python environment needs all of it, another its libraries. */
function programTrees(target: string, home: string): string[] {
  const directory = path.dirname(target);
  if (path.basename(directory) !== 'bin') return [target];
  const parent = path.dirname(directory);
  if (toolchainRealPath(path.join(parent, 'pyvenv.cfg')) !== null) return [parent];
  return [directory, ...besides(directory, home)];
}

/** Without the trees that lie below another, shortest first. */
function fold(trees: readonly string[]): string[] {
  const kept: string[] = [];
  for (const tree of trees.toSorted((a, b) => a.length - b.length)) {
    if (!isInsideAnyTree(tree, kept)) kept.push(tree);
  }
  return kept;
}

/** Links are not followed here: a tree is named by its real path or not shown. */
function shown(tree: string): ExposedTree[] {
  const stat = lstatSync(tree, { throwIfNoEntry: false });
  if (stat === undefined || !(stat.isDirectory() || stat.isFile())) return [];
  return toolchainRealPath(tree) === tree ? [{ path: tree, uid: stat.uid, gid: stat.gid }] : [];
}

function credentialsIn(trees: readonly string[], home: string): string[] {
  const versions = nodeVersions
    .map((directory) => path.join(home, directory))
    .filter((directory) => isInsideAnyTree(directory, trees))
    .flatMap((directory) => children(directory));
  return [...trees, ...versions]
    .flatMap((root) => credentialNames.map((name) => path.join(root, name)))
    .filter(isFile);
}

/** A tree may itself be a file, in which nothing can be: that is no error. */
function isFile(name: string): boolean {
  try {
    return lstatSync(name).isFile();
  } catch {
    return false;
  }
}

function children(directory: string): string[] {
  try {
    return readdirSync(directory).map((name) => path.join(directory, name));
  } catch {
    return [];
  }
}
