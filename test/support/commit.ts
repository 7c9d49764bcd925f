/** Trees that differ, told by reading both whole, independent of the code under test. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { lstatSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { BytePath, Entry, StatKey } from '../../src/change.ts';
import type { IssuedTags } from '../../src/redacted.ts';
import { applyChanges } from '../../src/workspace/commit/apply.ts';
import { AtomicRenames } from '../../src/workspace/commit/atomic-renames.ts';
import { buildFilterInput, type HeldReason } from '../../src/workspace/commit/commit-filter.ts';
import type { CommitItem, ItemResult } from '../../src/workspace/commit/commit-item.ts';
import { openCommitFilter } from '../../src/workspace/commit/filter.ts';
import { TreeLookup } from '../../src/workspace/commit/tree-path-resolver.ts';
import { walkTree } from '../../src/workspace/walk.ts';

export interface Standing {
  readonly entry: Entry;
  readonly key: StatKey;
}

/** Everything below a directory, by byte path. Reads regular files only. */
export function readTree(root: string): Map<BytePath, Standing> {
  const found = new Map<BytePath, Standing>();
  const visit = (directory: Buffer, prefix: string): void => {
    for (const name of readdirSync(directory, { encoding: 'buffer' })) {
      const at = Buffer.concat([directory, Buffer.from('/'), name]);
      const path = prefix + name.toString('latin1');
      const standing = standingAt(at);
      found.set(path, standing);
      if (standing.entry.type === 'directory') visit(at, `${path}/`);
    }
  };
  visit(Buffer.from(root), '');
  return found;
}

export function standingAt(at: Buffer | string): Standing {
  const stat = lstatSync(at, { bigint: true });
  const key = `${stat.ino}:${stat.mode}:${stat.size}:${stat.mtimeNs}:${stat.ctimeNs}`;
  const mode = Number(stat.mode) & 0o7777;
  if (stat.isDirectory()) return { key, entry: { type: 'directory', mode } };
  if (stat.isSymbolicLink()) {
    const target = readlinkSync(at, { encoding: 'buffer' }).toString('latin1');
    return { key, entry: { type: 'symlink', target } };
  }
  if (stat.isFIFO()) return { key, entry: { type: 'fifo', mode } };
  if (!stat.isFile()) return { key, entry: { type: stat.isSocket() ? 'socket' : 'device', mode } };
  const sha256 = createHash('sha256').update(readFileSync(at)).digest('hex');
  const size = Number(stat.size);
  return { key, entry: { type: 'file', mode, size, mtimeMs: Number(stat.mtimeNs) / 1e6, sha256 } };
}

/** What would make `real` like `session`, in byte order. */
export function itemsBetween(real: string, session: string): CommitItem[] {
  const [before, after] = [readTree(real), readTree(session)];
  const paths = [...new Set([...before.keys(), ...after.keys()])].toSorted((a, b) =>
    a < b ? -1 : 1,
  );
  return paths.flatMap((path) => {
    const [was, is] = [before.get(path), after.get(path)];
    if (withoutTime(was?.entry) === withoutTime(is?.entry)) return [];
    const isFile = is?.entry.type === 'file';
    return [
      {
        path,
        base: was?.entry ?? null,
        baseKey: was?.key ?? null,
        after: is?.entry ?? null,
        source: isFile ? { tree: session, path } : null,
        sourceKey: isFile ? is.key : null,
      },
    ];
  });
}

/** An entry, as a text to compare. */
export function withoutTime(entry: Entry | undefined): string {
  return JSON.stringify(entry ?? null, (name, value: unknown) =>
    name === 'mtimeMs' ? undefined : value,
  );
}

export function shell(script: string, cwd: string): string {
  return execFileSync('/bin/bash', ['-c', `set -e; umask 022; ${script}`], {
    cwd,
    encoding: 'utf8',
    env: {
      PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin',
      HOME: '/nonexistent',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_AUTHOR_NAME: 'A',
      GIT_AUTHOR_EMAIL: 'a@example.org',
      GIT_COMMITTER_NAME: 'A',
      GIT_COMMITTER_EMAIL: 'a@example.org',
    },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
}

export interface Trees extends Disposable {
  readonly base: string;
  /** Both absolute, without a link in them. */
  readonly real: string;
  readonly session: string;
  /** Runs a script in a copy of `real` that stands at its path meanwhile, then is `session`. */
  run(script: string): void;
}

export function makeTrees(setup: string): Trees {
  const base = mkdtempSync(path.join(tmpdir(), 'trl-commit-'));
  const [real, session] = [path.join(base, 'real'), path.join(base, 'session')];
  shell(`mkdir real; cd real; ${setup}`, base);
  const run = (script: string): void => {
    const back = 'cd "$BASE"; mv real session; mv kept real';
    const start = 'cd "$BASE"; rm -rf session; cp -a real kept';
    shell(`BASE=${base}; ${start}; trap '${back}' EXIT; cd real; ${script}`, base);
  };
  return {
    base,
    real,
    session,
    run,
    [Symbol.dispose]: () => {
      try {
        rmSync(base, { recursive: true, force: true });
      } catch {
        shell('chmod -R u+rwx .; rm -rf real session new', base);
        rmSync(base, { recursive: true, force: true });
      }
    },
  };
}

export interface Policy {
  readonly deny?: readonly string[];
  readonly allow?: readonly string[];
  readonly reserved?: (path: BytePath) => boolean;
  readonly changesMax?: number;
  readonly bytesMax?: number;
  readonly home?: string;
  readonly isSystem?: (target: BytePath) => boolean;
  readonly tags?: IssuedTags;
}

/** What the filter holds of `items`, as the survey of `trees.real` sees it. */
export async function judge(
  trees: Trees,
  items: readonly CommitItem[],
  policy: Policy = {},
): Promise<Map<BytePath, HeldReason>> {
  const walked = await walkTree(trees.real, { matches: null, entriesMax: 1e5 });
  const { gitDirectories, links } = walked;
  return judgeWith(trees, items, { ...policy, gitDirectories, links });
}

export async function judgeWith(
  trees: Trees,
  items: readonly CommitItem[],
  policy: Policy & {
    readonly gitDirectories: readonly string[];
    readonly links?: readonly string[];
  },
): Promise<Map<BytePath, HeldReason>> {
  const filter = openCommitFilter(
    buildFilterInput({
      root: trees.real,
      home: policy.home ?? '/nonexistent',
      write: { allow: policy.allow ?? [], deny: policy.deny ?? [] },
      gitDirectories: policy.gitDirectories,
      links: policy.links ?? [],
      isReserved: policy.reserved ?? (() => false),
      isSystem: policy.isSystem ?? (() => false),
      isProjectedGit: false,
      tags: policy.tags ?? { isUsed: false, has: () => false, isOf: () => false },
      changesMax: policy.changesMax ?? 1e6,
      bytesMax: policy.bytesMax ?? 1e12,
    }),
  );
  const byPath = new Map(items.map((item) => [item.path, item]));
  using look = new TreeLookup({
    root: trees.real,
    written: (name) => {
      const { source = null, after = null } = byPath.get(name) ?? {};
      return { source, sha256: after?.type === 'file' ? after.sha256 : null };
    },
    contents: noContents,
  });
  const judged = items.map(({ path: name, base, after }) => ({ path: name, before: base, after }));
  return filter.judge(judged, look);
}

/** Keeps nothing: contents come from where a session wrote them. */
export const noContents = {
  has: (): boolean => false,
  read: (): Promise<Buffer | null> => Promise.resolve(null),
};

/** Contents by hash, as the store keeps them. */
export class KeptContents {
  readonly #kept = new Map<string, Buffer>();

  /** Keeps all files of a tree. */
  keep(root: string): void {
    for (const [name, { entry }] of readTree(root)) {
      if (entry.type !== 'file' || entry.sha256 === null) continue;
      const at = Buffer.concat([Buffer.from(`${root}/`), Buffer.from(name, 'latin1')]);
      this.#kept.set(entry.sha256, readFileSync(at));
    }
  }

  has(sha256: string): boolean {
    return this.#kept.has(sha256);
  }

  put(bytes: Uint8Array): string {
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    this.#kept.set(sha256, Buffer.from(bytes));
    return sha256;
  }

  read(sha256: string): Promise<Buffer | null> {
    return Promise.resolve(this.#kept.get(sha256) ?? null);
  }
}

export async function apply(
  { real }: { readonly real: string },
  items: readonly CommitItem[],
  contents: Pick<KeptContents, 'read'> = noContents,
): Promise<readonly ItemResult[]> {
  using renames = new AtomicRenames();
  const tree = { root: real, uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  return await applyChanges({ tree, id: '0badcafe', items, contents, renames });
}

/** What is left of applying in a tree. */
export function leftovers(root: string): string[] {
  return [...readTree(root).keys()].filter((name) => /(^|\/)\.trl-/.test(name));
}
