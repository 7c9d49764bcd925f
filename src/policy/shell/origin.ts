/** Where text comes from that is about to be run: the network, or a decoder. */
import type { Span } from '../analysis.ts';
import { parseOptions } from '../commands/grammar.ts';
import { lookUp, lookUpSub } from '../commands/table.ts';
import type { Node } from '../commands/schema.ts';
import type { Command, Input } from '../syntax/script.ts';
import { unwrap } from './unwrap.ts';
import { innerCommands, tail } from './word.ts';

export type Origin = 'download' | 'decoder' | null;

const depthMax = 512;

/** What lies behind an input; `commands` are all of the script, to find those in its text. */
export function originOf(input: Input, commands: readonly Command[], depth = 0): Origin {
  if (depth > depthMax) return null;
  switch (input.kind) {
    case 'pipe':
    case 'substitution':
      return anyOrigin(input.from, commands, depth);
    case 'text':
      return anyOrigin(
        [...within(commands, input.span), ...assignedFrom(input.variables, commands)],
        commands,
        depth,
      );
    case 'file':
    case 'inherited':
      return null;
  }
}

/** The strongest origin among commands whose output is used. */
export function anyOrigin(
  from: readonly Command[],
  commands: readonly Command[],
  depth = 0,
): Origin {
  let found: Origin = null;
  for (const command of from) {
    const origin = ofCommand(command, commands, depth + 1);
    if (origin === 'download') return origin;
    found = origin ?? found;
  }
  return found;
}

/** Each command is looked at once, however many others its output passes through. */
const known = new WeakMap<Command, Origin>();

function ofCommand(command: Command, commands: readonly Command[], depth: number): Origin {
  const before = known.get(command);
  if (before !== undefined || depth > depthMax) return before ?? null;
  known.set(command, null);
  const origin = lookBehind(command, commands, depth);
  known.set(command, origin);
  return origin;
}

function lookBehind(command: Command, commands: readonly Command[], depth: number): Origin {
  const own = ofName(command, depth);
  if (own === 'download') return own;
  const used = command.words.slice(0, followedMax).flatMap(({ variables }) => variables);
  const filling = assignedFrom(used, commands);
  const inside = anyOrigin([...innerCommands(command), ...filling], commands, depth);
  if (inside === 'download') return inside;
  return originOf(command.input, commands, depth) ?? inside ?? own;
}

function ofName(command: Command, depth: number): Origin {
  const called = command.words[0]?.value ?? null;
  const named = called === null ? undefined : lookUp(called);
  if (named === undefined || depth > depthMax) return null;
  return ofNode(named.node, tail(command, 1), depth);
}

function ofNode(node: Node, command: Command, depth: number): Origin {
  const parsed = parseOptions(command.words, node);
  if (node.source === 'download') return 'download';
  if (node.source === 'decoded') return 'decoder';
  const first = parsed.operands[0];
  const word = first === undefined ? null : (command.words[first]?.value ?? null);
  const isBundled =
    node.bundled !== undefined && /^[A-Za-z]+$/.test(word ?? '') && word?.includes(node.bundled);
  const decodes = parsed.options.has('decode') || isBundled === true;
  if (node.source === 'decoder' && decodes) return 'decoder';
  const sub = word === null ? undefined : lookUpSub(node, word);
  if (sub !== undefined && first !== undefined) {
    return ofNode(sub.node, tail(command, first + 1), depth);
  }
  for (const inner of unwrap({ node, command, parsed })) {
    const origin = ofName(inner, depth + 1);
    if (origin !== null) return origin;
  }
  return null;
}

/** In longer scripts variables are not followed. */
const followedMax = 256;

/** The commands whose output these variables were given: `x=$(curl …); sh -c "$x"`. */
export function assignedFrom(
  variables: readonly string[],
  commands: readonly Command[],
): readonly Command[] {
  if (variables.length === 0 || commands.length > followedMax) return [];
  const names = new Set(variables);
  return commands.flatMap(({ assignments }) =>
    assignments.flatMap(({ name, span }) => (names.has(name) ? within(commands, span) : [])),
  );
}

export function within(commands: readonly Command[], [from, to]: Span): readonly Command[] {
  return commands.filter(({ span }) => span[0] >= from && span[1] <= to);
}
