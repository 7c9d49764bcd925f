/** Collects a stream into one receipt, as `exec.run` answers it. */
import { limits } from '../limits.ts';
import type { ExecEnd, Receipt } from '../api/receipt.ts';
import { toBase64, concatBytes, decodeUtf8Strict } from './bytes.ts';
import type { ExecEvent } from './stream.ts';

/**
 * Takes everything from `events`, then waits for `exit`. Keeps at most `outputBytes` of each stream
 * (default 4 MiB, at most 64 MiB): the first half and the last.
 */
export async function collectReceipt(
  events: AsyncIterable<ExecEvent>,
  exit: Promise<ExecEnd>,
  outputBytes: number = limits.outputBytes.default,
): Promise<Receipt> {
  const bytesMax = Math.min(outputBytes, limits.outputBytes.max);
  const kept = { stdout: new HeadAndTail(bytesMax), stderr: new HeadAndTail(bytesMax) };
  for await (const event of events) {
    if (event.type === 'output') {
      kept[event.stream].add(event.bytes);
    }
  }
  const end = await exit;
  const stdout = kept.stdout.text();
  const stderr = kept.stderr.text();
  const stdoutOmitted = Math.max(0, end.stdout_bytes - stdout.bytes);
  const stderrOmitted = Math.max(0, end.stderr_bytes - stderr.bytes);
  return {
    ...end,
    stdout: stdout.text,
    stderr: stderr.text,
    ...(stdout.base64 ? { stdout_encoding: 'base64' } : {}),
    ...(stderr.base64 ? { stderr_encoding: 'base64' } : {}),
    truncated: stdoutOmitted + stderrOmitted > 0,
    stdout_omitted_bytes: stdoutOmitted,
    stderr_omitted_bytes: stderrOmitted,
  };
}

/** The first and the last bytes of a stream. */
class HeadAndTail {
  readonly #halfMax: number;
  readonly #head: Uint8Array[] = [];
  #headBytes = 0;
  #tail: Uint8Array[] = [];
  #tailBytes = 0;
  #dropped = false;

  constructor(bytesMax: number) {
    this.#halfMax = Math.floor(bytesMax / 2);
  }

  add(bytes: Uint8Array): void {
    const room = this.#halfMax - this.#headBytes;
    const head = bytes.subarray(0, room);
    if (head.length > 0) {
      this.#head.push(head);
      this.#headBytes += head.length;
    }
    const tail = bytes.subarray(head.length);
    if (tail.length > 0) {
      this.#tail.push(tail);
      this.#tailBytes += tail.length;
    }
    // Trimming each time would copy the tail each time.
    if (this.#tailBytes > this.#halfMax * 2 || this.#tail.length > 4096) {
      this.#trim();
    }
  }

  /** Text if the whole is UTF-8 (except for a character at the omission), else base64. */
  text(): { readonly text: string; readonly base64: boolean; readonly bytes: number } {
    this.#trim();
    const head = concatBytes(this.#head);
    const tail = concatBytes(this.#tail);
    if (this.#dropped) {
      const whole = { head: withoutCutEnd(head), tail: withoutCutStart(tail) };
      const [before, after] = [decodeUtf8Strict(whole.head), decodeUtf8Strict(whole.tail)];
      if (before !== null && after !== null) {
        const bytes = whole.head.length + whole.tail.length;
        return { text: before + after, base64: false, bytes };
      }
    }
    const all = concatBytes([head, tail]);
    const text = decodeUtf8Strict(all);
    return { text: text ?? toBase64(all), base64: text === null, bytes: all.length };
  }

  #trim(): void {
    const all = concatBytes(this.#tail);
    const over = Math.max(0, all.length - this.#halfMax);
    this.#dropped ||= over > 0;
    const kept = all.subarray(over);
    this.#tail = [over > 0 ? kept.slice() : kept];
    this.#tailBytes = kept.length;
  }
}

/** Drops up to 3 bytes of a character whose end is missing. */
function withoutCutEnd(bytes: Uint8Array): Uint8Array {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte >= 0xc0) {
      const wanted = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
      return wanted > back ? bytes.subarray(0, bytes.length - back) : bytes;
    }
    if (byte < 0x80) {
      return bytes;
    }
  }
  return bytes;
}

/** Drops up to 3 bytes of a character whose start is missing. */
function withoutCutStart(bytes: Uint8Array): Uint8Array {
  let at = 0;
  while (at < 3 && at < bytes.length && ((bytes[at] ?? 0) & 0xc0) === 0x80) {
    at += 1;
  }
  return bytes.subarray(at);
}
