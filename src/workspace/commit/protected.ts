/**
 * Names that a tool runs or obeys without being asked: on entering a directory, on opening a
 * project, with every git or package manager command. At any depth, as each directory may be opened
 * or entered by itself.
 */
import { protectedNames } from '../names.ts';
import type { HeldReason } from './held.ts';
import { fold } from './spelling.ts';

const byReason = {
  'shell-startup': [
    '.bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zprofile',
    '.zshenv .zlogin .zlogout .cshrc .tcshrc .login .kshrc .inputrc .envrc .autoenv .autoenv.zsh',
    '.mise.toml mise.toml .mise/config.toml .rtx.toml .config/fish .config/mise .tmux.conf',
    '.screenrc .gdbinit .lldbinit .exrc .vimrc .nvimrc .lvimrc .nvim.lua .dir-locals.el',
    '.ripgreprc .irbrc .pryrc .pdbrc .rdbgrc .Rprofile .ghci .ocamlinit .iex.exs .psqlrc',
    '.sqliterc .duckdbrc .wgetrc .curlrc .dir-locals-2.el .config/mise.toml mise/config.toml',
    '.config/mise.local.toml mise/config.local.toml .mise/config.local.toml .mise/conf.d',
    '.pam_environment .xprofile .xsession .xinitrc .xsessionrc .config/autostart .config/systemd',
    '.config/environment.d .config/nvim .vim .emacs .emacs.d .ssh .gnupg',
  ],
  'git-config': [
    '.gitconfig .gitmodules .config/git',
    // Other systems of the kind: prompts ask them for the state of any directory.
    '.hg/hgrc .hg/hgrc-not-shared .hg/sharedpath .jj/repo/config.toml .jj/workspace-config.toml',
    '_darcs/prefs/defaults .bzr/branch/branch.conf .bzr/branch.conf',
  ],
  'git-hooks': [
    '.githooks .husky .huskyrc .pre-commit-config.yaml .pre-commit-config.yml .overcommit.yml',
    'lefthook.yml lefthook.yaml lefthook.toml lefthook.json lefthook-local.yml lefthook-local.yaml',
    '.lefthook.yml .lefthook.yaml .lefthook.toml .lefthook.json .lefthook .lefthook-local',
    '.lefthook-local.yml .lefthook-local.yaml .simple-git-hooks.json .simple-git-hooks.js',
    '.simple-git-hooks.cjs .git-hooks .config/lefthook.yml .config/lefthook.yaml',
    '.config/lefthook.toml .config/lefthook.json .config/lefthook-local.yml',
  ],
  'editor-tasks': [
    '.vscode .idea .devcontainer .devcontainer.json .zed .fleet .theia .nova .sublime-project',
    '.helix .vs .externalToolBuilders',
  ],
  'agent-configuration': [
    '.mcp.json .cursor .cursorrules .codex .gemini .windsurf .roo .kiro .trae .qwen .continue',
    '.amazonq .opencode opencode.json opencode.jsonc .crush.json .aider.conf.yml .claude.json',
    '.claude/settings.json .claude/settings.local.json .claude/commands .claude/agents',
    '.claude/hooks .claude/skills .claude/plugins .copilot .hermes .openclaw .mcp',
  ],
  'package-manager': [
    '.npmrc .yarnrc .yarnrc.yml .yarn/plugins .yarn/releases .pnpmfile.cjs .pnpmfile.mjs',
    'pnpmfile.js .bunfig.toml bunfig.toml .cargo/config .cargo/config.toml .bundle/config .gemrc',
    '.mvn .condarc .pypirc pip.conf .pip/pip.conf',
  ],
  'own-policy': ['.trl.yaml .trl.yml .trl'],
} as const satisfies Partial<Record<HeldReason, readonly string[]>>;

/** Packages ship these for their own development; nobody opens or enters a package's directory. */
const harmlessInPackages: ReadonlySet<HeldReason> = new Set([
  'editor-tasks',
  'git-hooks',
  'agent-configuration',
]);
const packageDirectory = 'node_modules';
/** One for each environment that is named to it. */
const miseFile = /^\.?mise(?:\.[^/]+)?\.toml$/;
const projectFile = /\.(?:code-workspace|sublime-project)$/;

interface Name {
  readonly parts: readonly string[];
  readonly reason: HeldReason;
}

const names: ReadonlyMap<string, readonly Name[]> = tabulate();

function tabulate(): Map<string, Name[]> {
  const table = new Map<string, Name[]>();
  for (const [reason, lines] of Object.entries(byReason)) {
    for (const name of lines.flatMap((line) => line.split(' '))) add(table, name, reason);
  }
  // The list that sessions without a layer cover: what it names is held in any case.
  for (const name of protectedNames) {
    if (reasonOf(table, name.split('/').map(fold)) === null) add(table, name, 'shell-startup');
  }
  return table;
}

function isReason(reason: string): reason is keyof typeof byReason {
  return Object.hasOwn(byReason, reason);
}

function add(table: Map<string, Name[]>, name: string, reason: string): void {
  if (!isReason(reason)) return;
  const parts = name.split('/').map(fold);
  const first = parts[0] ?? '';
  table.set(first, [...(table.get(first) ?? []), { parts, reason }]);
}

function reasonOf(
  table: ReadonlyMap<string, readonly Name[]>,
  parts: readonly string[],
): HeldReason | null {
  const candidates = table.get(parts[0] ?? '');
  const isAt = (name: Name): boolean => name.parts.every((part, index) => parts[index] === part);
  return candidates?.find(isAt)?.reason ?? null;
}

/**
 * Why a path is protected by a name in it, or `null`.
 *
 * @param parts folded
 * @param as a `link` (or a file) in the place of a directory that holds a protected name leads to
 *   another one, and is protected itself; `gone` is a file that is deleted
 */
export function protectedBy(
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
  if (miseFile.test(last)) return 'shell-startup';
  return !inPackage && projectFile.test(last) ? 'editor-tasks' : null;
}
