// Every route, by its document: what it is not made for is refused with a code, and named.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { errorTable } from '../src/errors.ts';
import type { Json } from './support/daemon.ts';
import { startOpenapi } from './support/openapi-server.ts';
import type { OpenapiServer } from './support/openapi-server.ts';

let server: OpenapiServer;
let token: string;
before(async () => {
  server = await startOpenapi();
  token = server.newToken('admin');
});
after(() => server?.[Symbol.asyncDispose]());

interface Case {
  readonly what: string;
  readonly method: string;
  readonly target: string;
  /** As it is sent; `undefined`: no body. */
  readonly body?: string;
  /** What the refusal must name. */
  readonly names: string;
}

const zeros = '0'.repeat(32);
/** Well-formed, and of nothing that is there. */
const places: Readonly<Record<string, string>> = {
  session_id: `s-${zeros}`,
  exec_id: `x-${zeros}`,
  approval_id: `a-${zeros}`,
  seq: '1',
  name: 'name',
  id: `tree:sha256:${zeros}${zeros}`,
  digest: '0'.repeat(8),
};

/** A value that no schema of this kind takes. */
function wrongFor(schema: Json): unknown {
  const types: unknown[] = [schema.type, ...(schema.anyOf ?? []).map((one: Json) => one.type)];
  return types.includes('object') || types.includes('array') ? 5 : { no: 1 };
}

/** A value that the schema takes. */
function sampleOf(name: string, schema: Json): unknown {
  if (Object.hasOwn(places, name)) return places[name];
  if (schema.enum !== undefined) return schema.enum[0];
  if (schema.type === 'integer') return Math.max(1, schema.minimum ?? 1);
  if (schema.type === 'array') return [sampleOf(name, resolved(schema.items))];
  if (schema.type === 'object') return {};
  return 'true';
}

function casesOf(method: string, path: string, operation: Json): Case[] {
  const inPath = (name: string): string => places[name] ?? 'none';
  const target = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => inPath(name));
  const at = { method: method.toUpperCase(), target };
  const found: Case[] = [
    { ...at, what: 'query', target: `${target}?surprise=1`, names: 'surprise' },
  ];
  for (const one of operation.parameters ?? []) {
    if (one.in !== 'query' || one.schema?.type !== 'integer') continue;
    const asked = `${target}?${one.name}=many`;
    found.push({ ...at, what: one.name, target: asked, names: one.name });
  }
  const schema = operation.requestBody?.content['application/json'].schema;
  if (schema === undefined) return found;
  const { properties = {}, required = [] } = resolved(schema);
  for (const body of ['[]', '{', 'null', '{"a":1,"a":2}']) {
    found.push({ ...at, what: body, body, names: 'Cannot' });
  }
  const whole = Object.fromEntries(
    required.map((name: string) => [name, sampleOf(name, resolved(properties[name]))]),
  );
  for (const name of required) {
    const body = JSON.stringify({ ...whole, [name]: undefined });
    found.push({ ...at, what: `without ${name}`, body, names: name });
  }
  for (const [name, of] of Object.entries<Json>(properties)) {
    const body = JSON.stringify({ ...whole, [name]: wrongFor(resolved(of)) });
    found.push({ ...at, what: name, body, names: name });
  }
  return found;
}

function resolved(schema: Json): Json {
  if (typeof schema.$ref !== 'string') return schema;
  return resolved(server.document.components.schemas[schema.$ref.split('/').at(-1)]);
}

async function sent({ method, target, body }: Case): Promise<{ status: number; text: string }> {
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  const init = { method, headers, ...(body === undefined ? {} : { body }) };
  const answer = await fetch(`${server.origin}${target}`, init);
  return { status: answer.status, text: await answer.text() };
}

test('every route names what it does not take, with a code', async () => {
  let tried = 0;
  const wrong: string[] = [];
  for (const [path, operations] of Object.entries<Json>(server.document.paths)) {
    for (const [method, operation] of Object.entries<Json>(operations)) {
      if (operation['x-trl-method'] === undefined) continue;
      for (const one of casesOf(method, path, operation)) {
        const { status, text } = await sent(one);
        tried += 1;
        const told = `${method} ${one.target} ${one.what}: ${status} ${text.slice(0, 300)}`;
        const problem: Json = text.startsWith('{') ? JSON.parse(text) : {};
        const isRight =
          status === 400 &&
          Object.hasOwn(errorTable, problem.code) &&
          String(problem.detail).includes(one.names);
        if (!isRight) wrong.push(told);
      }
    }
  }
  assert.deepEqual(wrong, []);
  assert.ok(tried > 300, `${tried}`);
});
