/** The schemas of the wire as JSON Schema 2020-12, under stable names. */
import * as z from 'zod/mini';
import { methods, methodNames, type MethodName } from '../../api/methods.ts';
import { documentSchemas } from '../../api/document-schemas.ts';
import { isJsonObject, type JsonObject } from '../../protocol/json.ts';
import { problemSchemas } from './openapi-problems.ts';

export interface WireSchemas {
  /** By name, as `components.schemas` holds them. */
  readonly schemas: Readonly<Record<string, JsonObject>>;
  /** The schema that the parameters of a method have in `schemas`. */
  params(method: MethodName): string;
  /** The schema that the answer of a method has in `schemas`. */
  answer(method: MethodName): string;
}

const place = (name: string): string => `#/components/schemas/${name}`;
export const schemaReference = (name: string): JsonObject => ({ $ref: place(name) });

/** The parameters and answers of every method. Without parameters, the schema has no fields. */
export function wireSchemas(): WireSchemas {
  const registry = z.registry<{ id: string }>();
  for (const [name, schema] of Object.entries(documentSchemas)) registry.add(schema, { id: name });
  const named = (schema: z.ZodMiniType, name: string): string => {
    const known = registry.get(schema)?.id;
    if (known !== undefined) return known;
    registry.add(schema, { id: name });
    return name;
  };
  const namesOf = (part: 'params' | 'answer', suffix: string) =>
    new Map(
      methodNames
        .toSorted((one, other) => (one < other ? -1 : 1))
        .map(
          (name) => [name, named(methods[name][part], `${toPascalCase(name)}${suffix}`)] as const,
        ),
    );
  const paramsNames = namesOf('params', 'Params');
  const answerNames = namesOf('answer', 'Answer');
  // Input schemas say what a caller may send: objects are open, and `transform`s stay internal.
  const made = z.toJSONSchema(registry, { io: 'input', uri: place, override: plainer });
  const wire = Object.entries(made.schemas).map(([name, schema]) => [name, bare(schema)] as const);
  const all = [...wire, ...Object.entries(problemSchemas())];
  const sorted = all.toSorted(([one], [other]) => (one < other ? -1 : 1));
  return {
    schemas: Object.fromEntries(sorted),
    params: (method) => nameIn(paramsNames, method),
    answer: (method) => nameIn(answerNames, method),
  };
}

/** `exec.run` → `ExecRun`. */
export function toPascalCase(name: string): string {
  return name
    .split(/[._-]/)
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join('');
}

function nameIn(names: ReadonlyMap<string, string>, method: MethodName): string {
  const name = names.get(method);
  if (name === undefined) throw new Error(`${method} has no schema`);
  return name;
}

const anyTail = /^\^(?<start>[a-z0-9:]+-|[a-z0-9:]+:)\[\\s\\S\]\{0,\}\$$/;

/** Shows ids with their pattern, and omits limits that JSON numbers have anyway. */
function plainer({ jsonSchema }: { readonly jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  const start = anyTail.exec(jsonSchema.pattern ?? '')?.groups?.['start'];
  if (start !== undefined) jsonSchema.pattern = `^${start}[0-9a-f]+$`;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  delete jsonSchema.propertyNames;
  if (jsonSchema.prefixItems !== undefined) untuple(jsonSchema, jsonSchema.prefixItems);
}

/** Writes a tuple as a list of fixed length: client generators do not support `prefixItems`. */
function untuple(jsonSchema: z.core.JSONSchema.BaseSchema, parts: readonly unknown[]): void {
  const kinds = [...new Set(parts.map((part) => JSON.stringify(part)))].map((kind) =>
    JSON.parse(kind),
  );
  delete jsonSchema.prefixItems;
  jsonSchema.items = kinds.length === 1 ? kinds[0] : { anyOf: kinds };
  [jsonSchema.minItems, jsonSchema.maxItems] = [parts.length, parts.length];
}

/** Removes the keywords that make a schema a document of its own. */
function bare(schema: unknown): JsonObject {
  const plain: unknown = JSON.parse(JSON.stringify(schema));
  if (!isJsonObject(plain)) throw new Error('a schema is an object');
  const { $schema: _dialect, $id: _id, ...rest } = plain;
  return rest;
}
