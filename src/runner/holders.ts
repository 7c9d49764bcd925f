/** The namespaces that the runner keeps open, one of a session, and the freshness of overlays. */
import type { BytePath } from '../change.ts';
import type { Holder, Plan, SessionId } from '../command.ts';
import { TrlError } from '../errors.ts';
import type { CommandBox } from './box.ts';
import { openHolder, type OpenHolder } from './holder.ts';
import { Refresher } from './refresher.ts';
import type { Refreshed } from './wire.ts';

/**
 * A holder and what is entering or refreshing it: its descriptors are named by number, so they stay
 * open until the last of those is done.
 */
interface Held {
  readonly holder: Holder;
  readonly opening: Promise<OpenHolder>;
  users: number;
  dropped: boolean;
}

export class Holders {
  readonly #held = new Map<SessionId, Held>();
  /** Those that only commands which were running then are still in: they are refreshed, too. */
  readonly #older = new Map<SessionId, Held[]>();
  readonly #refresher = new Refresher();
  /** Refreshes that are under way, of one session together. */
  readonly #refreshing = new Map<SessionId, Promise<unknown>>();
  readonly #onDropped: (session: SessionId) => Promise<void>;

  readonly #max: number;

  /**
   * @param max sessions with a holder
   * @param onDropped ends what was prepared in a session's holder that was let go of
   */
  constructor(max: number, onDropped: (session: SessionId) => Promise<void>) {
    this.#max = max;
    this.#onDropped = onDropped;
  }

  /**
   * Opens the session's holder where it is not open, and has `enter` make a sandbox in it.
   *
   * @throws TrlError `SANDBOX_UNAVAILABLE`, `MAX_SESSIONS_REACHED`, and what `enter` throws
   */
  async enter(
    session: SessionId,
    holder: Holder,
    enter: (open: OpenHolder) => Promise<CommandBox>,
  ): Promise<CommandBox> {
    const held = this.#find(session, holder);
    held.users += 1;
    const leave = (): void => this.#leave(held);
    try {
      const box = await enter(await held.opening);
      void box.ready.then(leave, leave);
      return box;
    } catch (error) {
      leave();
      throw error;
    }
  }

  /** Lets go of the session's holder: the next command makes another. */
  drop(session: SessionId): void {
    const held = this.#held.get(session);
    this.#held.delete(session);
    if (held !== undefined) this.#letGo(held);
  }

  /** No command of the session runs. */
  idle(session: SessionId): void {
    const older = this.#older.get(session) ?? [];
    this.#older.delete(session);
    for (const held of older) this.#letGo(held);
  }

  /** At its end the daemon is likely to ask: the helper is started while the command runs. */
  expectRefresh({ box }: Plan): void {
    if (box.kind === 'none' || box.holder.overlay === null) return;
    if (box.holder.tools.perl !== null) this.#refresher.wake(box.holder.tools.perl);
  }

  /** When no refresh of the session is under way. */
  async settled(session: SessionId): Promise<void> {
    await this.#refreshing.get(session);
  }

  /**
   * Makes the session's overlays show what lies in their layers now. One that cannot be refreshed,
   * or shows one of `paths` as it was because a process is using it, takes no command any more.
   */
  async refresh(session: SessionId, paths: readonly BytePath[]): Promise<Refreshed> {
    const refreshing = this.#refreshAll(session, paths);
    const all = Promise.all([this.#refreshing.get(session), refreshing]);
    this.#refreshing.set(session, all);
    const refreshed = await refreshing;
    if (this.#refreshing.get(session) === all) this.#refreshing.delete(session);
    return refreshed;
  }

  /** Nothing is refreshed any more. */
  close(): void {
    this.#refresher.close();
  }

  /** Never rejects. */
  async #refreshAll(session: SessionId, paths: readonly BytePath[]): Promise<Refreshed> {
    const older = this.#older.get(session) ?? [];
    await Promise.all(older.map((held) => this.#refreshOne(held, [])));
    const held = this.#held.get(session);
    if (held === undefined) return { holder: 'none', why: null };
    const { hasOverlay, why } = await this.#refreshOne(held, paths);
    if (why === null) return { holder: hasOverlay ? 'fresh' : 'none', why };
    if (this.#held.get(session) === held) {
      this.#held.delete(session);
      this.#older.set(session, [...(this.#older.get(session) ?? []), held]);
    }
    await this.#onDropped(session);
    return { holder: 'dropped', why };
  }

  /** Never rejects; `why`: what is shown may be old. */
  async #refreshOne(
    held: Held,
    paths: readonly BytePath[],
  ): Promise<{ readonly hasOverlay: boolean; readonly why: string | null }> {
    held.users += 1;
    try {
      const { overlay } = await held.opening;
      if (overlay === null) return { hasOverlay: false, why: null };
      await this.#refresher.refresh(overlay, held.holder.tools.perl ?? 'perl');
      const used = await overlay.stale(paths);
      const why = used === null ? null : `${JSON.stringify(used)} is in use as it was before`;
      return { hasOverlay: true, why };
    } catch (error) {
      return { hasOverlay: true, why: error instanceof Error ? error.message : String(error) };
    } finally {
      this.#leave(held);
    }
  }

  #find(session: SessionId, holder: Holder): Held {
    const known = this.#held.get(session);
    if (known !== undefined && known.holder.id === holder.id) return known;
    if (known !== undefined) this.drop(session);
    if (this.#held.size >= this.#max) {
      throw new TrlError(
        'MAX_SESSIONS_REACHED',
        `Cannot start a command: ${this.#held.size} sessions are active; destroy one first`,
      );
    }
    const held: Held = { holder, opening: openHolder(holder), users: 0, dropped: false };
    this.#held.set(session, held);
    held.opening.catch(() => {
      if (this.#held.get(session) === held) this.#held.delete(session);
    });
    return held;
  }

  #letGo(held: Held): void {
    held.dropped = true;
    this.#closeUnused(held);
  }

  #leave(held: Held): void {
    held.users -= 1;
    this.#closeUnused(held);
  }

  #closeUnused({ dropped, users, opening }: Held): void {
    if (dropped && users === 0) void opening.then((holder) => holder.close()).catch(() => {});
  }
}
