/**
 * npm run bench:redaction-source [-- --spans] [--most N] [DIR …]
 *
 * How much source code comes back altered: reads the source files of packages that lie on this
 * machine (this checkout's node_modules, Python, Perl, C headers), without a network, and redacts
 * each as the output of a command. Exit code 1 above the target. `--spans`: each with its rule and
 * its line. These are published packages: what is printed is no secret of anybody.
 */
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { openRedactor } from '../src/redaction/open-redactor.ts';
import type { SecretReplacement } from '../src/redaction/stream-redactor.ts';
import { RedactionTags } from '../src/redaction/redaction-tags.ts';

const alteredMax = 0.003;
const bytesMax = 2e6;
const source = /\.(?:[cm]?[jt]sx?|py|md|h|hpp|p[lm]|pod)$/u;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    spans: { type: 'boolean', default: false },
    /** Files of one root; they are taken evenly. */
    most: { type: 'string', default: '20000' },
  },
});
const root = path.dirname(import.meta.dirname);
const roots =
  positionals.length > 0
    ? positionals
    : [
        path.join(root, 'node_modules'),
        '/usr/lib/python3',
        '/usr/lib/python3.11',
        '/usr/lib/python3.12',
        '/usr/lib/python3.13',
        '/usr/share/perl',
        '/usr/include',
      ];
const tags = new RedactionTags(randomBytes(32));
const say = (line: string): void => void process.stdout.write(`${line}\n`);

function filesOf(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && source.test(entry.name))
      .map((entry) => path.join(entry.parentPath, entry.name))
      .toSorted();
  } catch {
    return [];
  }
}

function spread(all: readonly string[], most: number): readonly string[] {
  const step = Math.max(1, all.length / most);
  return all.filter((_, at) => Math.floor(at / step) !== Math.floor((at - 1) / step));
}

function redactionsOf(bytes: Uint8Array): SecretReplacement[] {
  const found: SecretReplacement[] = [];
  const options = { profile: 'balanced', thresholds: {}, patterns: [] } as const;
  const told = (redaction: SecretReplacement): void => void found.push(redaction);
  const stream = openRedactor({ options, prior: 'none', index: null, tags, onRedaction: told });
  stream.push(bytes);
  stream.end();
  return found;
}

/** The line around a span, with the span in `«»`. */
function shown(bytes: Buffer, { from, to }: SecretReplacement): string {
  const start = Math.max(bytes.lastIndexOf(10, from) + 1, from - 60);
  const feed = bytes.indexOf(10, to);
  const end = Math.min(feed === -1 ? bytes.length : feed, to + 40);
  const hidden = bytes.subarray(from, Math.min(to, from + 120)).toString('latin1');
  const before = bytes.subarray(start, from).toString('latin1');
  return `${before}«${hidden}»${bytes.subarray(to, end).toString('latin1')}`.replaceAll('\n', '⏎');
}

let [files, altered, spans] = [0, 0, 0];
for (const folder of roots) {
  let [here, alteredHere] = [0, 0];
  for (const file of spread(filesOf(folder), Number(values.most))) {
    const bytes = readFileSync(file);
    if (bytes.length > bytesMax) continue;
    const found = redactionsOf(bytes);
    here += 1;
    if (found.length === 0) continue;
    alteredHere += 1;
    spans += found.length;
    if (!values.spans) continue;
    for (const redaction of found) {
      const { rule, key } = redaction.finding;
      say(`${file}\t${rule}\t${key ?? ''}\t${shown(bytes, redaction).trim()}`);
    }
  }
  files += here;
  altered += alteredHere;
  if (here > 0) say(`${folder}: ${alteredHere} of ${here} files altered`);
}
const share = files === 0 ? 0 : altered / files;
say(`${altered} of ${files} source files altered, ${spans} spans: ${(share * 100).toFixed(2)} %`);
say(`target: at most ${alteredMax * 100} %`);
if (share > alteredMax) process.exitCode = 1;
