/**
 * Lines of JSON-RPC on standard input and output: one message a line. What is no message is
 * answered as JSON-RPC says, so that nobody waits for an answer that never comes.
 */
import type { Readable, Writable } from 'node:stream';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/server';
import { limits } from '../limits.ts';
import { LineReader } from '../protocol/lines.ts';
import { parseJsonRpcMessage, jsonRpcError } from './json-rpc-message.ts';

/** Answers that the other side does not take, in bytes: with more of them it is given up. */
const unreadBytesMax = 32 * 1024 * 1024;
/** How long the last answers may take to leave, in `ms`. */
const flushMs = 1_000;
/**
 * How long answers are waited for when nothing more is asked, in `ms`: clients that end a server
 * give it two seconds.
 */
const lastAnswersMs = 1_500;

export class StdioTransport implements Transport {
  onmessage?: (message: JSONRPCMessage) => void;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  readonly #input: Readable;
  readonly #output: Writable;
  readonly #lines = new LineReader(limits.frameBytes.max);
  /** Told once, after the last message was read. */
  readonly #over: () => void;
  /** Requests that have no answer yet. */
  readonly #asked = new Set<unknown>();
  /** Set when nothing more is asked. */
  #lastAnswers: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(input: Readable, output: Writable, over: () => void) {
    this.#input = input;
    this.#output = output;
    this.#over = over;
  }

  start(): Promise<void> {
    this.#input.on('data', this.#read);
    for (const end of ['end', 'close']) this.#input.once(end, this.#inputEnded);
    for (const side of [this.#input, this.#output]) side.once('error', this.#end);
    if (this.#input.readableEnded || this.#input.destroyed) setImmediate(this.#end);
    return Promise.resolve();
  }

  /** Never waits for the reader; one that takes nothing is given up. */
  send(message: JSONRPCMessage): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    this.#write(message);
    if (!('method' in message)) this.#asked.delete(message.id);
    if (this.#lastAnswers !== null && this.#asked.size === 0) void this.close();
    return Promise.resolve();
  }

  close(): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    this.#isClosed = true;
    if (this.#lastAnswers !== null) clearTimeout(this.#lastAnswers);
    this.#input.off('data', this.#read).pause();
    this.onclose?.();
    this.#over();
    return Promise.resolve();
  }

  /** Lets the last answers leave, as long as somebody takes them. */
  async flush(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const late = setTimeout(resolve, flushMs);
    this.#output.write('', () => resolve());
    await promise;
    clearTimeout(late);
    if (this.#output.writableLength > 0) this.#output.destroy();
  }

  readonly #end = (): void => {
    void this.close();
  };

  /** What was asked before is answered, as far as that does not take long. */
  readonly #inputEnded = (): void => {
    if (this.#isClosed || this.#lastAnswers !== null) return;
    this.#take(this.#lines.takeRest());
    if (this.#asked.size === 0) void this.close();
    else this.#lastAnswers = setTimeout(this.#end, lastAnswersMs);
  };

  readonly #read = (chunk: Buffer): void => {
    this.#lines.feed(chunk);
    for (let line = this.#lines.take(); line !== null; line = this.#lines.take()) {
      if (this.#isClosed) return;
      if (line.kind === 'line') this.#take(line.bytes);
      else this.#giveUp(`a line is over ${limits.frameBytes.max} bytes`);
    }
  };

  #take(bytes: Uint8Array): void {
    const found = parseJsonRpcMessage(bytes);
    if (found === null) return;
    if ('message' in found) {
      if ('method' in found.message && 'id' in found.message) this.#asked.add(found.message.id);
      this.onmessage?.(found.message);
      return;
    }
    this.onerror?.(new Error(`A line is no message: ${found.why}`));
    for (const id of found.ids) {
      this.#write(jsonRpcError(id, found.code, found.why));
    }
  }

  #write(message: object): void {
    if (this.#output.writableLength > unreadBytesMax) {
      this.#giveUp(`${unreadBytesMax} bytes of answers are not read`);
    } else this.#output.write(`${JSON.stringify(message)}\n`);
  }

  #giveUp(why: string): void {
    this.onerror?.(new Error(`The connection is ended: ${why}`));
    void this.close();
  }
}
