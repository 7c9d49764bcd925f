/**
 * Names of files that a tool runs or obeys without being asked: on entering a directory, on opening
 * a project, at each command of git or a package manager. Data: each row with where it is
 * documented. A directory's name stands for all that is in it.
 */

export interface ProtectedNames {
  /** Separated by spaces; each from any directory. */
  readonly names: string;
  readonly reason:
    | 'shell-startup'
    | 'git-config'
    | 'git-hooks'
    | 'editor-tasks'
    | 'agent-configuration'
    | 'package-manager'
    | 'own-policy';
  readonly source: string;
  /** Covered or watched, at the top of each worktree, where there is no overlay, too. */
  readonly withoutLayer?: string;
}

export const protectedTable: readonly ProtectedNames[] = [
  // Shells, and what they start with
  {
    names: '.bashrc .bash_profile .bash_login .bash_logout .profile .bash_aliases .bashrc.d',
    reason: 'shell-startup',
    source: 'https://www.gnu.org/software/bash/manual/html_node/Bash-Startup-Files.html',
    withoutLayer: '.bashrc .bash_profile .bash_login .bash_logout .profile',
  },
  {
    names: '.zshrc .zprofile .zshenv .zlogin .zlogout',
    reason: 'shell-startup',
    source: 'https://zsh.sourceforge.io/Doc/Release/Files.html',
    withoutLayer: '.zshrc .zprofile .zshenv .zlogin .zlogout',
  },
  {
    names: '.cshrc .tcshrc .login .kshrc .inputrc .config/fish',
    reason: 'shell-startup',
    source: 'https://fishshell.com/docs/current/language.html#configuration; csh(1), readline(3)',
  },
  {
    names: '.envrc .envrc.local .envrc.private .direnv',
    reason: 'shell-startup',
    source: 'https://direnv.net/man/direnv-stdlib.1.html',
    withoutLayer: '.envrc .envrc.local',
  },
  {
    names: '.autoenv .autoenv.zsh',
    reason: 'shell-startup',
    source: 'https://github.com/hyperupcall/autoenv',
  },
  {
    names:
      '.mise.toml mise.toml .mise/config.toml .rtx.toml .config/mise .config/mise.toml ' +
      'mise/config.toml .config/mise.local.toml mise/config.local.toml .mise/config.local.toml ' +
      '.mise/conf.d',
    reason: 'shell-startup',
    source: 'https://mise.jdx.dev/configuration.html',
  },
  {
    names: '.tmux.conf .screenrc .pam_environment .xprofile .xsession .xinitrc .xsessionrc',
    reason: 'shell-startup',
    source: 'tmux(1), screen(1), pam_env(8), xinit(1)',
  },
  {
    names: '.config/autostart .config/systemd .config/environment.d',
    reason: 'shell-startup',
    source: 'https://specifications.freedesktop.org/autostart-spec/; systemd.unit(5)',
  },
  {
    names: '.ssh .gnupg .aws/config .aws/cli/alias .kube/config .docker/config.json',
    reason: 'shell-startup',
    source:
      'ssh_config(5) ProxyCommand; https://docs.aws.amazon.com/sdkref/latest/guide/' +
      'feature-process-credentials.html; https://kubernetes.io/docs/reference/access-authn-authz/' +
      'authentication/#client-go-credential-plugins; docker-login(1) credential helpers',
  },
  {
    names: '.wgetrc .curlrc .ripgreprc .config/gh/config.yml .lazygit.yml',
    reason: 'shell-startup',
    source:
      'https://github.com/BurntSushi/ripgrep/blob/master/GUIDE.md (--pre); curl(1); wget(1); ' +
      'https://cli.github.com/manual/gh_alias_set; lazygit docs/Config.md (customCommands)',
    withoutLayer: '.ripgreprc',
  },
  // Interpreters and debuggers that read a file of the directory they start in
  {
    names: '.gdbinit .lldbinit .perldb .byebugrc .rdbgrc .pdbrc',
    reason: 'shell-startup',
    source: 'https://sourceware.org/gdb/current/onlinedocs/gdb.html/Startup.html; perldebug(1)',
    withoutLayer: '.gdbinit .lldbinit',
  },
  {
    names:
      '.irbrc .pryrc .Rprofile .Renviron .ghci .ocamlinit .iex.exs .psqlrc .sqliterc ' +
      '.duckdbrc .ipython .jupyter',
    reason: 'shell-startup',
    source: 'the manual of each: irb, pry, R Startup, ghci, ocaml, iex, psql, sqlite3, ipython',
  },
  // Editors
  {
    names:
      '.exrc .vimrc .nvimrc .lvimrc .local.vimrc .vimrc.local .vimrc_local .nvim.lua .lazy.lua ' +
      '.config/nvim .vim .ycm_extra_conf.py .vimspector.json',
    reason: 'shell-startup',
    source: "https://neovim.io/doc/user/options.html#'exrc'; vim plugins localvimrc, lazy.nvim",
    withoutLayer: '.exrc .vimrc .nvimrc .vimrc.local',
  },
  {
    names: '.dir-locals.el .dir-locals-2.el .emacs .emacs.d',
    reason: 'shell-startup',
    source: 'https://www.gnu.org/software/emacs/manual/html_node/emacs/Directory-Variables.html',
  },
  {
    names: '.vscode .theia .sublime-project',
    reason: 'editor-tasks',
    source: 'https://code.visualstudio.com/docs/debugtest/tasks#_run-behavior (folderOpen)',
    withoutLayer: '.vscode',
  },
  {
    names: '.idea .fleet',
    reason: 'editor-tasks',
    source: 'https://www.jetbrains.com/help/idea/project-settings-structure.html',
    withoutLayer: '.idea',
  },
  {
    names: '.devcontainer .devcontainer.json',
    reason: 'editor-tasks',
    source: 'https://containers.dev/implementors/json_reference/ (initializeCommand)',
    withoutLayer: '.devcontainer .devcontainer.json',
  },
  {
    names: '.zed .nova .helix .vs .kateproject .kateproject.build .bsp .externalToolBuilders',
    reason: 'editor-tasks',
    source:
      'https://zed.dev/docs/tasks; https://docs.helix-editor.com/configuration.html; ' +
      'https://build-server-protocol.github.io/docs/overview/server-discovery; Eclipse builders',
  },
  // Git and its kin
  {
    names: '.gitconfig .gitmodules .config/git .lfsconfig',
    reason: 'git-config',
    source: 'git-config(1), gitmodules(5); https://github.com/git-lfs/git-lfs git-lfs-config(5)',
    withoutLayer: '.gitconfig .gitmodules .lfsconfig',
  },
  {
    names:
      '.hg/hgrc .hg/hgrc-not-shared .hg/sharedpath .sl/config .jj/repo/config.toml ' +
      '.jj/workspace-config.toml _darcs/prefs/defaults .bzr/branch/branch.conf .bzr/branch.conf ' +
      '.pijul/config .gclient .repo/repo .repo/hooks',
    reason: 'git-config',
    source:
      'hgrc(5); https://sapling-scm.com/docs/introduction/configuration; ' +
      'https://jj-vcs.github.io/jj/latest/config/; darcs, bzr, pijul, gclient and repo manuals',
  },
  {
    names: '.githooks .git-hooks .husky .huskyrc .cargo-husky .overcommit.yml .hooks',
    reason: 'git-hooks',
    source: 'https://typicode.github.io/husky/; https://github.com/sds/overcommit',
    withoutLayer: '.githooks .husky',
  },
  {
    names: '.pre-commit-config.yaml .pre-commit-config.yml captainhook.json grumphp.yml',
    reason: 'git-hooks',
    source: 'https://pre-commit.com/; https://github.com/captainhookphp/captainhook',
    withoutLayer: '.pre-commit-config.yaml',
  },
  {
    names:
      'lefthook.yml lefthook.yaml lefthook.toml lefthook.json lefthook-local.yml ' +
      'lefthook-local.yaml .lefthook.yml .lefthook.yaml .lefthook.toml .lefthook.json .lefthook ' +
      '.lefthook-local .lefthook-local.yml .lefthook-local.yaml .config/lefthook.yml ' +
      '.config/lefthook.yaml .config/lefthook.toml .config/lefthook.json ' +
      '.config/lefthook-local.yml',
    reason: 'git-hooks',
    source: 'https://lefthook.dev/configuration/',
    withoutLayer: 'lefthook.yml .lefthook.yml',
  },
  {
    names:
      '.simple-git-hooks.json .simple-git-hooks.js .simple-git-hooks.cjs .rusty-hook.toml ' +
      '.lintstagedrc .lintstagedrc.json .lintstagedrc.yaml .lintstagedrc.yml .lintstagedrc.js ' +
      '.lintstagedrc.cjs .lintstagedrc.mjs .nano-staged.json .nano-staged.js .nano-staged.cjs',
    reason: 'git-hooks',
    source:
      'https://github.com/toplenboren/simple-git-hooks; https://github.com/lint-staged/lint-staged',
  },
  // Agents
  {
    names: '.mcp.json .mcp .claude.json .claude-plugin',
    reason: 'agent-configuration',
    source: 'https://code.claude.com/docs/en/mcp',
    withoutLayer: '.mcp.json',
  },
  {
    names:
      '.claude/settings.json .claude/settings.local.json .claude/commands .claude/agents ' +
      '.claude/hooks .claude/skills .claude/plugins .claude/statusline.sh .claude/output-styles',
    reason: 'agent-configuration',
    source: 'https://code.claude.com/docs/en/settings, /hooks, /statusline',
    withoutLayer:
      '.claude/settings.json .claude/settings.local.json .claude/commands .claude/agents ' +
      '.claude/hooks .claude/skills .claude/statusline.sh',
  },
  {
    names: '.cursor .cursorrules .codex .gemini .agents .antigravity',
    reason: 'agent-configuration',
    source:
      'https://cursor.com/docs/context/mcp; ' +
      'https://developers.openai.com/codex/config-reference; ' +
      'https://geminicli.com/docs/reference/configuration/',
    withoutLayer: '.cursor .codex .gemini .agents',
  },
  {
    names: '.opencode .opencode.json opencode.json opencode.jsonc .crush .crush.json crush.json',
    reason: 'agent-configuration',
    source: 'https://opencode.ai/docs/config/; https://github.com/charmbracelet/crush',
    withoutLayer: '.opencode.json crush.json',
  },
  {
    names:
      '.windsurf .windsurfrules .codeium .clinerules .cline .roo .roomodes .roorules .kilocode ' +
      '.kilocodemodes .junie .amazonq .kiro .trae .qwen .continue',
    reason: 'agent-configuration',
    source:
      'https://docs.windsurf.com/windsurf/cascade/hooks; https://docs.cline.bot/features/hooks; ' +
      'https://www.jetbrains.com/help/junie/; https://docs.roocode.com/; https://kilo.ai/docs; ' +
      'https://kiro.dev/docs/hooks/; https://docs.continue.dev/reference',
    withoutLayer: '.clinerules .junie .windsurfrules',
  },
  {
    names:
      '.copilot .hermes .openclaw .goose .goosehints .factory .augment .amp .pi .openhands ' +
      '.warp .rovodev .iflow .codebuddy .qoder .zencoder .conductor conductor.json gptme.toml ' +
      '.aider.conf.yml .stakpak .vibe',
    reason: 'agent-configuration',
    source:
      'https://block.github.io/goose/docs; ' +
      'https://docs.factory.ai/cli/configuration/hooks-guide; ' +
      'https://docs.augmentcode.com/cli; https://ampcode.com/manual; ' +
      'https://docs.openhands.dev/openhands/usage/customization/repository; ' +
      'https://aider.chat/docs/config/aider_conf.html; https://gptme.org/docs/config.html',
  },
  // Package managers and build tools
  {
    names:
      '.npmrc .yarnrc .yarnrc.yml .yarn/plugins .yarn/releases .pnpmfile.cjs .pnpmfile.mjs ' +
      'pnpmfile.js .bunfig.toml bunfig.toml',
    reason: 'package-manager',
    source:
      'https://docs.npmjs.com/cli/configuring-npm/npmrc; ' +
      'https://yarnpkg.com/configuration/yarnrc; ' +
      'https://pnpm.io/pnpmfile; https://bun.com/docs/runtime/bunfig',
    withoutLayer: '.npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs',
  },
  {
    names: '.cargo/config .cargo/config.toml',
    reason: 'package-manager',
    source: 'https://doc.rust-lang.org/cargo/reference/config.html',
  },
  {
    names: '.bundle/config .gemrc .condarc .pypirc pip.conf .pip/pip.conf .pixi/config.toml',
    reason: 'package-manager',
    source: 'bundle-config(1), gem(1); https://pip.pypa.io/en/stable/topics/configuration/',
  },
  {
    names: '.mvn .jvmopts .sbtopts gradle/wrapper NuGet.Config .swiftpm/configuration .luarocks',
    reason: 'package-manager',
    source:
      'https://maven.apache.org/configure.html; https://docs.gradle.org/current/userguide/' +
      'gradle_wrapper.html; https://learn.microsoft.com/nuget/reference/nuget-config-file',
  },
  // This runtime
  {
    names: '.trl.yaml .trl.yml .trl',
    reason: 'own-policy',
    source: 'docs/policy.md',
    withoutLayer: '.trl.yaml',
  },
];

/** Names that follow a pattern: one for each environment, project or run configuration. */
export const protectedPatterns = [
  {
    pattern: /^\.?mise(?:\.[^/]+)?\.toml$/,
    reason: 'shell-startup',
    source: 'https://mise.jdx.dev/configuration/environments.html',
  },
  {
    pattern: /\.(?:code-workspace|sublime-project)$/,
    reason: 'editor-tasks',
    source: 'https://code.visualstudio.com/docs/editing/workspaces/multi-root-workspaces',
  },
  {
    pattern: /\.run\.xml$/,
    reason: 'editor-tasks',
    source: 'https://www.jetbrains.com/help/idea/run-debug-configuration.html',
  },
] as const satisfies readonly {
  readonly pattern: RegExp;
  readonly reason: ProtectedNames['reason'];
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
] as const satisfies readonly {
  readonly name: RegExp;
  readonly content: RegExp;
  readonly reason: ProtectedNames['reason'];
  readonly source: string;
}[];
