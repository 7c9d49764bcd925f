/**
 * What an approval binds of the workspace: each file that a text names or, if the text may run
 * other files, the state of every file. Reads the host's file system.
 */
import { createHash } from 'node:crypto';
import { constants, type BigIntStats } from 'node:fs';
import { open, readlink, realpath, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import type { Binding } from '../../binding.ts';
import type { FileMentions } from '../analysis.ts';
import type { ContentFingerprint } from '../facts.ts';
import { fileSecrecy } from '../shell/secret.ts';
import { followMentions, type ReferencedFiles } from './follow-mentions.ts';
import type { MentionedFile } from './mention-resolver.ts';
import {
  treeEntriesMax,
  formatStatIdentity,
  statIfPresent,
  readTreeState,
  type TreeState,
} from './tree-state.ts';

/** Where a command would run, as the host sees it. */
export interface BindingScope {
  /** Real path, or `null`: the session has no directory of the host. */
  readonly workspace: string | null;
  readonly cwd: string;
  /** The `PATH` that is searched. */
  readonly path: string;
  /** Variables that the caller set for the command. */
  readonly env: Readonly<Record<string, string>>;
  /** Whether only the sandbox has a path. */
  readonly isPrivate: (file: string) => boolean;
  /** Whether a path of the workspace is hidden from commands; a hidden one is never reported. */
  readonly isHidden: (file: string) => boolean;
  /** Where what commands of the session changed lies until it is applied; `null`: nowhere. */
  readonly layer: string | null;
  /** What the text names by its place, as it was found. */
  readonly contents: readonly ContentFingerprint[];
}

export interface BindingResult {
  /** Those of the place, and every file of the workspace that may be named. */
  readonly contents: readonly ContentFingerprint[];
  readonly binding: Binding;
}

/** Bytes of one file, and of all for one approval; others are distinguished by their times. */
const hashedBytesMax = 16 * 1_024 * 1_024;
const readBytesMax = 64 * 1_024 * 1_024;
/** Reasons that a person is shown. */
const reasonsMax = 3;
const permissions = 0o7777;
const tooLarge = `the workspace has more than ${treeEntriesMax} entries`;

/** What cannot be looked at is not bound, and that is said. */
export async function bindMentionedFiles(
  mentions: FileMentions,
  place: BindingScope,
): Promise<BindingResult> {
  const { workspace, contents, layer } = place;
  if (workspace === null) {
    const why = [...mentions.open].toSorted().slice(0, reasonsMax).join('; ');
    return { contents, binding: why === '' ? { kind: 'named' } : { kind: 'unbound', why } };
  }
  const followed = followMentions(mentions, { ...place, workspace });
  const found = await contentsOf(followed.found, workspace);
  const state = followed.open.size > 0 ? await stateOf(workspace, layer).catch(() => null) : null;
  const away = [...(state?.leaving ?? [])].filter(([, to]) => place.isPrivate(to));
  const unseen = [
    ...followed.unseen,
    ...away.map(([name]) => `${name} leads out of the workspace`),
  ];
  const binding = bindingOf({ ...followed, unseen: new Set(unseen) }, state);
  return { contents: joined(contents, found), binding };
}

function bindingOf(
  { open: openings, unseen }: Pick<ReferencedFiles, 'open' | 'unseen'>,
  state: TreeState | null,
): Binding {
  const reasons = [...unseen, ...[...openings].toSorted()];
  const more = reasons.length - reasonsMax;
  const why =
    reasons.slice(0, reasonsMax).join('; ') + (more > 0 ? `; and ${more} more reasons` : '');
  if (reasons.length === 0) return { kind: 'named' };
  if (unseen.size > 0) return { kind: 'unbound', why };
  if (state === null) return { kind: 'unbound', why: `${why}; ${tooLarge}` };
  const { sha256, entries } = state;
  return { kind: 'workspace', sha256, entries, why };
}

/** A script that is also a named file is reported once, with its execute permission. */
function joined(
  named: readonly ContentFingerprint[],
  found: readonly ContentFingerprint[],
): readonly ContentFingerprint[] {
  const modes = new Map(found.map(({ path: file, mode }) => [file, mode]));
  const scripts = named.map((one) => {
    const mode = one.role === 'script' ? modes.get(one.path) : undefined;
    return mode === undefined ? one : { ...one, mode };
  });
  const known = new Set(named.flatMap(({ role, path: file }) => (role === 'script' ? file : [])));
  return [...scripts, ...found.filter(({ path: file }) => file === null || !known.has(file))];
}

async function contentsOf(
  found: readonly MentionedFile[],
  workspace: string,
): Promise<ContentFingerprint[]> {
  const contents: ContentFingerprint[] = [];
  let left = readBytesMax;
  for (const { file, hostPath: at } of found) {
    const name = path.relative(workspace, file);
    const real = at === file ? await realpath(file).catch(() => null) : file;
    const link = at === file ? null : await readlink(at).catch(() => null);
    if (link !== null) {
      contents.push({ role: 'file', name, path: real, sha256: digestOf(`link ${link}`) });
      continue;
    }
    const where = at === file ? real : at;
    const handle = where === null ? null : await open(where, looking).catch(() => null);
    if (handle === null) {
      contents.push({ role: 'file', name, path: real, sha256: null });
      continue;
    }
    try {
      const stat = await handle.stat({ bigint: true });
      const role = stat.isDirectory() ? 'directory' : 'file';
      // A hash would answer guesses at what is secret.
      const isOpen = fileSecrecy(file) === null && fileSecrecy(real ?? file) === null;
      const isRead = isOpen && stat.isFile() && stat.size <= Math.min(left, hashedBytesMax);
      if (isRead) left -= Number(stat.size);
      const sha256 = await identity(handle, stat, isRead);
      contents.push({ role, name, path: real, sha256, mode: Number(stat.mode) & permissions });
    } finally {
      await handle.close();
    }
  }
  return contents;
}

// A FIFO must not be waited for.
const looking = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

/** What comes through a pipe or a device is another content at each reading. */
async function identity(
  handle: FileHandle,
  stat: BigIntStats,
  isRead: boolean,
): Promise<string | null> {
  if (!stat.isFile() && !stat.isDirectory()) return null;
  const bytes = isRead ? await handle.readFile() : formatStatIdentity(stat);
  return digestOf(bytes);
}

/** What commands of the session see: the workspace, and what they changed that waits. */
async function stateOf(workspace: string, layer: string | null): Promise<TreeState | null> {
  const own = await readTreeState(workspace);
  if (own === null || layer === null) return own;
  const waiting = await readTreeState(layer, (name, stat) => {
    const real = statIfPresent(path.join(workspace, name));
    // A whiteout is a device with the number 0.
    if (stat.isCharacterDevice() && stat.rdev === 0n) return real === null;
    if (real === null || real.mode !== stat.mode) return false;
    return stat.isDirectory() || (real.size === stat.size && real.mtimeNs === stat.mtimeNs);
  });
  if (waiting === null || waiting.entries === 0) return waiting === null ? null : own;
  const sha256 = digestOf(`${own.sha256} ${waiting.sha256}`);
  const leaving = new Map([...own.leaving, ...waiting.leaving]);
  return { sha256, entries: own.entries + waiting.entries, leaving };
}

const digestOf = (bytes: string | Uint8Array): string =>
  createHash('sha256').update(bytes).digest('hex');
