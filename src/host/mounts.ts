/**
 * Whether the overlay that a session's commands are in is the one of now: where other paths are to
 * be hidden than it hides, the next command of each session of the view gets another.
 */
import type { SessionId } from '../command.ts';

export class Mounts {
  #generation = 0;
  readonly #sessions = new Map<SessionId, number>();

  /** Of what is planned now. */
  get generation(): number {
    return this.#generation;
  }

  /** No overlay that was planned up to now is to take a command any more. */
  outdate(): void {
    this.#generation += 1;
  }

  /** The session has the overlay that was planned when `generation` was the one of now. */
  set(session: SessionId, generation: number): void {
    this.#sessions.set(session, generation);
  }

  isCurrent(session: SessionId): boolean {
    return this.#sessions.get(session) === this.#generation;
  }

  leave(session: SessionId): void {
    this.#sessions.delete(session);
  }
}
