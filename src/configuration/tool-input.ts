/**
 * The input schema of a tool, a subset of JSON Schema 2020-12, and its validation. A keyword that
 * is not checked is refused, so that a schema means what it says. Patterns are matched in linear
 * time.
 */
import { canonicalJson } from '../canonical.ts';
import { RE2JS } from 're2js';
import * as z from 'zod/mini';

const depthMax = 8;
const namesMax = 64;
const textMax = 2_000;
const patternMax = 500;

const types = ['string', 'integer', 'number', 'boolean', 'array', 'object'] as const;

/** One value; keywords of other types than its own are refused. */
export interface ToolInputSchema {
  readonly type: (typeof types)[number];
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly enum?: readonly (string | number)[] | undefined;
  readonly minLength?: number | undefined;
  readonly maxLength?: number | undefined;
  readonly pattern?: string | undefined;
  readonly minimum?: number | undefined;
  readonly maximum?: number | undefined;
  readonly items?: ToolInputSchema | undefined;
  readonly minItems?: number | undefined;
  readonly maxItems?: number | undefined;
  readonly properties?: Readonly<Record<string, ToolInputSchema>> | undefined;
  readonly required?: readonly string[] | undefined;
  readonly additionalProperties?: boolean | undefined;
}

const text = (most = textMax) => z.string().check(z.maxLength(most));
const whole = () => z.int().check(z.minimum(0));
const propertyName = z.string().check(
  z.regex(/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/, {
    error: 'must be letters, digits, "_" and "-", not starting with a digit',
  }),
);

export const toolInputSchema: z.ZodMiniType<ToolInputSchema> = z.strictObject({
  type: z.enum(types, { error: `must be ${types.join(', ')}` }),
  title: z.optional(text()),
  description: z.optional(text()),
  enum: z.optional(
    z.array(z.union([text(), z.number()])).check(z.minLength(1), z.maxLength(namesMax)),
  ),
  minLength: z.optional(whole()),
  maxLength: z.optional(whole()),
  pattern: z.optional(text(patternMax)),
  minimum: z.optional(z.number()),
  maximum: z.optional(z.number()),
  items: z.optional(z.lazy(() => toolInputSchema)),
  minItems: z.optional(whole()),
  maxItems: z.optional(whole()),
  properties: z.optional(z.lazy(() => z.record(propertyName, toolInputSchema))),
  required: z.optional(z.array(propertyName).check(z.maxLength(namesMax))),
  additionalProperties: z.optional(z.boolean()),
});

/** The default input of a tool: an object without members. */
export const emptyToolInput: ToolInputSchema = { type: 'object', properties: {}, required: [] };

const keywords: Readonly<Record<ToolInputSchema['type'], readonly (keyof ToolInputSchema)[]>> = {
  string: ['enum', 'minLength', 'maxLength', 'pattern'],
  integer: ['enum', 'minimum', 'maximum'],
  number: ['enum', 'minimum', 'maximum'],
  boolean: [],
  array: ['items', 'minItems', 'maxItems'],
  object: ['properties', 'required', 'additionalProperties'],
};

type Path = readonly (string | number)[];

/** Why a schema that has the form of one cannot be used: one line each; empty where it can. */
export function toolInputSchemaProblems(
  schema: ToolInputSchema,
  path: Path = [],
): readonly { readonly path: Path; readonly message: string }[] {
  if (path.length > depthMax * 2) return [{ path, message: 'is nested too deep' }];
  const own = Object.keys(schema)
    .filter((key) => !['type', 'title', 'description'].includes(key))
    .filter((key) => !keywords[schema.type].some((known) => known === key))
    .map((key) => ({
      path: [...path, key],
      message: `"${key}" says nothing of a value of type "${schema.type}"`,
    }));
  const { pattern, properties = {}, required = [], items } = schema;
  if (pattern !== undefined && compiled(pattern) === null) {
    own.push({ path: [...path, 'pattern'], message: 'is no regular expression of RE2' });
  }
  for (const [at, name] of required.entries()) {
    if (Object.hasOwn(properties, name)) continue;
    own.push({ path: [...path, 'required', at], message: `"${name}" is no property` });
  }
  const inner = Object.entries(properties).flatMap(([name, one]) =>
    toolInputSchemaProblems(one, [...path, 'properties', name]),
  );
  return [
    ...own,
    ...inner,
    ...(items === undefined ? [] : toolInputSchemaProblems(items, [...path, 'items'])),
  ];
}

/** Why a value does not fit, one clause with the path of what is wrong; `null`: it fits. */
export function describeInputMismatch(
  schema: ToolInputSchema,
  value: unknown,
  at = '',
): string | null {
  const name = at === '' ? 'the arguments' : `"${at}"`;
  if (!isOfType(schema.type, value)) return `${name} must be of type ${schema.type}`;
  const { enum: allowed } = schema;
  if (allowed !== undefined && !allowed.some((one) => one === value)) {
    return `${name} must be one of ${allowed.map((one) => JSON.stringify(one)).join(', ')}`;
  }
  if (typeof value === 'string') return whyUnfitText(schema, value, name);
  if (typeof value === 'number') return whyUnfitNumber(schema, value, name);
  if (Array.isArray(value)) return whyUnfitList(schema, value, at);
  return typeof value === 'object' && value !== null ? whyUnfitObject(schema, value, at) : null;
}

function isOfType(type: ToolInputSchema['type'], value: unknown): boolean {
  if (type === 'array') return Array.isArray(value);
  if (type === 'integer') return Number.isSafeInteger(value);
  if (type === 'object') {
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  }
  return type === 'number' ? Number.isFinite(value) : typeof value === type;
}

function whyUnfitText(schema: ToolInputSchema, value: string, name: string): string | null {
  if (!value.isWellFormed()) return `${name} must be well-formed Unicode`;
  const { minLength = 0, maxLength = Infinity, pattern } = schema;
  const { length } = Array.from(value);
  if (length < minLength) return `${name} must have at least ${minLength} characters`;
  if (length > maxLength) return `${name} must have at most ${maxLength} characters`;
  if (pattern === undefined || compiled(pattern)?.matcher(value).find() === true) return null;
  return `${name} must match ${JSON.stringify(pattern)}`;
}

function whyUnfitNumber(schema: ToolInputSchema, value: number, name: string): string | null {
  const { minimum = -Infinity, maximum = Infinity } = schema;
  if (value < minimum) return `${name} must be at least ${minimum}`;
  return value > maximum ? `${name} must be at most ${maximum}` : null;
}

function whyUnfitList(
  schema: ToolInputSchema,
  value: readonly unknown[],
  at: string,
): string | null {
  const { items, minItems = 0, maxItems = Infinity } = schema;
  const name = at === '' ? 'the arguments' : `"${at}"`;
  if (value.length < minItems) return `${name} must have at least ${minItems} items`;
  if (value.length > maxItems) return `${name} must have at most ${maxItems} items`;
  if (items === undefined) return null;
  for (const [index, one] of value.entries()) {
    const why = describeInputMismatch(items, one, `${at}[${index}]`);
    if (why !== null) return why;
  }
  return null;
}

function whyUnfitObject(schema: ToolInputSchema, value: object, at: string): string | null {
  const { properties = {}, required = [], additionalProperties = false } = schema;
  const inner = (name: string): string => (at === '' ? name : `${at}.${name}`);
  const missing = required.find((name) => !Object.hasOwn(value, name));
  if (missing !== undefined) return `"${inner(missing)}" is missing`;
  for (const [name, one] of Object.entries(value)) {
    const known = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (known === undefined && !name.isWellFormed()) return 'a name must be well-formed Unicode';
    if (known === undefined && !additionalProperties) {
      const wanted = Object.keys(properties).join(', ') || 'none';
      return `"${inner(name.slice(0, namesMax))}" is not known; known are: ${wanted}`;
    }
    const why = known === undefined ? null : describeInputMismatch(known, one, inner(name));
    if (why !== null) return why;
  }
  return null;
}

const patterns = new Map<string, RE2JS | null>();

function compiled(pattern: string): RE2JS | null {
  const known = patterns.get(pattern);
  if (known !== undefined) return known;
  let made: RE2JS | null = null;
  try {
    made = RE2JS.compile(pattern);
  } catch {
    // The reader of the schema reports it.
  }
  if (patterns.size >= namesMax * namesMax) patterns.clear();
  patterns.set(pattern, made);
  return made;
}

/** Why no JSON can be made of arguments: half of a character, a number without an end. */
export function describeJsonProblem(given: object): string | null {
  try {
    canonicalJson(given);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : 'its arguments are no JSON';
  }
}
