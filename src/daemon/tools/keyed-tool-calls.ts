/**
 * Calls of tools that have a key: a repeated call gets the answer of the first one, and nothing
 * runs twice. Answers stay in memory for a while; the used keys are on disk, where they outlive
 * the answers and the runtime.
 */
import { TrlError, isTrlError } from '../../errors.ts';
import type { ErrorCode } from '../../errors.ts';
import { limits } from '../../limits.ts';
import type { ToolCallAnswer } from '../../api/tool.ts';
import type { UsedKeys } from '../used-keys.ts';

const callsMax = 1_000;
const bytesMax = 32 * 1024 * 1024;

/** Errors after which the key stays used: the call may have had effects, or a person decided. */
const lasting: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'APPROVAL_DENIED',
  'APPROVAL_EXPIRED',
  'BACKEND_UNAVAILABLE',
  'COMMAND_FAILED',
  'COMMAND_TIMEOUT',
  'INTERNAL_ERROR',
]);

/** Identifies a call and its caller. */
export interface KeyedToolCall {
  readonly actor: string;
  /** The key that the caller chose. */
  readonly key: string;
  /** Distinguishes this call from every other one. */
  readonly fingerprint: string;
}

export interface ResumableToolCall {
  /**
   * Makes the call. If the call started something, it must call `over` just before that is removed.
   */
  readonly run: (over: () => void) => Promise<ToolCallAnswer>;
  /** Whether a repeated run resumes the first one, also after the runtime restarts. */
  readonly isResumable: boolean;
}

interface CachedCall {
  readonly fingerprint: string;
  readonly answer: Promise<ToolCallAnswer>;
  /** 0 while the call is running. */
  bytes: number;
}

export class KeyedToolCalls {
  readonly #used: UsedKeys;
  /** Oldest first. */
  readonly #calls = new Map<string, CachedCall>();
  #bytes = 0;

  constructor(used: UsedKeys) {
    this.#used = used;
  }

  /**
   * @throws TrlError `IDEMPOTENCY_CONFLICT` if another call used the key; `EXEC_NOT_FOUND` if the
   *   call was made before and its answer is no longer stored; errors of `run`
   */
  async once(call: KeyedToolCall, going: ResumableToolCall): Promise<ToolCallAnswer> {
    const name = `${call.actor} ${call.key}`;
    const known = this.#calls.get(name);
    if (known !== undefined) {
      if (known.fingerprint === call.fingerprint) return known.answer;
      throw conflict();
    }
    const scope = scopeOf(call);
    this.#use(call, going.isResumable);
    const over = (): void => this.#put(call, 'over');
    const cached: CachedCall = { fingerprint: call.fingerprint, answer: going.run(over), bytes: 0 };
    this.#calls.set(name, cached);
    try {
      const answer = await cached.answer;
      this.#keep(name, cached, answer);
      return answer;
    } catch (error) {
      if (isTrlError(error) && !lasting.has(error.code)) {
        this.#calls.delete(name);
        this.#used.forget(scope, call.key);
      } else this.#keep(name, cached, isTrlError(error) ? error.data : null);
      throw error;
    }
  }

  /** Stores the key on disk before anything runs, so that it counts as used even after a crash. */
  #use(call: KeyedToolCall, goesOn: boolean): void {
    const before = this.#used.find(scopeOf(call), call.key);
    if (before !== null && before.call !== call.fingerprint) throw conflict();
    if (before?.state === 'over') {
      const why = 'it was called before, and its answer is no longer stored; use a new key';
      throw new TrlError('EXEC_NOT_FOUND', `Cannot call the tool by its key again: ${why}`);
    }
    this.#put(call, goesOn ? 'begun' : 'over');
  }

  #put(call: KeyedToolCall, state: 'begun' | 'over'): void {
    const { key, fingerprint } = call;
    this.#used.put({ scope: scopeOf(call), key, call: fingerprint, state, at: Date.now() });
  }

  #keep(key: string, cached: CachedCall, answer: unknown): void {
    cached.bytes = 1 + (JSON.stringify(answer ?? null)?.length ?? 0);
    this.#bytes += cached.bytes;
    setTimeout(() => this.#forget(key, cached), limits.journalKeepMs.default).unref();
    for (const [oldest, one] of this.#calls) {
      if (this.#calls.size <= callsMax && this.#bytes <= bytesMax) break;
      if (one.bytes > 0) this.#forget(oldest, one);
    }
  }

  #forget(key: string, cached: CachedCall): void {
    if (this.#calls.get(key) !== cached) return;
    this.#calls.delete(key);
    this.#bytes -= cached.bytes;
  }
}

/** The scope contains spaces, so it never equals the id of a session. */
const scopeOf = ({ actor }: KeyedToolCall): string => `tools of ${actor}`;

const conflict = (): TrlError =>
  new TrlError('IDEMPOTENCY_CONFLICT', 'Cannot call the tool: its key is another call’s');
