/** Malformed requests, drawn from a seed and from the document: well-formed ones, then spoiled. */
import type { Json } from './daemon.ts';
import { operationsOf, type Operation } from './openapi-check.ts';

export interface Drawn {
  readonly operation: string;
  /** What was spoiled. */
  readonly how: string;
  readonly method: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | null;
}

export interface Ids {
  readonly session: string;
  readonly exec: string;
  readonly root: string;
}

/** Numbers in [0, 1): the generator mulberry32. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** One request being put together; what is malformed changes it in place. */
interface Draft {
  method: string;
  path: string;
  query: [string, string][];
  headers: Record<string, string>;
  value: Json;
  /** In place of the JSON of `value`. */
  raw: Uint8Array | null;
}

const text = (value: string): Uint8Array => Buffer.from(value, 'utf8');

export class Draw {
  readonly #random: () => number;
  readonly #document: Json;
  readonly #operations: readonly Operation[];
  readonly #ids: Ids;

  constructor(random: () => number, document: Json, ids: Ids) {
    this.#random = random;
    this.#document = document;
    this.#ids = ids;
    const all = operationsOf(document);
    // A body can be wrong in more ways than a path.
    const bodied = all.filter(({ told }) => told.requestBody !== undefined);
    this.#operations = [...all, ...bodied, ...bodied];
  }

  next(): Drawn {
    const operation = this.#pick(this.#operations);
    const draft = this.#draft(operation);
    const kinds = draft.value === null ? placesOnly : spoilers;
    const [how, spoil] = this.#pick(kinds);
    spoil(draft, this);
    const body = draft.raw ?? (draft.value === null ? null : text(JSON.stringify(draft.value)));
    const query = draft.query.map(([name, value]) => `${name}=${value}`).join('&');
    return {
      operation: operation.id,
      how,
      method: draft.method,
      target: query === '' ? draft.path : `${draft.path}?${query}`,
      headers: draft.headers,
      body,
    };
  }

  below(max: number): number {
    return Math.floor(this.#random() * max);
  }

  oneOf<T>(list: readonly T[]): T {
    return this.#pick(list);
  }

  #pick<T>(list: readonly T[]): T {
    const found = list[this.below(list.length)];
    if (found === undefined) throw new Error('there is nothing to pick');
    return found;
  }

  #draft({ method, path, told }: Operation): Draft {
    const query: [string, string][] = [];
    for (const one of (told.parameters ?? []).map((each: Json) => this.#resolved(each))) {
      const isWanted = one.in === 'query' && one.name !== 'mode' && this.#random() < 0.3;
      if (isWanted) query.push([one.name, encodeURIComponent(String(this.#sample(one)))]);
    }
    const schema = told.requestBody?.content?.['application/json']?.schema;
    return {
      method,
      path: path.replaceAll(/\{(\w+)\}/g, (_, name: string) => this.#id(name)),
      query,
      headers: schema === undefined ? {} : { 'Content-Type': 'application/json' },
      value: schema === undefined ? null : this.#value(schema, 0),
      raw: null,
    };
  }

  #id(name: string): string {
    if (name === 'session_id') return this.#ids.session;
    if (name === 'exec_id') return this.#ids.exec;
    return name === 'seq' ? '1' : `${name.charAt(0)}-${'0'.repeat(32)}`;
  }

  #sample({ name, schema }: Json): Json {
    return name === 'session_id' || name === 'exec_id' ? this.#id(name) : this.#value(schema, 0);
  }

  /** A value that the schema lets through, harmless where it is a command or a path. */
  #value(given: Json, depth: number, name = ''): Json {
    const schema = this.#resolved(given);
    const known = this.#harmless(name);
    if (known !== undefined) return known;
    if (schema.enum !== undefined) return this.#pick(schema.enum);
    if (schema.const !== undefined) return schema.const;
    const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
    if (type === 'integer' || type === 'number') return schema.minimum ?? 1;
    if (type === 'boolean') return this.#random() < 0.5;
    if (type === 'array') return depth > 3 ? [] : [this.#value(schema.items ?? {}, depth + 1)];
    if (type !== 'object') return 'text';
    const needed = new Set<string>(schema.required ?? []);
    const fields = Object.entries<Json>(schema.properties ?? {})
      .filter(([key]) => needed.has(key) || this.#random() < 0.3)
      .map(([key, one]) => [key, this.#value(one, depth + 1, key)] as const);
    return Object.fromEntries(fields);
  }

  /** What could wait, fill the disk or start much is drawn small. */
  #harmless(name: string): Json {
    if (name === 'command') return 'true';
    if (name === 'session_id') return this.#ids.session;
    if (name === 'exec_id') return this.#ids.exec;
    if (name === 'path' || name === 'cwd' || name === 'working_dir') return this.#ids.root;
    if (name === 'wait_ms') return 0;
    // Bounds in which no sandbox can start are refused with 503, which is true.
    if (name === 'limits') return { processes: 64 };
    if (name === 'env') return { FUZZED: '1' };
    if (name === 'method') return this.#pick(['system.ping', 'session.list', 'exec.info']);
    return undefined;
  }

  #resolved(one: Json): Json {
    if (typeof one?.$ref !== 'string') return one ?? {};
    const parts: string[] = one.$ref.slice(2).split('/');
    return parts.reduce((at: Json, part) => at[part], this.#document);
  }
}

/** Keys from the top to somewhere inside. */
function aPlace(value: Json, draw: Draw): { readonly holder: Json; readonly key: string } | null {
  let found: { holder: Json; key: string } | null = null;
  for (let at = value; typeof at === 'object' && at !== null;) {
    const keys = Object.keys(at);
    if (keys.length === 0) break;
    const key = draw.oneOf(keys);
    found = { holder: at, key };
    if (draw.below(2) === 0) break;
    at = at[key];
  }
  return found;
}

const odd: readonly Json[] = [
  null,
  true,
  '',
  'x',
  '\0',
  '‮\u{1f4a9}',
  '\ud800',
  [],
  [[]],
  {},
  { a: 1 },
  -1,
  0.5,
  1e308,
  Number.MAX_SAFE_INTEGER,
  2 ** 53,
];
const oddIds = [
  '',
  's-',
  'x-',
  '%00',
  '%ff',
  '..',
  '%2e%2e%2f%2e%2e%2fetc%2fpasswd',
  's-%0d%0aX-Injected:%20yes',
  'tree:sha256:zz',
  '%F0%9F%92%A9',
  '1e9',
  '%',
  '%zz',
  "s-'%20OR%201=1--",
  '__proto__',
  'a'.repeat(5_000),
  `s-${'0'.repeat(32)}`,
  `x-${'f'.repeat(32)}`,
];
const oddQueries: readonly (readonly [string, string])[] = [
  ['limit', '-1'],
  ['limit', '1e3'],
  ['limit', '99999999999999999999'],
  ['cursor', 'zzz'],
  ['cursor', Buffer.from('[1,{}]').toString('base64url')],
  ['from', '-5'],
  ['from', 'NaN'],
  ['mode', 'constructor'],
  ['mode', '__proto__'],
  ['token', 'in-the-url'],
  ['access_token', 'x'],
  ['%00', '%00'],
  ['%zz', '%'],
  ['a'.repeat(4_000), 'b'],
  ['force', 'yes'],
  ['since', '0000-99-99'],
  ['', ''],
];
const oddHeaders: readonly Readonly<Record<string, string>>[] = [
  { 'Idempotency-Key': 'a'.repeat(300) },
  { 'Idempotency-Key': 'two words' },
  { 'Last-Event-ID': '-1' },
  { 'Last-Event-ID': 'x'.repeat(2_000) },
  { traceparent: 'zz-00' },
  { traceparent: `ff-${'0'.repeat(32)}-${'0'.repeat(16)}-00` },
  { Authorization: 'Bearer nobody-has-this-token-0000000000000000' },
  { Authorization: 'Basic dXNlcjpwYXNz' },
  { Authorization: 'Bearer' },
  { Host: 'evil.example' },
  { Origin: 'https://evil.example' },
  { Origin: 'null' },
  { 'Content-Encoding': 'gzip' },
  { 'Content-Type': 'text/plain' },
  { 'Content-Type': 'application/json; charset=utf-16' },
  { 'Content-Type': 'multipart/form-data; boundary=x' },
  { Accept: 'image/png' },
  { Expect: '200-ok' },
  { Range: 'bytes=0-0,0-0' },
  { Upgrade: 'websocket', Connection: 'Upgrade' },
  { 'X-Much': 'y'.repeat(17_000) },
];

type Spoiler = readonly [string, (draft: Draft, draw: Draw) => void];

const places: readonly Spoiler[] = [
  ['id', spoilPath],
  ['query', (draft, draw) => void draft.query.push([...draw.oneOf(oddQueries)])],
  [
    'query twice',
    (draft) => void draft.query.push(['limit', '1'], ['limit', '2'], ['from', '1'], ['from', '1']),
  ],
  ['header', (draft, draw) => void Object.assign(draft.headers, draw.oneOf(oddHeaders))],
  [
    'method',
    (draft, draw) => {
      const all = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD', 'TRACE', 'PROPFIND'];
      draft.method = draw.oneOf(all.filter((one) => one !== draft.method));
    },
  ],
  [
    'path',
    (draft, draw) => void (draft.path += draw.oneOf(['/', '//', '/x', '/..', '%2f', ';a=b'])),
  ],
];

const placesOnly: readonly Spoiler[] = [
  ...places,
  [
    'body where none is',
    (draft) => {
      draft.headers['Content-Type'] = 'application/json';
      draft.raw = text('{"a":1}');
    },
  ],
];

const spoilers: readonly Spoiler[] = [
  ...places,
  ['wrong type', spoilValue],
  ['wrong type', spoilValue],
  ['wrong type', spoilValue],
  [
    'missing field',
    ({ value }, draw) => {
      const place = aPlace(value, draw);
      if (place !== null) delete place.holder[place.key];
    },
  ],
  ['extra field', ({ value }, draw) => void (value[draw.oneOf(extraNames)] = draw.oneOf(odd))],
  [
    'huge text',
    ({ value }, draw) => {
      const place = aPlace(value, draw);
      const long = draw
        .oneOf(['a', 'é', '\0', '"'])
        .repeat(draw.oneOf([300, 5_000, 5_000, 70_000, 1_100_000]));
      if (place !== null) place.holder[place.key] = long;
    },
  ],
  ['not an object', (draft, draw) => void (draft.value = draw.oneOf([[], 'x', 1, true, [{}]]))],
  ['broken JSON', spoilJson],
  ['broken JSON', spoilJson],
  [
    'invalid UTF-8',
    (draft) => {
      const whole = Buffer.from(JSON.stringify(draft.value));
      draft.raw = Buffer.concat([
        whole.subarray(0, 2),
        Buffer.from([0xff, 0xc0]),
        whole.subarray(2),
      ]);
    },
  ],
  [
    'deep nesting',
    (draft, draw) => {
      const depth = draw.oneOf([40, 1_000, 100_000]);
      draft.raw = text(`{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`);
    },
  ],
  [
    'duplicate key',
    (draft) =>
      void (draft.raw = text(
        `{"name":"a",${JSON.stringify(draft.value).slice(1)}`.replace(/,\}$/, ',"name":"b"}'),
      )),
  ],
  ['__proto__', (draft) => void (draft.raw = text('{"__proto__":{"polluted":true}}'))],
  [
    'many keys',
    (draft) => {
      const keys = Array.from({ length: 70_000 }, (_, at) => `"k${at}":0`);
      draft.raw = text(`{${keys.join()}}`);
    },
  ],
];

const extraNames = [
  'constructor',
  'toString',
  '',
  'a'.repeat(2_000),
  'session_id',
  'role',
  'actor',
];

function spoilPath(draft: Draft, draw: Draw): void {
  const parts = draft.path.split('/');
  const at = 1 + draw.below(parts.length - 1);
  parts[at] = draw.oneOf(oddIds);
  draft.path = parts.join('/');
}

function spoilValue({ value }: Draft, draw: Draw): void {
  const place = aPlace(value, draw);
  if (place !== null) place.holder[place.key] = draw.oneOf(odd);
}

function spoilJson(draft: Draft, draw: Draw): void {
  const whole = JSON.stringify(draft.value);
  draft.raw = text(
    draw.oneOf([
      whole.slice(0, -1),
      `${whole}${whole}`,
      `\ufeff${whole}`,
      whole.replaceAll('"', "'"),
      `/* */${whole}`,
      '{"a":NaN}',
      '{"a":1e999,"b":-0,"c":01}',
      '{"a":"\u0001"}',
      '{"a":"\\ud800"}',
      '',
      ' ',
      '\0',
      '{',
      whole.replace(/\}$/, ',}'),
    ]),
  );
}
