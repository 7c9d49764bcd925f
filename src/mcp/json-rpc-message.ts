/** A JSON-RPC message in untrusted bytes, and the answer to invalid bytes. */
import { parseJSONRPCMessage } from '@modelcontextprotocol/server';
import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import { isTrlError } from '../errors.ts';
import { isJsonObject, parseJsonObject } from '../protocol/json.ts';
import type { JsonObject } from '../protocol/json.ts';

const blank: ReadonlySet<number> = new Set([0x09, 0x0d, 0x20]);
const openBracket = 0x5b;

export const parseErrorCode = -32_700;
const invalidRequest = -32_600;

export const jsonRpcError = (id: unknown, code: number, message: string) => ({
  jsonrpc: '2.0',
  error: { code, message },
  id,
});

export type JsonRpcParseResult =
  /** `value`: the message as received. */
  | { readonly message: JSONRPCMessage; readonly value: JsonObject }
  /** `ids`: of the requests that get this answer. */
  | { readonly ids: readonly unknown[]; readonly code: number; readonly why: string };

/** The content of the bytes; `null`: nothing. */
export function parseJsonRpcMessage(bytes: Uint8Array): JsonRpcParseResult | null {
  const first = bytes.find((byte) => !blank.has(byte));
  if (first === undefined) return null;
  const isBatch = first === openBracket;
  let value: JsonObject;
  try {
    value = parseJsonObject(isBatch ? Buffer.concat([batchStart, bytes, batchEnd]) : bytes);
  } catch (error) {
    const why = isTrlError(error) ? error.message : 'it cannot be read';
    return { ids: [null], code: parseErrorCode, why };
  }
  if (isBatch) return batchIn(value['batch']);
  try {
    return { message: parseJSONRPCMessage(value), value };
  } catch {
    // A response gets no answer.
    const isAnswer = !('method' in value) && ('result' in value || 'error' in value);
    const why = 'it is no message of JSON-RPC 2.0';
    return { ids: isAnswer ? [] : [idOf(value)], code: invalidRequest, why };
  }
}

const batchStart = Buffer.from('{"batch":');
const batchEnd = Buffer.from('}');

/** Current revisions have no batches: each request of a batch is refused. */
function batchIn(batch: unknown): JsonRpcParseResult {
  const all: readonly unknown[] = Array.isArray(batch) ? batch : [];
  const ids = all.map(idOf).filter((id) => id !== null);
  const why = 'batches are not taken: send one message at a time';
  return { ids: ids.length === 0 ? [null] : ids, code: invalidRequest, why };
}

function idOf(request: unknown): string | number | null {
  const id = isJsonObject(request) ? request['id'] : null;
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}
