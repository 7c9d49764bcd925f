/**
 * JSON with sorted keys and no blanks: equal values give equal text. Source: RFC 8785. This module
 * imports nothing.
 */

/**
 * @returns canonical JSON; members that are `undefined` are left out, as `JSON.stringify` does
 * @throws TypeError for what JSON cannot hold: a lone surrogate, a number that is not finite,
 *   a function, a bigint
 */
export function canonicalJson(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return quoted(value);
    case 'number':
      if (!Number.isFinite(value)) throw new TypeError(`Cannot write ${value} as JSON`);
      // ECMAScript's own form of a number is what the RFC asks for.
      return JSON.stringify(value);
    case 'boolean':
      return value ? 'true' : 'false';
    case 'object':
      if (value === null) return 'null';
      return Array.isArray(value) ? list(value) : members(value);
    case 'undefined':
    case 'bigint':
    case 'function':
    case 'symbol':
      throw new TypeError(`Cannot write a value of type ${typeof value} as JSON`);
  }
}

function list(values: readonly unknown[]): string {
  // As JSON.stringify: a hole in a list is null.
  return `[${values.map((one) => (one === undefined ? 'null' : canonicalJson(one))).join(',')}]`;
}

function members(value: object): string {
  let text = '';
  // By UTF-16 code units, which is how strings compare.
  const inner: Readonly<Record<string, unknown>> = { ...value };
  for (const name of Object.keys(inner).toSorted(byCodeUnits)) {
    if (inner[name] === undefined) continue;
    text += `${text === '' ? '' : ','}${quoted(name)}:${canonicalJson(inner[name])}`;
  }
  return `{${text}}`;
}

const byCodeUnits = (a: string, b: string): number => (a < b ? -1 : 1);

function quoted(text: string): string {
  if (!text.isWellFormed()) throw new TypeError('Cannot write a lone surrogate as JSON');
  return JSON.stringify(text);
}
