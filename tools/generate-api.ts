/**
 * What is written of the API outside of its definitions, between markers: the tables of methods in
 * docs/protocol.md, that of tools in docs/mcp.md, and the shapes in the Python client.
 *
 *     tools/node tools/generate-api.ts            names the files that are stale; exits with 1 then
 *     tools/node tools/generate-api.ts --write    writes them
 *
 * The last column of a table is not generated: a row keeps the note that it has.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { methodNames, type MethodName } from '../src/api/methods.ts';
import { wireSchemas } from '../src/daemon/http/openapi-schemas.ts';
import { isJsonObject, type JsonObject } from '../src/protocol/json.ts';
import { builtinTools } from '../src/tools/index.ts';

const root = path.dirname(import.meta.dirname);
const wire = wireSchemas();

/** Schemas that docs/protocol.md describes in words; all others are written out. */
const described: ReadonlyMap<string, string> = new Map([
  ['Session', 'a session'],
  ['Receipt', 'a receipt'],
  ['Exec', 'an execution'],
  ['Approval', 'an approval'],
  ['Verdict', 'a verdict'],
  ['Change', 'a change'],
  ['AuditEvent', 'an event'],
]);

/** Options that the Python client takes by name: those of a method without the left-out ones. */
const pythonOptions = [
  {
    name: 'ExecOptions',
    about: "What ``run``, ``stream`` and ``start`` take besides the command: the wire's own names.",
    method: 'exec.run',
    // `run` and `collect` take the bound of the output themselves.
    leftOut: ['session_id', 'command', 'cwd_within', 'output_bytes'],
    types: { stdin: 'Union[str, bytes]' },
  },
  {
    name: 'SessionOptions',
    about: "What ``create_session`` takes: the wire's own names.",
    method: 'session.create',
    leftOut: ['lifetime'],
    types: {},
  },
  {
    name: 'SessionChanges',
    about: "What ``update`` takes: the wire's own names.",
    method: 'session.update',
    leftOut: ['session_id'],
    types: {},
  },
  {
    name: 'DiffOptions',
    about: "What ``diff`` takes: the wire's own names.",
    method: 'workspace.diff',
    leftOut: ['session_id', 'exec_id'],
    types: {},
  },
  {
    name: 'ReadOptions',
    about: "What ``read`` takes besides the execution: the wire's own names but ``from``.",
    method: 'exec.read',
    leftOut: ['exec_id', 'from'],
    types: { start: 'int' },
  },
  {
    name: 'DecisionOptions',
    about: "What ``decide`` takes besides what it names: the wire's own names.",
    method: 'approval.decide',
    leftOut: ['approval_id', 'decision', 'digest'],
    types: {},
  },
] as const satisfies readonly {
  readonly name: string;
  readonly about: string;
  readonly method: MethodName;
  readonly leftOut: readonly string[];
  readonly types: Readonly<Record<string, string>>;
}[];

/** Each file that contains generated parts: as it is, and as it should be. */
export function generatedFiles(): readonly {
  readonly file: string;
  readonly is: string;
  readonly should: string;
}[] {
  return [
    ['docs/protocol.md', withMethodTables] as const,
    ['docs/mcp.md', withToolTable] as const,
    ['clients/python/trl.py', withPythonShapes] as const,
  ].map(([file, generate]) => {
    const is = readFileSync(path.join(root, file), 'utf8');
    return { file, is, should: generate(is) };
  });
}

/** @throws Error for a method that is in no table */
function withMethodTables(document: string): string {
  const missing = new Set<string>(methodNames);
  // A method that a table names by itself is in no table of its group.
  const single = [...document.matchAll(/<!-- methods: (.+) -->/g)].flatMap(([, all = '']) =>
    all.split(' ').filter((pattern) => !pattern.endsWith('.*')),
  );
  const text = document.replaceAll(
    /(<!-- methods: (.+) -->\n)([^]*?)(?=<!-- end -->)/g,
    (_, start: string, patterns: string, table: string) => {
      const names = patterns
        .split(' ')
        .flatMap((pattern) =>
          methodNames.filter((name) =>
            pattern.endsWith('.*')
              ? name.startsWith(pattern.slice(0, -1)) && !single.includes(name)
              : name === pattern,
          ),
        );
      for (const name of names) missing.delete(name);
      const rows = names.map((name) => [`\`${name}\``, paramsOf(name), answerOf(name)]);
      return `${start}\n${tableOf(['method', 'params', '`data`', 'notes'], rows, table)}\n`;
    },
  );
  if (missing.size === 0) return text;
  throw new Error(`docs/protocol.md has no table for ${[...missing].join(', ')}`);
}

function withToolTable(document: string): string {
  const rows = builtinTools.map(({ name, input }) => [`\`${name}\``, fieldsOf(input)]);
  return document.replace(
    /(<!-- tools -->\n)([^]*?)(<!-- end -->)/,
    (_, start: string, table: string, end: string) =>
      `${start}\n${tableOf(['tool', 'parameters', 'what it does'], rows, table)}\n${end}`,
  );
}

/** Rows with the notes that the rows of the same name have in `old`. */
function tableOf(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  old: string,
): string {
  const notes = new Map(
    [...old.matchAll(/^\| (`[\w.]+`) \|.*?\| ?([^|]*?) ?\|$/gm)].map(([, name, note = '']) => [
      name,
      note,
    ]),
  );
  const all = [
    head,
    head.map(() => '---'),
    ...rows.map((row) => [...row, notes.get(row[0]) ?? '']),
  ];
  return `${all.map((row) => `| ${row.join(' | ')} |`.replaceAll('|  |', '| |')).join('\n')}\n`;
}

function paramsOf(name: MethodName): string {
  const own = shapeOf(wire.params(name));
  // Streams and detached commands take what a command takes.
  const base = Object.keys(propertiesOf(shapeOf(wire.params('exec.run'))));
  const added = Object.entries(propertiesOf(own)).filter(([field]) => !base.includes(field));
  const isLikeRun = base.every((field) => Object.hasOwn(propertiesOf(own), field));
  if (name === 'exec.run' || !isLikeRun) return fieldsOf(own);
  const extra = added.map(([field, schema]) => fieldOf(field, schema, false)).join(' ');
  return `as \`exec.run\`${extra === '' ? '' : `, ${extra}`}`;
}

function answerOf(name: MethodName): string {
  const answer = wire.answer(name);
  return described.get(answer) ?? fieldsOf(shapeOf(answer));
}

function fieldsOf(schema: unknown): string {
  const { required } = isJsonObject(schema) ? schema : {};
  const needed: readonly unknown[] = Array.isArray(required) ? required : [];
  return Object.entries(propertiesOf(schema))
    .map(([name, field]) => fieldOf(name, field, needed.includes(name)))
    .join(' ');
}

/** `` `name?` ``, with what a list or an object holds, or the values that it may have. */
function fieldOf(name: string, field: unknown, isNeeded: boolean): string {
  const mark = isNeeded ? '' : '?';
  const { enum: values, type, items, const: value } = isJsonObject(field) ? field : {};
  if (value !== undefined) return `\`${name}${mark}:${JSON.stringify(value)}\``;
  if (Array.isArray(values) && values.length <= 8) {
    return `\`${name}${mark}\` (${values.map((one) => `\`${String(one)}\``).join(', ')})`;
  }
  if (type === 'array') return `\`${name}${mark}${braced(items, (inner) => `[${inner}]`)}\``;
  return `\`${name}${mark}${braced(field, (inner) => inner)}\``;
}

function braced(schema: unknown, around: (inner: string) => string): string {
  const { $ref: reference } = isJsonObject(schema) ? schema : {};
  const name = typeof reference === 'string' ? reference.replace(/.*\//, '') : '';
  if (described.has(name)) return '';
  const shape = name === '' ? schema : shapeOf(name);
  const fields = Object.keys(propertiesOf(shape));
  const { required } = isJsonObject(shape) ? shape : {};
  const needed: readonly unknown[] = Array.isArray(required) ? required : [];
  const named = fields.map((field) => `${field}${needed.includes(field) ? '' : '?'}`);
  return named.length === 0 ? '' : around(`{${named.join(',')}}`);
}

function shapeOf(name: string): JsonObject {
  const schema = wire.schemas[name];
  if (schema === undefined) throw new Error(`there is no schema ${name}`);
  return schema;
}

function propertiesOf(schema: unknown): JsonObject {
  const properties = isJsonObject(schema) ? schema['properties'] : undefined;
  return isJsonObject(properties) ? properties : {};
}

function withPythonShapes(program: string): string {
  const lines = methodNames.map((name) => `    "${name}",`);
  const classes = pythonOptions.map(({ name, about, method, leftOut, types }) => {
    const skipped: readonly string[] = leftOut;
    const own: Readonly<Record<string, string>> = types;
    const fields = Object.entries(propertiesOf(shapeOf(wire.params(method))))
      .filter(([field]) => !skipped.includes(field) && !Object.hasOwn(own, field))
      .map(([field, schema]) => [field, pythonType(schema)] as const);
    const all = [...fields, ...Object.entries(own)].map(([field, type]) => `    ${field}: ${type}`);
    return `class ${name}(TypedDict, total=False):\n    """${about}"""\n\n${all.join('\n')}`;
  });
  const shapes = [`Method = Literal[\n${lines.join('\n')}\n]`, ...classes].join('\n\n\n');
  return program.replace(
    /(# --- generated by tools\/generate-api\.ts -+\n)[^]*?(\n# --- end of what is generated -+\n)/,
    (_, start: string, end: string) => `${start}\n${shapes}\n\n${end}`,
  );
}

function pythonType(schema: unknown): string {
  if (!isJsonObject(schema)) return 'Any';
  const { type, items, additionalProperties } = schema;
  if (type === 'array') return `Sequence[${pythonType(items)}]`;
  if (type === 'object') {
    const inner = [...Object.values(propertiesOf(schema)), additionalProperties].filter(
      isJsonObject,
    );
    const types = [...new Set(inner.map(pythonType))];
    const value = types.length === 1 ? (types[0] ?? 'Any') : `Union[${types.join(', ')}]`;
    return `Mapping[str, ${types.length === 0 ? 'Any' : value}]`;
  }
  const plain = { string: 'str', integer: 'int', number: 'float', boolean: 'bool' };
  return Object.entries(plain).find(([name]) => name === type)?.[1] ?? 'Any';
}

if (import.meta.main) {
  const stale = generatedFiles().filter(({ is, should }) => is !== should);
  const writes = process.argv.includes('--write');
  for (const { file, should } of stale) {
    if (writes) writeFileSync(path.join(root, file), should);
    console.log(`${file} ${writes ? 'is written' : 'is stale'}`);
  }
  if (!writes && stale.length > 0) process.exitCode = 1;
}
