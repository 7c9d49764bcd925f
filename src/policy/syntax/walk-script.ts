/** From the parser's tree to commands: every list, group, loop, function and test is entered. */
import {
  type CommandNode,
  type CompoundList,
  type Function as FunctionNode,
  type ParsedScript,
  type PipelineNode,
  type Statement,
  type TestExpression,
  type Word as WordNode,
} from 'unbash';
import { flattenWord, substitutionCommands } from './flatten.ts';
import {
  enterNesting,
  reportSyntaxProblem,
  nodeSpan,
  type SyntaxPosition,
  type ScriptReadingState,
} from './reading-state.ts';
import { assignVariable } from './scope.ts';
import type { ShellCommand, ShellWord } from './script.ts';
import {
  assignPositionalParameters,
  readRedirectCommand,
  readSimpleCommand,
  spendCommand,
} from './simple-command.ts';
import { readSingleWord, readWord } from './word.ts';

/** Functions of the script by name, and how many calls the reading is inside of. */
export interface FunctionCallState {
  readonly bodies: Map<string, FunctionNode['body']>;
  depth: number;
}

interface WalkContext {
  readonly reading: ScriptReadingState;
  readonly calls: FunctionCallState;
}

const callDepthMax = 3;

/** Every command of a parsed script, in order; those of its substitutions go to the reading. */
export function walkScript(
  walk: WalkContext,
  place: SyntaxPosition,
  script: ParsedScript,
): readonly ShellCommand[] {
  for (const error of script.errors ?? []) {
    reportSyntaxProblem(walk.reading, 'unparseable', place.within ?? [error.pos, script.end]);
  }
  return statements(walk, place, script.commands);
}

function statements(
  walk: WalkContext,
  place: SyntaxPosition,
  list: readonly Statement[],
): readonly ShellCommand[] {
  const found: ShellCommand[] = [];
  const second = list[1];
  if (second !== undefined) reportSyntaxProblem(walk.reading, 'several', nodeSpan(place, second));
  for (const statement of list) {
    const bounded = enterNesting(walk.reading, place, nodeSpan(place, statement));
    if (bounded === null) break;
    if (statement.background === true) {
      reportSyntaxProblem(walk.reading, 'background', nodeSpan(place, statement));
    }
    const inside = { ...place, certain: place.certain && statement.background !== true };
    found.push(...guarded(walk, inside, statement.command));
  }
  return found;
}

/** What went wrong inside one statement leaves the others as they are. */
function guarded(
  walk: WalkContext,
  place: SyntaxPosition,
  node: Statement['command'],
): readonly ShellCommand[] {
  try {
    return node.type === 'AndOr' ? andOr(walk, place, node) : pipeline(walk, place, node);
  } catch {
    reportSyntaxProblem(walk.reading, 'unparseable', nodeSpan(place, node));
    return [];
  }
}

function andOr(
  walk: WalkContext,
  place: SyntaxPosition,
  node: Extract<Statement['command'], { type: 'AndOr' }>,
): readonly ShellCommand[] {
  reportSyntaxProblem(walk.reading, 'several', nodeSpan(place, node));
  const found: ShellCommand[] = [];
  for (const [index, each] of node.commands.entries()) {
    if (enterNesting(walk.reading, place, nodeSpan(place, each)) === null) break;
    const certain = place.certain && index === 0;
    found.push(...guarded(walk, { ...place, certain }, each));
  }
  return found;
}

function pipeline(
  walk: WalkContext,
  place: SyntaxPosition,
  node: PipelineNode,
): readonly ShellCommand[] {
  if (node.type !== 'Pipeline') return command(walk, place, node);
  for (const prefix of node.prefixes) {
    const code = prefix.type === 'Time' ? 'time' : 'negation';
    reportSyntaxProblem(walk.reading, code, nodeSpan(place, prefix));
  }
  const alone = node.commands.length === 1;
  if (!alone) reportSyntaxProblem(walk.reading, 'several', nodeSpan(place, node));
  const found: ShellCommand[] = [];
  let from: readonly ShellCommand[] | null = null;
  for (const each of node.commands) {
    if (enterNesting(walk.reading, place, nodeSpan(place, each)) === null) break;
    const stdin = from === null ? place.stdin : ({ kind: 'pipe', from } as const);
    from = guardedCommand(walk, { ...place, stdin, certain: place.certain && alone }, each);
    found.push(...from);
  }
  return found;
}

function guardedCommand(
  walk: WalkContext,
  place: SyntaxPosition,
  node: CommandNode,
): readonly ShellCommand[] {
  try {
    return command(walk, place, node);
  } catch {
    reportSyntaxProblem(walk.reading, 'unparseable', nodeSpan(place, node));
    return [];
  }
}

function command(
  walk: WalkContext,
  place: SyntaxPosition,
  node: CommandNode,
): readonly ShellCommand[] {
  const { reading } = walk;
  const span = nodeSpan(place, node);
  switch (node.type) {
    case 'Command': {
      const found = readSimpleCommand(reading, place, node);
      return [...found, ...found.flatMap((each) => called(walk, place, each))];
    }
    case 'Function':
      return defined(walk, place, node);
    case 'Redirected': {
      const alone = readRedirectCommand(reading, place, node.redirects, span);
      const inside = alone === null ? place : { ...place, stdin: alone.input };
      const body = command(walk, inside, node.command);
      return alone === null ? body : [alone, ...body];
    }
    case 'Coproc':
      reportSyntaxProblem(reading, 'compound', span);
      if (node.name !== undefined) flattenWord(reading, place, node.name);
      return node.body.type === 'CompoundList'
        ? body(walk, { ...place, certain: false }, node.body)
        : command(walk, { ...place, certain: false }, node.body);
    case 'TestCommand':
      reportSyntaxProblem(reading, 'compound', span);
      return test(walk, place, node);
    case 'ArithmeticCommand':
      reportSyntaxProblem(reading, 'compound', span);
      if (node.expression === undefined) {
        if (node.body.trim() !== '') reportSyntaxProblem(reading, 'unparseable', span);
      } else substitutionCommands(reading, place, node.expression);
      return [];
    case 'If':
    case 'For':
    case 'ArithmeticFor':
    case 'Select':
    case 'While':
    case 'Subshell':
    case 'BraceGroup':
    case 'Case':
      reportSyntaxProblem(reading, 'compound', span);
      return compound(walk, place, node);
  }
}

function compound(
  walk: WalkContext,
  place: SyntaxPosition,
  node: Extract<CommandNode, { readonly body: CompoundList } | { type: 'If' | 'Case' }>,
): readonly ShellCommand[] {
  const loose = { ...place, certain: false };
  switch (node.type) {
    case 'If':
      return [
        ...body(walk, place, node.clause),
        ...body(walk, loose, node.then),
        ...node.elif.flatMap((branch) => [
          ...body(walk, loose, branch.clause),
          ...body(walk, loose, branch.then),
        ]),
        ...(node.else === undefined ? [] : body(walk, loose, node.else)),
      ];
    case 'For':
    case 'Select':
      loopVariable(walk, place, node.name, node.wordlist ?? []);
      return body(walk, loose, node.body);
    case 'ArithmeticFor':
      for (const part of [node.initialize, node.test, node.update]) {
        if (part !== undefined) substitutionCommands(walk.reading, place, part);
      }
      return body(walk, loose, node.body);
    case 'While':
      return [...body(walk, loose, node.clause), ...body(walk, loose, node.body)];
    case 'Subshell':
      return body(walk, loose, node.body);
    case 'BraceGroup':
      return body(walk, place, node.body);
    case 'Case':
      flattenWord(walk.reading, place, node.word);
      return node.items.flatMap((item) => {
        for (const pattern of item.pattern) flattenWord(walk.reading, place, pattern);
        return body(walk, loose, item.body);
      });
  }
}

function body(
  walk: WalkContext,
  place: SyntaxPosition,
  list: CompoundList,
): readonly ShellCommand[] {
  const inside = enterNesting(walk.reading, place, nodeSpan(place, list));
  return inside === null ? [] : statements(walk, inside, list.commands);
}

/** A loop's variable holds one of its words after the other. */
function loopVariable(
  walk: WalkContext,
  place: SyntaxPosition,
  name: WordNode,
  list: readonly WordNode[],
): void {
  const words = list.flatMap((node) => readWord(walk.reading, place, node).words);
  words.forEach(({ value }, index) => {
    const certain = place.certain && index === 0;
    assignVariable(walk.reading.scope, name.text, value === null ? null : [value], certain);
  });
}

function defined(
  walk: WalkContext,
  place: SyntaxPosition,
  node: FunctionNode,
): readonly ShellCommand[] {
  const { reading, calls } = walk;
  reportSyntaxProblem(reading, 'function', nodeSpan(place, node));
  reading.defined.add(node.name.value);
  calls.bodies.set(node.name.value, node.body);
  // A function that is never called counts as well: what is defined may be called later.
  return withPositional(walk, null, () => {
    const inside = { ...place, certain: false, stdin: { kind: 'inherited' } as const };
    return functionBody(walk, inside, node.body);
  });
}

function functionBody(
  walk: WalkContext,
  place: SyntaxPosition,
  node: FunctionNode['body'],
): readonly ShellCommand[] {
  return node.type === 'CompoundList' ? body(walk, place, node) : command(walk, place, node);
}

/** A call of a function of the script: its body again, with the call's arguments and input. */
function called(
  walk: WalkContext,
  place: SyntaxPosition,
  { words, input }: ShellCommand,
): readonly ShellCommand[] {
  const name = words[0]?.value;
  const known = name === null || name === undefined ? undefined : walk.calls.bodies.get(name);
  const plain = words.length === 1 && input.kind === 'inherited';
  if (known === undefined || plain || walk.calls.depth >= callDepthMax) return [];
  const values = words.slice(1).map(({ value }) => value);
  const given = values.filter((value) => value !== null);
  walk.calls.depth += 1;
  const inside = { ...place, certain: false, stdin: input };
  try {
    return withPositional(walk, given.length === values.length ? given : null, () =>
      walk.reading.afresh(() => functionBody(walk, inside, known)),
    );
  } finally {
    walk.calls.depth -= 1;
  }
}

const positional = ['@', '*', '1', '2', '3', '4', '5', '6', '7', '8', '9'];

function withPositional(
  walk: WalkContext,
  values: readonly string[] | null,
  run: () => readonly ShellCommand[],
): readonly ShellCommand[] {
  const { candidates } = walk.reading.scope;
  const before = positional.map((name) => [name, candidates.get(name) ?? []] as const);
  assignPositionalParameters(walk.reading, values, true);
  try {
    return run();
  } finally {
    for (const [name, known] of before) candidates.set(name, known);
  }
}

/** `[[ … ]]` as a command of that name: some of its operators evaluate their operands. */
function test(
  walk: WalkContext,
  place: SyntaxPosition,
  node: Extract<CommandNode, { type: 'TestCommand' }>,
): readonly ShellCommand[] {
  const span = nodeSpan(place, node);
  if (!spendCommand(walk.reading, span)) return [];
  const reads = operands(walk, place, node.expression);
  const all = [sign('[[', span), ...reads, sign(']]', span)];
  const command: ShellCommand = {
    span,
    words: all.map(({ word }) => word),
    inner: all.map(({ inner }) => inner),
    assignments: [],
    redirects: [],
    input: place.stdin,
  };
  walk.reading.commands.push(command);
  return [command];
}

interface Operand {
  readonly word: ShellWord;
  readonly inner: readonly ShellCommand[];
}

function operands(
  walk: WalkContext,
  place: SyntaxPosition,
  node: TestExpression,
): readonly Operand[] {
  const span = nodeSpan(place, node);
  const single = (each: WordNode): readonly Operand[] => {
    const { words, inner } = readSingleWord(walk.reading, place, each);
    return words.map((word) => ({ word, inner }));
  };
  switch (node.type) {
    case 'TestUnary':
      return [sign(node.operator, span), ...single(node.operand)];
    case 'TestBinary':
      return [...single(node.left), sign(node.operator, span), ...single(node.right)];
    case 'TestLogical':
      return node.operands.flatMap((each, index) => [
        ...(index === 0 ? [] : [sign(node.operator, span)]),
        ...operands(walk, place, each),
      ]);
    case 'TestNot':
      return [sign('!', span), ...operands(walk, place, node.operand)];
    case 'TestGroup':
      return [sign('(', span), ...operands(walk, place, node.expression), sign(')', span)];
  }
}

function sign(value: string, span: readonly [number, number]): Operand {
  const rest = { glob: null, variables: [], derived: false };
  return { word: { span, value, pieces: [value], ...rest }, inner: [] };
}
