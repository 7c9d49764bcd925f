// What the analysis says of thousands of commands is what it said before: where a change is meant,
// its table shows which verdicts it touches. The last column stands for all that was found.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { analyseShell } from '../src/policy/analyse.ts';
import type { Analysis } from '../src/policy/analysis.ts';
import { allowRules } from '../src/policy/commands/data/allowed.ts';
import type { CommandTable, CommandNode } from '../src/policy/commands/schema.ts';
import { commandKnowledge } from '../src/policy/commands/table.ts';
import { analyseWindows } from '../src/policy/windows/analyse.ts';
import './support/still-clock.ts';
import { assertRecorded, fingerprint } from './support/recorded.ts';

const fixtures = path.join(import.meta.dirname, 'fixtures/policy');

interface Labelled {
  readonly id: string;
  readonly shell: string;
  readonly command: string;
}

const labelled = (file: string): readonly Labelled[] =>
  readFileSync(path.join(fixtures, `${file}.jsonl`), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line): Labelled => JSON.parse(line));

function outcome(analysis: Analysis): string {
  const { findings, allowed: rule } = analysis;
  const isBlocked = findings.some(({ bound }) => bound === 'block');
  const asked = findings.length > 0 || rule === null ? 'ask' : 'allow';
  const codes = new Set(findings.map(({ code }) => code));
  const why = rule === null ? [...codes].join(' ') : rule.rule;
  return `${isBlocked ? 'block' : asked}\t${why}\t${fingerprint(analysis)}`;
}

const inShell = (command: string): string => outcome(analyseShell(command, 'bash'));

for (const file of ['shell', 'shell-more', 'outward', 'attack', 'blind-allow', 'blind-block']) {
  test(`commands of ${file}.jsonl are judged as before`, () => {
    const lines = labelled(file).map(({ id, shell, command }) => {
      const isWindows = shell === 'cmd' || shell === 'powershell';
      const judged = isWindows ? outcome(analyseWindows(command, shell)) : inShell(command);
      return `${id}\t${judged}`;
    });
    assertRecorded(`policy/recorded-${file}.tsv`, lines, file.startsWith('blind') ? 1 : 4);
  });
}

test('commands for Windows are judged as before', () => {
  const lines = labelled('windows').map(({ id, shell, command }) => {
    return `${id}\t${outcome(analyseWindows(command, shell === 'cmd' ? 'cmd' : 'powershell'))}`;
  });
  assertRecorded('policy/recorded-windows.tsv', lines);
});

/** Command lines with each name, sub-command and option of a family. */
function linesOf(family: CommandTable, before: readonly string[] = []): string[] {
  return Object.entries(family).flatMap(([names, node]) =>
    names
      .split('|')
      .map((name) => name.replace(/\*$/, 'x'))
      .flatMap((name, at) => wordsOf([...before, name], node, at === 0)),
  );
}

/** Of an alias, less: what stands below it is the same. */
function wordsOf(words: readonly string[], node: CommandNode, isFirst: boolean): string[] {
  const start = words.join(' ');
  const examples = (node.rules ?? []).flatMap(({ match, noMatch }) => [...match, ...noMatch]);
  const own = [start, `${start} a b`, `${start} 5 sudo rm -rf c`, `echo id | ${start}`];
  if (!isFirst) return own.slice(1, 3);
  const options = Object.values(node.options ?? {}).flatMap((list) => list.split(' '));
  const given = options.map((option) => `${start} ${option.replace(/\[?=\]?$/, ' v')} sudo id`);
  return [...own, ...given, ...examples, ...linesOf(node.subs ?? {}, words)];
}

test('what is known of commands by name is what was known', () => {
  const rules = allowRules.flatMap(({ match, noMatch }) => [...match, ...noMatch]);
  const commands = new Set([...commandKnowledge.flatMap((family) => linesOf(family)), ...rules]);
  const lines = [...commands].map((command) => `${JSON.stringify(command)}\t${inShell(command)}`);
  assertRecorded('policy/recorded-names.tsv', lines, 16);
});
