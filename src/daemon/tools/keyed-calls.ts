/**
 * Calls of tools that have a key: made again, such a call gets the answer of the first one, and
 * nothing runs twice. Answers are held in memory for a while.
 */
import { TrlError, isTrlError } from '../../errors.ts';
import type { ErrorCode } from '../../errors.ts';
import { limits } from '../../limits.ts';
import type { ToolCallAnswer } from '../../protocol/tool.ts';

const callsMax = 1_000;
const bytesMax = 32 * 1024 * 1024;

/** Ends of a call that did something, may have, or that a person has decided. */
const lasting: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'APPROVAL_DENIED',
  'APPROVAL_EXPIRED',
  'BACKEND_UNAVAILABLE',
  'COMMAND_FAILED',
  'COMMAND_TIMEOUT',
  'INTERNAL_ERROR',
]);

interface Kept {
  readonly says: string;
  readonly answer: Promise<ToolCallAnswer>;
  /** 0 while it is under way. */
  bytes: number;
}

export class KeyedCalls {
  /** Oldest first. */
  readonly #calls = new Map<string, Kept>();
  #bytes = 0;

  /**
   * @param key of whom, and what they called it
   * @param says tells what is called from everything else
   * @throws TrlError `IDEMPOTENCY_CONFLICT` where the key is that of another call; what `call` does
   */
  async once(
    { key, says }: { readonly key: string; readonly says: string },
    call: () => Promise<ToolCallAnswer>,
  ): Promise<ToolCallAnswer> {
    const known = this.#calls.get(key);
    if (known !== undefined) {
      if (known.says === says) return known.answer;
      throw new TrlError('IDEMPOTENCY_CONFLICT', 'Cannot call the tool: its key is another call’s');
    }
    const kept: Kept = { says, answer: call(), bytes: 0 };
    this.#calls.set(key, kept);
    try {
      const answer = await kept.answer;
      this.#keep(key, kept, answer);
      return answer;
    } catch (error) {
      if (isTrlError(error) && !lasting.has(error.code)) this.#calls.delete(key);
      else this.#keep(key, kept, isTrlError(error) ? error.data : null);
      throw error;
    }
  }

  #keep(key: string, kept: Kept, answer: unknown): void {
    kept.bytes = 1 + (JSON.stringify(answer ?? null)?.length ?? 0);
    this.#bytes += kept.bytes;
    setTimeout(() => this.#forget(key, kept), limits.journalKeepMs.default).unref();
    for (const [oldest, one] of this.#calls) {
      if (this.#calls.size <= callsMax && this.#bytes <= bytesMax) break;
      if (one.bytes > 0) this.#forget(oldest, one);
    }
  }

  #forget(key: string, kept: Kept): void {
    if (this.#calls.get(key) !== kept) return;
    this.#calls.delete(key);
    this.#bytes -= kept.bytes;
  }
}
