// What the analysis says of commands that are edited by chance is what it said before: a line for
// each ten of them, with how many were decided how.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { analyseShell } from '../src/policy/analyse.ts';
import type { Analysis } from '../src/policy/analysis.ts';
import { analyseWindows } from '../src/policy/windows/analyse.ts';
import { edited } from './support/edits.ts';
import './support/still-clock.ts';
import { assertRecorded, fingerprint } from './support/recorded.ts';
import { seeded } from './support/redaction-draw.ts';

const fixtures = path.join(import.meta.dirname, 'fixtures/policy');
const perLine = 10;

interface Labelled {
  readonly shell: string;
  readonly command: string;
}

const labelled = (file: string): readonly Labelled[] =>
  readFileSync(path.join(fixtures, `${file}.jsonl`), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line): Labelled => JSON.parse(line));

const decision = ({ findings, allowed }: Analysis): string => {
  if (findings.some(({ bound }) => bound === 'block')) return 'block';
  return findings.length > 0 || allowed === null ? 'ask' : 'allow';
};

/** Each command `count` times, never twice the same. */
function linesOf(
  commands: readonly string[],
  count: number,
  analyse: (command: string) => Analysis,
): string[] {
  const random = seeded(commands.length);
  const all = commands.map((command) =>
    Array.from({ length: count }, () => analyse(edited(command, random, commands))),
  );
  return Array.from({ length: Math.ceil(all.length / perLine) }, (_, at) => {
    const group = all.slice(at * perLine, (at + 1) * perLine).flat();
    const counts = ['block', 'ask', 'allow'].map(
      (name) => `${group.filter((one) => decision(one) === name).length} ${name}`,
    );
    return `${at * perLine}\t${counts.join(', ')}\t${fingerprint(group)}`;
  });
}

/** Each level of nested brackets doubles the time in PowerShell: at most five are tested. */
const unnested = (command: string): string =>
  command.replaceAll(/([([{])\1{5,}/g, (run) => run.slice(0, 5));

const inBash = (command: string): Analysis => analyseShell(command, 'bash');

for (const [file, count] of [
  ['shell', 3],
  ['shell-more', 3],
  ['outward', 4],
  ['attack', 2],
  ['blind-block', 6],
] as const) {
  test(`edits of ${file}.jsonl are judged as before`, () => {
    const commands = labelled(file)
      .filter(({ shell }) => shell !== 'cmd' && shell !== 'powershell')
      .map(({ command }) => command);
    assertRecorded(`policy/edited-${file}.tsv`, linesOf(commands, count, inBash));
  });
}

for (const dialect of ['powershell', 'cmd'] as const) {
  test(`edits of commands for ${dialect} are judged as before`, () => {
    const commands = ['windows', 'shell-more', 'attack'].flatMap(labelled);
    const own = commands.filter(({ shell }) => shell === dialect).map(({ command }) => command);
    const lines = linesOf(own, 12, (command) => analyseWindows(unnested(command), dialect));
    assertRecorded(`policy/edited-${dialect}.tsv`, lines);
  });
}
