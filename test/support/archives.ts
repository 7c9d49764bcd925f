// Archives as programs write them, and as attackers do.
import zlib from 'node:zlib';

export interface TarOptions {
  readonly type?: string;
  readonly link?: string;
  /** What the header says, instead of the content's. */
  readonly size?: number;
}

/** One header and its content, filled up to whole blocks. */
export function tarEntry(
  name: string,
  content: string | Uint8Array,
  { type = '0', link = '', size }: TarOptions = {},
): Uint8Array {
  const bytes = Buffer.from(content);
  const header = Buffer.alloc(512);
  header.write(name.slice(0, 100), 0);
  header.write('0000644\0', 100);
  header.write(`${(size ?? bytes.length).toString(8).padStart(11, '0')}\0`, 124);
  header.write('00000000000\0', 136);
  header.write('        ', 148);
  header.write(type, 156);
  header.write(link.slice(0, 100), 157);
  header.write('ustar\x0000', 257, 'latin1');
  const sum = header.reduce((all, byte) => all + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return Buffer.concat([header, bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512)]);
}

export function tarOf(entries: readonly (readonly [string, string | Uint8Array])[]): Uint8Array {
  const all = entries.map(([name, content]) => tarEntry(name, content));
  return Buffer.concat([...all, Buffer.alloc(1_024)]);
}

export interface ZipOptions {
  /** In the local header, instead of the name. */
  readonly localName?: string;
  readonly flags?: number;
  readonly method?: number;
  /** What both headers say, instead of the size. */
  readonly size?: number;
  /** Whether the directory leaves it out. */
  readonly hidden?: boolean;
}

export type ZipEntry = readonly [string, string | Uint8Array, ZipOptions?];

export function zipOf(
  entries: readonly ZipEntry[],
  before: Uint8Array = new Uint8Array(),
): Uint8Array {
  const locals: Uint8Array[] = [];
  const directory: Uint8Array[] = [];
  let at = before.length;
  for (const [name, content, options = {}] of entries) {
    const bytes = Buffer.from(content);
    const method = options.method ?? 8;
    const packed = method === 8 ? zlib.deflateRawSync(bytes) : bytes;
    const size = options.size ?? bytes.length;
    const own = Buffer.from(options.localName ?? name);
    const local = Buffer.alloc(30);
    local.write('PK\x03\x04', 'latin1');
    local.writeUInt16LE(options.flags ?? 0, 6);
    local.writeUInt16LE(method, 8);
    local.writeUInt32LE(zlib.crc32(bytes), 14);
    local.writeUInt32LE(packed.length, 18);
    local.writeUInt32LE(size, 22);
    local.writeUInt16LE(own.length, 26);
    const central = Buffer.alloc(46);
    central.write('PK\x01\x02', 'latin1');
    central.writeUInt16LE(options.flags ?? 0, 8);
    central.writeUInt16LE(method, 10);
    central.writeUInt32LE(zlib.crc32(bytes), 16);
    central.writeUInt32LE(packed.length, 20);
    central.writeUInt32LE(size, 24);
    central.writeUInt16LE(Buffer.byteLength(name), 28);
    central.writeUInt32LE(at, 42);
    locals.push(local, own, packed);
    at += 30 + own.length + packed.length;
    if (options.hidden !== true) directory.push(central, Buffer.from(name));
  }
  const listed = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  const count = directory.length / 2;
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(count, 8);
  end.writeUInt16LE(count, 10);
  end.writeUInt32LE(listed.length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([before, ...locals, listed, end]);
}
