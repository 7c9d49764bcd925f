/**
 * The methods of the wire, each defined once: types, permissions, ownership, lanes, routes, the
 * OpenAPI document and what the audit log records of a call are derived from here. A key that a
 * method does not take is refused, at any depth; clients of the first protocol send none. A `null`
 * is the same as an absent parameter.
 */
// As a namespace, so that bundlers keep only what is used: 50 KB instead of 450.
import * as z from 'zod/mini';
import { TrlError } from '../errors.ts';
import type { ErrorCode } from '../errors.ts';
import { nearestWord } from '../nearest-word.ts';
import { isJsonObject, describeJsonType } from '../protocol/json.ts';
import type { JsonObject } from '../protocol/json.ts';
import { approvalMethods } from './approval.ts';
import { auditMethods } from './audit.ts';
import type { AnswerOf, MethodDefinition, ParamsOf } from './define-method.ts';
import { execMethods } from './exec.ts';
import { publishMethods } from './publish.ts';
import { secretsMethods } from './secrets.ts';
import { sessionMethods } from './session.ts';
import { snapshotMethods } from './snapshot.ts';
import { systemMethods } from './system.ts';
import { toolMethods } from './tool.ts';
import { workspaceMethods } from './workspace.ts';

/** One entry for each method. */
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
export type MethodParams = { readonly [M in MethodName]: ParamsOf<typeof methods, M> };
/** What each method answers in `data`. */
export type MethodAnswers = { readonly [M in MethodName]: AnswerOf<typeof methods, M> };
export type Params<M extends MethodName> = MethodParams[M];
export type Data<M extends MethodName> = MethodAnswers[M];
const schemas: {
  readonly [M in MethodName]: { readonly params: z.ZodMiniType<MethodParams[M]> };
} = methods;

/** The definition of `method`, without its specific types. */
export const definitionOf = (method: MethodName): MethodDefinition => methods[method];

export const methodNames: readonly MethodName[] = Object.keys(methods).filter(isMethod);

/**
 * Finds a method by its name.
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

/** Names of the same parameter in other methods and tools. */
const synonyms: ReadonlyMap<string, readonly string[]> = new Map([
  ['cwd', ['working_dir']],
  ['working_dir', ['cwd']],
  ['workingDirectory', ['working_dir', 'cwd']],
]);

/**
 * Ignoring an unknown parameter is worse than a refusal: a restriction might not apply.
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
export function parseParams<M extends MethodName>(method: M, params: JsonObject): MethodParams[M] {
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

/** A malformed id is answered as one that does not exist. */
const idKinds: ReadonlyMap<string, { readonly code: ErrorCode; readonly what: string }> = new Map([
  ['session_id', { code: 'SESSION_NOT_FOUND', what: 'session' }],
  ['exec_id', { code: 'EXEC_NOT_FOUND', what: 'execution' }],
  ['approval_id', { code: 'INVALID_PARAMS', what: 'approval' }],
  ['workspace_id', { code: 'INVALID_PARAMS', what: 'workspace' }],
]);

/** An older runtime ignores parameters of a newer client. */
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

/** Values that may be secret (variables, input) are described by their type, never quoted. */
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
