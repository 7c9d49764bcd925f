/** Parses the query parameters that a row defines, and refuses others by name. */
import { HttpRefusal } from './problem.ts';
import type { QueryType } from '../../api/define-method.ts';

/**
 * @param target path and query of the request
 * @throws HttpRefusal `INVALID_PARAMS` if the row does not define a name (a token in a URL, for
 *   example), a name occurs twice, or a value has another type. The message quotes no value.
 */
export function readQuery(
  target: string,
  types: Readonly<Record<string, QueryType>>,
): Readonly<Record<string, unknown>> {
  const start = target.indexOf('?');
  if (start === -1) return {};
  const found = new Map<string, string[]>();
  const given = new URLSearchParams(target.slice(start + 1));
  for (const [name, value] of given) {
    if (!Object.hasOwn(types, name)) throw refuse(`it takes no "${shown(name)}"`);
    found.set(name, [...(found.get(name) ?? []), value]);
  }
  return Object.fromEntries(
    [...found].map(([name, values]) => [name, valueOf(name, values, types[name] ?? 'text')]),
  );
}

function valueOf(name: string, values: readonly string[], type: QueryType): unknown {
  const [first = '', ...others] = values;
  if (type === 'list') return values;
  if (others.length > 0) throw refuse(`"${name}" occurs more than once`);
  switch (type) {
    case 'text':
      return first;
    case 'boolean':
      if (first !== 'true' && first !== 'false') throw refuse(`"${name}" must be true or false`);
      return first === 'true';
    case 'integer':
      if (!/^-?\d{1,16}$/.test(first)) throw refuse(`"${name}" must be a whole number`);
      return Number(first);
  }
}

const shown = (name: string): string => name.slice(0, 64).replaceAll(/[^\w.-]/g, '?');

function refuse(why: string): HttpRefusal {
  return new HttpRefusal('INVALID_PARAMS', `Cannot read the query: ${why}`);
}
