/**
 * Reads a shell script (bash, POSIX sh; zsh where its grammar agrees) for the policy. The
 * parser is unbash, and nothing outside this directory knows it. Nothing is ever executed.
 */
import { parse, type ParsedScript } from 'unbash';
import { invisibleProblems } from './characters.ts';
import {
  enterNesting,
  reportSyntaxProblem,
  type SyntaxPosition,
  type ScriptReadingState,
} from './reading-state.ts';
import { assignVariable, createVariableScope } from './scope.ts';
import type { AnalysisBudget, ShellCommand, ShellScript } from './script.ts';
import { assignPositionalParameters } from './simple-command.ts';
import { walkScript, type FunctionCallState } from './walk-script.ts';

const hereDocumentsMax = 256;
const openMax = 128;
const separatorsMax = 8_000;
const prefixes = [4_096, 512, 64];

/**
 * Every command of `text` at any depth, its words decoded, and what keeps it from being plain.
 * Never throws: what cannot be read becomes a problem, and what was read before it stays.
 * `positional` are the arguments the script is started with: `sh -c TEXT name ARGUMENTS`.
 * `variables` are what it is started with by name, where that is known: `x=rm sh -c TEXT`.
 */
export function readShellScript(
  text: string,
  budget: AnalysisBudget,
  positional: readonly string[] = [],
  variables: ReadonlyMap<string, string> = new Map(),
): ShellScript {
  const reading = open(text, budget);
  const source = bounded(reading, text);
  reading.problems.push(...invisibleProblems(source));
  assignPositionalParameters(reading, positional, true);
  for (const [name, value] of variables) assignVariable(reading.scope, name, [value], true);
  const place: SyntaxPosition = {
    depth: 0,
    stdin: { kind: 'inherited' },
    certain: true,
    within: null,
  };
  const script = parseWhatCan(reading, source);
  const inside = enterNesting(reading, place, [0, source.length]);
  if (script !== null && inside !== null) reading.walk(inside, script);
  const commands = reading.commands.toSorted(bySource);
  if (commands.length === 0 && reading.problems.length === 0) {
    reportSyntaxProblem(reading, 'empty', [0, 0]);
  }
  const { problems } = reading;
  return { commands, plain: plainOf(reading), problems, defined: [...reading.defined] };
}

interface OpenScript extends ScriptReadingState {
  readonly walk: (place: SyntaxPosition, script: ParsedScript) => readonly ShellCommand[];
}

function open(text: string, budget: AnalysisBudget): OpenScript {
  const calls: FunctionCallState = { bodies: new Map(), depth: 0 };
  const parsed = new Map<string, ParsedScript | null>();
  let read = new Map<ParsedScript, readonly ShellCommand[]>();
  const reading: OpenScript = {
    text,
    budget,
    commands: [],
    problems: [],
    defined: new Set(),
    scope: createVariableScope(),
    walk: (place, script) => walkScript({ reading, calls }, place, script),
    parse: (again) => {
      const known = parsed.get(again);
      if (known !== undefined) return known;
      const script = tryParse(again);
      parsed.set(again, script);
      return script;
    },
    nested: (script, place, span) => {
      const known = read.get(script);
      if (known !== undefined) return known;
      const inside = enterNesting(reading, place, span);
      if (inside === null) return [];
      // Set before it is read: what contains itself by expansion ends here.
      read.set(script, []);
      const found = reading.walk({ ...inside, certain: false }, script);
      read.set(script, found);
      return found;
    },
    afresh: (run) => {
      const before = read;
      read = new Map();
      try {
        return run();
      } finally {
        read = before;
      }
    },
  };
  return reading;
}

/** The part of the text that is looked at: within the bound, cut at the end of a line. */
function bounded(reading: ScriptReadingState, text: string): string {
  const { bytesMax } = reading.budget;
  let source = text;
  if (Buffer.byteLength(text) > bytesMax) {
    const head = Buffer.from(text)
      .subarray(0, bytesMax)
      .toString()
      .replace(/\uFFFD$/, '');
    const line = head.lastIndexOf('\n');
    source = line > 0 ? head.slice(0, line) : head;
    reportSyntaxProblem(reading, 'limit.bytes', [source.length, text.length]);
  }
  return withoutDepths(reading, source);
}

/**
 * The text up to where it would cost the parser too much: it looks for the end of every
 * here-document, and of every open expansion, on its own, and builds every statement although
 * only the first 2,000 commands count. Quotes are not looked at: what is in them counts as well.
 */
function withoutDepths(reading: ScriptReadingState, source: string): string {
  let [documents, open, separators] = [0, 0, 0];
  for (const { 0: sign, index } of source.matchAll(/<<|[$<>][({]|[)};&|\n]/g)) {
    if (/[;&|\n]/.test(sign)) separators += 1;
    else if (sign === '<<') documents += 1;
    else open = sign.length === 2 ? open + 1 : Math.max(0, open - 1);
    const few = documents <= hereDocumentsMax && separators <= separatorsMax;
    if (few && open <= openMax) continue;
    const code = open > openMax ? 'limit.nesting' : 'limit.commands';
    reportSyntaxProblem(reading, code, [index, source.length]);
    return source.slice(0, index);
  }
  return source;
}

/** Parses the text, or the longest part from its start that the parser does not give up on. */
function parseWhatCan(reading: ScriptReadingState, source: string): ParsedScript | null {
  const whole = tryParse(source);
  if (whole !== null) return whole;
  reportSyntaxProblem(reading, 'unparseable', [0, source.length]);
  for (const length of prefixes) {
    const part = tryParse(source.slice(0, length));
    if (part !== null) return part;
  }
  return null;
}

function tryParse(source: string): ParsedScript | null {
  try {
    return parse(source);
  } catch {
    return null;
  }
}

function bySource(left: ShellCommand, right: ShellCommand): number {
  return left.span[0] - right.span[0] || right.span[1] - left.span[1];
}

/** The one command, where nothing but static words was found. */
function plainOf({ commands, problems }: ScriptReadingState): ShellCommand | null {
  const [only] = commands;
  if (only === undefined || commands.length !== 1 || problems.length > 0) return null;
  const isStatic = only.words.every(({ value, derived }) => value !== null && !derived);
  return isStatic && only.words.length > 0 ? only : null;
}
