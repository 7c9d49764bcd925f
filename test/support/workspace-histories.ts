/**
 * Random histories of a session and a second writer in one directory, held against a model of both
 * trees: what the writer made is never lost, and what commands did is where it should be.
 */
import assert from 'node:assert/strict';
import { appendFileSync, mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import * as fc from 'fast-check';
import './seed.ts';
import { startRuntime, type Json } from './daemon.ts';
import { filesOf, replaceDirectory, save, seenBy } from './second-writer.ts';
import { openSession, type TestSession } from './session.ts';

const names = ['a', 'b', 'd/a', 'd/b'] as const;
const name = fc.constantFrom(...names);
/** Files by name; directories are not in it. */
type Files = Map<string, string>;

const edit = fc.record({
  kind: fc.constantFrom('save', 'append', 'remove', 'move'),
  name,
  to: name,
});
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      by: fc.constant('writer'),
      edits: fc.array(edit, { minLength: 1, maxLength: 3 }),
      folder: fc.integer({ max: 4, min: 0 }),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      by: fc.constant('command'),
      edits: fc.array(edit, { minLength: 1, maxLength: 4 }),
      dry: fc.integer({ max: 5, min: 0 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      by: fc.constant('back'),
      at: fc.nat(),
      how: fc.constantFrom('exec.undo', 'snapshot.restore'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ by: fc.constant('publish'), keep: fc.boolean() }) },
);
export const steps = (most: number) => fc.array(step, { minLength: 3, maxLength: most });
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;
type Edit = typeof edit extends fc.Arbitrary<infer One> ? One : never;

export interface HistoryTally {
  commands: number;
  writes: number;
  restored: number;
  conflicts: number;
}

export class WorkspaceHistory {
  readonly #dir: string;
  readonly #session: TestSession;
  readonly #isStaged: boolean;
  readonly #tally: HistoryTally;
  /** What waits, and whether the second writer touched it since. */
  readonly #waiting = new Map<string, { touched: boolean }>();
  readonly #execs: string[] = [];
  /** What commands, or undoing them, left at a path at any time. */
  readonly #left = new Set<string>();
  #real: Files = new Map();
  /** As the session sees it. */
  #view: Files = new Map();
  #count = 0;

  constructor(dir: string, session: TestSession, isStaged: boolean, tally: HistoryTally) {
    this.#dir = dir;
    this.#session = session;
    this.#isStaged = isStaged;
    this.#tally = tally;
  }

  async run(all: readonly Step[]): Promise<void> {
    await this.#begin();
    for (const one of all) {
      if (one.by === 'writer') this.#write(one.edits, one.folder);
      else if (one.by === 'command') await this.#command(one.edits, one.dry === 0);
      else if (one.by === 'back') await this.#back(one.at, one.how);
      else await this.#publish(one.keep);
      assert.deepEqual(this.#look(), this.#real, `the real tree after ${JSON.stringify(one)}`);
    }
    const seen = new Map(Object.entries(await seenBy(this.#session)).filter(isFile));
    assert.deepEqual(seen, this.#view, 'what the session sees');
  }

  async #begin(): Promise<void> {
    await this.#ask('workspace.discard', {});
    for (const one of Object.keys(filesOf(this.#dir))) {
      rmSync(path.join(this.#dir, one), { recursive: true, force: true });
    }
    await this.#session.run('true');
    mkdirSync(path.join(this.#dir, 'd'));
    save(this.#dir, 'd/a', 'start\n');
    save(this.#dir, 'a', 'start\n');
    this.#real = this.#look();
    this.#view = new Map(this.#real);
  }

  #look(): Files {
    return new Map(Object.entries(filesOf(this.#dir)).filter(isFile));
  }

  #write(edits: readonly Edit[], folder: number): void {
    this.#tally.writes += edits.length;
    const before = new Map(this.#real);
    if (folder === 0) {
      this.#count += 1;
      const text = `w-${this.#count}\n`;
      replaceDirectory(this.#dir, 'd', { b: text });
      this.#real.delete('d/a');
      this.#real.set('d/b', text);
    }
    for (const one of edits) {
      const line = this.#line('w');
      const at = path.join(this.#dir, one.name);
      if (one.kind === 'remove') rmSync(at, { force: true });
      else if (one.kind === 'append') appendFileSync(at, line);
      else save(this.#dir, one.name, line);
      const isSave = one.kind === 'save' || one.kind === 'move';
      change(this.#real, isSave ? { ...one, kind: 'save' } : one, line);
    }
    for (const one of names) {
      if (before.get(one) !== this.#real.get(one)) this.#others(one);
      if (!this.#waiting.has(one)) copy(this.#real, this.#view, one);
    }
  }

  #others(one: string): void {
    const waiting = this.#waiting.get(one);
    if (waiting !== undefined) waiting.touched = true;
  }

  async #command(all: readonly Edit[], isDry: boolean): Promise<void> {
    // What `mv` makes of a file that waits is held to in a test of its own.
    const edits = all.filter(({ kind }) => !this.#isStaged || kind !== 'move');
    this.#tally.commands += 1;
    const before = new Map(this.#view);
    const after = new Map(this.#view);
    const script = edits.map((one) => {
      const line = this.#line('c');
      change(after, one, line);
      return shell(one, line);
    });
    const more = isDry ? { workspace_mode: 'discard' } : {};
    const receipt: Json = await this.#session.run(script.join('\n'), more);
    const seen = receipt.changes.map((one: Json) => one.path);
    if (seen.length > 0) this.#execs.push(receipt.exec_id);
    if (isDry) return;
    const made = names.filter((one) => before.get(one) !== after.get(one));
    const untold = made.filter((one) => !seen.includes(one));
    assert.deepEqual(untold, [], `told: ${JSON.stringify(seen)}`);
    this.#view = after;
    for (const one of names) {
      if (!seen.includes(one)) continue;
      this.#left.add(`${one}: ${after.get(one)}`);
      if (!this.#isStaged) copy(after, this.#real, one);
      else this.#wait(one, before.get(one), after.get(one));
    }
  }

  #wait(one: string, before: string | undefined, after: string | undefined): void {
    // What goes where the real tree has nothing leaves nothing in the layer.
    const isNothing = before !== undefined && after === undefined && !this.#real.has(one);
    if (isNothing) this.#waiting.delete(one);
    else if (!this.#waiting.has(one)) this.#waiting.set(one, { touched: false });
  }

  async #publish(isKept: boolean): Promise<void> {
    const before = new Map(this.#real);
    const wanted = new Map(this.#view);
    const data = await this.#ask(isKept ? 'workspace.apply' : 'workspace.discard', {});
    if (isKept) this.#tally.conflicts += data.totals.conflicts;
    const now = this.#look();
    for (const [one, { touched }] of this.#waiting) {
      const right = isKept && !touched ? wanted : before;
      assert.equal(now.get(one), right.get(one), `${one}, published: ${JSON.stringify(data)}`);
    }
    for (const one of names) {
      if (!this.#waiting.has(one)) assert.equal(now.get(one), before.get(one), one);
    }
    this.#waiting.clear();
    this.#real = now;
    this.#view = new Map(now);
  }

  async #back(at: number, how: string): Promise<void> {
    const exec = this.#execs[at % Math.max(this.#execs.length, 1)];
    if (exec === undefined) return;
    const before = this.#look();
    const data = await this.#ask(how, { session_id: undefined, exec_id: exec });
    const now = this.#look();
    this.#tally.restored += data.restored.length;
    this.#tally.conflicts += data.conflicts.length;
    // What was taken back up to somebody else's version is told as the conflict that it met.
    const restored: string[] = [...data.restored, ...data.conflicts].map((one) => one.path);
    for (const one of names) {
      if (before.get(one) === now.get(one)) continue;
      assert.ok(restored.includes(one), `${one} changed and is not told: ${JSON.stringify(data)}`);
      const was = `${one}: ${before.get(one)}`;
      assert.ok(this.#left.has(was), `what the second writer left is gone: ${was}`);
      this.#left.add(`${one}: ${now.get(one)}`);
    }
    this.#real = now;
    for (const one of names) {
      if (!this.#waiting.has(one)) copy(now, this.#view, one);
      else if (before.get(one) !== now.get(one)) this.#others(one);
    }
  }

  #line(by: string): string {
    this.#count += 1;
    return `${by}-${this.#count}\n`;
  }

  async #ask(method: string, params: object): Promise<Json> {
    const { client, id } = this.#session;
    const answer = await client.ask(method, { session_id: id, ...params });
    assert.equal(answer.ok, true, JSON.stringify(answer));
    return answer.data;
  }
}

const isFile = ([one]: [string, string]): boolean => !one.endsWith('/');

function copy(from: Files, to: Files, one: string): void {
  const text = from.get(one);
  if (text === undefined) to.delete(one);
  else to.set(one, text);
}

/** What an edit makes of files. */
function change(files: Files, { kind, name: one, to }: Edit, line: string): void {
  const text = files.get(one);
  if (kind === 'save') files.set(one, line);
  else if (kind === 'append') files.set(one, (text ?? '') + line);
  else if (kind === 'remove') files.delete(one);
  else if (text !== undefined && one !== to) {
    files.delete(one);
    files.set(to, text);
  }
}

/** The same as a command does it. */
function shell({ kind, name: one, to }: Edit, line: string): string {
  const text = line.trimEnd();
  switch (kind) {
    case 'save':
      return `echo ${text} >${one}`;
    case 'append':
      return `echo ${text} >>${one}`;
    case 'remove':
      return `rm -f ${one}`;
    case 'move':
      return one === to ? ':' : `if [ -e ${one} ]; then mv ${one} ${to}; fi`;
  }
}

export interface Proof {
  readonly runs: number;
  /** Steps of a history. */
  readonly most: number;
  /** Does not look for a shorter history that fails, which takes minutes. */
  readonly endOnFailure?: boolean;
}

/** Runs histories in one session of a runtime of its own; throws with one that fails. */
export async function provenHistories(
  mode: 'direct' | 'staged',
  { runs, most, endOnFailure = false }: Proof,
): Promise<HistoryTally> {
  const tally = { commands: 0, writes: 0, restored: 0, conflicts: 0 };
  await using runtime = await startRuntime();
  const { root: dir, socketPath } = runtime;
  mkdirSync(path.join(dir, 'd'));
  await using session = await openSession(socketPath, { working_dir: dir, workspace_mode: mode });
  const property = fc.asyncProperty(steps(most), async (all) => {
    await new WorkspaceHistory(dir, session, mode === 'staged', tally).run(all);
  });
  await fc.assert(property, { numRuns: runs, endOnFailure });
  return tally;
}
