/**
 * Random histories: commands are applied and undone while a second writer saves, appends, creates
 * and deletes in the same files as fast as it can. Every line that it writes is one of a kind, so
 * that a lost one is found.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash, randomInt } from 'node:crypto';
import { once } from 'node:events';
import { lstatSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { applyChanges } from '../../src/workspace/commit/apply.ts';
import type {
  CommitItem,
  ItemResult,
  UndoableChange,
} from '../../src/workspace/commit/commit-item.ts';
import { AtomicRenames } from '../../src/workspace/commit/atomic-renames.ts';
import { planUndo } from '../../src/workspace/commit/undo.ts';
import { makeTrees, readTree, standingAt, type Standing, type Trees } from './commit.ts';

const names = ['a', 'b', 'd/a', 'd/b', 'd/e/a'];
const linesOfFile = 40;

/** Operations of the second writer, each logged when it is over: `KIND PATH LINE`. */
const writer = `
const fs = require('node:fs');
const [names, stop, log] = JSON.parse(process.argv[1]);
const done = []; let count = 0;
const pick = (n) => Math.floor(Math.random() * n);
process.stdout.write('ready');
while (!fs.existsSync(stop)) {
  const name = names[pick(names.length)], line = 'w-' + count++ + '\\n';
  const kind = ['save', 'append', 'create', 'delete', 'append', 'save'][pick(6)];
  try {
    if (kind === 'save') { fs.writeFileSync(name + '~', line); fs.renameSync(name + '~', name); }
    if (kind === 'append') {
      const f = fs.openSync(name, fs.constants.O_WRONLY | fs.constants.O_APPEND);
      try { fs.writeSync(f, line); } finally { fs.closeSync(f); } }
    if (kind === 'create') fs.writeFileSync(name, line, { flag: 'wx' });
    if (kind === 'delete') { if (pick(3) > 0) continue; fs.unlinkSync(name); }
    done.push([kind, name, line]);
  } catch {}
  if (pick(4) === 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pick(3));
}
fs.writeFileSync(log, JSON.stringify(done));
`;

export interface Tally {
  applied: number;
  conflicts: number;
  undone: number;
  writes: number;
  kept: number;
}

/** Runs one history and looks that nothing of the second writer is lost. */
export async function history(tally: Tally, steps: number): Promise<void> {
  using trees = makeTrees('mkdir -p d/e; for f in a b d/a; do echo start >$f; done');
  mkdirSync(`${trees.base}/new`);
  const [stop, log] = [`${trees.base}/stop`, `${trees.base}/log`];
  const child = spawn(process.execPath, ['-e', writer, JSON.stringify([names, stop, log])], {
    cwd: trees.real,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const run = new History(trees, tally);
  try {
    await once(child.stdout, 'data');
    for (let step = 0; step < steps; step += 1) await run.step();
  } finally {
    run.close();
    writeFileSync(stop, '');
    if (child.exitCode === null) await once(child, 'close');
    rmSync(stop);
  }
  // Of the program above.
  const done: [string, string, string][] = JSON.parse(readFileSync(log, 'utf8'));
  run.check(done);
}

class History {
  readonly #trees: Trees;
  readonly #tally: Tally;
  readonly #renames = new AtomicRenames();
  readonly #kept = new Map<string, Buffer>();
  /** What applied changes started from: replaced knowingly, and kept. */
  readonly #replaced: string[] = [];
  readonly #records: UndoableChange[][] = [];
  #count = 0;

  constructor(trees: Trees, tally: Tally) {
    this.#trees = trees;
    this.#tally = tally;
  }

  async step(): Promise<void> {
    if (this.#records.length > 0 && randomInt(3) === 0) return this.#undo();
    const items = names.flatMap((name) => (randomInt(2) === 0 ? [] : this.#item(name)));
    const results = await this.#apply(items);
    const record = items.flatMap((item, at): UndoableChange[] => {
      const result = results[at];
      if (result?.state !== 'applied') return [];
      const { path, base: before, after } = item;
      return [{ path, before, after, key: result.key }];
    });
    this.#records.unshift(record);
  }

  async #undo(): Promise<void> {
    const records = this.#records.splice(0, 1 + randomInt(2));
    const contents = {
      has: (sha256: string): boolean => this.#kept.has(sha256),
      read: (sha256: string) => Promise.resolve(this.#kept.get(sha256) ?? null),
      put: (bytes: Uint8Array): string => {
        const sha256 = createHash('sha256').update(bytes).digest('hex');
        this.#kept.set(sha256, Buffer.from(bytes));
        return sha256;
      },
    };
    const plan = await planUndo({ tree: this.#tree(), records, contents });
    const results = await this.#apply(plan.items);
    this.#tally.undone += results.filter((one) => one.state === 'applied').length;
    this.#tally.conflicts += plan.refused.length;
  }

  async #apply(items: readonly CommitItem[]): Promise<readonly ItemResult[]> {
    const read = (sha256: string): Promise<Buffer | null> =>
      Promise.resolve(this.#kept.get(sha256) ?? null);
    const id = randomInt(2 ** 31)
      .toString(16)
      .padStart(8, '0');
    const input = { tree: this.#tree(), id, items, contents: { read }, renames: this.#renames };
    const results = await applyChanges(input);
    for (const [at, result] of results.entries()) {
      const base = items[at]?.base;
      if (result.state === 'applied') {
        this.#tally.applied += 1;
        if (base?.type === 'file') {
          this.#replaced.push(this.#kept.get(base.sha256 ?? '')?.toString() ?? '');
        }
        continue;
      }
      this.#tally.conflicts += 1;
      this.#tally.kept += result.keptAt === null ? 0 : 1;
      assert.equal(result.state, 'conflict', JSON.stringify(result));
    }
    return results;
  }

  #tree(): { root: string; uid: number; gid: number } {
    return { root: this.#trees.real, uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  }

  /** A change that starts from what stands now. */
  #item(path: string): CommitItem[] {
    const standing = this.#look(`${this.#trees.real}/${path}`);
    if (standing === 'busy') return [];
    const from = { path, base: standing?.entry ?? null, baseKey: standing?.key ?? null };
    if (standing !== null && randomInt(4) === 0) {
      return [{ ...from, after: null, source: null, sourceKey: null }];
    }
    this.#count += 1;
    const at = `${this.#trees.base}/new/${this.#count}`;
    writeFileSync(at, `c-${this.#count}\n`.repeat(linesOfFile));
    const made = standingAt(at);
    if (made.entry.type === 'file') this.#kept.set(made.entry.sha256 ?? '', readFileSync(at));
    const source = { tree: `${this.#trees.base}/new`, path: `${this.#count}` };
    return [{ ...from, after: made.entry, source, sourceKey: made.key }];
  }

  #look(at: string): Standing | 'busy' | null {
    const key = (): string => {
      const stat = lstatSync(at, { bigint: true });
      return `${stat.ino}:${stat.mode}:${stat.size}:${stat.mtimeNs}:${stat.ctimeNs}`;
    };
    try {
      const before = key();
      const bytes = readFileSync(at);
      const { entry } = standingAt(at);
      if (entry.type !== 'file' || key() !== before) return 'busy';
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      this.#kept.set(sha256, bytes);
      return { key: before, entry: { ...entry, sha256, size: bytes.length } };
    } catch {
      return null;
    }
  }

  close(): void {
    this.#renames[Symbol.dispose]();
  }

  check(done: readonly (readonly [string, string, string])[]): void {
    this.#tally.writes += done.length;
    const all = [...readTree(this.#trees.real)].flatMap(([name, { entry }]) =>
      entry.type === 'file'
        ? [{ name, text: readFileSync(`${this.#trees.real}/${name}`, 'utf8') }]
        : [],
    );
    for (const { name, text } of all) {
      assert.match(name, /^(?:d\/|d\/e\/)?(?:[ab]~?|\.trl-kept-.*)$/, 'no temporary name is left');
      const counts = new Map<string, number>();
      for (const [line] of text.matchAll(/^c-\d+$/gm)) {
        counts.set(line, (counts.get(line) ?? 0) + 1);
      }
      assert.match(text, /^(?:start\n|[cw]-\d+\n)*$/, `"${name}" is whole`);
      assert.ok(
        [...counts.values()].every((count) => count === linesOfFile),
        `"${name}" is torn`,
      );
    }
    const present = new Set([...all.map(({ text }) => text), ...this.#replaced].flatMap(linesOf));
    for (const [at, [kind, name, line]] of done.entries()) {
      if (kind === 'delete' || present.has(line.trim())) continue;
      const isSuperseded = done.some(
        ([later, other], index) => index > at && other === name && later !== 'append',
      );
      assert.ok(isSuperseded, `the second writer's ${kind} of ${name}, "${line.trim()}", is lost`);
    }
  }
}

function linesOf(text: string): string[] {
  return text.split('\n');
}
