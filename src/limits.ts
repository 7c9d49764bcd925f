/**
 * Every bound of the runtime in one table: unit, default, hard maximum. `null` as a maximum means
 * that any larger value may be asked for; `null` as a default means not bounded unless asked for.
 */
export interface Limit {
  readonly unit: 'bytes' | 'ms' | 's' | 'count';
  readonly default: number | null;
  readonly max: number | null;
  readonly about: string;
}

const KiB = 1024;
const MiB = 1024 * KiB;
const GiB = 1024 * MiB;

export const limits = {
  sessionsActive: { unit: 'count', default: 64, max: 4096, about: 'sessions with a holder' },
  sessionRecords: { unit: 'count', default: 10_000, max: 100_000, about: 'session records' },
  commandsConcurrent: { unit: 'count', default: 32, max: 256, about: 'commands running at once' },
  timeoutMs: { unit: 'ms', default: 60_000, max: 7 * 86_400_000, about: 'run time of a command' },
  detachedTimeoutMs: { unit: 'ms', default: null, max: null, about: 'run time of exec.start' },
  // An editor or a shell that somebody types into is not hung after a minute.
  terminalTimeoutMs: {
    unit: 'ms',
    default: 12 * 3_600_000,
    max: 7 * 86_400_000,
    about: 'run time of a command at a terminal',
  },
  idleTimeoutMs: { unit: 'ms', default: null, max: 7 * 86_400_000, about: 'time without output' },
  graceMs: { unit: 'ms', default: 5_000, max: 60_000, about: 'from TERM to KILL' },
  sessionIdleMs: { unit: 'ms', default: 86_400_000, max: null, about: 'session without a command' },
  sessionGoneMs: {
    unit: 'ms',
    default: 10_000,
    max: 86_400_000,
    about: 'idle session of lifetime "client" after its client has left',
  },
  warmIdleMs: { unit: 'ms', default: 30_000, max: 600_000, about: 'age of a prepared sandbox' },
  warmCount: { unit: 'count', default: 4, max: 64, about: 'prepared sandboxes at once' },
  frameBytes: { unit: 'bytes', default: 8 * MiB, max: 8 * MiB, about: 'one request line' },
  frameDepth: { unit: 'count', default: 32, max: 32, about: 'nesting of one request' },
  commandBytes: { unit: 'bytes', default: 1 * MiB, max: 1 * MiB, about: 'command text' },
  stdinBytes: { unit: 'bytes', default: 1 * MiB, max: 1 * MiB, about: 'stdin given with a call' },
  envBytes: { unit: 'bytes', default: 1 * MiB, max: 1 * MiB, about: 'all variables of a call' },
  stateBytes: { unit: 'bytes', default: 1 * MiB, max: 1 * MiB, about: 'state out of a command' },
  stateValueBytes: { unit: 'bytes', default: 64 * KiB, max: 64 * KiB, about: 'one carried value' },
  outputBytes: { unit: 'bytes', default: 4 * MiB, max: 64 * MiB, about: 'a stream in an answer' },
  journalBytes: { unit: 'bytes', default: 1 * GiB, max: 16 * GiB, about: 'journal of a command' },
  journalMemoryBytes: { unit: 'bytes', default: 64 * MiB, max: 64 * MiB, about: 'of it in memory' },
  journalFilesBytes: { unit: 'bytes', default: 4 * GiB, max: 4 * GiB, about: 'journals on disk' },
  journalsBytes: { unit: 'bytes', default: 512 * MiB, max: 64 * GiB, about: 'journals in memory' },
  journalKeepMs: { unit: 'ms', default: 900_000, max: 86_400_000, about: 'journal after exit' },
  usedKeys: { unit: 'count', default: 50_000, max: 50_000, about: 'keys of calls that are over' },
  usedKeysOfScope: {
    unit: 'count',
    default: 1_000,
    max: 1_000,
    about: 'keys of calls that are over, of a session or a caller of tools',
  },
  usedKeyMs: { unit: 'ms', default: 86_400_000, max: 86_400_000, about: 'a key of such a call' },
  cpuSeconds: { unit: 's', default: null, max: null, about: 'CPU time of a process' },
  processes: { unit: 'count', default: 512, max: 32_768, about: 'processes of a command' },
  openFiles: { unit: 'count', default: 4_096, max: 1_048_576, about: 'open files of a process' },
  fileBytes: { unit: 'bytes', default: null, max: null, about: 'size of a written file' },
  memoryBytes: { unit: 'bytes', default: null, max: null, about: 'memory of a command' },
  addressSpaceBytes: { unit: 'bytes', default: null, max: null, about: 'address space' },
  scratchBytes: {
    unit: 'bytes',
    default: 2 * GiB,
    max: 64 * GiB,
    about: 'private HOME, TMPDIR each',
  },
  connections: { unit: 'count', default: 256, max: 4_096, about: 'connections to the socket' },
  pendingRequests: { unit: 'count', default: 256, max: 256, about: 'requests queued a connection' },
  streamWindowBytes: {
    unit: 'bytes',
    default: 4 * MiB,
    max: 64 * MiB,
    about: 'unread stream bytes',
  },
  windowBytes: {
    unit: 'bytes',
    default: 1 * MiB,
    max: 64 * MiB,
    about: 'output a client has not taken yet',
  },
  leaseMs: {
    unit: 'ms',
    default: 60_000,
    max: 3_600_000,
    about: 'a lease of a command, if not renewed',
  },
  slowReaderMs: {
    unit: 'ms',
    default: 10_000,
    max: 600_000,
    about: 'a reader that holds a command',
  },
  drainMs: { unit: 'ms', default: 10_000, max: 600_000, about: 'waiting for commands at SIGUSR2' },
  stopMs: { unit: 'ms', default: 10_000, max: 20_000, about: 'TERM to KILL at the end of all' },
  idleExitMs: { unit: 'ms', default: 120_000, max: null, about: 'runtime that nobody uses' },
  cacheBytes: {
    unit: 'bytes',
    default: 10 * 1024 * MiB,
    max: null,
    about: 'caches in HOME of one project',
  },
  runnerLingerMs: { unit: 'ms', default: 600_000, max: null, about: 'runner without a daemon' },
  workspaceEntries: { unit: 'count', default: 200_000, max: 2_000_000, about: 'entries walked' },
  policyBytes: { unit: 'bytes', default: 64 * KiB, max: 64 * KiB, about: 'script text analysed' },
  policyDepth: { unit: 'count', default: 64, max: 64, about: 'nesting analysed' },
  policyCommands: { unit: 'count', default: 2_000, max: 2_000, about: 'commands in one analysis' },
  policyMs: { unit: 'ms', default: 50, max: 50, about: 'time of one analysis' },
  approvalMs: { unit: 'ms', default: 900_000, max: 86_400_000, about: 'waiting for a person' },
  approvalClaimMs: { unit: 'ms', default: 900_000, max: 86_400_000, about: 'from yes to start' },
  approvalGrantMs: { unit: 'ms', default: 86_400_000, max: 86_400_000, about: "a session's grant" },
  approvalKeepMs: { unit: 'ms', default: 86_400_000, max: null, about: 'an approval that is over' },
  approvalRecords: { unit: 'count', default: 1_000, max: 10_000, about: 'approvals that are over' },
  approvalsOfSession: { unit: 'count', default: 32, max: 256, about: 'approvals a session awaits' },
  approvalsPending: { unit: 'count', default: 256, max: 4_096, about: 'approvals awaited in all' },
  approvalWords: { unit: 'bytes', default: 4 * KiB, max: 4 * KiB, about: 'words of an answer' },
  redactionEntries: { unit: 'count', default: 100, max: 100, about: 'secrets named in a receipt' },
  redactionLagBytes: {
    unit: 'bytes',
    default: 1 * MiB,
    max: 1 * MiB,
    about: 'output that waits to be redacted, each command',
  },
  redactionMs: { unit: 'ms', default: 30_000, max: 30_000, about: 'redacting one chunk' },
  secretsActive: { unit: 'count', default: 256, max: 256, about: 'known values of a command' },
  secretsBytes: {
    unit: 'bytes',
    default: 1 * MiB,
    max: 1 * MiB,
    about: 'all known values of a command: longer ones take seconds to prepare for',
  },
  secretBytes: { unit: 'bytes', default: 64 * KiB, max: 64 * KiB, about: 'one secret' },
  rawLogBytes: { unit: 'bytes', default: 1 * GiB, max: 64 * GiB, about: 'one sealed raw log' },
  rawLogsBytes: { unit: 'bytes', default: 8 * GiB, max: null, about: 'all sealed raw logs' },
  commitChanges: {
    unit: 'count',
    default: 200_000,
    max: 2_000_000,
    about: 'changes of a command that reach the workspace by themselves',
  },
  commitBytes: {
    unit: 'bytes',
    default: 8 * GiB,
    max: null,
    about: 'bytes of them',
  },
  snapshotBytes: { unit: 'bytes', default: 4 * GiB, max: null, about: 'contents kept for undo' },
  snapshotFileBytes: {
    unit: 'bytes',
    default: 256 * MiB,
    max: 1 * GiB,
    about: 'the largest content that is kept',
  },
  snapshotKeepMs: {
    unit: 'ms',
    default: 30 * 86_400_000,
    max: null,
    about: 'changes of a command that can be undone',
  },
  receiptChanges: { unit: 'count', default: 200, max: 200, about: 'changes in a receipt' },
  changesListed: { unit: 'count', default: 1_000, max: 1_000, about: 'changes in one list' },
  diffBytes: { unit: 'bytes', default: 2 * MiB, max: 2 * MiB, about: 'text of a diff' },
  diffFileBytes: { unit: 'bytes', default: 4 * MiB, max: 4 * MiB, about: 'a file in a diff' },
  statementSubjects: {
    unit: 'count',
    default: 10_000,
    max: 10_000,
    about: 'files that the statement of a command names',
  },
  publicationBytes: {
    unit: 'bytes',
    default: 256 * MiB,
    max: 256 * MiB,
    about: 'what is looked at for one publication',
  },
  publicationItems: {
    unit: 'count',
    default: 50_000,
    max: 50_000,
    about: 'files, outputs and texts of one publication',
  },
  publicationTextBytes: {
    unit: 'bytes',
    default: 4 * MiB,
    max: 4 * MiB,
    about: 'a text given with publish.check',
  },
  publicationSeenBytes: {
    unit: 'bytes',
    default: 64 * MiB,
    max: 64 * MiB,
    about: 'what an audience sees already that is subtracted',
  },
  publicationKeepMs: {
    unit: 'ms',
    default: 600_000,
    max: 600_000,
    about: 'a publication that nobody took',
  },
  auditListed: { unit: 'count', default: 100, max: 1_000, about: 'events in one answer' },
  auditEventBytes: { unit: 'bytes', default: 4 * MiB, max: 4 * MiB, about: 'an event as written' },
  auditGroupBytes: {
    unit: 'bytes',
    default: 16 * MiB,
    max: 16 * MiB,
    about: 'events that are written at once; an append is never split',
  },
  auditPendingBytes: {
    unit: 'bytes',
    default: 64 * MiB,
    max: 64 * MiB,
    about: 'events that wait for the disk; what is more is refused',
  },
  auditRepeats: { unit: 'count', default: 32, max: 32, about: 'kinds of refused calls, a caller' },
  auditRepeatMs: { unit: 'ms', default: 10_000, max: 10_000, about: 'equal refused calls counted' },
  auditSegmentBytes: { unit: 'bytes', default: 64 * MiB, max: 1 * GiB, about: 'a file of the log' },
  auditReserveBytes: {
    unit: 'bytes',
    default: 1 * MiB,
    max: 1 * MiB,
    about: 'kept free for the ends of running commands',
  },
  publicationDecodedBytes: {
    unit: 'bytes',
    default: 256 * MiB,
    max: 4 * GiB,
    about: 'all that is decoded of one thing that is to be published',
  },
  publicationParts: {
    unit: 'count',
    default: 50_000,
    max: 1_000_000,
    about: 'parts and members of one thing that is to be published',
  },
  publicationFindings: {
    unit: 'count',
    default: 200,
    max: 200,
    about: 'findings of one check of a publication',
  },
  scriptCalls: { unit: 'count', default: 10_000, max: 10_000, about: 'calls of one script' },
  scriptCallsOpen: { unit: 'count', default: 64, max: 64, about: 'calls of a script at once' },
  toolsRegistered: { unit: 'count', default: 256, max: 256, about: 'tools of connections' },
  toolCallsOpen: { unit: 'count', default: 256, max: 256, about: 'their calls under way' },
  scriptCallBytes: { unit: 'bytes', default: 1 * MiB, max: 1 * MiB, about: 'a call, or an answer' },
} as const satisfies Record<string, Limit>;

export type LimitName = keyof typeof limits;

/** Bounds of a runtime that people configure: `limits` of `config.yaml`, and their variables. */
export const runtimeBounds = {
  sessionsActive: { key: 'sessions_active', variable: 'TRL_SESSIONS_ACTIVE' },
  sessionRecords: { key: 'session_records', variable: 'TRL_SESSION_RECORDS' },
  commandsConcurrent: { key: 'commands_concurrent', variable: 'TRL_COMMANDS_CONCURRENT' },
  sessionIdleMs: { key: 'session_idle_ms', variable: 'TRL_SESSION_IDLE_MS' },
  sessionGoneMs: { key: 'session_gone_ms', variable: 'TRL_SESSION_GONE_MS' },
} as const satisfies Partial<Record<LimitName, object>>;

export type RuntimeBoundName = keyof typeof runtimeBounds;
export type RuntimeBounds = Readonly<Record<RuntimeBoundName, number>>;

/**
 * What one caller may hold of a bound that all share, so that something is left for the others.
 * The last quarter is for callers that hold `few`. A token may hold half, all tokens together three
 * quarters; one session half of the commands.
 */
export function fairShareOf(max: number): {
  readonly token: number;
  readonly tokens: number;
  readonly caller: number;
  readonly session: number;
  readonly few: number;
} {
  const kept = Math.floor(max / 4);
  return {
    token: Math.max(1, Math.floor(max / 2)),
    tokens: Math.max(1, Math.floor(max * 0.75)),
    caller: max - kept,
    session: max - 2 * kept,
    few: Math.max(1, Math.floor(max / 16)),
  };
}

/**
 * Why `caller` may not hold one more, as the beginning of a sentence that the name of what is held
 * ends; `null`: it may. `holders`: the caller of each that is held.
 */
export function fairShareRefusal(
  holders: Iterable<string>,
  caller: string,
  max: number,
): string | null {
  const all = [...holders];
  const own = all.filter((one) => one === caller).length;
  const share = fairShareOf(max);
  if (isOfToken(caller)) {
    if (own >= share.token) return `this token has its share of ${share.token} of ${max}`;
    if (all.filter(isOfToken).length >= share.tokens) {
      return `all tokens have their share of ${share.tokens} of ${max}`;
    }
  }
  if (own >= share.caller) return `this caller has its share of ${share.caller} of ${max}`;
  if (all.length < share.caller || own < share.few) return null;
  const kept = max - share.caller;
  return `the last ${kept} of ${max} are for callers with fewer than ${share.few}`;
}

const isOfToken = (caller: string): boolean => caller.startsWith('token:');
