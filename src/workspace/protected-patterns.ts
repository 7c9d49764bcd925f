/**
 * Protected names that follow a pattern, and names that are protected by what is in the file. Data,
 * as the names in `protected-names.ts` are.
 */
import type { ProtectedNamesRow } from './protected-names.ts';

/** Names that follow a pattern: one for each environment, project or run configuration. */
export const protectedPatterns = [
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
export const protectedContents = [
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
