/** Reads a TLS ClientHello (RFC 8446, 4.1.2): the server's name (RFC 6066, 3), the protocols. */

/**
 * `incomplete`: more bytes are needed. `none`: no TLS, or malformed. `name`: `null` where the
 * client names no server.
 */
export type ClientHello =
  | { readonly kind: 'incomplete' | 'none' }
  | {
      readonly kind: 'hello';
      readonly name: string | null;
      /** ALPN (RFC 7301), in the client's order. */
      readonly protocols: readonly string[];
    };

/** A ClientHello with post-quantum key shares has about 2 KiB. */
export const clientHelloBytesMax = 32 * 1024;
const handshakeRecord = 22;
const recordBytesMax = 16 * 1024;
const clientHello = 1;
const serverNameExtension = 0;
const protocolsExtension = 16;
const hostName = 0;

const incomplete = { kind: 'incomplete' } as const;
const none = { kind: 'none' } as const;

export function readClientHello(bytes: Buffer): ClientHello {
  const parts: Buffer[] = [];
  let collected = 0;
  let wanted = 4;
  // A handshake message may be cut into several records.
  for (let at = 0; collected < wanted;) {
    if (bytes.length < at + 5) return isPrefix(bytes.subarray(at)) ? incomplete : none;
    const length = bytes.readUInt16BE(at + 3);
    const isHandshake = bytes[at] === handshakeRecord && bytes[at + 1] === 3;
    if (!isHandshake || length === 0 || length > recordBytesMax) return none;
    const part = bytes.subarray(at + 5, at + 5 + length);
    parts.push(part);
    collected += part.length;
    at += 5 + length;
    // Once: a record of one byte each must not cost a copy of all before it.
    if (wanted === 4 && collected >= 4) {
      const head = Buffer.concat(parts);
      if (head[0] !== clientHello) return none;
      wanted = 4 + head.readUIntBE(1, 3);
      if (wanted > clientHelloBytesMax) return none;
    }
    if (part.length < length && collected < wanted) return incomplete;
  }
  return readExtensions(Buffer.concat(parts).subarray(4, wanted)) ?? none;
}

const isPrefix = (bytes: Buffer): boolean =>
  (bytes[0] ?? handshakeRecord) === handshakeRecord && (bytes[1] ?? 3) === 3;

/** Walks over fields with a length before them. Reading beyond the end throws. */
class Fields {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }
  get isEmpty(): boolean {
    return this.#at >= this.#bytes.length;
  }
  number(size: number): number {
    this.#at += size;
    return this.#bytes.readUIntBE(this.#at - size, size);
  }
  skip(size: number): void {
    this.take(size);
  }
  take(size: number): Buffer {
    if (this.#at + size > this.#bytes.length) throw new RangeError('a field is cut off');
    this.#at += size;
    return this.#bytes.subarray(this.#at - size, this.#at);
  }
  /** Of a field whose length takes so many bytes. */
  field(lengthBytes: number): Buffer {
    return this.take(this.number(lengthBytes));
  }
}

/** `null`: malformed. */
function readExtensions(hello: Buffer): ClientHello | null {
  try {
    const fields = new Fields(hello);
    fields.skip(2 + 32);
    fields.field(1);
    fields.field(2);
    fields.field(1);
    if (fields.isEmpty) return { kind: 'hello', name: null, protocols: [] };
    const extensions = new Fields(fields.field(2));
    const names: string[] = [];
    const protocols: string[] = [];
    while (!extensions.isEmpty) {
      const type = extensions.number(2);
      const body = extensions.field(2);
      if (type === serverNameExtension) names.push(...namesIn(body));
      if (type === protocolsExtension) protocols.push(...protocolsIn(body));
    }
    // Two names would be two readings.
    return names.length > 1 ? null : { kind: 'hello', name: names[0] ?? null, protocols };
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

function namesIn(body: Buffer): string[] {
  const list = new Fields(new Fields(body).field(2));
  const names: string[] = [];
  while (!list.isEmpty) {
    const type = list.number(1);
    const name = list.field(2).toString('latin1');
    if (type === hostName) names.push(name);
  }
  return names;
}

function protocolsIn(body: Buffer): string[] {
  const list = new Fields(new Fields(body).field(2));
  const protocols: string[] = [];
  while (!list.isEmpty) protocols.push(list.field(1).toString('latin1'));
  return protocols;
}
