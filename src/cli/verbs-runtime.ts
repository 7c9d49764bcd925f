/** Verbs for registered tools, for agents' programs, and for the runtime itself. */
import { editableClients, mcpClients } from './mcp-clients.ts';
import { daemonFlags, httpFlags, remoteFlags } from './verb.ts';
import type { VerbSection } from './verb.ts';

export const runtimeSections: readonly VerbSection[] = [
  {
    title: 'Tools and agents',
    verbs: {
      'tool list': {
        about: 'list the tools that files and programs have registered with the runtime',
        flags: ['session', ...remoteFlags],
        load: async () => (await import('./tool.ts')).runToolList,
      },
      'tool call': {
        words: 'NAME',
        about: "call a tool and exit with its command's exit code",
        flags: ['input', 'session', 'wait', ...remoteFlags],
        examples: ['trl tool call open_ticket --input \'{"title":"It rains"}\''],
        load: async () => (await import('./tool.ts')).runToolCall,
      },
      'tool check': {
        words: 'FILE…',
        about: 'check tool files; exits with 1 if a file is invalid',
        flags: ['json'],
        examples: ['trl tool check ~/.config/trl/tools/*.yaml'],
        load: async () => (await import('./tool.ts')).runToolCheck,
      },
      'tool trust': {
        words: '[DIR]',
        about: "trust the tools in a project's .trl/tools in their current versions",
        flags: ['json'],
        examples: ['trl tool trust .'],
        load: async () => (await import('./tool.ts')).runToolTrust,
      },
      mcp: {
        about: 'serve the tools over MCP on standard input and output',
        details: 'The program of an agent starts it; "trl mcp install" configures that program.',
        flags: [
          'socket-path',
          'private',
          'cwd',
          'workspace-root',
          'policy',
          'tools',
          'share-cache',
        ],
        examples: ['trl mcp --cwd ~/projects/app', 'trl mcp --tools strict'],
        load: async () => (await import('./mcp.ts')).runMcp,
      },
      'mcp install': {
        about: "add this runtime's tools to an agent's program",
        details:
          `Programs: ${editableClients.join(', ')}.\n` +
          "It adds one entry to the program's configuration file, shows the difference first\n" +
          'and keeps a backup. "trl mcp uninstall" restores the file.',
        flags: ['client', 'scope', 'name', 'tools', 'dry-run', 'yes', 'print', 'json'],
        examples: [
          'trl mcp install --client claude-code',
          'trl mcp install --client codex --tools general',
          'trl mcp install --client vscode --scope project --dry-run',
          `trl mcp install --print --client hermes      also ${mcpClients.slice(-4).join(', ')}`,
        ],
        load: async () => (await import('./mcp-install.ts')).runMcpInstall,
      },
      'mcp uninstall': {
        about: 'remove the tools from a program and leave the rest of its file unchanged',
        flags: ['client', 'scope', 'name', 'dry-run', 'yes', 'json'],
        examples: ['trl mcp uninstall --client codex'],
        load: async () => (await import('./mcp-install.ts')).runMcpUninstall,
      },
      'mcp status': {
        about: 'show which programs have the tools, and whether they respond',
        flags: ['client', 'scope', 'name', 'json'],
        load: async () => (await import('./mcp-status.ts')).runMcpStatus,
      },
    },
  },
  {
    title: 'Running it',
    verbs: {
      serve: {
        about: 'start the runtime and listen on its socket',
        flags: ['socket-path', ...daemonFlags, ...httpFlags, 'json'],
        examples: [
          'trl serve --workspace-root ~/projects',
          'TRL_AUTH_TOKEN="$(openssl rand -hex 32)" trl serve --http 127.0.0.1:7070',
        ],
        load: async () => (await import('./serve.ts')).runServe,
      },
      stdio: {
        about: 'serve the protocol on standard input and output',
        flags: daemonFlags,
        examples: ['trl stdio --workspace-root .'],
        load: async () => (await import('./serve.ts')).runStdio,
      },
      demo: {
        about: 'show what the runtime does; needs no setup and leaves no files',
        flags: ['json'],
        load: async () => (await import('./demo.ts')).runDemo,
      },
      'daemon install': {
        about: 'install the runtime as a service that its first client starts',
        flags: ['socket-path', ...daemonFlags, ...httpFlags, 'print', 'json'],
        examples: ['trl daemon install --workspace-root ~/projects', 'trl daemon install --print'],
        load: async () => (await import('./daemon.ts')).runDaemonInstall,
      },
      'daemon uninstall': {
        about: 'remove the service',
        flags: ['json'],
        load: async () => (await import('./daemon.ts')).runDaemonUninstall,
      },
      'daemon start': {
        about: 'start the runtime in the background, as a service if one is installed',
        flags: ['socket-path', ...daemonFlags, ...httpFlags, 'json'],
        examples: ['trl daemon start --workspace-root ~/projects'],
        load: async () => (await import('./daemon.ts')).runDaemonStart,
      },
      'daemon stop': {
        about: 'stop the runtime and its commands: TERM, after ten seconds KILL',
        flags: ['keep-running', ...remoteFlags],
        examples: ['trl daemon stop --keep-running && trl daemon start'],
        load: async () => (await import('./daemon.ts')).runDaemonStop,
      },
      'daemon status': {
        about: 'show whether the runtime is running; exits with 3 if not',
        flags: remoteFlags,
        load: async () => (await import('./daemon.ts')).runDaemonStatus,
      },
      'daemon logs': {
        about: "print the runtime's log",
        flags: ['tail', 'json'],
        load: async () => (await import('./daemon.ts')).runDaemonLogs,
      },
      'config show': {
        about: "show the runtime's settings from files, variables and flags",
        flags: ['origin', 'config', 'env-mode', 'bound', 'json'],
        examples: ['trl config show --origin'],
        load: async () => (await import('./config.ts')).runConfigShow,
      },
      doctor: {
        about: 'check what the sandbox needs and how to install what is missing',
        flags: remoteFlags,
        load: async () => (await import('./doctor.ts')).runDoctor,
      },
      completions: {
        words: 'bash|zsh|fish',
        about: 'print completions for a shell',
        flags: [],
        examples: ['trl completions bash > ~/.local/share/bash-completion/completions/trl'],
        complete: ['bash', 'zsh', 'fish'],
        load: async () => (await import('./completions.ts')).runCompletions,
      },
      help: {
        words: '[VERB]',
        about: 'show all verbs, or the flags and examples of one',
        flags: [],
        examples: ['trl help run', 'trl help session create'],
        load: async () => (await import('./help.ts')).runHelp,
      },
    },
  },
];
