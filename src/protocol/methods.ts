/**
 * What each method takes. A key that it does not take is refused, at any depth; clients of the
 * first protocol send none. A `null` stands for a parameter that is not given.
 */
// Never taken apart: bundlers then keep what is used, 50 KB of it instead of 450.
import * as z from 'zod/mini';
import { cacheTools } from '../caches.ts';
import { approvalStates, judgedShells, languages, policyProfiles } from '../command.ts';
import { TrlError } from '../errors.ts';
import type { ErrorCode } from '../errors.ts';
import { limits } from '../limits.ts';
import { answerScopes } from './approval.ts';
import { auditMethods } from './audit-params.ts';
import { consoleMethods } from './console-params.ts';
import { feedMethods, leaseId } from './feed-params.ts';
import * as field from './fields.ts';
import { isObject, nameOf } from './json.ts';
import type { JsonObject } from './json.ts';
import { nearest } from '../nearest.ts';
import { publishMethods } from './publish-params.ts';
import { toolMethods } from './tool-params.ts';
import { workspaceId, workspaceMethods, workspaceMode } from './workspace-params.ts';

const readWaitMsMax = 120_000;
const approvalWaitMsMax = 3_600_000;
const readLinesMax = 100_000;
const terminalSideMax = 65_535;

const nothing = z.object({});
const session = z.object({ session_id: field.sessionId });
const exec = z.object({ exec_id: field.execId });
const streamForm = z.exactOptional(z.enum(['text', 'b64'], { error: '"text" or "b64"' }));
const offset = z.exactOptional(field.whole(0));
const columns = field.whole(1, terminalSideMax);

const limitParams = z.strictObject(
  {
    cpu_s: z.exactOptional(field.whole(1)),
    processes: z.exactOptional(field.whole(1, limits.processes.max)),
    open_files: z.exactOptional(field.whole(1, limits.openFiles.max)),
    file_bytes: z.exactOptional(field.whole(0)),
    memory_bytes: z.exactOptional(field.whole(1)),
    address_space_bytes: z.exactOptional(field.whole(1)),
    journal_bytes: z.exactOptional(field.whole(1, limits.journalBytes.max)),
  },
  { error: 'an object of bounds' },
);

const pathRules = z.strictObject(
  { allow: z.exactOptional(field.patterns), deny: z.exactOptional(field.patterns) },
  { error: 'an object with "allow" and "deny"' },
);

const profile = z.enum(policyProfiles, { error: '"trusted", "auto", "guarded" or "locked"' });

const sessionCreate = z.object({
  shell: z.exactOptional(field.path),
  env: z.exactOptional(field.environment),
  env_keys: z.exactOptional(field.environmentNames),
  working_dir: z.exactOptional(field.path),
  name: z.exactOptional(field.name),
  timeout_s: z.exactOptional(field.timeoutSeconds),
  timeout_ms: z.exactOptional(field.timeoutMs),
  files: z.exactOptional(
    z.strictObject(
      { read: z.exactOptional(pathRules), write: z.exactOptional(pathRules) },
      { error: 'an object with "read" and "write"' },
    ),
  ),
  network: z.exactOptional(z.enum(['off', 'on'], { error: '"off" or "on"' })),
  sandbox: z.exactOptional(z.enum(['bubblewrap', 'none'], { error: '"bubblewrap" or "none"' })),
  limits: z.exactOptional(limitParams),
  carry: z.exactOptional(
    z.enum(['none', 'cwd+env', 'shell'], { error: '"none", "cwd+env" or "shell"' }),
  ),
  policy: z.exactOptional(profile),
  workspace_id: z.exactOptional(workspaceId),
  workspace_mode: z.exactOptional(workspaceMode),
  lifetime: z.exactOptional(z.enum(['kept', 'client'], { error: '"kept" or "client"' })),
  umask: z.exactOptional(
    z.string().check(z.regex(/^0?[0-7]{3}$/, { error: 'three octal digits, such as "027"' })),
  ),
  search_path: z.exactOptional(field.searchPath),
  share_cache: z.exactOptional(
    z.array(z.enum(cacheTools), { error: `an array of ${cacheTools.join(', ')}` }),
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
  language: z.exactOptional(z.enum(languages, { error: '"shell" or "python"' })),
  cwd: z.exactOptional(field.path),
  cwd_within: z.exactOptional(field.path),
  timeout_s: z.exactOptional(field.timeoutSeconds),
  timeout_ms: z.exactOptional(field.timeoutMs),
  idle_timeout_ms: z.exactOptional(field.whole(0, limits.idleTimeoutMs.max)),
  grace_ms: z.exactOptional(field.whole(0, limits.graceMs.max)),
  stdin: z.exactOptional(field.encoded),
  stdin_encoding: z.exactOptional(field.encoding),
  stdin_open: z.exactOptional(field.flag),
  env: z.exactOptional(field.environment),
  env_keys: z.exactOptional(field.environmentNames),
  reveal: z.exactOptional(field.revealed),
  pty: z.exactOptional(z.strictObject({ columns, rows: columns }, { error: 'an object' })),
  limits: z.exactOptional(limitParams),
  exec_key: z.exactOptional(field.execKey),
  output_bytes: z.exactOptional(field.whole(0, limits.outputBytes.max)),
  wait_ms: z.exactOptional(field.whole(0, approvalWaitMsMax)),
  workspace_mode: z.exactOptional(workspaceMode),
  policy: z.exactOptional(profile),
});

/** One row a method: the schema of its `params`. */
export const methods = {
  'session.create': sessionCreate,
  'session.list': nothing,
  'session.info': session,
  'session.destroy': z.extend(session, { force: z.exactOptional(field.flag) }),
  'session.update': z.extend(session, {
    name: z.exactOptional(field.name),
    timeout_s: z.exactOptional(field.timeoutSeconds),
    env: z.exactOptional(field.environment),
    unset: z.exactOptional(field.environmentNames),
    state_of: z.exactOptional(field.sessionId),
  }),
  'session.fork': z.extend(session, { name: z.exactOptional(field.name) }),
  'session.state': session,
  'exec.run': execBase.check(stdinFits),
  'exec.stream': z.extend(execBase, { from: offset, enc: streamForm }).check(stdinFits),
  'exec.start': z
    .extend(execBase, {
      timeout_s: z.exactOptional(field.detachedSeconds),
      timeout_ms: z.exactOptional(field.detachedMs),
    })
    .check(stdinFits),
  'exec.attach': z.extend(exec, { from: offset, enc: streamForm }),
  'exec.read': z.extend(exec, {
    from: offset,
    max: z.exactOptional(field.whole(1, limits.outputBytes.default)),
    wait_ms: z.exactOptional(field.whole(0, readWaitMsMax)),
    grep: z.exactOptional(field.searchText),
    tail: z.exactOptional(field.whole(1, readLinesMax)),
    until: z.exactOptional(field.searchText),
  }),
  'exec.write': z
    .extend(exec, {
      data: z.exactOptional(field.encoded),
      encoding: z.exactOptional(field.encoding),
      eof: z.exactOptional(field.flag),
      lease_id: leaseId,
    })
    .check(
      z.refine(({ data, encoding }) => field.encodedFits(data ?? '', encoding ?? 'utf8'), {
        path: ['data'],
        error: field.encodedWanted,
      }),
    ),
  'exec.resize': z.extend(exec, { columns, rows: columns, lease_id: leaseId }),
  'exec.cancel': z
    .object({
      session_id: z.exactOptional(field.sessionId),
      exec_id: z.exactOptional(field.execId),
      exec_key: z.exactOptional(field.execKey),
      signal: z.exactOptional(field.signal),
    })
    .check(
      z.refine(
        ({ session_id: session, exec_id: exec, exec_key: key }) =>
          [session, exec, key].filter((one) => one !== undefined).length === 1,
        { path: ['session_id'], error: 'given, or "exec_id", or "exec_key", and one alone' },
      ),
    ),
  'exec.list': z.object({ session_id: z.exactOptional(field.sessionId) }),
  'exec.info': exec,
  'policy.explain': z.object({
    command: field.command,
    session_id: z.exactOptional(field.sessionId),
    shell: z.exactOptional(z.enum(judgedShells, { error: judgedShells.join(', ') })),
  }),
  'system.ping': nothing,
  'system.stats': nothing,
  'system.metrics': nothing,
  'system.hello': z.object({
    protocol: z.exactOptional(field.name),
    client: z.exactOptional(field.execKey),
    frames: z.exactOptional(z.enum(['lines', 'bin'], { error: '"lines" or "bin"' })),
    window_bytes: z.exactOptional(
      field.whole(limits.windowBytes.default / 16, limits.windowBytes.max),
    ),
  }),
  'runtime.list': nothing,
  'approval.list': z.object({
    state: z.exactOptional(z.enum(approvalStates, { error: 'the state of an approval' })),
    session_id: z.exactOptional(field.sessionId),
  }),
  'approval.get': z.object({ approval_id: field.approvalId }),
  'approval.decide': z.object({
    approval_id: field.approvalId,
    decision: z.enum(['approve', 'deny'], { error: '"approve" or "deny"' }),
    scope: z.exactOptional(z.enum(answerScopes, { error: answerScopes.join(', ') })),
    words: z.exactOptional(field.answerWords),
    digest: field.digestStart,
    passphrase: z.exactOptional(field.passphrase),
  }),
  'approval.watch': nothing,
  'approval.status': nothing,
  'secrets.list': nothing,
  'secrets.check': z.object({ name: field.secretName }),
  'secrets.request': z.object({
    name: field.secretName,
    reason: field.answerWords,
    wait_ms: z.exactOptional(field.whole(0, approvalWaitMsMax)),
  }),
  'secrets.requests': nothing,
  'secrets.set': z.object({
    name: field.secretName,
    value: field.secretValue,
    passphrase: z.exactOptional(field.passphrase),
  }),
  'secrets.inject': z.extend(session, { names: field.secretNames }),
  'secrets.delete': z.object({
    name: field.secretName,
    session_id: z.exactOptional(field.sessionId),
    passphrase: z.exactOptional(field.passphrase),
  }),
  ...workspaceMethods,
  ...publishMethods,
  ...auditMethods,
  ...toolMethods,
  ...feedMethods,
  ...consoleMethods,
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

/** What other methods and tools call the same. */
const synonyms: ReadonlyMap<string, readonly string[]> = new Map([
  ['cwd', ['working_dir']],
  ['working_dir', ['cwd']],
  ['workingDirectory', ['working_dir', 'cwd']],
]);

/**
 * A wish that goes unheard is worse than a refusal: what was meant to narrow would not.
 *
 * @throws TrlError `INVALID_PARAMS` with the first key of `params` that `method` does not take, and
 *   the nearest one that it takes
 */
export function refuseUnknown(method: MethodName, params: JsonObject): void {
  const taken = Object.keys(methods[method].shape);
  const other = Object.keys(params).find((name) => !taken.includes(name));
  if (other === undefined) return;
  const meant = synonyms.get(other)?.find((one) => taken.includes(one)) ?? nearest(other, taken);
  const hint = meant === null ? '' : `; did you mean ${JSON.stringify(meant)}?`;
  throw refusal('INVALID_PARAMS', method, `it takes no ${show(other)}${hint}`);
}

/**
 * The parameters of `method`, checked.
 *
 * @throws TrlError `INVALID_PARAMS` with the field, what it must be and what it is;
 *   `SESSION_NOT_FOUND` or `EXEC_NOT_FOUND` when an id has a form that no id has.
 */
export function parseParams<M extends MethodName>(method: M, params: JsonObject): MethodParams[M] {
  const given = Object.fromEntries(Object.entries(params).filter(([, value]) => value !== null));
  if (!isNegotiating(method)) refuseUnknown(method, given);
  const result = z.safeParse(schemas[method], given);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const at = issue?.path.map(String) ?? [];
  const found = lookUp(given, at);
  if (issue?.code === 'unrecognized_keys') {
    const named = `"${at.join('.')}" must be ${issue.message}`;
    throw refusal('INVALID_PARAMS', method, `${named}; it takes no ${show(issue.keys[0] ?? '')}`);
  }
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
  ['approval_id', { code: 'INVALID_PARAMS', what: 'approval' }],
  ['workspace_id', { code: 'INVALID_PARAMS', what: 'workspace' }],
]);

/** What a newer client may ask for, an older runtime answers without it. */
const isNegotiating = (method: MethodName): boolean => method === 'system.hello';

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
const neverQuoted: ReadonlySet<string> = new Set([
  'env',
  'stdin',
  'data',
  'command',
  'passphrase',
  'value',
]);

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
