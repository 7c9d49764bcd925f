/** What each benchmark of several parts is asked, and how it goes through them. */
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { checkLines, keep, type Check, type Part } from './report.ts';

export interface Bench<Name extends string> {
  readonly quick: boolean;
  /** Parts to measure, in their order. */
  readonly asked: readonly Name[];
  /** Absolute: where the figures go. */
  readonly results: string;
  /** The machine, who measures, and the day. */
  readonly about: string;
}

/** Reads `[--quick] [--only NAME]... [--results DIR]`. @throws Error for a part not in `names` */
export function readBench<Name extends string>(
  names: readonly Name[],
  args: readonly string[] = process.argv.slice(2),
): Bench<Name> {
  const all: readonly string[] = names;
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true, default: [...all] },
      results: { type: 'string', default: path.join(import.meta.dirname, 'results') },
    },
  });
  const { quick, only } = values;
  const wrong = only.find((name) => !all.includes(name));
  if (wrong !== undefined) throw new Error(`--only ${wrong}: known are ${names.join(', ')}`);
  const who = process.getuid?.() === 0 ? 'root' : 'an ordinary user';
  const cores = os.availableParallelism();
  const machine = `${cores} cores, Linux ${os.release()}, Node ${process.version}`;
  const about = `${machine}, as ${who}, ${new Date().toISOString().slice(0, 10)}`;
  const asked = names.filter((name) => only.includes(name));
  return { quick, asked, results: path.resolve(values.results), about };
}

/** Measures what is asked; each part is kept in `file` as soon as it is known. */
export async function runBench<Name extends string>(
  bench: Bench<Name>,
  measure: Readonly<Record<Name, () => Promise<Part<unknown>>>>,
  file: string,
): Promise<void> {
  const { quick, asked, results, about } = bench;
  process.stdout.write(`${about}\n`);
  const checks: Check[] = [];
  for (const name of asked) {
    const part = await measure[name]();
    for (const note of part.notes) process.stdout.write(`  note: ${note}\n`);
    checks.push(...part.checks);
    keep(results, { [name]: { about, quick, ...part } }, file);
  }
  show('Targets', checkLines(checks));
  process.stdout.write(`\nwritten: ${path.join(results, file)}\n`);
}

export function show(title: string, lines: readonly string[]): void {
  process.stdout.write(`\n${title}\n${lines.join('\n')}\n`);
}
