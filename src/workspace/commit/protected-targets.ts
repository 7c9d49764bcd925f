/**
 * What protected names lead to. A name such as `.envrc`, `.husky` or `.git/hooks/pre-commit` may be
 * a link into the tree already, and git's configuration may name any file in it: what is there is
 * run or obeyed as if it had that name. Looked up on the host at each judgement, as people change
 * links and configuration meanwhile.
 */
import type { BytePath } from '../../change.ts';
import { baseNameOf, bytePathOf, foldName, joinPath, parentPathOf } from '../byte-path.ts';
import { GitConfiguration, type ObeyedWorktreeFile } from '../git-configuration.ts';
import { type HostEntry, HostLookup } from '../host-lookup.ts';
import type { HeldReason, JudgedChange } from './commit-filter.ts';
import { isProtectedPrefix, nameProtectionOf, protectedPrefixesOf } from './protected-paths.ts';

const namesMax = 10_000;
/** Of a protected directory, such as `.vscode`. */
const insideMax = 500;
const insideDepth = 3;
/** Directories above changes that are looked through; those nearest to the root come first. */
const directoriesMax = 256;
const repositoriesMax = 1_000;
/** By which git takes a directory for a worktree, or for a repository without one. */
const makesTop: ReadonlySet<string> = new Set(['.git', 'HEAD', 'objects', 'refs', 'commondir']);

interface ProtectedTargetsInput {
  /** Absolute, no link in it, as bytes. */
  readonly root: BytePath;
  readonly home: string;
  /** From the root, as surveyed. */
  readonly gitDirectories: readonly BytePath[];
  /** Protected names that are links, as surveyed. */
  readonly links: readonly BytePath[];
}

export class ProtectedTargets {
  readonly #input: ProtectedTargetsInput;
  readonly #look = new HostLookup();
  readonly #reasons = new Map<BytePath, HeldReason>();
  /** Directories that lead to a target. */
  readonly #above = new Map<BytePath, HeldReason>();
  /** Paths with a change, and whether something is there then. */
  readonly #changed: ReadonlyMap<BytePath, boolean>;
  #fromTops: ReadonlyMap<BytePath, ObeyedWorktreeFile['as']> = new Map();
  /** Directories on the way to them. */
  readonly #toFromTops = new Set<BytePath>();

  /** Looks at the host. @param changes what is judged: the directories they are in are looked at */
  constructor(input: ProtectedTargetsInput, changes: Iterable<JudgedChange>) {
    this.#input = input;
    this.#changed = new Map([...changes].map(({ path, after }) => [path, after !== null]));
    const { root, home } = input;
    for (const link of input.links) {
      this.#addName(`${root}/${link}`);
      const inside = nameProtectionOf(link.split('/').map(foldName), 'directory');
      if (inside !== null) this.#addLead(`${root}/${link}`, inside);
    }
    const gits = new Set(input.gitDirectories.map((git) => `${root}/${git}`));
    for (const directory of ['', ...directoriesOf(changes)]) {
      const at = directory === '' ? root : `${root}/${directory}`;
      for (const name of this.#look.names(at, namesMax)) {
        const reason = nameProtectionOf([foldName(name)], 'directory');
        if (isProtectedPrefix(name)) this.#addName(`${at}/${name}`);
        else if (reason !== null) this.#addLead(`${at}/${name}`, reason);
        if (name === '.git') gits.add(`${at}/.git`);
      }
    }
    for (const { path } of changes) if (baseNameOf(path) === '.git') gits.add(`${root}/${path}`);
    for (const name of this.#look.names(bytePathOf(home), namesMax)) {
      if (isProtectedPrefix(name)) this.#addName(`${bytePathOf(home)}/${name}`);
    }
    for (const above of ancestorsOf(root)) gits.add(joinPath(above, '.git'));
    this.#addRepositories([...gits].slice(0, repositoriesMax));
  }

  /** Why a change is held: what is there is obeyed, or what leads there would lead elsewhere. */
  reasonOf(change: JudgedChange): HeldReason | null {
    if (this.#fromTops.size > 0 && this.#isFromTop(change)) return 'git-config';
    if (this.#reasons.size === 0) return null;
    const { path, after } = change;
    for (let at = path; at !== ''; at = parentPathOf(at)) {
      const reason = this.#reasons.get(at);
      if (reason !== undefined) return reason;
    }
    return after === null || after.type === 'directory' ? null : (this.#above.get(path) ?? null);
  }

  /** Whether git obeys it from the top of a worktree, whichever and however new that is. */
  #isFromTop({ path, after }: JudgedChange): boolean {
    const leads = after !== null && after.type !== 'directory';
    for (let top = path; top !== '';) {
      top = parentPathOf(top);
      const rest = top === '' ? path : path.slice(top.length + 1);
      const isNear = this.#isFrom(rest, path) || (leads && this.#toFromTops.has(rest));
      if (isNear && this.#isTop(top)) return true;
    }
    // Entries that turn a directory with such a file into a worktree.
    if (after === null || !makesTop.has(baseNameOf(path))) return false;
    return [...this.#fromTops].some(([one, as]) => {
      const { kind } = this.#onHost(joinPath(parentPathOf(path), one));
      return kind === 'file' || (as === 'tree' && kind !== 'nothing');
    });
  }

  /** Whether that is so of `rest`, which is the end of `path`. */
  #isFrom(rest: BytePath, path: BytePath): boolean {
    for (let at = rest; at !== ''; at = parentPathOf(at)) {
      const as = this.#fromTops.get(at);
      if (as === 'tree') return true;
      if (as === undefined || at !== rest) continue;
      const { kind } = this.#onHost(path);
      return kind === 'file' || (as === 'path' && kind === 'nothing');
    }
    return false;
  }

  #isTop(directory: BytePath): boolean {
    const has = (name: string): boolean => this.#isThere(joinPath(directory, name));
    return has('.git') || (has('HEAD') && (has('commondir') || (has('objects') && has('refs'))));
  }

  #isThere(path: BytePath): boolean {
    return this.#changed.get(path) ?? this.#onHost(path).kind !== 'nothing';
  }

  /** Whatever comes of it. */
  #onHost(path: BytePath): HostEntry {
    return this.#look.at(joinPath(this.#input.root, path));
  }

  /** A protected name, or the start of one. */
  #addName(path: BytePath): void {
    for (const { rest, reason } of protectedPrefixesOf(this.#inTree(path) ?? baseNameOf(path))) {
      const whole = [path, ...rest].join('/');
      this.#addLead(whole, reason);
      if (rest.length === 0) this.#addInside(whole, reason, insideDepth);
    }
  }

  /** Links in a protected directory. */
  #addInside(directory: BytePath, reason: HeldReason, depth: number): void {
    const { end } = this.#look.follow(directory);
    if (depth === 0 || this.#look.at(end).kind !== 'directory') return;
    for (const name of this.#look.names(end, insideMax)) {
      const { kind } = this.#look.at(`${end}/${name}`);
      if (kind === 'link') this.#addLead(`${end}/${name}`, reason);
      if (kind === 'directory') this.#addInside(`${end}/${name}`, reason, depth - 1);
    }
  }

  #addRepositories(named: readonly BytePath[]): void {
    const configuration = new GitConfiguration(this.#look, this.#input.home);
    const gits = new Set<BytePath>();
    for (const one of named) {
      const { git, links } = configuration.directoryOf(one);
      for (const link of links) this.#add(link, 'git-config');
      gits.add(git).add(configuration.commonOf(git));
    }
    this.#fromTops = configuration.obeyedWorktreeFiles(gits);
    for (const one of this.#fromTops.keys()) {
      for (let at = parentPathOf(one); at !== ''; at = parentPathOf(at)) this.#toFromTops.add(at);
    }
    for (const git of gits) {
      for (const path of configuration.links(git)) {
        this.#addLead(path, path.startsWith(`${git}/hooks`) ? 'git-hooks' : 'git-config');
      }
      for (const path of configuration.obeyedPaths(git)) this.#addLead(path, 'git-config');
    }
  }

  /** Where a path leads to by links, or what it names that has no protected name itself. */
  #addLead(path: BytePath, reason: HeldReason): void {
    for (const step of this.#look.follow(path).trail) this.#add(step, reason);
  }

  #add(step: BytePath, reason: HeldReason): void {
    const inTree = this.#inTree(step);
    if (inTree === null || inTree === '' || isProtectedByName(inTree)) return;
    if (!this.#reasons.has(inTree)) this.#reasons.set(inTree, reason);
    for (let at = parentPathOf(inTree); at !== ''; at = parentPathOf(at)) {
      this.#above.set(at, reason);
    }
  }

  #inTree(path: BytePath): BytePath | null {
    const { root } = this.#input;
    if (path === root) return '';
    return path.startsWith(`${root}/`) ? path.slice(root.length + 1) : null;
  }
}

function isProtectedByName(path: BytePath): boolean {
  return nameProtectionOf(path.split('/').map(foldName), 'directory') !== null;
}

/** The directories that changes are in, those nearest to the root first. */
function directoriesOf(changes: Iterable<JudgedChange>): BytePath[] {
  const found = new Set<BytePath>();
  for (const { path } of changes) {
    for (let at = parentPathOf(path); at !== '' && !found.has(at); at = parentPathOf(at)) {
      found.add(at);
    }
    if (found.size > directoriesMax * 16) break;
  }
  const depth = (path: BytePath): number => path.split('/').length;
  const isStore = /(?:^|\/)(?:node_modules|\.git)(?:\/|$)/;
  return [...found]
    .filter((path) => !isStore.test(path))
    .toSorted((a, b) => depth(a) - depth(b))
    .slice(0, directoriesMax);
}

function ancestorsOf(path: BytePath): BytePath[] {
  const found: BytePath[] = [];
  for (let at = parentPathOf(path); at !== ''; at = parentPathOf(at)) found.push(at);
  return found;
}
