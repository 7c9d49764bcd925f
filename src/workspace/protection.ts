/** Collects what to cover and what to guard; every path is checked against what is visible. */
import path from 'node:path';
import { TrlError } from '../errors.ts';
import { bytePathOf, pathText } from './byte-path.ts';
import { type GrantedTree, grantedTreeOf } from './grants.ts';
import { HostLookup } from './host-lookup.ts';
import { inspectPath, isBelow, realPathPrefix } from './inspect-path.ts';
import { findOtherNames } from './walk.ts';

/** A change on top of a visible tree, at an existing path that is no link. */
export interface ProtectionCover {
  readonly path: string;
  readonly as: 'pin' | 'read-only' | 'hidden-file' | 'hidden-directory';
}

/** What must be as it was after each command: nothing there, or this link. */
export type GuardedPath =
  | { readonly kind: 'absent'; readonly tree: string; readonly path: string }
  | {
      readonly kind: 'link';
      readonly tree: string;
      readonly path: string;
      readonly target: string;
    };

interface ProtectionScope {
  readonly root: string | null;
  /** Whether writes below `root` go to a layer of their own: then nothing is mounted there. */
  readonly layered: boolean;
  readonly granted: readonly GrantedTree[];
  /** Trees that a sandbox shows anyway. */
  readonly visible: readonly string[];
}

interface ProtectionResult {
  readonly covers: readonly ProtectionCover[];
  readonly guarded: readonly GuardedPath[];
  readonly unprotected: number;
}

/** Mounts after which built-in protections stop: each slows every command. */
const coversMax = 96;
/** Paths that an operator's rules may match. */
const ruledMax = 256;

/** One survey's protections. Order matters: rules first, {@link finishRules}, then built-ins. */
export class Protection {
  readonly #scope: ProtectionScope;
  readonly #covers = new Map<string, ProtectionCover>();
  readonly #guarded = new Map<string, GuardedPath>();
  #unprotected = 0;

  constructor(scope: ProtectionScope) {
    this.#scope = scope;
  }

  /** Makes `name` unreadable, wherever it leads. A missing path hides nothing. */
  hide(name: string): void {
    const real = realPathPrefix(name);
    const { granted, visible, root } = this.#scope;
    if (this.#isLayered(real)) return;
    const seen = [...granted.map((tree) => tree.path), ...visible];
    if (real === root || !seen.some((tree) => isBelow(real, tree))) return;
    const found = inspectPath('/', real);
    if (found.kind === 'directory') this.#cover(real, 'hidden-directory');
    if (found.kind === 'file') this.#cover(real, 'hidden-file');
  }

  /**
   * Makes `name` unwritable: now if it exists, after each command if it does not. Requested names
   * are always covered; built-in names while mounts are left.
   */
  protect(name: string, reason: 'asked' | 'built-in'): void {
    const real = this.#treeOf(name) === null ? realPathPrefix(name) : name;
    const tree = this.#treeOf(real);
    if (tree === null) return;
    const found = inspectPath(tree, real);
    const isOutside = found.kind === 'link' && found.real !== null && !this.#isLayered(found.real);
    // With a commit filter, a command is denied at once only what was requested.
    if (this.#isLayered(real) && !isOutside && reason === 'built-in') return;
    if (found.kind === 'absent' && !this.#isLayered(real)) {
      this.#guard({ kind: 'absent', tree, path: real });
    }
    if (found.kind === 'link') this.#guardTrail(real);
    const existing = found.kind === 'link' ? found.real : 'stat' in found ? real : null;
    if (existing === null || this.#treeOf(existing) === null) return;
    if (reason === 'asked' || this.#covers.size < coversMax) this.#cover(existing, 'read-only');
    else if (!this.#covers.has(existing)) this.#unprotected += 1;
  }

  /** A hard link is another name for the same file, and what holds for one must hold for all. */
  async coverOtherNames(entriesMax: number): Promise<void> {
    const writable = this.#scope.granted.filter((tree) => tree.writable);
    const trees = writable.map((tree) => tree.path).filter((tree) => !this.#isLayered(tree));
    for (const [name, as] of await findOtherNames([...this.#covers.values()], trees, entriesMax)) {
      this.#cover(name, as);
    }
  }

  /**
   * After the operator's rules.
   *
   * @throws TrlError SANDBOX_UNAVAILABLE where rules match more paths than can be held.
   */
  async finishRules(entriesMax: number): Promise<void> {
    await this.coverOtherNames(entriesMax);
    const count = this.#covers.size;
    if (count <= ruledMax) return;
    const reason = `rules match ${count} paths, at most ${ruledMax} can be held; name directories`;
    throw new TrlError('SANDBOX_UNAVAILABLE', `Cannot protect the files as asked: ${reason}`);
  }

  result(): ProtectionResult {
    const covers = this.#withoutNested([...this.#covers.values()]);
    const fixed = covers.filter(({ path: name }) => !this.#isLayered(name));
    const pins = [...new Set(fixed.flatMap((cover) => this.#ancestors(cover.path)))]
      .filter((name) => !this.#covers.has(name))
      .map((name) => ({ path: name, as: 'pin' }) as const);
    const guarded = [...this.#guarded.values()];
    return { covers: [...pins, ...covers], guarded, unprotected: this.#unprotected };
  }

  #isLayered(name: string): boolean {
    const { layered, root } = this.#scope;
    return layered && root !== null && isBelow(name, root);
  }

  /** The tree that holds `name`, the deepest where they nest, if it is writable. */
  #treeOf(name: string): string | null {
    const deepest = grantedTreeOf(this.#scope.granted, name);
    return deepest?.writable === true ? deepest.path : null;
  }

  /**
   * A cover below a hidden directory is useless, and one below a read-only tree as well, unless a
   * granted tree between them is mounted above the outer one.
   */
  #withoutNested(covers: readonly ProtectionCover[]): ProtectionCover[] {
    const trees = this.#scope.granted.map((tree) => tree.path);
    const isOnTop = (name: string, outer: string): boolean =>
      trees.some((tree) => tree !== outer && isBelow(tree, outer) && isBelow(name, tree));
    const outer = covers.filter((cover) => cover.as !== 'hidden-file');
    return covers.filter(
      (cover) =>
        !outer.some(
          (other) =>
            other !== cover &&
            isBelow(cover.path, other.path) &&
            (other.as === 'hidden-directory' || cover.as === 'read-only') &&
            !isOnTop(cover.path, other.path),
        ),
    );
  }

  #cover(name: string, as: ProtectionCover['as']): void {
    const known = this.#covers.get(name);
    // Hidden says more than read-only.
    if (known !== undefined && known.as !== 'read-only') return;
    this.#covers.set(name, { path: name, as });
  }

  #guard(guarded: GuardedPath): void {
    this.#guarded.set(guarded.path, guarded);
  }

  /** Every link on the way, and the end where nothing is there yet. */
  #guardTrail(name: string): void {
    const look = new HostLookup();
    for (const step of look.follow(bytePathOf(name)).trail) {
      const at = pathText(step);
      const tree = this.#treeOf(at);
      if (tree === null || this.#isLayered(at)) continue;
      const stands = look.at(step);
      if (stands.kind === 'nothing') this.#guard({ kind: 'absent', tree, path: at });
      if (stands.kind !== 'link') continue;
      this.#guard({ kind: 'link', tree, path: at, target: pathText(stands.target) });
    }
  }

  /** Directories that could be renamed away with what they hold. */
  #ancestors(name: string): string[] {
    const tree = this.#treeOf(name);
    if (tree === null || tree === name) return [];
    const parents: string[] = [];
    for (let at = path.dirname(name); at !== tree; at = path.dirname(at)) parents.push(at);
    return parents;
  }
}
