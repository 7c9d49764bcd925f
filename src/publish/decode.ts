/**
 * Opens an item: yields the texts in it, however they are encoded, packed or archived, and reports
 * what cannot be examined.
 */
import { latin1 } from '../encodings/text.ts';
import { limits } from '../limits.ts';
import { readAr, readMapSources, readTar, uncoveredRanges, type Archive } from './archive.ts';
import { readZip } from './archive-zip.ts';
import {
  decodedBytesDigest,
  decodedLocation,
  isAlreadyDecoded,
  makeDecodedPart,
  makeUnscannable,
  memberLocation,
  reportBudgetExhausted,
  takeFromBudget,
  type DecodeBounds,
  type DecodeBudget,
  type DecodedPart,
  type PartLocation,
  type Unscannable,
} from './decode-part.ts';
import { findBaseEncoded, findPatchRuns } from './decode-bases.ts';
import { findEscapedTexts } from './decode-escapes.ts';
import * as kinds from './decode-format.ts';
import { decompress, decompressInSteps, type CompressionFormat } from './decode-compressed.ts';
import {
  findDecimalRuns,
  findEncodedRuns,
  findSpacedRuns,
  type EncodedRun,
} from './decode-runs.ts';
import { findObfuscatedTexts } from './decode-obfuscated.ts';
import { transcodeWideText, extractStrings } from './decode-format.ts';

/** The most encodings within each other, counted separately inside each archive. */
const encodingsMax = 3;
/** The most archives within each other. */
const archivesMax = 3;
/** Embedded bytes of an unknown format are keys, digests and signatures if they are shorter. */
const unknownBytesMin = 1_024;
/** Embedded bytes of a known format have no more than a line of text if they are shorter. */
const knownBytesMin = 128;
const guessBytesMin = 40;
const shortBytes = 256;
const guessBytesMax = 8 * 2 ** 20;
const embeddedMax = 64;
/** Runs and views between two pauses that are meaningless or already known, some milliseconds. */
const examinedAtOnce = 1_024;

/** `null` is no part: more work follows, so others can run first. */
type Step = DecodedPart | Unscannable | null;
type Steps = Generator<Step>;

/** Every part of an item, the item itself first. Equal parts in equal places are yielded once. */
export function* decodeItem(
  ...given: Parameters<typeof decodeItemInSteps>
): Generator<DecodedPart | Unscannable> {
  for (const one of decodeItemInSteps(...given)) if (one !== null) yield one;
}

/** As {@link decodeItem}, with a `null` wherever the search for the next part takes long. */
export function* decodeItemInSteps(
  item: { readonly name: string; readonly bytes: Uint8Array },
  bounds: DecodeBounds = {
    bytes: limits.publicationDecodedBytes.default,
    parts: limits.publicationParts.default,
  },
): Steps {
  const budget: DecodeBudget = { ...bounds, isReported: false, seen: new Map() };
  const location: PartLocation = {
    name: item.name,
    via: [],
    span: [0, item.bytes.length],
    encodings: 0,
    archives: 0,
    as: 'whole',
  };
  yield* open(item.bytes, location, budget);
}

function* open(bytes: Uint8Array, location: PartLocation, budget: DecodeBudget): Steps {
  if (location.via.length > 0 && !(yield* takeFromBudget(bytes, location, budget))) return;
  if (isAlreadyDecoded(bytes, location, budget)) {
    // It is known, but under another name.
    if (location.as === 'whole') yield makeDecodedPart(bytes, location, false);
    return;
  }
  const wide = transcodeWideText(bytes);
  if (wide !== null) {
    if (location.as === 'whole') yield makeDecodedPart(bytes, location, false);
    yield* openText(wide.bytes, decodedLocation(location, wide.via), budget);
    return;
  }
  const kind = kinds.detectContainerFormat(bytes);
  if (kind !== null) {
    if (location.as === 'whole') yield makeDecodedPart(bytes, location, false);
    if (yield* openKnown(kind, bytes, location, budget)) return;
    yield* openBinary(bytes, location, budget);
    return;
  }
  yield* openPlain(bytes, location, budget);
}

/** Bytes in no format that the gate opens. */
function* openPlain(bytes: Uint8Array, location: PartLocation, budget: DecodeBudget): Steps {
  const isKnown = location.as === 'whole' && kinds.unreadableReasonOf(bytes, 4) !== null;
  if (isKnown ? kinds.isPlainText(bytes) : kinds.isTextContent(bytes)) {
    yield* openText(bytes, location, budget);
    return;
  }
  if (location.as === 'whole') yield makeDecodedPart(bytes, location, false);
  yield* openBinary(bytes, location, budget);
}

function* openText(bytes: Uint8Array, location: PartLocation, budget: DecodeBudget): Steps {
  yield makeDecodedPart(bytes, location, true);
  const reason = kinds.unreadableTextReasonOf(bytes);
  if (reason !== null) yield makeUnscannable(location, reason);
  for (const { name, text } of readMapSources(bytes)) {
    const source = memberLocation(location, name, 'source-map');
    if (yield* takeFromBudget(text, source, budget)) yield makeDecodedPart(text, source, true);
  }
  const text = latin1(bytes);
  if (text.includes('\0')) yield* openStrings(bytes, location, budget);
  const span = (within: readonly [number, number]): PartLocation =>
    location.via.length === 0 ? { ...location, span: within } : location;
  const isDeep = location.encodings >= encodingsMax;
  let examined = 0;
  const all = [
    findEncodedRuns(text),
    findSpacedRuns(text),
    findDecimalRuns(text),
    findPatchRuns(text),
  ];
  for (const runs of all) {
    for (const run of runs) {
      examined += 1;
      if (run === null || examined % examinedAtOnce === 0) yield null;
      if (run === null || !hasMeaning(run)) continue;
      if (isDeep) {
        // It was opened where it had fewer encodings around it.
        if (budget.seen.has(decodedBytesDigest(run.bytes))) continue;
        yield makeUnscannable(location, `encoded more than ${encodingsMax} times over`);
        return;
      }
      const as = run.mixed && run.isCertain ? 'bytes' : 'guess';
      yield* open(run.bytes, decodedLocation(span(run.span), run.via, as), budget);
    }
  }
  if (isDeep) return;
  for (const run of findBaseEncoded(text)) {
    examined += 1;
    if (examined % examinedAtOnce === 0) yield null;
    if (hasMeaning({ ...run, mixed: false })) {
      yield* open(run.bytes, decodedLocation(span(run.span), run.via, 'guess'), budget);
    }
  }
  // Filtered text is text and contains nothing more that is encoded.
  for (const view of location.encodings === 0 ? findObfuscatedTexts(text) : []) {
    const turned = decodedLocation(span(view.span), view.via, 'guess');
    if (yield* takeFromBudget(view.bytes, turned, budget)) {
      yield makeDecodedPart(view.bytes, turned, true);
    }
  }
  for (const view of findEscapedTexts(text)) {
    examined += 1;
    if (view === null || examined % examinedAtOnce === 0) yield null;
    if (view === null) continue;
    // A view is text, whatever its escapes decode to.
    yield* open(view.bytes, decodedLocation(span(view.span), view.via, 'guess'), budget);
  }
}

/** Whether a run of letters decodes to something: most words consist of letters of base64. */
function hasMeaning({ bytes, mixed }: Pick<EncodedRun, 'bytes' | 'mixed'>): boolean {
  if (bytes.length < 8) return false;
  if (mixed && bytes.length >= guessBytesMin) return true;
  // A few bytes without control characters occur by chance; valid UTF-8 does not.
  const isText = bytes.length < shortBytes ? kinds.isPlainText(bytes) : kinds.isTextContent(bytes);
  return isText || kinds.detectContainerFormat(bytes) !== null || transcodeWideText(bytes) !== null;
}

/** @returns whether all of it could be examined */
function* openKnown(
  kind: kinds.ContainerFormat,
  bytes: Uint8Array,
  location: PartLocation,
  budget: DecodeBudget,
): Generator<Step, boolean> {
  if (kind === 'tar' || kind === 'zip' || kind === 'ar') {
    if (location.archives >= archivesMax) {
      yield makeUnscannable(location, `archives more than ${archivesMax} times over`);
      return true;
    }
    yield* openArchive(archiveOf(kind, bytes, budget), { bytes, location, via: kind }, budget);
    return true;
  }
  return yield* openPacked(kind, bytes, location, budget);
}

function* openPacked(
  kind: CompressionFormat,
  bytes: Uint8Array,
  location: PartLocation,
  budget: DecodeBudget,
): Generator<Step, boolean> {
  const unpacked = yield* decompressInSteps(kind, bytes, budget);
  // The mark of zlib has only two bytes: data that does not unpack is something else.
  const isDamaged = 'failed' in unpacked && unpacked.failed === 'damaged';
  if (kind === 'zlib' && isDamaged) return false;
  if (location.encodings >= encodingsMax) {
    yield makeUnscannable(location, `packed more than ${encodingsMax} times over`);
    return true;
  }
  if ('failed' in unpacked) {
    yield makeUnscannable(location, `${kind}: ${unpacked.failed}`);
    yield* openStrings(bytes, location, budget);
    return true;
  }
  const within = decodedLocation(location, kind, 'whole');
  for (const text of unpacked.headerTexts) {
    yield makeDecodedPart(
      Buffer.from(text, 'latin1'),
      { ...decodedLocation(location, kind), name: location.name },
      true,
    );
  }
  yield* open(unpacked.bytes, within, budget);
  const rest = bytes.subarray(unpacked.used);
  if (rest.some((byte) => byte !== 0)) {
    yield* open(rest, decodedLocation(location, 'rest'), budget);
  }
  return true;
}

function archiveOf(kind: 'tar' | 'zip' | 'ar', bytes: Uint8Array, budget: DecodeBudget): Archive {
  if (kind === 'zip') return readZip(bytes, budget);
  return kind === 'tar' ? readTar(bytes) : readAr(bytes);
}

interface ArchiveSource {
  readonly bytes: Uint8Array;
  readonly location: PartLocation;
  readonly via: string;
}

function* openArchive(
  archive: Archive,
  { bytes, location, via }: ArchiveSource,
  budget: DecodeBudget,
): Steps {
  for (const one of archive.members) {
    if (one === null) {
      yield null;
      continue;
    }
    const { name, bytes: content, unreadableReason: reason, packing } = one;
    const within = memberLocation(location, name, via);
    if (budget.bytes <= 0 && (yield* reportBudgetExhausted(within, budget))) return;
    const packed = packing === null ? within : { ...within, via: [...within.via, packing] };
    if (reason !== null) yield makeUnscannable(packed, reason);
    yield* open(content, packed, budget);
    if (budget.isReported) return;
  }
  for (const [from, to] of archive.uncovered()) {
    const gap = bytes.subarray(from, to);
    if (gap.every((byte) => byte === 0)) continue;
    const rest: PartLocation = {
      ...location,
      via: [...location.via, via, 'rest'],
      archives: location.archives + 1,
      as: 'bytes',
    };
    if (gap.length < bytes.length) yield* open(gap, rest, budget);
    else yield* openPlain(gap, rest, budget);
  }
}

/** Binary data: its strings, the packed data in it, and why the rest cannot be examined. */
function* openBinary(bytes: Uint8Array, location: PartLocation, budget: DecodeBudget): Steps {
  if (location.as !== 'whole' && bytes.length < guessBytesMin) return;
  yield* openStrings(bytes, location, budget);
  if (yield* openGuessed(bytes, location, budget)) return;
  if (location.as !== 'whole' && bytes.length < knownBytesMin) return;
  const isSmall = location.as !== 'whole' && bytes.length < unknownBytesMin;
  const reason = kinds.unreadableReasonOf(bytes, isSmall ? 4 : 2);
  if (reason === null && (kinds.isPlainBinary(bytes) || isSmall || location.as === 'guess')) return;
  const rest = yield* openEmbedded(bytes, location, budget);
  if (rest || reason !== null) {
    yield makeUnscannable(location, reason ?? 'bytes of an unknown kind');
  }
}

function* openStrings(bytes: Uint8Array, location: PartLocation, budget: DecodeBudget): Steps {
  const strings = extractStrings(bytes);
  if (strings.length < 8) return;
  // Text in a file as it is needs no decoding.
  const within: PartLocation = { ...location, via: [...location.via, 'strings'], as: 'bytes' };
  if (!isAlreadyDecoded(strings, location, budget)) yield* openText(strings, within, budget);
}

/** Deflate and brotli have no mark: bytes are packed if one of them unpacks them to text. */
function* openGuessed(
  bytes: Uint8Array,
  location: PartLocation,
  budget: DecodeBudget,
): Generator<Step, boolean> {
  const isCandidate = bytes.length >= guessBytesMin && bytes.length <= guessBytesMax;
  if (!isCandidate || location.encodings >= encodingsMax) return false;
  for (const kind of ['deflate', 'brotli'] as const) {
    const unpacked = decompress(kind, bytes, budget);
    if ('failed' in unpacked || unpacked.bytes.length < 16) continue;
    const { bytes: content, used } = unpacked;
    const hasForm = kinds.isTextContent(content) || kinds.detectContainerFormat(content) !== null;
    if (!hasForm || used < bytes.length / 2) continue;
    yield* open(content, decodedLocation(location, kind, 'whole'), budget);
    const rest = bytes.subarray(used);
    if (rest.some((byte) => byte !== 0)) {
      yield* open(rest, decodedLocation(location, 'rest'), budget);
    }
    return true;
  }
  return false;
}

// oxlint-disable-next-line no-control-regex -- marks of formats
const embedded = /\x1f\x8b\x08[\x00-\x1f]|\x28\xb5\x2f\xfd|PK\x03\x04/g;

/** @returns whether binary data is left besides what could be opened */
function* openEmbedded(
  bytes: Uint8Array,
  location: PartLocation,
  budget: DecodeBudget,
): Generator<Step, boolean> {
  const covered: [number, number][] = [];
  let tried = 0;
  for (const { index } of latin1(bytes).matchAll(embedded)) {
    if (covered.some(([from, to]) => index >= from && index < to)) continue;
    tried += 1;
    if (tried > embeddedMax || location.encodings >= encodingsMax) return true;
    const found = bytes.subarray(index);
    const kind = kinds.detectContainerFormat(found);
    const within: PartLocation = {
      ...location,
      via: [...location.via, `at ${index}`],
      as: 'bytes',
    };
    if (kind === 'zip' && location.archives < archivesMax) {
      yield* openKnown(kind, found, within, budget);
      covered.push([index, bytes.length]);
    } else if (kind === 'gzip' || kind === 'zstd') {
      const unpacked = yield* decompressInSteps(kind, found, budget);
      if ('failed' in unpacked) continue;
      covered.push([index, index + unpacked.used]);
      yield* open(unpacked.bytes, decodedLocation(within, kind, 'whole'), budget);
    }
  }
  if (covered.length === 0) return true;
  return uncoveredRanges(covered, bytes.length).some(
    ([from, to]) => kinds.findBinaryRanges(bytes.subarray(from, to)).length > 0,
  );
}
