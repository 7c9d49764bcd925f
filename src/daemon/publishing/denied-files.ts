/**
 * The content of a workspace that an audience must not see, indexed for searches. The index is on
 * disk, so that only changed files are read again:
 *
 *   publish/PLACE/files.json   by path: version of the file, its SHA-256, package names in it
 *   publish/PLACE/index/       the index of `publish/index-file.ts`
 */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BytePath, StatKey } from '../../change.ts';
import { restoreIndex, saveIndex } from '../../publish/index-file.ts';
import { matchDeniedText, type DeniedIndex } from '../../publish/denied-index.ts';
import type { PassageMatch } from '../../publish/match.ts';
import { readPackageNames } from '../../publish/denied-names.ts';
import { limits } from '../../limits.ts';
import { pathText } from '../../workspace/byte-path.ts';
import { errnoCodeOf } from '../../workspace/byte-path.ts';
import { TimeSlices } from '../../workspace/time-slices.ts';
import type { DeniedFile, FileSource } from '../../host/port.ts';
import type { EarlierFile } from '../../publish/publication.ts';
import { digestInSlices } from './digest-in-slices.ts';
import { sliceFile, parseSliceName } from './file-slices.ts';

/** Only the digest of longer files is known. */
const indexedBytesMax = 16 * 1024 * 1024;
const readBytesMax = 256 * 1024 * 1024;
/** Shorter contents are common to many files, such as an empty list. */
const tellingBytesMin = 24;
/** Files whose text is the same in many projects. */
const license = /(?:^|\/)(?:un)?(?:licen[cs]e|copying|notice|patents)[^/]*$/i;
/** Increases whenever files are sliced differently for the index. */
const tableVersion = 2;

export type PackageNames = ReturnType<typeof readPackageNames>;

/** The facts about one denied file. */
interface Known {
  readonly key: StatKey | null;
  readonly sha256: string;
  readonly size: number;
  /** The names of its slices in the index: one or several. */
  readonly pieces: readonly string[];
  readonly packages: PackageNames;
}

/** An earlier content of a denied file. */
export interface EarlierVersion {
  readonly path: BytePath;
  readonly sha256: string;
  readonly read: () => Promise<Uint8Array | null>;
}

export class DeniedFiles {
  readonly #directory: string;
  readonly #index: DeniedIndex;
  readonly #known: Map<string, Known>;
  /** Denied files by the SHA-256 of their content; built again after a change. */
  #byContent: ReadonlyMap<string, string> | null = null;

  private constructor(directory: string, index: DeniedIndex, known: Map<string, Known>) {
    this.#directory = directory;
    this.#index = index;
    this.#known = known;
  }

  /** @param directory private to the user; created if it is missing */
  static async open(directory: string): Promise<DeniedFiles> {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const index = await restoreIndex(join(directory, 'index'));
    return new DeniedFiles(directory, index, readTable(join(directory, 'files.json')));
  }

  get packages(): PackageNames {
    return [...this.#known.values()].flatMap(({ packages }) => packages);
  }

  /** The denied file with this content; `null` if the content is too common to identify one. */
  fileOf(sha256: string): string | null {
    this.#byContent ??= new Map(
      [...this.#known].flatMap(([path, known]) =>
        known.size < tellingBytesMin || license.test(path) ? [] : [[known.sha256, path]],
      ),
    );
    return this.#byContent.get(sha256) ?? null;
  }

  /** Finds passages of denied files; line numbers are those of the file. */
  async match(text: Uint8Array, turn: () => Promise<void>): Promise<readonly PassageMatch[]> {
    return (await matchDeniedText(this.#index, text, turn)).map(wholeFile);
  }

  /**
   * Excludes content that the audience already has, up to a bound, until {@link unsee}.
   *
   * @returns SHA-256 (hex) of published files, which are denied to no audience
   */
  async see(files: AsyncIterable<EarlierFile>): Promise<ReadonlySet<string>> {
    const slices = new TimeSlices();
    const out = new Set<string>();
    let left: number = limits.publicationSeenBytes.default;
    for await (const { path, bytes, isPublished: isOut } of files) {
      left -= bytes.length;
      if (left < 0) break;
      const sha256 = await digestInSlices(bytes, slices);
      if (isOut) out.add(sha256);
      // A visible copy of a denied file does not make the denied file less denied.
      else if (this.fileOf(sha256) !== null) continue;
      for (const slice of sliceFile(pathText(path), bytes)) {
        if (slices.isOver) await slices.yieldTurn();
        this.#index.putVisible(slice.name, slice.bytes);
      }
    }
    return out;
  }

  unsee(): void {
    for (const path of Array.from(this.#index.visiblePaths())) this.#index.removeVisible(path);
  }

  /**
   * Reads new and changed files.
   *
   * @throws the system's error if a denied file cannot be read
   */
  async update(
    source: FileSource,
    files: readonly DeniedFile[],
    earlier: readonly EarlierVersion[],
  ): Promise<void> {
    const slices = new TimeSlices();
    const wanted = new Set<string>();
    const indexed = new Set(this.#index.deniedPaths());
    let isOther = false;
    for (const file of files) {
      if (slices.isOver) await slices.yieldTurn();
      const name = pathText(file.path);
      wanted.add(name);
      const known = this.#known.get(name);
      if (known?.key === file.key && this.#isIndexed(name, known, indexed)) continue;
      isOther = (await this.#read(source, file, slices)) || isOther;
    }
    for (const { path, sha256, read } of earlier) {
      const name = `${pathText(path)}${earlierMark}${sha256.slice(0, 12)}`;
      wanted.add(name);
      const known = this.#known.get(name);
      if (known !== undefined && this.#isIndexed(name, known, indexed)) continue;
      const bytes = await read();
      if (bytes === null) continue;
      await this.#put(name, bytes, { key: null, slices });
      isOther = true;
    }
    for (const name of this.#known.keys()) {
      if (wanted.has(name)) continue;
      this.#remove(name);
      isOther = true;
    }
    if (isOther) await this.#save();
  }

  /** The saved index may contain less than the saved table of files. */
  #isIndexed(name: string, known: Known, indexed: ReadonlySet<string>): boolean {
    if (known.pieces.length === 1) return this.#index.has(name, known.sha256);
    return known.pieces.every((slice) => indexed.has(slice));
  }

  async #read(source: FileSource, { path }: DeniedFile, slices: TimeSlices): Promise<boolean> {
    const name = pathText(path);
    try {
      const found = await source.read(path, readBytesMax);
      if (found === null) throw new Error(`Cannot read "${name}": it is too large, or changes`);
      await this.#put(name, found.bytes, { key: found.key, slices });
      return true;
    } catch (error) {
      if (errnoCodeOf(error) !== 'ENOENT') throw error;
      return false;
    }
  }

  async #put(
    name: string,
    bytes: Uint8Array,
    { key, slices }: { readonly key: StatKey | null; readonly slices: TimeSlices },
  ): Promise<void> {
    this.#remove(name);
    const sha256 = await digestInSlices(bytes, slices);
    const indexed = bytes.length > indexedBytesMax ? [] : sliceFile(name, bytes);
    for (const slice of indexed) {
      if (slices.isOver) await slices.yieldTurn();
      this.#index.put(slice.name, slice.bytes);
    }
    const packages = readPackageNames(name, bytes);
    const pieces = indexed.map((slice) => slice.name);
    this.#known.set(name, { key, sha256, size: bytes.length, pieces, packages });
    this.#byContent = null;
  }

  #remove(name: string): void {
    for (const slice of this.#known.get(name)?.pieces ?? []) this.#index.remove(slice);
    this.#known.delete(name);
    this.#byContent = null;
  }

  async #save(): Promise<void> {
    await saveIndex(this.#index, join(this.#directory, 'index'));
    const table = { version: tableVersion, files: [...this.#known] };
    const file = join(this.#directory, 'files.json');
    writeFileSync(`${file}.new`, JSON.stringify(table), { mode: 0o600 });
    renameSync(`${file}.new`, file);
  }
}

const earlierMark = ' @ ';

function wholeFile(match: PassageMatch): PassageMatch {
  const { name, firstLine } = parseSliceName(match.path);
  const [from, to] = match.lines;
  return { ...match, path: name, lines: [from + firstLine - 1, to + firstLine - 1] };
}

/** Reads the table; a damaged table is built again. */
function readTable(file: string): Map<string, Known> {
  try {
    const table: { version: unknown; files: [string, Known][] } = JSON.parse(
      readFileSync(file, 'utf8'),
    );
    if (table.version === tableVersion) return new Map(table.files);
  } catch {
    rmSync(file, { force: true });
  }
  return new Map();
}
