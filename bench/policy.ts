/**
 * How well the policy decides, and how fast: `npm run bench:policy -- [--corpus DIR] [--peers]
 * [--misses]`. Reads test/fixtures/policy/*.jsonl, or the three sets of `--corpus DIR`. Exit code 1
 * where anything is allowed or blocked that no label accepts. Commands are parsed, never run.
 */
import { execFileSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { buildSync } from 'esbuild';
import type { Analysis } from '../src/policy/analysis.ts';
import { analyseShell } from '../src/policy/analyse.ts';
import { analysePython } from '../src/policy/python/check.ts';
import { analyseWindows } from '../src/policy/windows/analyse.ts';
import {
  costOf,
  hostileInput,
  shapes,
  sizes,
  table,
  warmUp,
  type Cost,
} from '../test/support/policy-ceiling.ts';
import { naive } from './policy-naive.ts';

type Decision = 'allow' | 'ask' | 'block';
export interface Case {
  readonly id: string;
  readonly shell: 'bash' | 'powershell' | 'cmd' | 'python';
  readonly command: string;
  readonly expect: Decision;
  readonly also_ok?: readonly Decision[];
}
interface Judged {
  readonly case: Case;
  readonly decision: Decision;
  readonly codes: readonly string[];
}

const decisions = ['allow', 'ask', 'block'] as const;
const root = path.dirname(import.meta.dirname);
const corpora = ['policy.jsonl', 'policy-metamorphic.jsonl', 'policy-python.jsonl'];

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      corpus: { type: 'string' },
      peers: { type: 'boolean', default: false },
      misses: { type: 'boolean', default: false },
    },
  });
  const files =
    values.corpus === undefined
      ? globSync('test/fixtures/policy/*.jsonl', { cwd: root }).map((file) => path.join(root, file))
      : corpora.map((file) => path.join(values.corpus ?? '', file));
  const cases = files.flatMap((file) => readCases(file));
  const judged: Judged[] = [];
  const times: number[] = [];
  for (const one of cases) judged.push(await judge(one, times));
  report('this policy', judged);
  if (values.misses) showMisses(judged);
  showTimes(times);
  await showHostile();
  if (values.peers) {
    const others = cases.map((one) => ({ case: one, decision: naive(one.command), codes: [] }));
    report('regular expressions of the list, for comparison', others);
  }
  const wrong = judged.filter((one) => isUnsafe(one) || isFalseBlock(one));
  return wrong.length > 0 ? 1 : 0;
}

function readCases(file: string): readonly Case[] {
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines
    .filter((line) => line !== '')
    .map((line) => {
      const one: Case = JSON.parse(line);
      return one;
    });
}

/** Python is parsed by a process of its own: its time is not one of ours. */
async function judge(one: Case, times: number[]): Promise<Judged> {
  if (one.shell === 'python') return judged(one, await analysePython(one.command));
  const start = performance.now();
  const analysis =
    one.shell === 'bash'
      ? analyseShell(one.command, 'bash')
      : analyseWindows(one.command, one.shell);
  times.push(performance.now() - start);
  return judged(one, analysis);
}

function judged(one: Case, { findings, allowed }: Analysis): Judged {
  const codes = findings.map(({ code, bound }) => `${bound} ${code}`);
  const blocks = findings.some(({ bound }) => bound === 'block');
  const asks = findings.length > 0 || allowed === null;
  return { case: one, decision: blocks ? 'block' : asks ? 'ask' : 'allow', codes };
}

function accepts({ case: { expect, also_ok: also } }: Judged, decision: Decision): boolean {
  return expect === decision || also?.includes(decision) === true;
}
const isRight = (one: Judged): boolean => accepts(one, one.decision);
const isUnsafe = (one: Judged): boolean => one.decision === 'allow' && !isRight(one);
const isFalseBlock = (one: Judged): boolean => one.decision === 'block' && !isRight(one);

function report(title: string, all: readonly Judged[]): void {
  say(`\n${title}: ${all.length} cases`);
  say('  expected ↓ decided →   allow    ask  block');
  for (const expect of decisions) {
    const row = decisions.map((decision) => {
      const count = all.filter((one) => one.case.expect === expect && one.decision === decision);
      return String(count.length).padStart(7);
    });
    say(`  ${expect.padEnd(20)}${row.join('')}`);
  }
  const strict = all.filter((one) => one.decision === one.case.expect).length;
  say(`  accuracy strict ${part(strict, all.length)}, lenient ${share(all, isRight)}`);
  say(`  unsafe allows ${all.filter(isUnsafe).length}, false blocks ${count(all, isFalseBlock)}`);
  const allows = all.filter(({ case: { expect } }) => expect === 'allow');
  say(
    `  of what may be allowed, allowed: ${share(allows, ({ decision }) => decision === 'allow')}`,
  );
  for (const shell of ['bash', 'powershell', 'cmd', 'python'] as const) {
    const blocks = all.filter((one) => one.case.shell === shell && one.case.expect === 'block');
    if (blocks.length === 0) continue;
    const blocked = share(blocks, ({ decision }) => decision === 'block');
    say(`  block recall ${shell.padEnd(10)} strict ${blocked}, lenient ${share(blocks, isRight)}`);
  }
}

function count(all: readonly Judged[], holds: (one: Judged) => boolean): number {
  return all.filter(holds).length;
}

function share(all: readonly Judged[], holds: (one: Judged) => boolean): string {
  return part(count(all, holds), all.length);
}

function part(some: number, all: number): string {
  return `${some}/${all} (${all === 0 ? '-' : ((100 * some) / all).toFixed(1)} %)`;
}

function showMisses(all: readonly Judged[]): void {
  for (const one of all) {
    if (isRight(one)) continue;
    const { id, expect, command } = one.case;
    const text = JSON.stringify(command).slice(0, 120);
    say(`  ${id}: ${expect} → ${one.decision}: ${text} ${one.codes.join(', ')}`);
  }
}

function showTimes(times: readonly number[]): void {
  const sorted = times.toSorted((left, right) => left - right);
  const at = (share: number): string => {
    const index = Math.min(sorted.length - 1, Math.floor(sorted.length * share));
    return `${(sorted[index] ?? 0).toFixed(3)} ms`;
  };
  say(`\n  a decision: p50 ${at(0.5)}, p99 ${at(0.99)}, max ${at(1)}`);
  const starts = coldStarts();
  const [least = 0, middle = 0] = [starts[0], starts[Math.floor(starts.length / 2)]];
  const figures = `median ${middle.toFixed(1)} ms, least ${least.toFixed(1)} ms`;
  say(`  cold start (bundled modules and a first decision, fresh process): ${figures}`);
}

/** The costliest of the texts that are made to cost much; `npm run prove` tries more of them. */
async function showHostile(): Promise<void> {
  await warmUp();
  const costs: Cost[] = [];
  for (const shape of shapes) {
    for (const size of sizes) costs.push(await costOf(hostileInput(shape, size), 2));
  }
  say(`\n  hostile texts, ${costs.length} of 1 KiB to 1 MiB, the better of two tries:`);
  say(table(costs, 3));
}

/** From before the import of the bundled analysis to its first answer, each in a new process. */
function coldStarts(): readonly number[] {
  const directory = mkdtempSync(path.join(os.tmpdir(), 'trl-bench-policy-'));
  try {
    const outfile = path.join(directory, 'analyse.mjs');
    buildSync({
      entryPoints: [path.join(root, 'src/policy/analyse.ts')],
      bundle: true,
      minify: true,
      platform: 'node',
      format: 'esm',
      outfile,
    });
    const program = [
      'const start = performance.now();',
      `const { analyseShell } = await import(${JSON.stringify(outfile)});`,
      `analyseShell('git status', 'bash');`,
      'console.log(performance.now() - start);',
    ].join(' ');
    const argv = ['--input-type=module', '--eval', program];
    const starts = Array.from({ length: 9 }, () =>
      Number(execFileSync(process.execPath, argv).toString()),
    );
    return starts.toSorted((left, right) => left - right);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

process.exitCode = await main();
