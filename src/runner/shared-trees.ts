/**
 * Layers of sandbox namespaces over trees of the host:
 *
 *   <layers>/N/upper, work   of one mount
 *   <layers>/N/free          no mount uses it any more: the next one takes it
 */
import { chmodSync, chownSync, mkdirSync, readdirSync, unlinkSync } from 'node:fs';
import path from 'node:path';
import type { SharedTree } from '../caches.ts';
import type { SandboxNamespace } from '../command.ts';

/** Layers that are shown below one at most; the kernel takes options of one page. */
const lowerMax = 32;

/**
 * The shared trees' part of the namespace script's arguments. Each gets a layer that no other mount
 * has.
 *
 * @throws Error of the file system
 */
export function sharedTreeArgs(holder: SandboxNamespace): string[] {
  const all = holder.shared ?? [];
  return [String(all.length), ...all.flatMap((tree) => argsOf(holder, tree))];
}

function argsOf(holder: SandboxNamespace, tree: SharedTree): string[] {
  const { source, uid, gid, within, place, layers } = tree;
  const index = holder.staged.findIndex((one) => one.source === within);
  if (index === -1) throw new Error(`"${within}" is not staged`);
  const numbers = readdirSync(layers)
    .map(Number)
    .toSorted((a, b) => b - a);
  const top = numbers.find((one) => take(layers, one)) ?? make(holder, layers, numbers[0] ?? 0);
  const lower = numbers.filter((one) => one !== top).slice(0, lowerMax);
  const owner = [String(uid), String(gid)];
  return [...owner, source, String(index), place, layers, lower.join(':'), String(top)];
}

/** Claims a free layer, also against runners of other runtimes; returns whether it was free. */
function take(layers: string, number: number): boolean {
  try {
    unlinkSync(path.join(layers, String(number), 'free'));
    return true;
  } catch {
    return false;
  }
}

function make({ level, hostUid, hostGid }: SandboxNamespace, layers: string, last: number): number {
  const own = path.join(layers, String(last + 1));
  const upper = path.join(own, 'upper');
  for (const one of [own, path.join(own, 'work'), upper]) mkdirSync(one, { mode: 0o700 });
  chmodSync(upper, 0o755);
  if (level !== 'user') chownSync(upper, hostUid, hostGid);
  return last + 1;
}
