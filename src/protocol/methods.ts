/**
 * What each method takes. Keys that a method does not know are ignored: clients written for
 * other implementations send some. A `null` stands for a parameter that is not given.
 */
import * as z from 'zod/mini';
import { TrlError } from '../errors.ts';
import type { ErrorCode } from '../errors.ts';
import { limits } from '../limits.ts';
import * as field from './fields.ts';
import { isObject, nameOf } from './json.ts';
import type { JsonObject } from './json.ts';
import { nearest } from './nearest.ts';

const readWaitMsMax = 60_000;
const readLinesMax = 100_000;
const terminalSideMax = 65_535;

const { exactOptional } = z;
const nothing = z.object({});
const session = z.object({ session_id: field.sessionId });
const exec = z.object({ exec_id: field.execId });
const streamForm = exactOptional(z.enum(['text', 'b64'], { error: '"text" or "b64"' }));
const offset = exactOptional(field.whole(0));
const columns = field.whole(1, terminalSideMax);

const limitParams = z.object(
  {
    cpu_s: exactOptional(field.whole(1)),
    processes: exactOptional(field.whole(1, limits.processes.max)),
    open_files: exactOptional(field.whole(1, limits.openFiles.max)),
    file_bytes: exactOptional(field.whole(0)),
    memory_bytes: exactOptional(field.whole(1)),
    address_space_bytes: exactOptional(field.whole(1)),
    journal_bytes: exactOptional(field.whole(1, limits.journalBytes.max)),
  },
  { error: 'an object' },
);

const pathRules = z.object(
  { allow: exactOptional(field.patterns), deny: exactOptional(field.patterns) },
  { error: 'an object with "allow" and "deny"' },
);

const sessionCreate = z.object({
  shell: exactOptional(field.path),
  env: exactOptional(field.environment),
  working_dir: exactOptional(field.path),
  name: exactOptional(field.name),
  timeout_s: exactOptional(field.timeoutSeconds),
  timeout_ms: exactOptional(field.timeoutMs),
  files: exactOptional(
    z.object(
      { read: exactOptional(pathRules), write: exactOptional(pathRules) },
      { error: 'an object with "read" and "write"' },
    ),
  ),
  network: exactOptional(z.enum(['off', 'on'], { error: '"off" or "on"' })),
  sandbox: exactOptional(z.enum(['bubblewrap', 'none'], { error: '"bubblewrap" or "none"' })),
  limits: exactOptional(limitParams),
  carry: exactOptional(
    z.enum(['none', 'cwd+env', 'shell'], { error: '"none", "cwd+env" or "shell"' }),
  ),
});

interface Stdin {
  readonly stdin?: string;
  readonly stdin_encoding?: 'utf8' | 'base64';
}
const stdinFits = z.refine<Stdin>(
  ({ stdin, stdin_encoding: form }) => field.encodedFits(stdin ?? '', form ?? 'utf8'),
  { path: ['stdin'], error: field.encodedWanted },
);

const execBase = z.object({
  session_id: field.sessionId,
  command: field.command,
  cwd: exactOptional(field.path),
  timeout_s: exactOptional(field.timeoutSeconds),
  timeout_ms: exactOptional(field.timeoutMs),
  idle_timeout_ms: exactOptional(field.whole(0, limits.idleTimeoutMs.max)),
  stdin: exactOptional(field.encoded),
  stdin_encoding: exactOptional(field.encoding),
  stdin_open: exactOptional(field.flag),
  env: exactOptional(field.environment),
  pty: exactOptional(z.object({ columns, rows: columns }, { error: 'an object' })),
  limits: exactOptional(limitParams),
  exec_key: exactOptional(field.execKey),
  output_bytes: exactOptional(field.whole(0, limits.outputBytes.max)),
});

/** One row a method: the schema of its `params`. */
export const methods = {
  'session.create': sessionCreate,
  'session.list': nothing,
  'session.info': session,
  'session.destroy': z.extend(session, { force: exactOptional(field.flag) }),
  'session.update': z.extend(session, {
    name: exactOptional(field.name),
    timeout_s: exactOptional(field.timeoutSeconds),
    env: exactOptional(field.environment),
    unset: exactOptional(field.environmentNames),
  }),
  'session.fork': z.extend(session, { name: exactOptional(field.name) }),
  'session.state': session,
  'exec.run': execBase.check(stdinFits),
  'exec.stream': z.extend(execBase, { from: offset, enc: streamForm }).check(stdinFits),
  'exec.start': z
    .extend(execBase, {
      timeout_s: exactOptional(field.detachedSeconds),
      timeout_ms: exactOptional(field.detachedMs),
    })
    .check(stdinFits),
  'exec.attach': z.extend(exec, { from: offset, enc: streamForm }),
  'exec.read': z.extend(exec, {
    from: offset,
    max: exactOptional(field.whole(1, limits.outputBytes.default)),
    wait_ms: exactOptional(field.whole(0, readWaitMsMax)),
    grep: exactOptional(field.searchText),
    tail: exactOptional(field.whole(1, readLinesMax)),
  }),
  'exec.write': z
    .extend(exec, {
      data: exactOptional(field.encoded),
      encoding: exactOptional(field.encoding),
      eof: exactOptional(field.flag),
    })
    .check(
      z.refine(({ data, encoding }) => field.encodedFits(data ?? '', encoding ?? 'utf8'), {
        path: ['data'],
        error: field.encodedWanted,
      }),
    ),
  'exec.resize': z.extend(exec, { columns, rows: columns }),
  'exec.cancel': z
    .object({
      session_id: exactOptional(field.sessionId),
      exec_id: exactOptional(field.execId),
      signal: exactOptional(field.signal),
    })
    .check(
      z.refine((target) => (target.session_id === undefined) !== (target.exec_id === undefined), {
        path: ['session_id'],
        error: 'given, or "exec_id", and not both',
      }),
    ),
  'exec.list': z.object({ session_id: exactOptional(field.sessionId) }),
  'exec.info': exec,
  'system.ping': nothing,
  'system.stats': nothing,
  'system.hello': z.object({
    protocol: exactOptional(field.name),
    frames: exactOptional(z.enum(['lines', 'bin'], { error: '"lines" or "bin"' })),
  }),
  'runtime.list': nothing,
} as const;

export type MethodName = keyof typeof methods;
export type MethodParams = { [M in MethodName]: z.output<(typeof methods)[M]> };
const schemas: { readonly [M in MethodName]: z.ZodMiniType<MethodParams[M]> } = methods;

/**
 * The method that is called so.
 *
 * @throws TrlError `INVALID_PARAMS` when there is none; the message names the nearest one.
 */
export function methodNamed(name: string): MethodName {
  if (isMethod(name)) return name;
  const meant = nearest(name, Object.keys(methods));
  const hint = meant === null ? '' : `; did you mean ${JSON.stringify(meant)}?`;
  const message = `Cannot answer the request: there is no method ${show(name)}${hint}`;
  throw new TrlError('INVALID_PARAMS', message);
}

/**
 * The parameters of `method`, checked.
 *
 * @throws TrlError `INVALID_PARAMS` with the field, what it must be and what it is;
 *   `SESSION_NOT_FOUND` or `EXEC_NOT_FOUND` when an id has a form that no id has.
 */
export function parseParams<M extends MethodName>(method: M, params: JsonObject): MethodParams[M] {
  const given = Object.fromEntries(Object.entries(params).filter(([, value]) => value !== null));
  const result = z.safeParse(schemas[method], given);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const at = issue?.path.map(String) ?? [];
  const found = lookUp(given, at);
  const kind = idKinds.get(at.join('.'));
  if (kind !== undefined && issue?.code === 'invalid_format' && typeof found === 'string') {
    throw refusal(kind.code, method, `there is no ${kind.what} ${show(found)}`);
  }
  const wanted = `"${shorten(at.join('.'))}" must be ${issue?.message ?? 'valid'}`;
  throw refusal('INVALID_PARAMS', method, `${wanted}, got ${describe(at, found)}`);
}

/** An id of another form is one that nothing has, rather than a malformed request. */
const idKinds: ReadonlyMap<string, { readonly code: ErrorCode; readonly what: string }> = new Map([
  ['session_id', { code: 'SESSION_NOT_FOUND', what: 'session' }],
  ['exec_id', { code: 'EXEC_NOT_FOUND', what: 'execution' }],
]);

function isMethod(name: string): name is MethodName {
  return Object.hasOwn(methods, name);
}

function refusal(code: ErrorCode, method: string, reason: string): TrlError {
  return new TrlError(code, `Cannot run ${method}: ${reason}`);
}

function lookUp(params: JsonObject, at: readonly string[]): unknown {
  let value: unknown = params;
  for (const key of at) {
    const holder: unknown = value;
    if (Array.isArray(holder)) value = holder[Number(key)];
    else value = isObject(holder) && Object.hasOwn(holder, key) ? holder[key] : undefined;
  }
  return value;
}

/** Values that may be secret (variables, input) are named by kind, never quoted. */
const neverQuoted: ReadonlySet<string> = new Set(['env', 'stdin', 'data', 'command']);

function describe(at: readonly string[], value: unknown): string {
  const quoted = !neverQuoted.has(at[0] ?? '');
  if (typeof value === 'string') {
    return quoted && value.length <= 64 ? show(value) : `text of ${value.length} characters`;
  }
  const isPlain = typeof value === 'number' || typeof value === 'boolean';
  return quoted && isPlain ? String(value) : nameOf(value);
}

function show(value: string): string {
  return JSON.stringify(shorten(value));
}

function shorten(value: string): string {
  return value.length <= 64 ? value : `${value.slice(0, 63)}…`;
}
