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
import { tarEnd, tarEntry } from './tar.ts';

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
  if (!isEmpty || target.endsWith('.tar')) throw refuse('something stands there already');
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
