/** What a text names, and what scripts among that name in turn. Reads the host's file system. */
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  realpathSync,
  statSync,
} from 'node:fs';
import path from 'node:path';
import { analyseShell } from '../analyse.ts';
import type { FileMentions } from '../analysis.ts';
import { readableShells } from '../commands/command-classes.ts';
import { isProgramChangingVariable } from '../shell/assignments.ts';
import { isPathInside } from '../path-containment.ts';
import type { BindingScope } from './bind.ts';
import { MentionResolver, nameTokens, type MentionedFile } from './mention-resolver.ts';

/** A longer script is not read for what it names. */
const scriptBytesMax = 64 * 1_024;
const scriptsMax = 32;

/** What a sandbox shows of the system, and no command can write. */
const system = /^\/(?:usr|bin|sbin|lib\w*|etc|opt|nix|proc\/self\/cwd)(?:\/|$)/;
const devices = /^\/dev\/(?:null|zero|full|u?random|tty|std(?:in|out|err)|fd(?:\/.*)?)$/;

export interface ReferencedFiles {
  readonly found: readonly MentionedFile[];
  /** Why more may be run than was found; empty: no more is. */
  readonly open: ReadonlySet<string>;
  /** Why something that is run is nowhere on the host. */
  readonly unseen: ReadonlySet<string>;
}

export function followMentions(
  mentions: FileMentions,
  place: BindingScope & { readonly workspace: string },
): ReferencedFiles {
  const follower = new Follower(place);
  follower.take(mentions);
  return follower.answer();
}

class Follower {
  readonly #place: BindingScope & { readonly workspace: string };
  readonly #names: MentionResolver;
  readonly #open = new Set<string>();
  readonly #unseen = new Set<string>();
  readonly #scripts = new Set<string>();
  readonly #writes = new Set<string>();
  readonly #moves = new Set<string>();
  readonly #loads = new Set<string>();
  readonly #fetches = new Set<string>();
  readonly #searched: readonly string[];

  constructor(place: BindingScope & { readonly workspace: string }) {
    this.#place = place;
    const { workspace, cwd, path: searched, env, contents } = place;
    const directories = searched.split(':').map((directory) => path.resolve(cwd, directory));
    this.#searched = directories.filter((directory) => !isPathInside(directory, workspace));
    this.#names = new MentionResolver({ ...place, bases: [cwd, ...directories] });
    if (place.isPrivate(cwd)) this.#unseen.add(`${cwd} is a directory of the sandbox alone`);
    for (const [name, value] of Object.entries(env)) {
      if (name === 'PATH' || !isProgramChangingVariable(name)) continue;
      this.#open.add(`it is given the variable ${name}`);
      this.#names.addText(value);
      this.#loads.add(value);
    }
    for (const { role, path: file } of contents) {
      if (role === 'executable' && file !== null && isPathInside(file, workspace)) {
        this.#script(file);
      }
    }
  }

  answer(): ReferencedFiles {
    const run = new Set([...this.#scripts].map((file) => path.basename(file)));
    const isRun = (name: string): boolean => name === '*' || run.has(path.basename(name));
    if (run.size > 0 && [...this.#writes].some((name) => isRun(name) || this.#isOther(name))) {
      this.#open.add('it may run a file that it writes');
    }
    if (run.size > 0 || this.#open.size > 0) for (const to of this.#moves) this.#moved(to);
    if (this.#names.isTruncated) this.#open.add('it names more files than are looked at');
    if (this.#open.size > 0) {
      for (const text of this.#loads) this.#loaded(text);
      for (const name of this.#fetches) this.#unseen.add(`it may run what ${name} fetches`);
    }
    return { found: [...this.#names.found.values()], open: this.#open, unseen: this.#unseen };
  }

  take({ words, globs, scripts, writes, moves, loads, fetches, open }: FileMentions): void {
    for (const text of loads) this.#loads.add(text);
    for (const name of fetches) this.#fetches.add(name);
    for (const to of moves) this.#moves.add(to);
    for (const name of writes) this.#writes.add(name);
    for (const why of open) this.#open.add(why);
    for (const text of words) this.#names.addText(text);
    for (const pattern of globs) this.#names.addGlob(pattern);
    for (const name of scripts) this.#named(name);
  }

  /** Whether what is written by this name is a file that has another one, too. */
  #isOther(name: string): boolean {
    return this.#names.candidatePaths(name).some((file) => {
      const stat = lstatSync(file, { throwIfNoEntry: false });
      return stat !== undefined && !stat.isDirectory() && (stat.nlink > 1 || stat.isSymbolicLink());
    });
  }

  /** What is given to a program that may run it, and lies where nothing is bound. */
  #loaded(text: string): void {
    const { cwd, workspace, isPrivate } = this.#place;
    for (const token of nameTokens(
      text.replaceAll(/\b(?!file:)[a-z][a-z+.-]{0,15}:\/\/\S*/gi, ' '),
    )) {
      const isHome = /^~(?:\/|$)/.test(token);
      if (!isHome && !/^\.{0,2}\//.test(token) && token !== '..') continue;
      const file = path.resolve(cwd, token);
      if (!isHome && (file === '/' || isPathInside(file, workspace))) continue;
      const isElsewhere = isPrivate(file) || (!this.#isSystem(file) && existsSync(file));
      if (isHome || isElsewhere) this.#unseen.add(`${token} lies outside of the workspace`);
    }
  }

  #isSystem(file: string): boolean {
    const isTool = this.#searched.some((directory) => isPathInside(file, directory));
    return isTool || system.test(file) || devices.test(file);
  }

  /** Where it runs something else than here. */
  #moved(to: string): void {
    const { cwd, isPrivate, workspace } = this.#place;
    const file = path.resolve(cwd, to.replace(/^~\+(?=\/|$)/, '.'));
    const isHome = to === '' || /^~(?:\/|$)/.test(to);
    if (isHome || isPrivate(file)) {
      this.#unseen.add(`${isHome ? 'HOME' : to} is a directory of the sandbox alone`);
    } else if (to === '*' || to.startsWith('~') || !isPathInside(file, workspace)) {
      this.#open.add('it runs something in a directory that the text does not tell');
    }
  }

  /** A word whose file is run. */
  #named(name: string): void {
    const { cwd, isPrivate, workspace } = this.#place;
    if (name.startsWith('~/')) this.#unseen.add(`${name} lies in a directory of the sandbox alone`);
    else if (/^~(?!\+\/)/.test(name)) this.#open.add(`which file ${name} is, is not known`);
    const found = this.#names.filesOf(name.replace(/^~\+\//, ''));
    for (const { file } of found) this.#script(file);
    if (found.length > 0) return;
    // It may come before it is run.
    const file = path.resolve(cwd, name);
    this.#scripts.add(file);
    const isOwn = isPathInside(file, workspace);
    if (isPrivate(file)) this.#unseen.add(`${name} lies in a directory of the sandbox alone`);
    else if (file === workspace) this.#open.add(`which file of ${name} it runs is not known`);
    else if (!name.includes('/')) this.#searchedFor(name);
    else if (!isOwn && this.#isSystem(file)) {
      this.#open.add(`${name} may run files of the workspace`);
    } else if (!isOwn) this.#unseen.add(`${name} lies outside of the workspace`);
  }

  /** What has no file of that name here may be a program. */
  #searchedFor(name: string): void {
    const isProgram = (directory: string): boolean => {
      try {
        accessSync(path.join(directory, name), constants.X_OK);
        return true;
      } catch {
        return false;
      }
    };
    if (this.#searched.some(isProgram)) this.#open.add(`${name} may be a program`);
  }

  #script(file: string): void {
    if (this.#scripts.has(file)) return;
    this.#scripts.add(file);
    const { workspace } = this.#place;
    const shown = isPathInside(file, workspace) ? path.relative(workspace, file) : file;
    const at = this.#names.found.get(file)?.hostPath ?? file;
    const text = this.#scripts.size > scriptsMax ? null : scriptAt(at);
    if (text === null && isStream(at)) this.#unseen.add(`${shown} is a pipe or a device`);
    if (text === null) {
      this.#open.add(`${shown} may run files that the text does not name`);
      return;
    }
    const [line = ''] = text.split('\n', 1);
    if (line.startsWith('#!')) this.#names.addText(line.slice(2));
    const mentions = isShell(line) ? analyseShell(text, 'bash').mentions : undefined;
    if (mentions === undefined) {
      this.#names.addText(text);
      this.#open.add(`${shown} may run files that it does not name`);
      return;
    }
    const open = new Set([...mentions.open].map((why) => `${shown}: ${why}`));
    this.take({ ...mentions, open });
  }
}

/** Whether a shell of the system reads it. Without a first line that says so, one does. */
function isShell(line: string): boolean {
  if (!line.startsWith('#!')) return true;
  const [, program = '', option = ''] =
    /^#!\s*\/(?:usr\/)?bin\/(\S+)(?:\s+(.*))?$/.exec(line) ?? [];
  const name = program === 'env' ? option.trim() : program;
  return readableShells.has(name) && (program === 'env' || /^(?:-[a-z]+)?$/.test(option.trim()));
}

/** What is read from it is another content each time. */
function isStream(file: string): boolean {
  const stat = statSync(file, { throwIfNoEntry: false });
  return stat !== undefined && !stat.isFile() && !stat.isDirectory();
}

/** `null`: it is no text, or cannot be read. A FIFO must not be waited for. */
function scriptAt(file: string): string | null {
  let fd: number;
  try {
    fd = openSync(realpathSync.native(file), constants.O_RDONLY | constants.O_NONBLOCK);
  } catch {
    return null;
  }
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile() || stat.size > scriptBytesMax) return null;
    const text = readFileSync(fd, 'utf8');
    return text.includes('\0') ? null : text;
  } catch {
    return null;
  } finally {
    closeSync(fd);
  }
}
