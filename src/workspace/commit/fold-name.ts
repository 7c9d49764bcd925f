/**
 * How file systems and tools that are less exact than Linux take a name: without regard to case, to
 * characters that show nothing (HFS+), to dots and spaces at the end, to streams (NTFS). Git guards
 * `.git` against the same spellings.
 */
import { pathText } from '../byte-path.ts';

const plainName = /^[!-.0-9;-@[\]-~]+$/;
const ignorable = /\p{Default_Ignorable_Code_Point}/gu;

/** Short names that NTFS gives, where it makes them. */
const shortNames: ReadonlyMap<string, string> = new Map([
  ['git~1', '.git'],
  ['gitmod~1', '.gitmodules'],
]);

/** The name that is meant: equal for all spellings of one. `name` is bytes as latin1. */
export function foldName(name: string): string {
  const isPlain = plainName.test(name) && !name.endsWith('.');
  return isPlain ? (shortNames.get(name) ?? name) : folded(name);
}

function folded(name: string): string {
  const text = pathText(name).normalize('NFKC');
  const shown = text.replaceAll(ignorable, '').toLowerCase();
  const base = (shown.split(':')[0] ?? '').replace(/[. ]+$/, '');
  return shortNames.get(base) ?? base;
}

/** The parts of a path. A backslash parts, too: it does where NTFS or SMB is below. */
export function splitPath(path: string): string[] {
  return path.includes('\\') ? path.split(/[/\\]/) : path.split('/');
}
