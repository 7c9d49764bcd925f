/**
 * Tracks how outdated the commands' view may be. An overlay shows the real tree as of its last
 * refresh, and an entry of the layer may be from any moment since the last capture: later changes
 * of others must not be replaced by what a command made of the version before.
 */
import type { BytePath } from '../change.ts';
import type { SessionId } from '../command.ts';
import { parentPathOf } from '../workspace/byte-path.ts';
import type { CapturedChange } from '../workspace/changes/capture.ts';
import type { WatchCursor } from '../workspace/projection/tree-watch.ts';
import { clockTickMs, layerWriteTimeMs } from './file-versions.ts';
import type { WorkspaceTree } from './workspace-tree.ts';

/** Changes of others; of replaced directories, every entry may be different. */
interface Touched {
  readonly directories: ReadonlySet<BytePath> | 'all';
  readonly entries: ReadonlySet<BytePath>;
  readonly replaced: ReadonlySet<BytePath>;
}

const nothing: Touched = { directories: new Set(), entries: new Set(), replaced: new Set() };

/** `isAll`: others may have changed, too. */
type OnTouched = (entries: readonly BytePath[], isAll: boolean) => void;

export class Staleness {
  readonly #cursor: WatchCursor;
  /** Since the overlay was refreshed: no command sees it. */
  #unseen: Touched = nothing;
  /** Before that, and after the layer was looked at: what is in the layer may be older. */
  #seen: Touched = nothing;
  /** Unix ms. */
  #refreshedAt = Date.now();
  /** Entries of the layer that are not captured yet are from this moment, Unix ms, or later. */
  #since = this.#refreshedAt;

  readonly #onTouched: OnTouched;

  /** @param onTouched called with entries that changed; must not throw */
  constructor(cursor: WatchCursor, onTouched: OnTouched) {
    this.#cursor = cursor;
    this.#onTouched = onTouched;
  }

  /** Directories that changed since the overlay was refreshed; `null`: none. */
  async look(): Promise<readonly BytePath[] | 'all' | null> {
    const settled = await this.#cursor.nextChanges();
    if (settled.changed) {
      const { directories, entries, replaced } = settled;
      this.#onTouched(entries, directories === 'all');
      this.#unseen = together(this.#unseen, {
        directories: directories === 'all' ? directories : new Set(directories),
        entries: new Set(entries),
        replaced: new Set(replaced),
      });
    }
    const { directories } = this.#unseen;
    if (directories === 'all') return directories;
    return directories.size === 0 ? null : [...directories];
  }

  /** Unix ns: commands see everything that was unchanged since then. */
  get sinceNs(): bigint {
    return BigInt(Math.floor(this.#since) - clockTickMs) * 1_000_000n;
  }

  /** Whether another writer may have changed entries of a directory since the last capture. */
  async isTouchedIn(directory: BytePath): Promise<boolean> {
    await this.look();
    const { directories, entries, replaced } = together(this.#seen, this.#unseen);
    if (directories === 'all') return true;
    return [...directories, ...entries, ...replaced].some(
      (path) => path === directory || path.startsWith(`${directory}/`),
    );
  }

  /** What {@link look} found, by name, but for directories of which every entry may be another. */
  get unseen(): readonly BytePath[] {
    return [...this.#unseen.entries];
  }

  /**
   * The overlay shows everything that was there at `at`, Unix ms.
   *
   * @param isIdle no command runs that saw what was before
   */
  refreshed(at: number, isIdle: boolean): void {
    this.#refreshedAt = at;
    if (isIdle) this.#since = at;
    this.#seen = isIdle ? nothing : together(this.#seen, this.#unseen);
    this.#unseen = nothing;
  }

  /** Takes what changed as seen; answers whether anything did. */
  async drain(): Promise<boolean> {
    const changed = await this.look();
    this.refreshed(Date.now(), true);
    return changed !== null;
  }

  /** A command has been running since then, Unix ms, and no capture was made. */
  since(at: number): void {
    this.#since = Math.min(this.#since, at);
    this.#seen = { ...this.#seen, directories: 'all' };
  }

  /**
   * To be called after a capture of the layer and `look`.
   *
   * @param waiting what a later capture reports: changes of others before that count then, too
   * @param tree when a directory on the way to a path changed last, Unix ns, and whether a file is
   *   known to have been there
   * @returns whether another writer may have changed a path since a command saw it
   */
  captured(
    tree: Pick<WorkspaceTree, 'pathChangedNs' | 'wasThere'>,
    waiting: readonly BytePath[] = [],
  ): (captured: CapturedChange) => boolean {
    const unseen = this.#unseen;
    const { directories, entries, replaced } = together(this.#seen, this.#unseen);
    const refreshedAt = this.#refreshedAt;
    const { sinceNs } = this;
    this.#seen = waiting.length === 0 ? nothing : of(this.#seen, new Set(waiting));
    if (this.#seen.directories !== 'all') this.#since = this.#refreshedAt;
    return (captured) => {
      const { path, base, after, baseCtimeNs, isCopyUp, isOvertaken } = captured;
      if (isOvertaken === true) return true;
      // An overlay notes no origin of a file that was deleted below before it was written to.
      const isOlder =
        unseen.directories === 'all' ||
        unseen.entries.has(path) ||
        layerWriteTimeMs(captured) <= refreshedAt;
      const isMade =
        base === null &&
        after?.type === 'file' &&
        (entries.has(path) || (directories === 'all' && tree.wasThere(path)));
      if (isMade && isOlder && !isGits(path)) return true;
      const isTouched = entries.has(path) || replaced.has(parentPathOf(path));
      if (directories !== 'all' && !isTouched) return false;
      if (base === null || baseCtimeNs === null) {
        // Gone meanwhile, or a name that a command gave to a file of another name.
        return isCopyUp && (isTouched || tree.pathChangedNs(path) >= sinceNs);
      }
      return isTouched || baseCtimeNs >= sinceNs;
    };
  }

  close(): void {
    this.#cursor.close();
  }
}

/** Its locks come and go on both sides. */
const isGits = (path: BytePath): boolean => path.split('/').includes('.git');

/** What concerns some paths, and what is below them. */
function of({ directories, entries, replaced }: Touched, paths: ReadonlySet<BytePath>): Touched {
  const isOf = (entry: BytePath): boolean => {
    for (let at = entry; at !== ''; at = parentPathOf(at)) if (paths.has(at)) return true;
    return false;
  };
  const known = directories === 'all' ? directories : new Set<BytePath>();
  return { directories: known, entries: new Set([...entries].filter(isOf)), replaced };
}

function together(a: Touched, b: Touched): Touched {
  const all = a.directories === 'all' || b.directories === 'all';
  return {
    directories: all ? 'all' : new Set([...a.directories, ...b.directories]),
    entries: new Set([...a.entries, ...b.entries]),
    replaced: new Set([...a.replaced, ...b.replaced]),
  };
}

// Whether a session's overlay is the current one: if other paths must be hidden, the next command
// of each session of the view gets a new mount.

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

  /** The session's overlay was planned when this `generation` was current. */
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
