// Makes src/publish/background-words.json, the words that the publication gate takes for known to
// everybody: names of the web platform and of Python, keywords, and English as manuals use it.
//
//     tools/node tools/word-background.ts
//
// Read are the declarations of the web platform that TypeScript ships, the names of Python, and
// what several packages of node_modules and of Debian (documentation, Perl, the lexers of
// Pygments) have in common. Only marks in a Bloom filter are kept.
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { wordFilterBytes, wordFilterBits } from '../src/publish/background.ts';

const wordsMax = 44_000;
/** Projects that must have a word before it counts as everybody's. */
const projectsMin = 3;
const fileBytesMax = 2e6;
const root = path.dirname(import.meta.dirname);
const word = /[A-Za-z][A-Za-z0-9_]{2,31}/g;

/** Whole vocabularies. */
const declared = wordsOf(
  globSync('node_modules/@typescript/*/lib/lib.{dom,es*,webworker}*.d.ts', { cwd: root })
    .map((name) => withoutComments(readFileSync(path.join(root, name), 'utf8')))
    .concat(python()),
);
const projects = new Map<string, number>();
count(path.join(root, 'node_modules'), '{*,@*/*}', '**/*.{js,ts,md,mjs,cjs}');
count('/usr/share/doc', '*', '**/{*.md,*.txt,*.html,*.rst,README*,FAQ*,NEWS*}');
count('/usr/share/perl/5.36.0', '*', '**/*.p[ml]');
count('/usr/share/perl5', '*', '**/*.p[ml]');
count('/usr/lib/python3/dist-packages/pygments/lexers', '*.py', '');
count('/usr/share/bash-completion/completions', '*', '');

const common = [...projects]
  .filter(([name, projectsWithIt]) => projectsWithIt >= projectsMin && !declared.has(name))
  .toSorted((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
  .map(([name]) => name);
const kept = [...declared, ...common].slice(0, wordsMax);
const filter = new Uint8Array(wordFilterBytes);
for (const name of kept) {
  for (const bit of wordFilterBits(Buffer.from(name), 0, name.length)) {
    filter[bit >>> 3] = (filter[bit >>> 3] ?? 0) | (1 << (bit & 7));
  }
}
const about = `tools/word-background.ts: ${kept.length} words, ${declared.size} of them declared`;
const target = path.join(root, 'src/publish/background-words.json');
const data = { about, filter: Buffer.from(filter).toString('base64') };
writeFileSync(target, `${JSON.stringify(data, null, 2)}\n`);
console.log(about, `of ${declared.size + common.length}`);

function wordsOf(texts: readonly string[]): Set<string> {
  return new Set(texts.flatMap((text) => (text.match(word) ?? []).map((w) => w.toLowerCase())));
}

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[^]*?\*\//g, '');
}

/** Names that Python itself knows. */
function python(): string {
  const script =
    'import builtins, keyword, sys;' +
    'print(*dir(builtins), *keyword.kwlist, *sys.stdlib_module_names)';
  return execFileSync('python3', ['-c', script], { encoding: 'utf8' });
}

/** Counts, for each word, the entries of `directory` that have it. */
function count(directory: string, entries: string, files: string): void {
  if (!existsSync(directory)) return;
  for (const entry of globSync(entries, { cwd: directory }).toSorted()) {
    const place = path.join(directory, entry);
    const names = files === '' || statSync(place).isFile() ? [''] : globSync(files, { cwd: place });
    const texts = names
      .map((name) => path.join(place, name))
      .filter((file) => statSync(file, { throwIfNoEntry: false })?.isFile() === true)
      .filter((file) => statSync(file).size <= fileBytesMax)
      .map((file) => readFileSync(file, 'utf8'));
    for (const name of wordsOf(texts)) projects.set(name, (projects.get(name) ?? 0) + 1);
  }
}
