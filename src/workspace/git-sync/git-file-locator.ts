/** Which paths of a tree lie in a git directory that stands there, and what they are to git. */
import type { BytePath } from '../../change.ts';
import { joinPath, baseNameOf, parentPathOf } from '../byte-path.ts';
import { statAt } from '../commit/entry-stat.ts';
import type { TreePathResolver } from '../commit/tree-path-resolver.ts';

/**
 * `state`: files of git's that are synced one by one, as any others. `scratch`: of one git process,
 * the last one's counts. `directory` (of a store), `derived`: nothing that is to be synced.
 */
export type GitFileKind =
  | 'object'
  | 'pack'
  | 'ref'
  | 'packed'
  | 'head'
  | 'index'
  | 'log'
  | 'lock'
  | 'scratch'
  | 'derived'
  | 'state';

export interface GitFileLocation {
  /** The repository's own directory. */
  readonly common: BytePath;
  /** The same, or that of a linked worktree. */
  readonly git: BytePath;
  readonly kind: GitFileKind;
  /** Of a ref or its log: `refs/heads/main`, `HEAD`. */
  readonly name: string;
}

const mayBeGit = /(?:^|\/)[^/]*\.git\//;
const loose = /^objects\/[0-9a-f]{2}\/(?:[0-9a-f]{38}|[0-9a-f]{62})$/;
const packFile = /^objects\/pack\/pack-[0-9a-f]+\.pack$/;
const perWorktree = /^(?:logs\/)?refs\/(?:bisect|worktree|rewritten)(?:\/|$)/;
const scratch = new Set([
  'COMMIT_EDITMSG',
  'ORIG_HEAD',
  'FETCH_HEAD',
  'AUTO_MERGE',
  'gc.log',
  'gc.pid',
  'info/refs',
]);
const kept: ReadonlySet<GitFileKind> = new Set([
  'object',
  'pack',
  'derived',
  'packed',
  'log',
  'scratch',
]);

/** Whether an undo leaves a path as it is: somebody else's commits may stand on it. */
export const isExemptFromUndo = (place: GitFileLocation | null): boolean =>
  place !== null && kept.has(place.kind);

export class GitFileLocator {
  readonly #steps: TreePathResolver;
  readonly #kinds = new Map<BytePath, 'repository' | 'worktree' | null>();

  constructor(steps: TreePathResolver) {
    this.#steps = steps;
  }

  /** `null`: it lies in no git directory of the tree. */
  of(path: BytePath): GitFileLocation | null {
    if (!mayBeGit.test(path)) return null;
    for (let git = parentPathOf(path); git !== ''; git = parentPathOf(git)) {
      const kind = this.kindOf(git);
      if (kind === null) continue;
      const common = kind === 'worktree' ? parentPathOf(parentPathOf(git)) : git;
      const rest = path.slice(git.length + 1);
      const place = placeOf(rest, kind === 'worktree');
      return { common, git, ...place };
    }
    return null;
  }

  /** What stands at a directory; one in which a person keeps refs in another form is none here. */
  kindOf(git: BytePath): 'repository' | 'worktree' | null {
    const known = this.#kinds.get(git);
    if (known !== undefined) return known;
    const kind = this.#look(git);
    this.#kinds.set(git, kind);
    return kind;
  }

  #look(git: BytePath): 'repository' | 'worktree' | null {
    const stat = (name: string) => statAt(this.#steps, joinPath(git, name));
    if (stat('HEAD')?.isFile() !== true || stat('reftable') !== null) return null;
    if (stat('objects')?.isDirectory() === true && stat('refs')?.isDirectory() === true) {
      return 'repository';
    }
    const above = parentPathOf(git);
    const isAdmin = stat('commondir')?.isFile() === true && stat('gitdir')?.isFile() === true;
    if (!isAdmin || baseNameOf(above) !== 'worktrees') return null;
    return this.kindOf(parentPathOf(above)) === 'repository' ? 'worktree' : null;
  }
}

function placeOf(rest: string, isWorktree: boolean): { kind: GitFileKind; name: string } {
  if (rest.endsWith('.lock')) return { kind: 'lock', name: '' };
  if (rest === 'HEAD') return { kind: 'head', name: rest };
  if (rest === 'index') return { kind: 'index', name: rest };
  if (rest === 'logs/HEAD') return { kind: 'log', name: 'HEAD' };
  if (scratch.has(rest)) return { kind: 'scratch', name: '' };
  if (isWorktree || perWorktree.test(rest)) return { kind: 'state', name: '' };
  if (rest === 'packed-refs') return { kind: 'packed', name: '' };
  if (rest.startsWith('refs/')) return { kind: 'ref', name: rest };
  if (rest.startsWith('logs/refs/')) return { kind: 'log', name: rest.slice('logs/'.length) };
  if (loose.test(rest)) return { kind: 'object', name: '' };
  if (packFile.test(rest)) return { kind: 'pack', name: '' };
  const isState = rest.startsWith('objects/info/alternates');
  return { kind: rest.startsWith('objects/') && !isState ? 'derived' : 'state', name: '' };
}
