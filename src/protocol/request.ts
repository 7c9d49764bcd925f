/**
 * The envelope of a request: `{"id":"1","method":"system.ping","params":{}}`. `id` is a string (a
 * number is read as its digits), `params` may be missing or `null`.
 */
import { TrlError } from '../errors.ts';
import type { ErrorCode } from '../errors.ts';
import { isJsonObject, describeJsonType, parseJsonObject } from './json.ts';
import type { JsonObject } from './json.ts';

/** The id of an answer to a request without a readable id. */
export const unknownRequestId = 'unknown';

const idLengthMax = 256;

export type RequestEnvelope =
  | {
      readonly kind: 'request';
      readonly id: string;
      readonly method: string;
      readonly params: JsonObject;
    }
  | { readonly kind: 'refused'; readonly id: string; readonly error: TrlError };

/** Reads one request. Never throws: an invalid one is a refusal with the id to answer. */
export function readRequest(bytes: Uint8Array): RequestEnvelope {
  try {
    return open(parseJsonObject(bytes));
  } catch (error) {
    if (error instanceof TrlError) return { kind: 'refused', id: unknownRequestId, error };
    throw error;
  }
}

/** The refusal of a line that is too long to be read. */
export function refuseOversizedLine(bytesMax: number): RequestEnvelope {
  return refuse(unknownRequestId, `it is longer than ${bytesMax} bytes`);
}

function open(message: JsonObject): RequestEnvelope {
  const id = idOf(message['id']);
  if (id === null) {
    const wanted = `"id" must be a string of 1 to ${idLengthMax} characters`;
    return refuse(unknownRequestId, `${wanted}, got ${describeJsonType(message['id'])}`);
  }
  const { method, params } = message;
  if (typeof method !== 'string') {
    return refuse(id, `"method" must be a string, got ${describeJsonType(method)}`);
  }
  if (params === undefined || params === null) return { kind: 'request', id, method, params: {} };
  if (!isJsonObject(params)) {
    return refuse(id, `"params" must be an object, got ${describeJsonType(params)}`);
  }
  return { kind: 'request', id, method, params };
}

function idOf(id: unknown): string | null {
  if (typeof id === 'number') return String(id);
  return typeof id === 'string' && id.length > 0 && id.length <= idLengthMax ? id : null;
}

function refuse(id: string, reason: string): RequestEnvelope {
  const code: ErrorCode = 'INVALID_PARAMS';
  return { kind: 'refused', id, error: new TrlError(code, `Cannot read the request: ${reason}`) };
}
