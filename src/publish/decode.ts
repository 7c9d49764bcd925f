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

export type { DecodeBounds, DecodedPart, Unscannable };

/** The most encodings within each other, counted anew inside each archive. */
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
const looksAtOnce = 1_024;

/** `null` is no part: more work follows, so others can run first. */
type Step = DecodedPart | Unscannable | null;
type Opened = Generator<Step>;

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
): Opened {
  const left: DecodeBudget = { ...bounds, isReported: false, seen: new Map() };
  const place: PartLocation = {
    name: item.name,
    via: [],
    span: [0, item.bytes.length],
    encodings: 0,
    archives: 0,
    as: 'whole',
  };
  yield* open(item.bytes, place, left);
}

function* open(bytes: Uint8Array, place: PartLocation, left: DecodeBudget): Opened {
  if (place.via.length > 0 && !(yield* takeFromBudget(bytes, place, left))) return;
  if (isAlreadyDecoded(bytes, place, left)) {
    // It is known, but under another name.
    if (place.as === 'whole') yield makeDecodedPart(bytes, place, false);
    return;
  }
  const wide = transcodeWideText(bytes);
  if (wide !== null) {
    if (place.as === 'whole') yield makeDecodedPart(bytes, place, false);
    yield* openText(wide.bytes, decodedLocation(place, wide.via), left);
    return;
  }
  const kind = kinds.detectContainerFormat(bytes);
  if (kind !== null) {
    if (place.as === 'whole') yield makeDecodedPart(bytes, place, false);
    if (yield* openKnown(kind, bytes, place, left)) return;
    yield* openBinary(bytes, place, left);
    return;
  }
  yield* openPlain(bytes, place, left);
}

/** Bytes in no format that the gate opens. */
function* openPlain(bytes: Uint8Array, place: PartLocation, left: DecodeBudget): Opened {
  const isKnown = place.as === 'whole' && kinds.unreadableReasonOf(bytes, 4) !== null;
  if (isKnown ? kinds.isPlainText(bytes) : kinds.isTextContent(bytes)) {
    yield* openText(bytes, place, left);
    return;
  }
  if (place.as === 'whole') yield makeDecodedPart(bytes, place, false);
  yield* openBinary(bytes, place, left);
}

function* openText(bytes: Uint8Array, place: PartLocation, left: DecodeBudget): Opened {
  yield makeDecodedPart(bytes, place, true);
  const reason = kinds.unreadableTextReasonOf(bytes);
  if (reason !== null) yield makeUnscannable(place, reason);
  for (const { name, text } of readMapSources(bytes)) {
    const source = memberLocation(place, name, 'source-map');
    if (yield* takeFromBudget(text, source, left)) yield makeDecodedPart(text, source, true);
  }
  const text = latin1(bytes);
  if (text.includes('\0')) yield* openStrings(bytes, place, left);
  const span = (within: readonly [number, number]): PartLocation =>
    place.via.length === 0 ? { ...place, span: within } : place;
  const isDeep = place.encodings >= encodingsMax;
  let looked = 0;
  const all = [
    findEncodedRuns(text),
    findSpacedRuns(text),
    findDecimalRuns(text),
    findPatchRuns(text),
  ];
  for (const runs of all) {
    for (const run of runs) {
      looked += 1;
      if (run === null || looked % looksAtOnce === 0) yield null;
      if (run === null || !hasMeaning(run)) continue;
      if (isDeep) {
        // It was opened where it had fewer encodings around it.
        if (left.seen.has(decodedBytesDigest(run.bytes))) continue;
        yield makeUnscannable(place, `encoded more than ${encodingsMax} times over`);
        return;
      }
      const as = run.mixed && run.isCertain ? 'piece' : 'guess';
      yield* open(run.bytes, decodedLocation(span(run.span), run.via, as), left);
    }
  }
  if (isDeep) return;
  for (const run of findBaseEncoded(text)) {
    looked += 1;
    if (looked % looksAtOnce === 0) yield null;
    if (hasMeaning({ ...run, mixed: false })) {
      yield* open(run.bytes, decodedLocation(span(run.span), run.via, 'guess'), left);
    }
  }
  // Filtered text is text and contains nothing more that is encoded.
  for (const view of place.encodings === 0 ? findObfuscatedTexts(text) : []) {
    const turned = decodedLocation(span(view.span), view.via, 'guess');
    if (yield* takeFromBudget(view.bytes, turned, left)) {
      yield makeDecodedPart(view.bytes, turned, true);
    }
  }
  for (const view of findEscapedTexts(text)) {
    looked += 1;
    if (view === null || looked % looksAtOnce === 0) yield null;
    if (view === null) continue;
    // A view is text, whatever its escapes decode to.
    yield* open(view.bytes, decodedLocation(span(view.span), view.via, 'guess'), left);
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
  place: PartLocation,
  left: DecodeBudget,
): Generator<Step, boolean> {
  if (kind === 'tar' || kind === 'zip' || kind === 'ar') {
    if (place.archives >= archivesMax) {
      yield makeUnscannable(place, `archives more than ${archivesMax} times over`);
      return true;
    }
    yield* openArchive(archiveOf(kind, bytes, left), { bytes, place, via: kind }, left);
    return true;
  }
  return yield* openPacked(kind, bytes, place, left);
}

function* openPacked(
  kind: CompressionFormat,
  bytes: Uint8Array,
  place: PartLocation,
  left: DecodeBudget,
): Generator<Step, boolean> {
  const unpacked = yield* decompressInSteps(kind, bytes, left);
  // The mark of zlib has only two bytes: data that does not unpack is something else.
  const isDamaged = 'failed' in unpacked && unpacked.failed === 'damaged';
  if (kind === 'zlib' && isDamaged) return false;
  if (place.encodings >= encodingsMax) {
    yield makeUnscannable(place, `packed more than ${encodingsMax} times over`);
    return true;
  }
  if ('failed' in unpacked) {
    yield makeUnscannable(place, `${kind}: ${unpacked.failed}`);
    yield* openStrings(bytes, place, left);
    return true;
  }
  const within = decodedLocation(place, kind, 'whole');
  for (const said of unpacked.headerTexts) {
    yield makeDecodedPart(
      Buffer.from(said, 'latin1'),
      { ...decodedLocation(place, kind), name: place.name },
      true,
    );
  }
  yield* open(unpacked.bytes, within, left);
  const rest = bytes.subarray(unpacked.used);
  if (rest.some((byte) => byte !== 0)) {
    yield* open(rest, decodedLocation(place, 'rest'), left);
  }
  return true;
}

function archiveOf(kind: 'tar' | 'zip' | 'ar', bytes: Uint8Array, left: DecodeBudget): Archive {
  if (kind === 'zip') return readZip(bytes, left);
  return kind === 'tar' ? readTar(bytes) : readAr(bytes);
}

interface Reading {
  readonly bytes: Uint8Array;
  readonly place: PartLocation;
  readonly via: string;
}

function* openArchive(
  archive: Archive,
  { bytes, place, via }: Reading,
  left: DecodeBudget,
): Opened {
  for (const one of archive.members) {
    if (one === null) {
      yield null;
      continue;
    }
    const { name, bytes: content, unreadableReason: reason, packing } = one;
    const within = memberLocation(place, name, via);
    if (left.bytes <= 0 && (yield* reportBudgetExhausted(within, left))) return;
    const packed = packing === null ? within : { ...within, via: [...within.via, packing] };
    if (reason !== null) yield makeUnscannable(packed, reason);
    yield* open(content, packed, left);
    if (left.isReported) return;
  }
  for (const [from, to] of archive.uncovered()) {
    const gap = bytes.subarray(from, to);
    if (gap.every((byte) => byte === 0)) continue;
    const rest: PartLocation = {
      ...place,
      via: [...place.via, via, 'rest'],
      archives: place.archives + 1,
      as: 'piece',
    };
    if (gap.length < bytes.length) yield* open(gap, rest, left);
    else yield* openPlain(gap, rest, left);
  }
}

/** Binary data: its strings, the packed data in it, and why the rest cannot be examined. */
function* openBinary(bytes: Uint8Array, place: PartLocation, left: DecodeBudget): Opened {
  if (place.as !== 'whole' && bytes.length < guessBytesMin) return;
  yield* openStrings(bytes, place, left);
  if (yield* openGuessed(bytes, place, left)) return;
  if (place.as !== 'whole' && bytes.length < knownBytesMin) return;
  const isSmall = place.as !== 'whole' && bytes.length < unknownBytesMin;
  const reason = kinds.unreadableReasonOf(bytes, isSmall ? 4 : 2);
  if (reason === null && (kinds.isPlainBinary(bytes) || isSmall || place.as === 'guess')) return;
  const rest = yield* openEmbedded(bytes, place, left);
  if (rest || reason !== null) yield makeUnscannable(place, reason ?? 'bytes of an unknown kind');
}

function* openStrings(bytes: Uint8Array, place: PartLocation, left: DecodeBudget): Opened {
  const strings = extractStrings(bytes);
  if (strings.length < 8) return;
  // Text in a file as it is needs no decoding.
  const within: PartLocation = { ...place, via: [...place.via, 'strings'], as: 'piece' };
  if (!isAlreadyDecoded(strings, place, left)) yield* openText(strings, within, left);
}

/** Deflate and brotli have no mark: bytes are packed if one of them unpacks them to text. */
function* openGuessed(
  bytes: Uint8Array,
  place: PartLocation,
  left: DecodeBudget,
): Generator<Step, boolean> {
  const isCandidate = bytes.length >= guessBytesMin && bytes.length <= guessBytesMax;
  if (!isCandidate || place.encodings >= encodingsMax) return false;
  for (const kind of ['deflate', 'brotli'] as const) {
    const unpacked = decompress(kind, bytes, left);
    if ('failed' in unpacked || unpacked.bytes.length < 16) continue;
    const { bytes: content, used } = unpacked;
    const hasForm = kinds.isTextContent(content) || kinds.detectContainerFormat(content) !== null;
    if (!hasForm || used < bytes.length / 2) continue;
    yield* open(content, decodedLocation(place, kind, 'whole'), left);
    const rest = bytes.subarray(used);
    if (rest.some((byte) => byte !== 0)) {
      yield* open(rest, decodedLocation(place, 'rest'), left);
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
  place: PartLocation,
  left: DecodeBudget,
): Generator<Step, boolean> {
  const covered: [number, number][] = [];
  let tried = 0;
  for (const { index } of latin1(bytes).matchAll(embedded)) {
    if (covered.some(([from, to]) => index >= from && index < to)) continue;
    tried += 1;
    if (tried > embeddedMax || place.encodings >= encodingsMax) return true;
    const found = bytes.subarray(index);
    const kind = kinds.detectContainerFormat(found);
    const within: PartLocation = { ...place, via: [...place.via, `at ${index}`], as: 'piece' };
    if (kind === 'zip' && place.archives < archivesMax) {
      yield* openKnown(kind, found, within, left);
      covered.push([index, bytes.length]);
    } else if (kind === 'gzip' || kind === 'zstd') {
      const unpacked = yield* decompressInSteps(kind, found, left);
      if ('failed' in unpacked) continue;
      covered.push([index, index + unpacked.used]);
      yield* open(unpacked.bytes, decodedLocation(within, kind, 'whole'), left);
    }
  }
  if (covered.length === 0) return true;
  return uncoveredRanges(covered, bytes.length).some(
    ([from, to]) => kinds.findBinaryRanges(bytes.subarray(from, to)).length > 0,
  );
}
