/**
 * The secrets of a runtime: names for everybody, values in memory only. A value is read when it is
 * wanted, held as long as its source says, and masked from then on.
 */
import { isTrlError, TrlError } from '../errors.ts';
import { isInjectionName } from '../variable-names.ts';
import { failedCheck, unreadCheck } from './secret-check.ts';
import type { SecretCheck } from './secret-check.ts';
import { SourceFailureCache } from './failure-cache.ts';
import { KnownValues } from './known-values.ts';
import type { CheckMaskable } from './known-values.ts';
import { SecretRequests } from './requests.ts';
import type { SecretRequest } from './requests.ts';
import type { SecretValue, SecretView, SourceKind } from './secret.ts';
import { isVariableName } from './source.ts';
import type { SecretSource } from './source.ts';

export interface SecretStoreOptions {
  /** The first one that has a name gives its value; what a person gave goes before all. */
  readonly sources: readonly SecretSource[];
  readonly checkMaskable: CheckMaskable;
  /** Unix ms. Default `Date.now`. */
  readonly clock?: () => number;
}

/** A source that could not be asked. */
export interface SourceProblem {
  readonly source: SourceKind;
  readonly origin: string | null;
  /** A sentence with what to do; never a value. */
  readonly problem: string;
}

/** A source as it was read last. */
interface Loaded {
  readonly mark: string;
  readonly problems: readonly SourceProblem[];
}

interface Origin {
  readonly kind: SourceKind;
  readonly origin: string | null;
  /** Unix ms; `null`: it holds until its source changes. */
  readonly expiresAt: number | null;
}

export class SecretStore {
  readonly requests: SecretRequests;
  readonly #sources: readonly SecretSource[];
  readonly #clock: () => number;
  readonly #known: KnownValues;
  readonly #origins = new Map<string, Origin>();
  readonly #lastUsed = new Map<string, number>();
  readonly #reading = new Map<string, Promise<string>>();
  readonly #loaded = new Map<SecretSource, Loaded>();
  readonly #failures: SourceFailureCache;
  #listProblems: readonly SourceProblem[] = [];

  constructor({ sources, checkMaskable, clock = Date.now }: SecretStoreOptions) {
    this.#sources = sources;
    this.#clock = clock;
    this.#known = new KnownValues(checkMaskable, clock);
    this.#failures = new SourceFailureCache(clock);
    this.requests = new SecretRequests(clock);
  }

  /** Rises whenever {@link known} changes. */
  get version(): number {
    return this.#known.version;
  }

  /** Every value that must be masked. Of a URL or a key file it is the secret part alone. */
  known(): readonly SecretValue[] {
    return this.#known.list();
  }

  /** @param tell is called at each change of {@link known}; must not throw. @returns its end */
  watch(tell: () => void): () => void {
    return this.#known.watch(tell);
  }

  /** Names whose values cannot be distinguished from ordinary text. */
  get weak(): readonly string[] {
    const isWeak = ({ value }: SecretValue): boolean => this.#known.warning(value) !== null;
    return [
      ...new Set(
        this.known()
          .filter(isWeak)
          .map(({ name }) => name),
      ),
    ];
  }

  /** What could not be read or held by the last {@link load} and the last {@link list}. */
  get problems(): readonly SourceProblem[] {
    const loading = [...this.#loaded.values()].flatMap(({ problems }) => problems);
    const said = new Map([...loading, ...this.#listProblems].map((one) => [one.problem, one]));
    return [...said.values()];
  }

  /**
   * Reads what costs nothing, so that it is masked before anybody uses it. Meant to be called at
   * the start and before each command: a file that did not change is not read again.
   */
  async load(): Promise<void> {
    this.#known.sweep();
    for (const source of this.#sources) {
      const mark = source.mark();
      if (mark === null || this.#loaded.get(source)?.mark === mark) continue;
      this.#loaded.set(source, { mark, problems: await this.#loadAll(source) });
    }
  }

  /** Sorted by name. */
  async list(): Promise<readonly SecretView[]> {
    const found = new Map<string, SecretView>();
    const problems: SourceProblem[] = [];
    for (const [name, { kind, origin }] of this.#origins) {
      if (kind === 'person') found.set(name, this.#view(name, kind, origin));
    }
    for (const source of this.#sources) {
      try {
        for (const name of await source.names()) {
          if (found.has(name)) continue;
          found.set(name, this.#view(name, source.kind, source.origin));
        }
      } catch (error) {
        problems.push(problemOf(source, error));
      }
    }
    this.#listProblems = problems;
    return [...found.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  /**
   * Whether a command could have it. Nothing counts as used, and no source is asked where that
   * costs something: a program is started only for a command that may have its secret.
   */
  async check(name: string): Promise<SecretCheck> {
    try {
      const found = await this.#readNow(name, false);
      if (typeof found !== 'string') return unreadCheck(name, found);
      const held = this.#origins.get(name);
      const expiresAt = held?.expiresAt ?? null;
      return {
        name,
        state: 'ready',
        source: held?.kind ?? null,
        origin: held?.origin ?? null,
        expires_at: expiresAt === null ? null : new Date(expiresAt).toISOString(),
        problem: null,
      };
    } catch (error) {
      if (!isTrlError(error)) throw error;
      return failedCheck(name, error);
    }
  }

  /**
   * The value for a command.
   *
   * @throws TrlError `SECRET_NOT_FOUND`; `SECRET_UNAVAILABLE` when its source fails;
   *   `INVALID_PARAMS` when it cannot be masked; `QUOTA_EXCEEDED`. No message has a value.
   */
  async value(name: string): Promise<SecretValue> {
    const value = await this.#read(name);
    this.#lastUsed.set(name, this.#clock());
    return { name, value };
  }

  /**
   * Refuses a name that no command could get, if {@link check} can know.
   *
   * @throws TrlError as {@link value}
   */
  async usable(name: string): Promise<void> {
    await this.#readNow(name, false);
  }

  /**
   * Where a name's value comes from, without reading it where that costs something; `null`: no
   * source has it.
   */
  async find(name: string): Promise<SecretView | null> {
    const held = this.#origins.get(name);
    if (held !== undefined) return this.#view(name, held.kind, held.origin);
    return (await this.list()).find((view) => view.name === name) ?? null;
  }

  /**
   * Takes a value from a person; requests that wait for it continue. The value stays in memory
   * until it is deleted or the runtime ends.
   *
   * @returns a warning, one sentence, or `null`
   * @throws TrlError as {@link value}, and `INVALID_PARAMS` for a name that no variable can have
   */
  give(name: string, value: string): string | null {
    const reason = nameRefusal(name);
    if (reason !== null) {
      throw new TrlError('INVALID_PARAMS', `Cannot keep the secret ${shown(name)}: ${reason}`);
    }
    if (value === '') {
      throw new TrlError('INVALID_PARAMS', `Cannot keep the secret ${name}: it is empty`);
    }
    this.#known.put(name, name, value);
    this.#origins.set(name, { kind: 'person', origin: null, expiresAt: null });
    this.requests.end(name, true);
    return this.#known.warning(value);
  }

  /**
   * Forgets a value that a person gave or a source answered. What a source still has can be read
   * again; what is forgotten stays masked for 15 minutes.
   *
   * @throws TrlError `SECRET_NOT_FOUND` when none is held
   */
  delete(name: string): void {
    const wasHeld = this.#known.forget(name);
    this.#origins.delete(name);
    // What a file still has is masked again from the next command on.
    this.#loaded.clear();
    const wasAsked = this.requests.end(name, false);
    if (!wasHeld && !wasAsked) throw notFound(name, `no value of it is held`);
  }

  /**
   * Asks a person for `name`; the value never passes through the asker.
   *
   * @throws TrlError `INVALID_PARAMS` for a name that no variable can have, `QUOTA_EXCEEDED`
   */
  request(asked: Pick<SecretRequest, 'name' | 'reason' | 'requester'>): SecretRequest {
    const reason = nameRefusal(asked.name);
    if (reason === null) return this.requests.request(asked);
    throw new TrlError('INVALID_PARAMS', `Cannot ask for ${shown(asked.name)}: ${reason}`);
  }

  #view(name: string, source: SourceKind, origin: string | null): SecretView {
    const at = this.#lastUsed.get(name);
    return {
      name,
      source,
      origin,
      last_used: at === undefined ? null : new Date(at).toISOString(),
    };
  }

  /** Several who want it at once ask its source once. */
  #read(name: string): Promise<string> {
    const reading = this.#reading.get(name);
    if (reading !== undefined) return reading;
    const read = this.#readValue(name).finally(() => this.#reading.delete(name));
    this.#reading.set(name, read);
    return read;
  }

  async #readValue(name: string): Promise<string> {
    const found = await this.#readNow(name, true);
    if (typeof found === 'string') return found;
    throw notFound(name, 'its source does not have it any more');
  }

  /** @param asks whether sources may be asked that cost something; else the first that has it */
  async #readNow(name: string, asks: boolean): Promise<string | SecretSource> {
    const reason = nameRefusal(name);
    if (reason !== null) throw notFound(name, reason);
    const cached = this.#cached(name);
    if (cached !== null) return cached;
    const failures: { readonly source: SecretSource; readonly error: TrlError }[] = [];
    for (const source of this.#sources) {
      try {
        if (!asks && isCostly(source)) {
          this.#failures.check(source, name, false);
          if ((await source.names()).includes(name)) return source;
          continue;
        }
        const value = await this.#ask(source, name);
        if (value === null) continue;
        this.#hold(source, name, value);
        return value;
      } catch (error) {
        if (!isTrlError(error, 'SECRET_UNAVAILABLE')) throw error;
        failures.push({ source, error });
      }
    }
    // A keyring that cannot be asked is no sign that it had the name.
    const failed = failures.find(({ source }) => source.kind !== 'keyring');
    if (failed !== undefined) throw failed.error;
    const also = failures.map(({ error }) => `; ${error.message}`).join('');
    throw notFound(name, `no source has it; a person can give it: trl secrets set ${name}${also}`);
  }

  /** One that failed a moment ago is not asked again: an agent could make it prompt for ever. */
  async #ask(source: SecretSource, name: string): Promise<string | null> {
    if (!isCostly(source)) return source.read(name);
    this.#failures.check(source, name, true);
    try {
      const value = await source.read(name);
      this.#failures.forget(source, name);
      return value;
    } catch (error) {
      if (isTrlError(error, 'SECRET_UNAVAILABLE')) this.#failures.add(source, name, error);
      throw error;
    }
  }

  #cached(name: string): string | null {
    const held = this.#origins.get(name);
    if (held === undefined) return null;
    const isOver = held.expiresAt !== null && held.expiresAt <= this.#clock();
    return isOver ? null : this.#known.value(name);
  }

  #hold(source: SecretSource, name: string, value: string): void {
    // A person gave one while the source was asked: that one holds.
    if (this.#origins.get(name)?.kind === 'person') return;
    if (value === '') {
      throw new TrlError('INVALID_PARAMS', `Cannot use the secret ${name}: it is empty`);
    }
    this.#known.put(name, name, value);
    const { kind, origin, cacheMs } = source;
    const expiresAt = cacheMs === null ? null : this.#clock() + cacheMs;
    this.#origins.set(name, { kind, origin, expiresAt });
  }

  async #loadAll(source: SecretSource): Promise<SourceProblem[]> {
    const problems: SourceProblem[] = [];
    try {
      for (const { name, value } of source.hidden?.() ?? []) {
        const problem = attempt(() => this.#known.put(`hidden ${name}`, name, value));
        if (problem !== null) problems.push(problemOf(source, problem));
      }
      for (const name of await source.names()) {
        const problem = await this.#loadOne(source, name);
        if (problem !== null) problems.push(problemOf(source, problem));
      }
    } catch (error) {
      problems.push(problemOf(source, error));
    }
    return problems;
  }

  /** Why a value cannot be masked; a command that requests it learns the reason, too. */
  async #loadOne(source: SecretSource, name: string): Promise<TrlError | null> {
    const held = this.#origins.get(name);
    const isOthers =
      held !== undefined && (held.kind !== source.kind || held.origin !== source.origin);
    try {
      const value = await source.read(name);
      if (value === null || value === '') return null;
      // What another source gives under this name is masked, and so is this.
      const key = `hidden ${source.kind} ${source.origin} ${name}`;
      return attempt(() =>
        isOthers ? this.#known.put(key, name, value) : this.#hold(source, name, value),
      );
    } catch (error) {
      if (isTrlError(error)) return error;
      throw error;
    }
  }
}

/** What is never read at the start: a program, a keyring that may ask for its password. */
const isCostly = (source: SecretSource): boolean => source.mark() === null;

function attempt(act: () => void): TrlError | null {
  try {
    act();
    return null;
  } catch (error) {
    if (isTrlError(error)) return error;
    throw error;
  }
}

/** One clause why no secret can be called so, or `null`. */
function nameRefusal(name: string): string | null {
  if (!isVariableName(name)) {
    return 'a name is letters, digits and "_", not starting with a digit';
  }
  return isInjectionName(name) ? 'programs run what this variable says' : null;
}

const shown = (name: string): string => JSON.stringify(name.slice(0, 64));

function notFound(name: string, reason: string): TrlError {
  return new TrlError('SECRET_NOT_FOUND', `Cannot find the secret ${shown(name)}: ${reason}`);
}

function problemOf(source: SecretSource, error: unknown): SourceProblem {
  if (!isTrlError(error)) throw error;
  return { source: source.kind, origin: source.origin, problem: error.message };
}
