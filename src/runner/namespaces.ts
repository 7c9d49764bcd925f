/**
 * The namespaces that the runner keeps open, one per session, and the overlays in them: one mount
 * per view, shared by its sessions, and its refreshes.
 */
import { fstatSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import type { BytePath } from '../change.ts';
import type { SandboxNamespace, Plan, SessionId } from '../command.ts';
import { TrlError } from '../errors.ts';
import type { CommandBox } from './command-box.ts';
import { withBridge, type EgressProcess } from './egress-process.ts';
import { openNamespace, type OpenNamespace } from './namespace.ts';
import type { MountedOverlay } from './overlay.ts';
import { OverlayRefresher } from './overlay-refresher.ts';
import { hasInotifyWatch } from './processes.ts';
import type { BridgedNamespaces, SessionBridge } from './session-bridge.ts';
import type { RefreshResult, WatchedMount } from './operations.ts';

/**
 * A sandbox namespace and its uses. Commands enter it by the numbers of its descriptors, so they
 * stay open until the last use ends.
 */
interface SessionNamespace {
  readonly holder: SandboxNamespace;
  readonly opening: Promise<OpenNamespace>;
  users: number;
  dropped: boolean;
}

/** The mount that commands of a view which start now are in. */
interface ViewMount {
  readonly holder: SandboxNamespace;
  readonly mounting: Promise<MountedOverlay>;
  /** Sessions that had a command in the view; the mount is released when the last one closes. */
  readonly sessions: Set<SessionId>;
}

const viewOf = ({ holder }: SessionNamespace): string | null => holder.overlay?.view ?? null;

/** Whether both would mount the same. */
const isSameMount = (one: SandboxNamespace, other: SandboxNamespace): boolean =>
  isSameOwner(one, other) && isDeepStrictEqual(one.overlay, other.overlay);

/** Whether both write to the layer as the same user of the host. */
const isSameOwner = (one: SandboxNamespace, other: SandboxNamespace): boolean =>
  one.level === other.level && one.hostUid === other.hostUid && one.hostGid === other.hostGid;

export class SandboxNamespaces {
  readonly #namespaces = new Map<SessionId, SessionNamespace>();
  /** Replaced mounts that running commands still use: they are refreshed, too. */
  readonly #older = new Map<SessionId, SessionNamespace[]>();
  readonly #views = new Map<string, ViewMount>();
  readonly #refresher = new OverlayRefresher();
  /** Refreshes that are under way, of one view together. */
  readonly #refreshing = new Map<string, Promise<unknown>>();
  readonly #onDropped: (session: SessionId) => Promise<void>;

  readonly #max: number;
  readonly #egress: EgressProcess;

  /**
   * @param egress connects namespaces that are bridged
   * @param max sessions with a namespace
   * @param onDropped ends sandboxes that were prepared in a released namespace
   */
  constructor(
    egress: EgressProcess,
    max: number,
    onDropped: (session: SessionId) => Promise<void>,
  ) {
    this.#egress = egress;
    this.#max = max;
    this.#onDropped = onDropped;
  }

  /**
   * Opens the session's namespace if it is not open, and calls `enter` to make a sandbox in it.
   *
   * @throws TrlError `SANDBOX_UNAVAILABLE`, `MAX_SESSIONS_REACHED`, and what `enter` throws
   */
  async enter(
    session: SessionId,
    holder: SandboxNamespace,
    enter: (open: OpenNamespace) => Promise<CommandBox>,
  ): Promise<CommandBox> {
    const entry = this.#find(session, holder);
    entry.users += 1;
    const leave = (): void => this.#leave(entry);
    try {
      const opened = await entry.opening;
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
   * Releases the session's namespace, and its mount if no other session uses it: the next command
   * makes others.
   */
  drop(session: SessionId): void {
    const entry = this.#namespaces.get(session);
    this.#namespaces.delete(session);
    if (entry !== undefined) this.#release(entry);
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
    for (const entry of older) this.#release(entry);
  }

  /** The session's way to hosts; `null`: it has none, or no command of it has run. */
  async bridgeOf(session: SessionId): Promise<SessionBridge | null> {
    const opened = await this.#namespaces.get(session)?.opening.catch(() => null);
    return opened?.bridge ?? null;
  }

  /** Paths of the session's namespaces; `null`: no command of it has one. */
  async networkOf(session: SessionId): Promise<BridgedNamespaces | null> {
    const entry = this.#namespaces.get(session);
    const opened = await entry?.opening.catch(() => null);
    if (entry === undefined || opened === undefined || opened === null) return null;
    const { userNamespace: user, networkNamespace: network } = opened;
    return network === null ? null : { perl: entry.holder.tools.perl, user, network };
  }

  /** Starts the refresh helper while a command runs: the daemon usually refreshes at its end. */
  expectRefresh({ box }: Plan): void {
    if (box.kind === 'none' || box.holder.overlay === null) return;
    if (box.holder.tools.perl !== null) this.#refresher.wake(box.holder.tools.perl);
  }

  /** Resolves when no refresh of the view is under way. */
  async settled({ box }: Plan): Promise<void> {
    if (box.kind === 'none' || box.holder.overlay === null) return;
    await this.#refreshing.get(box.holder.overlay.view);
  }

  /**
   * Makes the view's overlays show what lies in their layers now. One that cannot be refreshed, or
   * shows one of `paths` as it was because a process is using it, takes no more commands, of any
   * session.
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
    const all = [...this.#namespaces.values(), ...[...this.#older.values()].flat()];
    for (const entry of all.filter((one) => viewOf(one) === view)) {
      const opened = await entry.opening.catch(() => null);
      const root = opened?.overlay?.root;
      if (root === undefined || !hasInotifyWatch(pids, root)) continue;
      const { dev } = fstatSync(root);
      const mask = entry.holder.overlay?.mask ?? null;
      return { root: `/proc/${process.pid}/fd/${root}`, dev, mask };
    }
    return null;
  }

  /** Ends all refreshes. */
  close(): void {
    this.#refresher.close();
  }

  /** Never rejects. */
  async #refreshAll(view: string, paths: readonly BytePath[]): Promise<RefreshResult> {
    const mount = this.#views.get(view);
    const current = (await mount?.mounting.catch(() => null)) ?? null;
    const all = [...this.#namespaces.values(), ...[...this.#older.values()].flat()];
    const entries = all.filter((one) => viewOf(one) === view);
    for (const one of entries) one.users += 1;
    try {
      const opened = await Promise.all(entries.map(({ opening }) => opening.catch(() => null)));
      const mounted = new Set(opened.flatMap((one) => one?.overlay ?? []));
      if (current !== null) mounted.delete(current);
      const perl = entries[0]?.holder.tools.perl ?? 'perl';
      await Promise.all([...mounted].map((overlay) => this.#refreshOne(overlay, perl, [])));
      if (mount === undefined || current === null) return { holder: 'none', why: null };
      const why = await this.#refreshOne(current, perl, paths);
      if (why === null) return { holder: 'fresh', why };
      await this.#setAside(view, mount);
      return { holder: 'dropped', why };
    } finally {
      for (const one of entries) this.#leave(one);
    }
  }

  /** The next command of each of the view's sessions gets another mount. */
  async #setAside(view: string, mount: ViewMount): Promise<void> {
    if (this.#views.get(view) === mount) this.#forget(view, mount);
    const found = [...this.#namespaces].filter(([, entry]) => viewOf(entry) === view);
    for (const [session, entry] of found) this.#setOlder(session, entry);
    await Promise.all(found.map(([session]) => this.#onDropped(session)));
  }

  #setOlder(session: SessionId, entry: SessionNamespace): void {
    this.#namespaces.delete(session);
    this.#older.set(session, [...(this.#older.get(session) ?? []), entry]);
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

  #find(session: SessionId, holder: SandboxNamespace): SessionNamespace {
    const known = this.#namespaces.get(session);
    if (known !== undefined && known.holder.id === holder.id) return known;
    // Its commands may still run in that mount, and must see what others change.
    if (known !== undefined) this.#setOlder(session, known);
    if (this.#namespaces.size >= this.#max) {
      throw new TrlError(
        'MAX_SESSIONS_REACHED',
        `Cannot start a command: ${this.#namespaces.size} sessions are active; destroy one first`,
      );
    }
    const entry: SessionNamespace = {
      holder,
      opening: this.#open(session, holder),
      users: 0,
      dropped: false,
    };
    this.#namespaces.set(session, entry);
    entry.opening.catch(() => {
      if (this.#namespaces.get(session) === entry) this.#namespaces.delete(session);
    });
    return entry;
  }

  async #open(session: SessionId, holder: SandboxNamespace): Promise<OpenNamespace> {
    return await withBridge(this.#egress, holder, (files) => this.#mount(session, holder, files));
  }

  /** In its view's mount, which is made where it is missing. */
  async #mount(
    session: SessionId,
    holder: SandboxNamespace,
    files: SandboxNamespace['files'],
  ): Promise<OpenNamespace> {
    const { overlay } = holder;
    if (overlay === null) return openNamespace(holder, undefined, null, files);
    const { view } = overlay;
    for (const [other, mount] of this.#views) {
      if (other === view || !mount.sessions.delete(session)) continue;
      if (mount.sessions.size === 0) this.#forget(other, mount);
    }
    const known = this.#views.get(view);
    if (known !== undefined && isSameMount(known.holder, holder)) {
      known.sessions.add(session);
      const found = await known.mounting.catch(() => null);
      if (found === null || this.#views.get(view) !== known) {
        return this.#mount(session, holder, files);
      }
      using mounted = shared(found);
      return await openNamespace(holder, undefined, mounted.overlay, files);
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
      const opened = await openNamespace(holder, undefined, null, files);
      if (opened.overlay === null) throw new Error('no overlay was mounted');
      resolve(opened.overlay.use());
      return opened;
    } catch (error) {
      if (this.#views.get(view) === mount) this.#views.delete(view);
      reject(error);
      throw error;
    }
  }

  #release(entry: SessionNamespace): void {
    entry.dropped = true;
    this.#closeUnused(entry);
  }

  #leave(entry: SessionNamespace): void {
    entry.users -= 1;
    this.#closeUnused(entry);
  }

  #closeUnused({ dropped, users, opening }: SessionNamespace): void {
    if (dropped && users === 0) void opening.then((holder) => holder.close()).catch(() => {});
  }
}

/** One more use of an overlay, until the end of a block. */
function shared(overlay: MountedOverlay): { readonly overlay: MountedOverlay } & Disposable {
  return { overlay: overlay.use(), [Symbol.dispose]: () => overlay.close() };
}
