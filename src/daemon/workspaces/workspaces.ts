/** The workspaces of all sessions: opened with their first command, closed with the session. */
import { join } from 'node:path';
import type { BytePath, ChangeMethod, WorkspaceMode } from '../../change.ts';
import type { Box, Overlay, PathRules, SessionId } from '../../command.ts';
import { limits } from '../../limits.ts';
import { visibleTrees, type HostFacts } from '../../sandbox/facts.ts';
import type { SessionRecord } from '../../session/record.ts';
import type { SnapshotStore } from '../../snapshot/store.ts';
import type { ChangeCapture, LayerCapture } from '../../workspace/changes/captured.ts';
import { IndexCapture } from '../../workspace/changes/index-capture.ts';
import { LayerAttributes } from '../../workspace/changes/layer-attributes.ts';
import type { LedgerLines } from '../../workspace/changes/ledger.ts';
import { UpperCapture } from '../../workspace/changes/upper.ts';
import { openFilter } from '../../workspace/commit/filter.ts';
import { filterInput } from '../../workspace/commit/input.ts';
import type { CommitFilter } from '../../workspace/commit/held.ts';
import type { AtomicRenames } from '../../workspace/commit/renames.ts';
import { SystemTrees } from '../../workspace/commit/system-trees.ts';
import { isBelow } from '../../workspace/inspect.ts';
import type { MaskState } from '../../workspace/projection/mask.ts';
import { readVisibility } from '../../workspace/projection/visibility.ts';
import type { WorkspaceFacts } from '../../workspace/protect.ts';
import { readRules } from '../../workspace/rules.ts';
import type { GitView } from '../../protocol/workspace.ts';
import type { Runners } from '../runners.ts';
import { bytePathOf, isAtOrBelow } from '../../workspace/byte-path.ts';
import type { OpenWorkspace } from './open-workspaces.ts';
import { DryRuns } from './dry-runs.ts';
import { Layering, type Layers } from './layering.ts';
import { gitView, Masks } from './masks.ts';
import { recordKinds } from './record.ts';
import { SessionWorkspace } from './session-workspace.ts';
import type { Stores } from './stores.ts';
import { Trees } from './tree.ts';

export interface WorkspacesOptions {
  /** Private to the runtime, outside every workspace. */
  readonly directory: string;
  readonly host: HostFacts;
  readonly runners: Runners;
  readonly stores: Stores;
  readonly renames: AtomicRenames;
  /** Must not throw. */
  readonly log: (text: string) => void;
}

/** Where a session's workspace is to be mounted. */
export interface Layered {
  readonly layers: Layers;
  /** What the session is not shown; `null`: it is shown everything. */
  readonly hidden: MaskState | null;
  readonly overlay: Overlay;
}

/** What was found out about the workspace, and what it is mounted in. */
export interface OpenedGround {
  readonly facts: WorkspaceFacts | null;
  readonly box: Box;
  readonly layered: Layered | null;
  /** Rules for writing, with those of policy. */
  readonly write: { readonly allow: readonly string[]; readonly deny: readonly string[] };
}

interface Opened {
  readonly ground: OpenedGround;
  readonly opening: Promise<SessionWorkspace>;
}

export class Workspaces {
  /** Whether commands of a session run, which this process may not have started. */
  isBusy: (id: SessionId) => boolean = () => false;
  /** Told when what waits in a session's workspace is other than before. Must not throw. */
  onPending: (id: SessionId) => void = () => {};
  readonly trees: Trees;
  readonly layering: Layering;
  readonly #options: WorkspacesOptions;
  readonly #attributes = new LayerAttributes();
  readonly #masks = new Masks(this.#attributes);
  readonly #sessions = new Map<SessionId, Opened>();
  readonly #opened = new Map<SessionId, SessionWorkspace>();
  /** Of an earlier runtime: what it mounted may still be there. */
  #earlier: ReadonlySet<string> = new Set();

  constructor(options: WorkspacesOptions) {
    this.#options = options;
    this.trees = new Trees(join(options.directory, 'cookies'));
    this.layering = new Layering(join(options.directory, 'layers'));
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

  get stores(): Stores {
    return this.#options.stores;
  }

  find(id: SessionId): Promise<SessionWorkspace> | null {
    return this.#sessions.get(id)?.opening ?? null;
  }

  /** Why a session's commands write to the real tree; `null`: they write to a layer. */
  whyNot({ workspace: root, grants }: SessionRecord, visible: PathRules): string | null {
    if (root === null || grants.sandbox === 'none') return 'there is no sandbox around it';
    const { host } = this.#options;
    const { home } = host;
    const hidden = readVisibility({ allow: [], deny: visible.deny }, { root, home });
    const shown = readRules(grants.files.read.allow, { root, home }).paths;
    const inside = shown.find(
      (path) => path !== root && isBelow(path, root) && hidden.hides(relativeTo(root, path)),
    );
    if (inside !== undefined) return `"${inside}" is shown inside of what is hidden`;
    return this.layering.whyNot(root, host);
  }

  /** Where the session's workspace is mounted; `null`: commands write to the real tree. */
  async plan(
    record: SessionRecord,
    place: string | null,
    visible: PathRules,
  ): Promise<Layered | null> {
    const { workspace: root, id } = record;
    if (root === null || place === null || record.grants.sandbox === 'none') return null;
    if (this.whyNot(record, visible) !== null) return null;
    const layers = this.layering.of(id);
    const { directory, upper, work } = layers;
    const { home } = this.#options.host;
    const hidden = await this.#masks.of(id, visible, { root, home, directory });
    const mask = hidden?.directory ?? null;
    return { layers, hidden, overlay: { tree: root, place, mask, upper, work } };
  }

  /** The session's workspace on its ground; what waits in it stays when the ground is made anew. */
  open(record: SessionRecord, root: string, ground: OpenedGround): Promise<SessionWorkspace> {
    const known = this.#sessions.get(record.id);
    if (known?.ground === ground) return known.opening;
    const opening =
      known === undefined
        ? this.#make(record, root, ground)
        : known.opening.then((workspace) => {
            this.#ground(workspace, root, ground);
            return workspace;
          });
    this.#sessions.set(record.id, { ground, opening });
    opening.then((workspace) => this.#opened.set(record.id, workspace)).catch(() => {});
    opening.catch(() => this.#sessions.delete(record.id));
    return opening;
  }

  /** Digest (hex) of what a session is not shown; `null`: it sees all. */
  maskOf(id: SessionId): string | null {
    return this.#masks.digestOf(id);
  }

  /** What sessions of an opened workspace will see. */
  preview(opened: OpenWorkspace): {
    readonly method: ChangeMethod;
    readonly denied: number | null;
    readonly git: GitView;
  } {
    const isLayered = this.layering.whyNot(opened.path, this.#options.host) === null;
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
  async recover(sessions: ReadonlySet<string>): Promise<void> {
    this.#earlier = sessions;
    await this.stores.recover();
    await this.layering.sweep(sessions);
  }

  /** Forgets a session; what waited in it is kept in no layer any more. */
  async close(id: SessionId): Promise<void> {
    const opening = this.#sessions.get(id);
    this.#sessions.delete(id);
    this.#opened.delete(id);
    this.trees.leave(id);
    this.#masks.forget(id);
    const workspace = await opening?.opening.catch(() => null);
    await workspace?.idle();
    workspace?.close();
    if (workspace?.parts.layer == null) return;
    (await this.stores.own()).drop(recordKinds.layer, id);
    await this.layering.remove(this.layering.of(id)).catch((error: unknown) => {
      this.#options.log(`layers of ${id} are left: ${String(error)}`);
    });
  }

  /** @param isLast whether no later runtime goes on with what waits */
  async end(isLast: boolean): Promise<void> {
    for (const workspace of this.#opened.values()) await workspace.idle();
    if (isLast) for (const id of this.#sessions.keys()) await this.close(id);
    this.trees.close();
    this.#attributes[Symbol.dispose]();
    this.renames[Symbol.dispose]();
    await this.stores.close();
  }

  async #make(
    record: SessionRecord,
    root: string,
    ground: OpenedGround,
  ): Promise<SessionWorkspace> {
    const { runners, log } = this.#options;
    const store = await this.stores.own();
    const { layered, facts, box } = ground;
    const owner = { uid: facts?.uid ?? 0, gid: facts?.gid ?? 0 };
    const layer =
      layered === null || box.kind === 'none'
        ? null
        : this.#captureOf(record.id, root, { facts, box, store, upper: layered.overlay.upper });
    const capture: ChangeCapture =
      layer ??
      (await IndexCapture.open({
        root,
        contents: store,
        entriesMax: limits.workspaceEntries.default,
      }));
    const refresh = async (directories: readonly BytePath[] | 'all'): Promise<void> => {
      const link = await runners.link();
      const paths = directories === 'all' ? [] : [...directories];
      await link.request({ op: 'refresh', session_id: record.id, paths });
    };
    const workspace: SessionWorkspace = new SessionWorkspace({
      session: record.id,
      mode: modeOf(record),
      method: layer === null ? 'index' : 'overlay',
      tree: this.trees.use(root, record.id),
      owner,
      capture,
      layer,
      store,
      renames: this.renames,
      remask: (directories) => this.#masks.isFresh(record.id, directories),
      refresh,
      log,
    });
    workspace.pending.onChange = () => this.onPending(record.id);
    this.#ground(workspace, root, ground);
    const kept = store.get(recordKinds.layer, record.id);
    if (layer !== null && kept !== null) workspace.restore(kept);
    // Nobody watched the tree since the overlay was mounted.
    if (layer !== null && this.#earlier.has(record.id)) await refresh('all');
    if (!this.isBusy(record.id)) await workspace.takeLeftovers();
    return workspace;
  }

  /** Whether commands of a session see something else at a path of the host, or below it. */
  isWaiting(id: SessionId, path: string): boolean {
    const workspace = this.#opened.get(id);
    const root = workspace?.parts.tree.root ?? '';
    if (workspace === undefined || !isBelow(path, root) || path === root) return false;
    return workspace.pending.holds(relativeTo(root, path));
  }

  /** Whether nothing is at a path of the host for commands of a session. */
  hides(id: SessionId, root: string, path: string): boolean {
    if (!isBelow(path, root) || path === root) return false;
    return this.#masks.hides(id, relativeTo(root, path));
  }

  /** For commands that have layers of their own. */
  async dryRuns(
    id: SessionId,
    root: string,
    { facts, box, layered }: OpenedGround,
    boxWith: (overlay: Overlay) => Box,
  ): Promise<DryRuns | null> {
    if (layered === null || box.kind === 'none') return null;
    const store = await this.stores.own();
    const { overlay } = layered;
    const captureOf = (upper: string, over: LedgerLines): LayerCapture =>
      this.#captureOf(id, root, { facts, box, store, upper, over });
    return new DryRuns({ layering: this.layering, overlay, boxWith, captureOf });
  }

  #captureOf(
    id: SessionId,
    root: string,
    place: {
      readonly facts: WorkspaceFacts | null;
      readonly box: Exclude<Box, { kind: 'none' }>;
      readonly store: SnapshotStore;
      readonly upper: string;
      readonly over?: LedgerLines;
    },
  ): UpperCapture {
    const { facts, box, store, upper, over } = place;
    const { hostUid, hostGid } = box.holder;
    return new UpperCapture({
      root,
      upper,
      idShift: { uid: hostUid - (facts?.uid ?? 0), gid: hostGid - (facts?.gid ?? 0) },
      isMasked: (path) => this.#masks.hides(id, path),
      pinned: () => pinnedIn(root, facts),
      contents: store,
      attributes: this.#attributes,
      ...(over === undefined ? {} : { over }),
    });
  }

  #ground(workspace: SessionWorkspace, root: string, ground: OpenedGround): void {
    const { facts, layered } = ground;
    const hidden = layered?.hidden ?? null;
    const granted = facts?.granted.filter(({ path, writable }) => writable && path !== root) ?? [];
    workspace.committing.filter = this.#filterOf(root, ground);
    workspace.remounted();
    workspace.view = {
      denied: hidden?.hidden.length ?? 0,
      git: gitView(root, hidden),
      unrecorded: granted.map(({ path }) => path),
    };
  }

  #filterOf(root: string, { facts, write, layered }: OpenedGround): CommitFilter | null {
    if (layered === null || facts === null) return null;
    const repositories = layered.hidden?.repositories ?? [];
    const projected = new Set(
      repositories.flatMap(({ kind, path }) => (kind === 'projected' ? [path] : [])),
    );
    const isProjected = (path: BytePath): boolean => isAtOrBelow(path, projected);
    const input = filterInput({
      root,
      home: this.#options.host.home,
      write,
      gitDirectories: facts.gitDirectories,
      links: facts.links ?? [],
      isReserved: (path) => !isProjected(path) && (layered.hidden?.hides(path) ?? false),
      isSystem: this.systemOf([root, ...facts.covers.map(({ path }) => path)]),
      isProjectedGit: gitView(root, layered.hidden) === 'projected',
      changesMax: limits.commitChanges.default,
      bytesMax: limits.commitBytes.default,
    });
    return openFilter(input);
  }
}

const relativeTo = (root: string, path: string): BytePath =>
  bytePathOf(path.slice(root.length + 1));

/** Directories of the workspace that lead to a mount. */
function pinnedIn(root: string, facts: WorkspaceFacts | null): ReadonlySet<BytePath> {
  const mounted = [...(facts?.covers ?? []), ...(facts?.granted ?? [])].map(({ path }) => path);
  const inside = mounted.filter((path) => path !== root && isBelow(path, root));
  return new Set(
    inside.flatMap((path) => {
      const parts = path.slice(root.length + 1).split('/');
      return parts.map((_, index) => bytePathOf(parts.slice(0, index + 1).join('/')));
    }),
  );
}

export const modeOf = ({ workspaceMode }: SessionRecord): WorkspaceMode =>
  workspaceMode ?? 'direct';
