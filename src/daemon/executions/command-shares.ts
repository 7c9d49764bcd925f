/**
 * How much of the runtime the commands of one session and of one caller may use, so that none
 * excludes the others (`fairShareOf` in `limits.ts`).
 */
import type { Caller } from '../../command.ts';
import { TrlError } from '../../errors.ts';
import { fairShareOf, fairShareRefusal, type RuntimeBounds } from '../../limits.ts';
import type { DaemonSessionService } from '../sessions/session-service.ts';
import type { LiveSession, Sessions } from '../sessions/sessions.ts';
import type { TrackedExecution } from './executions.ts';

interface Parts {
  readonly sessions: Sessions;
  readonly bounds: Pick<RuntimeBounds, 'commandsConcurrent' | 'sessionsActive'>;
  readonly sessionService: Pick<DaemonSessionService, 'endAbandoned'>;
}

export class CommandShares {
  readonly #parts: Parts;
  /** The session of each command that runs or starts. */
  readonly #held = new Set<{ readonly session: LiveSession }>();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /**
   * Starts a command of `caller`, which counts until it has ended; one that waits for a person does
   * not count.
   *
   * @throws TrlError `QUOTA_EXCEEDED` or `MAX_SESSIONS_REACHED` when its share is taken; what
   *   `start` throws
   */
  async start(
    caller: Caller,
    session: LiveSession,
    start: () => Promise<TrackedExecution>,
  ): Promise<TrackedExecution> {
    this.#parts.sessions.takeOver(session, caller);
    if (this.#whyNoSession(session, caller) !== null) {
      await this.#parts.sessionService.endAbandoned();
    }
    const why = this.#whyNoSession(session, caller);
    if (why !== null) {
      throw new TrlError('MAX_SESSIONS_REACHED', `Cannot start a command: ${why}`);
    }
    this.#checkCommands(session, caller);
    const leave = this.#enter(session);
    try {
      const tracked = await start();
      if (tracked.record.parked === null) void tracked.settled.then(leave, leave);
      else leave();
      return tracked;
    } catch (error) {
      leave();
      throw error;
    }
  }

  /** Counts a command that starts regardless of shares: it was approved, or runs already. */
  occupy<T>(session: LiveSession, outcome: Promise<T>): Promise<T> {
    return outcome.finally(this.#enter(session));
  }

  /** Whether a command of it runs or starts. */
  hasCommands(session: LiveSession): boolean {
    return Array.from(this.#held).some((one) => one.session === session);
  }

  /** @throws TrlError `QUOTA_EXCEEDED` */
  #checkCommands(session: LiveSession, caller: Caller): void {
    const { sessions, bounds } = this.#parts;
    const max = bounds.commandsConcurrent;
    const held = Array.from(this.#held, (one) => one.session);
    const own = held.filter((one) => one === session).length;
    const share = fairShareOf(max).session;
    const holder = sessions.shareHolderOf(session);
    const refuse = (why: string): never => {
      const busiest =
        own > 0 ? session : held.find((one) => sessions.shareHolderOf(one) === holder);
      const how = sessions.endingAdvice(caller, [busiest ?? session], 'commands run in it');
      const message = `Cannot start a command: ${why}; end one (exec.cancel), or ${how}`;
      throw new TrlError('QUOTA_EXCEEDED', message);
    };
    if (held.length >= max) refuse(`${held.length} are running`);
    const taken = fairShareRefusal(
      held.map((one) => sessions.shareHolderOf(one)),
      holder,
      max,
    );
    if (taken !== null) refuse(`${taken} commands at once`);
    if (own >= share) refuse(`this session has its share of ${share} of ${max} commands at once`);
  }

  /** What a session holds once it had a command stays until it ends. */
  #whyNoSession(session: LiveSession, caller: Caller): string | null {
    const { sessions, bounds } = this.#parts;
    const max = bounds.sessionsActive;
    const starting = new Set(Array.from(this.#held, (one) => one.session));
    const isActive = (one: LiveSession): boolean =>
      one.context !== null || one.mayHoldNamespaces || starting.has(one);
    if (isActive(session)) return null;
    const active = sessions.all().filter(isActive);
    const holders = active.map((one) => sessions.shareHolderOf(one));
    const taken =
      active.length >= max
        ? `there are ${active.length}`
        : fairShareRefusal(holders, sessions.shareHolderOf(session), max);
    if (taken === null) return null;
    return `${taken} sessions that had one; first ${sessions.endingAdvice(caller, active)}`;
  }

  #enter(session: LiveSession): () => void {
    const held = { session };
    session.mayHoldNamespaces = true;
    this.#held.add(held);
    return () => void this.#held.delete(held);
  }
}
