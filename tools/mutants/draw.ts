/**
 * Mutants: small changes of the code, each of which a test should notice. StrykerJS makes them;
 * here are the folders they are drawn from, what is left out, and the draw.
 */
import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

/** The groups that the score is reported by. Each has an equal share of a draw. */
const groups = {
  policy: ['src/policy/**/*.ts'],
  approval: ['src/approval/**/*.ts'],
  redaction: ['src/redaction/**/*.ts'],
  audit: ['src/audit/**/*.ts'],
  sandbox: ['src/sandbox/**/*.ts'],
  link: ['src/process/runner-link.ts', 'src/runner/daemon-connection.ts', 'src/runner/wire.ts'],
} as const satisfies Record<string, readonly string[]>;
export type Group = keyof typeof groups;
export const groupNames = ['policy', 'approval', 'redaction', 'audit', 'sandbox', 'link'] as const;

/** Numbers that a program trained. */
const generated = /(?:bigram|score)-weights\.ts$/;

export interface Mutant {
  /** Stays the same while the file does. */
  readonly key: string;
  readonly group: Group;
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** Offsets `[from, to)` in the file's text. */
  readonly from: number;
  readonly to: number;
  readonly mutator: string;
  readonly original: string;
  readonly replacement: string;
}

interface Position {
  /** Both from 0. */
  readonly line: number;
  readonly column: number;
}

/** What StrykerJS's instrumenter answers, as far as it is used. */
interface StrykerMutant {
  readonly location: { readonly start: Position; readonly end: Position };
  readonly mutatorName: string;
  readonly replacement: string;
  /** Set for what an ignorer left out. */
  readonly status?: string;
}

/** A node of the parsed file, by Babel: what the ignorer below looks at. */
interface SyntaxNode {
  readonly type: string;
  readonly value?: unknown;
  readonly quasis?: readonly { readonly value: { readonly raw: string } }[];
  readonly key?: { readonly name?: string };
  readonly callee?: { readonly name?: string; readonly object?: { readonly name?: string } };
}

interface NodePath {
  readonly node: SyntaxNode;
  readonly parentPath: NodePath | null;
}

interface Instrumenter {
  instrument(
    files: readonly { readonly name: string; readonly mutate: true; readonly content: string }[],
    options: object,
  ): Promise<{ readonly mutants: readonly StrykerMutant[] }>;
}

/** @throws Error when StrykerJS's instrumenter is not installed */
async function instrumenter(): Promise<Instrumenter> {
  const inside = 'node_modules/@stryker-mutator/instrumenter/dist/src/index.js';
  const { createInstrumenter }: { createInstrumenter: (injector: object) => Instrumenter } =
    await import(pathToFileURL(path.join(import.meta.dirname, inside)).href);
  const logger = new Proxy({}, { get: () => () => false });
  // What the function asks its injector for: the class with its parts.
  return createInstrumenter({
    provideValue() {
      return this;
    },
    injectClass: (made: new (logger: object) => Instrumenter) => new made(logger),
  });
}

/** Every mutant of the groups in the tree at `root`, in the order of groups, files and places. */
export async function allMutants(root: string): Promise<Mutant[]> {
  const stryker = await instrumenter();
  const all: Mutant[] = [];
  for (const group of groupNames) {
    const patterns: readonly string[] = groups[group];
    const files = patterns.flatMap((pattern) => globSync(pattern, { cwd: root }).toSorted());
    for (const file of files) {
      if (generated.test(file)) continue;
      all.push(...(await mutantsOf(stryker, group, file, root)));
    }
  }
  return all;
}

async function mutantsOf(
  stryker: Instrumenter,
  group: Group,
  file: string,
  root: string,
): Promise<Mutant[]> {
  const text = readFileSync(path.join(root, file), 'utf8');
  const ignorers = [{ shouldIgnore: whyIgnored }];
  const { mutants } = await stryker.instrument([{ name: file, mutate: true, content: text }], {
    ignorers,
    excludedMutations: [],
    plugins: null,
  });
  const lines = lineStarts(text);
  const offset = ({ line, column }: Position): number => (lines[line] ?? text.length) + column;
  return mutants.flatMap((mutant) => {
    const { location, mutatorName: mutator, status } = mutant;
    const from = offset(location.start);
    const to = offset(location.end);
    const original = text.slice(from, to);
    if (status === 'Ignored' || isNoise(mutator, original, mutant.replacement)) return [];
    // What takes the place of an operator's two sides keeps together.
    const isLoose = /^(?:Logical|Equality|Arithmetic)Operator$/.test(mutator);
    const replacement = isLoose ? `(${mutant.replacement})` : mutant.replacement;
    const line = location.start.line + 1;
    const key = digest(`${file}\0${from}\0${to}\0${replacement}\0${text}`);
    return [{ key, group, file, line, from, to, mutator, original, replacement }];
  });
}

function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return starts;
}

export const digest = (text: string): string =>
  createHash('sha256').update(text).digest('hex').slice(0, 16);

/** Mutants that are no change, or that the compiler refuses nearly always. */
function isNoise(mutator: string, original: string, replacement: string): boolean {
  const bare = (code: string): string => code.replaceAll(/[\s;(),]/g, '').replaceAll('"', "'");
  if (bare(original) === bare(replacement)) return true;
  return (
    replacement.includes('Stryker was here') ||
    (mutator === 'BlockStatement' && /^\{\s*\}$/.test(original))
  );
}

/** Names of properties that hold a text for people. */
const textNames = /^(?:reason|reasons|message|instead|text|title|description|help|why|label|hint)$/;
/** Three words in a row: a sentence, or a part of one. */
const prose = /[A-Za-z’']+[,:;]? [A-Za-z’']+[,:;]? [A-Za-z’']+/;

/** StrykerJS's hook: a reason to leave out everything in this node. Texts for people are. */
function whyIgnored(at: NodePath): string | undefined {
  const { type, callee } = at.node;
  if (type === 'StringLiteral' || type === 'TemplateLiteral') {
    return isText(at) ? 'a text for people' : undefined;
  }
  const isPrinted = type === 'CallExpression' && callee?.object?.name === 'console';
  return isPrinted ? 'what is printed' : undefined;
}

function isText({ node, parentPath }: NodePath): boolean {
  const { value, quasis = [] } = node;
  const text = typeof value === 'string' ? value : quasis.map((one) => one.value.raw).join(' w ');
  if (prose.test(text)) return true;
  // Codes of errors are upper case; what else stands in the making of an error is its message.
  for (let above = parentPath; above !== null; above = above.parentPath) {
    const { type, key, callee } = above.node;
    if (type === 'ObjectProperty' && textNames.test(key?.name ?? '')) return true;
    if (type === 'NewExpression' && (callee?.name ?? '').endsWith('Error')) {
      return !/^[A-Z_]+$/.test(text);
    }
    if (/Statement$|Declaration$|Function/.test(type)) return false;
  }
  return false;
}

/** All `mutants` in an order by the seed alone: one of each group in turn, as long as there are. */
export function shuffled(mutants: readonly Mutant[], seed: number): Mutant[] {
  const random = randomOf(seed);
  const shares = groupNames.map((name) => {
    const pool = mutants.filter(({ group }) => group === name);
    for (let at = pool.length - 1; at > 0; at -= 1) {
      const other = Math.floor(random() * (at + 1));
      const [one, two] = [pool[at], pool[other]];
      if (one !== undefined && two !== undefined) [pool[at], pool[other]] = [two, one];
    }
    return pool;
  });
  const turns = Math.max(...shares.map(({ length }) => length));
  return Array.from({ length: turns }, (_, turn) =>
    shares.flatMap((pool) => pool.slice(turn, turn + 1)),
  ).flat();
}

/** Numbers in [0, 1) by the seed alone (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The file's text with the mutant in it. */
export function mutated(text: string, { from, to, replacement }: Mutant): string {
  return text.slice(0, from) + replacement + text.slice(to);
}
