// A second writer swaps a component of a path for a link, a hard link or a FIFO, before each single
// system call that opens or changes something by name: nothing outside is changed or read.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import type { Entry } from '../src/change.ts';
import { readUpTo } from '../src/workspace/byte-path.ts';
import { emptyDirectory } from '../src/workspace/changes/empty-directory.ts';
import { openSource } from '../src/workspace/changes/entries.ts';
import { applyChanges } from '../src/workspace/commit/apply.ts';
import { AtomicRenames } from '../src/workspace/commit/atomic-renames.ts';
import type { CommitItem, CommitTree } from '../src/workspace/commit/commit-item.ts';
import { recoverCommit } from '../src/workspace/commit/recover.ts';
import { TreeLookup } from '../src/workspace/commit/tree-path-resolver.ts';
import { planUndo } from '../src/workspace/commit/undo.ts';
import { openGuard } from '../src/workspace/guard.ts';
import { OpenDirectory } from '../src/workspace/projection/open-directory.ts';
import { statKey } from '../src/workspace/stat.ts';
import type { WorkspaceFacts } from '../src/workspace/workspace-survey.ts';
import { standingAt } from './support/commit.ts';
import { interpose } from './support/interpose.ts';

const isRoot = process.geteuid?.() === 0;
const base = realpathSync(mkdtempSync(path.join(tmpdir(), 'trl-swap-')));
const [outside, root] = [path.join(base, 'outside'), path.join(base, 'up/real')];
const name = 'p/q/x';
const staging = path.join(base, 'staging');
const renames = new AtomicRenames(undefined, { staging });
const inTree = new AtomicRenames();
execFileSync('mkfifo', ['-m', '700', path.join(base, 'fifo')]);
after(async () => {
  await renames.close();
  await inTree.close();
  rmSync(base, { recursive: true, force: true });
});

/** What stands at `p/q/x` before. */
type Start = 'nothing' | 'file' | 'directory';

const make: Record<Start, (at: string) => void> = {
  nothing: () => {},
  file: (at) => {
    writeFileSync(at, 'inside', { mode: 0o644 });
  },
  directory: (at) => {
    mkdirSync(at, { mode: 0o755 });
  },
};

const bytes = Buffer.from('new content');
const sha256 = createHash('sha256').update(bytes).digest('hex');
const file: Entry = { type: 'file', mode: 0o577, size: bytes.length, mtimeMs: 1000, sha256 };
const directory: Entry = { type: 'directory', mode: 0o577 };
const link: Entry = { type: 'symlink', target: 'elsewhere' };
const contents = { has: () => true, read: () => Promise.resolve(bytes), put: () => '' };
const tree: CommitTree = isRoot
  ? { root, uid: 65_534, gid: 65_534 }
  : { root, uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
const id = '0badcafe';

function itemOf(wanted: Entry | null): CommitItem {
  const is = lstatSync(path.join(root, name), { throwIfNoEntry: false });
  const standing = is === undefined ? null : standingAt(path.join(root, name));
  const [base, baseKey] = [standing?.entry ?? null, standing?.key ?? null];
  return { path: name, base, baseKey, after: wanted, source: null, sourceKey: null };
}

/** Answers what was read, if anything. */
type Act = (item: CommitItem) => Promise<string>;

const put: Act = async (item) => {
  await applyChanges({ tree, id, items: [item], contents, renames });
  return '';
};

/** With its temporary name in the tree. */
const putInTree: Act = async (item) => {
  await applyChanges({ tree, id, items: [item], contents, renames: inTree });
  return '';
};

const kinds: readonly (readonly [kind: string, Start, wanted: Entry | null | 'as-is', Act])[] = [
  ['create a file', 'nothing', file, put],
  ['create a file, all in the tree', 'nothing', file, putInTree],
  ['create a link', 'nothing', link, put],
  ['create a link, all in the tree', 'nothing', link, putInTree],
  ['create a directory', 'nothing', directory, put],
  ['write a file', 'file', file, put],
  ['write a file, all in the tree', 'file', file, putInTree],
  ['set the mode of a file', 'file', 'as-is', put],
  ['set the mode of a directory', 'directory', directory, put],
  ['delete a file', 'file', null, put],
  ['delete a directory', 'directory', null, put],
  ['a directory for a file', 'file', directory, put],
  ['a file for a directory', 'directory', file, put],
  ['undo', 'file', file, undoOne],
  ['recover', 'file', file, recoverOne],
  ['recover a directory', 'nothing', directory, recoverOne],
  ['put back a protected name', 'directory', null, () => guardOne('absent')],
  ['put back a protected link', 'file', null, () => guardOne('link')],
  ['empty a directory', 'directory', null, emptyOne],
  ['list a directory', 'file', null, listOne],
  ['read for a capture', 'file', null, readOne],
  ['read for the filter', 'file', null, lookOne],
];

/** What is in the tree came from the absence of everything there: undoing takes or changes it. */
async function undoOne(item: CommitItem): Promise<string> {
  const { base: before, baseKey: key, after: wanted } = item;
  const records = [[{ path: name, before: wanted, after: before, key }]];
  const { items } = await planUndo({ tree, records, contents });
  await applyChanges({ tree, id, items, contents, renames });
  return '';
}

async function recoverOne(item: CommitItem): Promise<string> {
  await recoverCommit({ intent: { id, tree, items: [item] }, contents, renames });
  return '';
}

async function guardOne(kind: 'absent' | 'link'): Promise<string> {
  const at = { tree: root, path: path.join(root, name) };
  const guarded = kind === 'link' ? { kind, target: 'elsewhere', ...at } : { kind, ...at };
  const facts: WorkspaceFacts = {
    root,
    uid: 0,
    gid: 0,
    idmap: false,
    granted: [{ path: root, writable: true, uid: 0, gid: 0 }],
    covers: [],
    guarded: [guarded],
    gitDirectories: [],
    unprotected: 0,
    entries: 0,
    complete: true,
  };
  const guard = await openGuard(facts, path.join(base, 'quarantine'));
  await guard.revert();
  return '';
}

async function emptyOne(): Promise<string> {
  await emptyDirectory(path.join(root, 'p'), 0o755);
  return '';
}

async function listOne(): Promise<string> {
  await Promise.resolve();
  using open = OpenDirectory.open(root, 'p/q');
  return open
    .entries()
    .map((entry) => entry.name.toString())
    .join();
}

async function readOne(): Promise<string> {
  await Promise.resolve();
  const fd = openSource({ tree: root, path: name });
  if (fd === null) return '';
  const text = readUpTo(fd, 100).toString();
  closeSync(fd);
  return text;
}

async function lookOne(): Promise<string> {
  using look = new TreeLookup({ root, written: () => null, contents });
  look.real(name);
  return (await look.text(name, 'real', 100)) ?? '';
}

/** To refuse is right: what is to be changed or read is not there any more. */
function refusal(error: unknown): string {
  if (error instanceof Error && 'code' in error) return '';
  throw error;
}

function reset(start: Start): void {
  const gone = ['up', 'quarantine', 'away'].map((one) => path.join(base, one));
  for (const one of gone) rmSync(one, { recursive: true, force: true });
  mkdirSync(path.join(root, 'p/q'), { recursive: true });
  mkdirSync(path.join(base, 'quarantine'));
  make[start](path.join(root, name));
}

/** As the tree is, so that each link leads to something of the very names that are looked for. */
function makeOutside(start: Start): void {
  rmSync(outside, { recursive: true, force: true });
  const at = path.join(outside, 'up/real', name);
  mkdirSync(path.dirname(at), { recursive: true });
  make[start](at);
  if (start === 'file') writeFileSync(at, 'outside');
  mkdirSync(path.join(outside, 'directory'));
  writeFileSync(path.join(outside, 'file'), 'outside');
  writeFileSync(path.join(outside, 'up/real/p/q/outside'), '');
  const all = ['directory', 'file', 'up', 'up/real', 'up/real/p', 'up/real/p/q'];
  for (const one of all) chmodSync(path.join(outside, one), 0o700);
}

/** Everything that could be changed, as text. */
function lookAt(where: string): string[] {
  const stat = lstatSync(where, { bigint: true });
  // A hard link that the test makes changes the ctime of its file.
  const times = `${stat.mtimeNs} ${path.basename(where) === 'file' ? '' : stat.ctimeNs}`;
  const content = stat.isFile()
    ? readFileSync(where, 'utf8')
    : stat.isSymbolicLink()
      ? readlinkSync(where)
      : '';
  const own = `${where} ${stat.mode.toString(8)} ${stat.uid} ${stat.gid} ${times} ${content}`;
  const children = stat.isDirectory() ? readdirSync(where) : [];
  return [own, ...children.flatMap((child) => lookAt(path.join(where, child)))];
}

/** What lies above all components that are swapped, or beside them. */
const elsewhere = /(?:\/|\/tmp|\/trl-swap-\w+|\/staging|\/fdinfo\/\d+)$/;

type Swap = (at: string, mirror: string) => void;

const swaps = {
  'a link to the same': (at, mirror) => {
    symlinkSync(mirror, at);
  },
  'a link to a directory': (at) => {
    symlinkSync(path.join(outside, 'directory'), at);
  },
  'a link to a file': (at) => {
    symlinkSync(path.join(outside, 'file'), at);
  },
  'a hard link': (at) => {
    linkSync(path.join(outside, 'file'), at);
  },
  'a FIFO': (at) => {
    linkSync(path.join(base, 'fifo'), at);
  },
} as const satisfies Record<string, Swap>;

const components = ['up/real/p/q/x', 'up/real/p/q', 'up/real/p', 'up/real', 'up'];
const moments = components.flatMap((component, at) =>
  Object.entries(swaps)
    .filter(([what]) => at === 0 || what === 'a link to the same' || (at === 1 && /O/.test(what)))
    .map(([what, swap]): [string, string, Swap] => [component, what, swap]),
);

function swapNow(component: string, swap: Swap): void {
  const at = path.join(base, component);
  if (lstatSync(at, { throwIfNoEntry: false }) !== undefined) {
    renameSync(at, path.join(base, 'away'));
  }
  // Nothing to swap: what it lies in is not there.
  if (lstatSync(path.dirname(at), { throwIfNoEntry: false }) === undefined) return;
  swap(at, path.join(outside, component));
}

for (const [kind, start, wanted, act] of kinds) {
  test(`nothing outside is reached: ${kind}`, async () => {
    const changed: string[] = [];
    let runs = 0;
    makeOutside(start);
    let was = lookAt(outside);
    for (const [component, what, swap] of moments) {
      // Above the parent, what holds for one moment holds for the next.
      const step = components.indexOf(component) > 1 ? 2 : 1;
      for (let at = 0; ; at += step) {
        reset(start);
        if (act === recoverOne) writeFileSync(path.join(root, 'p/q', `.trl-${id}-0`), bytes);
        const item = itemOf(wanted === 'as-is' ? null : wanted);
        const asIs = wanted === 'as-is' && item.base?.type === 'file';
        const given = asIs ? { ...item, after: { ...item.base, mode: 0o577 } } : item;
        let hasSwapped = false;
        let read: string;
        {
          using _ = interpose(
            at,
            () => {
              hasSwapped = true;
              swapNow(component, swap);
            },
            elsewhere,
          );
          read = await act(given).catch(refusal);
        }
        if (!hasSwapped) break;
        runs += 1;
        const is = lookAt(outside);
        const where = `${component}: ${what}, before call ${at}`;
        // What has a hard link in the tree is in the tree.
        const wasRead = what !== 'a hard link' && read.includes('outside');
        if (wasRead) changed.push(`${where}: it was read`);
        if (is.join('\n') === was.join('\n')) continue;
        changed.push(`${where}: ${is.filter((one, index) => one !== was[index]).join('; ')}`);
        makeOutside(start);
        was = lookAt(outside);
      }
    }
    assert.ok(runs > moments.length, `${runs} moments`);
    assert.deepEqual(changed, []);
  });
}

/** Swaps `x`, then `q`, for links and back, as fast as it can. */
const racer = String.raw`
my ($base, $outside, $parent) = @ARGV; $| = 1; print "ready\n";
my @swaps = (["up/real/p/q/x", "lx"], ["up/real/p/q", "lq"]);
while (getppid() == $parent) {
  for (@swaps) {
    my ($at, $link) = @$_;
    rename "$base/$at", "$base/away" or next;
    rename "$base/$link", "$base/$at";
    rename "$base/$at", "$base/$link";
    rename "$base/away", "$base/$at";
  }
}`;

test('nothing outside is reached: beside somebody who swaps all the time', async () => {
  reset('directory');
  makeOutside('directory');
  const mirror = path.join(outside, 'up/real/p/q');
  symlinkSync(path.join(mirror, 'x'), path.join(base, 'lx'));
  symlinkSync(mirror, path.join(base, 'lq'));
  const was = lookAt(outside);
  const args = ['-e', racer, base, outside, String(process.pid)];
  const child = spawn('perl', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    await once(child.stdout, 'data');
    for (let round = 0; round < 1_500;) {
      const mode = round % 2 === 0 ? 0o577 : 0o755;
      const standing = lstatSync(path.join(root, name), { bigint: true, throwIfNoEntry: false });
      if (standing?.isDirectory() !== true) continue;
      round += 1;
      const is: Entry = { type: 'directory', mode: Number(standing.mode) & 0o7777 };
      const key = statKey(standing);
      const after: Entry = { type: 'directory', mode };
      await put({ path: name, base: is, baseKey: key, after, source: null, sourceKey: null });
    }
  } finally {
    child.kill('SIGKILL');
    await once(child, 'close');
  }
  assert.deepEqual(lookAt(outside), was);
});
