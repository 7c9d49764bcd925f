/**
 * Names of files that a tool runs or obeys without approval: on entering a directory, on opening a
 * project, at each command of git or a package manager. Data: each row cites its documentation. A
 * directory's name covers everything in it.
 */

export interface ProtectedNamesRow {
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

export const protectedNamesTable: readonly ProtectedNamesRow[] = [
  // Shells, and what they start with
  {
    names:
      '.bashrc .bash_profile .bash_login .bash_logout .profile .bash_aliases .bashrc.d ' +
      '.bashrc.local',
    reason: 'shell-startup',
    source: 'https://www.gnu.org/software/bash/manual/html_node/Bash-Startup-Files.html',
    withoutLayer: '.bashrc .bash_profile .bash_login .bash_logout .profile',
  },
  {
    names: '.zshrc .zshrc.local .zprofile .zshenv .zlogin .zlogout',
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
    names:
      '.rvmrc .rbenv-vars .powrc .powenv .prototools .shadowenv.d .autoenv_leave.zsh ' +
      '.autoenv.leave .env.leave _opam/.opam-switch',
    reason: 'shell-startup',
    source:
      'https://rvm.io/workflow/projects; https://shopify.github.io/shadowenv/; ' +
      'https://moonrepo.dev/docs/proto/config; https://opam.ocaml.org/doc/Usage.html (hooks); ' +
      'https://github.com/basecamp/pow',
  },
  {
    names:
      '.xonshrc .config/xonsh .config/nushell .config/elvish .config/powershell .config/zsh ' +
      '.config/tmux .config/starship.toml .config/kitty .config/alacritty .config/i3 ' +
      '.config/sway .config/hypr .wezterm.lua .editrc .lessfilter .forward .procmailrc .mailcap ' +
      '.muttrc .netrc _netrc .my.cnf .tigrc',
    reason: 'shell-startup',
    source:
      'of a home directory: the manual of each; https://starship.rs/config/#custom-commands; ' +
      'editrc(5), lesspipe(1), forward(5), mailcap(5), netrc(5) macdef, mysql(1) pager',
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
    names:
      '.ssh .gnupg .aws/config .aws/credentials .aws/cli/alias .kube/config .docker/config.json ' +
      '.docker/cli-plugins',
    reason: 'shell-startup',
    source:
      'ssh_config(5) ProxyCommand; https://docs.aws.amazon.com/sdkref/latest/guide/' +
      'feature-process-credentials.html; https://kubernetes.io/docs/reference/access-authn-authz/' +
      'authentication/#client-go-credential-plugins; docker-login(1) credential helpers',
  },
  {
    names: '.wgetrc .curlrc _curlrc .ripgreprc .config/gh/config.yml .lazygit.yml',
    reason: 'shell-startup',
    source:
      'https://github.com/BurntSushi/ripgrep/blob/master/GUIDE.md (--pre); curl(1); wget(1); ' +
      'https://cli.github.com/manual/gh_alias_set; lazygit docs/Config.md (customCommands)',
    withoutLayer: '.ripgreprc',
  },
  // Interpreters and debuggers that read a file of the directory they start in
  {
    names: '.gdbinit .gdbearlyinit .lldbinit .perldb .byebugrc .rdbgrc .pdbrc .radare2rc .rizinrc',
    reason: 'shell-startup',
    source: 'https://sourceware.org/gdb/current/onlinedocs/gdb.html/Startup.html; perldebug(1)',
    withoutLayer: '.gdbinit .lldbinit',
  },
  {
    names:
      '.irbrc .pryrc .Rprofile .Renviron .ghci .ocamlinit .iex.exs .psqlrc .sqliterc ' +
      '.duckdbrc .ipython .jupyter .RData .octaverc .utop-init.ml irb.rc _irbrc .config/irb ' +
      '.proverc .ghcid',
    reason: 'shell-startup',
    source:
      'the manual of each: irb, pry, R Startup (.First in .RData), ghci, ocaml, iex, psql, ' +
      'sqlite3, ipython, Octave Startup-Files, prove',
  },
  // Editors
  {
    names:
      '.exrc .vimrc .nvimrc .lvimrc .local.vimrc .vimrc.local .vimrc_local .nvim.lua .lazy.lua ' +
      '.config/nvim .vim .ycm_extra_conf.py .vimspector.json .gvimrc _vimrc _exrc .neoconf.json ' +
      '.ctags .ctags.d',
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
  {
    names:
      'hie.yaml .hie-bios .lsp/config.edn .merlin .luarc.json .luarc.jsonc rust-analyzer.toml ' +
      '.rust-analyzer.toml .phpactor.json .phpactor.yml .tern-project .config/helix .config/zed',
    reason: 'editor-tasks',
    source:
      'what a language server runs on opening: https://github.com/haskell/hie-bios (cradles); ' +
      'https://clojure-lsp.io/settings/ (project-specs); merlin (FLG -ppx); ' +
      'https://luals.github.io/wiki/settings/#runtimeplugin; ' +
      'https://rust-analyzer.github.io/book/configuration.html; phpactor language server',
  },
  // Git and its kin
  {
    names:
      '.gitconfig .gitmodules .config/git .lfsconfig .gitreview .tgitconfig .arcconfig ' +
      '.reviewboardrc',
    reason: 'git-config',
    source:
      'git-config(1), gitmodules(5); https://github.com/git-lfs/git-lfs git-lfs-config(5); ' +
      'https://docs.opendev.org/opendev/git-review/ (fetches a hook); tortoisegit; arcanist (load)',
    withoutLayer: '.gitconfig .gitmodules .lfsconfig',
  },
  {
    names:
      '.hg/hgrc .hg/hgrc-not-shared .hg/sharedpath .sl/config .sl/hgrc .jj/repo/config.toml ' +
      '.jj/workspace-config.toml _darcs/prefs/defaults .bzr/branch/branch.conf .bzr/branch.conf ' +
      '.pijul/config .gclient .repo/repo .repo/hooks',
    reason: 'git-config',
    source:
      'hgrc(5); https://sapling-scm.com/docs/introduction/configuration; ' +
      'https://jj-vcs.github.io/jj/latest/config/; darcs, bzr, pijul, gclient and repo manuals',
  },
  {
    names: '.githooks .git-hooks .husky .cargo-husky .overcommit.yml .hooks .trunk .qlty',
    reason: 'git-hooks',
    source:
      'https://typicode.github.io/husky/; https://github.com/sds/overcommit; ' +
      'https://docs.trunk.io/cli; https://docs.qlty.sh/',
    withoutLayer: '.githooks .husky',
  },
  {
    names:
      '.pre-commit-config.yaml .pre-commit-config.yml prek.toml hk.pkl hk.local.pkl ' +
      'captainhook.json',
    reason: 'git-hooks',
    source:
      'https://pre-commit.com/; https://prek.j178.dev/; https://hk.jdx.dev/; ' +
      'https://github.com/captainhookphp/captainhook',
    withoutLayer: '.pre-commit-config.yaml',
  },
  {
    names: 'lefthook.yml .lefthook.yml .lefthook .lefthook-local .rusty-hook.toml',
    reason: 'git-hooks',
    source: 'https://lefthook.dev/configuration/; names with other endings are patterns below',
    withoutLayer: 'lefthook.yml .lefthook.yml',
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
    names: '.claude/launch.json .claude/workflows .claude/scheduled_tasks.json',
    reason: 'agent-configuration',
    source: 'https://code.claude.com/docs/en/desktop, /scheduled-tasks',
  },
  {
    names:
      '.github/hooks .github/mcp.json .github/copilot .github/agents .github/extensions .agent ' +
      '.tabnine .grok .mux codebuff.json .kilo kilo.json kilo.jsonc .eca .mcphub ' +
      '.continuerc.json .superset .emdash.json .config/goose .config/opencode .config/crush',
    reason: 'agent-configuration',
    source:
      'https://docs.github.com/en/copilot/reference/hooks-configuration; ' +
      'https://docs.tabnine.com/ (mcp_servers.json); https://kilo.ai/docs; https://eca.dev/; ' +
      'https://ravitemer.github.io/mcphub.nvim/mcp/servers_json; https://mux.coder.com/',
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
      '.npmrc .yarnrc .yarnrc.yml .yarn/plugins .yarn/releases .yarn/sdks ' +
      '.pnpmfile.cjs .pnpmfile.mjs pnpmfile.js .bunfig.toml bunfig.toml',
    reason: 'package-manager',
    source:
      'https://docs.npmjs.com/cli/configuring-npm/npmrc; ' +
      'https://yarnpkg.com/configuration/yarnrc; ' +
      'https://pnpm.io/pnpmfile; https://bun.com/docs/runtime/bunfig',
    withoutLayer: '.npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs',
  },
  {
    names: '.cargo/config .cargo/config.toml .cargo/env',
    reason: 'package-manager',
    source: 'https://doc.rust-lang.org/cargo/reference/config.html',
  },
  {
    names:
      '.bundle/config .bundle/plugin .gemrc .condarc .mambarc .pypirc pip.conf .pip/pip.conf ' +
      '.config/pip .pixi/config.toml uv.toml .config/uv pdm.toml .pdm.toml .pdm-python',
    reason: 'package-manager',
    source:
      'bundle-config(1), gem(1); https://pip.pypa.io/en/stable/topics/configuration/; ' +
      'https://docs.astral.sh/uv/concepts/configuration-files/; https://pdm-project.org/',
  },
  {
    names: '.bazelrc user.bazelrc .bazeliskrc .buckconfig .buckconfig.local .buckconfig.d',
    reason: 'package-manager',
    source:
      'https://bazel.build/run/bazelrc; https://github.com/bazelbuild/bazelisk (BASE_URL); ' +
      'https://buck2.build/docs/concepts/buckconfig/',
  },
  {
    names:
      '.gradle/init.gradle .gradle/init.gradle.kts .gradle/init.d .m2/settings.xml .mavenrc ' +
      '.antrc .lein .sbtrc .terraformrc .tofurc ansible.cfg .ansible.cfg',
    reason: 'package-manager',
    source:
      'https://docs.gradle.org/current/userguide/init_scripts.html; ' +
      'https://maven.apache.org/settings.html; ' +
      'https://docs.ansible.com/ansible/latest/reference_appendices/config.html; ' +
      'https://developer.hashicorp.com/terraform/cli/config/config-file',
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

// Names by which a file in a project is run later, by a tool, on the host. Pure.

/**
 * At the root of the workspace and of every git worktree in it, where there is no layer.
 * `.gitattributes` stays writable: the filters it names do nothing without the configuration, which
 * is protected.
 */
export const unlayeredProtectedNames: readonly string[] = protectedNamesTable.flatMap(
  ({ withoutLayer }) => withoutLayer?.split(' ') ?? [],
);

/**
 * In every git directory. `commondir` would make git read another directory's configuration;
 * `config.worktree` and `info/attributes` are read beside the ones that people look at.
 */
export const gitProtectedNames: readonly string[] = [
  'hooks',
  'config',
  'config.worktree',
  'commondir',
  'info/attributes',
];
