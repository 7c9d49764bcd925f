/** What tools answer about commands, as data and as text. */
import * as z from 'zod/mini';
import type { SessionId } from '../client/index.ts';
import type { ApprovalView } from '../api/approval.ts';
import type { Receipt } from '../api/receipt.ts';
import { waitingForApprovalText } from './approval-prompts.ts';
import { redactionsField, redactionFields } from './redactions.ts';
import { terminalBounds, type StartedCommand } from './run-command.ts';
import type { ToolResult } from './tool.ts';

const text = (about: string) => z.string().check(z.describe(about));
const count = z.int();

/** Fields of an answer about a command. Without `status: "exited"` only some are present. */
export const commandResultFields = {
  status: z
    .enum(['exited', 'running', 'waiting'])
    .check(z.describe('waiting: a person must approve it; call again with equal arguments')),
  session_id: text('for the next call in the same session'),
  exec_id: text('for terminal_output, terminal_input, terminal_stop'),
  exit_code: z.int().check(z.describe('124: it was ended at its time-out')),
  signal: z.nullable(z.string()),
  timed_out: z.boolean(),
  duration_ms: count,
  stdout: text('at most 8 KB: the first half and the last; secrets hidden'),
  stderr: text('as stdout'),
  stdout_encoding: z.literal('base64'),
  stderr_encoding: z.literal('base64'),
  truncated: z.boolean(),
  stdout_bytes: count.check(z.describe('what the command wrote')),
  stderr_bytes: count,
  stdout_omitted_bytes: count,
  stderr_omitted_bytes: count,
  cwd: z.nullable(z.string()).check(z.describe('of the session; of terminal_exec: where it ran')),
  changes: z.array(z.string()).check(z.describe('paths it changed, with what became of them')),
  notes: z.array(z.string()),
  approval_id: text('what a person is asked'),
  redactions: redactionsField,
} as const;

/** The answer to a command that ended, also by a time-out. */
export function endedCommandResult(
  receipt: Receipt,
  more: {
    readonly timeoutSeconds: number;
    readonly notes: readonly string[];
    /** Where it ran, if it does not change its session's directory. */
    readonly cwd?: string | null;
  },
): ToolResult {
  const isOffline = (hint: string): boolean => hint.startsWith('The network is off');
  const hints = receipt.hints.map((hint) => (isOffline(hint) ? offline : hint));
  const notes = [...more.notes, ...hints, ...receipt.warnings];
  if (receipt.truncated) notes.push(readOn(receipt));
  const seconds = more.timeoutSeconds;
  const late = `[ended after ${seconds} s, its time-out: what it wrote until then is kept]`;
  const stderr = receipt.timed_out ? joined(receipt.stderr, late, receipt.stderr_encoding) : null;
  const data = {
    status: 'exited',
    session_id: receipt.session_id,
    exec_id: receipt.exec_id,
    exit_code: receipt.exit_code,
    signal: receipt.signal,
    timed_out: receipt.timed_out,
    duration_ms: receipt.duration_ms,
    stdout: receipt.stdout,
    stderr: stderr ?? receipt.stderr,
    ...(receipt.stdout_encoding === undefined ? {} : { stdout_encoding: receipt.stdout_encoding }),
    ...(receipt.stderr_encoding === undefined ? {} : { stderr_encoding: receipt.stderr_encoding }),
    truncated: receipt.truncated,
    stdout_bytes: receipt.stdout_bytes,
    stderr_bytes: receipt.stderr_bytes,
    stdout_omitted_bytes: receipt.stdout_omitted_bytes,
    stderr_omitted_bytes: receipt.stderr_omitted_bytes,
    cwd: more.cwd === undefined ? receipt.cwd : more.cwd,
    changes: changesOf(receipt),
    notes,
    ...redactionFields(receipt.redactions),
  };
  return { data, text: endedText(data) };
}

export function startedCommandResult(sessionId: SessionId, started: StartedCommand): ToolResult {
  const { exec_id: execId, exit_code: code } = started;
  if (code !== null) {
    const notes = [`It has ended: read its output with terminal_output {"exec_id":"${execId}"}`];
    return {
      data: { status: 'exited', session_id: sessionId, exec_id: execId, exit_code: code, notes },
      text: `${execId} has ended, exit ${code}. ${notes.join('')}`,
    };
  }
  const read = `terminal_output {"exec_id":"${execId}"}`;
  const next = `Read it with ${read}, with "until" wait for it; end it with terminal_stop.`;
  return {
    data: { status: 'running', session_id: sessionId, exec_id: execId, notes: [next] },
    text: `${execId} runs in the background. ${next}`,
  };
}

export function waitingForApprovalResult(approval: ApprovalView): ToolResult {
  const { approval_id, exec_id, session_id } = approval;
  return {
    data: { status: 'waiting', session_id, exec_id, approval_id, notes: [] },
    text: waitingForApprovalText(approval),
    approval,
  };
}

const offline =
  'It had no network. Where it needs it, call terminal with "network": true: a person is asked';
function readOn({ exec_id: id, stdout_omitted_bytes: out, stderr_omitted_bytes: err }: Receipt) {
  const half = terminalBounds.outputBytes / 2;
  return (
    `${out} bytes of stdout and ${err} of stderr are left out in the middle: read them with ` +
    `terminal_output {"exec_id":"${id}","from":${half}}, or with its "grep" or "tail"`
  );
}

/** The note about a change that was not applied as usual. */
export function receiptNotes(receipt: Receipt): string[] {
  const held = receipt.changes
    .filter(({ state }) => state !== 'applied')
    .map(
      ({ path, state, reason }) => `${path} is ${state}${reason === null ? '' : `: ${reason}`}.`,
    );
  return [...held, ...receipt.hints, ...receipt.warnings];
}

const changesShown = 50;

function changesOf({ changes, changes_omitted: omitted }: Receipt): string[] {
  const shown = changes.slice(0, changesShown).map(({ kind, path, state, reason }) => {
    if (state === 'applied') return `${kind} ${path}`;
    const why = state === 'held' && reason !== null ? `: ${reason}` : '';
    return `${kind} ${path} (${state}${why})`;
  });
  const more = omitted + Math.max(0, changes.length - changesShown);
  return more === 0 ? shown : [...shown, `and ${more} more`];
}

function joined(stderr: string, note: string, encoding: 'base64' | undefined): string | null {
  if (encoding === 'base64') return null;
  return stderr === '' || stderr.endsWith('\n') ? `${stderr}${note}\n` : `${stderr}\n${note}\n`;
}

interface Ended {
  readonly exec_id: string;
  readonly exit_code: number;
  readonly timed_out: boolean;
  readonly stdout: string;
  readonly stderr: string;
  readonly stdout_encoding?: 'base64';
  readonly stderr_encoding?: 'base64';
  readonly stdout_bytes: number;
  readonly stderr_bytes: number;
  readonly duration_ms: number;
  readonly session_id: string;
  readonly changes: readonly string[];
  readonly notes: readonly string[];
}

function endedText(data: Ended): string {
  const { stdout, stderr } = data;
  const out = data.stdout_encoding === undefined ? stdout : `(${data.stdout_bytes} bytes, no text)`;
  const err = data.stderr_encoding === undefined ? stderr : `(${data.stderr_bytes} bytes, no text)`;
  const end = data.timed_out ? 'timed out, exit 124' : `exit ${data.exit_code}`;
  return [
    ...(out === '' ? [] : [withoutEnd(out)]),
    ...(err === '' ? [] : ['[stderr]', withoutEnd(err)]),
    `[${end}, ${data.duration_ms} ms, ${data.session_id}, ${data.exec_id}]`,
    ...data.changes.map((change) => `[changed] ${change}`),
    ...data.notes.map((note) => `[note] ${note}`),
  ].join('\n');
}

const withoutEnd = (text: string): string => (text.endsWith('\n') ? text.slice(0, -1) : text);
