/**
 * The commit filter: which of a command's changes may not silently reach the real tree, and why.
 * It decides by names, types and, for git's configuration, by content; it changes nothing.
 */
import { setImmediate as turn } from 'node:timers/promises';
import type { BytePath, Entry } from '../../change.ts';
import { tagPattern } from '../../redacted.ts';
import { baseNameOf, bytePathOf, foldName, parentPathOf, splitPath } from '../byte-path.ts';
import {
  type CommitFilter,
  type FilterInput,
  type FilterLookup,
  type HeldReason,
  type JudgedChange,
  MergedView,
  taggedFileBytesMax,
} from './commit-filter.ts';
import { harmlessPartOf, isHarmlessModulesEdit } from './harmless-edit.ts';
import { contentProtectionOf, nameProtectionOf } from './protected-paths.ts';
import { ProtectedTargets } from './protected-targets.ts';
import { RepositoryFilter } from './repository-filter.ts';
import { restoreTagValues } from './tag-values.ts';

const setUid = 0o4000;
const setGid = 0o2000;
const changesPerTurn = 256;
const textBytesMax = 256 * 1024;
const gitName = '.git';
const configName = 'config';
const modulesName = '.gitmodules';
const gitPacks = /(?:^|\/)\.git\/(?:.*\/)?objects\/pack\//;

/** Builds the filter of one session. */
export function openCommitFilter(input: FilterInput): CommitFilter {
  const rootBytes = bytePathOf(input.root);
  const known = new Set(input.gitDirectories);
  const lifted = new Set(input.lifted);
  return {
    judge: async (changes, look) => {
      const byPath = new Map(changes.map((change) => [change.path, change]));
      const view = new MergedView(rootBytes, byPath, look);
      const repositories = new RepositoryFilter(input.root, known, view);
      const targets = new ProtectedTargets({ ...input, root: rootBytes }, changes);
      const one = new Judgement({ input, look, view, repositories, targets, lifted });
      const held = new Map<BytePath, HeldReason>();
      for (const [at, change] of changes.entries()) {
        if (at % changesPerTurn === changesPerTurn - 1) await turn();
        const answer = one.judge(change);
        const reason = answer instanceof Promise ? await answer : answer;
        if (reason !== null) held.set(change.path, reason);
      }
      holdDependent(byPath, held, known);
      holdTooMuch(changes, held, input);
      return held;
    },
    hasHarmlessPart: (path) => baseNameOf(path) === configName && known.has(parentPathOf(path)),
    harmlessPart: (path, before, after) => harmlessPartOf(before, after, parentPathOf(path)),
    restoreTagValues: (before, after) => restoreTagValues(before, after, input.tags),
  };
}

interface Parts {
  readonly input: FilterInput;
  readonly look: FilterLookup;
  readonly view: MergedView;
  readonly repositories: RepositoryFilter;
  readonly targets: ProtectedTargets;
  readonly lifted: ReadonlySet<BytePath>;
}

type Answer = HeldReason | null;

class Judgement {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  judge(change: JudgedChange): Promise<Answer> | Answer {
    const { input, lifted } = this.#parts;
    const { path: name } = change;
    // First, so that no later check reveals whether a name exists.
    if (isUnder(name, input.isReserved)) return 'reserved';
    if (isUnder(name, input.isDenied)) return 'denied';
    const found = this.#byEntry(change) ?? this.#byPlace(change) ?? this.#byLoss(change);
    if (found !== null) return found;
    const isLifted = lifted.size > 0 && isUnder(name, (one) => lifted.has(one));
    const reason = isLifted ? null : this.#builtIn(change);
    if (reason instanceof Promise) return reason.then((one) => one ?? this.#byTag(change));
    return reason ?? this.#byTag(change);
  }

  /** Git's objects do not go from the host, whatever a command does to them. */
  #byLoss({ path: name, before, after }: JudgedChange): Answer {
    if (before?.type !== 'file' || before.size === 0 || gitPacks.test(name)) return null;
    const { sha256 } = before;
    if (sha256 !== null && after?.type === 'file' && after.sha256 === sha256) return null;
    return this.#parts.look.isKept?.(name, before) === false ? 'no-undo' : null;
  }

  /** A tag in the place of a value: of a text that was read, hidden in part, and written back. */
  #byTag({ path: name, before, after }: JudgedChange): Promise<Answer> | null {
    const { input, view } = this.#parts;
    if (!input.tags.isUsed || after?.type !== 'file' || after.size > taggedFileBytesMax) {
      return null;
    }
    if (before?.type === 'file' && before.sha256 === after.sha256) return null;
    return view.text(name, taggedFileBytesMax).then(async (text) => {
      const found = (text?.match(tagPattern) ?? []).filter((tag) => input.tags.has(tag));
      if (found.length === 0) return null;
      const was = view.real(name) === null ? '' : await view.realText(name, taggedFileBytesMax);
      return found.every((tag) => was?.includes(tag) === true) ? null : 'redaction-tag';
    });
  }

  /** By what it is. */
  #byEntry({ path: name, before, after }: JudgedChange): Answer {
    if (after === null) return null;
    if (after.type === 'device') return 'device';
    if (after.type === 'fifo' || after.type === 'socket') return 'special';
    if (after.type === 'symlink') return this.#byTarget(name, after.target);
    const gained = after.mode & ~this.#inherited(name, before, after) & (setUid | setGid);
    if ((gained & setUid) !== 0) return 'set-uid';
    return (gained & setGid) === 0 ? null : 'set-gid';
  }

  #byTarget(name: BytePath, target: string): Answer {
    const { input, view } = this.#parts;
    const leads = view.resolve(parentPathOf(name), target);
    if (leads === null) {
      const outside = view.exit(parentPathOf(name), target);
      return outside !== null && input.isSystem(outside) ? null : 'link-escape';
    }
    return isUnder(leads, input.isReserved) ? 'reserved' : null;
  }

  /** Bits that say nothing new: of the same content, or given by the directory that it is in. */
  #inherited(name: BytePath, before: Entry | null, after: Entry): number {
    if (after.type === 'directory') {
      const parent = this.#parts.view.entry(parentPathOf(name));
      const own = before?.type === 'directory' ? before.mode : 0;
      return own | (parent?.type === 'directory' ? parent.mode & setGid : 0);
    }
    const isSame =
      before?.type === 'file' &&
      after.type === 'file' &&
      after.sha256 !== null &&
      before.sha256 === after.sha256;
    return isSame ? before.mode : 0;
  }

  /** A directory on the way that is a link on the host leads elsewhere there. */
  #byPlace({ path: name }: JudgedChange): Answer {
    const { view } = this.#parts;
    for (let at = parentPathOf(name); at !== ''; at = parentPathOf(at)) {
      if (view.isChanged(at)) continue;
      const type = view.real(at)?.type;
      if (type === 'directory') return null;
      if (type === 'symlink') return 'link-escape';
    }
    return null;
  }

  #builtIn(change: JudgedChange): Promise<Answer> | Answer {
    const { input, repositories, targets } = this.#parts;
    const { path: name, before, after } = change;
    const parts = splitPath(name).map(foldName);
    if (input.isProjectedGit && parts.includes(gitName)) return 'projected-repository';
    const isDirectory = (after ?? before)?.type === 'directory';
    const as = after === null ? 'gone' : isDirectory ? 'directory' : 'link';
    if (baseNameOf(name) === modulesName && as !== 'directory' && after?.type !== 'symlink') {
      return this.#modules(change).then((reason) => reason ?? repositories.judge(change, parts));
    }
    const found = nameProtectionOf(parts, as) ?? targets.reasonOf(change);
    return found ?? this.#byContent(change) ?? repositories.judge(change, parts);
  }

  /** `.gitmodules` changes with submodules: its content decides. */
  async #modules(change: JudgedChange): Promise<Answer> {
    const { view, targets } = this.#parts;
    const { path: name, after } = change;
    const found = nameProtectionOf(splitPath(parentPathOf(name)).map(foldName), 'directory');
    if (found !== null) return found;
    const leads = targets.reasonOf(change);
    if (leads !== null || after === null) return leads;
    const real = view.real(name);
    const was = real === null ? '' : await view.realText(name, textBytesMax);
    const is = await view.text(name, textBytesMax);
    return was !== null && is !== null && isHarmlessModulesEdit(was, is) ? null : 'git-config';
  }

  /** `null` at once for a name whose content says nothing. */
  #byContent({ path: name, after }: JudgedChange): Promise<Answer> | null {
    const wanted = after === null ? null : contentProtectionOf(baseNameOf(name));
    if (wanted === null) return null;
    const text = this.#parts.view.text(name, textBytesMax);
    return text.then((one) => (one === null || wanted.content.test(one) ? wanted.reason : null));
  }
}

/** Whether a path or one above it is one of those. */
function isUnder(name: BytePath, is: (one: BytePath) => boolean): boolean {
  for (let at = name; at !== ''; at = parentPathOf(at)) if (is(at)) return true;
  return false;
}

/**
 * What is in a directory that is held cannot come without it, and a directory that must stay for
 * something held in it cannot go.
 */
function holdDependent(
  byPath: ReadonlyMap<BytePath, JudgedChange>,
  held: Map<BytePath, HeldReason>,
  known: ReadonlySet<BytePath>,
): void {
  for (const [name, reason] of held) {
    for (let at = parentPathOf(name); at !== ''; at = parentPathOf(at)) {
      const above = byPath.get(at);
      if (above !== undefined && above.after?.type !== 'directory' && !held.has(at)) {
        held.set(at, reason);
      }
    }
  }
  for (const { path: name, after } of byPath.values()) {
    if (held.has(name)) continue;
    for (let at = parentPathOf(name); at !== ''; at = parentPathOf(at)) {
      const reason = held.get(at);
      const above = byPath.get(at);
      if (reason === undefined || above === undefined) continue;
      // With modes held on a directory that stays, what is in it is free.
      if (above.before?.type === 'directory' && above.after?.type === 'directory') continue;
      // What is deleted below a directory that stays may go, but a repository is not taken apart.
      if (after === null && above.after === null && !known.has(at)) continue;
      held.set(name, reason);
      break;
    }
  }
}

/** All or nothing: half of an oversized change would be a tree that nobody made. */
function holdTooMuch(
  changes: readonly JudgedChange[],
  held: Map<BytePath, HeldReason>,
  { changesMax, bytesMax }: FilterInput,
): void {
  const free = changes.filter((change) => !held.has(change.path));
  const bytes = free.reduce((sum, { after }) => sum + (after?.type === 'file' ? after.size : 0), 0);
  const reason = free.length > changesMax ? 'too-many' : 'too-large';
  if (free.length <= changesMax && bytes <= bytesMax) return;
  for (const change of free) held.set(change.path, reason);
}
