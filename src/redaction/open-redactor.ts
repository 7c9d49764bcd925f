/** Connects the two halves of redaction, known values and detection, for one stream or one text. */
import { Detector, type DetectorOptions } from './detect/detector.ts';
import { thresholdsOf, type ScoreThresholds } from './detect/score.ts';
import type { KnownIndex } from './known/known-index.ts';
import { KnownMasker } from './known/known-masker.ts';
import type { RedactionTags } from './redaction-tags.ts';
import { compileUserRules, type UserRule } from './rules/user-rules.ts';
import type { RedactionProfile, SecretPrior } from './secret-finding.ts';
import {
  StreamRedactor,
  type SecretReplacement,
  type StreamRedactorParts,
} from './stream-redactor.ts';

/** How output is searched; a setting of the installation, not of a session. */
export interface RedactionOptions {
  readonly profile: RedactionProfile;
  /** Overrides of the profile: the score (0 to 1), bits for each character, bits for each pair. */
  readonly thresholds: {
    readonly score?: number;
    readonly shannon?: number;
    readonly bigram?: number;
  };
  readonly patterns: readonly UserRule[];
}

export interface StreamRedactorOptions {
  readonly options: RedactionOptions;
  /** What the command's text says about its output. */
  readonly prior: SecretPrior;
  /** `null`: no value is known. */
  readonly index: KnownIndex | null;
  readonly tags: RedactionTags;
  readonly revealed?: StreamRedactorParts['revealed'];
  /**
   * Do not hide weak known values. Default: they are hidden in a context that shows they are meant.
   */
  readonly leavesWeak?: true;
  /** Called for each replacement in the order of the stream. Must not throw. */
  readonly onRedaction: (redaction: SecretReplacement) => void;
  /** See {@link StreamRedactor}. */
  readonly onMasked?: NonNullable<StreamRedactorParts['onMasked']>;
}

/** @throws TrlError `INVALID_PARAMS` for an unusable pattern of the user */
export function openRedactor(open: StreamRedactorOptions): StreamRedactor {
  const { options, prior, index, leavesWeak, ...parts } = open;
  const { masker, weak } = index === null ? { masker: null, weak: null } : makeMaskers(index);
  return new StreamRedactor({
    masker,
    weak: leavesWeak === true ? null : weak,
    finder: new Detector({ ...detection(options), prior }),
    ...parts,
  });
}

/** The maskers for the values of an index in one stream. */
export function makeMaskers(index: KnownIndex): Pick<StreamRedactorParts, 'masker' | 'weak'> {
  const masker = index.values.length === 0 ? null : new KnownMasker(index);
  return { masker, weak: index.weak };
}

type Detection = Omit<DetectorOptions, 'prior'>;
const detections = new WeakMap<RedactionOptions, Detection>();

/** The options in the detector's form, created once for all streams of an installation. */
function detection(options: RedactionOptions): Detection {
  const made = detections.get(options) ?? detectionOf(options);
  detections.set(options, made);
  return made;
}

function detectionOf({ profile, thresholds, patterns }: RedactionOptions): Detection {
  const usual = thresholdsOf(profile);
  const { score, shannon, bigram } = thresholds;
  const at = (all: ScoreThresholds['alone']): ScoreThresholds['alone'] =>
    score === undefined
      ? all
      : { secrets: Math.min(all.secrets, score), none: score, hashes: Math.max(all.hashes, score) };
  return {
    profile,
    thresholds: {
      alone: at(usual.alone),
      labelled: at(usual.labelled),
      inline: at(usual.inline),
    },
    vetoes: {
      ...(shannon === undefined ? {} : { shannonBitsMin: shannon }),
      ...(bigram === undefined ? {} : { bigramBitsMax: bigram }),
    },
    ...(patterns.length === 0 ? {} : { rules: compileUserRules(patterns) }),
  };
}

export interface SecretSpan {
  /** UTF-16 offsets `[start, end)`. */
  readonly start: number;
  readonly end: number;
}

/** In order, not overlapping. */
export function findSecretSpans(
  open: Omit<StreamRedactorOptions, 'onRedaction'>,
  text: string,
): SecretSpan[] {
  const found: { from: number; to: number }[] = [];
  const stream = openRedactor({
    ...open,
    onRedaction: ({ from, to }) => {
      const last = found.at(-1);
      // Two adjacent findings in one long line are one secret.
      if (last !== undefined && from <= last.to) last.to = Math.max(last.to, to);
      else found.push({ from, to });
    },
  });
  stream.push(Buffer.from(text));
  stream.end();
  return inUnits(text, found);
}

/** Byte offsets in UTF-8 as offsets in UTF-16. `found` is in order. */
function inUnits(text: string, found: readonly { from: number; to: number }[]): SecretSpan[] {
  let unit = 0;
  let byte = 0;
  const reach = (wanted: number): number => {
    while (byte < wanted && unit < text.length) {
      const point = text.codePointAt(unit) ?? 0;
      byte += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
      unit += point < 0x10000 ? 1 : 2;
    }
    return unit;
  };
  return found.map(({ from, to }) => ({ start: reach(from), end: reach(to) }));
}
