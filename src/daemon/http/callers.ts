/**
 * Identifies callers by token, limits the rate and number of their requests, and handles logins and
 * logouts. All HTTP requests of a caller count together.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Caller } from '../../command.ts';
import { TrlError } from '../../errors.ts';
import type { Identities } from '../access/identities.ts';
import type { RequestPacer } from '../transport/connection.ts';
import { BodyBudget, readJsonBody, refuseBody } from './body.ts';
import type { Connections } from './connections.ts';
import type { HttpTransportParts } from './method-calls.ts';
import { requestToken } from './request-checks.ts';
import { HttpRefusal } from './problem.ts';
import type { HttpRefusalReason } from './problem.ts';
import { rateHeaders, RateLimiter } from './rate-limiter.ts';
import type { RefusalLog } from './refusal-log.ts';
import { sendJson } from './respond.ts';

/** Rate limit of one caller's requests. */
const callerRate = { burst: 5_000, perSecond: 1_000 } as const;
/** Rate limit of wrong tokens and codes from one address. */
const failureRate = { burst: 20, perSecond: 2 } as const;
/** Body limit of logins: the caller is not known yet, and a code is short. */
const loginBytesMax = 4_096;
const loginsOfPeerMax = 64 * 1_024;
const loginsMax = 1_024 * 1_024;
/** How long input that arrives too fast waits before the next check, in ms. */
const pauseMs = 20;
const pausesMax = 100;

export interface CallerIdentificationOptions {
  readonly parts: HttpTransportParts;
  readonly identities: Identities;
  readonly connections: Connections;
  readonly refusals: RefusalLog;
  /** Whether only people who are logged in get answers. */
  readonly loginsOnly: boolean;
}

export interface IdentifiedCaller {
  readonly caller: Caller;
  /** Limits the messages within the request if it becomes a WebSocket. */
  readonly pace: RequestPacer;
  /** Releases the request's share. */
  readonly end: () => void;
}

export class CallerIdentification {
  readonly #options: CallerIdentificationOptions;
  readonly #rates = new RateLimiter(callerRate);
  readonly #failures = new RateLimiter(failureRate);
  /** A separate budget, so that requests without a token use no room of callers with one. */
  readonly #loginBudget = new BodyBudget(loginsOfPeerMax, loginsMax);

  constructor(options: CallerIdentificationOptions) {
    this.#options = options;
  }

  /** @throws HttpRefusal without a valid token, or if the caller exceeds a limit */
  identify(
    request: IncomingMessage,
    isUpgrade: boolean,
    response: ServerResponse | null,
  ): IdentifiedCaller {
    const { identities, connections, loginsOnly } = this.#options;
    const token = requestToken(request, isUpgrade);
    const caller = token === null ? null : identities.callerOf(token);
    if (caller === null) {
      this.#slowDown(peerAddress(request));
      throw unauthorized(`token-${identities.refusalReason(token)}`);
    }
    if (loginsOnly && caller.authenticatedBy !== 'login') {
      throw unauthorized('token-unknown');
    }
    const taken = this.#rates.take(caller.actor);
    const fields = rateHeaders(callerRate, taken);
    if (!taken.isAllowed) throw tooManyRequestsRefusal(tooOften, 'rate', fields);
    for (const [name, value] of Object.entries(fields)) response?.setHeader(name, value);
    const end = connections.begin(request.socket, caller.actor);
    if (end === null) {
      throw tooManyRequestsRefusal('this caller has too much open', 'crowded', {
        'Retry-After': '1',
      });
    }
    return { caller, end, pace: this.#paceOf(caller, peerAddress(request)) };
  }

  /** A login code is as secret as a token: it is sent in the body and is single-use. */
  async logIn(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { identities, parts } = this.#options;
    const peer = peerAddress(request);
    const bounds = { budget: this.#loginBudget, bytesMax: loginBytesMax };
    const { code } = await readJsonBody({ request, response, caller: peer, ...bounds });
    if (typeof code !== 'string') {
      throw new TrlError('INVALID_PARAMS', 'Cannot log in: "code" must be text');
    }
    const found = identities.redeem(code);
    if (found === null) {
      this.#slowDown(peer);
      const message = 'Cannot log in: the link was used or is too old; make another: trl console';
      throw new HttpRefusal('AUTH_FAILED', message, { reason: 'login' });
    }
    const { token, expiresAt, caller } = found;
    const { actor, roles } = caller;
    const answer = { expires_at: new Date(expiresAt).toISOString(), roles, actor };
    // This is the only answer that contains a token, which `json` would mask.
    const json = parts.replyContext.masking.output({ token, ...answer });
    sendJson(response, 200, json);
  }

  /** Logs a person out and ends everything else that the login has open. */
  logOut({ request, response, caller }: Leaving): void {
    refuseBody(request);
    const token = requestToken(request, false);
    if (caller.authenticatedBy !== 'login' || token === null) {
      const message = 'Cannot log out: this token is no login; see: trl token revoke';
      throw new HttpRefusal('PERMISSION_DENIED', message);
    }
    response.once('close', () => this.#options.identities.endLogin(token));
    sendJson(response, 200, this.#options.parts.replyContext.masking.json({ status: 'ok' }));
  }

  #paceOf({ actor }: Caller, peer: string): RequestPacer {
    return {
      take: () => {
        const taken = this.#rates.take(actor);
        if (taken.isAllowed) return;
        this.#options.refusals.note('rate', peer);
        const wait = `wait ${Math.max(1, taken.waitS)} s`;
        throw new TrlError('QUOTA_EXCEEDED', `Cannot take the request: ${tooOften}; ${wait}`);
      },
      ready: async () => {
        // Other requests of the caller may use up the limit: after `pausesMax` pauses it continues.
        for (let pauses = 0; pauses < pausesMax; pauses += 1) {
          if (this.#rates.take(actor).isAllowed) return;
          await sleep(pauseMs);
        }
      },
    };
  }

  /** Delays addresses that guess; callers with a valid token never wait, wherever they are. */
  #slowDown(peer: string): void {
    const taken = this.#failures.take(peer);
    if (taken.isAllowed) return;
    const retry = String(Math.max(1, taken.waitS));
    throw tooManyRequestsRefusal('too many wrong ones came from here', 'rate', {
      'Retry-After': retry,
    });
  }
}

const tooOften = 'this caller asks too often';

/** A request to log out. */
interface Leaving {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly caller: Caller;
}

export const peerAddress = ({ socket }: IncomingMessage): string =>
  socket.remoteAddress ?? 'unknown';

function unauthorized(reason: HttpRefusalReason): HttpRefusal {
  const message = 'Cannot answer the request: it needs "Authorization: Bearer" and a valid token';
  return new HttpRefusal('AUTH_FAILED', message, {
    reason,
    headers: { 'WWW-Authenticate': 'Bearer realm="trl"' },
  });
}

export function tooManyRequestsRefusal(
  why: string,
  reason: HttpRefusalReason,
  headers: Readonly<Record<string, string>>,
): HttpRefusal {
  return new HttpRefusal('QUOTA_EXCEEDED', `Cannot answer the request: ${why}`, {
    reason,
    headers,
  });
}
