/**
 * Known secrets in the texts that the daemon itself writes: answers, errors, records, its log.
 * Output of commands is redacted before it gets here (`redactor/`) and is not looked at again.
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

/** The values that are known just now. */
export interface KnownSecretSource {
  /** Rises whenever the values change. */
  readonly version: number;
  known(): readonly KnownSecret[];
}

/** Fields that hold what a redactor gave out, in answers of the wire. */
const outputFields: ReadonlySet<string> = new Set([
  'stdout',
  'stderr',
  'chunks',
  'data_b64',
  // Of `workspace.diff`: `diff-redaction.ts` looks for what is known and what is not.
  'diff',
]);
/** Shorter texts hold no value that can be masked. */
const textMin = 6;
const depthMax = 64;
/** Texts that are remembered to hold no known value, and characters of one. */
const [cleanMax, cleanTextMax] = [4_096, 128];
/** Ids of our own, in nearly every answer. */
const ownId = /^[sxaw]-[0-9a-f]{32}$/;

/** One of each value that can be masked. */
const distinct = (secrets: readonly KnownSecret[]): KnownSecret[] => [
  ...new Map(
    secrets.filter(({ value }) => checkMaskable(value).ok).map((one) => [one.value, one]),
  ).values(),
];

/** The first of them, as many as can be masked at once. */
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
  /** What callers gave their sessions. */
  readonly given = new GivenSecrets();
  #version = '';
  #index: KnownIndex | null = null;
  #values: ReadonlyMap<string, KnownValue> = new Map();
  /** Nothing that is known just now is in them: most words come again with each command. */
  readonly #clean = new Set<string>();

  constructor(tags: RedactionTags, source: KnownSecretSource) {
    this.#tags = tags;
    this.#source = source;
  }

  /** What is known, for whoever redacts a text of others; `null`: nothing. */
  get index(): KnownIndex | null {
    return this.#current();
  }

  /** The text with a tag in place of every known value, in whatever encoding. */
  text(text: string): RedactedText {
    return this.look(text).text;
  }

  /** The same, with the names of the values that were in it. */
  look(text: string): { readonly text: RedactedText; readonly names: readonly string[] } {
    if (text.length < textMin || ownId.test(text)) return { text: redactedText(text), names: [] };
    const index = this.#current();
    if (index === null) return { text: redactedText(text), names: [] };
    if (this.#clean.has(text)) return { text: redactedText(text), names: [] };
    const { text: masked, hits } = maskText(index, text);
    if (masked === text && text.length <= cleanTextMax) this.#noteClean(text);
    return { text: redactedText(masked), names: hits };
  }

  /** A value of plain data with all its texts masked; what is output of a command stays. */
  deep<Value>(value: Value): Value {
    return this.#current() === null ? value : this.#deep(value, 0);
  }

  /** An answer or event as JSON. */
  json(data: unknown): RedactedText {
    return redactedText(JSON.stringify(this.deep(data)));
  }

  /** An event that carries output of a command and nothing else that people wrote. */
  output(event: object): RedactedText {
    return redactedText(JSON.stringify(event));
  }

  /**
   * What the output of a session's commands must not show: what is known, and what callers gave the
   * session under the names of secrets, as much of the older of it as can be masked besides.
   *
   * @param own what this command's caller gave it
   * @throws TrlError `QUOTA_EXCEEDED` when what is known and its own is more than can be masked
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
    // More than can be masked are refused at a launch; texts of ours hide the first of them.
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

  /** One object for one value: what is computed for it belongs to the object. */
  #valueOf({ name, value }: KnownSecret): KnownValue {
    return this.#values.get(value) ?? { name, value, tag: this.#tags.of(value) };
  }

  /** Only texts change, each for a text: the type stays. */
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
