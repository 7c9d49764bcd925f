/** Names by which a file in a project is run later, by a tool, on the host. Pure. */

/**
 * At the root of the workspace and of every git worktree in it. `.gitattributes` stays writable:
 * the filters it names do nothing without the configuration, which is protected.
 */
export const protectedNames: readonly string[] = [
  // shells and debuggers
  '.bashrc .bash_profile .bash_login .bash_logout .profile .zshrc .zprofile .zshenv .zlogin',
  '.zlogout .envrc .gdbinit .lldbinit .exrc .vimrc .nvimrc .ripgreprc',
  // git and its hook managers
  '.gitconfig .gitmodules .githooks .husky .pre-commit-config.yaml lefthook.yml .lefthook.yml',
  // editors and containers that run tasks on opening a project
  '.vscode .idea .devcontainer .devcontainer.json',
  // agents
  '.mcp.json .cursor .codex .gemini .claude/settings.json .claude/settings.local.json',
  '.claude/commands .claude/agents .claude/hooks .claude/skills',
  // package managers
  '.npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs',
  // this runtime
  '.trl.yaml',
].flatMap((line) => line.split(' '));

/**
 * In every git directory. `commondir` would make git read another directory's configuration;
 * `config.worktree` and `info/attributes` are read beside the ones that people look at.
 */
export const protectedInGit: readonly string[] = [
  'hooks',
  'config',
  'config.worktree',
  'commondir',
  'info/attributes',
];
