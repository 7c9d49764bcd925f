/**
 * Whether the overlay that a session's commands are in is the one of now: where other paths are to
 * be hidden than it hides, the next command of each session of the view gets another.
 */
import type { BytePath } from '../change.ts';
import { parentPathOf } from '../workspace/byte-path.ts';
import type { SessionId } from '../command.ts';

export class MountGenerations {
  #generation = 0;
  readonly #covered = new Map<BytePath, boolean>();
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

  /**
   * Notes where commands may have something mounted in the workspace.
   *
   * @param whole whether that hides all that is below
   */
  cover(path: BytePath, whole: boolean): void {
    this.#covered.set(path, whole || this.#covered.get(path) === true);
  }

  /** Whether commands have something else at a path than the view. */
  isCovered(path: BytePath): boolean {
    if (this.#covered.has(path)) return true;
    for (let at = path; at !== ''; at = parentPathOf(at)) {
      if (this.#covered.get(at) === true) return true;
    }
    return false;
  }

  isCurrent(session: SessionId): boolean {
    return this.#sessions.get(session) === this.#generation;
  }

  leave(session: SessionId): void {
    this.#sessions.delete(session);
  }
}
