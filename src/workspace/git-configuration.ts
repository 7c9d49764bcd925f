/**
 * What git runs or obeys of a repository, read as git reads it: its configuration with all that it
 * includes (whatever the condition), of each worktree, of the person and of the machine; hooks,
 * links in its directory. Runs no git.
 */
import { posix } from 'node:path';
import type { BytePath } from '../change.ts';
import { baseNameOf, bytePathOf, parentPathOf } from './byte-path.ts';
import { type GitConfigSetting, parseGitConfig } from './git-config.ts';
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
  /** The worktrees looked up so far, by their repository, which need not know of them. */
  readonly #asked = new Map<BytePath, BytePath[]>();
  #ofMachine: readonly Read[] | null = null;

  constructor(look: HostLookup, home: string) {
    this.#look = look;
    this.#home = bytePathOf(home);
  }

  /**
   * The git directory that a `.git` is or points to, and the links on the way. The directory that
   * contains it counts as a worktree from then on.
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

// Which settings make git run or obey a file, and which file of a project that is. Pure. From
// git-config(1), gitattributes(5), githooks(5), and the configuration of git-lfs and git-annex.

/** `file`: obeyed or run itself, or with all that is in it. `command`: run by a shell or by git. */
type GitSettingUse = 'include' | 'file' | 'command';

/** From githooks(5): what git runs in the directory that `core.hooksPath` names. */
const gitHookNames: readonly string[] = [
  'applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg',
  'commit-msg post-commit pre-rebase post-checkout post-merge pre-push pre-receive update',
  'proc-receive post-receive post-update reference-transaction push-to-checkout pre-auto-gc',
  'post-rewrite sendemail-validate fsmonitor-watchman post-index-change',
].flatMap((line) => line.split(' '));

const files: ReadonlySet<string> = new Set([
  'core.hookspath',
  'core.attributesfile',
  'init.templatedir',
  'gpg.allowedsignersfile',
]);
/** Of any section, because tools beside git use the same names. */
const commands = new RegExp(
  '(?:command|cmd|program|helper|path|textconv|driver|clean|smudge|process|editor|pager|askpass' +
    '|gitproxy|uploadpack|receivepack|vcs|tunnel|fsmonitor|difffilter|external|smtpserver' +
    '|hook|prog)$',
);
/** Every key in it is a name of the user's. */
const commandSections: ReadonlySet<string> = new Set(['alias', 'pager']);

/** `null`: it makes git run and obey nothing. */
function gitSettingUseOf({ name, value }: GitConfigSetting): GitSettingUse | null {
  const [section = '', key = ''] = name.split('.');
  if (key === 'path' && (section === 'include' || section === 'includeif')) return 'include';
  if (files.has(name)) return 'file';
  const isCommand = commandSections.has(section) || commands.test(key) || value.startsWith('!');
  return isCommand && section !== 'submodule' ? 'command' : null;
}

/** A word of a command that may name a file. */
interface GitCommandWord {
  /** As written; absolute, or from one of the directories that the command goes to. */
  readonly path: BytePath;
  /** Directories that it may start from, from where the command starts: '.' is that one. */
  readonly from: readonly BytePath[];
  /** Whether it can be nothing but a path. */
  readonly isPath: boolean;
  /** Everything in it is protected. */
  readonly isTree: boolean;
}

const startsMax = 8;

const lists = /[|;&\n]+/;
const quoted = /"([^"]+)"|'([^']+)'/g;
const separators = /[\s"'`;|&<>(){}=,]+/;
const variable = /^\$[a-z_]\w*(?=\/)/i;
const alternatives = /\{[^{}\s]*,[^{}\s]*\}/g;
const pattern = /[*?[]/;
/** Commands whose arguments are run: files that a pattern of theirs finds are, too. */
const runners = /^(?:for|sh|bash|dash|zsh|ksh|exec|source|\.|run-parts|python\d*|node|perl|ruby)$/;
const interpreters = /^(?:python\d*|node|bun|deno)$/;
/** What an interpreter takes where a name has no ending, or is a directory. */
const endings = ['.js', '.cjs', '.mjs', '.ts', '.py', '/index.js', '/__main__.py'] as const;

/**
 * What a command may name. A word without a slash that begins a command is looked for in PATH; an
 * alias that does not begin with `!` is arguments of git, where only a path can name what is run.
 */
function gitCommandWordsOf({ name, value }: GitConfigSetting): GitCommandWord[] {
  const text = bytePathOf(value.replace(/^!/, '')).replaceAll(alternatives, '*');
  const isOfGit = name.startsWith('alias.') && !value.startsWith('!');
  const parts = text.split(lists).map((part) => part.split(separators).filter((one) => one !== ''));
  const from = startsOf(parts);
  const whole = [...text.matchAll(quoted)].map(([, double, single]) => double ?? single ?? '');
  const words = [
    ...parts.flatMap((part) =>
      part.filter((one, at) => one.includes('/') || (at > 0 && !isOfGit && !one.startsWith('-'))),
    ),
    ...whole.filter((one) => one.includes('/')),
  ];
  const named = [...new Set(words.map((one) => one.replace(variable, '')))]
    .filter((one) => one !== '/' && !pattern.test(one))
    .map((path) => ({ path, from, isPath: path.includes('/'), isTree: false }));
  return [...named, ...ended(parts, named), ...parts.flatMap((part) => foundBy(part, from))];
}

/** Directories that a command goes to, one after the other or each from where it starts. */
function startsOf(parts: readonly (readonly string[])[]): BytePath[] {
  const starts = ['.'];
  for (const [at, word] of parts.flat().entries()) {
    const to = parts.flat()[at + 1];
    if (!/^(?:cd|pushd|-C)$/.test(word) || to === undefined) continue;
    starts.push(...starts.slice(0, startsMax).map((one) => (one === '.' ? to : `${one}/${to}`)));
  }
  return [...new Set(starts)];
}

/** With an ending that an interpreter finds by itself; `a.b` is a module of Python. */
function ended(
  parts: readonly (readonly string[])[],
  words: readonly GitCommandWord[],
): GitCommandWord[] {
  if (!parts.flat().some((one) => interpreters.test(one))) return [];
  return words.flatMap(({ path, from }) => {
    const isModule = /^\w+(?:\.\w+)*$/.test(path);
    if (!isModule && path.slice(path.lastIndexOf('/') + 1).includes('.')) return [];
    const base = isModule ? path.replaceAll('.', '/') : path;
    return endings.map((end) => ({ path: base + end, from, isPath: false, isTree: false }));
  });
}

/** Directories in which a pattern finds what is run. */
function foundBy(part: readonly string[], from: readonly BytePath[]): GitCommandWord[] {
  if (!part.some((one) => runners.test(one))) return [];
  return part.flatMap((one) => {
    const at = one.search(pattern);
    const path = one.replace(variable, '').slice(0, one.lastIndexOf('/', at) + 1);
    return at < 0 ? [] : [{ path: path === '' ? '.' : path, from, isPath: true, isTree: true }];
  });
}
