/** Verbs for commands, sessions, and what commands changed. */
import { grantFlags, limitFlags, remoteFlags, startFlags } from './verb.ts';
import type { VerbSection } from './verb.ts';

export const workSections: readonly VerbSection[] = [
  {
    title: 'Commands and sessions',
    verbs: {
      run: {
        words: '[--] COMMAND…',
        about: "run a command in a sandbox and exit with the command's exit code",
        details:
          'One word is shell text; several words are an argument list. Without --session, the\n' +
          'command gets a new session, which ends with it.',
        flags: [
          ...startFlags,
          'policy',
          'wait',
          ...grantFlags,
          'dry-run',
          'verbose',
          'raw',
          'quiet',
          'private',
          ...remoteFlags,
        ],
        examples: [
          "trl run 'npm test 2>&1 | tail'      one word is shell text",
          'trl run -- grep -r "a b" src        several words are an argument list',
          'trl run --json --timeout 5m make    the receipt, in one line',
          'trl run --allow-read ~/data --net example.com -- python3 fetch.py',
          'trl run --dry-run npm update        shows the changes without keeping them',
        ],
        load: async () => (await import('./run.ts')).runSingleCommand,
      },
      'session create': {
        about: 'create a session and print its id',
        flags: [
          'name',
          'shell',
          'carry',
          'cwd',
          'env',
          'env-key',
          'policy',
          'workspace',
          'workspace-mode',
          ...limitFlags,
          ...grantFlags,
          ...remoteFlags,
        ],
        examples: ['s=$(trl session create) && trl run --session "$s" cd src'],
        load: async () => (await import('./session.ts')).runSessionCreate,
      },
      'session list': {
        about: 'list the sessions',
        flags: remoteFlags,
        load: async () => (await import('./session.ts')).runSessionList,
      },
      'session info': {
        words: 'ID|NAME',
        about: 'show a session',
        flags: remoteFlags,
        load: async () => (await import('./session.ts')).runSessionInfo,
      },
      'session destroy': {
        words: 'ID|NAME…',
        about: 'end sessions',
        flags: ['force', ...remoteFlags],
        load: async () => (await import('./session.ts')).runSessionDestroy,
      },
      net: {
        words: 'ID|NAME',
        about: 'list the connections that a session has now',
        flags: remoteFlags,
        load: async () => (await import('./net.ts')).runNet,
      },
      'net block': {
        words: 'ID|NAME HOST',
        about: 'end the connections of a session to a host, and refuse it from now on',
        flags: remoteFlags,
        load: async () => (await import('./net.ts')).runNetBlock,
      },
      port: {
        words: 'ID|NAME PORT',
        about: 'show a port of a session in a browser on this machine',
        flags: remoteFlags,
        examples: ['trl port web 5173'],
        load: async () => (await import('./port.ts')).runPort,
      },
      'session attach': {
        words: 'ID|NAME',
        about: 'open an interactive shell in a session',
        flags: ['raw', ...remoteFlags],
        load: async () => (await import('./session.ts')).runSessionAttach,
      },
      'exec start': {
        words: '[--] COMMAND…',
        about: 'start a command in the background and print its id',
        flags: [...startFlags, ...remoteFlags],
        examples: ['x=$(trl exec start --session web -- npm start) && trl exec attach "$x"'],
        load: async () => (await import('./exec.ts')).runExecStart,
      },
      'exec list': {
        about: 'list commands that are running or ended recently',
        flags: ['session', ...remoteFlags],
        load: async () => (await import('./exec.ts')).runExecList,
      },
      'exec attach': {
        words: 'ID',
        about: 'follow a command and exit with its exit code; Ctrl-C leaves it running',
        flags: ['from', 'raw', 'quiet', ...remoteFlags],
        load: async () => (await import('./exec.ts')).runExecAttach,
      },
      'exec cancel': {
        words: 'ID',
        about: 'end a command: send TERM, then KILL after the grace period',
        flags: ['signal', ...remoteFlags],
        examples: ['trl exec cancel --signal INT x-…'],
        load: async () => (await import('./exec.ts')).runExecCancel,
      },
      'exec read': {
        words: 'ID',
        about: "print a part of a command's output",
        flags: ['from', 'max', 'wait', 'tail', 'grep', 'raw', ...remoteFlags],
        examples: ['trl exec read --tail 20 x-…'],
        load: async () => (await import('./exec.ts')).runExecRead,
      },
      'exec write': {
        words: 'ID [TEXT]',
        about: 'send input to a command: TEXT, or standard input if there is none',
        flags: ['eof', ...remoteFlags],
        examples: ["trl exec write x-… $'yes\\n'"],
        load: async () => (await import('./exec.ts')).runExecWrite,
      },
    },
  },
  {
    title: 'What commands changed',
    verbs: {
      diff: {
        words: '[EXEC] [PATH…]',
        about: 'show what changed; default: by the latest command here',
        flags: ['session', 'stat', 'context', ...remoteFlags],
        examples: [
          'trl diff --stat',
          'trl diff --session web src      the net change of all its commands',
        ],
        load: async () => (await import('./changes.ts')).runDiff,
      },
      undo: {
        words: 'EXEC [PATH…]',
        about: "undo a command's changes; later changes by others are kept",
        details: 'Exits with 1 if a path was not restored.',
        flags: ['dry-run', ...remoteFlags],
        examples: ['trl undo --dry-run x-…', 'trl undo x-… src/main.ts'],
        load: async () => (await import('./changes.ts')).runUndo,
      },
      'snapshot list': {
        words: '[DIR]',
        about: 'list commands and their changes; default: in this directory',
        flags: ['session', 'limit', ...remoteFlags],
        load: async () => (await import('./changes.ts')).runSnapshotList,
      },
      'snapshot show': {
        words: 'EXEC|TREE',
        about: "show a command's record: tree before, tree after, changes",
        flags: remoteFlags,
        load: async () => (await import('./changes.ts')).runSnapshotShow,
      },
      'snapshot restore': {
        words: 'EXEC|TREE [PATH…]',
        about: 'restore the state before a command, or a recorded tree',
        flags: ['dry-run', ...remoteFlags],
        examples: ['trl snapshot restore --dry-run x-…'],
        load: async () => (await import('./changes.ts')).runSnapshotRestore,
      },
      'workspace list': {
        about: 'list the directories in which sessions may work',
        flags: remoteFlags,
        load: async () => (await import('./workspace.ts')).runWorkspaceList,
      },
      'workspace trust': {
        words: '[DIR]',
        about: 'allow sessions in a project, as "trl run" and "trl mcp" do',
        flags: remoteFlags,
        load: async () => (await import('./workspace.ts')).runWorkspaceTrust,
      },
      'workspace forget': {
        words: '[DIR]',
        about: 'allow no new session in a project; existing sessions continue',
        flags: remoteFlags,
        examples: ['trl workspace forget ~/projects/old'],
        load: async () => (await import('./workspace.ts')).runWorkspaceForget,
      },
      'cache list': {
        about: 'list what programs keep in HOME for later commands, by project',
        flags: remoteFlags,
        load: async () => (await import('./workspace.ts')).runCacheList,
      },
      'cache clear': {
        words: '[DIR]',
        about: "clear a project's cache; default: this directory's",
        flags: ['all', ...remoteFlags],
        examples: ['trl cache clear --all'],
        load: async () => (await import('./workspace.ts')).runCacheClear,
      },
      'workspace open': {
        words: '[DIR]',
        about: 'open a directory with its own file rules; print its id',
        flags: ['workspace-mode', 'allow-read', 'deny-read', 'deny-write', ...remoteFlags],
        examples: [
          "w=$(trl workspace open --deny-read '**/*.pem' --deny-read customers)",
          'trl session create --workspace "$w"',
        ],
        load: async () => (await import('./workspace.ts')).runWorkspaceOpen,
      },
      'workspace status': {
        about: "show a session's pending changes: staged, held or in conflict",
        flags: ['session', ...remoteFlags],
        load: async () => (await import('./workspace.ts')).runWorkspaceStatus,
      },
      'workspace apply': {
        words: '[PATH…]',
        about: 'apply staged changes; with --held also held changes',
        details:
          'Only a person may apply held changes. Exits with 1 after a conflict, or if a\n' +
          'change is still held.',
        flags: ['session', 'held', 'passphrase-stdin', ...remoteFlags],
        examples: ['trl workspace apply src', 'trl workspace apply --held .git/hooks'],
        load: async () => (await import('./workspace.ts')).runWorkspaceApply,
      },
      'workspace discard': {
        words: '[PATH…]',
        about: 'discard staged and held changes',
        flags: ['session', ...remoteFlags],
        load: async () => (await import('./workspace.ts')).runWorkspaceDiscard,
      },
    },
  },
];
