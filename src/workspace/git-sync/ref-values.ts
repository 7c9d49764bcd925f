/** Refs as they stand in files, read without following a link. */
import { readdirSync } from 'node:fs';
import type { BytePath } from '../../change.ts';
import { joined } from '../byte-path.ts';
import type { TreeSteps } from '../commit/steps.ts';
import type { RefValue } from './plan.ts';

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

export function valueIn(set: RefSet, name: string): RefValue {
  return set.loose.get(name) ?? set.packed.get(name) ?? null;
}

/** The value that a ref's file has; `null` where it is none. */
export function parseRef(text: string | null): RefValue {
  const line = text?.trimEnd() ?? '';
  return oid.test(line) || symbolic.test(line) ? line : null;
}

export function parsePacked(text: string | null): Map<string, string> {
  const found = new Map<string, string>();
  for (const line of (text ?? '').split('\n')) {
    const space = line.indexOf(' ');
    const value = line.slice(0, space);
    if (oid.test(value)) found.set(line.slice(space + 1), value);
  }
  return found;
}

export function readRef(steps: TreeSteps, common: BytePath, name: string): RefValue {
  return parseRef(steps.read(joined(common, name), valueBytesMax));
}

export function readPacked(steps: TreeSteps, common: BytePath): Map<string, string> {
  return parsePacked(steps.read(joined(common, 'packed-refs'), packedBytesMax));
}

export function readRefs(steps: TreeSteps, common: BytePath): RefSet {
  const loose = new Map<string, string>();
  const queue = ['refs'];
  for (const directory of queue) {
    if (loose.size > refsMax) break;
    for (const entry of entriesOf(steps, joined(common, directory))) {
      const name = `${directory}/${entry.name}`;
      if (entry.isDirectory()) queue.push(name);
      else if (entry.isFile() && !name.endsWith('.lock')) {
        const value = readRef(steps, common, name);
        if (value !== null) loose.set(name, value);
      }
    }
  }
  return { loose, packed: readPacked(steps, common) };
}

function entriesOf(steps: TreeSteps, path: BytePath) {
  const fd = steps.directory(path);
  if (fd === null) return [];
  try {
    return readdirSync(`/proc/self/fd/${fd}`, { withFileTypes: true, encoding: 'latin1' });
  } catch {
    return [];
  }
}

/** The object that a ref leads to, through other refs. */
export function resolved(set: RefSet, value: RefValue): RefValue {
  let at = value;
  for (let depth = 0; depth < 5 && at?.startsWith('ref: '); depth += 1) {
    at = valueIn(set, at.slice('ref: '.length));
  }
  return isOid(at) ? at : null;
}
