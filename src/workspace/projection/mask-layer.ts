/**
 * Writes the mask layer of an overlay: whiteouts at hidden paths, and the directories that lead to
 * them. An overlay shows the attributes of the topmost directory, so these are like the real ones.
 *
 *   layer/            as the real root
 *   layer/.env        whiteout
 *   layer/src/        as the real `src`
 *   layer/src/key     whiteout, a hard link to the first
 */
import {
  chmodSync,
  chownSync,
  copyFileSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  type Stats,
  utimesSync,
} from 'node:fs';
import type { BytePath } from '../../change.ts';
import { baseNameOf, bytePathOf, errnoCodeOf, parentPathOf, pathBytes } from '../byte-path.ts';
import { TimeSlices } from '../time-slices.ts';
import { OpenDirectory } from './open-directory.ts';

/** What Node cannot do; `LayerAttributes` of `workspace/changes` can. Paths are absolute bytes. */
export interface LayerMarkWriter {
  makeWhiteouts(paths: readonly BytePath[]): Promise<void>;
  makeOpaque(paths: readonly BytePath[]): Promise<void>;
}

/** To whom the layer's directories belong on disk. */
export interface LayerOwner {
  readonly uid: number;
  readonly gid: number;
}

/** A directory that is shown instead of the real one of that path. */
interface ReplacedDirectory {
  readonly path: BytePath;
  /** Whose content is copied: directories and regular files only. */
  readonly from: string;
}

interface MaskLayerInput {
  readonly root: string;
  /** An empty directory. */
  readonly directory: string;
  /** Topmost hidden paths, each of which becomes a whiteout. */
  readonly hidden: readonly BytePath[];
  /** Directories that take the place of what is there. */
  readonly placed: readonly ReplacedDirectory[];
  readonly owner: LayerOwner;
  readonly marks: LayerMarkWriter;
}

/** Directories of unmapped users get an owner that no command runs as. */
const strangers = 65_536;

/** @throws where something could not be made: the layer must not be used then */
export async function writeMaskLayer(input: MaskLayerInput): Promise<void> {
  const { root, directory, hidden, placed, marks } = input;
  const base = bytePathOf(directory);
  const slices = new TimeSlices();
  const parents = parentDirectoriesOf([...hidden, ...placed.map((one) => one.path)]);
  for (const path of parents) {
    if (slices.isOver) await slices.yieldTurn();
    if (path !== '') inLayer(directory, path, (at) => mkdirSync(at, 0o700));
  }
  let whiteout: BytePath | null = null;
  for (const path of hidden) {
    if (slices.isOver) await slices.yieldTurn();
    if (whiteout !== null && linked(directory, whiteout, path)) continue;
    await marks.makeWhiteouts([`${base}/${path}`]);
    whiteout = path;
  }
  for (const one of placed) {
    inLayer(directory, one.path, (at) => copyTree(Buffer.from(one.from), at, input.owner));
  }
  await marks.makeOpaque(placed.map((one) => `${base}/${one.path}`));
  // Inner ones first: what is made in a directory sets its times.
  for (const path of parents.toReversed()) {
    if (slices.isOver) await slices.yieldTurn();
    likeReal({ root, directory, path, owner: input.owner });
  }
}

/** Sets modes, owners and times of some of a layer's directories as the real ones have them now. */
export function refreshMaskLayer(input: {
  readonly root: string;
  readonly directory: string;
  readonly owner: LayerOwner;
  readonly paths: readonly BytePath[];
}): void {
  const { root, directory, owner } = input;
  for (const path of input.paths.toReversed()) likeReal({ root, directory, path, owner });
}

/** `''` and every directory that leads to one of `paths`, outer ones first. */
export function parentDirectoriesOf(paths: readonly BytePath[]): BytePath[] {
  const found = new Set<BytePath>(['']);
  for (const path of paths) {
    const missing: BytePath[] = [];
    for (let at = parentPathOf(path); !found.has(at); at = parentPathOf(at)) missing.push(at);
    for (const one of missing.toReversed()) found.add(one);
  }
  return [...found];
}

/** `false`: the file system allows no more links to the first whiteout. */
function linked(directory: string, from: BytePath, to: BytePath): boolean {
  try {
    inLayer(directory, from, (source) => inLayer(directory, to, (at) => linkSync(source, at)));
    return true;
  } catch (error) {
    if (errnoCodeOf(error) === 'EMLINK') return false;
    throw error;
  }
}

function likeReal(given: {
  readonly root: string;
  readonly directory: string;
  readonly path: BytePath;
  readonly owner: LayerOwner;
}): void {
  const { root, directory, path, owner } = given;
  const real = realDirectory(root, path);
  // Gone meanwhile: the next look at the tree finds it so, and another layer is made.
  if (real === null) return;
  const top = lstatSync(root);
  inLayer(directory, path, (at) => {
    const uid = mapped(real.uid, top.uid, owner.uid);
    const gid = mapped(real.gid, top.gid, owner.gid);
    let mode = real.mode & 0o7777;
    const now = lstatSync(at);
    if (now.uid !== uid || now.gid !== gid) {
      try {
        chownSync(at, uid, gid);
      } catch {
        // Not ours to give away: a stranger's directory is to nobody more than to others.
        const others = real.mode & 0o7;
        if (real.uid !== now.uid) mode = (real.mode & 0o1000) | (others * 0o111);
      }
    }
    // After the owner, whose change takes bits away.
    chmodSync(at, mode);
    utimesSync(at, real.atimeMs / 1_000, real.mtimeMs / 1_000);
  });
}

/** Copies directories and files with their modes, to an owner. */
function copyTree(from: Buffer, to: Buffer, owner: LayerOwner): void {
  const stat = lstatSync(from);
  if (stat.isDirectory()) {
    mkdirSync(to, stat.mode & 0o777);
    for (const name of readdirSync(from, { encoding: 'buffer' })) {
      const slash = Buffer.from('/');
      copyTree(Buffer.concat([from, slash, name]), Buffer.concat([to, slash, name]), owner);
    }
  } else {
    copyFileSync(from, to);
  }
  if (stat.uid !== owner.uid || stat.gid !== owner.gid) chownSync(to, owner.uid, owner.gid);
  chmodSync(to, stat.mode & 0o777);
  utimesSync(to, stat.atimeMs / 1_000, stat.mtimeMs / 1_000);
}

/** As an idmapped mount of the real tree shows owners: its own becomes `to`, others strangers. */
function mapped(id: number, own: number, to: number): number {
  if (own === to) return id;
  return id === own ? to : to + strangers + (id % strangers);
}

function realDirectory(root: string, path: BytePath): Stats | null {
  try {
    using opened = OpenDirectory.open(root, path);
    return lstatSync(`${opened.self}/.`);
  } catch {
    return null;
  }
}

/** Calls `act` with a path of the host that the kernel takes, however deep the layer is. */
function inLayer(directory: string, path: BytePath, act: (at: Buffer) => void): void {
  if (path.length < 3_000) {
    act(Buffer.concat([Buffer.from(directory), pathBytes(path === '' ? '' : `/${path}`)]));
    return;
  }
  using opened = OpenDirectory.open(directory, parentPathOf(path));
  act(opened.at(baseNameOf(path)));
}
