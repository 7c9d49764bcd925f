/**
 * Events of an audit log as a graph reads them. A log may hold what another version wrote, so
 * nothing of `data` is taken for granted.
 */
import { fieldOf } from '../json-shape.ts';
import { encodePathName } from './path-names.ts';

/** An event, with its place in the log. */
export interface LoggedEvent {
  readonly kind: string;
  /** Unix ms. */
  readonly at: number;
  readonly actor: string | null;
  readonly session?: string | undefined;
  readonly exec?: string | undefined;
  readonly data: unknown;
}

/** Content of one path before and after a command, as far as it is known; hex. */
export interface EventFileChange {
  readonly name: string;
  readonly before: string | null;
  readonly after: string | null;
}

export function jsonField(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? fieldOf(value, name)
    : undefined;
}

export function jsonText(value: unknown, name: string): string | null {
  const found = jsonField(value, name);
  return typeof found === 'string' ? found : null;
}

export function jsonList(value: unknown, name: string): readonly unknown[] {
  const found = jsonField(value, name);
  return Array.isArray(found) ? found : [];
}

/** The statement of an `exec.statement` event; `null` where it holds none. It is not verified. */
export function readEventStatement(event: LoggedEvent): unknown {
  const payload = jsonText(jsonField(event.data, 'envelope'), 'payload');
  if (event.kind !== 'exec.statement' || payload === null) return null;
  try {
    return JSON.parse(Buffer.from(payload, 'base64').toString());
  } catch {
    return null;
  }
}

/** What an `exec.changed` or `exec.statement` event tells of files. */
export function readEventFileChanges(event: LoggedEvent): EventFileChange[] {
  if (event.kind === 'exec.changed') return jsonList(event.data, 'changes').map(changedFile);
  const statement = readEventStatement(event);
  const others = jsonList(jsonField(jsonField(statement, 'predicate'), 'changes'), 'others');
  return [
    ...jsonList(statement, 'subject').map(subjectFile),
    ...others.map((one) => ({
      name: jsonText(one, 'name') ?? '',
      before: jsonText(one, 'before'),
      after: null,
    })),
  ];
}

function changedFile(change: unknown): EventFileChange {
  const bytes = jsonText(change, 'path_base64');
  const path = jsonText(change, 'path') ?? '';
  const before = jsonText(jsonField(change, 'before'), 'sha256');
  const after = jsonText(jsonField(change, 'after'), 'sha256');
  const latin1 = Buffer.from(bytes ?? path, bytes === null ? 'utf8' : 'base64').toString('latin1');
  return { name: encodePathName(latin1), before, after };
}

function subjectFile(subject: unknown): EventFileChange {
  const after = jsonText(jsonField(subject, 'digest'), 'sha256');
  const before = jsonText(jsonField(subject, 'annotations'), 'before');
  return { name: jsonText(subject, 'name') ?? '', before, after };
}

/** Whether `wanted` is a text somewhere in `value`. */
export function mentionsText(value: unknown, wanted: string, depth = 8): boolean {
  if (value === wanted) return true;
  if (typeof value !== 'object' || value === null || depth === 0) return false;
  return Object.values(value).some((one) => mentionsText(one, wanted, depth - 1));
}
