/** Refs as they stand in files, read without following a link. */
import { readdirSync } from 'node:fs';
import type { BytePath } from '../../change.ts';
import { joinPath } from '../byte-path.ts';
import type { TreePathResolver } from '../commit/tree-path-resolver.ts';
import type { RefValue } from './git-plan.ts';

const valueBytesMax = 4_096;
const packedBytesMax = 64 * 1024 * 1024;
const refsMax = 100_000;
const oid = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;
const symbolic = /^ref: refs\/[^\0\n]+$/;

export interface RefSet {
  readonly loose: ReadonlyMap<string, string>;
  readonly packed: ReadonlyMap<string, string>;
}

export const isOid = (value: RefValue): value is string => value !== null && oid.test(value);

export function refValueIn(set: RefSet, name: string): RefValue {
  return set.loose.get(name) ?? set.packed.get(name) ?? null;
}

/** The value that a ref's file has; `null` where it is none. */
export function parseRef(text: string | null): RefValue {
  const line = text?.trimEnd() ?? '';
  return oid.test(line) || symbolic.test(line) ? line : null;
}

export function parsePackedRefs(text: string | null): Map<string, string> {
  const found = new Map<string, string>();
  for (const line of (text ?? '').split('\n')) {
    const space = line.indexOf(' ');
    const value = line.slice(0, space);
    if (oid.test(value)) found.set(line.slice(space + 1), value);
  }
  return found;
}

export function readRef(steps: TreePathResolver, common: BytePath, name: string): RefValue {
  return parseRef(steps.read(joinPath(common, name), valueBytesMax));
}

export function readPackedRefs(steps: TreePathResolver, common: BytePath): Map<string, string> {
  return parsePackedRefs(steps.read(joinPath(common, 'packed-refs'), packedBytesMax));
}

export function readRefs(steps: TreePathResolver, common: BytePath): RefSet {
  const loose = new Map<string, string>();
  const queue = ['refs'];
  for (const directory of queue) {
    if (loose.size > refsMax) break;
    for (const entry of entriesOf(steps, joinPath(common, directory))) {
      const name = `${directory}/${entry.name}`;
      if (entry.isDirectory()) queue.push(name);
      else if (entry.isFile() && !name.endsWith('.lock')) {
        const value = readRef(steps, common, name);
        if (value !== null) loose.set(name, value);
      }
    }
  }
  return { loose, packed: readPackedRefs(steps, common) };
}

function entriesOf(steps: TreePathResolver, path: BytePath) {
  const fd = steps.directory(path);
  if (fd === null) return [];
  try {
    return readdirSync(`/proc/self/fd/${fd}`, { withFileTypes: true, encoding: 'latin1' });
  } catch {
    return [];
  }
}

/** The object that a ref leads to, through other refs. */
export function resolveRefValue(set: RefSet, value: RefValue): RefValue {
  let at = value;
  for (let depth = 0; depth < 5 && at?.startsWith('ref: '); depth += 1) {
    at = refValueIn(set, at.slice('ref: '.length));
  }
  return isOid(at) ? at : null;
}
