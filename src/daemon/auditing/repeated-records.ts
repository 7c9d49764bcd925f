/**
 * Records of refused calls, limited so that a caller that repeats the same calls does not fill the
 * log. The first call is recorded at once. Identical calls in the next ten seconds are recorded
 * together at their end: one event with their `count`, and the times of the `first` and the `last`
 * of them. Each caller has a limited number of kinds with separate records at a time; further calls
 * share one record.
 */
import { limits } from '../../limits.ts';
import type { Auditing, AuditRecord } from './auditing.ts';

const others = 'others';

interface Open {
  /** The record of the first call. */
  readonly record: AuditRecord;
  /** Calls that are not recorded yet. */
  count: number;
  /** Unix ms. */
  first: number;
  last: number;
  readonly timer: NodeJS.Timeout;
}

export class RepeatedRecords implements Disposable {
  readonly #auditing: Pick<Auditing, 'append' | 'note'>;
  readonly #windowMs: number;
  /** By actor, then by what was refused. */
  readonly #open = new Map<string, Map<string, Open>>();

  /** @param windowMs time within which identical calls are recorded together */
  constructor(
    auditing: Pick<Auditing, 'append' | 'note'>,
    windowMs: number = limits.auditRepeatMs.default,
  ) {
    this.#auditing = auditing;
    this.#windowMs = windowMs;
  }

  /** Resolves when the call is on disk, or counted. */
  async record(record: AuditRecord): Promise<void> {
    const own = this.#open.get(record.actor ?? '') ?? new Map<string, Open>();
    this.#open.set(record.actor ?? '', own);
    const name = JSON.stringify(record);
    const isFull = own.size >= limits.auditRepeats.default;
    const found = own.get(name) ?? (isFull ? own.get(others) : undefined);
    if (found !== undefined) {
      count(found);
      return;
    }
    const [key, first] = isFull ? [others, withoutData(record)] : [name, record];
    const timer = setTimeout(() => this.#settle(own, key), this.#windowMs).unref();
    own.set(key, { record: first, count: 0, first: 0, last: 0, timer });
    await this.#auditing.append([record]);
  }

  /** Records the current counts. */
  [Symbol.dispose](): void {
    for (const own of this.#open.values()) {
      for (const key of own.keys()) this.#settle(own, key);
    }
  }

  #settle(own: Map<string, Open>, key: string): void {
    const open = own.get(key);
    if (open === undefined) return;
    own.delete(key);
    clearTimeout(open.timer);
    if (own.size === 0) this.#open.delete(open.record.actor ?? '');
    if (open.count === 0) return;
    const { record, count: more } = open;
    const [first, last] = [open.first, open.last].map((at) => new Date(at).toISOString());
    const times = first === undefined || last === undefined ? {} : { first, last };
    this.#auditing.note({ ...record, data: { ...record.data, count: more, ...times } });
  }
}

function count(open: Open): void {
  const now = Date.now();
  if (open.count === 0) open.first = now;
  open.last = now;
  open.count += 1;
}

/** Omits the data, because the calls that share this record may differ. */
function withoutData({ kind, actor }: AuditRecord): AuditRecord {
  const message = 'too many kinds of calls to record each separately';
  return { kind, ...(actor === undefined ? {} : { actor }), data: { message } };
}
