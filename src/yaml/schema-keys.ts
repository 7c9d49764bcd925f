/** Which keys a mapping of a file may have, by the JSON Schema of the file. */
import { fieldOf } from '../json-shape.ts';

type Path = readonly (string | number)[];

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

function field(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? fieldOf(value, key)
    : undefined;
}
