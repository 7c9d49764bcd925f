/** Parses the file of one tool. Pure; the daemon finds the files. */
import { normalNetworkAccess, type NetworkAccess } from '../network-access.ts';
import * as z from 'zod/mini';
import { schemaKeysAt } from '../yaml/schema-problems.ts';
import { FileError, type FileProblem } from '../yaml/file-error.ts';
import { fileProblemsMax, readYamlTree, type YamlTree } from '../yaml/tree.ts';
import { describeSchemaIssue } from '../yaml/schema-problems.ts';
import { findCodeArguments } from './tool-code.ts';
import {
  toolInputSchemaProblems,
  toolInputSchema,
  emptyToolInput,
  type ToolInputSchema,
} from './tool-input.ts';
import { templateInputNames, parseToolTemplate, type ToolCommandWord } from './tool-template.ts';

/** A tool file that cannot be used. */
export class ToolFileError extends FileError {
  constructor(file: string, problems: readonly FileProblem[], options: ErrorOptions = {}) {
    super(file, problems, { ...options, what: 'tool' });
  }
}

/** The description of a tool for agents, and its arguments. */
export interface ToolDescription {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: ToolInputSchema;
}

/** A tool that is a command. */
export interface ToolDefinition extends ToolDescription {
  /** Its first word is the program: a name, or an absolute path. */
  readonly command: readonly ToolCommandWord[];
  /** Template of its standard input; `null`: it has none. */
  readonly stdin: string | null;
  /** Names and patterns of the variables that this tool's process gets, and no other's. */
  readonly injectsEnv: readonly string[];
  readonly network: NetworkAccess;
  /** Grants outside the workspace: absolute paths. */
  readonly files: { readonly read: readonly string[]; readonly write: readonly string[] };
  readonly limits: Readonly<Record<string, number>>;
  readonly timeoutMs: number;
  /** `json`: its standard output is one JSON value, which is the result. */
  readonly output: 'text' | 'json';
}

const toolNameForm = /^[a-z][a-z0-9_]{0,63}$/;

const timeoutDefaultS = 30;
const timeoutMaxS = 3_600;
const wordsMax = 256;
const namesMax = 64;
const textMax = 4_000;

const text = (most = textMax) => z.string().check(z.minLength(1), z.maxLength(most));
const bound = () => z.int().check(z.minimum(1));
const trees = () => z.array(text()).check(z.maxLength(namesMax));
const words = z.union([text(), z.array(text()).check(z.minLength(1), z.maxLength(wordsMax))], {
  error: 'must be a word, or a list of words that stay together',
});

const toolSchema = z.strictObject({
  name: z.string().check(
    z.regex(toolNameForm, {
      error: 'must be lower-case letters, digits and "_", such as "open_ticket"',
    }),
  ),
  title: z.optional(text()),
  description: text(),
  input: z.optional(toolInputSchema),
  command: z
    .array(words, { error: 'must be a list of words: the program, then its arguments' })
    .check(z.minLength(1), z.maxLength(wordsMax)),
  stdin: z.optional(text()),
  injects_env: z.optional(
    z
      .array(
        z.string().check(
          z.regex(/^[A-Za-z_][A-Za-z0-9_]{0,254}\*?$/, {
            error: 'must be the name of a variable; a final "*" matches any suffix',
          }),
        ),
      )
      .check(z.maxLength(namesMax)),
  ),
  network: z.optional(z.enum(['off', 'host', 'on'], { error: 'must be "off" or "host"' })),
  files: z.optional(z.strictObject({ read: z.optional(trees()), write: z.optional(trees()) })),
  limits: z.optional(
    z.strictObject({
      cpu_s: z.optional(bound()),
      processes: z.optional(bound()),
      open_files: z.optional(bound()),
      file_bytes: z.optional(bound()),
      memory_bytes: z.optional(bound()),
    }),
  ),
  timeout: z.optional(
    z
      .number({ error: `must be seconds, from 1 to ${timeoutMaxS}` })
      .check(
        z.minimum(1, { error: `must be seconds, from 1 to ${timeoutMaxS}` }),
        z.maximum(timeoutMaxS, { error: `must be seconds, from 1 to ${timeoutMaxS}` }),
      ),
  ),
  output: z.optional(z.enum(['text', 'json'], { error: 'must be "text" or "json"' })),
});

let jsonSchema: Readonly<Record<string, unknown>> | null = null;

function keysOfTool(path: readonly (string | number)[]): readonly string[] {
  jsonSchema ??= { ...z.toJSONSchema(toolSchema, { io: 'input', target: 'draft-7' }) };
  return schemaKeysAt(jsonSchema, path);
}

/** @throws ToolFileError with all that is wrong, in the order of the file */
export function readToolFile(
  input: string | Uint8Array,
  { file, version }: { readonly file: string; readonly version: string },
): ToolDefinition {
  const tree = readYamlTree(input, { file, Failure: ToolFileError });
  const parsed = toolSchema.safeParse(tree.value);
  if (!parsed.success) {
    const wording = { tree, keysAt: keysOfTool, notEnforced: new Set<string>(), version };
    throw failure(
      file,
      parsed.error.issues
        .slice(0, fileProblemsMax)
        .flatMap((issue) => describeSchemaIssue(issue, wording)),
    );
  }
  const tool = definitionOf(parsed.data);
  const problems = [
    ...badInput(tool, tree),
    ...badWords(tool, tree),
    ...findCodeArguments(tool).map(({ path, message }) => tree.problem(path, message)),
    ...badPaths(tool, tree),
  ];
  if (problems.length > 0) throw failure(file, problems);
  return tool;
}

function definitionOf(text: z.infer<typeof toolSchema>): ToolDefinition {
  const limits = Object.entries(text.limits ?? {}).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  return {
    name: text.name,
    title: text.title ?? text.name,
    description: text.description,
    input: text.input ?? emptyToolInput,
    command: text.command,
    stdin: text.stdin ?? null,
    injectsEnv: text.injects_env ?? [],
    network: normalNetworkAccess(text.network ?? 'off'),
    files: { read: text.files?.read ?? [], write: text.files?.write ?? [] },
    limits: Object.fromEntries(limits),
    timeoutMs: Math.round((text.timeout ?? timeoutDefaultS) * 1_000),
    output: text.output ?? 'text',
  };
}

function badInput({ input }: ToolDefinition, tree: YamlTree): FileProblem[] {
  if (input.type !== 'object') {
    return [tree.problem(['input', 'type'], 'the input of a tool must be of type "object"')];
  }
  return toolInputSchemaProblems(input).map(({ path, message }) =>
    tree.problem(['input', ...path], message),
  );
}

function badWords({ command, stdin, input }: ToolDefinition, tree: YamlTree): FileProblem[] {
  const known = Object.keys(input.properties ?? {});
  const check = (text: string, path: readonly (string | number)[]): FileProblem[] => {
    try {
      const unknown = templateInputNames(parseToolTemplate(text)).find(
        (name) => !known.includes(name),
      );
      if (unknown === undefined) return [];
      return [tree.problem(path, `"${unknown}" is no property of "input"`)];
    } catch (error) {
      return [tree.problem(path, error instanceof Error ? error.message : String(error))];
    }
  };
  const all = command.flatMap((word, at) =>
    typeof word === 'string'
      ? check(word, ['command', at])
      : word.flatMap((one, inner) => check(one, ['command', at, inner])),
  );
  return [...all, ...(stdin === null ? [] : check(stdin, ['stdin']))];
}

function badPaths({ command, files }: ToolDefinition, tree: YamlTree): FileProblem[] {
  const [program = ''] = command;
  const isPlain =
    typeof program === 'string' && !/[{}]/.test(program) && !/^[^/].*\//.test(program);
  const wanted = 'the program must be one word: a name, or an absolute path';
  const relative = (['read', 'write'] as const).flatMap((kind) =>
    files[kind].flatMap((name, at) =>
      name.startsWith('/')
        ? []
        : [tree.problem(['files', kind, at], `"${name}" must be an absolute path`)],
    ),
  );
  return [...(isPlain ? [] : [tree.problem(['command', 0], wanted)]), ...relative];
}

function failure(file: string, problems: readonly FileProblem[]): ToolFileError {
  const ordered = problems.toSorted((a, b) => a.line - b.line || a.column - b.column);
  return new ToolFileError(file, ordered.slice(0, fileProblemsMax));
}
