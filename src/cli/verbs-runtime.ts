/** The verbs that put the runtime to use: in programs of others, as a service, to be tried. */
import { editableClients, mcpClients } from './mcp-clients.ts';
import { daemonFlags, httpFlags, sharedFlags } from './verb.ts';
import type { Verb } from './verb.ts';

const clients = `--client ${editableClients.join('|')}`;

export const runtimeVerbs: readonly (readonly [string, Verb])[] = [
  [
    'mcp',
    {
      words: '',
      about: 'serve the tools by MCP on standard input and output, for the program that starts it',
      flags: [
        'socket-path',
        'private',
        'cwd',
        'workspace-root',
        'policy',
        'tools',
        'share-cache',
        'help',
      ],
      examples: ['trl mcp --cwd ~/projects/app', 'trl mcp --tools strict'],
      load: async () => (await import('./mcp.ts')).runMcp,
    },
  ],
  [
    'demo',
    {
      words: '',
      about: 'show in a few seconds what the runtime does; it needs and leaves nothing',
      flags: ['json', 'help'],
      examples: [],
      load: async () => (await import('./demo.ts')).runDemo,
    },
  ],
  [
    'mcp install',
    {
      words: '',
      about: `give an agent's program the tools of this runtime: ${clients}`,
      flags: ['client', 'scope', 'name', 'tools', 'dry-run', 'yes', 'print', 'json', 'help'],
      examples: [
        'trl mcp install --client claude-code',
        'trl mcp install --client codex --tools general',
        'trl mcp install --client vscode --scope project --dry-run',
        `trl mcp install --print --client hermes      also ${mcpClients.slice(-4).join(', ')}`,
      ],
      load: async () => (await import('./mcp-install.ts')).runMcpInstall,
    },
  ],
  [
    'mcp uninstall',
    {
      words: '',
      about: 'take them back, and leave everything else as it is',
      flags: ['client', 'scope', 'name', 'dry-run', 'yes', 'json', 'help'],
      examples: ['trl mcp uninstall --client codex'],
      load: async () => (await import('./mcp-install.ts')).runMcpUninstall,
    },
  ],
  [
    'mcp status',
    {
      words: '',
      about: 'say which programs have them, and whether they answer',
      flags: ['client', 'scope', 'name', 'json', 'help'],
      examples: [],
      load: async () => (await import('./mcp-status.ts')).runMcpStatus,
    },
  ],
  [
    'daemon install',
    {
      words: '',
      about: 'make the runtime a service of this user, started by its first client',
      flags: ['socket-path', ...daemonFlags, ...httpFlags, 'print', 'json', 'help'],
      examples: ['trl daemon install --workspace-root ~/projects', 'trl daemon install --print'],
      load: async () => (await import('./daemon.ts')).runDaemonInstall,
    },
  ],
  [
    'daemon uninstall',
    {
      words: '',
      about: 'take the service away',
      flags: ['json', 'help'],
      examples: [],
      load: async () => (await import('./daemon.ts')).runDaemonUninstall,
    },
  ],
  [
    'daemon start',
    {
      words: '',
      about: 'start the runtime in the background, as a service where one is installed',
      flags: ['socket-path', ...daemonFlags, ...httpFlags, 'json', 'help'],
      examples: ['trl daemon start --workspace-root ~/projects'],
      load: async () => (await import('./daemon.ts')).runDaemonStart,
    },
  ],
  [
    'daemon stop',
    {
      words: '',
      about: 'end it and all that runs: TERM, after ten seconds KILL',
      flags: ['keep-running', ...sharedFlags],
      examples: ['trl daemon stop --keep-running && trl daemon start'],
      load: async () => (await import('./daemon.ts')).runDaemonStop,
    },
  ],
  [
    'daemon status',
    {
      words: '',
      about: 'say whether it runs; exits 3 when not',
      flags: sharedFlags,
      examples: [],
      load: async () => (await import('./daemon.ts')).runDaemonStatus,
    },
  ],
  [
    'daemon logs',
    {
      words: '',
      about: 'print what it said',
      flags: ['tail', 'json', 'help'],
      examples: [],
      load: async () => (await import('./daemon.ts')).runDaemonLogs,
    },
  ],
];
