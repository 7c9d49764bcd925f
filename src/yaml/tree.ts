/**
 * A YAML text as plain values, with the place of each. Only what JSON can say is taken: aliases,
 * anchors, tags, merge keys, directives and several documents are refused, so that a text is as
 * large as it looks and means what it shows.
 */
import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';
import type { Document, Node, Pair } from 'yaml';
import type { FileErrorClass, FileProblem } from './file-error.ts';

export const yamlFileBytesMax = 2 ** 20;
/** Problems that are reported for one file. */
export const fileProblemsMax = 20;
const depthMax = 32;

/** Where the package's sentence speaks of the package. */
const said: ReadonlyMap<string, string> = new Map([
  ['RESOURCE_EXHAUSTION', 'nested too deeply'],
  ['MULTIPLE_DOCS', 'only one document is taken'],
  ['NON_STRING_KEY', 'a key must be a text'],
]);

type Path = readonly (string | number)[];

export interface YamlTree {
  readonly value: unknown;
  /** A problem at the value of `path`, or at the nearest that holds it. */
  problem(path: Path, message: string): FileProblem;
  /** A problem at the key that ends `path`. */
  problemAtKey(path: Path, message: string): FileProblem;
}

/** Of which file errors speak, and as what. */
export interface FileErrorTarget {
  readonly file: string;
  readonly Failure: FileErrorClass;
}

/** @throws FileError for anything that is not one plain YAML mapping in UTF-8 of at most 1 MiB */
export function readYamlTree(input: string | Uint8Array, named: FileErrorTarget): YamlTree {
  const text = decode(input, named);
  const lines = new LineCounter();
  const problemAt = (offset: number, message: string): FileProblem => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col), message };
  };
  const document = parse(text, lines, named);
  const complaints = [...document.errors, ...document.warnings];
  if (complaints.length > 0) {
    const found = complaints
      .slice(0, fileProblemsMax)
      .map(({ pos, code, message }) => problemAt(pos[0], said.get(code) ?? plainMessage(message)));
    throw new named.Failure(named.file, found);
  }
  const reader = new Reader();
  if (document.directives?.yaml.explicit === true) reader.refuse(0, 'directives are not taken');
  const value = document.contents === null ? null : reader.read(document.contents, [], 0);
  if (reader.refused.length > 0) {
    const found = reader.refused
      .slice(0, fileProblemsMax)
      .map(({ offset, message }) => problemAt(offset, message));
    throw new named.Failure(named.file, found);
  }
  if (value === null) throw failure(named, 'the file is empty: it must be a mapping of keys');
  return {
    value,
    problem: (path, message) => problemAt(reader.offsetOf(path, reader.values), message),
    problemAtKey: (path, message) => problemAt(reader.offsetOf(path, reader.keys), message),
  };
}

function parse(text: string, lines: LineCounter, named: FileErrorTarget): Document.Parsed {
  try {
    return parseDocument(text, {
      version: '1.2',
      schema: 'core',
      merge: false,
      strict: true,
      stringKeys: true,
      // Found below in linear time; the package compares each key with all others.
      uniqueKeys: false,
      prettyErrors: false,
      logLevel: 'error',
      lineCounter: lines,
    });
  } catch (cause) {
    throw failure(named, 'it cannot be read: it is nested too deeply', cause);
  }
}

function decode(input: string | Uint8Array, named: FileErrorTarget): string {
  const bytes = typeof input === 'string' ? Buffer.byteLength(input) : input.length;
  if (bytes > yamlFileBytesMax) {
    throw failure(named, `it is ${bytes} bytes long; at most ${yamlFileBytesMax} are read`);
  }
  const text = typeof input === 'string' ? input : decodeUtf8(input, named);
  const body = text.startsWith('\ufeff') ? text.slice(1) : text;
  const found = hidden.exec(body);
  if (found !== null) {
    const before = body.slice(0, found.index).split('\n');
    const column = (before.at(-1)?.length ?? 0) + 1;
    const message = hiddenMessage(found[0]);
    throw new named.Failure(named.file, [{ line: before.length, column, message }]);
  }
  return body;
}

/** Controls, and what hides or reorders text: a person must see what they agree to. */
const hidden =
  // oxlint-disable-next-line no-control-regex
  /[\0-\x08\v\f\x0e-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/;

function hiddenMessage(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  return `the character \\u{${code}} cannot be seen and is not taken`;
}

function decodeUtf8(bytes: Uint8Array, named: FileErrorTarget): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    const valid = validLength(bytes);
    const before = new TextDecoder().decode(bytes.subarray(0, valid)).split('\n');
    const place = { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
    throw new named.Failure(named.file, [{ ...place, message: 'this is not UTF-8' }], { cause });
  }
}

/** Length of the longest start that is UTF-8, by halving. */
function validLength(bytes: Uint8Array): number {
  const isValid = (length: number): boolean => {
    try {
      new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, length), { stream: true });
      return true;
    } catch {
      return false;
    }
  };
  let low = 0;
  let high = bytes.length;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (isValid(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Turns nodes into values and remembers where each value and each key stands. */
class Reader {
  readonly values = new Map<string, number>();
  readonly keys = new Map<string, number>();
  readonly refused: { readonly offset: number; readonly message: string }[] = [];

  refuse(offset: number, message: string): void {
    this.refused.push({ offset, message });
  }

  /** The place of `path` among `places`, else of the nearest value that holds it. */
  offsetOf(path: Path, places: ReadonlyMap<string, number>): number {
    const found = places.get(keyOf(path));
    if (found !== undefined) return found;
    return path.length === 0 ? 0 : this.offsetOf(path.slice(0, -1), this.values);
  }

  read(node: Node, path: Path, depth: number): unknown {
    const offset = node.range?.[0] ?? 0;
    this.values.set(keyOf(path), offset);
    if (isAlias(node)) return this.refuse(offset, 'aliases are not taken: write the value out');
    if (node.anchor !== undefined) return this.refuse(offset, 'anchors are not taken');
    if (node.tag !== undefined) return this.refuse(offset, 'tags are not taken');
    if (depth > depthMax) return this.refuse(offset, `nested more than ${depthMax} deep`);
    if (isScalar(node)) return this.#scalar(node.value, offset);
    if (isSeq<Node | null>(node)) {
      return node.items.map((item, at) =>
        item === null ? null : this.read(item, [...path, at], depth + 1),
      );
    }
    return isMap<Node, Node | null>(node) ? this.#map(node.items, path, depth) : null;
  }

  /** The character of an escape is checked as well: `"\\u202e"`. */
  #scalar(value: unknown, offset: number): unknown {
    const found = typeof value === 'string' ? hidden.exec(value) : null;
    if (found !== null) this.refuse(offset, hiddenMessage(found[0]));
    return value;
  }

  #map(pairs: readonly Pair<Node, Node | null>[], path: Path, depth: number): unknown {
    const entries = new Map<string, unknown>();
    for (const { key, value } of pairs) {
      const offset = key.range?.[0] ?? 0;
      if (!isScalar(key) || typeof key.value !== 'string') {
        this.refuse(offset, 'a key must be a text');
        continue;
      }
      this.#scalar(key.value, offset);
      const inner = [...path, key.value];
      if (key.anchor !== undefined || key.tag !== undefined) {
        this.refuse(offset, 'a key takes no anchor and no tag');
      } else if (entries.has(key.value)) {
        this.refuse(offset, `duplicate key "${key.value}"`);
        continue;
      }
      this.keys.set(keyOf(inner), offset);
      entries.set(key.value, value === null ? null : this.read(value, inner, depth + 1));
    }
    return Object.fromEntries(entries);
  }
}

function keyOf(path: Path): string {
  return JSON.stringify(path);
}

function failure({ file, Failure }: FileErrorTarget, message: string, cause?: unknown): Error {
  return new Failure(file, [{ line: 1, column: 1, message }], { cause });
}

/** The package's sentence without its ends. */
function plainMessage(message: string): string {
  return message.replace(/\.$/, '').replace(/^[A-Z](?![A-Z])/, (first) => first.toLowerCase());
}
