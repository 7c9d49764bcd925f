/** Connections of one command, summed by host, port and verdict. */
import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import {
  connectionSummariesMax,
  requestSummariesMax,
  type ConnectionSummary,
  type RequestSummary,
} from '../network-access.ts';
import type { HttpRequest } from '../network/request-rules.ts';

type Changeable<T> = { -readonly [Key in keyof T]: T[Key] };
type Sum = Changeable<ConnectionSummary>;

/** Requests to one host and port. */
interface Requests {
  readonly sums: Map<string, Changeable<RequestSummary>>;
  readonly secrets: Set<string>;
}

/** One connection; bytes are counted as they pass. */
export interface ConnectionRecord {
  readonly host: string;
  readonly port: number;
  readonly allowed: boolean;
  readonly rule: string;
}

/** A live connection: what its sockets have carried is added when it is asked for. */
interface Live {
  readonly sum: Sum;
  readonly upstream: Socket;
  counted: { sent: number; received: number };
}

export class ConnectionLog {
  readonly #sums = new Map<string, Sum>();
  readonly #live = new Set<Live>();
  readonly #requests = new Map<string, Requests>();
  #isShared = false;

  /** Another command of the session runs: whose connections these are is not known from here. */
  share(): void {
    this.#isShared = true;
  }

  /** `null`: there are too many hosts; it is not listed. */
  add({ host, port, allowed, rule }: ConnectionRecord): Sum | null {
    const key = JSON.stringify([host, port, allowed, rule]);
    const known = this.#sums.get(key);
    if (known !== undefined) {
      known.count += 1;
      return known;
    }
    if (this.#sums.size >= connectionSummariesMax) return null;
    const sum: Sum = {
      host,
      port,
      address: null,
      allowed,
      rule,
      count: 1,
      sent_bytes: 0,
      received_bytes: 0,
    };
    this.#sums.set(key, sum);
    return sum;
  }

  /** Counts what passes through `upstream`, the socket towards the host. */
  watch(record: ConnectionRecord, upstream: Socket, address: string): void {
    const sum = this.add(record);
    if (sum === null) return;
    sum.address = address;
    const live: Live = { sum, upstream, counted: { sent: 0, received: 0 } };
    this.#live.add(live);
    upstream.once('close', () => {
      count(live);
      this.#live.delete(live);
    });
  }

  addRequest(
    host: string,
    port: number,
    { request, secrets }: { readonly request: HttpRequest; readonly secrets: readonly string[] },
  ): void {
    const at = `${host}:${port}`;
    const all = this.#requests.get(at) ?? { sums: new Map(), secrets: new Set<string>() };
    this.#requests.set(at, all);
    for (const name of secrets) all.secrets.add(name);
    const { method } = request;
    const digest = pathDigest(request);
    const known = all.sums.get(`${method} ${digest}`);
    if (known !== undefined) known.count += 1;
    else if (all.sums.size < requestSummariesMax) {
      all.sums.set(`${method} ${digest}`, { method, path_digest: digest, count: 1 });
    }
  }

  /** In the order in which they came. */
  summaries(): readonly ConnectionSummary[] {
    for (const live of this.#live) count(live);
    const left = new Map(this.#requests);
    return [...this.#sums.values()].map((sum) => {
      const at = `${sum.host}:${sum.port}`;
      const seen = sum.allowed ? left.get(at) : undefined;
      // Connections to it by another rule are not told apart.
      if (seen !== undefined) left.delete(at);
      return {
        ...sum,
        ...(seen === undefined ? {} : { requests: [...seen.sums.values()] }),
        ...(seen === undefined || seen.secrets.size === 0 ? {} : { secrets: [...seen.secrets] }),
        ...(this.#isShared ? { shared: true as const } : {}),
      };
    });
  }
}

/** Without its query, which may hold what is secret: the record is kept for long. */
function pathDigest({ target }: HttpRequest): string {
  const [path = ''] = target.split('?', 1);
  return createHash('sha256').update(path).digest('hex').slice(0, 16);
}

function count({ sum, upstream, counted }: Live): void {
  const { bytesWritten: sent, bytesRead: received } = upstream;
  sum.sent_bytes += sent - counted.sent;
  sum.received_bytes += received - counted.received;
  counted.sent = sent;
  counted.received = received;
}
