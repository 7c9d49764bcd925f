/**
 * The namespaces that the runner keeps open, one of a session, and the overlays in them: one mount
 * of a view, which its sessions share, and its freshness.
 */
import { fstatSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import type { BytePath } from '../change.ts';
import type { SandboxNamespace, Plan, SessionId } from '../command.ts';
import { TrlError } from '../errors.ts';
import type { CommandBox } from './command-box.ts';
import { openNamespace, type OpenNamespace } from './namespace.ts';
import type { MountedOverlay } from './overlay.ts';
import { OverlayRefresher } from './overlay-refresher.ts';
import { hasInotifyWatch } from './inotify-watches.ts';
import type { RefreshResult, WatchedMount } from './operations.ts';

/**
 * A holder and what is entering or refreshing it: its descriptors are named by number, so they stay
 * open until the last of those is done.
 */
interface Held {
  readonly holder: SandboxNamespace;
  readonly opening: Promise<OpenNamespace>;
  users: number;
  dropped: boolean;
}

/** The mount that commands of a view which start now are in. */
interface ViewMount {
  readonly holder: SandboxNamespace;
  readonly mounting: Promise<MountedOverlay>;
  /** Those that had a command in the view; it is let go of when the last of them is closed. */
  readonly sessions: Set<SessionId>;
}

const viewOf = ({ holder }: Held): string | null => holder.overlay?.view ?? null;

/** Whether what is mounted for one is what the other would mount. */
const isSameMount = (one: SandboxNamespace, other: SandboxNamespace): boolean =>
  isSameOwner(one, other) && isDeepStrictEqual(one.overlay, other.overlay);

/** Whether both write to the layer as the same user of the host. */
const isSameOwner = (one: SandboxNamespace, other: SandboxNamespace): boolean =>
  one.level === other.level && one.hostUid === other.hostUid && one.hostGid === other.hostGid;

export class SandboxNamespaces {
  readonly #held = new Map<SessionId, Held>();
  /** Those that only commands which were running then are still in: they are refreshed, too. */
  readonly #older = new Map<SessionId, Held[]>();
  readonly #views = new Map<string, ViewMount>();
  readonly #refresher = new OverlayRefresher();
  /** Refreshes that are under way, of one view together. */
  readonly #refreshing = new Map<string, Promise<unknown>>();
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
    holder: SandboxNamespace,
    enter: (open: OpenNamespace) => Promise<CommandBox>,
  ): Promise<CommandBox> {
    const held = this.#find(session, holder);
    held.users += 1;
    const leave = (): void => this.#leave(held);
    try {
      const opened = await held.opening;
      const box = await enter(opened);
      await opened.bounded;
      void box.ready.then(leave, leave);
      return box;
    } catch (error) {
      leave();
      throw error;
    }
  }

  /**
   * Lets go of the session's holder, and of its mount where no other session has it: the next
   * command makes others.
   */
  drop(session: SessionId): void {
    const held = this.#held.get(session);
    this.#held.delete(session);
    if (held !== undefined) this.#letGo(held);
    for (const [view, mount] of this.#views) {
      if (mount.sessions.has(session) && mount.sessions.size === 1) this.#forget(view, mount);
    }
  }

  /** The session has ended. */
  leave(session: SessionId): void {
    this.drop(session);
    this.idle(session);
    for (const { sessions } of this.#views.values()) sessions.delete(session);
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

  /** When no refresh of what the command will see is under way. */
  async settled({ box }: Plan): Promise<void> {
    if (box.kind === 'none' || box.holder.overlay === null) return;
    await this.#refreshing.get(box.holder.overlay.view);
  }

  /**
   * Makes the view's overlays show what lies in their layers now. One that cannot be refreshed, or
   * shows one of `paths` as it was because a process is using it, takes no command any more, of
   * whichever session.
   */
  async refresh(view: string, paths: readonly BytePath[]): Promise<RefreshResult> {
    const refreshing = this.#refreshAll(view, paths);
    const all = Promise.all([this.#refreshing.get(view), refreshing]);
    this.#refreshing.set(view, all);
    const refreshed = await refreshing;
    if (this.#refreshing.get(view) === all) this.#refreshing.delete(view);
    return refreshed;
  }

  /** The mount of a view that one of `pids` watches by inotify; `null`: none of them does. */
  async watched(view: string, pids: readonly number[]): Promise<WatchedMount | null> {
    const all = [...this.#held.values(), ...[...this.#older.values()].flat()];
    for (const held of all.filter((one) => viewOf(one) === view)) {
      const opened = await held.opening.catch(() => null);
      const root = opened?.overlay?.root;
      if (root === undefined || !hasInotifyWatch(pids, root)) continue;
      const { dev } = fstatSync(root);
      const mask = held.holder.overlay?.mask ?? null;
      return { root: `/proc/${process.pid}/fd/${root}`, dev, mask };
    }
    return null;
  }

  /** Nothing is refreshed any more. */
  close(): void {
    this.#refresher.close();
  }

  /** Never rejects. */
  async #refreshAll(view: string, paths: readonly BytePath[]): Promise<RefreshResult> {
    const mount = this.#views.get(view);
    const current = (await mount?.mounting.catch(() => null)) ?? null;
    const all = [...this.#held.values(), ...[...this.#older.values()].flat()];
    const held = all.filter((one) => viewOf(one) === view);
    for (const one of held) one.users += 1;
    try {
      const opened = await Promise.all(held.map(({ opening }) => opening.catch(() => null)));
      const mounted = new Set(opened.flatMap((one) => one?.overlay ?? []));
      if (current !== null) mounted.delete(current);
      const perl = held[0]?.holder.tools.perl ?? 'perl';
      await Promise.all([...mounted].map((overlay) => this.#refreshOne(overlay, perl, [])));
      if (mount === undefined || current === null) return { holder: 'none', why: null };
      const why = await this.#refreshOne(current, perl, paths);
      if (why === null) return { holder: 'fresh', why };
      await this.#setAside(view, mount);
      return { holder: 'dropped', why };
    } finally {
      for (const one of held) this.#leave(one);
    }
  }

  /** The next command of each of the view's sessions is in another mount. */
  async #setAside(view: string, mount: ViewMount): Promise<void> {
    if (this.#views.get(view) === mount) this.#forget(view, mount);
    const found = [...this.#held].filter(([, held]) => viewOf(held) === view);
    for (const [session, held] of found) this.#setOlder(session, held);
    await Promise.all(found.map(([session]) => this.#onDropped(session)));
  }

  #setOlder(session: SessionId, held: Held): void {
    this.#held.delete(session);
    this.#older.set(session, [...(this.#older.get(session) ?? []), held]);
  }

  #forget(view: string, { mounting }: ViewMount): void {
    this.#views.delete(view);
    void mounting.then((overlay) => overlay.close()).catch(() => {});
  }

  /** Never rejects. @returns why what is shown may be old; `null`: it is not */
  async #refreshOne(
    overlay: MountedOverlay,
    perl: string,
    paths: readonly BytePath[],
  ): Promise<string | null> {
    overlay.use();
    try {
      await this.#refresher.refresh(overlay, perl);
      const used = await overlay.stale(paths);
      return used === null ? null : `${JSON.stringify(used)} is in use as it was before`;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    } finally {
      overlay.close();
    }
  }

  #find(session: SessionId, holder: SandboxNamespace): Held {
    const known = this.#held.get(session);
    if (known !== undefined && known.holder.id === holder.id) return known;
    // Its commands may still run in that: they are to see what others change.
    if (known !== undefined) this.#setOlder(session, known);
    if (this.#held.size >= this.#max) {
      throw new TrlError(
        'MAX_SESSIONS_REACHED',
        `Cannot start a command: ${this.#held.size} sessions are active; destroy one first`,
      );
    }
    const held: Held = { holder, opening: this.#open(session, holder), users: 0, dropped: false };
    this.#held.set(session, held);
    held.opening.catch(() => {
      if (this.#held.get(session) === held) this.#held.delete(session);
    });
    return held;
  }

  /** In the mount that its view has; where there is none, it makes that. */
  async #open(session: SessionId, holder: SandboxNamespace): Promise<OpenNamespace> {
    const { overlay } = holder;
    if (overlay === null) return openNamespace(holder);
    const { view } = overlay;
    for (const [other, mount] of this.#views) {
      if (other === view || !mount.sessions.delete(session)) continue;
      if (mount.sessions.size === 0) this.#forget(other, mount);
    }
    const known = this.#views.get(view);
    if (known !== undefined && isSameMount(known.holder, holder)) {
      known.sessions.add(session);
      const found = await known.mounting.catch(() => null);
      if (found === null || this.#views.get(view) !== known) return this.#open(session, holder);
      using mounted = shared(found);
      return await openNamespace(holder, undefined, mounted.overlay);
    }
    const hasOthers = known !== undefined && [...known.sessions].some((one) => one !== session);
    if (hasOthers && !isSameOwner(known.holder, holder)) {
      const message = 'Cannot share a layer: files of other sessions in it are another user’s';
      throw new TrlError('SANDBOX_UNAVAILABLE', message, { data: { reason: 'holder' } });
    }
    if (known !== undefined) this.#forget(view, known);
    const { promise: mounting, resolve, reject } = Promise.withResolvers<MountedOverlay>();
    mounting.catch(() => {});
    const sessions = new Set([...(known?.sessions ?? []), session]);
    const mount = { holder, mounting, sessions };
    this.#views.set(view, mount);
    try {
      const opened = await openNamespace(holder);
      if (opened.overlay === null) throw new Error('no overlay was mounted');
      resolve(opened.overlay.use());
      return opened;
    } catch (error) {
      if (this.#views.get(view) === mount) this.#views.delete(view);
      reject(error);
      throw error;
    }
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

/** One more use of an overlay, until the end of a block. */
function shared(overlay: MountedOverlay): { readonly overlay: MountedOverlay } & Disposable {
  return { overlay: overlay.use(), [Symbol.dispose]: () => overlay.close() };
}
