/**
 * How much of the runtime the commands of one caller by token may hold, so that none shuts out the
 * others or the socket (`shareOf` in `limits.ts`).
 */
import type { Caller } from '../../command.ts';
import { TrlError } from '../../errors.ts';
import { limits, shareTaken } from '../../limits.ts';
import type { Session, Sessions } from '../sessions/sessions.ts';
import type { Tracked } from './executions.ts';

interface Held {
  readonly actor: string;
  readonly session: Session;
}

export class CommandShares {
  readonly #sessions: Sessions;
  readonly #commandsMax: number;
  /** One for each command that runs or starts. */
  readonly #held = new Set<Held>();

  constructor(sessions: Sessions, env: Readonly<Record<string, string | undefined>>) {
    this.#sessions = sessions;
    const { default: usual, max } = limits.commandsConcurrent;
    const asked = Number(env['TRL_COMMANDS_CONCURRENT']);
    this.#commandsMax = Number.isInteger(asked) && asked > 0 ? Math.min(asked, max) : usual;
  }

  /**
   * Starts a command of `caller`, which holds its part until it is over; one that waits for a
   * person holds none.
   *
   * @throws TrlError `QUOTA_EXCEEDED` or `MAX_SESSIONS_REACHED` when its share is taken; what
   *   `start` throws
   */
  async start(
    { actor }: Caller,
    session: Session,
    start: () => Promise<Tracked>,
  ): Promise<Tracked> {
    this.#checkSession(session, actor);
    const actors = [...this.#held].map((one) => one.actor);
    const taken = shareTaken(actors, actor, this.#commandsMax);
    if (taken !== null) {
      throw new TrlError('QUOTA_EXCEEDED', `Cannot start a command: ${taken} commands at once`);
    }
    const leave = this.#enter({ actor, session });
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

  /** One that starts whoever asked: a person allowed it, or it runs already. */
  hold<T>(session: Session, outcome: Promise<T>): Promise<T> {
    return outcome.finally(this.#enter({ actor: session.record.owner ?? '', session }));
  }

  /** What a session holds once it had a command stays until it ends. */
  #checkSession(session: Session, actor: string): void {
    const starting = new Set([...this.#held].map((one) => one.session));
    const isActive = (one: Session): boolean =>
      one.ground !== null || one.record.assurance !== null || starting.has(one);
    if (isActive(session)) return;
    const active = this.#sessions.all().filter(isActive);
    const owners = active.map(({ record }) => record.owner ?? '');
    const taken = shareTaken(owners, actor, limits.sessionsActive.default);
    if (taken === null) return;
    const message = `Cannot start a command: ${taken} sessions that had one; destroy one first`;
    throw new TrlError('MAX_SESSIONS_REACHED', message);
  }

  #enter(held: Held): () => void {
    this.#held.add(held);
    return () => void this.#held.delete(held);
  }
}
