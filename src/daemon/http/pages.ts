/**
 * Pages of lists. A cursor is opaque to callers: base64url of `[position, key]` with the key of the
 * previous page's last item, so that items added or removed in between neither hide nor repeat
 * others as long as that item exists.
 */
import { isJsonObject } from '../../protocol/json.ts';
import { HttpRefusal } from './problem.ts';
import type { Paging } from '../../api/define-method.ts';

/** The page that a caller requests. */
export interface PageRequest {
  readonly limit: number;
  readonly after: { readonly position: number; readonly key: string } | null;
}

const cursorForm = /^[A-Za-z0-9_-]{1,1024}$/;

/** @throws HttpRefusal `INVALID_PARAMS` if the limit is out of range or the cursor is invalid */
export function parsePageRequest(paging: Paging, limit: unknown, cursor: unknown): PageRequest {
  const { usual, max } = paging;
  const wanted = limit ?? usual;
  if (typeof wanted !== 'number' || wanted < 1 || wanted > max) {
    throw refuse(`"limit" must be a whole number from 1 to ${max}`);
  }
  return { limit: wanted, after: cursor === undefined ? null : readCursor(cursor) };
}

function readCursor(cursor: unknown): NonNullable<PageRequest['after']> {
  const wrong = refuse('"cursor" must be a "next_cursor" of an answer');
  if (typeof cursor !== 'string' || !cursorForm.test(cursor)) throw wrong;
  let read: unknown;
  try {
    read = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
  } catch {
    throw wrong;
  }
  if (!Array.isArray(read) || read.length !== 2) throw wrong;
  const [position, key]: readonly unknown[] = read;
  const isPlace = Number.isSafeInteger(position) && Number(position) >= 0;
  if (!isPlace || typeof key !== 'string') throw wrong;
  return { position: Number(position), key };
}

/** The parameters of the method that select a page of its list. */
export function pageMethodParams(
  paging: Paging,
  { limit, after }: PageRequest,
): Record<string, unknown> {
  switch (paging.by) {
    case 'whole':
      return {};
    case 'limited':
      return { limit: paging.max };
    case 'time':
      // Items of the same moment that were already sent come again, and are left out.
      return after === null
        ? { limit: limit + 1 }
        : { limit: Math.min(limit + 1 + after.position, 1_000), until: after.key };
  }
}

export interface AnswerPage {
  readonly answer: unknown;
  /** `null` after the last page. */
  readonly next: string | null;
}

/** Cuts one page of an answer, with `next_cursor` if there is another page. */
export function cutAnswerPage(paging: Paging, page: PageRequest, answer: unknown): AnswerPage {
  if (!isJsonObject(answer)) return { answer, next: null };
  const items: unknown = answer[paging.items];
  if (!Array.isArray(items)) return { answer, next: null };
  const list: readonly unknown[] = items;
  const start = startOf(paging, page, list);
  const part = list.slice(start, start + page.limit);
  const end = start + part.length;
  const next = end < list.length ? cursorAfter(paging, page, list.slice(0, end)) : null;
  return {
    answer: {
      ...answer,
      [paging.items]: part,
      ...('truncated' in answer ? { truncated: next !== null } : {}),
      ...(next === null ? {} : { next_cursor: next }),
    },
    next,
  };
}

function startOf({ by, key }: Paging, { after }: PageRequest, list: readonly unknown[]): number {
  if (after === null) return 0;
  if (by === 'time') return Math.min(after.position, list.length);
  const at = list.findIndex((item) => keyOf(item, key) === after.key);
  return at === -1 ? Math.min(after.position, list.length) : at + 1;
}

function cursorAfter(
  { by, key }: Paging,
  { after }: PageRequest,
  given: readonly unknown[],
): string {
  const last = keyOf(given.at(-1), key);
  const same = given.filter((item) => keyOf(item, key) === last).length;
  const position =
    by === 'time' ? (after?.key === last ? Math.max(same, after.position) : same) : given.length;
  return Buffer.from(JSON.stringify([position, last])).toString('base64url');
}

function keyOf(item: unknown, key: string): string {
  const value = isJsonObject(item) ? item[key] : null;
  return typeof value === 'string' ? value : '';
}

function refuse(why: string): HttpRefusal {
  return new HttpRefusal('INVALID_PARAMS', `Cannot read the query: ${why}`);
}
