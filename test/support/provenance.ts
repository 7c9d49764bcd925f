/** Records of commands for tests of statements and graphs. */
import { createHash } from 'node:crypto';
import type { Change, RecordedChanges } from '../../src/change.ts';
import type { Exit } from '../../src/command.ts';
import type { CommandBasis, CommandRecord } from '../../src/provenance/statement.ts';

export const sha = (text: string): string => createHash('sha256').update(text).digest('hex');
export const treeOf = (text: string): `tree:sha256:${string}` => `tree:sha256:${sha(text)}`;
export const execOf = (text: string): `x-${string}` => `x-${sha(text).slice(0, 32)}`;
export const sessionOf = (text: string): `s-${string}` => `s-${sha(text).slice(0, 32)}`;

export function change(path: string, options: Partial<Change> = {}): Change {
  return {
    path,
    kind: 'added',
    before: null,
    after: { type: 'file', mode: 0o644, size: 1, mtimeMs: 0, sha256: sha(path) },
    marks: [],
    state: 'applied',
    reason: null,
    concurrentWith: [],
    ...options,
  };
}

export function recordedOf(changes: readonly Change[], complete = true): RecordedChanges {
  const [before, after] = [treeOf('before'), changes.length === 0 ? 'before' : 'after'];
  const snapshot = { before, after: treeOf(after), method: 'overlay' as const };
  return { snapshot, mode: 'direct', changes, complete };
}

const exit: Exit = {
  exec_id: execOf('one'),
  session_id: sessionOf('one'),
  exit_code: 0,
  signal: null,
  timed_out: false,
  stopped: null,
  started_at: 1_795_000_000_000,
  ended_at: 1_795_000_000_250,
  duration_ms: 250,
  stdout_bytes: 6,
  stderr_bytes: 0,
  stdout_sha256: sha('hello\n'),
  stderr_sha256: sha(''),
  raw_log: null,
  journal_bytes: 6,
  journal_from: 0,
  cwd: '/work',
  state_captured: true,
  state_names: [],
  state_dropped: [],
  cwd_fallback: null,
  cwd_missing: false,
  ended_background: 0,
  survivors: [],
  warm: false,
  limits: [{ name: 'processes', value: 512, by: 'setrlimit', hit: null }],
  redactions: { count: 0, forced_flushes: 0, entries: [], omitted: 0 },
};

const basis: CommandBasis = {
  session: sessionOf('one'),
  requester: 'agent:test',
  command: 'make all',
  command_bytes: 8,
  shell: '/bin/bash',
  cwd: '/work',
  mode: 'foreground',
  env: ['PATH', 'HOME'],
  command_env: ['CI'],
  stdin: 'closed',
  pty: false,
  plan_digest: sha('plan'),
  box_digest: sha('box'),
  verdict: {
    decision: 'allow',
    policy: { name: 'auto', version: sha('policy') },
    rules: ['allow.sandboxed'],
  },
  approval: null,
  sandbox: {
    kind: 'bubblewrap',
    level: 'full',
    network: 'off',
    scope: sha('scope'),
    files: { read: { allow: [], deny: ['**/.env'] }, write: { allow: [], deny: [] } },
    beyond: [],
  },
};

export function record(
  options: Omit<Partial<CommandRecord>, 'basis' | 'exit'> & {
    readonly basis?: Partial<CommandBasis>;
    readonly exit?: Partial<Exit>;
  } = {},
): CommandRecord {
  return {
    id: execOf('one'),
    recorded: recordedOf([]),
    mask: sha('mask'),
    programs: [],
    runtime: { version: '0.0.0', host: 'linux-x64' },
    redact: (text) => text,
    ...options,
    basis: { ...basis, ...options.basis },
    exit: { ...exit, ...options.exit },
  };
}
