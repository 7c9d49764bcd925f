/** Request bodies: strict JSON within bounds, of one caller and of all together. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { limits } from '../../limits.ts';
import { parseJsonObject } from '../../protocol/json.ts';
import type { JsonObject } from '../../protocol/json.ts';
import { HttpRefusal } from './problem.ts';

const usualBytesMax = limits.frameBytes.max;

/** Bytes of bodies that are being received, by whom: whoever dribbles holds up only himself. */
export class BodyBudget {
  readonly #ofCallerMax: number;
  readonly #totalMax: number;
  readonly #held = new Map<string, number>();
  #total = 0;

  constructor(ofCallerMax: number, totalMax: number) {
    this.#ofCallerMax = ofCallerMax;
    this.#totalMax = totalMax;
  }

  /** @returns whether there was room */
  take(caller: string, bytes: number): boolean {
    const held = this.#held.get(caller) ?? 0;
    if (held + bytes > this.#ofCallerMax || this.#total + bytes > this.#totalMax) return false;
    this.#held.set(caller, held + bytes);
    this.#total += bytes;
    return true;
  }

  release(caller: string, bytes: number): void {
    const left = (this.#held.get(caller) ?? 0) - bytes;
    if (left > 0) this.#held.set(caller, left);
    else this.#held.delete(caller);
    this.#total -= bytes;
  }
}

/** @throws Refusal when there is a body */
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
  /** Whose share of the budget it takes. */
  readonly caller: string;
  readonly budget: BodyBudget;
  /** Default `limits.frameBytes`. */
  readonly bytesMax?: number;
}

/**
 * The body as one JSON object; without a body, an empty one.
 *
 * @throws Refusal 413 when it is longer than it may be, 415 when it is not said to be
 *   JSON or is compressed, 429 when its caller sends too much at once
 * @throws TrlError `INVALID_PARAMS` when it is not one JSON object, strictly read
 */
export async function readJsonBody(reading: BodyReadOptions): Promise<JsonObject> {
  const bytes = await readBodyBytes(reading);
  return bytes === null ? {} : parseJsonObject(bytes);
}

/** The bytes of a JSON body, not parsed; `null`: there is none. Throws as {@link readJsonBody}. */
export async function readBodyBytes(reading: BodyReadOptions): Promise<Uint8Array | null> {
  const { request, response, caller, budget, bytesMax = usualBytesMax } = reading;
  if (!hasBody(request)) return null;
  checkFields(request, bytesMax);
  // Whoever waits to be asked for the body may send it: everything before it was right.
  if (request.headers.expect !== undefined) response.writeContinue();
  const pieces: Buffer[] = [];
  let taken = 0;
  try {
    for await (const piece of chunksOf(request)) {
      if (taken + piece.length > bytesMax) throw tooLong(bytesMax);
      if (!budget.take(caller, piece.length)) {
        const why = 'too much is being sent at once';
        throw new HttpRefusal('QUOTA_EXCEEDED', `Cannot read the request: ${why}`, {
          headers: { 'Retry-After': '1' },
        });
      }
      taken += piece.length;
      pieces.push(piece);
    }
    return Buffer.concat(pieces);
  } finally {
    budget.release(caller, taken);
  }
}

/** The request survives the end of its reading: its socket is needed for the answer. */
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
