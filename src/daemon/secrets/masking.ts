/**
 * Masks known secrets in the texts that the daemon itself writes: answers, errors, records, log.
 * Output of commands is redacted before it gets here (`redactor/`) and is not scanned again.
 */
import type { SessionId } from '../../command.ts';
import type { KnownSecret, KnownValue } from '../../redacted.ts';
import { TrlError } from '../../errors.ts';
import { limits } from '../../limits.ts';
import type { KnownIndex } from '../../redaction/known/known-index.ts';
import { buildKnownIndex, checkMaskable, maskText } from '../../redaction/known/maskable.ts';
import type { RedactionTags } from '../../redaction/redaction-tags.ts';
import { redactedText, type RedactedText } from '../../redaction/redacted-text.ts';
import { GivenSecrets } from './given-secrets.ts';

/** The values that are currently known. */
export interface KnownSecretSource {
  /** Increases whenever the values change. */
  readonly version: number;
  known(): readonly KnownSecret[];
}

/** Fields of wire answers whose text a redactor has already redacted. */
const outputFields: ReadonlySet<string> = new Set([
  'stdout',
  'stderr',
  'chunks',
  'data_b64',
  // The field of `workspace.diff`: `diff-redaction.ts` redacts known and suspected secrets.
  'diff',
]);
/** Shorter texts cannot contain a value that can be masked. */
const textMin = 6;
const depthMax = 64;
/** Texts remembered to contain no known value, and the maximum characters of such a text. */
const [cleanMax, cleanTextMax] = [4_096, 128];
/** The runtime's own ids, which nearly every answer contains. */
const ownId = /^[sxaw]-[0-9a-f]{32}$/;

/** The values that can be masked, without duplicates. */
const distinct = (secrets: readonly KnownSecret[]): KnownSecret[] => [
  ...new Map(
    secrets.filter(({ value }) => checkMaskable(value).ok).map((one) => [one.value, one]),
  ).values(),
];

/** The first values, up to the number that can be masked at once. */
function within(secrets: readonly KnownSecret[]): KnownSecret[] {
  let bytes = 0;
  return secrets.slice(0, limits.secretsActive.max).filter(({ value }) => {
    bytes += Buffer.byteLength(value);
    return bytes <= limits.secretsBytes.max;
  });
}

export class Masking {
  readonly #tags: RedactionTags;
  readonly #source: KnownSecretSource;
  /** Secrets that callers gave their sessions. */
  readonly given = new GivenSecrets();
  #version = '';
  #index: KnownIndex | null = null;
  #values: ReadonlyMap<string, KnownValue> = new Map();
  /** Texts without a currently known value: most texts recur with each command. */
  readonly #clean = new Set<string>();

  constructor(tags: RedactionTags, source: KnownSecretSource) {
    this.#tags = tags;
    this.#source = source;
  }

  /** The known values, for redactors of other texts; `null` if there are none. */
  get index(): KnownIndex | null {
    return this.#current();
  }

  /** Replaces every known value, in any encoding, with a tag. */
  text(text: string): RedactedText {
    return this.look(text).text;
  }

  /** Like {@link text}; also returns the names of the values found. */
  look(text: string): { readonly text: RedactedText; readonly names: readonly string[] } {
    if (text.length < textMin || ownId.test(text)) return { text: redactedText(text), names: [] };
    const index = this.#current();
    if (index === null) return { text: redactedText(text), names: [] };
    if (this.#clean.has(text)) return { text: redactedText(text), names: [] };
    const { text: masked, hits } = maskText(index, text);
    if (masked === text && text.length <= cleanTextMax) this.#noteClean(text);
    return { text: redactedText(masked), names: hits };
  }

  /** Masks all texts within plain data, except output of commands. */
  deep<Value>(value: Value): Value {
    return this.#current() === null ? value : this.#deep(value, 0);
  }

  /** Returns an answer or event as masked JSON. */
  json(data: unknown): RedactedText {
    return redactedText(JSON.stringify(this.deep(data)));
  }

  /** Returns an event as JSON whose only text from people is output of a command. */
  output(event: object): RedactedText {
    return redactedText(JSON.stringify(event));
  }

  /**
   * The values that output of a session's commands must not show: the known ones, the command's
   * own, and as many of the older ones that callers gave the session as can be masked besides.
   *
   * @param own the values that the caller gave this command
   * @throws TrlError `QUOTA_EXCEEDED` if the known and own values exceed what can be masked
   */
  valuesOf(session: SessionId, own: readonly KnownSecret[]): KnownSecret[] {
    const wanted = distinct([...this.#source.known(), ...own]);
    if (within(wanted).length === wanted.length) {
      return within(distinct([...wanted, ...this.given.of(session).toReversed()]));
    }
    const { secretsActive, secretsBytes } = limits;
    throw new TrlError(
      'QUOTA_EXCEEDED',
      `Cannot run the command: ${wanted.length} secrets are known; at most ${secretsActive.max}, ` +
        `and ${secretsBytes.max} bytes in all, can be kept out of its output`,
    );
  }

  #current(): KnownIndex | null {
    const version = `${this.#source.version} ${this.given.version}`;
    if (version === this.#version) return this.#index;
    const secrets = distinct([...this.#source.known(), ...this.given.all()]);
    // A launch is refused if there are too many values; the daemon's own texts mask the first ones.
    const values = within(secrets).map((one) => this.#valueOf(one));
    this.#values = new Map(values.map((one) => [one.value, one]));
    this.#index = values.length === 0 ? null : buildKnownIndex(values, this.#index);
    this.#version = version;
    this.#clean.clear();
    return this.#index;
  }

  #noteClean(text: string): void {
    if (this.#clean.size >= cleanMax) this.#clean.clear();
    this.#clean.add(text);
  }

  /** Returns the same object for the same value, because computed results are cached per object. */
  #valueOf({ name, value }: KnownSecret): KnownValue {
    return this.#values.get(value) ?? { name, value, tag: this.#tags.of(value) };
  }

  /** Replaces only texts, each with a text, so the type stays the same. */
  #deep<Value>(value: Value, depth: number): Value;
  #deep(value: unknown, depth: number): unknown {
    if (typeof value === 'string') return this.text(value);
    if (typeof value !== 'object' || value === null) return value;
    if (depth > depthMax) throw new TrlError('INTERNAL_ERROR', 'Cannot mask: nested too deeply');
    if (Array.isArray(value)) return value.map((one) => this.#deep<unknown>(one, depth + 1));
    return Object.fromEntries(
      Object.entries(value).map(([name, one]: [string, unknown]) => [
        name,
        outputFields.has(name) ? one : this.#deep(one, depth + 1),
      ]),
    );
  }
}
