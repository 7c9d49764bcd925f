/**
 * Events of an audit log as a graph reads them. A log may hold what another version wrote, so
 * nothing of `data` is taken for granted.
 */
import { nameOf } from './names.ts';

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
export interface FileChange {
  readonly name: string;
  readonly before: string | null;
  readonly after: string | null;
}

export function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? Reflect.get(value, name)
    : undefined;
}

export function textAt(value: unknown, name: string): string | null {
  const found = field(value, name);
  return typeof found === 'string' ? found : null;
}

export function listAt(value: unknown, name: string): readonly unknown[] {
  const found = field(value, name);
  return Array.isArray(found) ? found : [];
}

/** The statement of an `exec.statement` event; `null` where it holds none. It is not verified. */
export function statementIn(event: LoggedEvent): unknown {
  const payload = textAt(field(event.data, 'envelope'), 'payload');
  if (event.kind !== 'exec.statement' || payload === null) return null;
  try {
    return JSON.parse(Buffer.from(payload, 'base64').toString());
  } catch {
    return null;
  }
}

/** What an `exec.changed` or `exec.statement` event tells of files. */
export function filesIn(event: LoggedEvent): FileChange[] {
  if (event.kind === 'exec.changed') return listAt(event.data, 'changes').map(changedFile);
  const statement = statementIn(event);
  const others = listAt(field(field(statement, 'predicate'), 'changes'), 'others');
  return [
    ...listAt(statement, 'subject').map(subjectFile),
    ...others.map((one) => ({
      name: textAt(one, 'name') ?? '',
      before: textAt(one, 'before'),
      after: null,
    })),
  ];
}

function changedFile(change: unknown): FileChange {
  const bytes = textAt(change, 'path_base64');
  const path = textAt(change, 'path') ?? '';
  const before = textAt(field(change, 'before'), 'sha256');
  const after = textAt(field(change, 'after'), 'sha256');
  const latin1 = Buffer.from(bytes ?? path, bytes === null ? 'utf8' : 'base64').toString('latin1');
  return { name: nameOf(latin1), before, after };
}

function subjectFile(subject: unknown): FileChange {
  const after = textAt(field(subject, 'digest'), 'sha256');
  const before = textAt(field(subject, 'annotations'), 'before');
  return { name: textAt(subject, 'name') ?? '', before, after };
}

/** Whether `wanted` is a text somewhere in `value`. */
export function mentions(value: unknown, wanted: string, depth = 8): boolean {
  if (value === wanted) return true;
  if (typeof value !== 'object' || value === null || depth === 0) return false;
  return Object.values(value).some((one) => mentions(one, wanted, depth - 1));
}
