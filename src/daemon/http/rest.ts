/** Answers the paths of `routes.ts`: turns a request into a wire call, and its answer into JSON. */
import type { Caller, ExecId } from '../../command.ts';
import { isTrlError, TrlError } from '../../errors.ts';
import { isJsonObject } from '../../protocol/json.ts';
import type { JsonObject } from '../../protocol/json.ts';
import { refuseUnknownParams } from '../../api/methods.ts';
import { refuseBody, readJsonBody } from './body.ts';
import type { BodyBudget } from './body.ts';
import { callMethodAs } from './method-calls.ts';
import type { HttpTransportParts, FollowTarget } from './method-calls.ts';
import { sendWatchEvents, sendExecEvents, resumeOffset } from './server-sent-events.ts';
import type { EventExchange } from './server-sent-events.ts';
import type { OutputFollowers } from './followers.ts';
import type { IdempotencyCache, CachedAnswer } from './idempotency-cache.ts';
import { RouteTable } from './route-table.ts';
import type { RouteMatch } from './route-table.ts';
import { pageMethodParams, cutAnswerPage, parsePageRequest } from './pages.ts';
import { HttpRefusal } from './problem.ts';
import { readQuery } from './query.ts';
import { sendBody, setHeaderFields } from './respond.ts';
import type { QueryType } from '../../api/define-method.ts';
import { integersInPaths, routes, type Route, type RouteMode } from './routes.ts';
import type { TraceContext } from './trace.ts';
import type { UnsentBudget } from './unsent-budget.ts';

export interface RestExchange extends EventExchange {
  /** The target without its query. */
  readonly path: string;
  readonly trace: TraceContext;
}

export interface RestHandlerParts extends HttpTransportParts {
  readonly followers: OutputFollowers;
  readonly idempotencyCache: IdempotencyCache;
  readonly budget: BodyBudget;
  readonly unsent: UnsentBudget;
}

/** A request after parsing: its row and the parameters of the call. */
interface RestCall extends RouteMode {
  readonly route: Route;
  readonly params: JsonObject;
  readonly page: ReturnType<typeof parsePageRequest> | null;
  readonly key: string | null;
}

const table = new RouteTable(routes);

/**
 * The row of a request.
 *
 * @throws HttpRefusal 404 or 405
 */
export function routeOf(method: string, path: string): RouteMatch<Route> {
  const found = table.find(method, path);
  if (found !== null) return found;
  throw new HttpRefusal('INVALID_PARAMS', 'Cannot answer the request: nothing has this path', {
    status: 404,
  });
}

export class RestHandler {
  readonly #parts: RestHandlerParts;

  constructor(parts: RestHandlerParts) {
    this.#parts = parts;
  }

  /** @throws HttpRefusal or TrlError before anything is sent */
  async handle(exchange: RestExchange): Promise<void> {
    const { request } = exchange;
    const match = routeOf(request.method ?? '', exchange.path);
    const restCall = await this.#read(exchange, match);
    if (restCall.answer === 'websocket') throw upgradeRequiredRefusal();
    if (restCall.answer === 'events') await this.#stream(exchange, restCall);
    else await this.#send(exchange, restCall);
  }

  async #read(
    exchange: RestExchange,
    { row, params: inPath }: RouteMatch<Route>,
  ): Promise<RestCall> {
    const { request, response, caller } = exchange;
    const { body: hasBody, modes, page: paging } = row;
    const query = readQuery(request.url ?? '', queryTypesOf(row));
    const { mode: name, limit, cursor, ...others } = query;
    const page = paging === undefined ? null : parsePageRequest(paging, limit, cursor);
    const mode = modeOf(modes, name);
    const answer = mode?.answer ?? row.answer;
    if (request.method === 'HEAD' && answer !== 'json') throw noHead();
    if (!hasBody) refuseBody(request);
    const reading = { request, response, caller: caller.actor, budget: this.#parts.budget };
    const given = hasBody ? await readJsonBody(reading) : {};
    const inPages = page === null || paging === undefined ? {} : pageMethodParams(paging, page);
    const fromPath = pathParams(inPath);
    refuseUnknownParams(mode?.call ?? row.call, given);
    refuseOther(given, fromPath);
    const own = paging === undefined && limit !== undefined ? { limit } : {};
    const params = { ...given, ...others, ...own, ...inPages, ...fromPath };
    const route = row;
    const { call, status } = mode ?? row;
    const key = row.idempotency === undefined ? null : keyOf(request.headers['idempotency-key']);
    return { route, call, status: status === 202 ? 202 : 200, answer, params, page, key };
  }

  async #send(exchange: RestExchange, restCall: RestCall): Promise<void> {
    const { request, response, caller } = exchange;
    const { status, body, headers } = await this.#once(exchange, restCall);
    if (!this.#parts.unsent.hold(caller.actor, response, body.length)) {
      // A refusal would suggest that the call had no effect, so the connection ends instead.
      if (request.method !== 'GET') return void response.destroy();
      const message = 'Cannot answer the request: other answers wait to be read';
      throw new HttpRefusal('QUOTA_EXCEEDED', message, { headers: { 'Retry-After': '1' } });
    }
    setHeaderFields(response, { 'Content-Type': 'application/json', ...headers });
    sendBody(response, status, body);
  }

  /** Makes the call; returns the earlier answer if the key was used before. */
  async #once({ caller, path, trace }: RestExchange, restCall: RestCall): Promise<CachedAnswer> {
    const { key, route } = restCall;
    const act = (params: JsonObject) => this.#call(caller, { ...restCall, params }, path);
    if (route.idempotency === 'exec_key') {
      const params = tracedBy(trace, restCall.params);
      if (key === null) return act(params);
      return this.#parts.idempotencyCache.claimKey(commandOf(caller, path, key, restCall), () =>
        act(withExecKey(params, key)),
      );
    }
    if (key === null) return act(restCall.params);
    return this.#parts.idempotencyCache.answerOnce(keyed(caller, path, key, restCall), () =>
      act(restCall.params),
    );
  }

  async #call(caller: Caller, restCall: RestCall, path: string): Promise<CachedAnswer> {
    const { route, params, page, call } = restCall;
    const { masking } = this.#parts.replyContext;
    let answer: unknown;
    try {
      answer = await callMethodAs(this.#parts, caller, { method: call, params });
    } catch (error) {
      // A command that timed out has a receipt like any other.
      if (!isTrlError(error, 'COMMAND_TIMEOUT') || error.data === null) throw error;
      answer = error.data;
    }
    const { page: paging, location } = route;
    const part = page === null || paging === undefined ? null : cutAnswerPage(paging, page, answer);
    const next = part?.next ?? null;
    const status = restCall.status === 202 ? 202 : route.status;
    return {
      status,
      body: masking.json(part?.answer ?? answer),
      headers: {
        ...(location === undefined ? {} : { Location: filled(location, answer) }),
        ...(next === null ? {} : { Link: `<${path}?cursor=${next}>; rel="next"` }),
      },
    };
  }

  async #stream(exchange: RestExchange, restCall: RestCall): Promise<void> {
    const { request, response, caller, path, trace } = exchange;
    const { call: method, key } = restCall;
    if (method === 'approval.watch' || method === 'system.watch') {
      // Checked and recorded as on any transport; its events follow the head of the answer.
      const watch = () => ({ stream_id: 'w-' }) as const;
      const feed = () => ({ stream_id: 'f-' }) as const;
      await callMethodAs(this.#parts, caller, { method, params: restCall.params }, { watch, feed });
      await sendWatchEvents(exchange, this.#parts, method);
      return;
    }
    const isRun = method === 'exec.stream';
    const traced = isRun ? tracedBy(trace, restCall.params) : restCall.params;
    const params = isRun && key !== null ? withExecKey(traced, key) : traced;
    const follows: FollowTarget[] = [];
    const follow = (execId: ExecId, from: number) => {
      follows.push({ execId, from, form: 'text' });
      return { stream_id: execId, exec_id: execId, offset: from };
    };
    const act = async (): Promise<CachedAnswer> => {
      await callMethodAs(this.#parts, caller, { method, params }, { follow });
      return { status: 200, body: '', headers: {} };
    };
    if (isRun && key !== null) {
      await this.#parts.idempotencyCache.claimKey(commandOf(caller, path, key, restCall), act);
    } else {
      await act();
    }
    const [target] = follows;
    if (target === undefined) throw new Error(`${method} follows nothing`);
    const from = resumeOffset(request, target.from);
    if (isRun) response.setHeader('Location', `/v1/execs/${target.execId}`);
    await sendExecEvents(exchange, this.#parts.followers, { execId: target.execId, from });
  }
}

function keyed({ actor }: Caller, path: string, key: string, { call, params }: RestCall) {
  return { actor, target: `${call} ${path}`, key, params };
}

/**
 * The key of a command, the same for every way of waiting for it. If an earlier runtime saw the key
 * in the same session, the launch of commands detects a different call.
 */
function commandOf({ actor }: Caller, path: string, key: string, { params }: RestCall) {
  const { wait_ms: _, output_bytes: __, ...others } = params;
  return { actor, target: `exec ${path}`, key, params: others };
}

/** The query parameters of a row. */
export function queryTypesOf({ query, page, modes }: Route): Readonly<Record<string, QueryType>> {
  return {
    ...query,
    ...(page === undefined ? {} : ({ limit: 'integer', cursor: 'text' } as const)),
    ...(modes === undefined ? {} : ({ mode: 'text' } as const)),
  };
}

function modeOf(modes: Route['modes'], name: unknown): RouteMode | null {
  if (name === undefined || modes === undefined) return null;
  const found = typeof name === 'string' && Object.hasOwn(modes, name) ? modes[name] : undefined;
  if (found !== undefined) return found;
  const known = Object.keys(modes).join(' or ');
  throw new HttpRefusal('INVALID_PARAMS', `Cannot read the query: "mode" must be ${known}`);
}

function pathParams(inPath: Readonly<Record<string, string>>): JsonObject {
  return Object.fromEntries(
    Object.entries(inPath).map(([name, text]) => {
      if (!integersInPaths.has(name)) return [name, text];
      if (/^\d{1,15}$/.test(text)) return [name, Number(text)];
      const message = `Cannot read the request: "${name}" in its path must be a whole number`;
      throw new HttpRefusal('INVALID_PARAMS', message);
    }),
  );
}

/** Refuses a body that contradicts the path: it is a mistake or an attack. */
function refuseOther(given: JsonObject, inPath: JsonObject): void {
  for (const [name, value] of Object.entries(inPath)) {
    if (!Object.hasOwn(given, name) || given[name] === null || given[name] === value) continue;
    const message = `Cannot take the request: "${name}" in its body is not that of its path`;
    throw new HttpRefusal('INVALID_PARAMS', message);
  }
}

const keyForm = /^[\x21-\x7e]{1,256}$/;

/** The key without the quotes of a structured field. */
function keyOf(field: string | readonly string[] | undefined): string | null {
  if (field === undefined) return null;
  const key = typeof field === 'string' ? field.replace(/^"(.*)"$/, '$1') : '';
  if (keyForm.test(key)) return key;
  const message = 'Cannot read the request: "Idempotency-Key" must be 1 to 256 visible characters';
  throw new HttpRefusal('INVALID_PARAMS', message);
}

function withExecKey(params: JsonObject, key: string): JsonObject {
  const own: unknown = params['exec_key'];
  if (own === undefined || own === null || own === key) return { ...params, exec_key: key };
  const message = 'Cannot run the command: "exec_key" and "Idempotency-Key" are not the same';
  throw new TrlError('INVALID_PARAMS', message);
}

/** Passes the caller's trace to the command, unless the caller set another one there. */
function tracedBy({ own, isGiven }: TraceContext, params: JsonObject): JsonObject {
  const env: unknown = params['env'] ?? {};
  if (!isGiven || !isJsonObject(env) || Object.hasOwn(env, 'TRACEPARENT')) return params;
  return { ...params, env: { ...env, TRACEPARENT: own } };
}

function filled(template: string, answer: unknown): string {
  return template.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value: unknown = isJsonObject(answer) ? answer[name] : '';
    return encodeURIComponent(typeof value === 'string' ? value : '');
  });
}

export function upgradeRequiredRefusal(): HttpRefusal {
  return new HttpRefusal('INVALID_PARAMS', 'Cannot answer the request: this path is a WebSocket', {
    status: 426,
    headers: { Upgrade: 'websocket', Connection: 'Upgrade' },
  });
}

function noHead(): HttpRefusal {
  const message = 'Cannot answer HEAD: the path is a stream';
  return new HttpRefusal('INVALID_PARAMS', message, { status: 405, headers: { Allow: 'GET' } });
}
