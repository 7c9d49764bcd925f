/**
 * Lines of JSON-RPC on standard input and output: one message per line. An invalid line is answered
 * as JSON-RPC requires, so that no client waits for an answer that never comes.
 */
import type { Readable, Writable } from 'node:stream';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/server';
import { limits } from '../limits.ts';
import { LineReader } from '../protocol/lines.ts';
import { parseJsonRpcMessage, jsonRpcError } from './json-rpc-message.ts';

/** Unread answers, in bytes: with more of them the client is given up. */
const unreadBytesMax = 32 * 1024 * 1024;
/** How long sending the last answers may take, in `ms`. */
const flushMs = 1_000;
/**
 * How long to wait for answers after the last request, in `ms`: clients that end a server give it
 * two seconds.
 */
const lastAnswersMs = 1_500;

export class StdioTransport implements Transport {
  onmessage?: (message: JSONRPCMessage) => void;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  readonly #input: Readable;
  readonly #output: Writable;
  readonly #lines = new LineReader(limits.frameBytes.max);
  /** Called once, after the last message was read. */
  readonly #over: () => void;
  /** Requests that have no answer yet. */
  readonly #asked = new Set<unknown>();
  /** Set when there are no more requests. */
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

  /** Never waits for the reader; one that reads nothing is given up. */
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

  /** Sends the last answers, while the client reads them. */
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

  /** Answers earlier requests, within a time limit. */
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
