/** Takes a publication from where the runtime laid it out, with the rights of who asked. */
import { createHash, randomBytes } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';
import { TrlError } from '../errors.ts';
import type { Publication, PublishedFile } from '../api/publish.ts';

interface Taken {
  /** Relative, as bytes. */
  readonly place: Buffer;
  readonly file: PublishedFile;
  readonly bytes: Buffer;
}

const permissionsMax = 0o777;

/**
 * Writes exactly what was checked: all of it or nothing. A target that ends in `.tar` is an
 * archive, any other a directory; neither may be there before, but an empty directory.
 *
 * @throws TrlError as {@link checkTarget}; `INTERNAL_ERROR` where what was laid out is other than
 *   what was checked
 */
export function takePublication(published: Publication, to: string): void {
  const target = path.resolve(to);
  const draft = path.join(
    path.dirname(target),
    `.${path.basename(target)}.${randomBytes(6).toString('hex')}`,
  );
  try {
    checkTarget(target);
    if (target.endsWith('.tar')) {
      writeArchive(draft, taken(published));
      // Unlike a rename, this replaces nothing that came meanwhile.
      linkSync(draft, target);
    } else {
      writeDirectory(draft, taken(published));
      renameSync(draft, target);
    }
  } finally {
    rmSync(draft, { recursive: true, force: true });
    rmSync(published.directory, { recursive: true, force: true });
  }
}

/** @throws TrlError `INVALID_PARAMS` where something stands at `to`, or its directory is missing */
export function checkTarget(to: string): void {
  const target = path.resolve(to);
  const stat = lstatSync(target, { throwIfNoEntry: false });
  const holder = lstatSync(path.dirname(target), { throwIfNoEntry: false });
  const refuse = (why: string): TrlError =>
    new TrlError('INVALID_PARAMS', `Cannot publish to "${target}": ${why}`);
  if (holder === undefined) throw refuse(`there is no directory "${path.dirname(target)}"`);
  if (stat === undefined) return;
  const isEmpty = stat.isDirectory() && readdirSync(target).length === 0;
  if (!isEmpty || target.endsWith('.tar')) throw refuse('something exists there already');
}

/** Each file, as it was checked. */
function* taken({ directory, files }: Publication): Generator<Taken, void, void> {
  for (const [at, file] of files.entries()) {
    const bytes = readFileSync(path.join(directory, String(at)));
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    if (sha256 !== file.sha256) {
      const message = `Cannot publish "${file.path}": it is other than what was checked`;
      throw new TrlError('INTERNAL_ERROR', message);
    }
    yield { place: placeOf(file), file, bytes };
  }
}

/** @throws TrlError `INTERNAL_ERROR` for a place outside of the publication */
function placeOf({ path: text, path_base64: encoded }: PublishedFile): Buffer {
  const place = encoded === undefined ? Buffer.from(text) : Buffer.from(encoded, 'base64');
  const parts = place.toString('latin1').split('/');
  const isInside = parts.every((part) => part !== '' && part !== '.' && part !== '..');
  if (isInside && !place.includes(0)) return place;
  throw new TrlError('INTERNAL_ERROR', `Cannot publish "${text}": it leads elsewhere`);
}

function writeDirectory(draft: string, files: Iterable<Taken>): void {
  mkdirSync(draft);
  const links: Taken[] = [];
  for (const one of files) {
    // Links come last: nothing is written through one.
    if (one.file.type === 'symlink') {
      links.push(one);
      continue;
    }
    const name = within(draft, one.place);
    mkdirSync(within(draft, parentOf(one.place)), { recursive: true });
    writeFileSync(name, one.bytes, { flag: 'wx', flush: true });
    chmodSync(name, modeOf(one.file));
  }
  for (const { place, bytes } of links) {
    mkdirSync(within(draft, parentOf(place)), { recursive: true });
    symlinkSync(bytes, within(draft, place));
  }
}

const within = (draft: string, place: Buffer): Buffer =>
  place.length === 0 ? Buffer.from(draft) : Buffer.concat([Buffer.from(`${draft}/`), place]);

const parentOf = (place: Buffer): Buffer => place.subarray(0, Math.max(0, place.lastIndexOf(47)));

function writeArchive(draft: string, files: Iterable<Taken>): void {
  const fd = openSync(draft, 'wx', 0o644);
  try {
    for (const { place, file, bytes } of files) {
      const entry = { place, mode: modeOf(file), type: file.type, bytes };
      for (const block of tarEntry(entry)) writeAll(fd, block);
    }
    writeAll(fd, tarEnd);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

function writeAll(fd: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at);
}

const modeOf = ({ mode }: PublishedFile): number => Number.parseInt(mode, 8) & permissionsMax;

// A tar archive (POSIX.1-2001): equal files make equal bytes, for times and owners are left out.
//
//   [header of a pax record, record]   where a name is longer than 100 bytes, or no ASCII
//   header (512 bytes), content, zeros up to 512
//   …
//   1024 zeros

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
