/**
 * The replacements of secrets: `[HIDDEN:8f2a1b]`. The digits begin the HMAC-SHA-256 of the secret's
 * bytes, so that a reader can see that two secrets are equal, and nothing else.
 */
import { createHmac } from 'node:crypto';
import type { IssuedTags } from '../redacted.ts';

const digitsMin = 6;
const digitsStep = 2;
/** Separates this use of the key from all others. */
const domain = 'trl redaction tag v1\n';
/** Stored secrets. Beyond, tags are lengthened less often, but are never wrong. */
const rememberedMax = 200_000;
const recentMax = 1_024;
const recentBytesMax = 256;

/**
 * The tags of one installation. Among a few thousand secrets, two share 24 bits; the registry of
 * whole digests then lengthens the later tag.
 */
export class RedactionTags implements IssuedTags {
  readonly #key: Uint8Array;
  /** Digits → the digest that has them. */
  readonly #taken = new Map<string, string>();
  /** Tags of other redactors with this key. */
  readonly #noted = new Set<string>();
  /** A cache: the same few secrets occur again and again. */
  readonly #recent = new Map<string, { readonly tag: string; readonly name: string }>();

  /** @param key 32 bytes, of the installation */
  constructor(key: Uint8Array) {
    this.#key = key;
  }

  /** The tag of a secret, by its bytes; a string counts as UTF-8. */
  of(secret: Uint8Array | string): string {
    return this.#find(secret).tag;
  }

  /** The 32 digits that name a secret, beginning with those of its tag. */
  nameOf(secret: Uint8Array): string {
    return this.#find(secret).name;
  }

  /** Records a tag of another redactor with this key. */
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

/** The digits of a permanent name: enough that no other value has the same. */
const nameDigits = 32;

const hiddenStart = '[HIDDEN:';
const hidden = (digits: string): string => `${hiddenStart}${digits}]`;
