/** What a decision costs on texts that are made to cost much. */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Verdict } from '../../src/command.ts';
import type { JudgedShell } from '../../src/command.ts';
import { explainText } from '../../src/policy/explain.ts';
import { knowledgeVersion } from '../../src/policy/commands/table.ts';
import { joinPolicyLayers, type CommandRule, type Policy } from '../../src/policy/policy.ts';
import { shapes, type Shape } from './policy-hostile.ts';

/** A text that is to be decided on. */
export interface Input {
  readonly name: string;
  readonly shell: JudgedShell;
  readonly text: string;
}

/** One decision, of the best of some tries: the rest is noise of the machine. */
export interface Cost {
  readonly input: Input;
  readonly decision: Verdict['decision'];
  readonly rules: readonly string[];
  /** Time of the thread that decides: what everybody else in the process waits for. */
  readonly cpuMs: number;
  /** The same of the first try, with code that was not compiled yet. */
  readonly firstMs: number;
  /** Time of all threads of the process: also those that collect garbage and compile. */
  readonly processMs: number;
  readonly wallMs: number;
  /** By how much the process grew. */
  readonly grownBytes: number;
}

const rule = (id: string, decision: CommandRule['decision'], match: CommandRule['match']) => {
  return { id, decision, match, reason: 'a rule of a person', instead: null };
};

/** The shipped list with rules of people: every command is held against both. */
export const ruled: Policy = joinPolicyLayers(
  'ruled',
  [
    {
      name: 'ruled',
      kind: 'user',
      base: 'guarded',
      callers: [],
      commands: [
        rule('rule.apply', 'block', ['terraform', '...', { any: ['apply', 'destroy'] }, '...']),
        rule('rule.curl', 'ask', ['curl', '...', { glob: 'http*://*.example.org/**' }, '...']),
        rule('rule.make', 'allow', ['make', { any: ['lint', 'test'] }]),
      ],
    },
  ],
  [],
  knowledgeVersion(),
);

export const sizes = [1_024, 16_384, 65_536, 1_048_576] as const;

export function hostileInput(shape: Shape, size: number): Input {
  const { name, shell } = shape;
  return { name: `${shell} ${size}: ${name}`, shell, text: shape.make(size) };
}

/** Decides on a text `tries` times, and gives the least that it cost. */
export async function costOf(input: Input, tries: number): Promise<Cost> {
  const costs: Cost[] = [];
  for (let left = tries; left > 0; left -= 1) costs.push(await once(input));
  const [first] = costs;
  const [best] = costs.toSorted((one, other) => one.cpuMs - other.cpuMs);
  if (first === undefined || best === undefined) throw new Error('at least one try is needed');
  return { ...best, firstMs: first.cpuMs };
}

async function once(input: Input): Promise<Cost> {
  const before = process.memoryUsage.rss();
  const [all, own, start] = [process.cpuUsage(), process.threadCpuUsage(), performance.now()];
  const { decision, rules } = await explainText(ruled, input.shell, input.text);
  const wallMs = performance.now() - start;
  const cpuMs = total(process.threadCpuUsage(own));
  return {
    input,
    decision,
    rules: [...new Set(rules.map(({ id }) => id))],
    cpuMs,
    firstMs: cpuMs,
    processMs: total(process.cpuUsage(all)),
    wallMs,
    grownBytes: process.memoryUsage.rss() - before,
  };
}

const total = ({ user, system }: NodeJS.CpuUsage): number => (user + system) / 1_000;

/** As a daemon that has decided before: the code is loaded and mostly compiled. */
export async function warmUp(): Promise<void> {
  for (const { shell, text } of fixtures()) await explainText(ruled, shell, text);
}

/** The labelled commands of bash, PowerShell and cmd. */
export function fixtures(): readonly Input[] {
  const directory = path.join(import.meta.dirname, '../fixtures/policy');
  const lines = globSync('*.jsonl', { cwd: directory }).flatMap((file) =>
    readFileSync(path.join(directory, file), 'utf8').trimEnd().split('\n'),
  );
  return lines.flatMap((line) => {
    const { id, shell, command }: { id: string; shell: JudgedShell; command: string } =
      JSON.parse(line);
    return shell === 'python' ? [] : [{ name: id, shell, text: command }];
  });
}

const signs = [
  '"',
  "'",
  '`',
  '\\',
  '$(',
  '${',
  '((',
  '{',
  '}',
  ')',
  '|',
  '&',
  ';',
  '\n',
  '<<',
  '*',
];

/** A labelled command changed at random and then grown to `size`; the same for the same seed. */
export function mutant(seed: number, size: number): Input {
  const next = numbers(seed);
  const known = fixtures();
  const chosen = known[next(known.length)];
  if (chosen === undefined) throw new Error('there are no fixtures');
  const { name, shell } = chosen;
  const others = known.filter((other) => other.shell === shell);
  let text = chosen.text;
  while (text.length < size) {
    const [from, length] = [next(text.length), 1 + next(Math.min(text.length, 400))];
    const part = text.slice(from, from + length);
    const other = others[next(others.length)]?.text ?? '';
    const sign = signs[next(signs.length)] ?? '';
    const at = next(text.length);
    const put = [part.repeat(1 + next(200)), other, sign, sign.repeat(next(60)), `${sign}${other}`];
    const joined = text.slice(0, at) + (put[next(put.length)] ?? '') + text.slice(at);
    text = next(8) === 0 ? `${joined}\n`.repeat(1 + next(8)) : joined;
  }
  return { name: `${shell} ${size}: ${name} changed by ${seed}`, shell, text: text.slice(0, size) };
}

/** Whole numbers below a bound, by chance (mulberry32). */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

/** The costliest first, one a line. */
export function table(costs: readonly Cost[], count: number): string {
  const rows = costs.toSorted((one, other) => other.cpuMs - one.cpuMs).slice(0, count);
  const cell = (value: number): string => value.toFixed(1).padStart(8);
  return [
    '  cpu ms   first process    wall  MiB more',
    ...rows.map((cost) => {
      const { cpuMs, firstMs, processMs, wallMs, grownBytes, decision } = cost;
      const cells = [cpuMs, firstMs, processMs, wallMs, grownBytes / 2 ** 20].map(cell).join('');
      const bounds = cost.rules.filter((id) => id.startsWith('limit.')).join(' ');
      return `${cells}  ${cost.input.name}: ${decision} ${bounds}`;
    }),
  ].join('\n');
}

export { shapes };
