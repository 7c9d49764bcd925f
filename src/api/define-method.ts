/** The form in which a method of the wire is defined, once: see `methods.ts` for the table. */
import type * as z from 'zod/mini';
import type { EventKind } from '../audit/event.ts';
import type { Role } from '../command.ts';

/**
 * When a request acts and when its reply leaves.
 *
 * - `in-turn`: after the in-turn requests before it have ended; replies keep request order.
 * - `at-once`: without waiting; the reply keeps request order all the same.
 * - `beside`: without waiting; the reply leaves when it is ready, so that a caller that waits
 *   for output can write, resize and list meanwhile. The first protocol has none of these.
 */
export type DispatchLane = 'in-turn' | 'at-once' | 'beside';

/**
 * Which roles may call a method. It applies to callers with a token or a login; a caller on the
 * socket or the pipes has the user's uid. `admin` may call what any role may. `socket`: no caller
 * with a token.
 */
export type PermittedRoles = readonly Exclude<Role, 'admin'>[] | 'admin' | 'socket';

/** A parameter that identifies something that a caller made. */
export type TargetName = 'session_id' | 'state_of' | 'exec_id' | 'approval_id' | 'workspace_id';

/** What an agent with a token must have made itself; `daemon/access/ownership.ts`. */
export interface OwnershipRule {
  /** These parameters, if given, must identify things of the caller. */
  readonly own?: readonly TargetName[];
  /** For the session of another caller, the list is empty. */
  readonly listed?: true;
  /** `exec_id` may be a command of which only its changes are recorded. */
  readonly recorded?: true;
}

/** The event that records a call, and which fields it names: none that may be secret. */
export interface AuditSpec {
  readonly kind: EventKind;
  readonly params: readonly string[];
  readonly answer: readonly string[];
  /** It only ends or removes something: it acts even if the log cannot be written. */
  readonly ends?: true;
}

/** How the text of a query parameter is read; a `list` may be given more than once. */
export type QueryType = 'integer' | 'boolean' | 'text' | 'list';

/** How a list is divided into pages: `?limit=&cursor=`, `next_cursor` and a `Link`. */
export interface Paging {
  /** Field of the answer that holds the list. */
  readonly items: string;
  /** Field of an item from which the next page continues. */
  readonly key: string;
  /**
   * - `whole`: the method answers all of it.
   * - `limited`: it takes a `limit`, which is set to its maximum.
   * - `time`: it takes a `limit` and `until`; the key is a time, newest first.
   */
  readonly by: 'whole' | 'limited' | 'time';
  /** Items in a page by default, and at most. */
  readonly usual: number;
  readonly max: number;
}

/**
 * What an answer is: one JSON document, a stream of events (`text/event-stream`), or a WebSocket.
 */
export type ResponseKind = 'json' | 'events' | 'websocket';

/**
 * A path of HTTP for a method. Parameters of the method come from the names in braces in the
 * path, from the query if `query` lists them, and from the body's JSON object, under their own
 * names. The answer is the `data` of the wire.
 */
export interface RouteDefinition {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  /** For readers of the OpenAPI document: what a call does, one sentence without a full stop. */
  readonly about: string;
  /** Status of a success. */
  readonly status: 200 | 201 | 202;
  readonly answer: ResponseKind;
  /** Whether the body's JSON object holds parameters. */
  readonly body: boolean;
  /** Parameters of the method that come from the query. */
  readonly query: Readonly<Record<string, QueryType>>;
  readonly page?: Paging;
  /**
   * What `Idempotency-Key` does: it becomes the `exec_key` of the command, or the answer is cached
   * and repeated.
   */
  readonly idempotency?: 'exec_key' | 'kept';
  /** Other methods at the same path, by the value of `?mode=`. */
  readonly modes?: Readonly<
    Record<
      string,
      { readonly call: string; readonly status: 200 | 202; readonly answer: ResponseKind }
    >
  >;
  /** Location of what was created: a path with fields of the answer in braces. */
  readonly location?: string;
}

export interface MethodDefinition {
  /** Schema of `params`. Other keys are refused. */
  readonly params: z.ZodMiniObject;
  /** Schema of `data`. An answer may contain more fields. */
  readonly answer: z.ZodMiniType;
  readonly roles: PermittedRoles;
  readonly owns: OwnershipRule;
  readonly lane: DispatchLane;
  /** Its paths; `[]`: a mode of another method's path; text: why HTTP has none. */
  readonly http: readonly RouteDefinition[] | string;
  /** `null`: only refusals and failures are recorded. `own events`: it records its own. */
  readonly audit: AuditSpec | 'own events' | null;
}

/** What a schema describes, `readonly` all the way down. */
export type TypeOf<Schema extends z.ZodMiniType> = DeepReadonly<z.output<Schema>>;
type MethodGroup = Readonly<Record<string, MethodDefinition>>;
export type ParamsOf<Group extends MethodGroup, Name extends keyof Group> = TypeOf<
  Group[Name]['params']
>;
export type AnswerOf<Group extends MethodGroup, Name extends keyof Group> = TypeOf<
  Group[Name]['answer']
>;
type DeepReadonly<T> = T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T;

/** Checks the form of `definition`, and keeps its exact type. */
export const defineMethod = <const Definition extends MethodDefinition>(
  definition: Definition,
): Definition => definition;

export const permittedRoles = {
  everybody: ['agent', 'approver', 'auditor'],
  agent: ['agent'],
  agentAndApprover: ['agent', 'approver'],
  approver: ['approver'],
  people: ['approver', 'auditor'],
} as const;

export const ownershipRules = {
  none: {},
  session: { own: ['session_id'] },
  exec: { own: ['exec_id'] },
  listed: { listed: true },
  // Two commands may leave the same tree: its service looks among the caller's own records.
  recorded: { own: ['exec_id'], recorded: true },
  publication: { own: ['session_id', 'exec_id', 'workspace_id'], recorded: true },
} as const satisfies Readonly<Record<string, OwnershipRule>>;

const none = {};
const json = { answer: 'json', status: 200, query: none } as const;
export const getRoute = { ...json, method: 'GET', body: false } as const;
export const postRoute = { ...json, method: 'POST', body: true, idempotency: 'kept' } as const;
export const putRoute = { ...json, method: 'PUT', body: true } as const;
export const patchRoute = { ...json, method: 'PATCH', body: true } as const;
export const deleteRoute = { ...json, method: 'DELETE', body: false } as const;
export const createRoute = { ...postRoute, status: 201 } as const;
export const wholeListPaging = { by: 'whole', usual: 100, max: 1_000 } as const;
export const sessionRoutePath = '/v1/sessions/{session_id}';
export const execRoutePath = '/v1/execs/{exec_id}';
export const socketOnlyReason = 'it is for the socket of the runtime alone';
