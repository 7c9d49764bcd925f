/**
 * Which paths are protected by a name in them. At any depth, as each directory may be opened or
 * entered by itself.
 */
import { foldName } from '../byte-path.ts';
import { type ProtectedNamesRow, protectedNamesTable } from '../protected-names.ts';
import type { HeldReason } from './commit-filter.ts';

// Protected names that follow a pattern, and names that are protected by what is in the file. Data,
// as the names in `protected-names.ts` are.

/** Names that follow a pattern: one for each environment, project or run configuration. */
const protectedPatterns = [
  {
    pattern: /^\.?mise(?:\.[^/]+)?\.toml$/,
    reason: 'shell-startup',
    source: 'https://mise.jdx.dev/configuration/environments.html',
  },
  {
    pattern: /\.(?:code-workspace|sublime-project|ipr|iws)$/,
    reason: 'editor-tasks',
    source:
      'https://code.visualstudio.com/docs/editing/workspaces/multi-root-workspaces; ' +
      'https://www.jetbrains.com/help/idea/creating-and-managing-projects.html (file-based)',
  },
  {
    pattern: /^(?:jupyter(?:_\w+)?|ipython)_config\.(?:py|json)$/,
    reason: 'shell-startup',
    source: 'https://jupyter-server.readthedocs.io/en/latest/users/configuration.html',
  },
  {
    pattern:
      /^\.?(?:lefthook(?:-local)?\.(?:ya?ml|toml|jsonc?)|simple-git-hooks\.(?:[cm]?js|json))$/,
    reason: 'git-hooks',
    source: 'https://lefthook.dev/configuration/; https://github.com/toplenboren/simple-git-hooks',
  },
  {
    pattern: /^(?:\.(?:lintstaged|husky)rc(?:\.\w+)?|(?:lint-staged|husky)\.config\.\w+)$/,
    reason: 'git-hooks',
    source: 'https://github.com/lint-staged/lint-staged#configuration; husky 4',
  },
  {
    pattern: /^\.nano-staged\.\w+$/,
    reason: 'git-hooks',
    source: 'https://github.com/usmanyunusov/nano-staged#configuration',
  },
  {
    pattern: /^grumphp(?:\.dist)?\.ya?ml(?:\.dist)?$/,
    reason: 'git-hooks',
    source: 'https://github.com/phpro/grumphp/blob/v2.x/doc/configuration.md',
  },
  {
    pattern: /\.run\.xml$/,
    reason: 'editor-tasks',
    source: 'https://www.jetbrains.com/help/idea/run-debug-configuration.html',
  },
] as const satisfies readonly {
  readonly pattern: RegExp;
  readonly reason: ProtectedNamesRow['reason'];
  readonly source: string;
}[];

/** Files that run something only by what is in them. */
const protectedContents = [
  {
    name: /^rust-toolchain(?:\.toml)?$/,
    content: /^\s*path\s*=/m,
    reason: 'package-manager',
    source: 'https://rust-lang.github.io/rustup/overrides.html#path',
  },
  {
    name: /^\.tool-versions$/,
    content: /\s(?:path|ref):/m,
    reason: 'shell-startup',
    source: 'https://asdf-vm.com/manage/configuration.html#tool-versions',
  },
  {
    // A path in the place of a version; `lts/iron` and `ruby@set` are none.
    name: /^\.(?:(?:python|ruby|node|java|php|go)-version|nvmrc|sdkmanrc)$/,
    content: /(?:^|[\s=])[~/]|\.\.|^\s*\.\//m,
    reason: 'shell-startup',
    source:
      'https://docs.astral.sh/uv/concepts/python-versions/#python-version-files; pyenv, sdk(1)',
  },
  {
    name: /^\.bazelversion$/,
    content: /\//,
    reason: 'package-manager',
    source:
      'https://github.com/bazelbuild/bazelisk#how-does-bazelisk-know-which-bazel-version-to-run',
  },
] as const satisfies readonly {
  readonly name: RegExp;
  readonly content: RegExp;
  readonly reason: ProtectedNamesRow['reason'];
  readonly source: string;
}[];

/** Packages ship these for their own development; nobody opens or enters a package's directory. */
const harmlessInPackages: ReadonlySet<HeldReason> = new Set([
  'editor-tasks',
  'git-hooks',
  'agent-configuration',
]);
const packageDirectory = 'node_modules';

interface Name {
  readonly parts: readonly string[];
  readonly reason: HeldReason;
}

const names: ReadonlyMap<string, readonly Name[]> = tabulate();

function tabulate(): Map<string, Name[]> {
  const table = new Map<string, Name[]>();
  for (const { names: row, reason } of protectedNamesTable) {
    for (const name of row.split(' ')) {
      const parts = name.split('/').map(foldName);
      const first = parts[0] ?? '';
      table.set(first, [...(table.get(first) ?? []), { parts, reason }]);
    }
  }
  return table;
}

/**
 * Why a path is protected by a name in it, or `null`.
 *
 * @param parts folded
 * @param as a `link` (or a file) in the place of a directory that holds a protected name leads to
 *   another one, and is protected itself; `gone` is a file that is deleted
 */
export function nameProtectionOf(
  parts: readonly string[],
  as: 'directory' | 'link' | 'gone',
): HeldReason | null {
  let inPackage = false;
  for (const [at, part] of parts.entries()) {
    if (part === packageDirectory) inPackage = true;
    const candidates = names.get(part);
    const rest = candidates === undefined ? [] : parts.slice(at);
    for (const { parts: wanted, reason } of candidates ?? []) {
      const shared = as === 'link' ? Math.min(wanted.length, rest.length) : wanted.length;
      if (inPackage && (as === 'gone' || harmlessInPackages.has(reason))) continue;
      if (wanted.slice(0, shared).every((one, index) => rest[index] === one)) return reason;
    }
  }
  const last = parts.at(-1) ?? '';
  const found = protectedPatterns.find(({ pattern }) => pattern.test(last));
  if (found === undefined) return null;
  return inPackage && harmlessInPackages.has(found.reason) ? null : found.reason;
}

/** Why a file of this name is protected where its content says so; `null`: it never is. */
export function contentProtectionOf(
  name: string,
): { readonly content: RegExp; readonly reason: HeldReason } | null {
  return protectedContents.find((one) => one.name.test(foldName(name))) ?? null;
}

/** A protected name that a path is, or the start of. */
interface ProtectedPrefix {
  /** The rest after the name; empty: the path is the whole name. */
  readonly rest: readonly string[];
  readonly reason: HeldReason;
}

/** Which protected names begin with the end of a path: a link there leads to all of them. */
export function protectedPrefixesOf(path: string): ProtectedPrefix[] {
  const parts = path.split('/').map(foldName);
  return parts.flatMap((part, at) => {
    const end = parts.slice(at);
    return (names.get(part) ?? [])
      .filter(({ parts: wanted }) => end.every((one, index) => wanted[index] === one))
      .map(({ parts: wanted, reason }) => ({ rest: wanted.slice(end.length), reason }));
  });
}

/** First parts of protected names. */
export function isProtectedPrefix(name: string): boolean {
  return names.has(foldName(name));
}
