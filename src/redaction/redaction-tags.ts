/**
 * What stands in the place of a secret: `[HIDDEN:8f2a1b]`. The digits begin the HMAC-SHA-256 of
 * the secret's own bytes, so that equal secrets can be told to be equal and nothing else is told.
 */
import { createHmac } from 'node:crypto';
import type { IssuedTags } from '../redacted.ts';

const digitsMin = 6;
const digitsStep = 2;
/** Set apart from every other use of the key. */
const domain = 'trl redaction tag v1\n';
/** Secrets remembered at once; beyond, a tag is lengthened less eagerly, and never wrong. */
const rememberedMax = 200_000;
const recentMax = 1_024;
const recentBytesMax = 256;

/**
 * The tags of one installation. 24 bits are shared by two of a few thousand secrets: the registry
 * of whole digests makes the later one's tag longer.
 */
export class RedactionTags implements IssuedTags {
  readonly #key: Uint8Array;
  /** Digits → the digest that has them. */
  readonly #taken = new Map<string, string>();
  /** What other redactors of this key gave out. */
  readonly #noted = new Set<string>();
  /** The same few secrets come again and again. */
  readonly #recent = new Map<string, { readonly tag: string; readonly name: string }>();

  /** @param key 32 bytes, the installation's */
  constructor(key: Uint8Array) {
    this.#key = key;
  }

  /** The tag of a secret, by its bytes; a string counts as UTF-8. */
  of(secret: Uint8Array | string): string {
    return this.#find(secret).tag;
  }

  /** The 32 digits that name a secret: those of its tag first. */
  nameOf(secret: Uint8Array): string {
    return this.#find(secret).name;
  }

  /** A redactor of this key gave it out. */
  note(tag: string): void {
    if (this.#noted.size < rememberedMax) this.#noted.add(tag);
  }

  get isUsed(): boolean {
    return this.#taken.size > 0 || this.#noted.size > 0;
  }

  has(tag: string): boolean {
    return this.#noted.has(tag) || this.#taken.has(tag.slice(hiddenStart.length, -1));
  }

  isOf(tag: string, secret: Uint8Array): boolean {
    const digits = tag.slice(hiddenStart.length, -1);
    const digest = this.#digest(secret);
    const taken = this.#taken.get(digits);
    return taken === undefined ? digest.startsWith(digits) : taken === digest;
  }

  #digest(secret: Uint8Array): string {
    return createHmac('sha256', this.#key).update(domain).update(secret).digest('hex');
  }

  #find(secret: Uint8Array | string): { readonly tag: string; readonly name: string } {
    const bytes = Buffer.from(secret);
    const text = bytes.length > recentBytesMax ? null : bytes.toString('latin1');
    const recent = text === null ? undefined : this.#recent.get(text);
    if (recent !== undefined) return recent;
    const digest = this.#digest(bytes);
    const made = { tag: this.#make(digest), name: digest.slice(0, nameDigits) };
    if (text === null) return made;
    if (this.#recent.size >= recentMax) this.#recent.clear();
    this.#recent.set(text, made);
    return made;
  }

  #make(digest: string): string {
    for (let digits = digitsMin; digits < digest.length; digits += digitsStep) {
      const short = digest.slice(0, digits);
      const holder = this.#taken.get(short);
      if (holder === digest) return hidden(short);
      if (holder !== undefined) continue;
      if (this.#taken.size < rememberedMax) this.#taken.set(short, digest);
      return hidden(short);
    }
    return hidden(digest);
  }
}

/** Digits by which a value is named for good: too many for another value to have the same. */
const nameDigits = 32;

const hiddenStart = '[HIDDEN:';
const hidden = (digits: string): string => `${hiddenStart}${digits}]`;
