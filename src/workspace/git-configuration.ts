/**
 * What git runs or obeys of a repository, read as git reads it: its configuration with all that it
 * includes (whatever the condition), of each worktree, of the person and of the machine; hooks,
 * links in its directory. Runs no git.
 */
import { posix } from 'node:path';
import type { BytePath } from '../change.ts';
import { bytePathOf, baseNameOf, parentPathOf } from './byte-path.ts';
import { parseGitConfig, type GitConfigSetting } from './git-config.ts';
import { gitHookNames, gitSettingUseOf, gitCommandWordsOf } from './git-settings.ts';
import type { HostLookup } from './host-lookup.ts';

/** As deep as git goes. */
const includesMax = 10;
const configBytesMax = 256 * 1024;
const pointerBytesMax = 4_096;
const namesMax = 1_000;
const worktreesMax = 64;
/** For what git would refuse to read: each line that could be a setting. */
const loose = /^[ \t]*(?:\[[^\]\n]*\][ \t]*)?([a-z][a-z0-9-]*)[ \t]*=[ \t]*(.+)$/gim;

interface Read {
  readonly file: BytePath;
  /** None where it is missing: it is obeyed as soon as it is there. */
  readonly settings: readonly GitConfigSetting[];
}

/** A file that is obeyed in every worktree, from its top. */
export interface ObeyedWorktreeFile {
  readonly path: BytePath;
  /** `tree`: with all that is in it; `path`: as soon as it is there; `file`: only what is one. */
  readonly as: 'tree' | 'path' | 'file';
}

export class GitConfiguration {
  readonly #look: HostLookup;
  readonly #home: BytePath;
  /** Worktrees that were asked about, by their repository, which need not know of them. */
  readonly #asked = new Map<BytePath, BytePath[]>();
  #ofMachine: readonly Read[] | null = null;

  constructor(look: HostLookup, home: string) {
    this.#look = look;
    this.#home = bytePathOf(home);
  }

  /**
   * The git directory that a `.git` is or points to, and the links on the way there. The directory
   * that it stands in counts as a worktree from then on.
   */
  directoryOf(named: BytePath): { readonly git: BytePath; readonly links: readonly BytePath[] } {
    const found = this.#directoryOf(named);
    if (baseNameOf(named) === '.git' && found.git !== named) {
      const common = this.commonOf(found.git);
      this.#asked.set(common, [...(this.#asked.get(common) ?? []), parentPathOf(named)]);
    }
    return found;
  }

  #directoryOf(named: BytePath): { readonly git: BytePath; readonly links: readonly BytePath[] } {
    const { end, trail } = this.#look.follow(named);
    const links = trail.slice(0, -1);
    if (this.#look.at(end).kind !== 'file') return { git: end, links };
    const text = this.#look.text(end, pointerBytesMax) ?? '';
    const value = /^gitdir: ([^\r\n]+)/.exec(text)?.[1];
    if (value === undefined) return { git: end, links };
    const next = this.#look.follow(this.#absolute(bytePathOf(value), parentPathOf(end)));
    return { git: next.end, links: [...links, ...next.trail.slice(0, -1)] };
  }

  /** The repository of a linked worktree's own git directory; of any other, itself. */
  commonOf(git: BytePath): BytePath {
    const text = this.#look.text(`${git}/commondir`, pointerBytesMax)?.trim();
    return text === undefined || text === '' ? git : this.#endOf(text, git);
  }

  #endOf(text: string, from: BytePath): BytePath {
    return this.#look.follow(this.#absolute(bytePathOf(text), from)).end;
  }

  /**
   * All that git runs or obeys by the configuration of a git directory, absolute, as written; its
   * own configuration files are not among them.
   */
  obeyedPaths(git: BytePath): BytePath[] {
    const { worktrees, config, own } = this.#own(git);
    const read = [...own, ...this.#machine()];
    const tops = this.#tops(git, worktrees, own);
    const named = read.flatMap(({ settings }) => settings.flatMap((one) => this.#named(one, tops)));
    const isOwn = (file: BytePath): boolean => file === `${git}/config` || config.includes(file);
    const files = read.map(({ file }) => file).filter((file) => !isOwn(file));
    return [...new Set([...files, ...named])];
  }

  /**
   * What is obeyed from the top of any worktree, by the configuration of these git directories, of
   * the person and of the machine. A command can make worktrees where it likes.
   */
  obeyedWorktreeFiles(gits: Iterable<BytePath>): ReadonlyMap<BytePath, ObeyedWorktreeFile['as']> {
    const read = [...[...gits].flatMap((git) => this.#own(git).own), ...this.#machine()];
    const found = read.flatMap(({ settings }) => settings.flatMap((one) => fromTopOf(one)));
    const isLess = { tree: 0, path: 1, file: 2 };
    const sorted = found.toSorted((one, other) => isLess[other.as] - isLess[one.as]);
    return new Map(sorted.map((one) => [one.path, one.as]));
  }

  #own(git: BytePath): {
    readonly worktrees: readonly BytePath[];
    readonly config: readonly BytePath[];
    readonly own: readonly Read[];
  } {
    const admins = this.#look.names(`${git}/worktrees`, worktreesMax);
    const worktrees = admins.map((name) => `${git}/worktrees/${name}`);
    const config = [git, ...worktrees].map((one) => `${one}/config.worktree`);
    const own = [`${git}/config`, ...config].flatMap((file) => this.#read(file, 0));
    return { worktrees, config, own };
  }

  /** Links that stand in a git directory, where git looks for something. */
  links(git: BytePath): BytePath[] {
    const inside = [git, `${git}/hooks`, `${git}/info`].flatMap((directory) =>
      this.#look.names(directory, namesMax).map((name) => `${directory}/${name}`),
    );
    const all = [...inside, `${git}/objects/info`, `${git}/objects/pack`];
    return all.filter((path) => this.#look.at(path).kind === 'link');
  }

  /** The person's and the machine's, which every repository obeys. */
  #machine(): readonly Read[] {
    const home = this.#home;
    const files = [`${home}/.gitconfig`, `${home}/.config/git/config`, '/etc/gitconfig'];
    this.#ofMachine ??= files.flatMap((file) => this.#read(file, 0));
    return this.#ofMachine;
  }

  #read(file: BytePath, depth: number): Read[] {
    const { end } = this.#look.follow(file);
    const text = this.#look.text(end, configBytesMax);
    const isRead = text !== null && depth <= includesMax;
    const settings = isRead ? (parseGitConfig(text) ?? looselyRead(text)) : [];
    const included = settings
      .filter((setting) => gitSettingUseOf(setting) === 'include')
      .map(({ value }) => this.#absolute(bytePathOf(value), parentPathOf(file)));
    return [{ settings, file }, ...included.flatMap((one) => this.#read(one, depth + 1))];
  }

  /** Where the hooks, filters and commands of a repository start. */
  #tops(git: BytePath, worktrees: readonly BytePath[], read: readonly Read[]): BytePath[] {
    const linked = worktrees.flatMap((one) => {
      const text = this.#look.text(`${one}/gitdir`, pointerBytesMax)?.trim();
      return text === undefined ? [] : [parentPathOf(this.#endOf(text, one))];
    });
    const named = read
      .flatMap(({ settings }) => settings)
      .filter((setting) => setting.name === 'core.worktree')
      .map((setting) => this.#endOf(setting.value, git));
    const own = baseNameOf(git) === '.git' ? parentPathOf(git) : git;
    return [...new Set([own, ...linked, ...named, ...(this.#asked.get(git) ?? [])])];
  }

  #named(setting: GitConfigSetting, tops: readonly BytePath[]): BytePath[] {
    const use = gitSettingUseOf(setting);
    const value = bytePathOf(setting.value);
    if (use === 'file') return tops.flatMap((top) => this.#files(this.#absolute(value, top), top));
    if (use !== 'command') return [];
    return gitCommandWordsOf(setting).flatMap(({ path, from, isPath, isTree }) =>
      tops
        .flatMap((top) => from.map((one) => this.#absolute(path, this.#absolute(one, top))))
        // What follows a substitution reads as if it began at the root.
        .concat(path.startsWith('/') ? tops.map((top) => `${top}${path}`) : [])
        .filter((one) => (isTree ? this.#isTree(one, tops) : this.#mayRun(one, isPath))),
    );
  }

  /** A worktree as a whole is not held for the hooks in it: those are. */
  #files(path: BytePath, top: BytePath): BytePath[] {
    const isTop = this.#look.follow(path).end === this.#look.follow(top).end;
    return isTop ? gitHookNames.map((name) => `${top}/${name}`) : [path];
  }

  /** Not a worktree as a whole. */
  #isTree(path: BytePath, tops: readonly BytePath[]): boolean {
    const { end } = this.#look.follow(path);
    const isTop = tops.some((top) => `${this.#look.follow(top).end}/`.startsWith(`${end}/`));
    return !isTop && this.#look.at(end).kind === 'directory';
  }

  #mayRun(path: BytePath, isPath: boolean): boolean {
    const { kind } = this.#look.at(this.#look.follow(path).end);
    return kind === 'file' || (kind === 'nothing' && isPath);
  }

  #absolute(path: BytePath, from: BytePath): BytePath {
    if (path.startsWith('/')) return path;
    // `~name/` is taken for the person's own.
    const home = /^~[^/]*(?=\/)/.exec(path)?.[0];
    return home === undefined ? `${from}/${path}` : `${this.#home}${path.slice(home.length)}`;
  }
}

function fromTopOf(setting: GitConfigSetting): ObeyedWorktreeFile[] {
  const use = gitSettingUseOf(setting);
  if (use === 'file') return fromTop(bytePathOf(setting.value), 'tree');
  if (use !== 'command') return [];
  return gitCommandWordsOf(setting).flatMap(({ path, from, isPath, isTree }) => {
    const as = isTree ? 'tree' : isPath ? 'path' : 'file';
    return from.flatMap((one) => fromTop(path.startsWith('/') ? path : posix.join(one, path), as));
  });
}

function fromTop(written: BytePath, as: ObeyedWorktreeFile['as']): ObeyedWorktreeFile[] {
  if (/^[/~]/.test(written)) return [];
  const at = posix.normalize(written).replace(/\/$/, '');
  if (at === '.') return as === 'tree' ? gitHookNames.map((name) => ({ path: name, as })) : [];
  return at.startsWith('../') || at === '..' ? [] : [{ path: at, as }];
}

function looselyRead(text: string): GitConfigSetting[] {
  return [...text.matchAll(loose)].flatMap(([, key = '', written = '']) => {
    const value = written
      .replace(/[#;].*$/, '')
      .replaceAll('"', '')
      .trim();
    const name = key.toLowerCase();
    const section = name === 'path' ? 'include' : name === 'hookspath' ? 'core' : 'unknown';
    return [{ name: `${section}.${name}`, subsection: null, value }];
  });
}
