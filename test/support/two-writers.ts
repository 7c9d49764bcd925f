/**
 * Random histories of two to four writers in one directory: commands of two sessions that append,
 * hold files open and write what they read long ago, and a person who appends in place or saves by
 * rename. Each writes lines that nobody else writes, so that every line can be asked for.
 *
 * The layers are real directories which are written here as an overlay writes them (a copy on the
 * first write, the open file stays the same when its name is gone); all else is the program's own.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { appendFileSync, closeSync, copyFileSync, existsSync, mkdirSync } from 'node:fs';
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import * as fc from 'fast-check';
import './seed.ts';
import type { ExecId, SessionId } from '../../src/command.ts';
import { FileMerger } from '../../src/host/file-merger.ts';
import {
  isChangeRecord,
  recordKinds,
  appliedStepsOf,
  type ChangeRecord,
} from '../../src/host/change-record.ts';
import { AppliedEntries } from '../../src/host/pending-changes.ts';
import { SessionWorkspace } from '../../src/host/session-workspace.ts';
import { WorkspaceTrees } from '../../src/host/workspace-tree.ts';
import { SnapshotStore } from '../../src/snapshot/store.ts';
import { LayerAttributes } from '../../src/workspace/changes/layer-attributes.ts';
import { OverlayCapture } from '../../src/workspace/changes/overlay-diff.ts';
import { applyChanges } from '../../src/workspace/commit/apply.ts';
import { AtomicRenames } from '../../src/workspace/commit/atomic-renames.ts';
import { planUndo } from '../../src/workspace/commit/undo.ts';
import { save } from './second-writer.ts';

/** `text` has long lines to edit in; `log` is appended to; `binary` has a NUL. */
const files = ['text', 'log', 'binary'] as const;
const beginning = (name: string): string =>
  Array.from({ length: 8 }, (_, at) => `line ${at} of ${name}\n`).join('');
const file = fc.constantFrom(...files);
const acts = ['append', 'edit', 'hold', 'read', 'stale', 'remove', 'look', 'end', 'undo'] as const;
const step = fc.record({
  who: fc.constantFrom('a', 'a', 'b', 'person', 'person'),
  what: fc.constantFrom(...acts, 'end', 'undo', 'undo'),
  file,
  place: fc.nat({ max: 8 }),
});
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;
const steps = fc.array(step, { minLength: 4, maxLength: 24 });

export interface WritersTally {
  histories: number;
  lines: number;
  merged: number;
  conflicts: number;
  undone: number;
  kept: number;
}

interface Parts {
  readonly store: SnapshotStore;
  readonly renames: AtomicRenames;
  readonly attributes: LayerAttributes;
  readonly tally: WritersTally;
}

/** A session: at most one command of it runs. */
class Writer {
  readonly name: string;
  readonly upper: string;
  readonly workspace: SessionWorkspace;
  exec: ExecId | null = null;
  /** What the command read, by file. */
  readonly memory = new Map<string, string>();
  readonly held = new Map<string, number>();
  readonly session: SessionId;

  constructor(name: string, dir: string, trees: WorkspaceTrees, parts: Parts) {
    const root = path.join(dir, 'tree');
    this.name = name;
    this.upper = path.join(dir, `upper-${name}`);
    mkdirSync(this.upper);
    const { store, renames, attributes } = parts;
    const owner = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
    const seen = { idShift: { uid: 0, gid: 0 }, isMasked: (): boolean => false };
    const places = { root, upper: this.upper, ...seen, contents: store, attributes };
    const applied = new AppliedEntries();
    const layer = new OverlayCapture({ ...places, appliedKeyAt: (at) => applied.keyAt(at) });
    const session = (this.session = `s-${name}`);
    this.workspace = new SessionWorkspace({
      view: session,
      mode: 'direct',
      method: 'overlay',
      tree: trees.use(root, this.session),
      owner,
      capture: layer,
      layer,
      store,
      removedDirectories: { findSlot: () => null },
      scratch: path.join(dir, 'git'),
      renames,
      applied,
      onPendingChange: () => undefined,
      remask: () => Promise.resolve(true),
      refresh: () => Promise.resolve(),
      adopted: [],
      isRunning: () => false,
      announcing: null,
      log: () => undefined,
    });
    this.workspace.committing.filter = {
      judge: () => Promise.resolve(new Map()),
      hasHarmlessPart: () => false,
      harmlessPart: () => null,
      restoreTagValues: () => null,
    };
  }

  async begin(): Promise<ExecId> {
    if (this.exec !== null) return this.exec;
    await this.workspace.refresh(this.session);
    const exec = `x-${randomBytes(16).toString('hex')}` as const;
    await this.workspace.begin({ exec, session: this.session, command: this.name, mode: 'direct' });
    this.exec = exec;
    return exec;
  }

  /** The name of a file in the layer, copied there before. */
  own(name: string, root: string): string {
    const at = path.join(this.upper, name);
    if (!existsSync(at)) copyFileSync(path.join(root, name), at);
    return at;
  }

  sees(name: string, root: string): string {
    const at = path.join(this.upper, name);
    return readFileSync(existsSync(at) ? at : path.join(root, name), 'latin1');
  }

  drop(name: string): void {
    const fd = this.held.get(name);
    if (fd !== undefined) closeSync(fd);
    this.held.delete(name);
  }

  release(): void {
    for (const name of files) this.drop(name);
    this.memory.clear();
  }
}

class History {
  readonly dir = mkdtempSync(path.join(tmpdir(), 'trl-writers-'));
  readonly root = path.join(this.dir, 'tree');
  readonly #parts: Parts;
  readonly #trees: WorkspaceTrees;
  readonly #writers = new Map<string, Writer>();
  /** Lines by who wrote them: a command's id, or `person`. */
  readonly #written = new Map<string, string>();
  /** Lines that somebody who saw them took out, and those of commands that were undone. */
  readonly #gone = new Set<string>();
  readonly #records: ChangeRecord[] = [];
  readonly #cut = new Set<string>();
  #count = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
    mkdirSync(this.root);
    for (const name of files) {
      const start = name === 'binary' ? '\0\n' : '';
      writeFileSync(this.#at(name), `${start}${beginning(name)}`);
    }
    const trees = (this.#trees = new WorkspaceTrees(path.join(this.dir, 'cookies')));
    for (const one of ['a', 'b']) this.#writers.set(one, new Writer(one, this.dir, trees, parts));
  }

  async run(all: readonly Step[]): Promise<void> {
    for (const one of all) {
      const writer = this.#writers.get(one.who);
      if (writer === undefined) this.#byPerson(one);
      else await this.#byCommand(writer, one);
    }
    for (const writer of this.#writers.values()) await this.#end(writer);
    await this.#check();
  }

  async close(): Promise<void> {
    for (const { workspace } of this.#writers.values()) {
      await workspace.idle();
      workspace.close();
    }
    for (const writer of this.#writers.values()) writer.release();
    this.#trees.close();
    rmSync(this.dir, { recursive: true, force: true });
  }

  #at(name: string): string {
    return path.join(this.root, name);
  }

  #line(who: string): string {
    this.#parts.tally.lines += 1;
    const line = `${who} writes ${(this.#count += 1)}\n`;
    this.#written.set(line, who);
    return line;
  }

  #byPerson({ what, file: name, place }: Step): void {
    const text = readFileSync(this.#at(name), 'latin1');
    if (what === 'append' || what === 'hold') appendFileSync(this.#at(name), this.#line('person'));
    if (what === 'edit' || what === 'stale') {
      save(this.root, name, inserted(text, place, this.#line('person')));
    }
    if (what === 'remove') save(this.root, name, this.#without(text, place, this.#cut));
  }

  async #byCommand(writer: Writer, { what, file: name, place }: Step): Promise<void> {
    if (what === 'end') return this.#end(writer);
    if (what === 'undo') return this.#undo(writer, place);
    const who = await writer.begin();
    if (what === 'look') await writer.workspace.refresh(writer.session);
    if (what === 'read') writer.memory.set(name, writer.sees(name, this.root));
    if (what === 'append') appendFileSync(writer.own(name, this.root), this.#line(who));
    if (what === 'hold') {
      const fd = writer.held.get(name) ?? openSync(writer.own(name, this.root), 'a');
      writer.held.set(name, fd);
      writeSync(fd, this.#line(who));
    }
    if (what === 'edit') {
      const seen = writer.sees(name, this.root);
      writeFileSync(writer.own(name, this.root), inserted(seen, place, this.#line(who)), 'latin1');
    }
    if (what === 'remove') {
      const seen = this.#without(writer.sees(name, this.root), place);
      save(writer.upper, name, seen);
      // What it goes on to write to the file that it replaced is gone anywhere.
      writer.drop(name);
    }
    const memory = writer.memory.get(name);
    if (what === 'stale' && memory !== undefined) {
      writeFileSync(writer.own(name, this.root), inserted(memory, place, this.#line(who)));
    }
    // What it wrote itself since is its own affair.
    if (what !== 'read' && what !== 'look') writer.memory.delete(name);
  }

  #without(text: string, place: number, gone = this.#gone): string {
    const lines = linesOf(text);
    const [line] = lines.splice(Math.min(place + 1, lines.length - 1), 1);
    if (line !== undefined) gone.add(line);
    return lines.join('');
  }

  async #end(writer: Writer): Promise<void> {
    const { exec, workspace } = writer;
    if (exec === null) return;
    const record = await workspace.settle(exec);
    await workspace.idle();
    writer.exec = null;
    writer.release();
    if (record === null) return;
    this.#records.push(record);
    for (const change of record.changes) {
      if (change.marks.includes('merged')) this.#parts.tally.merged += 1;
      if (change.state !== 'conflict') continue;
      this.#parts.tally.conflicts += 1;
      assert.equal(change.keptAs, `${exec}:${change.path}`);
    }
  }

  /** Takes back a command that has ended: its lines go, and nobody else's. */
  async #undo(writer: Writer, place: number): Promise<void> {
    const own = this.#records.filter(({ session }) => session === writer.session);
    const record = own[place % Math.max(1, own.length)];
    if (record === undefined) return;
    this.#records.splice(this.#records.indexOf(record), 1);
    const { store, renames } = this.#parts;
    const before = new Map(files.map((name) => [name, this.#found(name)]));
    const steps = record.changes.flatMap((change) =>
      appliedStepsOf(change)
        .toReversed()
        .map((one) => ({ path: change.path, ...one })),
    );
    const tree = { root: this.root, uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
    const plan = await planUndo({ tree, records: [steps], contents: store });
    const id = randomBytes(4).toString('hex');
    const results = await applyChanges({ tree, id, items: plan.items, contents: store, renames });
    const refused = new Set(plan.refused.map((one) => one.path));
    const done = new Set(results.flatMap((one) => (one.state === 'applied' ? [one.path] : [])));
    for (const name of files) {
      const now = this.#found(name);
      const was = before.get(name) ?? new Set();
      const lost = [...was].filter((line) => !now.has(line));
      if (!done.has(name)) assert.deepEqual(lost, [], `${name}: undo changed what it refused`);
      assert.ok(!(refused.has(name) && done.has(name)), `${name}: both refused and undone`);
      const foreign: string[] = lost.filter((line) => this.#written.get(line) !== record.exec);
      assert.deepEqual(foreign, [], `${name}: undo of ${record.exec} took lines of others`);
      for (const line of lost) this.#gone.add(line);
      if (done.has(name)) this.#parts.tally.undone += 1;
    }
  }

  #found(name: string): Set<string> {
    return new Set(linesOf(readFileSync(this.#at(name), 'latin1')));
  }

  async #check(): Promise<void> {
    const there = linesOf(files.map((name) => readFileSync(this.#at(name), 'latin1')).join(''));
    assert.equal(new Set(there).size, there.length, `a line is there twice:\n${there.join('')}`);
    const real = new Set(there);
    const kept = new Set<string>();
    const all = [...this.#parts.store.records(recordKinds.changes)];
    for (const { changes, root } of all.map(({ value }) => value).filter(isChangeRecord)) {
      for (const { state, after } of root === this.root ? changes : []) {
        if (state !== 'conflict' || after?.type !== 'file' || after.sha256 === null) continue;
        const bytes = await this.#parts.store.read(after.sha256);
        for (const line of linesOf(bytes?.toString('latin1') ?? '')) kept.add(line);
      }
    }
    const back = [...this.#cut].filter((line) => real.has(line) && !this.#written.has(line));
    assert.deepEqual(back, [], 'what a person removed is there again');
    for (const [line, who] of this.#written) {
      if ([real, this.#gone, this.#cut].some((lines) => lines.has(line))) continue;
      assert.notEqual(who, 'person', `lost of a person: ${line}\n${there.join('')}`);
      assert.ok(kept.has(line), `lost, in no conflict: ${line}\n${there.join('')}`);
      this.#parts.tally.kept += 1;
    }
  }
}

const linesOf = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];

function inserted(text: string, place: number, line: string): string {
  const lines = linesOf(text);
  lines.splice(Math.min(place, lines.length), 0, line);
  return lines.join('');
}

export interface WritersHow {
  readonly runs: number;
  /** Run before all others. */
  readonly first?: readonly (readonly Step[])[];
  /** Puts a command's files into the real tree whatever stands there: the check must find it. */
  readonly isBlind?: boolean;
}

/** @throws the first history in which something was lost */
export async function provenWriters({
  runs,
  first = [],
  isBlind = false,
}: WritersHow): Promise<WritersTally> {
  const dir = mkdtempSync(path.join(tmpdir(), 'trl-writers-store-'));
  const store = await SnapshotStore.open(path.join(dir, 'segments'), {
    key: randomBytes(32),
    storeBytesMax: 256 * 1024 * 1024,
    fileBytesMax: 16 * 1024 * 1024,
    keepMs: 3_600_000,
    log: () => undefined,
  });
  using renames = new AtomicRenames();
  using attributes = new LayerAttributes();
  const tally = { histories: 0, lines: 0, merged: 0, conflicts: 0, undone: 0, kept: 0 };
  const decides = Object.getOwnPropertyDescriptor(FileMerger.prototype, 'put') ?? {};
  if (isBlind) Object.defineProperty(FileMerger.prototype, 'put', { ...decides, value: blind });
  try {
    const property = fc.asyncProperty(steps, async (all) => {
      const history = new History({ store, renames, attributes, tally });
      tally.histories += 1;
      try {
        await history.run(all);
      } finally {
        await history.close();
      }
    });
    const examples = first.map((all): [Step[]] => [[...all]]);
    await fc.assert(property, { numRuns: runs, examples, endOnFailure: isBlind });
    return tally;
  } finally {
    Object.defineProperty(FileMerger.prototype, 'put', decides);
    await store.close();
    rmSync(dir, { recursive: true, force: true });
  }
}

/** The decision is left out: what stands there is what the change is taken to start from. */
const blind: FileMerger['put'] = async (wanted, { apply }) => {
  const items = wanted.map(({ item: it, start }) => ({
    ...it,
    baseKey: start?.realKey ?? it.baseKey,
  }));
  const results = await apply(items);
  const put = items.flatMap((item) => {
    const result = results.get(item.path);
    return result === undefined ? [] : [[item.path, { result, item, isMerged: false }] as const];
  });
  return new Map(put);
};
