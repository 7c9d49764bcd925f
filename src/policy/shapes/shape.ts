/**
 * The shape of a command: program, subcommand, flags of a known grammar and exact operands, in one
 * form for all spellings. A command that the parser cannot analyse has none. Pure.
 */
import { createAnalysisBudget } from '../syntax/budget.ts';
import { readShellScript } from '../syntax/read.ts';
import { shapeGrammars, type ShapeGrammar } from './grammar.ts';

export interface CommandShape {
  readonly program: string;
  /** Program, subcommand, flags in order, operands: equal exactly where the shape is. */
  readonly words: readonly string[];
  readonly project: ShapeGrammar['project'];
}

/** `null`: it has none, so no lasting approval covers it. */
export function deriveCommandShape(text: string): CommandShape | null {
  // One plain command: no assignment, redirect, pipe, list, substitution, variable or glob.
  const { plain } = readShellScript(text, createAnalysisBudget());
  if (plain === null || plain.input.kind !== 'inherited') return null;
  const words = plain.words.flatMap(({ value }) => value ?? []);
  const [program, ...rest] = words;
  if (program === undefined || words.length !== plain.words.length) return null;
  if (!Object.hasOwn(shapeGrammars, program)) return null;
  const found = subcommandOf(shapeGrammars[program] ?? {}, rest);
  if (found === null) return null;
  const { name, grammar, args } = found;
  const parsed = argumentsOf(grammar, args);
  if (parsed === null) return null;
  const canonical = program === 'npm' && name === 'i' ? 'install' : name;
  const head = [program, ...(canonical === '' ? [] : canonical.split(' '))];
  const { flags, operands } = parsed;
  return {
    program,
    words: [...head, ...flags.toSorted(), ...operands],
    project: grammar.project,
  };
}

interface Subcommand {
  readonly name: string;
  readonly grammar: ShapeGrammar;
  readonly args: readonly string[];
}

/** It comes first: a flag of the program before it has no shape. */
function subcommandOf(
  known: Readonly<Record<string, ShapeGrammar>>,
  args: readonly string[],
): Subcommand | null {
  for (const count of [2, 1, 0]) {
    const name = args.slice(0, count).join(' ');
    const isOwn = args.length >= count && Object.hasOwn(known, name);
    const grammar = isOwn ? known[name] : undefined;
    if (grammar !== undefined) return { name, grammar, args: args.slice(count) };
  }
  return null;
}

function argumentsOf(
  { flags: known, values, operand, operandsMin, operandsMax, needed }: ShapeGrammar,
  args: readonly string[],
): { readonly flags: readonly string[]; readonly operands: readonly string[] } | null {
  const flags: string[] = [];
  const operands: string[] = [];
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at] ?? '';
    if (!word.startsWith('-')) {
      if (operand?.test(word) !== true || word.includes('..')) return null;
      operands.push(word);
      continue;
    }
    if (known.includes(word)) {
      flags.push(word);
      continue;
    }
    const equals = word.indexOf('=');
    const isLong = word.startsWith('--') && equals !== -1;
    const name = isLong ? word.slice(0, equals) : word;
    const form = Object.hasOwn(values, name) ? values[name] : undefined;
    if (form !== undefined) {
      const value = isLong ? word.slice(equals + 1) : (args[(at += 1)] ?? '');
      if (!form.test(value) || value.includes('..')) return null;
      flags.push(`${name}=${value}`);
      continue;
    }
    const single = singles(word, known);
    if (single === null) return null;
    flags.push(...single);
  }
  const { length } = operands;
  if (needed !== undefined && !flags.includes(needed)) return null;
  return length >= operandsMin && length <= operandsMax ? { flags, operands } : null;
}

/** `-sSf`: known one by one, and none of them takes a value. */
function singles(word: string, known: readonly string[]): readonly string[] | null {
  if (!/^-[A-Za-z]{2,8}$/.test(word)) return null;
  const found = word
    .slice(1)
    .split('')
    .map((letter) => `-${letter}`);
  return found.every((one) => known.includes(one)) ? found : null;
}
