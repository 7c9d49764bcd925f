/**
 * Runs test files as `node --test` does, but the longest first: what begins last ends last, alone.
 *
 *   run-tests.ts CONCURRENCY TIMEOUT_MS SKIPS FILE|GLOB…
 *
 * SKIPS is the file to which the skipped are written. Exits 1 where a test failed, or where the
 * files have not ended within six times TIMEOUT_MS.
 */
import { createWriteStream, globSync } from 'node:fs';
import path from 'node:path';
import { finished } from 'node:stream/promises';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import skips from './skips.ts';

/** Files that take long, and wait more than they work. */
const longest: readonly string[] = [
  'sandbox-cases',
  'nasty',
  'docs-run',
  'workspace-denied',
  'console-e2e',
  'workspace-reload',
  'workspace-reload-kill',
  'redactor-attack',
  'session',
  'workspace-cli-real',
  'sandbox-user',
  'policy-daemon',
  'mcp-eras',
  'python-client',
  'cli-run',
  'policy-attack',
  'changes-battery',
  'client-conformance',
  'door-socket',
  'workspace-everyday',
  'workspace-attack',
  'identity-cli',
];

const [concurrency = '', timeout = '', skipped = '', ...patterns] = process.argv.slice(2);
const rank = (file: string): number => {
  const at = longest.indexOf(path.basename(file, '.test.ts'));
  return at === -1 ? longest.length : at;
};
const found = patterns.flatMap((pattern) => {
  const files = globSync(pattern);
  if (files.length === 0) console.error(`npm test: no test file is "${pattern}"`);
  if (files.length === 0) process.exitCode = 1;
  return files;
});
const files = [...new Set(found.map((file) => path.resolve(file)))].toSorted(
  (one, other) => rank(one) - rank(other) || (one < other ? -1 : 1),
);
const execArgv = [`--test-timeout=${timeout}`];
const tests = run({ files, concurrency: Number(concurrency), timeout: Number(timeout), execArgv });
// A test that failed may have left what keeps its file's process alive, for which that limit does
// nothing. (`forceExit` ends such files, and others before their last tests.)
const going = new Set(files);
tests.on('test:complete', ({ file, name, nesting }) => {
  if (nesting === 0 && file !== undefined && name === file) going.delete(file);
});
setTimeout(
  () => {
    console.error(`npm test: not ended in time, of these files: ${[...going].join(' ')}`);
    process.exit(1);
  },
  6 * Number(timeout),
).unref();
tests.on('test:fail', ({ todo }) => {
  if (todo === undefined || todo === false) process.exitCode = 1;
});
const report = tests.compose(skips).pipe(createWriteStream(skipped));
tests.compose(new spec()).pipe(process.stdout);
await finished(report);
