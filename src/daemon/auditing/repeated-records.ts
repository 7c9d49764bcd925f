/**
 * Calls that were refused, told so that whoever makes the same ones over and over fills no log. The
 * first is told at once. Equal ones of the next ten seconds are told together at their end: one
 * event of the last of them, with `count`, and when the `first` and the `last` of them came. Of
 * one caller so many kinds are told apart at once; what comes beside them is told by its count.
 */
import { limits } from '../../limits.ts';
import type { Auditing, AuditRecord } from './auditing.ts';

const others = 'others';

interface Open {
  /** As the first one was told. */
  readonly told: AuditRecord;
  /** Those that were not told. */
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

  /** @param windowMs within which equal ones are told together */
  constructor(
    auditing: Pick<Auditing, 'append' | 'note'>,
    windowMs: number = limits.auditRepeatMs.default,
  ) {
    this.#auditing = auditing;
    this.#windowMs = windowMs;
  }

  /** Answers when it is on disk, or when it is counted. */
  async record(told: AuditRecord): Promise<void> {
    const own = this.#open.get(told.actor ?? '') ?? new Map<string, Open>();
    this.#open.set(told.actor ?? '', own);
    const name = JSON.stringify(told);
    const isFull = own.size >= limits.auditRepeats.default;
    const found = own.get(name) ?? (isFull ? own.get(others) : undefined);
    if (found !== undefined) {
      count(found);
      return;
    }
    const [key, first] = isFull ? [others, sameButWhat(told)] : [name, told];
    const timer = setTimeout(() => this.#settle(own, key), this.#windowMs).unref();
    own.set(key, { told: first, count: 0, first: 0, last: 0, timer });
    await this.#auditing.append([told]);
  }

  /** Tells what is counted so far. */
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
    if (own.size === 0) this.#open.delete(open.told.actor ?? '');
    if (open.count === 0) return;
    const { told, count: more } = open;
    const [first, last] = [open.first, open.last].map((at) => new Date(at).toISOString());
    const times = first === undefined || last === undefined ? {} : { first, last };
    this.#auditing.note({ ...told, data: { ...told.data, count: more, ...times } });
  }
}

function count(open: Open): void {
  const now = Date.now();
  if (open.count === 0) open.first = now;
  open.last = now;
  open.count += 1;
}

/** What is counted with it may be about anything. */
function sameButWhat({ kind, actor }: AuditRecord): AuditRecord {
  const message = 'more kinds of calls than are told apart';
  return { kind, ...(actor === undefined ? {} : { actor }), data: { message } };
}
