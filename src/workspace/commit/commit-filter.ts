/** The types of the commit filter: its input, and why it holds a change. */
import type { BytePath, Entry } from '../../change.ts';
import type { PathRules } from '../../command.ts';
import type { IssuedTags } from '../../redacted.ts';
import { bytePathOf } from '../byte-path.ts';
import { isBelow } from '../inspect-path.ts';
import type { FileEntry } from '../merge/current-file.ts';
import { parsePathRules } from '../path-rules.ts';
import { readVisibility } from '../projection/visibility.ts';

/** Why a change does not reach the real tree until a person says yes. */
const heldReasons = [
  'git-hooks',
  'git-config',
  /** A repository that a command made and from which git would run something. */
  'new-repository',
  /** Git sees a projection, which nothing may be written back from. */
  'projected-repository',
  'editor-tasks',
  'shell-startup',
  'package-manager',
  'agent-configuration',
  'own-policy',
  /** Policy denies writing it. */
  'denied',
  /** A name that policy keeps from the session, whether or not anything is there. */
  'reserved',
  'link-escape',
  'set-uid',
  'set-gid',
  'device',
  'special',
  /** Its content has a tag that was given out in the place of a secret. */
  'redaction-tag',
  /** It takes away a content that undo does not have. */
  'no-undo',
  'too-many',
  'too-large',
] as const;
export type HeldReason = (typeof heldReasons)[number];

/** Longer files are not texts that a command writes back. */
export const taggedFileBytesMax = 4 * 1024 * 1024;

/** What is judged: one path of a command's changes. */
export interface JudgedChange {
  readonly path: BytePath;
  readonly before: Entry | null;
  readonly after: Entry | null;
}

/** How the filter looks at what it judges. No answer follows a link. */
export interface FilterLookup {
  /** The entry in the real tree. */
  real(path: BytePath): Entry | null;
  /**
   * The start of a regular file's content, bytes as latin1: `real` in the real tree, `after` as
   * the session has it. `null` where it is no file, cannot be read, or is longer than `bytesMax`.
   */
  text(path: BytePath, side: 'real' | 'after', bytesMax: number): Promise<string | null>;
  /** Whether what a file was before can come back, or need not. Default: all can. */
  isKept?(path: BytePath, before: FileEntry): boolean;
}

export interface FilterInput {
  /** The workspace as the session sees it, absolute, no link in it. */
  readonly root: string;
  /** Whether policy denies writing a path. What is below a denied one is denied. */
  readonly isDenied: (path: BytePath) => boolean;
  /** Whether policy keeps a path from the session, there or not. The same holds below it. */
  readonly isReserved: (path: BytePath) => boolean;
  /** Whether an absolute path outside leads to what every sandbox shows read-only. */
  readonly isSystem: (target: BytePath) => boolean;
  /** Paths whose built-in protection an operator has lifted, with what is below them. */
  readonly lifted: readonly BytePath[];
  /** Of the person on the host: what its start-up files and git's configuration lead to. */
  readonly home: string;
  /** Git directories that were there when the session was opened. */
  readonly gitDirectories: readonly BytePath[];
  /** Protected names that were links then. */
  readonly links: readonly BytePath[];
  readonly isProjectedGit: boolean;
  /** Must not be written to a file: a writer that puts it back has lost the value. */
  readonly tags: IssuedTags;
  readonly changesMax: number;
  readonly bytesMax: number;
}

/** Holds what may not silently reach the real tree. */
export interface CommitFilter {
  /**
   * The changes to hold and why; what is missing in the answer may be applied.
   *
   * @param changes in byte order of their paths
   */
  judge(changes: readonly JudgedChange[], look: FilterLookup): Promise<Map<BytePath, HeldReason>>;
  /** Whether a part of a change of this path may pass though the change is held. */
  hasHarmlessPart(path: BytePath): boolean;
  /** What would stand at such a path with that part of a change alone; `null`: there is none. */
  harmlessPart(path: BytePath, before: string, after: string): string | null;
  /** The text written with tags, with the earlier values in their places; see `tag-values.ts`. */
  restoreTagValues(before: string, after: string): string | null;
}

// What the filter needs to know of a workspace, from its survey and its rules.

interface FilterFacts extends Pick<
  FilterInput,
  'home' | 'isReserved' | 'isSystem' | 'isProjectedGit' | 'tags' | 'changesMax' | 'bytesMax'
> {
  /** Real path of the workspace. */
  readonly root: string;
  /** Rules for writing. */
  readonly write: PathRules;
  /** As surveyed when the session was opened, absolute. */
  readonly gitDirectories: readonly string[];
  readonly links: readonly string[];
}

export function buildFilterInput(facts: FilterFacts): FilterInput {
  const { root, home, write, gitDirectories, links, ...others } = facts;
  const within = (names: readonly string[]): BytePath[] =>
    names
      .filter((name) => isBelow(name, root))
      .map((name) => bytePathOf(name.slice(root.length + 1)));
  const denied = readVisibility({ allow: [], deny: write.deny }, { root, home });
  return {
    ...others,
    root,
    isDenied: (path) => denied.hides(path),
    lifted: within(parsePathRules(write.allow, { root, home }).paths),
    gitDirectories: within(gitDirectories),
    links: within(links),
    home,
  };
}

// The tree as it would be with all changes in it, and where paths in it lead. Reads no content.

const linksMax = 40;

interface Led {
  readonly inside: BytePath | null;
  readonly outside: BytePath | null;
}

const nowhere: Led = { inside: null, outside: null };

/** Only an absolute target: where a relative one ends, changes with the place of the workspace. */
function leadsOut(target: string, rest: readonly string[]): Led {
  if (!target.startsWith('/')) return nowhere;
  return { inside: null, outside: [target, ...rest].join('/') };
}

export class MergedView {
  readonly #root: string;
  readonly #changes: ReadonlyMap<BytePath, JudgedChange>;
  readonly #look: FilterLookup;
  readonly #real = new Map<BytePath, Entry | null>();

  /** @param root absolute, as bytes */
  constructor(root: string, changes: ReadonlyMap<BytePath, JudgedChange>, look: FilterLookup) {
    this.#root = root;
    this.#changes = changes;
    this.#look = look;
  }

  entry(path: BytePath): Entry | null {
    const change = this.#changes.get(path);
    return change === undefined ? this.real(path) : change.after;
  }

  /** Whether the content at `path` is one that a change brings. */
  isChanged(path: BytePath): boolean {
    return this.#changes.has(path);
  }

  real(path: BytePath): Entry | null {
    const known = this.#real.get(path);
    if (known !== undefined) return known;
    const found = path === '' ? ({ type: 'directory', mode: 0 } as const) : this.#look.real(path);
    this.#real.set(path, found);
    return found;
  }

  /** The start of a content, as it would be; `null` if it is unknown. */
  text(path: BytePath, bytesMax: number): Promise<string | null> {
    const side = this.#changes.has(path) ? 'after' : 'real';
    return this.#look.text(path, side, bytesMax);
  }

  realText(path: BytePath, bytesMax: number): Promise<string | null> {
    return this.#look.text(path, 'real', bytesMax);
  }

  /**
   * Where `target`, written in the directory `from`, leads to; `null`: out of the workspace, or it
   * could later. A `..` behind a name could: when the name becomes a link.
   */
  resolve(from: BytePath, target: string): BytePath | null {
    return this.#lead(from, target).inside;
  }

  /** The absolute path by which `target` leads out, where a link on the way names one. */
  exit(from: BytePath, target: string): BytePath | null {
    return this.#lead(from, target).outside;
  }

  #lead(from: BytePath, target: string): Led {
    let links = 0;
    let at: string[] = from === '' ? [] : from.split('/');
    let rest = this.#enter(target);
    if (rest === null) return leadsOut(target, []);
    if (target.startsWith('/')) at = [];
    while (rest.length > 0) {
      const [part = '', ...after]: string[] = rest;
      rest = after;
      if (part === '..') {
        if (at.pop() === undefined) return nowhere;
        continue;
      }
      const entry = this.entry([...at, part].join('/'));
      if (entry?.type !== 'symlink') {
        at.push(part);
        continue;
      }
      const next = this.#enter(entry.target);
      if (++links > linksMax) return nowhere;
      if (next === null) return leadsOut(entry.target, rest);
      if (entry.target.startsWith('/')) at = [];
      rest = [...next, ...rest];
    }
    return { inside: at.join('/'), outside: null };
  }

  /** The parts of a target, from the workspace if it is absolute; `null`: elsewhere. */
  #enter(target: string): string[] | null {
    const isAbsolute = target.startsWith('/');
    if (isAbsolute && target !== this.#root && !target.startsWith(`${this.#root}/`)) return null;
    const relative = isAbsolute ? target.slice(this.#root.length) : target;
    const parts = relative.split('/').filter((part) => part !== '' && part !== '.');
    return parts.lastIndexOf('..') > parts.findIndex((part) => part !== '..') &&
      parts.some((part) => part !== '..')
      ? null
      : parts;
  }
}
