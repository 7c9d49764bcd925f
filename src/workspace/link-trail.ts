/** The links by which a path is reached: whoever may write one of them decides what is read. */
import { lstatSync, readlinkSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { realPathPrefix } from './inspect-path.ts';

/** As long as a chain of links may be (Linux: 40). */
const linksMax = 40;

/** Where an absolute path leads, and every link on the way: each of them decides what is read. */
export function linkTrailOf(path: string): string[] {
  const links: string[] = [];
  let at = path;
  // Each step resolves what holds a name, so that the next link is looked at where it lies.
  for (let count = 0; count < linksMax; count += 1) {
    const link = firstLink(at);
    if (link === null) return [...links, at];
    links.push(link.at);
    at = resolve(dirname(link.at), link.target, link.rest);
  }
  return [...links, realPathPrefix(path)];
}

function firstLink(path: string): { at: string; target: string; rest: string } | null {
  const parts = path.split('/').filter(Boolean);
  for (const index of parts.keys()) {
    const at = `/${parts.slice(0, index + 1).join('/')}`;
    const target = targetOf(at);
    if (target === undefined) return null;
    if (target !== null) return { at, target, rest: parts.slice(index + 1).join('/') };
  }
  return null;
}

/** `null`: no link; `undefined`: nothing, or nothing that can be looked at. */
function targetOf(path: string): string | null | undefined {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : null;
  } catch {
    return undefined;
  }
}
