/**
 * Reads events of an audit log and the names of files in them. Another version may have written the
 * log, so every field of `data` is checked.
 */
import type { BytePath } from '../change.ts';
import { fieldOf } from '../json-shape.ts';

/** An event of the log. */
export interface LoggedEvent {
  readonly kind: string;
  /** Unix ms. */
  readonly at: number;
  readonly actor: string | null;
  readonly session?: string | undefined;
  readonly exec?: string | undefined;
  readonly data: unknown;
}

/** Digests (hex) of the content of a path before and after a command; `null`: unknown or none. */
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

/** The statement of an `exec.statement` event, not verified; `null`: there is none. */
export function readEventStatement(event: LoggedEvent): unknown {
  const payload = jsonText(jsonField(event.data, 'envelope'), 'payload');
  if (event.kind !== 'exec.statement' || payload === null) return null;
  try {
    return JSON.parse(Buffer.from(payload, 'base64').toString());
  } catch {
    return null;
  }
}

/** The file changes in an `exec.changed` or `exec.statement` event. */
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

/** Whether `wanted` is a string somewhere in `value`. */
export function mentionsText(value: unknown, wanted: string, depth = 8): boolean {
  if (value === wanted) return true;
  if (typeof value !== 'object' || value === null || depth === 0) return false;
  return Object.values(value).some((one) => mentionsText(one, wanted, depth - 1));
}

// Paths as names of subjects: a path is bytes, a name is text, and no two paths share one.

/** Prefix of a name that is base64 of bytes. */
const bytesNamePrefix = 'bytes:';

// A byte order mark at the start of a name belongs to it.
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The path if it is UTF-8 and does not begin with `bytes:`; otherwise `bytes:` and base64. */
export function encodePathName(path: BytePath): string {
  const text = textOf(path);
  if (text !== null && !text.startsWith(bytesNamePrefix)) return text;
  return `${bytesNamePrefix}${Buffer.from(path, 'latin1').toString('base64')}`;
}

/** The path that {@link encodePathName} wrote as `name`. */
export function decodePathName(name: string): BytePath {
  return name.startsWith(bytesNamePrefix)
    ? Buffer.from(name.slice(bytesNamePrefix.length), 'base64').toString('latin1')
    : Buffer.from(name).toString('latin1');
}

/** A path for people; bytes that are not UTF-8 become U+FFFD. */
export function displayPath(path: BytePath): string {
  return Buffer.from(path, 'latin1').toString('utf8');
}

function textOf(path: BytePath): string | null {
  try {
    return utf8.decode(Buffer.from(path, 'latin1'));
  } catch {
    return null;
  }
}
