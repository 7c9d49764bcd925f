/** Problems that the schema finds, as sentences with a position. */
import type * as z from 'zod/mini';
import { fieldOf } from '../json-shape.ts';
import { nearestWord } from '../nearest-word.ts';
import type { FileProblem } from './file-error.ts';
import { fileProblemsMax, type YamlTree } from './tree.ts';
import { isObject } from '../json-shape.ts';

type Issue = z.core.$ZodIssue;
type Path = readonly (string | number)[];

/** What `zod/mini` says where nothing better was given. */
const unsaid = 'Invalid input';

export interface SchemaProblemContext {
  readonly tree: YamlTree;
  /** Keys that a mapping may have, by the path of the mapping. */
  readonly keysAt: (path: Path) => readonly string[];
  /** Keys, by path, that are known and not taken. */
  readonly notEnforced: ReadonlySet<string>;
  /** The runtime's version, named where a key is not enforced yet. */
  readonly version: string;
}

/** The problems of one issue: one for each unknown key, else one. */
export function describeSchemaIssue(
  issue: Issue,
  wording: SchemaProblemContext,
  above: Path = [],
): FileProblem[] {
  const { tree, keysAt, version, notEnforced } = wording;
  const path = [...above, ...issue.path.filter((part) => typeof part !== 'symbol')];
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.slice(0, fileProblemsMax).map((key) => {
      const inner = [...path, key];
      const name = inner.filter((part) => typeof part === 'string').join('.');
      if (notEnforced.has(name)) {
        return tree.problemAtKey(
          inner,
          `"${name}" is not enforced by this version (${version}): nothing would hold it, ` +
            `so it is not taken`,
        );
      }
      const near = nearestWord(key, keysAt(path));
      const hint = near === null ? `; known are ${keysAt(path).join(', ')}` : '';
      const meant = near === null ? hint : `; did you mean "${near}"?`;
      return tree.problemAtKey(inner, `unknown key "${key}"${meant}`);
    });
  }
  if (issue.code === 'invalid_union') {
    const inner = branchMeant(issue.errors);
    if (inner !== null) return inner.flatMap((one) => describeSchemaIssue(one, wording, path));
  }
  const value = valueAt(tree.value, path);
  const last = path.at(-1);
  if (value === undefined && typeof last === 'string') {
    return [tree.problem(path, `the key "${last}" is missing`)];
  }
  return [tree.problem(path, `${subject(path)}${said(issue, value)}`)];
}

/** Of the forms that a value may have, the one it has: the one that complains about its inside. */
function branchMeant(branches: readonly (readonly Issue[])[]): readonly Issue[] | null {
  const inside = branches.filter((issues) =>
    issues.every(({ code, path }) => code !== 'invalid_type' || path.length > 0),
  );
  const byUnknown = (issues: readonly Issue[]) =>
    issues.filter(({ code, path }) => code === 'unrecognized_keys' || path.length > 0).length;
  return inside.toSorted((a, b) => byUnknown(a) - byUnknown(b)).at(0) ?? null;
}

function subject(path: Path): string {
  const key = path.findLast((part) => typeof part === 'string');
  if (key === undefined) return 'the file ';
  return typeof path.at(-1) === 'number' ? `an entry of "${key}" ` : `"${key}" `;
}

function said(issue: Issue, value: unknown): string {
  const isPlain = typeof value === 'number' || typeof value === 'boolean';
  if (issue.code === 'invalid_union' && isPlain) return `must be a text: write "${value}"`;
  if (issue.message !== unsaid) return `${issue.message}, got ${shown(value)}`;
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${kinds.get(issue.expected) ?? issue.expected}, got ${shown(value)}`;
    case 'invalid_value': {
      const known = issue.values.map(String);
      const near = typeof value === 'string' ? nearestWord(value, known) : null;
      const hint = near === null ? '' : `; did you mean "${near}"?`;
      return `must be ${known.join(' or ')}, got ${shown(value)}${hint}`;
    }
    case 'too_small':
      return 'must not be empty';
    case 'too_big':
      return typeof value === 'string'
        ? `must have at most ${issue.maximum} characters`
        : `must have at most ${issue.maximum} entries`;
    case 'invalid_union':
    case 'invalid_format':
    case 'not_multiple_of':
    case 'unrecognized_keys':
    case 'invalid_key':
    case 'invalid_element':
    case 'custom':
      return `is not valid, got ${shown(value)}`;
  }
}

const kinds: ReadonlyMap<string, string> = new Map([
  ['string', 'a text'],
  ['boolean', 'true or false'],
  ['array', 'a list'],
  ['object', 'a mapping'],
  ['int', 'a whole number'],
  ['number', 'a number'],
]);

const shownLengthMax = 60;

function shown(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a mapping';
  const text = JSON.stringify(value);
  return text.length > shownLengthMax ? `${text.slice(0, shownLengthMax)}…` : text;
}

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (inner, key) =>
      typeof inner === 'object' && inner !== null && Object.hasOwn(inner, key)
        ? fieldOf(inner, String(key))
        : undefined,
    value,
  );
}

/** The keys that the mapping at `path` may have; empty where there is no mapping. */
export function schemaKeysAt(jsonSchema: unknown, path: Path): readonly string[] {
  let found: unknown[] = [jsonSchema];
  for (const key of path) {
    found = found.flatMap(forms).map((form) => {
      if (typeof key === 'number') return field(form, 'items');
      // A mapping whose keys people choose has one form for all their values.
      return field(field(form, 'properties'), key) ?? field(form, 'additionalProperties');
    });
  }
  const keys = found.flatMap(forms).map((form) => field(form, 'properties'));
  const names = keys.flatMap((one) =>
    typeof one === 'object' && one !== null ? Object.keys(one) : [],
  );
  return [...new Set(names)];
}

/** A schema, or the several that a value may have. */
function forms(schema: unknown): unknown[] {
  const several = field(schema, 'anyOf') ?? field(schema, 'oneOf');
  return Array.isArray(several) ? several : [schema];
}

const field = (value: unknown, key: string): unknown =>
  isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
