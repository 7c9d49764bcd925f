// The document of the HTTP door: it is valid, it has every route, and it tells nothing else.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { errorTable } from '../src/errors.ts';
import { createOpenapiDocument } from '../src/daemon/http/openapi.ts';
import { builtinRoutes, routes, unrouted } from '../src/daemon/http/routes.ts';
import { isJsonObject, type JsonObject } from '../src/protocol/json.ts';
import { findMethod, methods } from '../src/api/methods.ts';
import type { Json } from './support/daemon.ts';

const document: Json = createOpenapiDocument('0.1.0');

test('the document is valid OpenAPI 3.1, and equal each time it is made', async () => {
  assert.equal(document.openapi, '3.1.1');
  const found = await new Validator().validate(structuredClone(document));
  assert.deepEqual(found, { valid: true });
  assert.equal(JSON.stringify(createOpenapiDocument('0.1.0')), JSON.stringify(document));
});

test('every route is in the document once, by its method, and nothing else is', () => {
  const documented = Object.entries<JsonObject>(document.paths).flatMap(([path, item]) =>
    Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const rows = [...routes, ...builtinRoutes].map(({ method, path }) => `${method} ${path}`);
  assert.deepEqual(documented.toSorted(), rows.toSorted());
  const ids = operations().map(({ operationId }) => operationId);
  assert.equal(new Set(ids).size, ids.length);
});

test('every method of the wire has a path, or a reason that it has none', () => {
  const called = routes.flatMap(({ call, modes }) => [
    call,
    ...Object.values(modes ?? {}).map((mode) => mode.call),
  ]);
  const without = Object.keys(methods).filter(
    (name) => !called.some((call) => call === name) && !unrouted.has(findMethod(name)),
  );
  assert.deepEqual(without, []);
});

test('what is referred to is there, and what is there is referred to', () => {
  const found = references(document);
  for (const reference of found) {
    const parts = reference.split('/').slice(1);
    const target = parts.reduce<Json>((at, part) => at?.[part], document);
    assert.ok(isJsonObject(target), `${reference} is not there`);
  }
  for (const name of Object.keys(document.components.schemas)) {
    assert.ok(found.has(`#/components/schemas/${name}`), `nobody refers to ${name}`);
  }
});

test('generators of clients and linters take every schema', () => {
  // openapi-python-client and spectral stop at a tuple; two shapes of one name end the former.
  const { rules } = document.components.schemas.Verdict.properties;
  const span: Json = rules.items.properties.span.anyOf[0];
  assert.deepEqual([span.type, span.minItems, span.maxItems], ['array', 2, 2]);
  assert.deepEqual(span.items, { minimum: 0, type: 'integer' });
  assert.equal(JSON.stringify(document).includes('prefixItems'), false);
  const { tags } = document;
  for (const { path, operation } of operations()) {
    assert.ok(operation.description !== '', path);
    assert.ok(operation.tags.every((tag: string) => tags.some((one: Json) => one.name === tag)));
  }
});

test('every parameter in a path is declared, and a method takes each declared one', () => {
  for (const { path, operation } of operations()) {
    const declared = (operation.parameters ?? []).map((one: Json) => one.name ?? one.$ref);
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    for (const name of inPath) assert.ok(declared.includes(name), `${path}: ${name}`);
    assert.equal(new Set(declared).size, declared.length, path);
    const method: unknown = operation['x-trl-method'];
    if (typeof method !== 'string' || !isMethod(method)) continue;
    const taken = Object.keys(methods[method].params.shape);
    const own = new Set(['limit', 'mode']);
    for (const name of declared) {
      const isKnown = taken.includes(name) || own.has(name) || name.startsWith('#');
      assert.ok(isKnown, `${path} declares ${name}, which ${method} does not take`);
    }
  }
});

test('every code of an error is told under its status', () => {
  const { schemas } = document.components;
  for (const [code, { httpStatus }] of Object.entries(errorTable)) {
    if (httpStatus === 200) continue;
    const told = schemas[`Problem${httpStatus}`].allOf[1].properties.code.enum;
    assert.ok(told.includes(code), `${code} is not told under ${httpStatus}`);
  }
});

test('only what is open is told to need no token', () => {
  const open = operations()
    .filter(({ operation }) => operation.security?.length === 0)
    .map(({ path }) => path);
  const wanted = builtinRoutes.filter((row) => row.open).map(({ path }) => path);
  assert.deepEqual(open.toSorted(), [...wanted].toSorted());
  assert.deepEqual(document.security, [{ bearer: [] }]);
});

interface Operation {
  readonly path: string;
  readonly method: string;
  readonly operationId: string;
  readonly operation: Json;
}

function operations(): Operation[] {
  return Object.entries<JsonObject>(document.paths).flatMap(([path, item]) =>
    Object.entries<Json>(item).map(([method, operation]) => ({
      path,
      method,
      operationId: operation.operationId,
      operation,
    })),
  );
}

function isMethod(name: string): name is keyof typeof methods {
  return Object.hasOwn(methods, name);
}

function references(value: unknown, found = new Set<string>()): Set<string> {
  if (Array.isArray(value)) for (const one of value) references(one, found);
  if (!isJsonObject(value)) return found;
  for (const [key, inside] of Object.entries(value)) {
    if (key === '$ref' && typeof inside === 'string') found.add(inside);
    else references(inside, found);
  }
  return found;
}
