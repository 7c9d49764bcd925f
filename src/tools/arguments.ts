/** Reads the arguments of a tool; a refusal names the argument, what it must be and what it is. */
import * as z from 'zod/mini';
import { fieldOf } from '../json-shape.ts';
import { TrlError } from '../errors.ts';
import { limits } from '../limits.ts';
import * as field from '../api/param-fields.ts';
import { nearestWord } from '../nearest-word.ts';

const shownMax = 64;
const handleMax = 256;
/** Values that may contain a secret are described by their type, never quoted. */
const neverQuoted: ReadonlySet<string> = new Set(['command', 'script', 'data', 'text']);

/** A malformed id is passed on: the runtime answers that it does not exist. */
function handle(what: string, about: string) {
  const wanted = `${what}, text of 1 to ${handleMax} characters`;
  return z
    .string({ error: wanted })
    .check(z.minLength(1, wanted), z.maxLength(handleMax, wanted), z.describe(about));
}

function textUpTo(bytesMax: number) {
  const wanted = `well-formed text of at most ${bytesMax} bytes`;
  const fits = (text: string): boolean =>
    text.isWellFormed() && new TextEncoder().encode(text).length <= bytesMax;
  return z.string({ error: 'text' }).check(z.refine(fits, wanted));
}

/** Handles and values that several tools take. */
export const argumentSchemas = {
  sessionId: handle(
    'a session id',
    'session_id of an earlier answer, or "new" for another one; default: that of this conversation',
  ),
  execId: handle('an execution id', 'exec_id of an earlier answer'),
  command: z.string({ error: 'text' }).check(
    z.refine((text) => text.trim() !== '', 'text that is not empty'),
    z.refine((text) => text.isWellFormed(), 'well-formed text'),
    z.refine((text) => !text.includes('\0'), 'text without NUL'),
    z.refine(
      (text) => new TextEncoder().encode(text).length <= limits.commandBytes.max,
      `text of at most ${limits.commandBytes.max} bytes`,
    ),
  ),
  envKeys: field.environmentNamesParam,
  /** Any text. */
  text: textUpTo,
  /** A name, a path, a line: text without NUL. */
  words: (bytesMax: number) =>
    textUpTo(bytesMax).check(
      z.refine((text) => !text.includes('\0') && text !== '', 'text without NUL, not empty'),
    ),
  whole: field.integerParam,
  flag: field.booleanParam,
} as const;

/**
 * `given` as `schema` describes it; `null` is the same as an absent argument.
 *
 * @throws TrlError `INVALID_PARAMS`
 */
export function parseToolArguments<T>(name: string, schema: z.ZodMiniType<T>, given: unknown): T {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw refusal(name, `its arguments must be an object, got ${kindOf(given)}`);
  }
  const present = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null));
  const result = z.safeParse(schema, present);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  if (issue?.code === 'unrecognized_keys') {
    throw refusal(name, unknownArgument(schema, issue.keys[0] ?? ''));
  }
  const at = issue?.path.map(String) ?? [];
  const value: unknown = at.reduce<unknown>(within, present);
  const wanted = issue?.message ?? 'valid';
  const got = value === undefined ? 'nothing' : describe(at[0] ?? '', value);
  throw refusal(name, `"${shorten(at.join('.'))}" must be ${wanted}, got ${got}`);
}

function unknownArgument(schema: z.ZodMiniType, key: string): string {
  const { properties } = z.toJSONSchema(schema, { io: 'input' });
  const known = Object.keys(properties ?? {});
  const meant = nearestWord(key, known);
  const hint = meant === null ? `it takes ${known.join(', ')}` : `did you mean "${meant}"?`;
  return `it takes no argument ${JSON.stringify(shorten(key))}; ${hint}`;
}

function within(holder: unknown, key: string): unknown {
  if (Array.isArray(holder)) return holder[Number(key)];
  const has = typeof holder === 'object' && holder !== null && Object.hasOwn(holder, key);
  return has ? fieldOf(holder, key) : undefined;
}

function describe(name: string, value: unknown): string {
  if (neverQuoted.has(name)) {
    return typeof value === 'string' ? `text of ${value.length} characters` : kindOf(value);
  }
  const isPlain = ['string', 'number', 'boolean'].includes(typeof value);
  return isPlain ? shorten(JSON.stringify(value) ?? '') : kindOf(value);
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'a list' : `a ${typeof value}`;
}

const shorten = (text: string): string =>
  text.length <= shownMax ? text : `${text.slice(0, shownMax - 1)}…`;

function refusal(name: string, why: string): TrlError {
  return new TrlError('INVALID_PARAMS', `Cannot call ${name}: ${why}`);
}
