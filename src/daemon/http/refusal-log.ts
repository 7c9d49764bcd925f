/**
 * Records refused requests in the audit log. The first refusal of a kind is recorded immediately;
 * further ones from the same address within ten seconds become one record with a count, so that a
 * flood does not fill the disk.
 */
import type { Auditing } from '../auditing/auditing.ts';
import type { HttpRefusalReason } from './problem.ts';

const windowMs = 10_000;
/** Maximum kinds counted at the same time; the address of further ones is not recorded. */
const kindsMax = 256;
const elsewhere = 'others';

interface Open {
  readonly reason: HttpRefusalReason;
  readonly peer: string;
  /** Refusals since the last record. */
  count: number;
  readonly timer: NodeJS.Timeout;
}

export interface RefusalLogOptions {
  readonly auditing: Pick<Auditing, 'note'>;
  /** The transport's name in the log: `http`. */
  readonly door: string;
}

export class RefusalLog implements Disposable {
  readonly #options: RefusalLogOptions;
  readonly #open = new Map<string, Open>();
  /** Refusals since the start, by reason. */
  readonly counts = new Map<HttpRefusalReason, number>();

  constructor(options: RefusalLogOptions) {
    this.#options = options;
  }

  /** @param peer the address of the client */
  note(reason: HttpRefusalReason, peer: string): void {
    this.counts.set(reason, (this.counts.get(reason) ?? 0) + 1);
    const isFull = this.#open.size >= kindsMax && !this.#open.has(`${reason} ${peer}`);
    this.#note(reason, isFull ? elsewhere : peer);
  }

  [Symbol.dispose](): void {
    for (const [key, open] of this.#open) {
      clearTimeout(open.timer);
      this.#open.delete(key);
      if (open.count > 0) this.#record(open, open.count);
    }
  }

  #note(reason: HttpRefusalReason, peer: string): void {
    const key = `${reason} ${peer}`;
    const open = this.#open.get(key);
    if (open !== undefined) {
      open.count += 1;
      return;
    }
    const timer = setTimeout(() => this.#settle(key), windowMs).unref();
    this.#open.set(key, { reason, peer, count: 0, timer });
    this.#record({ reason, peer }, 1);
  }

  #settle(key: string): void {
    const open = this.#open.get(key);
    this.#open.delete(key);
    if (open !== undefined && open.count > 0) this.#record(open, open.count);
  }

  #record({ reason, peer }: Pick<Open, 'reason' | 'peer'>, count: number): void {
    const { auditing, door } = this.#options;
    auditing.note({ kind: 'call.refused', data: { door, reason, peer, count } });
  }
}
