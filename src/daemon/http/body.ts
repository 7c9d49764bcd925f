/** Reads request bodies: strict JSON within limits per caller and for all callers together. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { limits } from '../../limits.ts';
import { parseJsonObject } from '../../protocol/json.ts';
import type { JsonObject } from '../../protocol/json.ts';
import { HttpRefusal } from './problem.ts';

const usualBytesMax = limits.frameBytes.max;

/** Counts the body bytes being received per caller, so that a slow sender delays only itself. */
export class BodyBudget {
  readonly #ofCallerMax: number;
  readonly #totalMax: number;
  readonly #pending = new Map<string, number>();
  #total = 0;

  constructor(ofCallerMax: number, totalMax: number) {
    this.#ofCallerMax = ofCallerMax;
    this.#totalMax = totalMax;
  }

  /** @returns whether there was room */
  take(caller: string, bytes: number): boolean {
    const pending = this.#pending.get(caller) ?? 0;
    if (pending + bytes > this.#ofCallerMax || this.#total + bytes > this.#totalMax) return false;
    this.#pending.set(caller, pending + bytes);
    this.#total += bytes;
    return true;
  }

  release(caller: string, bytes: number): void {
    const left = (this.#pending.get(caller) ?? 0) - bytes;
    if (left > 0) this.#pending.set(caller, left);
    else this.#pending.delete(caller);
    this.#total -= bytes;
  }
}

/** @throws HttpRefusal if there is a body */
export function refuseBody(request: IncomingMessage): void {
  if (!hasBody(request)) return;
  throw new HttpRefusal('INVALID_PARAMS', `Cannot take the request: ${request.method} has no body`);
}

export function hasBody({ headers }: IncomingMessage): boolean {
  const { 'content-length': length, 'transfer-encoding': coding } = headers;
  return coding !== undefined || (length !== undefined && Number(length) > 0);
}

export interface BodyReadOptions {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The caller whose share of the budget it uses. */
  readonly caller: string;
  readonly budget: BodyBudget;
  /** Default `limits.frameBytes`. */
  readonly bytesMax?: number;
}

/**
 * Returns the body as one JSON object; without a body, an empty object.
 *
 * @throws HttpRefusal 413 if it is too long, 415 if its type is not JSON or it is compressed,
 *   429 if its caller sends too much at the same time
 * @throws TrlError `INVALID_PARAMS` if it is not exactly one strict JSON object
 */
export async function readJsonBody(reading: BodyReadOptions): Promise<JsonObject> {
  const bytes = await readBodyBytes(reading);
  return bytes === null ? {} : parseJsonObject(bytes);
}

/** The unparsed bytes of a JSON body; `null` without one. Throws like {@link readJsonBody}. */
export async function readBodyBytes(reading: BodyReadOptions): Promise<Uint8Array | null> {
  const { request, response, caller, budget, bytesMax = usualBytesMax } = reading;
  if (!hasBody(request)) return null;
  checkFields(request, bytesMax);
  // The headers are accepted, so a client that waits for "100 Continue" may send the body.
  if (request.headers.expect !== undefined) response.writeContinue();
  const chunks: Buffer[] = [];
  let taken = 0;
  try {
    for await (const chunk of chunksOf(request)) {
      if (taken + chunk.length > bytesMax) throw tooLong(bytesMax);
      if (!budget.take(caller, chunk.length)) {
        const why = 'too much is being sent at once';
        throw new HttpRefusal('QUOTA_EXCEEDED', `Cannot read the request: ${why}`, {
          headers: { 'Retry-After': '1' },
        });
      }
      taken += chunk.length;
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  } finally {
    budget.release(caller, taken);
  }
}

/** Iteration must not destroy the request: the answer needs its socket. */
function chunksOf(request: IncomingMessage): AsyncIterable<Buffer> {
  return request.iterator({ destroyOnReturn: false });
}

function checkFields({ headers }: IncomingMessage, bytesMax: number): void {
  const { 'content-encoding': encoding, 'content-type': type, 'content-length': length } = headers;
  if (encoding !== undefined && encoding !== 'identity') {
    throw unsupported('it must not be compressed', { 'Accept-Encoding': 'identity' });
  }
  if (!/^application\/json(?:\s*;\s*charset="?utf-8"?)?\s*$/i.test(type ?? '')) {
    throw unsupported('it must be of "Content-Type: application/json"', {});
  }
  if (Number(length ?? 0) > bytesMax) throw tooLong(bytesMax);
}

function unsupported(why: string, headers: Readonly<Record<string, string>>): HttpRefusal {
  return new HttpRefusal('INVALID_PARAMS', `Cannot read the request: ${why}`, {
    status: 415,
    headers,
  });
}

function tooLong(bytesMax: number): HttpRefusal {
  const message = `Cannot read the request: it is longer than ${bytesMax} bytes`;
  return new HttpRefusal('INVALID_PARAMS', message, { status: 413 });
}
