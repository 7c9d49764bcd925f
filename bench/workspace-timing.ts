/**
 * Loaded into a measured daemon before everything else (`--import`): notes how long the steps of a
 * command take, and writes them to the file that TRL_BENCH_TIMES names when the daemon ends. The
 * sources know nothing of it; a step costs two readings of the clock.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
import { ExecRecorder } from '../src/daemon/auditing/exec-recorder.ts';
import { ContextCache } from '../src/daemon/sessions/context-cache.ts';
import { Runners } from '../src/daemon/runners.ts';
import { ChangeCommitter } from '../src/host/change-committer.ts';
import { SessionWorkspace } from '../src/host/session-workspace.ts';
import { WorkspaceTree } from '../src/host/workspace-tree.ts';
import { SnapshotStore } from '../src/snapshot/store.ts';
import { OverlayCapture } from '../src/workspace/changes/overlay-diff.ts';
import { figuresOf } from './stats.ts';

const file = process.env['TRL_BENCH_TIMES'];
const times = new Map<string, number[]>();
/** Of the workspace whose command is being settled. */
let place: string | null = null;

function note(step: string, begun: number): void {
  const name = `${place ?? ''} ${step}`;
  const all = times.get(name) ?? [];
  times.set(name, all);
  all.push(performance.now() - begun);
}

/** Times a method of a class, however it is called. */
function time(type: { readonly prototype: object }, method: string, step: string): void {
  const original: unknown = Reflect.get(type.prototype, method);
  if (typeof original !== 'function') throw new Error(`no method ${method} to be timed`);
  Reflect.set(type.prototype, method, function timed(this: object, ...args: unknown[]): unknown {
    if (step === 'settle' || step === 'fresh' || step === 'begin') place = rootOf(this);
    const begun = performance.now();
    const result: unknown = Reflect.apply(original, this, args);
    if (result instanceof Promise) {
      // The caller hears of a failure; here it is only a time.
      result.finally(() => note(step, begun)).catch(() => {});
    } else {
      note(step, begun);
    }
    return result;
  });
}

function rootOf(workspace: object): string {
  const parts: unknown = Reflect.get(workspace, 'parts');
  const tree: unknown =
    typeof parts === 'object' && parts !== null ? Reflect.get(parts, 'tree') : 0;
  return tree instanceof WorkspaceTree ? tree.root : '';
}

if (isMainThread && file !== undefined) {
  time(ContextCache, 'of', 'ground');
  time(Runners, 'launch', 'launch');
  time(Runners, 'exited', 'run');
  time(SessionWorkspace, 'fresh', 'fresh');
  time(SessionWorkspace, 'begin', 'begin');
  time(SessionWorkspace, 'settle', 'settle');
  time(ExecRecorder, 'starting', 'start');
  time(ExecRecorder, 'ended', 'end');
  time(OverlayCapture, 'capture', 'capture');
  time(OverlayCapture, 'clearApplied', 'clear');
  time(ChangeCommitter, 'commit', 'commit');
  time(WorkspaceTree, 'exclusive', 'apply');
  time(SnapshotStore, 'sync', 'sync');
  process.on('exit', () => {
    const all = [...times].map(([name, samples]) => [name, figuresOf(samples)]);
    writeFileSync(file, JSON.stringify(Object.fromEntries(all)));
  });
}

export interface StepTimes {
  /** p50 in ms, by step. */
  readonly [step: string]: number;
}

/** What was noted for the workspace at `root`. */
export function stepsOf(times: string, root: string): StepTimes {
  const all: unknown = JSON.parse(readFileSync(times, 'utf8'));
  if (typeof all !== 'object' || all === null) return {};
  return Object.fromEntries(
    Object.entries(all)
      .filter(([name]) => name.startsWith(`${root} `))
      .map(([name, figures]) => [name.slice(root.length + 1), Number(Reflect.get(figures, 'p50'))]),
  );
}
