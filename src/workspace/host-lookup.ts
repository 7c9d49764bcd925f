/** Looks up entries of the host by absolute byte paths, and caches the answers for one decision. */
import { lstatSync, readdirSync, readlinkSync } from 'node:fs';
import type { BytePath } from '../change.ts';
import { readSmallText } from './beneath.ts';
import { pathBytes } from './byte-path.ts';

const linksMax = 40;

export type HostEntry =
  | { readonly kind: 'directory' | 'file' | 'nothing' }
  | { readonly kind: 'link'; readonly target: string };

/** Where a path leads. All are absolute, without a link in the directories before the last part. */
interface LinkResolution {
  /** What decides where it leads: each link on the way, and where the last one leads to. */
  readonly trail: readonly BytePath[];
  /** The path after every link; it may not exist. */
  readonly end: BytePath;
}

export class HostLookup {
  readonly #entries = new Map<BytePath, HostEntry>();

  at(path: BytePath): HostEntry {
    const known = this.#entries.get(path);
    if (known !== undefined) return known;
    const found = look(path);
    this.#entries.set(path, found);
    return found;
  }

  /** The names in a directory, at most `max` of them; none where it cannot be read. */
  names(directory: BytePath, max: number): string[] {
    try {
      return readdirSync(pathBytes(directory), { encoding: 'latin1' }).slice(0, max);
    } catch {
      return [];
    }
  }

  /** A regular file's text; `null` for anything else. */
  text(path: BytePath, bytesMax: number): string | null {
    return readSmallText(pathBytes(path), bytesMax);
  }

  /** Follows a path as the kernel does. A circle ends where it began to repeat. */
  follow(path: BytePath): LinkResolution {
    const trail: BytePath[] = [];
    let at = '';
    let rest = partsOf(path);
    while (rest.length > 0) {
      const [part = '', ...after]: string[] = rest;
      rest = after;
      if (part === '..') {
        at = at.slice(0, Math.max(0, at.lastIndexOf('/')));
        continue;
      }
      const next = `${at}/${part}`;
      const stands = this.at(next);
      if (stands.kind !== 'link') {
        at = next;
        continue;
      }
      trail.push(next);
      if (trail.length > linksMax) break;
      if (stands.target.startsWith('/')) at = '';
      rest = [...partsOf(stands.target), ...rest];
    }
    return { trail: [...trail, at], end: at };
  }
}

function partsOf(path: string): string[] {
  return path.split('/').filter((part) => part !== '' && part !== '.');
}

function look(path: BytePath): HostEntry {
  try {
    const stat = lstatSync(pathBytes(path), { throwIfNoEntry: false });
    if (stat === undefined) return { kind: 'nothing' };
    if (stat.isDirectory()) return { kind: 'directory' };
    if (!stat.isSymbolicLink()) return { kind: 'file' };
    return { kind: 'link', target: readlinkSync(pathBytes(path), { encoding: 'latin1' }) };
  } catch {
    return { kind: 'nothing' };
  }
}
