/** Connections of one command, summed by host, port and verdict. */
import type { Socket } from 'node:net';
import { connectionSummariesMax, type ConnectionSummary } from '../network-access.ts';

type Sum = { -readonly [Key in keyof ConnectionSummary]: ConnectionSummary[Key] };

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

  /** In the order in which they came. */
  summaries(): readonly ConnectionSummary[] {
    for (const live of this.#live) count(live);
    return [...this.#sums.values()].map((sum) => ({
      ...sum,
      ...(this.#isShared ? { shared: true as const } : {}),
    }));
  }
}

function count({ sum, upstream, counted }: Live): void {
  const { bytesWritten: sent, bytesRead: received } = upstream;
  sum.sent_bytes += sent - counted.sent;
  sum.received_bytes += received - counted.received;
  counted.sent = sent;
  counted.received = received;
}
