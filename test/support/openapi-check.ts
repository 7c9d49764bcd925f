/** Requests by the ids of operations, each answer held against what the document says of it. */
import assert from 'node:assert/strict';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Json } from './daemon.ts';

export interface Operation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly told: Json;
}

export function operationsOf(document: Json): readonly Operation[] {
  return Object.entries<Json>(document.paths).flatMap(([path, item]) =>
    Object.entries<Json>(item).map(([method, told]) => ({
      id: told.operationId,
      method: method.toUpperCase(),
      path,
      told,
    })),
  );
}

export interface Asked {
  readonly path?: Readonly<Record<string, string | number>>;
  readonly query?: Readonly<Record<string, string | number | boolean>>;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly data: Json;
}

export class DocumentedClient {
  readonly #origin: string;
  readonly #document: Json;
  readonly #ajv = new Ajv2020({ strict: false, validateFormats: false });
  readonly #operations: ReadonlyMap<string, Operation>;
  /** Ids of operations that succeeded. */
  readonly succeeded = new Set<string>();

  constructor(origin: string, document: Json) {
    this.#origin = origin;
    this.#document = document;
    this.#ajv.addSchema(document, 'document');
    this.#operations = new Map(operationsOf(document).map((one) => [one.id, one]));
  }

  /** Asks, and fails where the answer is none of those that are documented. */
  async ask(token: string, id: string, asked: Asked = {}): Promise<Answered> {
    const operation = this.#operations.get(id);
    if (operation === undefined) throw new Error(`there is no operation ${id}`);
    const query = Object.entries(asked.query ?? {}).map(([key, value]) => `${key}=${value}`);
    const search = query.length === 0 ? '' : `?${query.join('&')}`;
    const place = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(String(asked.path?.[name] ?? 'none')),
    );
    const response = await fetch(`${this.#origin}${place}${search}`, {
      method: operation.method,
      headers: {
        Authorization: `Bearer ${token}`,
        ...(asked.body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...asked.headers,
      },
      ...(asked.body === undefined ? {} : { body: JSON.stringify(asked.body) }),
    });
    const { status, headers } = response;
    const type = (headers.get('content-type') ?? '').split(';')[0] ?? '';
    const text = await response.text();
    const data: Json = type.endsWith('json') ? JSON.parse(text) : text;
    this.check(operation, { status, type, data });
    if (response.ok && type !== 'application/problem+json') this.succeeded.add(id);
    return { status, headers, data };
  }

  /** @throws AssertionError where the document does not tell of such an answer */
  check(operation: Operation, found: { status: number; type: string; data: Json }): void {
    const { status, type, data } = found;
    const shown = `${operation.id}: ${status} ${type} ${JSON.stringify(data)?.slice(0, 600)}`;
    const name = operation.told.responses[status] === undefined ? 'default' : String(status);
    const told = operation.told.responses[name];
    assert.ok(told !== undefined, `not documented: ${shown}`);
    const parts = placeOf(told) ?? [...pathTo(operation), 'responses', name];
    const response = parts.reduce((at: Json, part) => at[part], this.#document);
    assert.ok(response.content?.[type] !== undefined, `not documented: ${shown}`);
    const pointer = [...parts, 'content', type, 'schema'].map(escaped).join('/');
    const validate = this.#ajv.compile({ $ref: `document#/${pointer}` });
    assert.ok(validate(data), `${shown}: ${this.#ajv.errorsText(validate.errors)}`);
  }
}

/** Where a reference leads; `null`: it is none. */
const placeOf = (told: Json): readonly string[] | null =>
  typeof told.$ref === 'string' ? told.$ref.slice(2).split('/') : null;

const pathTo = ({ path, method }: Operation): string[] => ['paths', path, method.toLowerCase()];

const escaped = (part: string): string =>
  encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'));
