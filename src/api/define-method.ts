/** The form in which a method of the wire is defined, once: see `methods.ts` for the table. */
import type * as z from 'zod/mini';
import type { EventKind } from '../audit/event.ts';
import type { Role } from '../command.ts';

/**
 * When a request acts and when its reply leaves.
 *
 * - `in-turn`: after the in-turn requests before it have ended; replies keep request order.
 * - `at-once`: without waiting; the reply keeps request order all the same.
 * - `beside`: without waiting; the reply leaves when it is ready, so that a caller which waits
 *   for output can write, resize and list meanwhile. Clients of the first protocol know none.
 */
export type DispatchLane = 'in-turn' | 'at-once' | 'beside';

/**
 * Which roles may call a method. It binds callers by token and by login; who is on the socket or
 * the pipes has the user's uid. `admin` may call what any role may. `socket`: no caller by token.
 */
export type PermittedRoles = readonly Exclude<Role, 'admin'>[] | 'admin' | 'socket';

/** A parameter that names something that a caller made. */
export type TargetName = 'session_id' | 'state_of' | 'exec_id' | 'approval_id' | 'workspace_id';

/** What an agent that comes by a token must have made itself; `daemon/access/ownership.ts`. */
export interface OwnershipRule {
  /** These, where they are given, must be the caller's. */
  readonly own?: readonly TargetName[];
  /** Another's session is one of which nothing is listed. */
  readonly listed?: true;
  /** `exec_id` may be a command that is known by its changes alone. */
  readonly recorded?: true;
}

/** The event that records a call, and which fields it names: never a value that may be secret. */
export interface AuditSpec {
  readonly kind: EventKind;
  readonly params: readonly string[];
  readonly answer: readonly string[];
  /** It only takes away: it acts though nothing can be recorded just now. */
  readonly ends?: true;
}

/** How the text of a query parameter is read; a `list` may be given more than once. */
export type QueryType = 'integer' | 'boolean' | 'text' | 'list';

/** How a list is cut into pages: `?limit=&cursor=`, `next_cursor` and a `Link` in the answer. */
export interface Paging {
  /** Field of the answer that holds the list. */
  readonly items: string;
  /** Field of an item by which the next page knows where this one ended. */
  readonly key: string;
  /**
   * - `whole`: the method answers all of it.
   * - `limited`: it takes a `limit`, and is asked for as many as it gives at most.
   * - `time`: it takes a `limit` and `until`; the key is a time, newest first.
   */
  readonly by: 'whole' | 'limited' | 'time';
  /** Items in a page when the caller does not say, and at most. */
  readonly usual: number;
  readonly max: number;
}

/**
 * What an answer is: one JSON document, a stream of events (`text/event-stream`), or a WebSocket.
 */
export type ResponseKind = 'json' | 'events' | 'websocket';

/**
 * A path of HTTP for a method. Parameters of the method come out of the path by the names in
 * braces, out of the query where `query` lists them, and out of the body's JSON object: all under
 * their own names. The answer is the `data` that the wire answers.
 */
export interface RouteDefinition {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  /** For people who read the document: what a call of it does, one sentence without a full stop. */
  readonly about: string;
  /** Of a success. */
  readonly status: 200 | 201 | 202;
  readonly answer: ResponseKind;
  /** Whether the body's JSON object holds parameters. */
  readonly body: boolean;
  /** Parameters of the method that come from the query. */
  readonly query: Readonly<Record<string, QueryType>>;
  readonly page?: Paging;
  /**
   * What `Idempotency-Key` does: it becomes the `exec_key` of the command, or the answer is stored
   * and given again.
   */
  readonly idempotency?: 'exec_key' | 'kept';
  /** Other methods at the same path, by the value of `?mode=`. */
  readonly modes?: Readonly<
    Record<
      string,
      { readonly call: string; readonly status: 200 | 202; readonly answer: ResponseKind }
    >
  >;
  /** Where the thing lies that was made: a path with fields of the answer in braces. */
  readonly location?: string;
}

export interface MethodDefinition {
  /** Schema of `params`. A key that it does not name is refused. */
  readonly params: z.ZodMiniObject;
  /** Schema of `data`. An answer may hold more fields than it names. */
  readonly answer: z.ZodMiniType;
  readonly roles: PermittedRoles;
  readonly owns: OwnershipRule;
  readonly lane: DispatchLane;
  /** Its paths; `[]`: a mode of another method's path; text: why HTTP has none. */
  readonly http: readonly RouteDefinition[] | string;
  /** `null`: only its refusals and failures are recorded. `own events`: it records itself. */
  readonly audit: AuditSpec | 'own events' | null;
}

/** Checks that `definition` is one, and keeps its exact type. */
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
  // A tree is the same whoever left it: its service looks for it among the caller's own records.
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
