/** Turns an outcome into what the wire answers, with sentences that help. */
import type { ConnectionSummary, NetworkAccess } from '../../network-access.ts';
import { lateAnswer, notAllowedRule, unanswered } from '../../network/egress-rules.ts';
import { webPorts } from '../../network/host-rules.ts';
import type { CacheTool } from '../../caches.ts';
import type { Assurance, Exit, Plan, Verdict } from '../../command.ts';
import type { CollectedOutput } from '../../output/output-collector.ts';
import type { Receipt } from '../../api/receipt.ts';
import type { ReceiptChanges } from '../../api/changes.ts';
import type { ExecutionOutcome } from '../../execution.ts';
import type { ExecBasis } from '../auditing/exec-basis.ts';

export type ReceiptHead = Omit<Receipt, 'stdout' | 'stderr'>;

export const isoTime = (ms: number): string => new Date(ms).toISOString();

/** What of a plan outlives it in an execution's record: no command text, no value. */
export interface PlanFacts {
  readonly digest: string;
  readonly verdict: Verdict;
  readonly sandbox: Plan['box']['kind'];
  readonly level: Assurance['level'];
  readonly network: NetworkAccess;
  /** Absent: none. */
  readonly shareCache?: readonly CacheTool[];
  /** Warnings about the plan; absent in older records. */
  readonly warnings?: readonly string[];
  /** What the audit log records of it; absent in older records, and while a person decides. */
  readonly basis?: ExecBasis;
}

/** An outcome with what its output suggests. */
export interface EndedExecution extends Omit<ExecutionOutcome, 'recorded'> {
  readonly hints: readonly string[];
  /** What it changed in its workspace; absent: nothing was recorded. */
  readonly workspace?: ReceiptChanges;
}

/** Of a command whose changes nobody recorded. */
export const noRecordedChanges: ReceiptChanges = {
  snapshot: null,
  changes: [],
  changes_omitted: 0,
  workspace_mode: null,
};

const hostsInHintMax = 5;
/** Where `audit.required` is off and the log could not be written. */
const notAudited = 'no record: the audit log cannot be written, and audit.required is off';

export function createReceiptHead(facts: PlanFacts, ended: EndedExecution): ReceiptHead {
  const { exit, reverted, hints: seen, workspace = noRecordedChanges } = ended;
  const hints = [...seen];
  if (exit.ended_background > 0 && exit.stopped === null) {
    const what = exit.ended_background === 1 ? 'A background process' : 'Background processes';
    const ways = 'exec.start (trl exec start; "background" of the tool terminal)';
    hints.push(`${what} ended with the command; ${ways} keeps one running`);
  }
  if (exit.cwd_fallback !== null) {
    hints.push(`The session's directory was gone; the command ran in ${exit.cwd_fallback}`);
  }
  hints.push(...denialHints(exit));
  if (reverted.length > 0) {
    hints.push(`These paths are protected and were put back: ${reverted.join(', ')}`);
  }
  return {
    exec_id: exit.exec_id,
    session_id: exit.session_id,
    exit_code: exit.exit_code,
    signal: exit.signal,
    duration_ms: exit.duration_ms,
    timed_out: exit.timed_out,
    stopped: exit.stopped,
    truncated: false,
    stdout_bytes: exit.stdout_bytes,
    stderr_bytes: exit.stderr_bytes,
    stdout_omitted_bytes: 0,
    stderr_omitted_bytes: 0,
    started_at: isoTime(exit.started_at),
    cwd: exit.cwd,
    ...(exit.cwd_fallback === null ? {} : { cwd_fallback: exit.cwd_fallback }),
    state_captured: exit.state_captured,
    state_dropped: exit.state_dropped,
    ended_background: exit.ended_background,
    survivors: exit.survivors,
    reverted,
    sandbox: {
      kind: facts.sandbox,
      level: facts.level,
      network: facts.network,
      ...(facts.shareCache === undefined ? {} : { share_cache: facts.shareCache }),
      warm: exit.warm,
    },
    ...networkOf(exit),
    limits: exit.limits,
    redactions: exit.redactions,
    verdict: facts.verdict,
    plan_digest: facts.digest,
    // Older records have none.
    audit: ended.audit ?? null,
    ...workspace,
    hints,
    // Older records have no mark, and no reason to warn.
    warnings: [
      ...(facts.warnings ?? []),
      ...(ended.audit === null ? [notAudited] : []),
      ...shortOf(exit),
    ],
  };
}

const withoutVerdict = ({
  allowed: _allowed,
  rule: _rule,
  ...connection
}: ConnectionSummary): NonNullable<ReceiptHead['connections']>[number] => connection;

/** What it reached through the bridge, and what was refused. */
function networkOf({ connections }: Exit): Pick<ReceiptHead, 'connections' | 'denials'> {
  if (connections === undefined) return {};
  const denials = connections
    .filter(({ allowed }) => !allowed)
    .map(({ host, port, rule }) => ({ kind: 'network' as const, host, port, rule }));
  return {
    connections: connections.filter(({ allowed }) => allowed).map(withoutVerdict),
    ...(denials.length === 0 ? {} : { denials }),
  };
}

/** How to ask for a host that no rule names, with its port, and which are allowed by now. */
function denialHints({ connections = [] }: Exit): string[] {
  const late = connections.filter(({ rule }) => rule === lateAnswer).map(({ host }) => host);
  if (late.length > 0) {
    return [`Allowed after the program gave up: ${late.join(', ')}; run it again`];
  }
  const isOpen = (rule: string): boolean => rule === notAllowedRule || rule === unanswered;
  const isUnnamed = connections.filter(({ allowed, rule }) => !allowed && isOpen(rule));
  const hosts = [...new Set(isUnnamed.map(hostToAsk))];
  if (hosts.length === 0) return [];
  const names = hosts.slice(0, hostsInHintMax);
  return [
    `The network refused ${names.join(', ')}: no rule allows it; ` +
      `ask with "hosts" of a session (--net ${names.join(',')}), or allow it in policy: ` +
      'network.allow',
  ];
}

/** As the rule that would allow it: one without a port is for those of the web. */
function hostToAsk({ host, port }: ConnectionSummary): string {
  const isUsual = port === 0 || webPorts.includes(port);
  return isUsual ? host : `${host}:${port}`;
}

/**
 * What the sealed output lacks. Its size is not reported: it would reveal how well it compresses.
 */
function shortOf({ raw_log: log }: Partial<Pick<Exit, 'raw_log'>>): string[] {
  if (log === undefined || log === null || log.complete) return [];
  return [`the raw log does not hold all output: ${log.why ?? 'it is short'}`];
}

/** The receipt with its output. */
export function createReceipt(
  head: ReceiptHead,
  stdout: CollectedOutput,
  stderr: CollectedOutput,
): Receipt {
  return {
    ...head,
    stdout: stdout.text,
    stderr: stderr.text,
    ...(stdout.encoding === null ? {} : { stdout_encoding: stdout.encoding }),
    ...(stderr.encoding === null ? {} : { stderr_encoding: stderr.encoding }),
    stdout_omitted_bytes: stdout.omitted,
    stderr_omitted_bytes: stderr.omitted,
    truncated: stdout.omitted + stderr.omitted > 0,
  };
}
