/**
 * Tells the audit log who was turned away at a door. The first of a kind is told at once; more of
 * it from the same address within ten seconds are counted and told together, so that a flood
 * fills no disk.
 */
import type { Auditing } from '../auditing/auditing.ts';
import type { HttpRefusalReason } from './problem.ts';

const windowMs = 10_000;
/** Kinds that are told apart at once; what comes beside them is told as from elsewhere. */
const kindsMax = 256;
const elsewhere = 'others';

interface Open {
  readonly reason: HttpRefusalReason;
  readonly peer: string;
  /** Since the last event of it. */
  count: number;
  readonly timer: NodeJS.Timeout;
}

export interface RefusalLogOptions {
  readonly auditing: Pick<Auditing, 'note'>;
  /** As the log names it: `http`. */
  readonly door: string;
}

export class RefusalLog implements Disposable {
  readonly #options: RefusalLogOptions;
  readonly #open = new Map<string, Open>();
  /** Since the start, by reason. */
  readonly counts = new Map<HttpRefusalReason, number>();

  constructor(options: RefusalLogOptions) {
    this.#options = options;
  }

  /** @param peer the address it came from */
  note(reason: HttpRefusalReason, peer: string): void {
    this.counts.set(reason, (this.counts.get(reason) ?? 0) + 1);
    const isFull = this.#open.size >= kindsMax && !this.#open.has(`${reason} ${peer}`);
    this.#note(reason, isFull ? elsewhere : peer);
  }

  [Symbol.dispose](): void {
    for (const [key, open] of this.#open) {
      clearTimeout(open.timer);
      this.#open.delete(key);
      if (open.count > 0) this.#tell(open, open.count);
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
    this.#tell({ reason, peer }, 1);
  }

  #settle(key: string): void {
    const open = this.#open.get(key);
    this.#open.delete(key);
    if (open !== undefined && open.count > 0) this.#tell(open, open.count);
  }

  #tell({ reason, peer }: Pick<Open, 'reason' | 'peer'>, count: number): void {
    const { auditing, door } = this.#options;
    auditing.note({ kind: 'call.refused', data: { door, reason, peer, count } });
  }
}
