/**
 * A tar archive (POSIX.1-2001): equal files make equal bytes, for times and owners are left out.
 *
 *   [header of a pax record, record]   where a name is longer than 100 bytes, or no ASCII
 *   header (512 bytes), content, zeros up to 512
 *   …
 *   1024 zeros
 */

export interface TarFile {
  /** The name as bytes. */
  readonly place: Buffer;
  readonly mode: number;
  readonly type: 'file' | 'symlink';
  /** The content; of a link its target. */
  readonly bytes: Buffer;
}

const blockBytes = 512;
const nameBytes = 100;
const linkMode = 0o777;

/** What ends an archive. */
export const tarEnd: Uint8Array = Buffer.alloc(2 * blockBytes);

/** The blocks of one file. */
export function tarEntry({ place, mode, type, bytes }: TarFile): Uint8Array[] {
  const isLink = type === 'symlink';
  const records = [
    ...(isShort(place) ? [] : [record('path', place)]),
    ...(!isLink || isShort(bytes) ? [] : [record('linkpath', bytes)]),
  ];
  const extended = Buffer.concat(records);
  const name = Buffer.from('././@PaxHeader');
  const none = Buffer.alloc(0);
  const before =
    extended.length === 0
      ? []
      : [
          header({ name, link: none, flag: 'x', mode: 0o644, size: extended.length }),
          padded(extended),
        ];
  const own = header({
    name: place,
    link: isLink ? bytes : none,
    flag: isLink ? '2' : '0',
    mode: isLink ? linkMode : mode,
    size: isLink ? 0 : bytes.length,
  });
  return [...before, own, ...(isLink ? [] : [padded(bytes)])];
}

const isShort = (text: Buffer): boolean =>
  text.length <= nameBytes && text.every((byte) => byte < 128);

interface Header {
  readonly name: Buffer;
  readonly link: Buffer;
  readonly flag: 'x' | '0' | '2';
  readonly mode: number;
  readonly size: number;
}

function header({ name, link, flag, mode, size }: Header): Buffer {
  const block = Buffer.alloc(blockBytes);
  name.copy(block, 0, 0, nameBytes);
  block.write(octal(mode, 7), 100, 'latin1');
  block.write(octal(0, 7), 108, 'latin1');
  block.write(octal(0, 7), 116, 'latin1');
  block.write(octal(size, 11), 124, 'latin1');
  block.write(octal(0, 11), 136, 'latin1');
  block.fill(' ', 148, 156, 'latin1');
  block.write(flag, 156, 'latin1');
  link.copy(block, 157, 0, nameBytes);
  block.write('ustar\x0000', 257, 'latin1');
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${octal(sum, 6)}\0 `, 148, 'latin1');
  return block;
}

const octal = (value: number, digits: number): string => value.toString(8).padStart(digits, '0');

/** `<length> <key>=<value>\n`, where the length counts its own digits. */
function record(key: string, value: Buffer): Buffer {
  const rest = key.length + value.length + 3;
  let length = rest + String(rest).length;
  if (String(length).length > String(rest).length) length += 1;
  return Buffer.concat([Buffer.from(`${length} ${key}=`), value, Buffer.from('\n')]);
}

function padded(bytes: Buffer): Buffer {
  const rest = (blockBytes - (bytes.length % blockBytes)) % blockBytes;
  return rest === 0 ? bytes : Buffer.concat([bytes, Buffer.alloc(rest)]);
}
