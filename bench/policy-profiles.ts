/**
 * `npm run bench:policy-profiles -- [--all]`: what `guarded` and `auto` decide on the sets of
 * test/fixtures/policy, side by side, and what `auto` allows that `guarded` blocks, by rule, three
 * texts of each or all of them. Nothing is run. Exit code 1 where `auto` allows what no sandbox
 * holds: a block of `guarded` that decision 33 does not name, or anything with network.
 */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import type { Verdict } from '../src/command.ts';
import type { Analysis } from '../src/policy/analysis.ts';
import { analyseShell } from '../src/policy/analyse.ts';
import { decideCommand, type Exposure } from '../src/policy/decide.ts';
import { analysePython } from '../src/policy/python/check.ts';
import { analyseWindows } from '../src/policy/windows/analyse.ts';
import type { Case } from './policy.ts';

const held: Exposure = {
  sandbox: 'bubblewrap',
  level: 'full',
  protectedPaths: true,
  network: 'off',
  keysHidden: true,
  undo: true,
  extraGrants: [],
};
const places = {
  held,
  network: { ...held, network: 'host' },
  unheld: { ...held, sandbox: 'none', level: 'none', undo: false },
} as const satisfies Record<string, Exposure>;
const columns = [
  ['guarded', 'held'],
  ['auto', 'held'],
  ['auto', 'network'],
  ['auto', 'unheld'],
] as const;
const decisions = ['allow', 'ask', 'block'] as const;
/** Of decision 33: what these do ends at the walls of a sandbox, or is not there. */
const lifted: ReadonlySet<string> = new Set([
  'fs.rm-rf',
  'fs.dd',
  'fs.mkfs',
  'kill.force',
  'shell.eval',
  'shell.exec',
  'secrets.environment',
  'secrets.hidden',
]);
const shown = 3;
const root = path.dirname(import.meta.dirname);

async function analysisOf({ command, shell }: Case): Promise<Analysis> {
  if (shell === 'bash') return analyseShell(command, 'bash');
  return shell === 'python' ? analysePython(command) : analyseWindows(command, shell);
}

const verdicts = (analysis: Analysis): readonly Verdict[] =>
  columns.map(([base, place]) =>
    decideCommand(
      { name: base, version: '', base },
      { analysis, facts: null, exposure: places[place], variables: [] },
    ),
  );

async function main(): Promise<number> {
  const { values } = parseArgs({ options: { all: { type: 'boolean', default: false } } });
  const milder = new Map<string, string[]>();
  let wrong = 0;
  const head = columns.map(([name, place]) => `${name}, ${place}`.padStart(20)).join('');
  process.stdout.write(`${'allow/ask/block'.padEnd(20)}${head}\n`);
  for (const file of globSync('test/fixtures/policy/*.jsonl', { cwd: root }).toSorted()) {
    const counts = columns.map(() => ({ allow: 0, ask: 0, block: 0 }));
    for (const line of readFileSync(path.join(root, file), 'utf8').split('\n')) {
      if (line === '') continue;
      const one: Case = JSON.parse(line);
      const found = verdicts(await analysisOf(one));
      for (const [at, { decision }] of found.entries()) {
        const count = counts[at];
        if (count !== undefined) count[decision] += 1;
      }
      const [strict, mild, online, unheld] = found.map(({ decision }) => decision);
      if (online === 'allow' || unheld === 'allow') wrong += 1;
      if (strict !== 'block' || mild !== 'allow') continue;
      const rules = found[0]?.rules.map(({ id }) => id) ?? [];
      if (!rules.every((id) => lifted.has(id))) wrong += 1;
      const key = [...new Set(rules)].toSorted().join(' ');
      milder.set(key, [...(milder.get(key) ?? []), one.command]);
    }
    const row = counts.map((count) =>
      decisions
        .map((name) => count[name])
        .join('/')
        .padStart(20),
    );
    process.stdout.write(`${path.basename(file, '.jsonl').padEnd(20)}${row.join('')}\n`);
  }
  process.stdout.write('\nallowed by auto in a sandbox that holds all, blocked by guarded:\n');
  for (const [rules, texts] of [...milder].toSorted(([a], [b]) => a.localeCompare(b))) {
    process.stdout.write(`${String(texts.length).padStart(5)}  ${rules}\n`);
    for (const text of values.all ? texts : texts.slice(0, shown)) {
      process.stdout.write(`         ${JSON.stringify(text).slice(0, 90)}\n`);
    }
  }
  process.stdout.write(`\n${wrong} allowed that no sandbox holds\n`);
  return wrong === 0 ? 0 : 1;
}

process.exitCode = await main();
