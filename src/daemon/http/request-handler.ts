/**
 * Handles a request in this order: form, host name and origin; open paths; token; the caller's rate
 * and share; body; path. Refusals before the path is known are recorded and counted.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Caller, ExecId } from '../../command.ts';
import { TrlError } from '../../errors.ts';
import { findMethod } from '../../api/methods.ts';
import { readRequest } from '../../protocol/request.ts';
import type { Identities } from '../access/identities.ts';
import { successReply, failureReply } from '../transport/reply-messages.ts';
import { BodyBudget, readBodyBytes, refuseBody } from './body.ts';
import type { Connections } from './connections.ts';
import { ConsoleFiles } from './console-files.ts';
import { callMethodAs, refuseStreaming } from './method-calls.ts';
import type { HttpTransportParts, FollowTarget } from './method-calls.ts';
import { OutputFollowers } from './followers.ts';
import { CallerIdentification, peerAddress, tooManyRequestsRefusal } from './callers.ts';
import { checkRequest, isHandshake, requireHandshake } from './request-checks.ts';
import type { AllowedHostsAndOrigins } from './request-checks.ts';
import { IdempotencyCache } from './idempotency-cache.ts';
import { HttpRefusal } from './problem.ts';
import type { HttpProblem } from './problem.ts';
import { readQuery } from './query.ts';
import type { RefusalLog } from './refusal-log.ts';
import { refuseUpgrade, sendBody, sendJson, sendProblem, setHeaderFields } from './respond.ts';
import { upgradeRequiredRefusal, queryTypesOf, RestHandler, routeOf } from './rest.ts';
import type { RestExchange } from './rest.ts';
import { isWireOffer } from './websockets.ts';
import type { WebSockets } from './websockets.ts';
import { parseTraceparent } from './trace.ts';
import { UnsentBudget } from './unsent-budget.ts';

const bodiesOfCallerMax = 64 * 1_024 * 1_024;
const bodiesMax = 256 * 1_024 * 1_024;
/** A handler of its own path, such as `/mcp`. */
export interface MountedHandler {
  /** Must not throw after it has sent an answer. */
  handle(exchange: MountedRequest): Promise<void>;
  /** Formats a failure in the handler's own form, which is sent as JSON. */
  readonly formatProblem: (problem: HttpProblem) => object;
}

export interface MountedRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly caller: Caller;
  /** Not parsed; `null` if the request has none. */
  readonly body: Uint8Array | null;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
}

export interface RequestHandlerOptions {
  readonly parts: HttpTransportParts;
  readonly identities: Identities;
  readonly connections: Connections;
  readonly refusals: RefusalLog;
  readonly sockets: WebSockets;
  readonly consoleFiles: ConsoleFiles;
  /** `null` if the console is not built in. */
  readonly openapi: () => Promise<string>;
  readonly metricsText: () => string;
  /** Whether only people who are logged in get answers. */
  readonly loginsOnly: boolean;
}

export class RequestHandler {
  readonly #options: RequestHandlerOptions;
  readonly #callers: CallerIdentification;
  readonly #budget = new BodyBudget(bodiesOfCallerMax, bodiesMax);
  readonly #unsent = new UnsentBudget();
  readonly #mounted = new Map<string, MountedHandler>();
  readonly followers: OutputFollowers;
  readonly #rest: RestHandler;
  /** Open answers, which end when their token ends. */
  readonly #open = new Map<ServerResponse, Caller>();
  /** Set when the address is known. */
  names: AllowedHostsAndOrigins = { hosts: new Set(), origins: new Set() };
  isStopping = false;

  constructor(options: RequestHandlerOptions) {
    this.#options = options;
    this.#callers = new CallerIdentification(options);
    this.followers = new OutputFollowers(options.parts);
    this.#rest = new RestHandler({
      ...options.parts,
      followers: this.followers,
      idempotencyCache: new IdempotencyCache(),
      budget: this.#budget,
      unsent: this.#unsent,
    });
  }

  mount(path: string, mounted: MountedHandler): void {
    this.#mounted.set(path, mounted);
  }

  /** Ends a caller's open answers after its token has become invalid. */
  endCaller(caller: Caller): void {
    for (const [response, one] of this.#open) if (one === caller) response.destroy();
  }

  /** Never rejects. */
  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // The socket's time-out applies only between two requests.
    request.socket.setTimeout(0);
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    try {
      checkRequest(request, this.names);
      const path = pathOf(request);
      const trace = parseTraceparent(textOf(request.headers['traceparent']));
      response.setHeader('traceparent', trace.own);
      if (await this.#answerOpen(request, response, path)) return;
      const known = this.#callers.identify(request, false, response);
      const { caller } = known;
      this.#open.set(response, caller);
      response.once('close', () => {
        this.#open.delete(response);
        known.end();
      });
      const exchange = { request, response, caller, signal: gone.signal, path, trace };
      await this.#answerKnown(exchange);
    } catch (error) {
      this.#noteRefusal(request, error);
      const form = this.#mounted.get(pathOf(request))?.formatProblem;
      sendProblem(
        { request, response, form },
        'the request',
        error,
        this.#options.parts.replyContext,
      );
    }
  }

  /** Never rejects. */
  async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    request.socket.setTimeout(0);
    try {
      checkRequest(request, this.names);
      const path = pathOf(request);
      const { caller, end, pace } = this.#callers.identify(request, true, null);
      socket.once('close', end);
      this.#refuseWhenStopping();
      requireHandshake(request);
      const upgrade = { request, socket, head, caller, pace };
      if (!isWireOffer(request)) {
        const message = 'Cannot open the WebSocket: of its subprotocols only "trl.v2" is known';
        throw new HttpRefusal('INVALID_PARAMS', message);
      }
      if (path === '/rpc') {
        readQuery(request.url ?? '', {});
        await this.#options.sockets.tunnel(upgrade);
        return;
      }
      const target = await this.#execOf(request, path, caller);
      await this.#options.sockets.exec(upgrade, this.followers, target);
    } catch (error) {
      this.#noteRefusal(request, error);
      const isUnknown = error instanceof HttpRefusal && error.error.code === 'AUTH_FAILED';
      const isPage = request.headers.origin !== undefined && isWireOffer(request);
      const { sockets } = this.#options;
      if (isUnknown && isPage && isHandshake(request)) sockets.refuse({ request, socket, head });
      else refuseUpgrade(socket, error, this.#options.parts.replyContext);
    }
  }

  async #answerOpen(
    request: IncomingMessage,
    response: ServerResponse,
    path: string,
  ): Promise<boolean> {
    const { consoleFiles, parts, openapi } = this.#options;
    if (ConsoleFiles.isConsoleTarget(path)) {
      refuseBody(request);
      consoleFiles.send(request, response, path);
      return true;
    }
    const { masking } = parts.replyContext;
    const row = openRows.get(path);
    if (row === undefined || isLeaving(request, path)) return false;
    if (request.method !== row && !(request.method === 'HEAD' && row === 'GET')) {
      const message = `Cannot answer ${request.method}: the path takes ${row}`;
      throw new HttpRefusal('INVALID_PARAMS', message, { status: 405, headers: { Allow: row } });
    }
    readQuery(request.url ?? '', {});
    if (path === '/v1/login') {
      await this.#callers.logIn(request, response);
      return true;
    }
    refuseBody(request);
    if (path === '/openapi.json') {
      setHeaderFields(response, { 'Content-Type': 'application/json' });
      sendBody(response, 200, await openapi());
    } else {
      if (path === '/readyz') this.#refuseWhenStopping();
      sendJson(response, 200, masking.json({ status: 'ok' }));
    }
    return true;
  }

  async #answerKnown(exchange: RestExchange): Promise<void> {
    const { path, request, response, caller, signal } = exchange;
    if (this.#unsent.isFull(caller.actor)) {
      throw tooManyRequestsRefusal('its answers wait to be read', 'crowded', {
        'Retry-After': '1',
      });
    }
    const mounted = this.#mounted.get(path);
    if (mounted !== undefined) {
      if (!mountedMethods.has(request.method ?? '')) requireMethod(request, 'POST');
      if (request.method === 'GET') refuseBody(request);
      this.#refuseWhenStopping();
      const reading = { request, response, caller: caller.actor, budget: this.#budget };
      const body = await readBodyBytes(reading);
      setHeaderFields(response, {});
      await mounted.handle({ request, response, caller, body, signal });
      return;
    }
    if (path === '/metrics') {
      requireMethod(request, 'GET');
      refuseBody(request);
      setHeaderFields(response, { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' });
      sendBody(response, 200, this.#options.metricsText());
      return;
    }
    if (isLeaving(request, path)) return this.#callers.logOut(exchange);
    this.#refuseWhenStopping();
    if (path === '/rpc') await this.#rpc(exchange);
    else await this.#rest.handle(exchange);
  }

  /** Answers one wire request in an envelope with an envelope. */
  async #rpc({ request, response, caller }: RestExchange): Promise<void> {
    if (request.method === 'GET') throw upgradeRequiredRefusal();
    requireMethod(request, 'POST');
    refuseKey(request);
    const { parts } = this.#options;
    readQuery(request.url ?? '', {});
    const reading = { request, response, caller: caller.actor, budget: this.#budget };
    const envelope = readRequest((await readBodyBytes(reading)) ?? new Uint8Array());
    if (envelope.kind === 'refused') {
      sendJson(
        response,
        400,
        failureReply(envelope.id, 'the request', envelope.error, parts.replyContext),
      );
      return;
    }
    const { id, method: name, params } = envelope;
    try {
      const method = findMethod(name);
      refuseStreaming(method);
      const data = await callMethodAs(parts, caller, { method, params });
      const json = successReply(id, data, parts.replyContext);
      const isHeld = this.#unsent.hold(caller.actor, response, json.length);
      if (isHeld) sendJson(response, 200, json);
      else response.destroy();
    } catch (error) {
      sendJson(response, 200, failureReply(id, 'the request', error, parts.replyContext));
    }
  }

  async #execOf(request: IncomingMessage, path: string, caller: Caller) {
    const { row, params } = routeOf(request.method ?? '', path);
    if (row.answer !== 'websocket') {
      const message = 'Cannot open the WebSocket: the path is none';
      throw new HttpRefusal('INVALID_PARAMS', message);
    }
    const query = readQuery(request.url ?? '', queryTypesOf(row));
    const follows: FollowTarget[] = [];
    const follow = (execId: ExecId, from: number) => {
      follows.push({ execId, from, form: 'text' });
      return { stream_id: execId, exec_id: execId, offset: from };
    };
    const methodCall = { method: row.call, params: { ...query, ...params } };
    await callMethodAs(this.#options.parts, caller, methodCall, { follow });
    const [target] = follows;
    if (target === undefined) throw new Error(`${row.call} follows nothing`);
    return target;
  }

  #refuseWhenStopping(): void {
    if (!this.isStopping) return;
    const message = 'Cannot answer the request: the runtime is stopping';
    throw new TrlError('BACKEND_UNAVAILABLE', message);
  }

  #noteRefusal(request: IncomingMessage, error: unknown): void {
    if (!(error instanceof HttpRefusal) || error.reason === null) return;
    this.#options.refusals.note(error.reason, peerAddress(request));
  }
}

const openRows: ReadonlyMap<string, 'GET' | 'POST'> = new Map([
  ['/healthz', 'GET'],
  ['/readyz', 'GET'],
  ['/openapi.json', 'GET'],
  ['/v1/login', 'POST'],
]);

const isLeaving = ({ method }: IncomingMessage, path: string): boolean =>
  path === '/v1/login' && method === 'DELETE';

const pathOf = ({ url = '' }: IncomingMessage): string => url.split('?', 1)[0] ?? '';

const textOf = (field: string | readonly string[] | undefined): string | undefined =>
  typeof field === 'string' ? field : undefined;

/** The methods of MCP; others, such as TRACE, cannot become a `Request`. */
const mountedMethods: ReadonlySet<string> = new Set(['GET', 'POST', 'DELETE']);

function requireMethod({ method }: IncomingMessage, wanted: string): void {
  if (method === wanted || (method === 'HEAD' && wanted === 'GET')) return;
  const message = `Cannot answer ${method}: the path takes ${wanted}`;
  throw new HttpRefusal('INVALID_PARAMS', message, { status: 405, headers: { Allow: wanted } });
}

/** Refuses a key where it has no effect: its sender relies on it to prevent a second run. */
function refuseKey({ headers }: IncomingMessage): void {
  if (headers['idempotency-key'] === undefined) return;
  const instead = 'give a command "exec_key" among its parameters';
  const message = `Cannot read the request: POST /rpc takes no "Idempotency-Key"; ${instead}`;
  throw new HttpRefusal('INVALID_PARAMS', message);
}
