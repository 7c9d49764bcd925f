/**
 * The work tree of the host, where what a session committed was put aside: a file that the session
 * put there, as it committed it, becomes what the host's commit has.
 */
import { readlinkSync } from 'node:fs';
import path from 'node:path';
import type { BytePath, Entry } from '../../change.ts';
import type { ContentStore } from '../../content-store.ts';
import { baseNameOf, bytePathOf, joinPath, parentPathOf } from '../byte-path.ts';
import type { CommitItem } from '../commit/commit-item.ts';
import { parseGitConfig } from '../git-config.ts';
import { fileEntry, statKey } from '../stat.ts';
import type { GitFiles } from './git-files.ts';
import type { GitHistory, TreeEntry } from './git-history.ts';
import { algorithmOf, blobId } from './object-store.ts';
import type { AsideCheckout } from './ref-values.ts';

interface CheckoutContext {
  readonly root: string;
  readonly files: GitFiles;
  readonly history: GitHistory;
  readonly contents: Pick<ContentStore, 'put'>;
  /** Whether the session applied the current entry at a path of the host. */
  readonly isOwn: (path: BytePath) => boolean;
}

const textBytesMax = 64 * 1024;
const fileBytesMax = 256 * 1024 * 1024;
const [linkMode, moduleMode, executable] = [0o120000, 0o160000, 0o111];

/** The worktree of a git directory, in the tree; `null`: it is elsewhere, or there is none. */
export function worktreeOf(root: string, files: GitFiles, git: BytePath): BytePath | null {
  if (baseNameOf(git) === '.git') return parentPathOf(git);
  const pointer = files.read(joinPath(git, 'gitdir'), textBytesMax)?.trimEnd();
  const config = parseGitConfig(files.read(joinPath(git, 'config'), textBytesMax) ?? '') ?? [];
  const named = config.findLast(({ name }) => name === 'core.worktree')?.value;
  const written = pointer === undefined ? named : path.posix.dirname(pointer);
  if (written === undefined) return null;
  const top = bytePathOf(root);
  const from = pointer === undefined ? bytePathOf(written) : written;
  const whole = path.posix.resolve(`${top}/${git}`, from);
  return whole.startsWith(`${top}/`) ? whole.slice(top.length + 1) : null;
}

/** What takes a session's files out of a worktree again, in whose commits they are not. */
export async function planCheckoutRestore(
  world: CheckoutContext,
  { git, host, session }: AsideCheckout,
): Promise<CommitItem[]> {
  const { root, files, history } = world;
  const worktree = worktreeOf(root, files, git);
  const base = worktree === null ? null : await history.mergeBase(host, session);
  if (worktree === null || base === null) return [];
  const [own, back] = [
    await history.differing(base, session),
    await history.differing(session, host),
  ];
  const items: CommitItem[] = [];
  for (const [name, { from, to }] of back) {
    if (!own.has(name) || [from, to].some((one) => one?.mode === moduleMode)) continue;
    const at = joinPath(worktree, name);
    const current = look(world, at, algorithmOf(host));
    if (current === 'other' || current?.oid !== from?.oid || !world.isOwn(at)) continue;
    const after = to === null ? null : await entryOf(world, to, current?.entry ?? null);
    const [baseEntry, baseKey] = [current?.entry ?? null, current?.key ?? null];
    items.push({ path: at, base: baseEntry, baseKey, after, source: null, sourceKey: null });
  }
  return items;
}

interface CurrentEntry {
  readonly oid: string;
  readonly entry: Entry;
  readonly key: string;
}

/** `null`: nothing; `other`: no file that git keeps. */
function look(
  { files, contents }: CheckoutContext,
  at: BytePath,
  algorithm: 'sha1' | 'sha256',
): CurrentEntry | 'other' | null {
  files.steps.close();
  const stat = files.stat(at);
  if (stat === null) return null;
  const key = statKey(stat);
  if (stat.isSymbolicLink()) {
    const way = files.steps.at(at);
    if (way === null) return 'other';
    const target = readlinkSync(way, { encoding: 'latin1' });
    const oid = blobId(Buffer.from(target, 'latin1'), algorithm);
    return { oid, entry: { type: 'symlink', target }, key };
  }
  const text = stat.isFile() ? files.read(at, fileBytesMax) : null;
  if (text === null) return 'other';
  const bytes = Buffer.from(text, 'latin1');
  const entry = { ...fileEntry(stat), sha256: contents.put(bytes) };
  return { oid: blobId(bytes, algorithm), entry, key };
}

async function entryOf(
  { history, contents }: CheckoutContext,
  { mode, oid }: TreeEntry,
  current: Entry | null,
): Promise<Entry> {
  const bytes = await history.blob(oid);
  if (mode === linkMode) return { type: 'symlink', target: bytes.toString('latin1') };
  const had = current?.type === 'file' ? current.mode : 0o644;
  const bits = (mode & executable) === 0 ? had & ~executable : had | ((had & 0o444) >> 2);
  const sha256 = contents.put(bytes);
  return { type: 'file', mode: bits, size: bytes.length, mtimeMs: Date.now(), sha256 };
}
