/** Which test files may notice a change of a source file: those that import it, nearest first. */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Group } from './draw.ts';

/** How many test files a mutant is tried with at most. */
const inProcessMax = 6;
const withProgramsMax = 3;

/** Tests of a group as a whole: its tables, and those through bundles, where no import leads. */
const ofGroup = {
  policy: [
    'policy-recorded',
    'policy-edited',
    'policy-composed',
    'policy-daemon',
    'policy-attack',
    'auto-attack',
  ],
  approval: ['approval-words', 'approval-answers', 'approval-parked', 'lasting-answers'],
  redaction: [
    'redaction-recorded',
    'redaction-edited',
    'redactor',
    'tools-redactions',
    'redactor-attack',
  ],
  audit: ['audit-recorded', 'durable', 'audit-daemon', 'audit-disk', 'audit-wire'],
  sandbox: ['sandbox-planned', 'sandbox-facts', 'sandbox-attack', 'sandbox-cases', 'session'],
  link: ['process-link', 'runner-socket', 'runner-link', 'session', 'recovery'],
} as const satisfies Record<Group, readonly string[]>;

/** Tests of the tree as a whole: what they find of a mutant is no behaviour. */
const excluded = /\/(?:tidy|docs-blocks|docs-run|package|client-package|console-.*)\.test\.ts$/;

/** How a test file, or what it imports, starts a program from `dist`. */
const startsPrograms = /\bdist\b|'trl'|daemonCommand|tools\/node/;
/** Starts the audit log's reader from `dist`, as a thread, in the test's own process too. */
const startsReader = 'src/daemon/auditing/log-queries.ts';

export interface TestFile {
  readonly file: string;
  /** Whether it starts programs from `dist`, which must be built from the mutant first. */
  readonly usesBundles: boolean;
}

interface Reach extends TestFile {
  /** Imports on the shortest way from the test to each file. */
  readonly distances: ReadonlyMap<string, number>;
}

/** Answers which tests a mutant of `file` is tried with: first those without programs. */
export function relatedTests(root: string): (file: string, group: Group) => TestFile[] {
  const imports = new Map<string, readonly string[]>();
  const importsOf = (file: string): readonly string[] => {
    const known = imports.get(file);
    if (known !== undefined) return known;
    const found = runtimeImports(root, file);
    imports.set(file, found);
    return found;
  };
  const tests = globSync('test/*.test.ts', { cwd: root })
    .filter((file) => !excluded.test(file))
    .toSorted()
    .map((file) => reachOf(root, file, importsOf));
  return (file, group) => {
    const alike = (test: string): number => commonWords(test, file);
    const near = tests
      .filter(({ distances }) => distances.has(file))
      .toSorted(
        (one, other) =>
          (one.distances.get(file) ?? 0) - (other.distances.get(file) ?? 0) ||
          alike(other.file) - alike(one.file),
      );
    const inProcess = near.filter(({ usesBundles }) => !usesBundles).slice(0, inProcessMax);
    const named: readonly string[] = ofGroup[group];
    const mapped = named.flatMap((name) =>
      tests.filter((test) => test.file === `test/${name}.test.ts`),
    );
    const tables = mapped.filter(({ usesBundles }) => !usesBundles);
    const withPrograms = new Set([...mapped, ...near].filter(({ usesBundles }) => usesBundles));
    return [...new Set([...inProcess, ...tables, ...[...withPrograms].slice(0, withProgramsMax)])];
  };
}

/** How many words of the test's name are in the path of the source. */
function commonWords(test: string, source: string): number {
  const words = new Set(source.split(/[^a-z]+/));
  const name = path.basename(test, '.test.ts').split('-');
  return name.filter((word) => words.has(word)).length;
}

function reachOf(
  root: string,
  file: string,
  importsOf: (file: string) => readonly string[],
): Reach {
  const distances = new Map([[file, 0]]);
  let usesBundles = false;
  for (const [from, distance] of distances) {
    const isTest = from.startsWith('test/');
    usesBundles ||= from === startsReader;
    usesBundles ||= isTest && startsPrograms.test(readFileSync(path.join(root, from), 'utf8'));
    for (const to of importsOf(from)) {
      if (!distances.has(to)) distances.set(to, distance + 1);
    }
  }
  return { file, usesBundles, distances };
}

/** Files that `file` loads, by their paths from the root; types are not loaded. */
function runtimeImports(root: string, file: string): readonly string[] {
  const text = readFileSync(path.join(root, file), 'utf8');
  const statement =
    /^(?:import|export)\s+(?!type\s)[^'";]*?from\s*'(\.[^']+)'|import\('(\.[^']+)'\)/gm;
  return [...text.matchAll(statement)].flatMap(([, named, called]) => {
    const to = path.normalize(path.join(path.dirname(file), named ?? called ?? ''));
    return /\.tsx?$/.test(to) && !to.startsWith('..') ? [to] : [];
  });
}
