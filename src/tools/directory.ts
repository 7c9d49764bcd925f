/**
 * The directory that a call names, within the project. Only the file system knows links, so the
 * runtime checks them: `cwd_within` makes it resolve this answer by real path.
 */
import path from 'node:path';
import { TrlError } from '../errors.ts';

const shownMax = 128;
/** `PATH_MAX` of Linux. */
const bytesMax = 4_096;

/**
 * An absolute path at or below `root` (absolute, normal).
 *
 * @throws TrlError `WORKSPACE_ESCAPE` for a path that leaves it, or reads as if it did;
 *   `INVALID_PARAMS` for an invalid path.
 */
export function resolveToolDirectory(root: string, given: string): string {
  if (given === '' || given.includes('\0') || !given.isWellFormed()) {
    const why = given === '' ? 'it is empty' : 'it has characters that no path has';
    throw new TrlError('INVALID_PARAMS', `Cannot work in ${show(given)}: ${why}`);
  }
  // The home directory to a shell; an ordinary name to the system.
  if (given.startsWith('~')) throw escape(root, given, 'a "~" is not expanded');
  const found = path.resolve(root, given);
  if (!isBelow(found, root)) throw escape(root, given, `it leaves the project "${root}"`);
  if (new TextEncoder().encode(given).length > bytesMax) {
    const why = `it is over ${bytesMax} bytes`;
    throw new TrlError('INVALID_PARAMS', `Cannot work in ${show(given)}: ${why}`);
  }
  for (const reading of readings(given)) {
    if (reading === given || isBelow(path.resolve(root, reading), root)) continue;
    throw escape(root, given, `it reads as ${show(reading)}, which leaves the project`);
  }
  return found;
}

/**
 * Other readings of a name: by people, who do not see invisible characters and take a full width
 * dot for a dot, and by programs that decode or normalize. The path itself is unchanged.
 */
function* readings(given: string): Generator<string> {
  const visible = given.replaceAll(/[\p{Cc}\p{Cf}\p{Variation_Selector}]/gu, '');
  yield visible;
  const folded = visible
    .normalize('NFKC')
    .replaceAll(/[\u2044\u2215\u29f8\ua4fa\u{1d23a}]/gu, '/')
    .replaceAll('\u2024', '.')
    .replaceAll('\u2025', '..');
  yield folded;
  const slashed = folded.replaceAll(/[\\\u2216\u29f5\u29f9\ufe68\uff3c]/gu, '/');
  yield slashed;
  yield decoded(decoded(slashed));
}

/** Percent signs decoded; an invalid escape remains. */
function decoded(text: string): string {
  return text
    .replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
    .replaceAll('\\', '/');
}

const isBelow = (place: string, root: string): boolean =>
  place === root || place.startsWith(root === '/' ? root : `${root}/`);

function escape(root: string, given: string, why: string): TrlError {
  const help = `name a directory below "${root}"`;
  return new TrlError('WORKSPACE_ESCAPE', `Cannot work in ${show(given)}: ${why}; ${help}`);
}

/** Shows every character that could hide by its number. */
function show(text: string): string {
  const cut = text.length <= shownMax ? text : `${text.slice(0, shownMax)}…`;
  return JSON.stringify(cut).replaceAll(
    /[^\x20-\x7e]/g,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
