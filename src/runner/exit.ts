/** The exit record of a command, from what was waited for and counted. Nothing here acts. */
import type { EnforcedLimit, Exit, OutputDigests, Plan, StopReason } from '../command.ts';
import type { ConnectionSummary } from '../network-access.ts';
import type { RawLog, RedactionSummary } from '../redacted.ts';
import type { CommandBox, WaitResult } from './command-box.ts';
import { isUnsandboxedRoot, type MemoryGroup } from './cgroup.ts';
import type { Journal } from './journal.ts';
import type { ShellStateCapture } from './shell-state.ts';

const signalNumbers: Readonly<Record<string, number>> = { SIGKILL: 9, SIGTERM: 15, SIGSEGV: 11 };

/** The facts about a command that has ended. */
export interface ExitInput {
  readonly plan: Plan;
  readonly end: WaitResult;
  readonly box: Pick<CommandBox, 'cwdFallback' | 'cwdMissing' | 'end'>;
  readonly journal: Journal;
  readonly digests: OutputDigests;
  readonly memory: MemoryGroup | null;
  readonly stopped: StopReason | null;
  /** Unix milliseconds. */
  readonly startedAt: number;
  readonly endedAt: number;
  readonly captured: ShellStateCapture | null;
  /** What the session carries now. */
  readonly carried: { readonly cwd: string | null; readonly names: readonly string[] };
  /** Processes outside a sandbox that were alive when the shell ended. */
  readonly background: number;
  readonly survivors: readonly number[];
  readonly warm: boolean;
  readonly redactions: RedactionSummary | null;
  readonly rawLog: RawLog | null;
  /** `null`: there is no bridge. */
  readonly connections: readonly ConnectionSummary[] | null;
}

export function buildExit(ending: ExitInput): Exit {
  const { plan, end, box, journal, stopped, startedAt, endedAt } = ending;
  const timedOut = stopped === 'timeout' || stopped === 'idle-timeout';
  const bySignal = end.signal === null ? null : 128 + (signalNumbers[end.signal] ?? 9);
  return {
    exec_id: plan.exec_id,
    session_id: plan.session_id,
    exit_code: timedOut ? 124 : (bySignal ?? end.code ?? 125),
    signal: end.signal,
    timed_out: timedOut,
    stopped,
    started_at: startedAt,
    ended_at: endedAt,
    duration_ms: endedAt - startedAt,
    stdout_bytes: journal.bytesOf.stdout,
    stderr_bytes: journal.bytesOf.stderr,
    ...ending.digests,
    journal_bytes: journal.end,
    journal_from: journal.from,
    cwd: ending.carried.cwd,
    state_captured: ending.captured !== null,
    state_names: ending.carried.names,
    state_dropped: ending.captured?.dropped ?? [],
    cwd_fallback: box.cwdFallback,
    // The command can write to the status pipe, but not before the shell entered its directory.
    cwd_missing: plan.cwd !== null && end.code === 126 && box.cwdMissing,
    ended_background: Math.max(ending.background, box.end?.background ?? 0),
    survivors: ending.survivors,
    warm: ending.warm,
    limits: limitsOf(ending),
    redactions: ending.redactions,
    raw_log: ending.rawLog,
    ...(ending.connections === null ? {} : { connections: ending.connections }),
  };
}

function limitsOf({ plan, stopped, memory, journal }: ExitInput): EnforcedLimit[] {
  const { bounds, box } = plan;
  // Without a sandbox root lifts what the kernel bounds it by, and leaves any cgroup.
  const isHeld = !isUnsandboxedRoot(box);
  const byKernel = isHeld ? 'setrlimit' : 'none';
  const byGroup = isHeld ? memory?.by : undefined;
  // The kernel lets uid 0 of the host have any number of processes.
  const bindsProcesses = box.kind !== 'none' && box.holder.level !== 'root-uid';
  const rows: [string, number | null, EnforcedLimit['by'], boolean | null][] = [
    ['timeout_ms', bounds.timeoutMs, 'runtime', stopped === 'timeout'],
    ['idle_timeout_ms', bounds.idleTimeoutMs, 'runtime', stopped === 'idle-timeout'],
    ['cpu_s', bounds.cpuSeconds, byKernel, null],
    ['processes', bounds.processesMax, bindsProcesses ? 'setrlimit' : 'none', null],
    ['open_files', bounds.openFilesMax, byKernel, null],
    ['file_bytes', bounds.fileBytesMax, byKernel, null],
    ['address_space_bytes', bounds.addressSpaceBytesMax, byKernel, null],
    ['memory_bytes', bounds.memoryBytesMax, byGroup ?? 'none', memory?.wasOomKilled() ?? false],
    ['journal_bytes', bounds.journalBytesMax, 'runtime', journal.from > 0],
  ];
  return rows.flatMap(([name, value, by, hit]) =>
    value === null ? [] : [{ name, value, by, hit }],
  );
}
