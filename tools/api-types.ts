/**
 * The types of the API as text without zod, for users of the package, who lack it. In the sources
 * they are derived from the schemas; here the schemas are printed, with the comments of their
 * fields.
 */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import * as z from 'zod/mini';
import { definitionOf, methodNames } from '../src/api/methods.ts';
import { isJsonObject, type JsonObject } from '../src/protocol/json.ts';

const directory = path.join(path.dirname(import.meta.dirname), 'src/api');

/** One exported type of one module: as it is written, and the schemas that it is derived from. */
interface ExportedType {
  readonly name: string;
  readonly comment: string;
  readonly written: string;
  readonly isInterface: boolean;
}

interface ApiModule {
  readonly file: string;
  readonly types: readonly ExportedType[];
  readonly values: JsonObject;
  readonly comments: ReadonlyMap<string, string | null>;
}

/** By module (`session.ts`): the names of the types that it exports. */
export type TypeNames = ReadonlyMap<string, readonly string[]>;

/** The declarations of all exported types in one text, and which module exports which. */
export async function printApiTypes(): Promise<{
  readonly text: string;
  readonly names: TypeNames;
}> {
  const modules = await Promise.all(
    globSync('*.ts', { cwd: directory })
      .filter((file) => !['define-method.ts', 'document-schemas.ts', 'methods.ts'].includes(file))
      .toSorted()
      .map(readModule),
  );
  const printer = new TypePrinter(modules);
  const declared = modules.flatMap((module) => module.types.map((type) => printer.declare(type)));
  const table = (of: 'params' | 'answer') =>
    methodNames.map(
      (name) => `  readonly '${name}': ${printer.reference(definitionOf(name)[of])};`,
    );
  const text = [
    `import type { ExecId, SessionId } from '../command.ts';`,
    ...declared,
    `export interface MethodParams {\n${table('params').join('\n')}\n}`,
    `/** What each method answers in \`data\`. */`,
    `export interface MethodAnswers {\n${table('answer').join('\n')}\n}`,
    'export type MethodName = keyof MethodAnswers;',
    'export type Params<M extends MethodName> = MethodParams[M];',
    'export type Data<M extends MethodName> = MethodAnswers[M];',
  ].join('\n');
  const ofMethods = ['Data', 'MethodAnswers', 'MethodName', 'MethodParams', 'Params'];
  const named = modules.map(({ file, types }) => [file, types.map(({ name }) => name)] as const);
  return { text: `${text}\n`, names: new Map([...named, ['methods.ts', ofMethods]]) };
}

async function readModule(file: string): Promise<ApiModule> {
  const source = readFileSync(path.join(directory, file), 'utf8');
  const values: JsonObject = await import(path.join(directory, file));
  const comment = /((?:^\/\*\*(?:(?!\*\/)[^])*\*\/\n)?)/.source;
  const declaration = /^export (?:type (\w+) =([^]*?);|interface (\w+) (\{[^]*?^\}))$/.source;
  const aliases = new RegExp(comment + declaration, 'gm');
  const types = [...source.matchAll(aliases)].map(([, about = '', alias, text, name, body]) => ({
    name: alias ?? name ?? '',
    comment: about,
    written: (text ?? body ?? '').trim(),
    isInterface: name !== undefined,
  }));
  return { file, types, values, comments: fieldComments(source) };
}

/** By path (`execSchema.state`, `execMethods.exec.run.params.cwd`): the comment of that field. */
function fieldComments(source: string): ReadonlyMap<string, string | null> {
  const found = new Map<string, string | null>();
  const open: { readonly indent: number; readonly key: string }[] = [];
  let comment: string[] = [];
  let isOpen = false;
  for (const line of source.split('\n')) {
    if (isOpen || /^\s*\/\*\*/.test(line)) {
      comment = isOpen ? [...comment, line.trim()] : [line.trim()];
      isOpen = !line.endsWith('*/');
      continue;
    }
    const [, space = '', key] =
      /^(\s*)(?:(?:export )?const )?'?([\w.]+)'?(?::(?!:)| = |,$)/.exec(line) ?? [];
    if (key === undefined) continue;
    while ((open.at(-1)?.indent ?? -1) >= space.length) open.pop();
    open.push({ indent: space.length, key });
    const at = open.map((one) => one.key).join('.');
    found.set(at, comment.length === 0 ? null : comment.join('\n'));
    comment = [];
  }
  return found;
}

const derived = /\b(TypeOf|ParamsOf|AnswerOf)<\s*typeof (\w+)(?:,\s*'([\w.]+)',?)?\s*>/g;

class TypePrinter {
  readonly #modules: readonly ApiModule[];
  readonly #registry = z.registry<{ id: string }>();
  readonly #sources = new Map<string, { readonly module: ApiModule; readonly at: string }>();
  readonly #json: JsonObject;

  constructor(modules: readonly ApiModule[]) {
    this.#modules = modules;
    // Types that are one schema give it their name, wherever it is used.
    const roots = modules.flatMap((module) =>
      module.types.flatMap(({ name, written }) =>
        [...written.matchAll(derived)].map((found) => ({ module, name, written, found })),
      ),
    );
    const isWhole = ({ written, found }: (typeof roots)[number]): boolean => found[0] === written;
    for (const root of [...roots.filter(isWhole), ...roots.filter((one) => !isWhole(one))]) {
      const [, kind = '', value = '', method = ''] = root.found;
      const schema = schemaOf(root.module, { kind, value, method });
      const part = kind === 'ParamsOf' ? 'params' : 'answer';
      const at = kind === 'TypeOf' ? value : `${value}.${method}.${part}`;
      this.#add(schema, isWhole(root) ? root.name : `in ${root.name}`, { module: root.module, at });
    }
    for (const name of methodNames) {
      const module = modules.find(({ values }) =>
        Object.values(values).some((group) => isJsonObject(group) && Object.hasOwn(group, name)),
      );
      if (module === undefined) throw new Error(`no module of the API defines ${name}`);
      const [group = ''] =
        Object.entries(module.values).find(
          ([, one]) => isJsonObject(one) && Object.hasOwn(one, name),
        ) ?? [];
      for (const part of ['params', 'answer'] as const) {
        const at = `${group}.${name}.${part}`;
        this.#add(definitionOf(name)[part], `in ${at}`, { module, at });
      }
    }
    const made = z.toJSONSchema(this.#registry, { io: 'input', uri: (id) => id });
    this.#json = JSON.parse(JSON.stringify(made.schemas));
  }

  #add(
    schema: z.core.$ZodType,
    id: string,
    source: { readonly module: ApiModule; readonly at: string },
  ): void {
    if (this.#registry.has(schema)) return;
    this.#registry.add(schema, { id });
    this.#sources.set(id, source);
  }

  /** A type as it is exported, with what its schemas describe in their place. */
  declare({ name, comment, written, isInterface }: ExportedType): string {
    if (isInterface) return `${comment}export interface ${name} ${written}`;
    const module = this.#modules.find(({ types }) => types.some((one) => one.name === name));
    const text = written.replaceAll(derived, (all, kind = '', value = '', method = '') => {
      if (module === undefined) return all;
      const id = this.#idOf(schemaOf(module, { kind, value, method }));
      return id === name || id.startsWith('in ') ? this.#body(id) : id;
    });
    return `${comment}export type ${name} = ${text};`;
  }

  /** A schema by its name, or in full. */
  reference(schema: z.core.$ZodType): string {
    const id = this.#idOf(schema);
    return id.startsWith('in ') ? this.#body(id) : id;
  }

  #idOf(schema: z.core.$ZodType): string {
    const id = this.#registry.get(schema)?.id;
    if (id === undefined) throw new Error('a schema has no name');
    return id;
  }

  #body(id: string): string {
    const at = this.#sources.get(id);
    if (at === undefined) throw new Error(`there is no schema ${id}`);
    return this.#print(this.#json[id], at.module, at.at);
  }

  #print(schema: unknown, module: ApiModule, at: string): string {
    if (!isJsonObject(schema)) return 'unknown';
    const { $ref: name, enum: values, const: value, type, prefixItems, items } = schema;
    const options = schema['anyOf'] ?? schema['oneOf'];
    const inner = (one: unknown): string => this.#print(one, module, at);
    if (typeof name === 'string') return name.startsWith('in ') ? this.#body(name) : name;
    if (Array.isArray(options)) return `(${options.map(inner).join(' | ')})`;
    if (Array.isArray(values)) return `(${values.map((one) => JSON.stringify(one)).join(' | ')})`;
    if (value !== undefined) return JSON.stringify(value);
    if (Array.isArray(type)) return `(${type.map((one) => inner({ type: one })).join(' | ')})`;
    if (Array.isArray(prefixItems)) return `readonly [${prefixItems.map(inner).join(', ')}]`;
    if (type === 'array') return `readonly ${inner(items)}[]`;
    if (type === 'object') return this.#object(schema, module, at);
    if (type === 'string') return printText(schema['pattern']);
    return type === 'integer' ? 'number' : typeof type === 'string' ? type : 'unknown';
  }

  #object(schema: JsonObject, module: ApiModule, at: string): string {
    const { properties, required, additionalProperties, propertyNames } = schema;
    if (!isJsonObject(properties)) {
      const keys = this.#print(propertyNames ?? { type: 'string' }, module, at);
      return `Readonly<Record<${keys}, ${this.#print(additionalProperties, module, at)}>>`;
    }
    const needed: readonly unknown[] = Array.isArray(required) ? required : [];
    const fields = Object.entries(properties).map(([key, value]) => {
      const comment = commentOf(module, `${at}.${key}`);
      const mark = needed.includes(key) ? '' : '?';
      const type = this.#print(value, module, `${at}.${key}`);
      return `${comment === null ? '' : `\n${comment}\n`}readonly ${key}${mark}: ${type};`;
    });
    return `{\n${fields.join('\n')}\n}`;
  }
}

/** Of a field that its schema has from another constant: the comment that it has there. */
function commentOf({ comments }: ApiModule, at: string): string | null {
  const own = comments.get(at);
  if (own !== undefined) return own;
  const parts = at.split('.');
  for (let from = 1; from < parts.length; from += 1) {
    const end = `.${parts.slice(from).join('.')}`;
    const same = [...comments.keys()].filter((one) => one.endsWith(end));
    const [only] = same;
    if (same.length === 1 && only !== undefined) return comments.get(only) ?? null;
    if (same.length > 1) return null;
  }
  return null;
}

function schemaOf(
  { file, values }: ApiModule,
  {
    kind,
    value,
    method,
  }: { readonly kind: string; readonly value: string; readonly method: string },
): z.core.$ZodType {
  const found = values[value];
  const definition = isJsonObject(found) ? found[method] : undefined;
  const part = kind === 'ParamsOf' ? 'params' : 'answer';
  const schema =
    kind === 'TypeOf' ? found : isJsonObject(definition) ? definition[part] : undefined;
  if (schema instanceof z.core.$ZodType) return schema;
  throw new Error(`src/api/${file} exports no schema ${value} ${method}`);
}

/** An id by how it begins; any other text is a string. */
function printText(pattern: unknown): string {
  const [, start] = /^\^([a-z0-9:]+[-:])(?=\[)/.exec(String(pattern)) ?? [];
  return start === undefined ? 'string' : `\`${start}\${string}\``;
}
