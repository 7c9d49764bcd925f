/** A workspace with an overlay in its place, without the runner: for tests of the mounting. */
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Overlay } from '../../src/command.ts';
import { openNamespace, type OpenNamespace } from '../../src/runner/namespace.ts';
import { OverlayRefresher } from '../../src/runner/overlay-refresher.ts';
import { gatherHostFacts, type HostFacts } from '../../src/sandbox/host-facts.ts';
import { planBox, visibleTrees, type BoxWorkspace } from '../../src/sandbox/plan.ts';
import { surveyWorkspace } from '../../src/workspace/workspace-survey.ts';
import { onHost, runIn, temporary, type BubblewrapBox } from './box.ts';

export interface LayeredOptions {
  /** Name of the workspace's directory. */
  readonly name?: string;
  /** Makes the workspace's files. Default: none. */
  readonly files?: Readonly<Record<string, string>>;
  /** A script that makes the mask; it runs in the mask's directory, `$1` is the workspace. */
  readonly mask?: string;
  readonly host?: Partial<HostFacts>;
  /** Trees that are granted beside or in the workspace. */
  readonly read?: readonly string[];
}

/** A workspace, its layers and the plan of a box over them. */
export interface Layered extends Disposable {
  readonly tree: string;
  readonly overlay: Overlay;
  readonly box: BubblewrapBox;
  readonly host: HostFacts;
  readonly workspace: BoxWorkspace;
  /** The same workspace without an overlay. */
  readonly plainBox: BubblewrapBox;
  readonly plan: (overlay: Overlay | null, once?: boolean) => BubblewrapBox;
}

export interface OpenLayered extends Layered {
  readonly holder: OpenNamespace;
  /** What a command printed, both streams, with `exit N` behind where it failed. */
  run(command: string): Promise<string>;
  refresh(): Promise<void>;
}

export async function layered(options: LayeredOptions = {}): Promise<Layered> {
  const place = temporary();
  const tree = path.join(place.path, options.name ?? 'ws');
  const layers = path.join(place.path, `${options.name ?? ''}.layers`);
  mkdirSync(tree, { mode: 0o755 });
  mkdirSync(layers, { mode: 0o700 });
  for (const [name, text] of Object.entries(options.files ?? {})) {
    mkdirSync(path.dirname(path.join(tree, name)), { recursive: true });
    writeFileSync(path.join(tree, name), text);
  }
  const mask = options.mask === undefined ? null : path.join(layers, 'mask');
  if (mask !== null) {
    mkdirSync(mask);
    onHost(`set -- "$TREE"\n${options.mask ?? ''}`.replace('$TREE', tree), mask);
  }
  const host = { ...(await gatherHostFacts(process.env)), ...options.host };
  const rules = { allow: [], deny: [] };
  const facts = await surveyWorkspace({
    root: tree,
    files: { read: { ...rules, allow: options.read ?? [] }, write: rules },
    home: host.home,
    visible: visibleTrees(host),
    entriesMax: 10_000,
  });
  const { dev, ino } = statSync(tree);
  const upper = path.join(layers, 'upper');
  const view = 'view';
  const overlay = {
    view,
    tree,
    place: `${dev}:${ino}`,
    mask,
    upper,
    work: path.join(layers, 'work'),
  };
  const plan = (over: Overlay | null, once = false): BubblewrapBox =>
    planBox({
      host,
      workspace: { ...facts, overlay: over },
      grants: { network: 'off' },
      scratchBytes: 64 * 1024 * 1024,
      once,
      digest: (text) => createHash('sha256').update(text).digest('hex'),
    });
  return {
    tree,
    overlay,
    host,
    workspace: facts,
    plan,
    box: plan(overlay),
    plainBox: plan(null),
    [Symbol.dispose]: () => removeLayers(place.path),
  };
}

export async function openLayered(
  options: LayeredOptions = {},
): Promise<OpenLayered & AsyncDisposable> {
  const made = await layered(options);
  const holder = await openNamespace(made.box.holder);
  await holder.bounded;
  const refresher = new OverlayRefresher();
  const dispose = (): void => {
    holder.close();
    refresher.close();
    made[Symbol.dispose]();
  };
  return {
    ...made,
    holder,
    run: async (command) => {
      const answer = await runIn(holder, made.box, command, { cwd: made.tree });
      const end = answer.code === 0 ? '' : `exit ${answer.code}\n`;
      return answer.stdout + answer.stderr + end;
    },
    refresh: async () => {
      const { overlay } = holder;
      if (overlay === null) throw new Error('no overlay is mounted');
      await refresher.refresh(overlay, made.host.tools.perl ?? 'perl');
    },
    [Symbol.dispose]: dispose,
    [Symbol.asyncDispose]: () => Promise.resolve(dispose()),
  };
}

/** The kernel makes a directory that nobody may enter: an ordinary user has to open it first. */
export function removeLayers(name: string): void {
  onHost('chmod -R u+rwx .', name);
  chmodSync(name, 0o700);
  rmSync(name, { recursive: true, force: true });
}
