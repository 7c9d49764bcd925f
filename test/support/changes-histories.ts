/** Random histories of commands, and what must hold after each. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  lstatSync,
  mkdirSync,
  readlinkSync,
  rmdirSync,
  symlinkSync,
  unlinkSync,
} from 'node:fs';
import * as fc from 'fast-check';
import './seed.ts';
import type { CapturedChange, OverlayCaptureOptions } from '../../src/workspace/changes/capture.ts';
import { IndexCapture } from '../../src/workspace/changes/index-capture.ts';
import type { LayerAttributes } from '../../src/workspace/changes/layer-attributes.ts';
import { OverlayCapture } from '../../src/workspace/changes/overlay-diff.ts';
import { told } from './changes-told.ts';
import { differences, MemoryContents, picture, Stage, Yard } from './changes.ts';

/** What happens after a command, besides the capture. */
type Then =
  | { readonly kind: 'nothing' }
  /** The real tree gets what changed, except where the dice say no; then the layer is cleared. */
  | { readonly kind: 'apply'; readonly held: readonly boolean[] }
  | { readonly kind: 'restart' };

export interface Step {
  readonly script: string;
  readonly next: Then;
}

const part = fc.constantFrom('a', 'b', 'd', 'e', 'é');
const place = fc
  .oneof(fc.tuple(part), fc.tuple(part, part), fc.tuple(part, part, part))
  .map((parts) => parts.join('/'));
const content = fc.constantFrom('one', 'two', 'three', '');
const fileMode = fc.constantFrom('600', '644', '4755');
const mode = fc.constantFrom('700', '755', '1777');

const one = (about: (at: string) => string): fc.Arbitrary<string> => place.map(about);
const two = (about: (from: string, to: string) => string): fc.Arbitrary<string> =>
  fc.tuple(place, place).map(([from, to]) => about(from, to));
const replace = `${process.arch === 'arm64' ? 276 : 316}, -100, $ARGV[0], -100, $ARGV[1], 2`;

const operation = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .tuple(place, content)
      .map(([at, text]) => `[ -p ${at} ] || printf '${text}' > ${at}`),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(place, content)
      .map(([at, text]) => `[ -p ${at} ] || printf '${text}' >> ${at}`),
  },
  { weight: 4, arbitrary: one((at) => `mkdir -p ${at}`) },
  { weight: 4, arbitrary: one((at) => `rm -rf ${at}`) },
  { weight: 3, arbitrary: one((at) => `rm -rf ${at}; mkdir ${at}`) },
  { weight: 1, arbitrary: one((at) => `rmdir ${at}`) },
  { weight: 3, arbitrary: two((from, to) => `mv ${from} ${to}`) },
  { weight: 2, arbitrary: two((from, to) => `mv -T ${from} ${to}`) },
  { weight: 2, arbitrary: two((from, to) => `cp -a --remove-destination ${from} ${to}`) },
  { weight: 1, arbitrary: two((from, to) => `perl -e 'syscall(${replace})' ${from} ${to}`) },
  { weight: 2, arbitrary: two((from, to) => `ln ${from} ${to}`) },
  { weight: 2, arbitrary: two((from, to) => `ln -sfn ${from} ${to}`) },
  { weight: 2, arbitrary: fc.tuple(mode, place).map(([bits, at]) => `chmod ${bits} ${at}`) },
  {
    weight: 2,
    // A directory like that keeps an ordinary user out, and with it what looks at the tree.
    arbitrary: fc.tuple(fileMode, place).map(([bits, at]) => `[ -d ${at} ] || chmod ${bits} ${at}`),
  },
  { weight: 1, arbitrary: one((at) => `touch ${at}`) },
  { weight: 1, arbitrary: one((at) => `truncate -s 2 ${at}`) },
  { weight: 1, arbitrary: one((at) => `mkfifo ${at}`) },
);

const then: fc.Arbitrary<Then> = fc.oneof(
  { weight: 2, arbitrary: fc.constant<Then>({ kind: 'nothing' }) },
  { weight: 2, arbitrary: fc.constant<Then>({ kind: 'apply', held: [] }) },
  {
    weight: 2,
    arbitrary: fc
      .array(fc.boolean(), { minLength: 1, maxLength: 7 })
      .map<Then>((held) => ({ kind: 'apply', held })),
  },
  { weight: 1, arbitrary: fc.constant<Then>({ kind: 'restart' }) },
);

export const history: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.record({
    script: fc.array(operation, { minLength: 1, maxLength: 6 }).map((all) => all.join('\n')),
    next: then,
  }),
  { minLength: 1, maxLength: 6 },
);

const firstTree = `umask 022; mkdir -p a d/e/b d/a e/d; printf one > b; printf two > d/b
printf one > d/e/a; printf three > d/e/b/a; printf x > e/a; ln e/a e/b
ln -s ../b d/d; printf é > é`;

/** Runs a history on an overlay; throws where something is not told exactly. */
export async function proveOverlay(
  steps: readonly Step[],
  attributes: LayerAttributes,
): Promise<void> {
  using yard = new Yard();
  const [root, upper, work] = ['real', 'upper', 'work'].map((name) => yard.directory(name));
  assert.ok(root !== undefined && upper !== undefined && work !== undefined);
  spawnSync('sh', ['-c', firstTree], { cwd: root });
  await using stage = await Stage.overlay(yard, [root], upper, work);
  const contents = new MemoryContents();
  const idShift = { uid: 0, gid: 0 };
  const isMasked = (): boolean => false;
  const options: OverlayCaptureOptions = { root, upper, idShift, isMasked, contents, attributes };
  let capturing = new OverlayCapture(options);
  let isAllApplied = true;
  let before = await stage.picture();
  for (const { script, next } of steps) {
    await stage.run(script);
    const after = await stage.picture();
    const capture = await capturing.capture();
    assert.deepEqual(await told(capture, contents), differences(before, after), script);
    before = after;
    if (next.kind === 'nothing') {
      isAllApplied &&= capture.changes.length === 0;
      continue;
    }
    if (next.kind === 'restart') {
      isAllApplied &&= capture.changes.length === 0;
      const state = capturing.ledgerJson();
      capturing = new OverlayCapture(options);
      capturing.restoreLedger(state);
      assert.deepEqual((await capturing.capture()).changes, []);
      continue;
    }
    const applied = apply(capture.changes, next.held, stage.view, root);
    isAllApplied &&= applied.length === capture.changes.length;
    assert.deepEqual(await capturing.clearApplied(applied), []);
    await stage.refresh();
    const cleared = await stage.picture();
    assert.deepEqual(differences(after, cleared), {}, 'clearing changed what the session sees');
    if (isAllApplied) {
      assert.deepEqual(differences(picture(root), cleared), {});
      assert.deepEqual([...picture(upper).keys()], [''], 'the layer is not empty');
    }
    assert.deepEqual((await capturing.capture()).changes, [], 'clearing is told as a change');
  }
}

/** The same without an overlay. */
export async function proveIndex(steps: readonly Step[]): Promise<void> {
  using yard = new Yard();
  const root = yard.directory('real');
  spawnSync('sh', ['-c', firstTree], { cwd: root });
  await using stage = await Stage.plain(yard, root);
  const contents = new MemoryContents();
  const capturing = await IndexCapture.open({ root, contents, entriesMax: 10_000 });
  let before = await stage.picture();
  for (const { script } of steps) {
    await stage.run(script);
    const after = await stage.picture();
    const capture = await capturing.capture();
    assert.deepEqual(await told(capture, contents), differences(before, after), script);
    before = after;
  }
}

/** Brings changes to the real tree by the plainest means; answers the paths where it could. */
function apply(
  changes: readonly CapturedChange[],
  held: readonly boolean[],
  view: string,
  root: string,
): string[] {
  const dice = new Map(changes.map(({ path: at }, index) => [at, held[index % held.length]]));
  const isLet = (change: CapturedChange): boolean =>
    dice.get(change.path) !== true && change.kind !== 'special';
  const removals = changes.filter(({ after }) => after === null).toReversed();
  const rest = changes.filter(({ after }) => after !== null);
  return [...removals, ...rest]
    .filter((change) => isLet(change) && put(change, view, root))
    .map((change) => change.path);
}

function put(change: CapturedChange, view: string, root: string): boolean {
  const at = (tree: string, name: string): Buffer => Buffer.from(`${tree}/${name}`, 'latin1');
  const [from, to] = [at(view, change.path), at(root, change.path)];
  try {
    // A way through a link, as a held change may leave one, is none.
    const way = change.path.split('/').slice(0, -1);
    const isPlain = way.every((_, index) =>
      lstatSync(at(root, way.slice(0, index + 1).join('/'))).isDirectory(),
    );
    if (!isPlain) return false;
    const stood = lstatSync(to, { throwIfNoEntry: false });
    const isKept = stood?.isDirectory() === true && change.after?.type === 'directory';
    if (stood?.isDirectory() === true && !isKept) rmdirSync(to);
    else if (stood !== undefined && !isKept) unlinkSync(to);
    if (change.after === null) return true;
    if (change.after.type === 'symlink') symlinkSync(readlinkSync(from, 'buffer'), to);
    else {
      if (change.after.type === 'file') copyFileSync(from, to);
      else if (!isKept) mkdirSync(to);
      chmodSync(to, change.after.mode);
    }
    return true;
  } catch {
    return false;
  }
}
