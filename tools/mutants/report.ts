/** The score of a draw by group, and the mutants that no test noticed. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { groupNames, type Mutant } from './draw.ts';

export interface Result extends Omit<Mutant, 'from' | 'to'> {
  readonly status: 'killed' | 'timeout' | 'survived';
  /** The test files that were run, each with the digest of its text. */
  readonly tests: readonly string[];
  /** The one that noticed it. */
  readonly by: string | null;
  readonly ms: number;
}

/** A mutant that behaves as the original does: no test can notice it. */
interface Equivalent extends Pick<Mutant, 'file' | 'original' | 'replacement'> {
  /** The line that it is in, without blanks around it. */
  readonly source: string;
  readonly reason: string;
}

const equivalents: readonly Equivalent[] = JSON.parse(
  readFileSync(path.join(import.meta.dirname, 'equivalent.json'), 'utf8'),
);

function whyEquivalent(result: Result): string | null {
  const of = equivalents.filter(({ file }) => file === result.file);
  if (of.length === 0) return null;
  const text = readFileSync(path.join(import.meta.dirname, '../..', result.file), 'utf8');
  const line = text.split('\n')[result.line - 1]?.trim();
  const found = of.find(
    ({ source, original, replacement }) =>
      source === line && original === result.original && replacement === result.replacement,
  );
  return found?.reason ?? null;
}

/** A table as Markdown, then the survivors and those that are equivalent. */
export function report(results: readonly Result[]): string {
  const equal = results.filter((one) => one.status === 'survived' && whyEquivalent(one) !== null);
  const counted = results.filter((one) => !equal.includes(one));
  const row = (name: string, of: readonly Result[], same: number): string => {
    const late = of.filter(({ status }) => status === 'timeout').length;
    const killed = of.filter(({ status }) => status === 'killed').length + late;
    const percent = of.length === 0 ? '' : `${Math.round((100 * killed) / of.length)} %`;
    return `| ${name} | ${killed}/${of.length} | ${percent} | ${late} | ${same} |`;
  };
  const of =
    (name: string) =>
    (one: Result): boolean =>
      one.group === name;
  const survivors = counted.filter(({ status }) => status === 'survived');
  return [
    '| folder | killed | score | by time-out | equivalent |',
    '| --- | --- | --- | --- | --- |',
    ...groupNames.map((name) => row(name, counted.filter(of(name)), equal.filter(of(name)).length)),
    row('all', counted, equal.length),
    '',
    `survivors: ${survivors.length}`,
    ...survivors.map(described),
    '',
    `equivalent: ${equal.length}`,
    ...equal.map((one) => `${described(one)}\n    ${whyEquivalent(one)}`),
  ].join('\n');
}

function described({ file, line, mutator, original, replacement }: Result): string {
  const short = (text: string): string => {
    const flat = text.replaceAll(/\s+/g, ' ');
    return flat.length <= 100 ? flat : `${flat.slice(0, 99)}…`;
  };
  return `- ${file}:${line} ${mutator}\n    ${short(original)}\n    ${short(replacement)}`;
}
