/**
 * The workspaces of all sessions: opened with the first command of their view, closed with its last
 * session.
 */
import { join } from 'node:path';
import type { BytePath } from '../change.ts';
import type { Box, ExecId, PathRules, SessionId } from '../command.ts';
import { limits } from '../limits.ts';
import type { HostFacts } from '../sandbox/host-facts.ts';
import { visibleTrees } from '../sandbox/plan.ts';
import type { SessionRecord } from '../session/record.ts';
import type { SnapshotStore } from '../snapshot/store.ts';
import type { ChangeCapture, LayerCapture } from '../workspace/changes/capture.ts';
import { IndexCapture } from '../workspace/changes/index-capture.ts';
import { LayerAttributes } from '../workspace/changes/layer-attributes.ts';
import type { LedgerLines } from '../workspace/changes/ledger.ts';
import { OverlayCapture } from '../workspace/changes/overlay-diff.ts';
import type { AtomicRenames } from '../workspace/commit/atomic-renames.ts';
import { SystemTrees } from '../workspace/commit/system-trees.ts';
import { isBelow } from '../workspace/inspect-path.ts';
import type { MaskState } from '../workspace/projection/mask.ts';
import { readVisibility } from '../workspace/projection/visibility.ts';
import type { WorkspaceFacts } from '../workspace/workspace-survey.ts';
import { parsePathRules } from '../workspace/path-rules.ts';
import { bytePathOf } from '../workspace/byte-path.ts';
import { DryRuns } from './dry-runs.ts';
import { createSessionFilter, type CommitFilterScope } from './session-filter.ts';
import type { RunnerLink } from '../process/runner-link.ts';
import {
  LayerLayout,
  workspaceMounts,
  mountParents,
  type LayerDirectories,
} from './layer-layout.ts';
import { gitView, Masks } from './masks.ts';
import { LocalView } from './local-view.ts';
import type {
  PreviewRequest,
  SessionSource,
  ViewContext,
  ViewPlan,
  ViewPreview,
  WorkspaceViews,
  WorkspaceView,
} from './port.ts';
import { recordKinds } from './change-record.ts';
import { SessionWorkspace } from './session-workspace.ts';
import type { SnapshotStores } from './snapshot-stores.ts';
import { WorkspaceTrees } from './workspace-tree.ts';
import { sessionWorkspaceMode, viewIdOf } from '../session/views.ts';

export interface WorkspacesOptions extends Pick<CommitFilterScope, 'tags'> {
  /** Private to the runtime, outside every workspace. */
  readonly directory: string;
  readonly host: HostFacts;
  /** The runner, which has the mounts of views. */
  readonly mounts: () => Promise<Pick<RunnerLink, 'request'>>;
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
  readonly ground: ViewContext;
  /** Settles when the view goes by the ground. */
  readonly opening: Promise<WorkspaceView>;
}

export class Workspaces implements WorkspaceViews {
  readonly trees: WorkspaceTrees;
  readonly layering: LayerLayout;
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
    this.trees = new WorkspaceTrees(join(options.directory, 'cookies'));
    this.layering = new LayerLayout(join(options.directory, 'layers'));
  }

  attach(source: SessionSource): void {
    this.#source = source;
  }

  get renames(): AtomicRenames {
    return this.#options.renames;
  }

  /** Of the person on the host. */
  get home(): string {
    return this.#options.host.home;
  }

  /** Whether a path leads out to what every sandbox shows read-only, and through nothing hidden. */
  systemOf(hidden: readonly string[]): (target: BytePath) => boolean {
    const { host } = this.#options;
    const trees = new SystemTrees(visibleTrees(host), [...host.masked, ...hidden]);
    return (target) => trees.shows(target);
  }

  get stores(): SnapshotStores {
    return this.#options.stores;
  }

  find(id: SessionId): Promise<WorkspaceView> | null {
    return this.#sessions.get(id)?.opening ?? null;
  }

  refuseLayers(root: string, why: string): void {
    this.layering.refuse(root, why);
  }

  whyNotLayered({ workspace: root, grants }: SessionRecord, visible: PathRules): string | null {
    if (root === null || grants.sandbox === 'none') return 'there is no sandbox around it';
    const { home } = this;
    const hidden = readVisibility({ allow: [], deny: visible.deny }, { root, home });
    const shown = parsePathRules(grants.files.read.allow, { root, home }).paths;
    const inside = shown.find(
      (path) => path !== root && isBelow(path, root) && hidden.hides(relativeTo(root, path)),
    );
    if (inside !== undefined) return `"${inside}" is shown inside of what is hidden`;
    return this.layering.unavailableReason(root, this.#options.host);
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
    const layers = this.layering.directoriesOf(view);
    const { directory, upper, work } = layers;
    const hidden = await this.#masks.of(view, visible, { root, home: this.home, directory });
    const mask = hidden?.directory ?? null;
    const overlay = { view, tree: root, place, mask, upper, work };
    const planned = { layers, hidden, overlay, generation };
    this.#planned.set(planned, planned);
    return planned;
  }

  open(record: SessionRecord, root: string, ground: ViewContext): Promise<WorkspaceView> {
    const { id } = record;
    const joined = this.#sessions.get(id);
    if (joined?.ground === ground) return joined.opening;
    const view = ground.plan === null ? id : viewIdOf(record);
    const known = this.#views.get(view);
    const made =
      known === undefined
        ? this.#make(record, view, root, ground)
        : known.then((workspace) => {
            this.#ground(workspace, id, root, ground);
            return workspace;
          });
    const opening = made.then(
      async (workspace) => new LocalView(id, workspace, await this.#dryRuns(root, ground)),
    );
    this.#sessions.set(id, { view, ground, opening });
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
    const isLayered = this.layering.unavailableReason(opened.path, this.#options.host) === null;
    const method = isLayered ? 'overlay' : 'index';
    const { read, path: root } = opened;
    // Compiled with the first session: policy adds to the rules.
    const isHiding = read.allow.length + read.deny.length > 0;
    return { method, denied: isHiding ? null : 0, git: gitView(root, null) };
  }

  /**
   * Before the first session of this runtime: finishes what an earlier one began, and removes what
   * belongs to nobody any more.
   */
  async recover(sessions: readonly SessionRecord[]): Promise<void> {
    const views = new Set(sessions.map(viewIdOf));
    this.#earlier = views;
    await this.stores.recover();
    await this.stores.dropSync(views);
    await this.layering.sweep(views);
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
    this.trees.leave(view);
    this.#masks.forget(view);
    const workspace = await opening?.catch(() => null);
    await workspace?.idle();
    workspace?.close();
    if (workspace?.parts.layer == null) return;
    const store = await this.stores.own();
    store.drop(recordKinds.layer, view);
    store.drop(recordKinds.sync, view);
    await this.layering.remove(this.layering.directoriesOf(view)).catch((error: unknown) => {
      this.#options.log(`layers of ${view} are left: ${String(error)}`);
    });
  }

  /** @param isLast whether no later runtime goes on with what waits */
  async end(isLast: boolean): Promise<void> {
    for (const workspace of this.#opened.values()) await workspace.idle();
    if (isLast) for (const view of this.#views.keys()) await this.#closeView(view);
    this.trees.close();
    this.#attributes[Symbol.dispose]();
    this.renames[Symbol.dispose]();
    await this.stores.close();
  }

  async #make(
    record: SessionRecord,
    view: string,
    root: string,
    ground: ViewContext,
  ): Promise<SessionWorkspace> {
    const { log } = this.#options;
    const store = await this.stores.own();
    const { facts, box } = ground;
    const layered = this.#layeredBy(ground);
    const owner = { uid: facts?.uid ?? 0, gid: facts?.gid ?? 0 };
    const layer =
      layered === null || box.kind === 'none'
        ? null
        : this.#captureOf(view, root, { facts, box, store, upper: layered.overlay.upper });
    const capture: ChangeCapture =
      layer ??
      (await IndexCapture.open({
        root,
        contents: store,
        entriesMax: limits.workspaceEntries.default,
      }));
    const { mounts } = this.#options;
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
      tree: this.trees.use(root, view),
      owner,
      capture,
      layer,
      store,
      renames: this.renames,
      removedDirectories: this.stores.removedDirectoriesOf(store),
      scratch: this.#options.stores.scratch,
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
    workspace.pending.onChange = () => {
      const { sessionsIn, onPendingChange: onWaiting } = this.#source;
      for (const id of new Set([record.id, ...sessionsIn(view)])) onWaiting(id);
    };
    this.#ground(workspace, record.id, root, ground);
    await workspace.restore();
    // Nobody watched the tree since the overlay was mounted.
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

  /** For commands that have layers of their own. */
  async #dryRuns(root: string, ground: ViewContext): Promise<DryRuns | null> {
    const { facts, box } = ground;
    const layered = this.#layeredBy(ground);
    if (layered === null || box.kind === 'none') return null;
    const store = await this.stores.own();
    const { overlay } = layered;
    const captureOf = (upper: string, over: LedgerLines): LayerCapture =>
      this.#captureOf(overlay.view, root, { facts, box, store, upper, over });
    return new DryRuns({ layering: this.layering, overlay, captureOf });
  }

  #captureOf(
    view: string,
    root: string,
    place: {
      readonly facts: WorkspaceFacts | null;
      readonly box: Exclude<Box, { kind: 'none' }>;
      readonly store: SnapshotStore;
      readonly upper: string;
      readonly over?: LedgerLines;
    },
  ): OverlayCapture {
    const { facts, box, store, upper, over } = place;
    const { hostUid, hostGid } = box.holder;
    return new OverlayCapture({
      root,
      upper,
      idShift: { uid: hostUid - (facts?.uid ?? 0), gid: hostGid - (facts?.gid ?? 0) },
      isMasked: (path) => this.#masks.hides(view, path),
      pinned: () => mountParents(root, facts),
      contents: store,
      attributes: this.#attributes,
      ...(over === undefined ? {} : { over }),
    });
  }

  #ground(workspace: SessionWorkspace, id: SessionId, root: string, ground: ViewContext): void {
    const [{ facts, write }, { tags }] = [ground, this.#options];
    const layered = this.#layeredBy(ground);
    const hidden = layered?.hidden ?? null;
    const granted = facts?.granted.filter(({ path, writable }) => writable && path !== root) ?? [];
    workspace.committing.filter = createSessionFilter(
      { root, home: this.home, tags, systemOf: (hidden) => this.systemOf(hidden) },
      { facts, write, hidden: layered === null ? 'no-layer' : layered.hidden },
    );
    const gits = facts?.gitDirectories.filter((path) => isBelow(path, root) && path !== root) ?? [];
    workspace.committing.git.directories = gits.map((path) => relativeTo(root, path));
    workspace.mounts.set(id, layered?.generation ?? 0);
    for (const { path, isWhole } of workspaceMounts(root, facts)) {
      workspace.mounts.cover(path, isWhole);
    }
    workspace.view = {
      denied: hidden?.hidden.length ?? 0,
      git: gitView(root, hidden),
      unrecorded: granted.map(({ path }) => path),
    };
  }
}

const relativeTo = (root: string, path: string): BytePath =>
  bytePathOf(path.slice(root.length + 1));
