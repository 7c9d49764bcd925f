/**
 * The workspaces of all sessions: opened with the first command of their view, closed with its last
 * session.
 */
import type { RunnerLink } from '../process/runner-link.ts';
import { join } from 'node:path';
import type { BytePath } from '../change.ts';
import type { ExecId, PathRules, SessionId } from '../command.ts';
import { limits } from '../limits.ts';
import type { HostFacts } from '../sandbox/host-facts.ts';

import type { SessionRecord } from '../session/record.ts';
import { sessionWorkspaceMode, viewIdOf } from '../session/views.ts';
import type { SnapshotStore } from '../snapshot/store.ts';
import { bytePathOf } from '../workspace/byte-path.ts';
import type { ChangeCapture, OverlayCaptureOptions } from '../workspace/changes/capture.ts';
import { IndexCapture } from '../workspace/changes/index-capture.ts';
import { LayerAttributes } from '../workspace/changes/layer-attributes.ts';
import { OverlayCapture } from '../workspace/changes/overlay-diff.ts';
import type { AtomicRenames } from '../workspace/commit/atomic-renames.ts';
import { isBelow } from '../workspace/inspect-path.ts';
import { parsePathRules } from '../workspace/path-rules.ts';
import type { MaskState } from '../workspace/projection/mask.ts';
import { readVisibility } from '../workspace/projection/visibility.ts';
import { recordKinds } from './change-record.ts';
import {
  type LayerDirectories,
  LayerLayout,
  mountParents,
  workspaceMounts,
} from './layer-layout.ts';
import { type DryRunDependencies, LocalView } from './local-view.ts';
import { type CommitFilterScope, createSessionFilter, gitView, Masks } from './masks.ts';
import type {
  PreviewRequest,
  SessionSource,
  ViewContext,
  ViewPlan,
  ViewPreview,
  WorkspaceView,
  WorkspaceViews,
} from './port.ts';
import { AppliedEntries } from './pending-changes.ts';
import { SessionWorkspace } from './session-workspace.ts';
import type { SnapshotStores } from './snapshot-stores.ts';
import type { WorkspaceTrees } from './workspace-tree.ts';

export interface WorkspacesOptions extends Pick<CommitFilterScope, 'tags'> {
  /** Private to the runtime, outside every workspace. */
  readonly directory: string;
  readonly host: HostFacts;
  /** The runner, which has the mounts of views. */
  readonly mounts: () => Promise<Pick<RunnerLink, 'request'>>;
  readonly trees: WorkspaceTrees;
  readonly stores: SnapshotStores;
  readonly renames: AtomicRenames;
  /** Must not throw. */
  readonly log: (text: string) => void;
}

/** A planned view, as this host knows it. */
interface Layered extends ViewPlan {
  readonly layers: LayerDirectories;
  /** What the session is not shown; `null`: it is shown everything. */
  readonly hidden: MaskState | null;
  /** Of the view when it was planned. */
  readonly generation: number;
}

/** What a session works on. */
interface Joined {
  /** The name of its view; where there is no layer, the session's own. */
  readonly view: string;
  readonly context: ViewContext;
  /** Settles when the view goes by the context. */
  readonly opening: Promise<WorkspaceView>;
}

export class Workspaces implements WorkspaceViews {
  readonly #layering: LayerLayout;
  readonly #options: WorkspacesOptions;
  readonly #attributes = new LayerAttributes();
  readonly #masks = new Masks(this.#attributes);
  readonly #sessions = new Map<SessionId, Joined>();
  readonly #views = new Map<string, Promise<SessionWorkspace>>();
  readonly #opened = new Map<string, SessionWorkspace>();
  /** Views whose layers are being removed. */
  readonly #closing = new Map<string, Promise<unknown>>();
  /** Layers that were planned; a plan of another host is in none. */
  readonly #planned = new WeakMap<ViewPlan, Layered>();
  #source: SessionSource = { running: () => [], sessionsIn: () => [], onPendingChange: () => {} };
  /** Of an earlier runtime: what it mounted may still be there. */
  #earlier: ReadonlySet<string> = new Set();

  constructor(options: WorkspacesOptions) {
    this.#options = options;
    this.#layering = new LayerLayout(join(options.directory, 'layers'));
  }

  attach(source: SessionSource): void {
    this.#source = source;
  }

  find(id: SessionId): Promise<WorkspaceView> | null {
    return this.#sessions.get(id)?.opening ?? null;
  }

  refuseLayers(root: string, why: string): void {
    this.#layering.refuse(root, why);
  }

  whyNotLayered({ workspace: root, grants }: SessionRecord, visible: PathRules): string | null {
    if (root === null || grants.sandbox === 'none') return 'there is no sandbox around it';
    const { home } = this.#options.host;
    const hidden = readVisibility({ allow: [], deny: visible.deny }, { root, home });
    const shown = parsePathRules(grants.files.read.allow, { root, home }).paths;
    const inside = shown.find(
      (path) => path !== root && isBelow(path, root) && hidden.hides(relativeTo(root, path)),
    );
    if (inside !== undefined) return `"${inside}" is shown inside of what is hidden`;
    return this.#layering.unavailableReason(root, this.#options.host);
  }

  async plan(
    record: SessionRecord,
    place: string | null,
    visible: PathRules,
  ): Promise<ViewPlan | null> {
    const { workspace: root } = record;
    if (root === null || place === null || record.grants.sandbox === 'none') return null;
    if (this.whyNotLayered(record, visible) !== null) return null;
    const view = viewIdOf(record);
    await this.#closing.get(view);
    const generation = this.#opened.get(view)?.mounts.generation ?? 0;
    const layers = this.#layering.directoriesOf(view);
    const { directory, upper, work } = layers;
    const { home } = this.#options.host;
    const hidden = await this.#masks.of(view, visible, { root, home, directory });
    const mask = hidden?.directory ?? null;
    const overlay = { view, tree: root, place, mask, upper, work };
    const planned = { layers, hidden, overlay, generation };
    this.#planned.set(planned, planned);
    return planned;
  }

  open(record: SessionRecord, root: string, context: ViewContext): Promise<WorkspaceView> {
    const { id } = record;
    const joined = this.#sessions.get(id);
    if (joined?.context === context) return joined.opening;
    const view = context.plan === null ? id : viewIdOf(record);
    const known = this.#views.get(view);
    const made =
      known === undefined
        ? this.#make(record, view, root, context)
        : known.then((workspace) => {
            this.#join(workspace, id, root, context);
            return workspace;
          });
    const opening = made.then(
      async (workspace) => new LocalView(id, workspace, await this.#dryRuns(root, context)),
    );
    this.#sessions.set(id, { view, context, opening });
    if (known === undefined) this.#views.set(view, made);
    made.then((workspace) => this.#opened.set(view, workspace)).catch(() => {});
    opening.catch(() => {
      this.#sessions.delete(id);
      if (this.#views.get(view) === made) this.#views.delete(view);
    });
    return opening;
  }

  maskOf(id: SessionId): string | null {
    return this.#masks.digestOf(this.#viewOf(id));
  }

  preview(opened: PreviewRequest): ViewPreview {
    const isLayered = this.#layering.unavailableReason(opened.path, this.#options.host) === null;
    const method = isLayered ? 'overlay' : 'index';
    const { read, path: root } = opened;
    // Compiled with the first session: policy adds to the rules.
    const isHiding = read.allow.length + read.deny.length > 0;
    return { method, denied: isHiding ? null : 0, git: gitView(root, null) };
  }

  /**
   * Finishes what an earlier runtime began, and removes layers without a session. To be called
   * before the first session.
   */
  async recover(sessions: readonly SessionRecord[]): Promise<void> {
    const views = new Set(sessions.map(viewIdOf));
    this.#earlier = views;
    await this.#options.stores.recover();
    await this.#options.stores.dropSync(views);
    await this.#layering.sweep(views);
  }

  async leave(record: SessionRecord): Promise<void> {
    const view = this.#sessions.get(record.id)?.view ?? viewIdOf(record);
    this.#sessions.delete(record.id);
    if (this.#source.sessionsIn(view).some((id) => id !== record.id)) {
      const workspace = await this.#views.get(view)?.catch(() => null);
      return workspace?.leave(record.id);
    }
    const closing = this.#closeView(view);
    this.#closing.set(view, closing);
    await closing;
    if (this.#closing.get(view) === closing) this.#closing.delete(view);
  }

  async #closeView(view: string): Promise<void> {
    const opening = this.#views.get(view);
    this.#views.delete(view);
    this.#opened.delete(view);
    this.#options.trees.leave(view);
    this.#masks.forget(view);
    const workspace = await opening?.catch(() => null);
    await workspace?.idle();
    workspace?.close();
    if (workspace?.parts.layer == null) return;
    const store = await this.#options.stores.own();
    store.drop(recordKinds.layer, view);
    store.drop(recordKinds.sync, view);
    await this.#layering.remove(this.#layering.directoriesOf(view)).catch((error: unknown) => {
      this.#options.log(`layers of ${view} are left: ${String(error)}`);
    });
  }

  /** @param isLast whether no later runtime continues with the pending changes */
  async end(isLast: boolean): Promise<void> {
    for (const workspace of this.#opened.values()) await workspace.idle();
    if (isLast) for (const view of this.#views.keys()) await this.#closeView(view);
    const { trees, renames, stores } = this.#options;
    trees.close();
    this.#attributes[Symbol.dispose]();
    renames[Symbol.dispose]();
    await stores.close();
  }

  async #make(
    record: SessionRecord,
    view: string,
    root: string,
    context: ViewContext,
  ): Promise<SessionWorkspace> {
    const { log, trees, stores, renames, mounts } = this.#options;
    const store = await stores.own();
    const { facts } = context;
    const layered = this.#layeredBy(context);
    const applied = new AppliedEntries();
    const owner = { uid: facts?.uid ?? 0, gid: facts?.gid ?? 0 };
    const layer = this.#layerOf(root, context, store, {
      appliedKeyAt: (path) => applied.keyAt(path),
    });
    const capture: ChangeCapture =
      layer ??
      (await IndexCapture.open({
        root,
        contents: store,
        entriesMax: limits.workspaceEntries.default,
      }));
    const refresh = async (directories: readonly BytePath[] | 'all'): Promise<void> => {
      const paths = directories === 'all' ? [] : directories;
      await (await mounts()).request('refresh', { view, paths });
    };
    const sessions = new Set([record.id, ...this.#source.sessionsIn(view)]);
    const running = (): ExecId[] => [...sessions].flatMap((id) => this.#source.running(id));
    const isAdopted = this.#earlier.has(view);
    const workspace: SessionWorkspace = new SessionWorkspace({
      view,
      mode: sessionWorkspaceMode(record),
      method: layer === null ? 'index' : 'overlay',
      tree: trees.use(root, view),
      owner,
      capture,
      layer,
      store,
      renames,
      applied,
      onPendingChange: () => {
        const { sessionsIn, onPendingChange } = this.#source;
        for (const id of new Set([record.id, ...sessionsIn(view)])) onPendingChange(id);
      },
      removedDirectories: stores.removedDirectoriesOf(store),
      scratch: stores.scratch,
      remask: (directories) => this.#masks.isFresh(view, directories),
      refresh,
      announcing: layered && {
        upper: layered.overlay.upper,
        watched: async () => (await (await mounts()).request('watched', { view })).mount,
        mayAnnounce: (path) => !this.#masks.hides(view, path) && !workspace.mounts.isCovered(path),
      },
      adopted: isAdopted ? running() : [],
      isRunning: (id) => running().includes(id),
      log,
    });
    this.#join(workspace, record.id, root, context);
    await workspace.restore();
    // The tree was not watched since the overlay was mounted.
    if (layer !== null && isAdopted) await refresh('all');
    if (running().length === 0) await workspace.takeLeftovers(record.id);
    return workspace;
  }

  hasPendingChange(id: SessionId, path: string): boolean {
    const workspace = this.#opened.get(this.#viewOf(id));
    const root = workspace?.parts.tree.root ?? '';
    if (workspace === undefined || !isBelow(path, root) || path === root) return false;
    return workspace.pending.holds(relativeTo(root, path));
  }

  hides(id: SessionId, root: string, path: string): boolean {
    if (!isBelow(path, root) || path === root) return false;
    return this.#masks.hides(this.#viewOf(id), relativeTo(root, path));
  }

  #viewOf(id: SessionId): string {
    return this.#sessions.get(id)?.view ?? id;
  }

  #layeredBy({ plan }: ViewContext): Layered | null {
    return plan === null ? null : (this.#planned.get(plan) ?? null);
  }

  /** Where dry runs happen; `null`: there are no layers. */
  async #dryRuns(root: string, context: ViewContext): Promise<DryRunDependencies | null> {
    const layered = this.#layeredBy(context);
    if (layered === null || context.box.kind === 'none') return null;
    const store = await this.#options.stores.own();
    return {
      layering: this.#layering,
      overlay: layered.overlay,
      captureOf: (upper, over) => this.#layerOf(root, context, store, { upper, over }),
    };
  }

  /** Finds changes in the view's upper layer, or in another above it; `null`: there is no layer. */
  #layerOf(
    root: string,
    context: ViewContext,
    store: SnapshotStore,
    how: Pick<Partial<OverlayCaptureOptions>, 'upper' | 'over' | 'appliedKeyAt'>,
  ): OverlayCapture | null {
    const { facts, box } = context;
    const layered = this.#layeredBy(context);
    if (layered === null || box.kind === 'none') return null;
    const { view, upper } = layered.overlay;
    const { hostUid, hostGid } = box.holder;
    return new OverlayCapture({
      root,
      upper,
      idShift: { uid: hostUid - (facts?.uid ?? 0), gid: hostGid - (facts?.gid ?? 0) },
      isMasked: (path) => this.#masks.hides(view, path),
      pinned: () => mountParents(root, facts),
      contents: store,
      attributes: this.#attributes,
      ...how,
    });
  }

  #join(workspace: SessionWorkspace, id: SessionId, root: string, context: ViewContext): void {
    const { facts, write } = context;
    const { host, tags } = this.#options;
    const layered = this.#layeredBy(context);
    const hidden = layered?.hidden ?? null;
    const granted = facts?.granted.filter(({ path, writable }) => writable && path !== root) ?? [];
    const gits = facts?.gitDirectories.filter((path) => isBelow(path, root) && path !== root) ?? [];
    workspace.join(id, {
      filter: createSessionFilter(
        { root, host, tags },
        { facts, write, hidden: layered === null ? 'no-layer' : layered.hidden },
      ),
      gitDirectories: gits.map((path) => relativeTo(root, path)),
      generation: layered?.generation ?? 0,
      mounts: workspaceMounts(root, facts),
      summary: {
        denied: hidden?.hidden.length ?? 0,
        git: gitView(root, hidden),
        unrecorded: granted.map(({ path }) => path),
      },
    });
  }
}

const relativeTo = (root: string, path: string): BytePath =>
  bytePathOf(path.slice(root.length + 1));
