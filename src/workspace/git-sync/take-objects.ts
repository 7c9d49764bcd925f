/** Takes objects that a session made into a repository of the host. */
import { closeSync, fstatSync } from 'node:fs';
import type { BytePath } from '../../change.ts';
import type { ContentStore } from '../../content-store.ts';
import type { CommitItem } from '../commit/commit-item.ts';
import { TreePathResolver } from '../commit/tree-path-resolver.ts';
import { readUpTo } from '../descriptor.ts';
import { GitFailure } from '../projection/git-process.ts';
import type { GitHistory } from './git-history.ts';
import { objectIdsOfPack, type ObjectStore } from './object-store.ts';

export interface TakeObjectsInput {
  readonly store: ObjectStore;
  readonly contents: Pick<ContentStore, 'read'>;
  /** `null` without git: packs cannot be taken. */
  readonly history: GitHistory | null;
}

/** @returns those that are not what their names say, or whose content nobody has */
export async function takeObjects(
  { store, contents, history }: TakeObjectsInput,
  items: readonly CommitItem[],
): Promise<Set<BytePath>> {
  const refused = new Set<BytePath>();
  for (const item of items) {
    const bytes = await contentOf(item, contents);
    try {
      if (bytes === null) refused.add(item.path);
      else if (item.path.endsWith('.pack')) await takePack(store, history, item, bytes);
      else if (!(await store.add(item.path.split('/').slice(-2).join(''), bytes))) {
        refused.add(item.path);
      }
    } catch (error) {
      if (!(error instanceof GitFailure)) throw error;
      refused.add(item.path);
    }
  }
  return refused;
}

async function takePack(
  store: ObjectStore,
  history: GitHistory | null,
  item: CommitItem,
  bytes: Buffer,
): Promise<void> {
  if (history === null) throw new GitFailure('no git');
  const source = item.source === null ? null : item.source.path.replace(/\.pack$/, '.idx');
  const index = source === null ? null : readSource(item, source);
  const ids = index === null ? null : objectIdsOfPack(index, history.format);
  // After `git gc`, most of the time.
  if (ids !== null && ids.length > 0 && (await history.hasAll(ids))) return;
  await store.addPack(bytes, history.stagingDirectory, history.env);
}

async function contentOf(
  item: CommitItem,
  contents: Pick<ContentStore, 'read'>,
): Promise<Buffer | null> {
  const { after, source } = item;
  if (after?.type !== 'file') return null;
  const kept = after.sha256 === null ? null : await contents.read(after.sha256);
  return kept ?? (source === null ? null : readSource(item, source.path));
}

function readSource({ source }: CommitItem, path: BytePath): Buffer | null {
  if (source === null) return null;
  const steps = new TreePathResolver(source.tree);
  const fd = steps.open(path);
  steps.close();
  if (fd === null) return null;
  try {
    return readUpTo(fd, fstatSync(fd).size);
  } finally {
    closeSync(fd);
  }
}
