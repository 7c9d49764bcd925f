/**
 * What git would run or obey from the repositories of a tree.
 *
 *   known    a git directory that was there when the session was opened: its hooks and
 *            configuration stay as they are, but for branches and remotes that are new in it
 *   new      one that a command made: held is what makes git run something, by content
 *
 * A directory named `.git` is one whatever is in it yet; any other as soon as git would take it for
 * one, which the last of its parts completes: that part is held where the others are bad.
 */
import path from 'node:path';
import type { BytePath } from '../../change.ts';
import {
  baseNameOf,
  bytePathOf,
  foldName,
  joinPath,
  parentPathOf,
  pathText,
} from '../byte-path.ts';
import { isHarmlessConfig, parseGitConfig } from '../git-config.ts';
import type { HeldReason, JudgedChange, MergedView } from './commit-filter.ts';
import { isSafeGitIndex } from './git-index.ts';
import { isHarmlessConfigEdit } from './harmless-edit.ts';

const textBytesMax = 256 * 1024;
/** An index of a million files; a larger one is held. */
const indexBytesMax = 128 * 1024 * 1024;
const indexName = /^(?:index|sharedindex\.[0-9a-f]+)$/;
/** Nothing in them is run: objects, names of branches, words about them. */
const stores: ReadonlySet<string> = new Set(['objects', 'refs', 'logs', 'lfs']);
/** What identifies a git directory, and what git obeys in it. */
const telling: ReadonlySet<string> = new Set([
  'index',
  'hooks',
  'config',
  'config.worktree',
  'commondir',
  'info',
  'head',
  'objects',
  'refs',
  'gitdir',
  'remotes',
  'branches',
]);
const completing: ReadonlySet<string> = new Set(['HEAD', 'objects', 'refs', 'commondir']);
/** What git goes on with, and where it looks for objects. */
const resumed = ['rebase-merge', 'rebase-apply', 'sequencer', 'objects/info', 'objects/pack'];
/** Lines of a rebase in progress that run something when it goes on. */
const runsOnRebase = /^\s*(?:x|exec)\s/m;
/** Git's own; of any other it runs `git-merge-NAME`, from the worktree where NAME has a slash. */
const isOwnStrategy = (name: string): boolean =>
  /^\s*(?:|octopus|ort|ours|recursive|resolve|subtree)\s*$/.test(name);
/** Where git keeps the strategy that it goes on with, and whether that is one of its own. */
const strategies: ReadonlyMap<string, (text: string) => boolean> = new Map([
  ['rebase-merge/strategy', isOwnStrategy],
  ['rebase-apply/strategy', isOwnStrategy],
  [
    'sequencer/opts',
    (text) =>
      parseGitConfig(text)?.every(
        ({ name, value }) => name !== 'options.strategy' || isOwnStrategy(value),
      ) ?? false,
  ],
]);

interface RepositoryPath {
  /** The git directory. */
  readonly git: BytePath;
  /** The rest of the path, folded. */
  readonly rest: readonly string[];
}

export class RepositoryFilter {
  readonly #root: string;
  readonly #known: ReadonlySet<BytePath>;
  readonly #view: MergedView;
  readonly #taken = new Map<BytePath, boolean>();
  readonly #sound = new Map<BytePath, Promise<boolean>>();

  /** @param root absolute, as text */
  constructor(root: string, known: ReadonlySet<BytePath>, view: MergedView) {
    this.#root = root;
    this.#known = known;
    this.#view = view;
  }

  /** `null` at once for what has nothing to do with git: most paths. */
  judge(
    change: JudgedChange,
    parts: readonly string[],
  ): Promise<HeldReason | null> | HeldReason | null {
    const at = parts.findLastIndex((part) => part === '.git');
    const isNamed = at >= 0 || parts.some((part) => tells(part)) || this.#isBelowKnown(change);
    if (!isNamed) return this.#judgeLink(change);
    return this.#judge(change, parts).then((reason) => reason ?? this.#judgeLink(change));
  }

  /** Git makes no links in its directories, and follows those that are there. */
  #judgeLink({ path: name, after }: JudgedChange): HeldReason | null {
    if (after?.type !== 'symlink') return null;
    for (let at = name; at !== '';) {
      at = parentPathOf(at);
      if (this.#known.has(at)) return 'git-config';
      if (baseNameOf(at) === '.git' || this.#isTaken(at)) return 'new-repository';
    }
    return null;
  }

  #isBelowKnown({ path: name }: JudgedChange): boolean {
    for (let at = name; at !== ''; at = parentPathOf(at)) {
      if (this.#known.has(at) && foldName(at.split('/').at(-1) ?? '') !== '.git') return true;
    }
    return false;
  }

  async #judge(change: JudgedChange, parts: readonly string[]): Promise<HeldReason | null> {
    const written = change.path.split('/');
    const spelled = parts.findIndex((part, at) => part === '.git' && written[at] !== '.git');
    if (spelled >= 0 || written.length !== parts.length) return 'git-config';
    if (parts.at(-1) === '.git') return this.#judgeRoot(change);
    for (const place of this.#places(written, parts)) {
      const reason = this.#known.has(place.git)
        ? await this.#inKnown(change, place)
        : await this.#inNew(change, place);
      if (reason !== null) return reason;
    }
    return null;
  }

  /** Every git directory that contains the path, by name, by what is known, or by content. */
  #places(written: readonly string[], parts: readonly string[]): RepositoryPath[] {
    const found: RepositoryPath[] = [];
    let inside: 'none' | 'git' | 'modules' | 'store' = 'none';
    for (const [at, part] of parts.entries()) {
      const git = written.slice(0, at).join('/');
      const rest = parts.slice(at);
      const last = parts[at - 1];
      const isNamed = last === '.git' || this.#known.has(git);
      // The names of modules may have slashes: any directory below may be one.
      const isModule = inside === 'modules' && last !== 'modules';
      const isAdmin = inside === 'git' && parts[at - 2] === 'worktrees';
      if (isNamed || isModule || isAdmin || (tells(part) && this.#isTaken(git))) {
        found.push({ git, rest });
      }
      if (isNamed) inside = 'git';
      if (inside !== 'none' && inside !== 'store') {
        if (stores.has(part) && (inside === 'git' || isModule)) inside = 'store';
        else if (inside === 'git' && part === 'modules') inside = 'modules';
      }
    }
    return found;
  }

  /** Whether git would take a directory for one of its own. */
  #isTaken(git: BytePath): boolean {
    const known = this.#taken.get(git);
    if (known !== undefined) return known;
    const isTaken = isRepository((name) => this.#view.entry(joinPath(git, name)) !== null);
    this.#taken.set(git, isTaken);
    return isTaken;
  }

  /** The entry named `.git` itself. */
  async #judgeRoot(change: JudgedChange): Promise<HeldReason | null> {
    const { path: name, before, after } = change;
    const was = before?.type ?? 'directory';
    // With its worktree.
    if (after === null && this.#view.entry(parentPathOf(name)) === null) return null;
    if (after?.type === 'directory' || after === null) {
      return was === 'directory' || !this.#isOld(change) ? null : 'git-config';
    }
    if (this.#isOld(change)) return 'git-config';
    if (after.type !== 'file') return 'new-repository';
    const text = (await this.#view.text(name, textBytesMax)) ?? '';
    const value = /^gitdir: ([^\r\n\0]+)[\r\n]*$/.exec(text)?.[1];
    const target = value === undefined ? null : this.#view.resolve(parentPathOf(name), value);
    if (target === null) return 'new-repository';
    const isSound =
      this.#known.has(target) || (this.#isTaken(target) && (await this.#isSound(target)));
    return isSound ? null : 'new-repository';
  }

  /** Whether a `.git` was in the real tree and not made by a command whose work is not there. */
  #isOld(change: JudgedChange): boolean {
    return change.before !== null && this.#view.real(change.path) !== null;
  }

  async #inKnown(change: JudgedChange, { git, rest }: RepositoryPath): Promise<HeldReason | null> {
    const [first = '', second] = rest;
    if (this.#isGoneWhole(git)) return null;
    if (first === 'hooks') {
      const isNewDirectory = rest.length === 1 && change.before === null;
      return isNewDirectory && change.after?.type === 'directory' ? null : 'git-hooks';
    }
    if (rest.length === 1 && (first === 'config' || first === 'config.worktree')) {
      return (await this.#isPlainEdit(change, git)) ? null : 'git-config';
    }
    if (first === 'commondir' || first === 'gitdir') return 'git-config';
    if (first === 'info' && (second === 'attributes' || isLink(change, rest))) return 'git-config';
    return this.#inAny(change, rest);
  }

  async #isPlainEdit({ path: name, after }: JudgedChange, git: BytePath): Promise<boolean> {
    const real = this.#view.real(name);
    if (after?.type !== 'file' || (real !== null && real.type !== 'file')) return false;
    const was = real === null ? '' : await this.#view.realText(name, textBytesMax);
    const is = await this.#view.text(name, textBytesMax);
    if (was === null || is === null) return false;
    const isFree = await this.#isWorktreeSound(git, is);
    return isHarmlessConfigEdit(was, is, git, new Set(isFree ? ['core.worktree'] : []));
  }

  /** `git submodule` names the worktree of a module, and takes the name out with the worktree. */
  async #isWorktreeSound(git: BytePath, bytes: string): Promise<boolean> {
    if (!/(?:^|\/)\.git\/modules\//.test(git)) return false;
    const text = Buffer.from(bytes, 'latin1').toString();
    const isNamed = parseGitConfig(text)?.some(({ name }) => name === 'core.worktree') !== false;
    return !isNamed || (await this.#worktreeOf(git, text)) !== null;
  }

  /** A repository may go with its worktree; a worktree that is removed takes its record along. */
  #isGoneWhole(git: BytePath): boolean {
    const isInWorktree = foldName(baseNameOf(git)) === '.git';
    const whole = isInWorktree ? parentPathOf(git) : git;
    return this.#view.entry(whole) === null && (isInWorktree || isRecord(git) || this.#isBare(git));
  }

  /** Not a part of a repository that stays. */
  #isBare(git: BytePath): boolean {
    const parts = git.split('/').map(foldName);
    return !parts.includes('.git');
  }

  async #inNew(change: JudgedChange, place: RepositoryPath): Promise<HeldReason | null> {
    const { git, rest } = place;
    const [first = ''] = rest;
    const last = rest.length === 1;
    if (first === 'hooks') {
      const name = rest.length === 2 ? (rest[1] ?? '') : '';
      const isHarmless = last ? change.after?.type === 'directory' : name.endsWith('.sample');
      return isHarmless || change.after === null ? null : 'new-repository';
    }
    if (first === 'info' && (rest[1] === 'attributes' || isLink(change, rest))) {
      return change.after === null ? null : 'new-repository';
    }
    if (change.after === null) return null;
    if (last && (first === 'config' || first === 'config.worktree')) {
      return (await this.#isPlain(joinPath(git, first), git, 'after')) ? null : 'new-repository';
    }
    if (last && first === 'commondir') {
      return (await this.#sharesSoundly(git)) ? null : 'new-repository';
    }
    if (last && first === 'gitdir') {
      const text = await this.#view.text(change.path, textBytesMax);
      const back = text === null ? null : this.#view.resolve(git, text.replace(/[\r\n]+$/, ''));
      return back === null ? 'new-repository' : null;
    }
    const name = change.path.slice(git === '' ? 0 : git.length + 1);
    if (completing.has(name) && this.#isTaken(git) && !(await this.#isSound(git))) {
      return 'new-repository';
    }
    return this.#inAny(change, rest);
  }

  async #inAny(change: JudgedChange, rest: readonly string[]): Promise<HeldReason | null> {
    const { path: name, after } = change;
    const [first] = rest;
    if (after === null || after.type === 'directory') return null;
    // Remotes in separate files, which are not checked.
    if (first === 'remotes' || first === 'branches') return 'git-config';
    // Perl that `git instaweb` serves.
    if (first === 'gitweb') return 'git-config';
    if (rest.length === 1 && indexName.test(first ?? '')) {
      const index = await this.#view.text(name, indexBytesMax);
      return index !== null && isSafeGitIndex(index) ? null : 'git-config';
    }
    const isTodo = rest.at(-1) === 'git-rebase-todo';
    const strategy = strategies.get(rest.slice(-2).join('/'));
    const isAlternates = rest.join('/') === 'objects/info/alternates';
    if (!isTodo && !isAlternates && strategy === undefined) return null;
    const text = await this.#view.text(name, textBytesMax);
    if (text === null) return 'git-config';
    if (strategy !== undefined) return strategy(text) ? null : 'git-config';
    if (isTodo) return runsOnRebase.test(text) ? 'git-hooks' : null;
    const from = parentPathOf(parentPathOf(name));
    const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    return lines.every((line) => this.#view.resolve(from, line) !== null) ? null : 'link-escape';
  }

  /** Whether nothing in a new git directory makes git run something. */
  #isSound(git: BytePath): Promise<boolean> {
    const known = this.#sound.get(git);
    if (known !== undefined) return known;
    // A cycle of `commondir` finds this answer, and does not wait.
    this.#sound.set(git, Promise.resolve(false));
    const answer = this.#lookThrough(git);
    this.#sound.set(git, answer);
    return answer;
  }

  async #lookThrough(git: BytePath): Promise<boolean> {
    const has = (name: string): boolean => this.#view.entry(joinPath(git, name)) !== null;
    // Links that stand there, in a directory that was none of git's yet.
    const isLink = (name: string): boolean =>
      this.#view.real(joinPath(git, name))?.type === 'symlink';
    if ([...telling, ...resumed].some(isLink) && !this.#wasFiltered(git)) return false;
    for (const name of ['config', 'config.worktree'].map((one) => joinPath(git, one))) {
      // A new one is judged by itself; if it is held, the current one stays.
      if (this.#view.isChanged(name) && (await this.#isPlain(name, git, 'after'))) continue;
      if (this.#view.real(name) !== null && !(await this.#isPlain(name, git, 'real'))) return false;
    }
    if (has('commondir') && !(await this.#sharesSoundly(git))) return false;
    if (this.#view.real(joinPath(git, 'index')) !== null) {
      const index = await this.#view.realText(joinPath(git, 'index'), indexBytesMax);
      if (index === null || !isSafeGitIndex(index, false)) return false;
    }
    const hooks = this.#view.real(joinPath(git, 'hooks'));
    return hooks === null || this.#wasFiltered(git);
  }

  /** Hooks that were there before their repository was one are a trap. */
  #wasFiltered(git: BytePath): boolean {
    const wasTaken = isRepository((name) => this.#view.real(joinPath(git, name)) !== null);
    return wasTaken || git === '.git' || git.endsWith('/.git');
  }

  async #isPlain(config: BytePath, git: BytePath, side: 'real' | 'after'): Promise<boolean> {
    const isReal = side === 'real';
    const entry = isReal ? this.#view.real(config) : this.#view.entry(config);
    if (entry?.type !== 'file') return false;
    const bytes = await (isReal
      ? this.#view.realText(config, textBytesMax)
      : this.#view.text(config, textBytesMax));
    if (bytes === null) return false;
    const text = Buffer.from(bytes, 'latin1').toString('utf8');
    const worktree = await this.#worktreeOf(git, text);
    return isHarmlessConfig(text, this.#absolute(git), worktree);
  }

  /** The directory that a configuration names as worktree, where that agrees. */
  async #worktreeOf(git: BytePath, config: string): Promise<string | null> {
    const isNamed = (name: string): boolean => name === 'core.worktree';
    const value = parseGitConfig(config)?.findLast(({ name }) => isNamed(name))?.value;
    if (value === undefined) return null;
    const worktree = this.#view.resolve(git, bytePathOf(value));
    if (worktree === null) return null;
    const pointer = joinPath(worktree, '.git');
    if (pointer === git) return this.#absolute(worktree);
    const text = await this.#view.text(pointer, textBytesMax);
    const back = /^gitdir: ([^\r\n\0]+)[\r\n]*$/.exec(text ?? '')?.[1];
    const agrees = back !== undefined && this.#view.resolve(worktree, back) === git;
    return agrees ? this.#absolute(worktree) : null;
  }

  async #sharesSoundly(git: BytePath): Promise<boolean> {
    const name = joinPath(git, 'commondir');
    if (this.#view.entry(name)?.type !== 'file') return false;
    const text = await this.#view.text(name, textBytesMax);
    const common = text === null ? null : this.#view.resolve(git, text.replace(/[\r\n]+$/, ''));
    if (common === null || common === git) return false;
    if (this.#known.has(common)) return true;
    return this.#isTaken(common) && this.#isSound(common);
  }

  #absolute(name: BytePath): string {
    return path.join(this.#root, pathText(name));
  }
}

/** Without `HEAD`, too: what `commondir` leads to needs none. */
function isRepository(has: (name: string) => boolean): boolean {
  return (has('objects') && has('refs')) || (has('HEAD') && has('commondir'));
}

function tells(part: string): boolean {
  return telling.has(part) || part.startsWith('sharedindex.');
}

/** Of a worktree, in its repository. */
function isRecord(git: BytePath): boolean {
  return git.split('/').at(-2) === 'worktrees';
}

/** A link or file in the place of a directory that git looks into. */
function isLink(change: JudgedChange, rest: readonly string[]): boolean {
  return rest.length === 1 && change.after !== null && change.after.type !== 'directory';
}
