/**
 * Known secrets in the texts that the daemon itself writes: answers, errors, records, its log.
 * Output of commands is redacted before it gets here (`redactor/`) and is not looked at again.
 */
import type { KnownSecret, KnownValue } from '../command.ts';
import { TrlError } from '../errors.ts';
import { limits } from '../limits.ts';
import { KnownIndex } from '../redaction/known/known-index.ts';
import { checkMaskable } from '../redaction/known/maskable.ts';
import { maskText } from '../redaction/known/whole.ts';
import type { Tags } from '../redaction/tag.ts';
import { redactedText, type RedactedText } from '../redaction/text.ts';
import { isSecretVariable } from '../secrets/secret-name.ts';

/** The values that are known just now. */
export interface Known {
  /** Rises whenever the values change. */
  readonly version: number;
  known(): readonly KnownSecret[];
}

/** Fields that hold what a redactor gave out, in answers of the wire. */
const outputFields: ReadonlySet<string> = new Set(['stdout', 'stderr', 'chunks', 'data_b64']);
/** Shorter texts hold no value that can be masked. */
const textMin = 6;
const depthMax = 64;

export class Masking {
  readonly #tags: Tags;
  readonly #source: Known;
  #version = -1;
  #index: KnownIndex | null = null;

  constructor(tags: Tags, source: Known) {
    this.#tags = tags;
    this.#source = source;
  }

  /** The text with a tag in place of every known value, in whatever encoding. */
  text(text: string): RedactedText {
    return this.look(text).text;
  }

  /** The same, with the names of the values that were in it. */
  look(text: string): { readonly text: RedactedText; readonly names: readonly string[] } {
    const index = this.#current();
    if (index === null || text.length < textMin) return { text: redactedText(text), names: [] };
    const { text: masked, hits } = maskText(index, text);
    return { text: redactedText(masked), names: hits };
  }

  /** A value of plain data with all its texts masked; what is output of a command stays. */
  deep<Value>(value: Value): Value {
    if (this.#current() === null) return value;
    return this.#deep(value, 0);
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
   * What the output of a command must not show: what is known, and what its caller gave it under
   * the name of a secret. What is too short or too long to be masked was the caller's own to give.
   *
   * @throws TrlError `QUOTA_EXCEEDED` when there are more values than can be masked
   */
  valuesOf(env: Readonly<Record<string, string>>): KnownSecret[] {
    const own = this.secretNames(env).flatMap((name) => {
      const value = env[name];
      return value === undefined ? [] : [{ name, value }];
    });
    const known = this.#source.known().filter(({ value }) => checkMaskable(value).ok);
    const all = [...new Map([...own, ...known].map((one) => [one.value, one])).values()];
    if (all.length <= limits.secretsActive.max) return all;
    throw new TrlError(
      'QUOTA_EXCEEDED',
      `Cannot run the command: ${all.length} secrets are known, and at most ` +
        `${limits.secretsActive.max} can be kept out of its output`,
    );
  }

  /** Variables that are secrets by their names or forms, and can be masked. */
  secretNames(env: Readonly<Record<string, string>>): string[] {
    return Object.entries(env).flatMap(([name, value]) =>
      isSecretVariable(name, value) && checkMaskable(value).ok ? [name] : [],
    );
  }

  #current(): KnownIndex | null {
    const { version } = this.#source;
    if (version === this.#version) return this.#index;
    const values = this.#source.known().filter(({ value }) => checkMaskable(value).ok);
    const distinct = [...new Map(values.map((one) => [one.value, one])).values()];
    const tagged = distinct.map((one): KnownValue => ({ ...one, tag: this.#tags.of(one.value) }));
    // More than can be masked are refused at a launch; texts of ours hide the first of them.
    const kept = tagged.slice(0, limits.secretsActive.max);
    this.#index = kept.length === 0 ? null : new KnownIndex(kept);
    this.#version = version;
    return this.#index;
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
