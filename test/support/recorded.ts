/**
 * What many inputs led to, line by line in a file: a table that nobody wrote, but everybody sees
 * change. `TRL_RECORD=1` writes it anew; the difference is then part of the commit.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';

const shownMax = 20;

/**
 * Compares `rows` with the file below `test/fixtures`.
 *
 * @param oneOf how many rows the file has one of, so that it stays small. The text before a row's
 *   first tab decides which, so that another row changes no other. Default: all rows
 */
export function assertRecorded(name: string, rows: readonly string[], oneOf = 1): void {
  const lines = rows.filter((row) => numberOf(row.split('\t')[0] ?? '') % oneOf === 0);
  const file = path.join(import.meta.dirname, '../fixtures', name);
  if (process.env['TRL_RECORD'] === '1') writeFileSync(file, `${lines.join('\n')}\n`);
  const recorded = readFileSync(file, 'utf8').trimEnd().split('\n');
  const [before, now] = [new Set(recorded), new Set(lines)];
  const gone = recorded.filter((line) => !now.has(line)).map((line) => `- ${line}`);
  const added = lines.filter((line) => !before.has(line)).map((line) => `+ ${line}`);
  const changes = [...gone.slice(0, shownMax), ...added.slice(0, shownMax)];
  const why = `not as recorded in ${name}; see test/support/recorded.ts`;
  assert.deepEqual(changes, [], why);
  assert.ok(isDeepStrictEqual(lines, recorded), `${why}: another order`);
}

const numberOf = (text: string): number =>
  createHash('sha256').update(text).digest().readUInt32BE(0);

/** Six letters for a value with all that is in it, sets and maps in their order. */
export function fingerprint(value: unknown): string {
  const text = JSON.stringify(value, (_, each: unknown) =>
    each instanceof Set || each instanceof Map ? [...each] : each,
  );
  return createHash('sha256').update(text).digest('base64url').slice(0, 6);
}
