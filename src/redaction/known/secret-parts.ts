/**
 * The lines and fields of a value that has several: each is a secret of its own where it does not
 * read as a word. Only the short ones are of interest: the windows of the whole value cover the
 * others.
 */
import { toSymbols } from './symbols.ts';
import { isWordlike } from './common-words.ts';

const partsMax = 64;
const partSymbolsMin = 8;
const partBytesMax = 24;

export function splitSecretParts(value: string): Buffer[] {
  if (!/[\s,;:=@|"'{}&?/]/.test(value)) return [];
  const parts = new Set<string>();
  for (const line of value.split(/[\r\n]+/)) {
    const fields = line.length <= 2_048 ? line.split(/[\s,;:=@|"'{}<>()[\]&?/\\]+/) : [];
    for (const part of [line.trim(), ...fields]) {
      if (part !== value && secretPart(part)) parts.add(part);
      if (parts.size >= partsMax) break;
    }
  }
  return Array.from(parts, (part) => Buffer.from(part, 'utf8'));
}

/** Letters and digits mixed, and neither a word with a number nor a host's name. */
function secretPart(part: string): boolean {
  if (part.length < partSymbolsMin || part.length > partBytesMax) return false;
  if (!/[0-9]/.test(part) || !/[A-Za-z]/.test(part)) return false;
  if (/^[a-z]+[0-9]{1,5}$|^[a-z-]+(?:\.[a-z0-9-]+)+$/i.test(part)) return false;
  const symbols = toSymbols(Buffer.from(part, 'utf8'), false);
  return symbols.length >= partSymbolsMin && !isWordlike(symbols, 0, symbols.length);
}
