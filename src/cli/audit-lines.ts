/** Events of the audit log as lines for people. Whatever others wrote is made visible. */
import type { AuditEvent } from '../audit/event.ts';
import { jsonText } from '../provenance/logged-events.ts';
import { escapeHiddenText } from './print.ts';
import { showDuration } from './units.ts';

/** An event with its position in the log. */
interface PrintableEvent {
  /** 32 hex digits. */
  readonly log: string;
  readonly seq: number;
  readonly event: AuditEvent;
}

/** Characters of what an event says. */
const textMax = 160;

/** `3fa91c07:12  2026-11-22 09:30:00.123  exec.ended  x-…  exit 0` */
export function printableEventLine({ log, seq, event }: PrintableEvent): string {
  const { kind, at, actor, exec, session } = event;
  const about = exec ?? session ?? '-';
  const who = actor ?? 'runtime';
  const parts = [
    `${log.slice(0, 8)}:${seq}`,
    formatEventTime(at),
    kind,
    who,
    about,
    summaryOf(event),
  ];
  return parts
    .map((part) => escapeHiddenText(part))
    .join('  ')
    .trimEnd();
}

/** Local time, to the millisecond. */
export function formatEventTime(ms: number): string {
  const at = new Date(ms);
  if (Number.isNaN(at.getTime())) return '(no time)';
  const two = (n: number): string => String(n).padStart(2, '0');
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  const time = [at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(':');
  return `${day} ${time}.${String(at.getMilliseconds()).padStart(3, '0')}`;
}

type Data = AuditEvent['data'];

const jsonWord = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value ?? '?');

/** The summary of an event in its line, by kind; other kinds show JSON. */
const summaries: Readonly<Record<string, (data: Data) => readonly unknown[]>> = {
  'exec.requested': ({ command }) => [command],
  'exec.decided': ({ decision, rules }) => [decision, listOf(rules)],
  'exec.planned': ({ plan_digest: plan }) => ['plan', shortened(plan)],
  'exec.started': ({ approval }) => [
    approval == null ? '' : `approved: ${jsonText(approval, 'id') ?? '?'}`,
  ],
  'exec.output': (data) => [`${sizesOf(data)} so far`],
  'exec.connected': ({ allowed, host, port, count, rule }) => [
    `${allowed === true ? 'reached' : 'refused'} ${jsonWord(host)}:${jsonWord(port)}`,
    `${jsonWord(count)}×`,
    rule,
  ],
  'exec.ended': (data) => [
    `exit ${JSON.stringify(data['exit_code'] ?? '?')}`,
    data['signal'],
    data['stopped'],
    typeof data['duration_ms'] === 'number' ? showDuration(data['duration_ms']) : '',
    sizesOf(data),
  ],
  'exec.changed': ({ counts, before, after }) => [
    listOf(counts),
    `${shortened(before)} → ${shortened(after)}`,
  ],
  'exec.statement': () => ['signed in-toto statement'],
  'exec.refused': ({ code, message }) => [code, message],
  'exec.failed': ({ code, message }) => [code, message],
  'call.requested': ({ method }) => [method],
  'call.refused': refusedCall,
  'call.failed': refusedCall,
  'token.created': ({ token_id: id, name, roles }) => [id, name, listOf(roles)],
  'token.revoked': ({ token_id: id, name }) => [id, name],
  'login.opened': ({ proof }) => [proof],
  'policy.loaded': ({ name, version }) => [name, shortened(version)],
  'secret.set': ({ name }) => [name],
  'secret.deleted': ({ name }) => [name],
  'secret.typed': ({ names }) => [listOf(names)],
  'log.opened': ({ about }) => [listOf(about)],
};

/** `count`: this event represents that many identical refusals since `first`. */
function refusedCall({ method, code, message, door, reason, peer, count, first }: Data) {
  const since = typeof first === 'string' ? ` since ${first}` : '';
  const times = typeof count === 'number' ? `${count} times${since}` : '';
  return [method, code, message, door, reason, peer, times];
}

function summaryOf({ kind, data }: AuditEvent): string {
  const { [kind]: summarize } = summaries;
  const parts = summarize === undefined ? [JSON.stringify(data)] : summarize(data);
  const text = parts
    .filter((part) => part !== null && part !== undefined && part !== '')
    .map((part) => (typeof part === 'string' ? part : JSON.stringify(part)))
    .join(', ');
  return text.length > textMax ? `${text.slice(0, textMax).toWellFormed()}…` : text;
}

function sizesOf(data: Data): string {
  const [out, err] = [data['stdout_bytes'], data['stderr_bytes']];
  return `${JSON.stringify(out ?? '?')} + ${JSON.stringify(err ?? '?')} bytes`;
}

function listOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(String).join(' ');
  if (typeof value !== 'object' || value === null) return '';
  return Object.entries(value)
    .filter(([, one]) => one !== 0)
    .map(([name, one]) => `${name} ${String(one)}`)
    .join(' ');
}

/** Of a digest, the digits that tell it from others. */
const shortened = (digest: unknown): string =>
  typeof digest === 'string' ? digest.slice(digest.lastIndexOf(':') + 1).slice(0, 12) : '-';
