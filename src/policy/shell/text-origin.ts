/** The origin of text that a command runs: the network, or a decoder. */
import type { SourceSpan } from '../analysis.ts';
import { parseCommandOptions } from '../commands/options.ts';
import { lookUpCommand, lookUpSubcommand } from '../commands/table.ts';
import type { CommandNode } from '../commands/schema.ts';
import type { ShellCommand, StdinSource } from '../syntax/script.ts';
import { unwrapCommand } from './unwrap.ts';
import { innerCommands, commandTail } from './derived-words.ts';

export type TextOrigin = 'download' | 'decoder' | null;

const depthMax = 512;

/** The origin of an input; `commands` are all commands of the script. */
export function inputOrigin(
  input: StdinSource,
  commands: readonly ShellCommand[],
  depth = 0,
): TextOrigin {
  if (depth > depthMax) return null;
  switch (input.kind) {
    case 'pipe':
    case 'substitution':
      return strongestOrigin(input.from, commands, depth);
    case 'text':
      return strongestOrigin(
        [...commandsWithin(commands, input.span), ...commandsAssigning(input.variables, commands)],
        commands,
        depth,
      );
    case 'file':
    case 'inherited':
      return null;
  }
}

/** The strongest origin among commands whose output is used. */
export function strongestOrigin(
  from: readonly ShellCommand[],
  commands: readonly ShellCommand[],
  depth = 0,
): TextOrigin {
  let found: TextOrigin = null;
  for (const command of from) {
    const origin = ofCommand(command, commands, depth + 1);
    if (origin === 'download') return origin;
    found = origin ?? found;
  }
  return found;
}

/** Each command is examined once, however many others its output passes through. */
const known = new WeakMap<ShellCommand, TextOrigin>();

function ofCommand(
  command: ShellCommand,
  commands: readonly ShellCommand[],
  depth: number,
): TextOrigin {
  const before = known.get(command);
  if (before !== undefined || depth > depthMax) return before ?? null;
  known.set(command, null);
  const origin = lookBehind(command, commands, depth);
  known.set(command, origin);
  return origin;
}

function lookBehind(
  command: ShellCommand,
  commands: readonly ShellCommand[],
  depth: number,
): TextOrigin {
  const own = ofName(command, depth);
  if (own === 'download') return own;
  const used = command.words.slice(0, followedMax).flatMap(({ variables }) => variables);
  const filling = commandsAssigning(used, commands);
  const inside = strongestOrigin([...innerCommands(command), ...filling], commands, depth);
  if (inside === 'download') return inside;
  return inputOrigin(command.input, commands, depth) ?? inside ?? own;
}

function ofName(command: ShellCommand, depth: number): TextOrigin {
  const called = command.words[0]?.value ?? null;
  const named = called === null ? undefined : lookUpCommand(called);
  if (named === undefined || depth > depthMax) return null;
  return ofNode(named.node, commandTail(command, 1), depth);
}

function ofNode(node: CommandNode, command: ShellCommand, depth: number): TextOrigin {
  const parsed = parseCommandOptions(command.words, node);
  if (node.source === 'download') return 'download';
  if (node.source === 'decoded') return 'decoder';
  const first = parsed.operands[0];
  const word = first === undefined ? null : (command.words[first]?.value ?? null);
  const isBundled =
    node.bundled !== undefined && /^[A-Za-z]+$/.test(word ?? '') && word?.includes(node.bundled);
  const decodes = parsed.options.has('decode') || isBundled === true;
  if (node.source === 'decoder' && decodes) return 'decoder';
  const sub = word === null ? undefined : lookUpSubcommand(node, word);
  if (sub !== undefined && first !== undefined) {
    return ofNode(sub.node, commandTail(command, first + 1), depth);
  }
  for (const inner of unwrapCommand({ node, command, parsed })) {
    const origin = ofName(inner, depth + 1);
    if (origin !== null) return origin;
  }
  return null;
}

/** In longer scripts variables are not followed. */
const followedMax = 256;

/** The commands whose output these variables were given: `x=$(curl …); sh -c "$x"`. */
export function commandsAssigning(
  variables: readonly string[],
  commands: readonly ShellCommand[],
): readonly ShellCommand[] {
  if (variables.length === 0 || commands.length > followedMax) return [];
  const names = new Set(variables);
  return commands.flatMap(({ assignments }) =>
    assignments.flatMap(({ name, span }) =>
      names.has(name) ? commandsWithin(commands, span) : [],
    ),
  );
}

export function commandsWithin(
  commands: readonly ShellCommand[],
  [from, to]: SourceSpan,
): readonly ShellCommand[] {
  return commands.filter(({ span }) => span[0] >= from && span[1] <= to);
}
