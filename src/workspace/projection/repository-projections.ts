/** What becomes of each repository of a workspace where policy hides files. */
import { lstatSync } from 'node:fs';
import path from 'node:path';
import type { BytePath } from '../../change.ts';
import { readSmallText } from '../beneath.ts';
import { bytePathOf, isAtOrBelow, joinPath, parentPathOf, pathText } from '../byte-path.ts';
import { CleanCommits } from './history-exposure.ts';
import { emptyRepository, GitFailure } from './git-process.ts';
import { projectGit } from './git-projection.ts';
import { readGitRepository, type GitRepository, type UnreadableReason } from './git-repository.ts';
import type { Visibility } from './visibility.ts';

/**
 * `real`: nothing hidden can be reached through it. `projected`: `directory` takes its place.
 * `hidden`: it is absent, as a safe view of it could not be made.
 */
export type RepositoryView =
  | { readonly path: BytePath; readonly kind: 'real' }
  | {
      readonly path: BytePath;
      readonly kind: 'projected';
      readonly directory: string;
      readonly digest: string;
    }
  | { readonly path: BytePath; readonly kind: 'hidden'; readonly reason: UnreadableReason };

export interface RepositoryProjectionsOptions {
  readonly root: string;
  readonly visibility: Visibility;
  /** Private to the runtime. */
  readonly cacheDir: string;
}

export class RepositoryProjections {
  readonly #options: RepositoryProjectionsOptions;
  readonly #clean = new Map<BytePath, CleanCommits>();
  #hidden: readonly BytePath[] | null = null;

  constructor(options: RepositoryProjectionsOptions) {
    this.#options = options;
  }

  /**
   * @param git a `.git` of any kind, or a git directory of another name
   * @param hidden topmost hidden paths of the workspace
   */
  async view(git: BytePath, hidden: readonly BytePath[]): Promise<RepositoryView> {
    const isDotGit = git === '.git' || git.endsWith('/.git');
    try {
      const directory = isDotGit ? this.#gitDirectory(git) : git;
      if (directory === null) return { path: git, kind: 'hidden', reason: 'linked-worktree' };
      const repository = readGitRepository(this.#host(directory));
      if ('unreadable' in repository) {
        return { path: git, kind: 'hidden', reason: repository.unreadable };
      }
      const scratch = await this.#scratch(repository.format);
      const hides = this.#hiddenIn(
        isDotGit ? [parentPathOf(git)] : this.#anywhere(git, repository),
        hidden,
      );
      const { root } = this.#options;
      const history = { repository, scratch, hides, root, hidden };
      const mayShow = await this.#known(git, hidden).mayShowHidden(history).catch(unknownIsYes);
      if (!mayShow) return { path: git, kind: 'real' };
      if (directory !== git || !isDotGit) {
        return { path: git, kind: 'hidden', reason: 'linked-worktree' };
      }
      return await this.#project(git, repository, hides);
    } catch (error) {
      return { path: git, kind: 'hidden', reason: reasonOf(error) };
    }
  }

  /** What was found clean; nothing once other paths are hidden. */
  #known(git: BytePath, hidden: readonly BytePath[]): CleanCommits {
    if (hidden !== this.#hidden) this.#clean.clear();
    this.#hidden = hidden;
    const known = this.#clean.get(git) ?? new CleanCommits();
    this.#clean.set(git, known);
    return known;
  }

  /** Whether a path of a repository is hidden by a rule, or as another name of what is. */
  #hiddenIn(worktrees: readonly BytePath[], hidden: readonly BytePath[]) {
    const set = new Set(hidden);
    const { visibility } = this.#options;
    return (name: BytePath): boolean =>
      worktrees
        .map((tree) => joinPath(tree, name))
        .some((one) => visibility.hides(one) || isAtOrBelow(one, set));
  }

  /** Where the files of a repository with another name may belong: wherever a rule looks. */
  #anywhere(git: BytePath, { settings, directory }: GitRepository): BytePath[] {
    const { root, visibility } = this.#options;
    const named = settings.flatMap((one) => {
      const at = one.name === 'core.worktree' ? path.resolve(directory, one.value) : '';
      return at.startsWith(`${root}/`) ? [bytePathOf(at.slice(root.length + 1))] : [];
    });
    return [...new Set(['', parentPathOf(git), git, ...named, ...visibility.anchors])];
  }

  async #project(
    git: BytePath,
    repository: GitRepository,
    hides: (name: BytePath) => boolean,
  ): Promise<RepositoryView> {
    const made = await projectGit({
      repository,
      worktree: this.#host(parentPathOf(git)),
      scratch: await this.#scratch(repository.format),
      cacheDir: path.join(this.#options.cacheDir, 'projections'),
      hides,
    });
    return { path: git, kind: 'projected', ...made };
  }

  /** Where `.git` is, or points to, inside the workspace; `null`: elsewhere. */
  #gitDirectory(git: BytePath): BytePath | null {
    const host = this.#host(git);
    const stat = lstatSync(host);
    if (stat.isDirectory()) return git;
    const says = /^gitdir: (.+)$/m.exec(readSmallText(host, 4_096) ?? '')?.[1];
    if (says === undefined) return null;
    const leads = path.resolve(path.dirname(host), says.trim());
    const { root } = this.#options;
    if (!leads.startsWith(`${root}/`) || !isDirectory(leads)) return null;
    return bytePathOf(leads.slice(root.length + 1));
  }

  /** Git is given names of the host, which are UTF-8. */
  #host(git: BytePath): string {
    return path.join(this.#options.root, pathText(git));
  }

  async #scratch(format: 'sha1' | 'sha256'): Promise<string> {
    const directory = path.join(this.#options.cacheDir, `empty-${format}`);
    if (lstatSync(directory, { throwIfNoEntry: false }) === undefined) {
      await emptyRepository(directory, format);
    }
    return directory;
  }
}

function isDirectory(name: string): boolean {
  try {
    return lstatSync(name).isDirectory();
  } catch {
    return false;
  }
}

/** Where a proof fails, its opposite is assumed; where git is missing, nothing can be made. */
function unknownIsYes(error: unknown): true {
  if (error instanceof GitFailure && error.message.includes('ENOENT')) throw error;
  return true;
}

function reasonOf(error: unknown): UnreadableReason {
  if (error instanceof GitFailure && error.message.includes('ENOENT')) return 'git-missing';
  return 'failed';
}
