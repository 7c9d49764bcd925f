/** Ends sessions that nobody uses any more: idle ones, and those whose client has left. */
import type { HomeCaches } from '../../host/port.ts';
import type { RuntimeBounds } from '../../limits.ts';
import { isExecutionOver, type Executions } from '../executions/executions.ts';
import type { DaemonSessionService } from './session-service.ts';
import type { Sessions } from './sessions.ts';

/** How often idle sessions are looked for, at most and at least, in ms. */
const idleSweepMs = { max: 60_000, min: 100 };
/** How often a session is examined whose client has left while a command runs in it. */
const leftPollMs = 250;

export interface SessionSweeperParts {
  readonly sessions: Sessions;
  readonly execs: Executions;
  readonly sessionService: Pick<DaemonSessionService, 'endAbandoned' | 'endUnused'>;
  readonly caches: Pick<HomeCaches, 'endIdle'>;
  readonly bounds: Pick<RuntimeBounds, 'sessionGoneMs' | 'sessionIdleMs'>;
}

export class SessionSweeper implements Disposable {
  readonly #parts: SessionSweeperParts;
  readonly #timer: NodeJS.Timeout;
  #leaving: NodeJS.Timeout | null = null;
  #isStopped = false;

  constructor(parts: SessionSweeperParts) {
    this.#parts = parts;
    const { max, min } = idleSweepMs;
    const everyMs = Math.max(min, Math.min(parts.bounds.sessionIdleMs, max));
    this.#timer = setInterval(() => this.#endIdle(), everyMs).unref();
    parts.sessions.clients.watchLeft((id) => this.#clientLeft(id));
  }

  [Symbol.dispose](): void {
    this.#isStopped = true;
    clearInterval(this.#timer);
    if (this.#leaving !== null) clearTimeout(this.#leaving);
  }

  /** A client that was killed may be started again, and find its session. */
  #clientLeft(id: string): void {
    const left = this.#parts.sessions.all().filter(({ record }) => record.client === id);
    for (const session of left) session.leftAt = Date.now();
    this.#endLeft();
  }

  /** Looks again as long as commands run in sessions whose client has left. */
  #endLeft(): void {
    const { sessions, sessionService, bounds } = this.#parts;
    const isLeft = sessions
      .all()
      .some(({ record, leftAt }) => record.lifetime === 'client' && leftAt !== undefined);
    if (this.#isStopped || !isLeft || this.#leaving !== null) return;
    const look = async (): Promise<void> => {
      await sessionService.endAbandoned(bounds.sessionGoneMs);
      this.#leaving = null;
      this.#endLeft();
    };
    const waitMs = Math.max(bounds.sessionGoneMs, leftPollMs);
    this.#leaving = setTimeout(() => void look(), waitMs).unref();
  }

  #endIdle(): void {
    const { sessions, execs, sessionService, caches, bounds } = this.#parts;
    void sessionService.endAbandoned(bounds.sessionGoneMs);
    caches.endIdle(Date.now());
    const oldest = Date.now() - bounds.sessionIdleMs;
    for (const { record, busy } of sessions.all()) {
      if (busy !== null || record.lastActivity > oldest) continue;
      // A session with a pending approval is still wanted.
      if (execs.list(record.id).some((one) => !isExecutionOver(one))) continue;
      void sessionService.endUnused(record.id).catch(() => {});
    }
  }
}
