/**
 * The methods of the wire, each defined once: types, permissions, ownership, lanes, routes, the
 * OpenAPI document and what the audit log records of a call are derived from here. A key that a
 * method does not take is refused, at any depth; clients of the first protocol send none. A `null`
 * stands for a parameter that is not given.
 */
// Never taken apart: bundlers then keep what is used, 50 KB of it instead of 450.
import * as z from 'zod/mini';
import { TrlError } from '../errors.ts';
import type { ErrorCode } from '../errors.ts';
import { nearestWord } from '../nearest-word.ts';
import { isJsonObject, describeJsonType } from '../protocol/json.ts';
import type { JsonObject } from '../protocol/json.ts';
import { approvalMethods } from './approval.ts';
import { auditMethods } from './audit.ts';
import type { MethodDefinition } from './define-method.ts';
import { execMethods } from './exec.ts';
import { publishMethods } from './publish.ts';
import { secretsMethods } from './secrets.ts';
import { sessionMethods } from './session.ts';
import { snapshotMethods } from './snapshot.ts';
import { systemMethods } from './system.ts';
import { toolMethods } from './tool.ts';
import { workspaceMethods } from './workspace.ts';

/** One row a method: all that is known of it. */
export const methods = {
  ...sessionMethods,
  ...execMethods,
  ...systemMethods,
  ...approvalMethods,
  ...secretsMethods,
  ...workspaceMethods,
  ...snapshotMethods,
  ...publishMethods,
  ...auditMethods,
  ...toolMethods,
} as const;

export type MethodName = keyof typeof methods;
export type ParsedMethodParams = {
  [M in MethodName]: z.output<(typeof methods)[M]['params']>;
};
/** What a method answers in `data`. */
export type MethodData = { [M in MethodName]: z.output<(typeof methods)[M]['answer']> };
const schemas: {
  readonly [M in MethodName]: { readonly params: z.ZodMiniType<ParsedMethodParams[M]> };
} = methods;

/** All that is known of `method`, without the types that are its alone. */
export const definitionOf = (method: MethodName): MethodDefinition => methods[method];

export const methodNames: readonly MethodName[] = Object.keys(methods).filter(isMethod);

/**
 * The method that is called so.
 *
 * @throws TrlError `INVALID_PARAMS` when there is none; the message names the nearest one.
 */
export function findMethod(name: string): MethodName {
  if (isMethod(name)) return name;
  const meant = nearestWord(name, Object.keys(methods));
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
export function refuseUnknownParams(method: MethodName, params: JsonObject): void {
  const taken = Object.keys(methods[method].params.shape);
  const other = Object.keys(params).find((name) => !taken.includes(name));
  if (other === undefined) return;
  const meant =
    synonyms.get(other)?.find((one) => taken.includes(one)) ?? nearestWord(other, taken);
  const hint = meant === null ? '' : `; did you mean ${JSON.stringify(meant)}?`;
  throw refusal('INVALID_PARAMS', method, `it takes no ${show(other)}${hint}`);
}

/**
 * The parameters of `method`, checked.
 *
 * @throws TrlError `INVALID_PARAMS` with the field, what it must be and what it is;
 *   `SESSION_NOT_FOUND` or `EXEC_NOT_FOUND` when an id has a form that no id has.
 */
export function parseParams<M extends MethodName>(
  method: M,
  params: JsonObject,
): ParsedMethodParams[M] {
  const given = Object.fromEntries(Object.entries(params).filter(([, value]) => value !== null));
  if (!isNegotiating(method)) refuseUnknownParams(method, given);
  const result = z.safeParse(schemas[method].params, given);
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
    else value = isJsonObject(holder) && Object.hasOwn(holder, key) ? holder[key] : undefined;
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
  return quoted && isPlain ? String(value) : describeJsonType(value);
}

function show(value: string): string {
  return JSON.stringify(shorten(value));
}

function shorten(value: string): string {
  return value.length <= 64 ? value : `${value.slice(0, 63)}…`;
}
