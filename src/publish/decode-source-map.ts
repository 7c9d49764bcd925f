/** Sources that a source map carries (ECMA-426): names, and texts where they are in it. */
import { fieldOf } from '../json-shape.ts';

export interface MapSource {
  readonly name: string;
  /** Empty where the map tells only the name. */
  readonly text: Uint8Array;
}

const sourcesMax = 50_000;

/** The sources of a map or an index map; none where the text is no such. */
export function readMapSources(bytes: Uint8Array): readonly MapSource[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (!buffer.includes('"sources"')) return [];
  const found: MapSource[] = [];
  try {
    // Servers may put a line before it that no script can be read with.
    const text = buffer.toString('utf8').replace(/^\)\]\}'[^\n]*\n/, '');
    collect(JSON.parse(text), found, 0);
  } catch {
    // No map: as a text it is searched anyway.
    return [];
  }
  return found;
}

function collect(map: unknown, found: MapSource[], depth: number): void {
  if (typeof map !== 'object' || map === null || depth > 3) return;
  const sources = fieldOf(map, 'sources');
  const contents = fieldOf(map, 'sourcesContent');
  const root = fieldOf(map, 'sourceRoot');
  if (Array.isArray(sources)) {
    for (const [at, name] of sources.entries()) {
      if (found.length >= sourcesMax) return;
      const content: unknown = Array.isArray(contents) ? contents[at] : null;
      const isRooted = typeof root === 'string' && root !== '';
      found.push({
        name: `${isRooted ? `${root.replace(/\/$/, '')}/` : ''}${String(name)}`,
        text: Buffer.from(typeof content === 'string' ? content : '', 'utf8'),
      });
    }
  }
  const sections = fieldOf(map, 'sections');
  if (!Array.isArray(sections)) return;
  for (const section of sections) {
    if (typeof section === 'object' && section !== null) {
      collect(fieldOf(section, 'map'), found, depth + 1);
    }
  }
}
