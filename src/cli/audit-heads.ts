/**
 * Heads of logs that were seen before, so that an end that is cut off is found:
 *
 *   {"version":1,"key":"<key id>","heads":{"<log>":{"size":42,"head":"<signed note>"}}}
 *
 * What a check finds good is remembered, and never replaced by a shorter log.
 */
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync } from 'node:fs';
import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { randomBytes } from 'node:crypto';
import { parseNote } from '../audit/signed-note.ts';
import { TrlError } from '../errors.ts';
import { jsonField } from '../provenance/logged-events.ts';

export interface SeenHeads {
  /** Id of the key that signed them; `null`: none were seen. */
  readonly key: string | null;
  /** Signed notes by the id of their log. */
  readonly heads: ReadonlyMap<string, string>;
}

/** @throws TrlError `INVALID_PARAMS` for a file that is none: what was seen must not be lost */
export function readSeenHeads(file: string): SeenHeads {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') {
      return { key: null, heads: new Map() };
    }
    throw unusable(file, error instanceof Error ? error.message : String(error));
  }
  try {
    const value: unknown = JSON.parse(text);
    const key = jsonField(value, 'key');
    const heads = jsonField(value, 'heads');
    if (jsonField(value, 'version') !== 1 || typeof heads !== 'object' || heads === null) {
      throw new Error('it is of another version');
    }
    const notes = Object.entries(heads).map(([log, seen]: [string, unknown]) => {
      const note = jsonField(seen, 'head');
      if (typeof note !== 'string' || parseNote(note)?.checkpoint.log !== log) {
        throw new Error(`what it holds of log ${log} is no head of it`);
      }
      return [log, note] as const;
    });
    return { key: typeof key === 'string' ? key : null, heads: new Map(notes) };
  } catch (error) {
    throw unusable(file, error instanceof Error ? error.message : String(error));
  }
}

/** Keeps the newer head of each log. @throws TrlError `INVALID_PARAMS` when it cannot be written */
export function saveSeenHeads(file: string, key: string, notes: readonly string[]): void {
  const heads = new Map(readSeenHeads(file).heads);
  for (const note of notes) {
    const found = parseNote(note)?.checkpoint;
    if (found === undefined) continue;
    const known = parseNote(heads.get(found.log) ?? '')?.checkpoint.size ?? -1;
    if (found.size > known) heads.set(found.log, note);
  }
  const kept = [...heads].map(([log, head]) => [
    log,
    { size: parseNote(head)?.checkpoint.size ?? 0, head },
  ]);
  const text = `${JSON.stringify({ version: 1, key, heads: Object.fromEntries(kept) })}\n`;
  const draft = `${file}.${randomBytes(8).toString('hex')}`;
  try {
    mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    const fd = openSync(draft, 'wx', 0o600);
    try {
      writeFileSync(fd, text);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(draft, file);
  } catch (error) {
    rmSync(draft, { force: true });
    throw unusable(file, error instanceof Error ? error.message : String(error));
  }
}

/**
 * The signed notes in a text: a note itself, or JSON that holds one under `audit.head`, as receipts
 * do, or under `head` or `checkpoint`; of JSON lines each.
 */
export function extractHeads(text: string): string[] {
  if (parseNote(text) !== null) return [text];
  // A shell takes the last line end of what it puts in place of a command.
  if (parseNote(`${text}\n`) !== null) return [`${text}\n`];
  return [text, ...text.split('\n')].flatMap((part) => notesOf(parsed(part)));
}

function notesOf(value: unknown): string[] {
  const receipt = jsonField(value, 'audit');
  const found = [
    jsonField(receipt, 'head'),
    jsonField(value, 'head'),
    jsonField(value, 'checkpoint'),
  ];
  return found
    .filter((note) => typeof note === 'string')
    .filter((note) => parseNote(note) !== null);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function unusable(file: string, reason: string): TrlError {
  const message = `Cannot use the heads that were seen before, "${file}": ${reason}`;
  return new TrlError('INVALID_PARAMS', message);
}
