/**
 * A copy of the tree in which mutants are tried, so that the checkout stays as it is. Everything
 * that a test leaves behind, files and processes, ends with the copy.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { mutated, type Mutant } from './draw.ts';
import type { TestFile } from './related.ts';

/** Not needed by a test of the groups, or made in the copy. */
const left = new Set(['.git', 'node_modules', 'bench', '.setup-lock']);

export type Outcome = 'passed' | 'failed' | 'timeout';

export interface TestRun {
  readonly outcome: Outcome;
  readonly ms: number;
}

export class TreeCopy implements Disposable {
  readonly #base = mkdtempSync(path.join(tmpdir(), 'mu-'));
  readonly #root = path.join(this.#base, 'tree');
  /** The child whose end ends all that it started. */
  #running: ReturnType<typeof spawn> | null = null;

  constructor(checkout: string) {
    cpSync(checkout, this.#root, {
      recursive: true,
      preserveTimestamps: true,
      verbatimSymlinks: true,
      filter: (from) =>
        !left.has(path.relative(checkout, from)) && !from.endsWith('mutants/node_modules'),
    });
    symlinkSync(path.join(checkout, 'node_modules'), path.join(this.#root, 'node_modules'));
  }

  /** Puts the mutant into the copy until the answer is disposed of. */
  apply(mutant: Mutant): Disposable {
    const file = path.join(this.#root, mutant.file);
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, mutated(text, mutant));
    return { [Symbol.dispose]: () => writeFileSync(file, text) };
  }

  /**
   * Those of `mutants` that the compiler takes: each is a file of its own beside the original, so
   * that one run checks them all.
   */
  compiling(mutants: readonly Mutant[]): Mutant[] {
    const sibling = ({ file }: Mutant, at: number): string => file.replace(/ts$/, `m${at}.ts`);
    const at = (file: string): string => path.join(this.#root, file);
    for (const [index, mutant] of mutants.entries()) {
      const text = readFileSync(at(mutant.file), 'utf8');
      writeFileSync(at(sibling(mutant, index)), mutated(text, mutant));
    }
    const settings = { extends: './tsconfig.json', include: ['src/**/*.m*.ts'], exclude: [] };
    writeFileSync(at('tsconfig.mutants.json'), JSON.stringify(settings));
    const words = ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.mutants.json'];
    const { stdout } = spawnSync(process.execPath, words, {
      cwd: this.#root,
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
    });
    const wrong = new Set([...stdout.matchAll(/^(\S+?)\(\d/gm)].map(([, file]) => file));
    for (const [index, mutant] of mutants.entries()) rmSync(at(sibling(mutant, index)));
    return mutants.filter((mutant, index) => !wrong.has(sibling(mutant, index)));
  }

  /** Runs one test file until its first failure. */
  async test({ file, usesBundles }: TestFile, timeoutMs: number): Promise<TestRun> {
    if (usesBundles) this.#build();
    const words = ['--disable-warning=ExperimentalWarning', '--test-reporter=tap', file];
    return this.#run([process.execPath, ...words], timeoutMs);
  }

  /** @throws Error when the bundles cannot be built */
  #build(): void {
    const { status, stderr } = spawnSync('tools/build-runner', { cwd: this.#root });
    if (status !== 0) throw new Error(`Cannot build the copy: ${String(stderr)}`);
  }

  async #run(command: readonly string[], timeoutMs: number): Promise<TestRun> {
    // Short: sockets lie in it.
    const scratch = path.join(this.#base, 't');
    mkdirSync(scratch, { recursive: true });
    const [program = '', ...words] = [...alone, ...command];
    const begun = performance.now();
    const child = spawn(program, words, {
      cwd: this.#root,
      detached: true,
      stdio: ['ignore', 'pipe', 'ignore'],
      env: {
        ...process.env,
        TMPDIR: scratch,
        TRL_START: 'private',
        NODE_COMPILE_CACHE: path.join(this.#base, 'cache'),
      },
    });
    this.#running = child;
    let outcome: Outcome = 'passed';
    const end = (how: Outcome): void => {
      if (outcome === 'passed') outcome = how;
      this.#end();
    };
    const late = setTimeout(() => end('timeout'), timeoutMs);
    let rest = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      if (lines.some(isFailure)) end('failed');
    });
    const [code]: [number | null] | unknown[] = await once(child, 'exit');
    clearTimeout(late);
    this.#running = null;
    if (code !== 0) end('failed');
    rmSync(scratch, { recursive: true, force: true, maxRetries: 3 });
    return { outcome, ms: Math.round(performance.now() - begun) };
  }

  #end(): void {
    const pid = this.#running?.pid;
    if (pid === undefined) return;
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {
      // It has ended by itself.
    }
  }

  [Symbol.dispose](): void {
    this.#end();
    rmSync(this.#base, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** One line of TAP: a test failed, of those that count. */
const isFailure = (line: string): boolean => /^\s*not ok (?!.*# [A-Z])/.test(line);

/** In a process namespace of its own, all that a test started ends with it. Needs root. */
const alone: readonly string[] = canBeAlone()
  ? ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc']
  : [];

function canBeAlone(): boolean {
  const words = ['--pid', '--fork', '--kill-child', '--mount-proc', 'true'];
  return existsSync('/proc/self/ns/pid') && spawnSync('unshare', words).status === 0;
}
