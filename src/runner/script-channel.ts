/**
 * The runner's end of a script's descriptor: sends the script, takes its calls line by line and
 * returns their answers (the wire is drawn in `python-boot.ts`). It does not look at the content of
 * a call. What it keeps of the script's input is bounded; input that cannot be a call ends the
 * channel, not the script.
 */
import type { Duplex } from 'node:stream';
import { limits } from '../limits.ts';

const lineBytesMax = limits.scriptCallBytes.max + 16;
const unreadBytesMax = 4 * limits.scriptCallBytes.max;
const numberForm = /^[1-9][0-9]{0,8}$/;

/** `{"ok":false,…}` as a script gets it. */
function refusal(code: string, message: string): string {
  return JSON.stringify({ ok: false, error: { code, message } });
}

const lost = refusal(
  'BACKEND_UNAVAILABLE',
  'The call was lost: the runtime was restarted, or is stopping; it may have acted',
);

export class ScriptChannel {
  readonly #stream: Duplex;
  readonly #onCall: (call: number, text: string) => boolean;
  /** Calls without an answer. */
  readonly #open = new Set<number>();
  #parts: Buffer[] = [];
  #bytes = 0;
  #calls = 0;
  /** Whole lines that wait for an open call to end. */
  #waiting: Buffer[] = [];
  #isPassing = false;
  #closed = false;

  /** @param onCall passes a call on; `false`: no daemon is connected */
  constructor(stream: Duplex, script: string, onCall: (call: number, text: string) => boolean) {
    this.#stream = stream;
    this.#onCall = onCall;
    // The script may close its end; its calls are over then, and it is not.
    stream.on('error', () => this.close());
    stream.on('end', () => this.close());
    stream.on('data', (bytes: Buffer) => this.#take(bytes));
    stream.on('drain', () => this.#next());
    const text = Buffer.from(script);
    stream.write(`${text.length}\n`);
    stream.write(text);
  }

  /** Sends an answer. An answer to a call that is not open is dropped. */
  answer(call: number, text: string): void {
    if (this.#closed || !this.#open.delete(call)) return;
    const isTooLong = Buffer.byteLength(text) > limits.scriptCallBytes.max;
    const isFull = this.#stream.writableLength > unreadBytesMax;
    if (isTooLong) this.#write(call, tooLong);
    else this.#write(call, isFull ? unread : text);
    this.#next();
  }

  /** Fails all open calls: no daemon will answer them. */
  lose(): void {
    for (const call of this.#open) this.answer(call, lost);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#open.clear();
    this.#waiting = [];
    this.#parts = [];
    this.#stream.destroy();
  }

  #write(call: number, text: string): void {
    this.#stream.write(`${call} ${text}\n`);
  }

  #take(bytes: Buffer): void {
    let rest = bytes;
    for (let at = rest.indexOf(10); at >= 0; at = rest.indexOf(10)) {
      if (this.#bytes + at > lineBytesMax) return this.close();
      this.#waiting.push(Buffer.concat([...this.#parts, rest.subarray(0, at)]));
      this.#parts = [];
      this.#bytes = 0;
      rest = rest.subarray(at + 1);
    }
    this.#parts.push(Buffer.from(rest));
    this.#bytes += rest.length;
    if (this.#bytes > lineBytesMax) return this.close();
    this.#next();
  }

  /** As many calls as may be open at once; the rest waits in the socket, so the script does. */
  #next(): void {
    // An answer that is given at once comes back here.
    if (this.#isPassing) return;
    this.#isPassing = true;
    while (!this.#closed && this.#open.size < limits.scriptCallsOpen.max) {
      const line = this.#waiting.shift();
      if (line === undefined) break;
      this.#call(line);
    }
    this.#isPassing = false;
    if (this.#closed) return;
    const isBehind = this.#waiting.length > 0 || this.#stream.writableLength > unreadBytesMax;
    if (!isBehind) this.#stream.resume();
    else {
      this.#stream.pause();
    }
  }

  #call(line: Buffer): void {
    const space = line.indexOf(32);
    const number = line.subarray(0, Math.max(0, space)).toString('latin1');
    const call = Number(number);
    // What is no call, or names one that is open, comes from no module of ours.
    if (!numberForm.test(number) || this.#open.has(call)) return this.close();
    this.#calls += 1;
    if (this.#calls > limits.scriptCalls.default) return this.#write(call, tooMany);
    this.#open.add(call);
    if (!this.#onCall(call, line.subarray(space + 1).toString('utf8'))) this.answer(call, lost);
  }
}

const tooMany = refusal(
  'QUOTA_EXCEEDED',
  `Cannot call a tool: a script makes at most ${limits.scriptCalls.default} calls`,
);
const tooLong = refusal(
  'QUOTA_EXCEEDED',
  `The answer is over ${limits.scriptCallBytes.max} bytes; ask for less at once`,
);
const unread = refusal('QUOTA_EXCEEDED', 'Answers are not read: they wait unread in the channel');
