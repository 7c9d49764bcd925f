/**
 * Draws mutants of the parts that hold the promises and runs the related tests on each: what no
 * test notices is a promise that no test holds.
 *
 *   nice -n 5 tools/node tools/mutants.ts [--seed N] [--count N] [--workers N] [--progress FILE]
 *     [--quick] [--again] [--report] [--only FILE[:LINE]]
 *
 * --progress  JSON lines; what is in it is not run again. Default: mutants-SEED.jsonl in the
 *             directory for temporary files
 * --quick     no tests that start programs, which take ten times as long
 * --again     tries the survivors of before with the tests that are new or changed since, and once
 *             more what ran out of time
 * --report    runs nothing
 * --only      the mutants of one file or line, in place of a draw
 *
 * The mutators are StrykerJS's: `npm ci --ignore-scripts --prefix tools/mutants` installs them.
 * Works on copies in the directory for temporary files and leaves none. Exits 1 when it was ended.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { TreeCopy, type TestRun } from './mutants/copy.ts';
import { allMutants, digest, shuffled, type Mutant } from './mutants/draw.ts';
import { relatedTests, type TestFile } from './mutants/related.ts';
import { report, type Result } from './mutants/report.ts';

const root = path.dirname(import.meta.dirname);
/** A test may take this many times what it takes without a mutant, and this much more. */
const slowness = 6;
const graceMs = 60_000;
/** A test file that takes longer is not run. */
const testMsMax = 60_000;

const { values: args } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    count: { type: 'string', default: '200' },
    workers: { type: 'string', default: '1' },
    progress: { type: 'string' },
    quick: { type: 'boolean', default: false },
    again: { type: 'boolean', default: false },
    report: { type: 'boolean', default: false },
    only: { type: 'string' },
  },
});
const progress = args.progress ?? path.join(tmpdir(), `mutants-${args.seed}.jsonl`);

/** How a test file goes without a mutant. */
interface Baseline extends TestRun {
  /** Its path and the digest of its text. */
  readonly test: string;
}

let chosen: Mutant[] | null = null;
const results = new Map<string, Result>();
const baselines = new Map<string, Promise<Baseline> | Baseline>();

function readProgress(): void {
  if (!existsSync(progress)) return;
  for (const line of readFileSync(progress, 'utf8').split('\n')) {
    if (line === '') continue;
    const entry: { chosen?: Mutant[]; baseline?: Baseline; result?: Result } = JSON.parse(line);
    if (entry.chosen !== undefined) chosen = entry.chosen;
    if (entry.baseline !== undefined) baselines.set(entry.baseline.test, entry.baseline);
    if (entry.result !== undefined) results.set(entry.result.key, entry.result);
  }
}

const note = (entry: object): void => appendFileSync(progress, `${JSON.stringify(entry)}\n`);

/** The mutants of a draw: those that the compiler takes. */
async function choose(): Promise<Mutant[]> {
  const all = await allMutants(root);
  const count = Number(args.count);
  const [file, line] = (args.only ?? '').split(':');
  const named = all.filter(
    (one) => one.file === file && (line === undefined || String(one.line) === line),
  );
  // Less than a third is refused.
  const drawn = args.only === undefined ? shuffled(all, Number(args.seed)) : named;
  using copy = new TreeCopy(root);
  return copy.compiling(drawn.slice(0, count * 2)).slice(0, count);
}

const keyOf = ({ file }: TestFile): string =>
  `${file} ${digest(readFileSync(path.join(root, file), 'utf8'))}`;

/** The first run of a test file, without a mutant; the same one for all who ask. */
async function baselineOf(copy: TreeCopy, test: TestFile): Promise<Baseline> {
  const key = keyOf(test);
  const measure = async (): Promise<Baseline> => {
    const baseline = { test: key, ...(await copy.test(test, testMsMax)) };
    note({ baseline });
    return baseline;
  };
  const known = baselines.get(key) ?? measure();
  baselines.set(key, known);
  return known;
}

async function tryOut(copy: TreeCopy, mutant: Mutant, related: TestFile[]): Promise<Result> {
  const begun = performance.now();
  const before = results.get(mutant.key);
  const ran = (before?.tests ?? []).slice(0, before?.status === 'timeout' ? -1 : undefined);
  const done = (status: Result['status'], by: string | null): Result => {
    const { from: _from, to: _to, ...told } = mutant;
    return { ...told, status, by, tests: ran, ms: Math.round(performance.now() - begun) };
  };
  for (const usesBundles of args.quick ? [false] : [false, true]) {
    const tests = [];
    for (const test of related) {
      if (test.usesBundles !== usesBundles || ran.includes(keyOf(test))) continue;
      const { outcome, ms } = await baselineOf(copy, test);
      if (outcome === 'passed') tests.push({ test, ms });
    }
    using _applied = copy.apply(mutant);
    for (const { test, ms } of tests.toSorted((one, other) => one.ms - other.ms)) {
      const { outcome } = await copy.test(test, slowness * ms + graceMs);
      ran.push(keyOf(test));
      if (outcome === 'passed') continue;
      return done(outcome === 'timeout' ? 'timeout' : 'killed', test.file);
    }
  }
  return done('survived', null);
}

async function work(mutants: Mutant[], related: ReturnType<typeof relatedTests>): Promise<void> {
  using copy = new TreeCopy(root);
  copies.add(copy);
  for (let mutant = mutants.shift(); mutant !== undefined; mutant = mutants.shift()) {
    const result = await tryOut(copy, mutant, related(mutant.file, mutant.group));
    results.set(mutant.key, result);
    note({ result });
    const { status, file, line, mutator, by, ms } = result;
    const took = `${(ms / 1_000).toFixed(1)} s`;
    console.log(`${status} ${file}:${line} ${mutator} ${by ?? ''} ${took}; ${mutants.length} left`);
  }
}

const copies = new Set<TreeCopy>();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => {
    for (const copy of copies) copy[Symbol.dispose]();
    process.exit(1);
  });
}

readProgress();
const isStill = ({ file, from, to, original }: Mutant): boolean =>
  existsSync(path.join(root, file)) &&
  readFileSync(path.join(root, file), 'utf8').slice(from, to) === original;
if (chosen === null) {
  chosen = await choose();
  note({ chosen });
}
if (!args.report) {
  const left = chosen.filter((mutant) => {
    const status = results.get(mutant.key)?.status;
    // Of a file that was edited since, a place may be another.
    if (!isStill(mutant)) return false;
    return status === undefined || (args.again && status !== 'killed');
  });
  const related = relatedTests(root);
  await Promise.all(Array.from({ length: Number(args.workers) }, () => work(left, related)));
}
console.log(report(chosen.flatMap(({ key }) => results.get(key) ?? [])));
