/** The form of a row in the table of `routes.ts`. */
import type { MethodName } from '../../protocol/methods.ts';

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
export type AnswerKind = 'json' | 'events' | 'websocket';

/** Another method at the same path, by `?mode=`. */
export interface Mode {
  readonly call: MethodName;
  readonly status: 200 | 202;
  readonly answer: AnswerKind;
}

export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly call: MethodName;
  /** For people who read the document: what a call of it does, one sentence without a full stop. */
  readonly about: string;
  /** Of a success. */
  readonly status: 200 | 201 | 202;
  readonly answer: AnswerKind;
  /** Whether the body's JSON object holds parameters. */
  readonly body: boolean;
  /** Parameters of the method that come from the query. */
  readonly query: Readonly<Record<string, QueryType>>;
  readonly page?: Paging;
  /**
   * What `Idempotency-Key` does: it becomes the `exec_key` of the command, or the answer is kept
   * and given again.
   */
  readonly idempotency?: 'exec_key' | 'kept';
  /** By the value of `?mode=`; without it the row itself. */
  readonly modes?: Readonly<Record<string, Mode>>;
  /** Where the thing lies that was made: a path with fields of the answer in braces. */
  readonly location?: string;
}

/** Paths of the door itself, which no method of the wire stands for. */
export interface DoorRoute {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly about: string;
  /** Whether it answers without a token. */
  readonly open: boolean;
}
