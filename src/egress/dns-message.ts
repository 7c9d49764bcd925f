/** The part of DNS (RFC 1035) that a stub resolver in a sandbox needs: one question, one answer. */

export interface DnsQuestion {
  readonly id: number;
  /** The bytes of the question section, to be repeated in the answer. */
  readonly bytes: Uint8Array;
  /** As asked, without the final dot; `null`: not the text of a name. */
  readonly name: string | null;
  readonly type: number;
  readonly isRecursive: boolean;
}

export const recordTypes = { A: 1, AAAA: 28 } as const;
export const responseCodes = { ok: 0, serverFailure: 2, noSuchName: 3, refused: 5 } as const;
export type ResponseCode = (typeof responseCodes)[keyof typeof responseCodes];

const headerBytes = 12;
const internet = 1;
/** Short: a name that is denied now may be allowed soon. */
const ttlSeconds = 30;

/** `null`: no query with one question of the Internet class. */
export function parseDnsQuery(message: Buffer): DnsQuestion | null {
  if (message.length < headerBytes + 5) return null;
  const flags = message.readUInt16BE(2);
  // A response, or another operation than a query.
  if ((flags & 0xf800) !== 0 || message.readUInt16BE(4) !== 1) return null;
  const labels: string[] = [];
  let at = headerBytes;
  for (;;) {
    const length = message[at];
    // Compression has no use in the first name, and would let a name have two spellings.
    if (length === undefined || length > 63) return null;
    at += 1;
    if (length === 0) break;
    labels.push(message.toString('latin1', at, at + length));
    at += length;
    if (at - headerBytes > 255) return null;
  }
  if (at + 4 > message.length || message.readUInt16BE(at + 2) !== internet) return null;
  const isText = labels.length > 0 && labels.every((label) => /^[\w-]+$/.test(label));
  return {
    id: message.readUInt16BE(0),
    bytes: message.subarray(headerBytes, at + 4),
    name: isText ? labels.join('.').toLowerCase() : null,
    type: message.readUInt16BE(at),
    isRecursive: (flags & 0x0100) !== 0,
  };
}

/** @param address IPv4, for an answer of type A; `null`: no record */
export function dnsAnswer(
  { id, bytes, isRecursive }: DnsQuestion,
  code: ResponseCode,
  address: string | null = null,
): Buffer {
  const header = Buffer.alloc(headerBytes);
  header.writeUInt16BE(id, 0);
  header.writeUInt16BE(0x8080 | (isRecursive ? 0x0100 : 0) | code, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(address === null ? 0 : 1, 6);
  if (address === null) return Buffer.concat([header, bytes]);
  const record = Buffer.alloc(12);
  // The name of the question, by its place.
  record.writeUInt16BE(0xc000 | headerBytes, 0);
  record.writeUInt16BE(recordTypes.A, 2);
  record.writeUInt16BE(internet, 4);
  record.writeUInt32BE(ttlSeconds, 6);
  record.writeUInt16BE(4, 10);
  return Buffer.concat([header, bytes, record, Buffer.from(address.split('.').map(Number))]);
}
