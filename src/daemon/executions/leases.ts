/**
 * Who may type into a command. Without a lease everybody may who may write to it; while somebody
 * holds one, nobody else: a person takes a terminal over, and hands it back. In memory only: a
 * daemon that starts over knows of none.
 */
import { randomBytes } from 'node:crypto';
import type { Caller, ExecId } from '../../command.ts';
import { TrlError } from '../../errors.ts';
import { limits } from '../../limits.ts';
import type { ExecLeaseAnswer, ExecLeaseParams } from '../../api/exec.ts';
import { isoTime } from './receipt.ts';

interface Lease {
  readonly id: string;
  readonly holder: string;
  /** Unix ms. */
  readonly expiresAt: number;
}

/** Without the session, which the service adds. */
type Taken = Omit<ExecLeaseAnswer, 'session_id'>;

export class Leases {
  readonly #all = new Map<ExecId, Lease>();
  readonly #clock: () => number;

  constructor(clock: () => number = Date.now) {
    this.#clock = clock;
  }

  /**
   * A new lease, or the caller's own for longer. A person takes it from any holder; others
   * wait until it is free.
   *
   * @throws TrlError `SESSION_BUSY` with the holder
   */
  take(caller: Caller, params: ExecLeaseParams): Taken {
    const { exec_id: exec, lease_id: id, ttl_ms: ttlMs = limits.leaseMs.default } = params;
    const held = this.#held(exec);
    const isOwn = held !== null && held.id === id;
    if (held !== null && !isOwn && !isPerson(caller)) throw busy('take', exec, held);
    const lease: Lease = {
      id: isOwn ? held.id : randomBytes(16).toString('hex'),
      holder: caller.actor,
      expiresAt: this.#clock() + ttlMs,
    };
    this.#all.set(exec, lease);
    return view(exec, lease);
  }

  /** @throws TrlError `SESSION_BUSY` for another's lease, `INVALID_PARAMS` where there is none */
  release({ exec_id: exec, lease_id: id }: ExecLeaseParams): Taken {
    const held = this.#held(exec);
    if (held === null) {
      const message = `Cannot release ${exec}: nobody holds a lease of it`;
      throw new TrlError('INVALID_PARAMS', message);
    }
    if (held.id !== id) throw busy('release', exec, held);
    this.#all.delete(exec);
    return view(exec, { ...held, expiresAt: this.#clock() });
  }

  /** @throws TrlError `SESSION_BUSY` with the holder, when another's lease holds */
  check(exec: ExecId, id: string | null): void {
    const held = this.#held(exec);
    if (held !== null && held.id !== id) throw busy('write to', exec, held);
  }

  /** The command has ended. */
  end(exec: ExecId): void {
    this.#all.delete(exec);
  }

  #held(exec: ExecId): Lease | null {
    const found = this.#all.get(exec);
    if (found === undefined) return null;
    if (found.expiresAt > this.#clock()) return found;
    this.#all.delete(exec);
    return null;
  }
}

const isPerson = ({ roles }: Caller): boolean =>
  roles.includes('approver') || roles.includes('admin');

const view = (exec: ExecId, { id, holder, expiresAt }: Lease): Taken => ({
  exec_id: exec,
  lease_id: id,
  holder,
  expires_at: isoTime(expiresAt),
});

function busy(action: string, exec: ExecId, { holder, expiresAt }: Lease): TrlError {
  const message = `Cannot ${action} ${exec}: ${holder} has taken it until ${isoTime(expiresAt)}`;
  return new TrlError('SESSION_BUSY', message);
}
