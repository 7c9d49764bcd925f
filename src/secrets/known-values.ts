/**
 * The values in memory: what a source gave or a person did, and for a while what took their place
 * since. All of them are masked; their count and size are bounded.
 */
import { TrlError } from '../errors.ts';
import { limits } from '../limits.ts';
import { maskedParts } from './masked-parts.ts';
import type { SecretValue } from './secret.ts';
import { secretValueBytesMax } from './source.ts';

export const knownSecretsMax = limits.secretsActive.max;
/** Output of a command that held an old value may still come. */
export const retiredValueMs = 900_000;

/** Whether output can be masked for a value: the masker's own rule. */
export type CheckMaskable = (value: string) =>
  | { readonly ok: true; readonly isWeak: boolean }
  /** One sentence, without the value. */
  | { readonly ok: false; readonly reason: string };

const weakWarning =
  'It is weak, a common word or too short: output hides it only beside its name and in logins.';

interface Held {
  readonly name: string;
  readonly value: string;
  readonly parts: readonly string[];
}

export class KnownValues {
  /** Rises whenever {@link list} changes. */
  version = 0;
  readonly #check: CheckMaskable;
  readonly #clock: () => number;
  readonly #current = new Map<string, Held>();
  #retired: (Held & { readonly until: number })[] = [];
  #list: readonly SecretValue[] = [];
  readonly #listeners = new Set<() => void>();

  constructor(check: CheckMaskable, clock: () => number) {
    this.#check = check;
    this.#clock = clock;
  }

  /** What must be hidden, each value once. */
  list(): readonly SecretValue[] {
    return this.#list;
  }

  /** @param tell must not throw. @returns a function that ends it */
  watch(tell: () => void): () => void {
    this.#listeners.add(tell);
    return () => this.#listeners.delete(tell);
  }

  /** A sentence about what of `value` output shows, or `null`. */
  warning(value: string): string | null {
    const checks = maskedParts(value).map((part) => this.#check(part));
    return checks.some((check) => check.ok && check.isWeak) ? weakWarning : null;
  }

  /** A sentence why `value` cannot be used as a secret, or `null`. */
  #refusal(value: string): string | null {
    if (Buffer.byteLength(value) > secretValueBytesMax) {
      return `It is larger than ${secretValueBytesMax} bytes.`;
    }
    for (const part of maskedParts(value)) {
      const check = this.#check(part);
      if (!check.ok) return check.reason;
    }
    return null;
  }

  /**
   * Holds `value` as that of `key` (a name, or another word for a value that is only masked).
   *
   * @throws TrlError `INVALID_PARAMS` when it cannot be masked, `QUOTA_EXCEEDED` past
   *   {@link knownSecretsMax}; nothing has changed then
   */
  put(key: string, name: string, value: string): void {
    const before = this.#current.get(key);
    if (before?.value === value) return;
    const reason = this.#refusal(value);
    if (reason !== null) {
      const code =
        Buffer.byteLength(value) > secretValueBytesMax ? 'QUOTA_EXCEEDED' : 'INVALID_PARAMS';
      throw new TrlError(code, `Cannot use the secret ${name}. ${reason}`);
    }
    const held = { name, value, parts: maskedParts(value) };
    const others = [...this.#current.entries()].flatMap(([at, one]) => (at === key ? [] : [one]));
    if (unique([...others, held]).length > knownSecretsMax) {
      const message = `Cannot use the secret ${name}: ${knownSecretsMax} values are in use`;
      throw new TrlError('QUOTA_EXCEEDED', message);
    }
    this.#current.set(key, held);
    if (before !== undefined) this.#retire(before);
    this.#changed();
  }

  value(key: string): string | null {
    return this.#current.get(key)?.value ?? null;
  }

  /** Whether there was one. It is masked for {@link retiredValueMs} more. */
  forget(key: string): boolean {
    const held = this.#current.get(key);
    if (held === undefined) return false;
    this.#current.delete(key);
    this.#retire(held);
    this.#changed();
    return true;
  }

  /** Forgets what was retired long enough ago. */
  sweep(): void {
    const now = this.#clock();
    if (this.#retired.every(({ until }) => until > now)) return;
    this.#retired = this.#retired.filter(({ until }) => until > now);
    this.#changed();
  }

  #retire(held: Held): void {
    this.#retired.push({ ...held, until: this.#clock() + retiredValueMs });
  }

  #changed(): void {
    const current = [...this.#current.values()];
    // What is in use goes first: of what is not, the newest are kept.
    let all = unique(current);
    for (const retired of this.#retired.toReversed()) {
      const more = unique([...current, retired]);
      if (more.length > knownSecretsMax) break;
      current.push(retired);
      all = more;
    }
    this.#list = all;
    this.version += 1;
    for (const tell of this.#listeners) tell();
  }
}

function unique(held: readonly Held[]): SecretValue[] {
  const found = new Map<string, SecretValue>();
  for (const { name, parts } of held) {
    for (const value of parts) {
      if (!found.has(value)) found.set(value, { name, value });
    }
  }
  return [...found.values()];
}
