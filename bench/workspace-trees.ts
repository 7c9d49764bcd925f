/**
 * Trees of files like source code: twenty files a directory, log-normal sizes with a mean of
 * 4.5 KB. They lie below one directory of this user and are used again by later runs.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** Where the trees are; `--clean` removes it. */
export const treesDir = `/var/tmp/trl-bench-${process.getuid?.() ?? 0}`;
export const fileBytes = 4_500;

const filesPerDirectory = 20;
const directoriesPerDirectory = 100;
const sigma = 1.2;
/** Another layout makes another stamp, so that no tree of an older layout is used. */
const layout = 1;

export interface BenchTree {
  readonly name: string;
  readonly dir: string;
  readonly files: number;
  /** Relative to `dir`. */
  path(file: number): string;
}

/** Equal seeds give equal numbers: trees of two runs are the same. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Text about as compressible as source code. */
export function textOf(bytes: number, random: () => number): string {
  let text = '';
  while (text.length < bytes) {
    const word = Math.floor(random() * 3_000).toString(36);
    text += `${word.repeat(1 + (word.length % 3))}${random() < 0.12 ? '\n' : ' '}`;
  }
  return text.slice(0, bytes);
}

const directoryOf = (file: number): string => {
  const directory = Math.floor(file / filesPerDirectory);
  return `p${Math.floor(directory / directoriesPerDirectory)}/d${directory}`;
};

/**
 * A tree with so many files; made where there is none.
 *
 * @param secrets files named `*.secret` beside them, spread over the same directories
 */
export function openTree(files: number, secrets = 0): BenchTree {
  const name = secrets === 0 ? `${files}` : `${files}-${secrets}`;
  const dir = path.join(treesDir, `tree-${name}`);
  const tree = { name, dir, files, path: (file: number) => `${directoryOf(file)}/f${file}.ts` };
  const stamp = `${dir}.stamp`;
  const wanted = JSON.stringify({ layout, files, secrets });
  if (readOr(stamp) !== wanted) {
    rmSync(dir, { recursive: true, force: true });
    write(tree, secrets);
    writeFileSync(stamp, wanted);
  }
  return tree;
}

function write(tree: BenchTree, secrets: number): void {
  const random = randomFrom(tree.files);
  const block = textOf(2 ** 20, random);
  const mu = Math.log(fileBytes) - sigma ** 2 / 2;
  const directories = Math.ceil(tree.files / filesPerDirectory);
  process.stdout.write(`making a tree of ${tree.files} files in ${tree.dir} …\n`);
  for (let file = 0; file < tree.files; file += 1) {
    if (file % filesPerDirectory === 0) {
      mkdirSync(path.join(tree.dir, directoryOf(file)), { recursive: true, mode: 0o755 });
    }
    const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    const size = Math.min(200_000, Math.ceil(Math.exp(mu + sigma * normal)));
    const at = Math.floor(random() * (block.length - size));
    writeFileSync(path.join(tree.dir, tree.path(file)), `${file}\n${block.slice(at, at + size)}`);
  }
  for (let secret = 0; secret < secrets; secret += 1) {
    const beside = directoryOf((secret % directories) * filesPerDirectory);
    writeFileSync(path.join(tree.dir, beside, `s${secret}.secret`), `secret ${secret}\n`);
  }
}

function readOr(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}
