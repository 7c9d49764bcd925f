/** What an overlay's layers say by extended attributes and whiteouts, asked of a small helper. */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import type { BytePath } from '../../change.ts';
import { TrlError } from '../../errors.ts';
import { pathText } from '../byte-path.ts';
import { layerSystemCalls, layerScript } from './layer-script.ts';

/** `opaque`: hides what lies below in lower layers. `copied`: stood in a lower layer before. */
export type LayerQuery = 'opaque' | 'copied';

export interface LayerAttributesOptions {
  /** Default `/usr/bin/perl`. */
  readonly perl?: string;
  /** How long the helper stays without being asked. Default 10,000. */
  readonly idleMs?: number;
}

type Ask = 'o' | 'c' | 'w' | 'm' | 'u' | 'f';

interface Batch {
  readonly count: number;
  readonly answers: string[];
  resolve(answers: readonly string[]): void;
  reject(error: Error): void;
}

const letters = { opaque: 'o', copied: 'c' } as const;
const asksOfBatch = 4_096;
const accessDenied = '!13';
/** Only removing meets it: then there is nothing to do. */
const noSuchAttribute = '!61';

/**
 * The helper starts with the first ask and ends when it is idle, closed, or this process ends.
 * Paths are absolute, as bytes. All methods reject with a TrlError `SANDBOX_UNAVAILABLE` where the
 * helper cannot run.
 */
export class LayerAttributes implements Disposable {
  readonly #perl: string;
  readonly #idleMs: number;
  #child: ChildProcessWithoutNullStreams | null = null;
  #batches: Batch[] = [];
  #rest = '';
  #idle: NodeJS.Timeout | undefined;

  constructor(options: LayerAttributesOptions = {}) {
    this.#perl = options.perl ?? '/usr/bin/perl';
    this.#idleMs = options.idleMs ?? 10_000;
  }

  /** One answer a path; `null`: this process may not look. What is missing is neither. */
  async read(
    asked: readonly { readonly path: BytePath; readonly question: LayerQuery }[],
  ): Promise<(boolean | null)[]> {
    const said = await this.#ask(asked.map((one) => `${letters[one.question]}${one.path}`));
    return said.map((answer) => (answer === accessDenied ? null : answer === 'y'));
  }

  /** Makes whiteouts where nothing is. @throws TrlError INTERNAL_ERROR where one failed */
  async makeWhiteouts(paths: readonly BytePath[]): Promise<void> {
    await this.#do('w', paths, 'make a whiteout');
  }

  /** Makes directories hide what lies below them. @throws TrlError INTERNAL_ERROR as above */
  async makeOpaque(paths: readonly BytePath[]): Promise<void> {
    await this.#do('m', paths, 'make a directory opaque');
  }

  /** Undoes {@link makeOpaque}. @throws TrlError INTERNAL_ERROR where one failed */
  async clearOpaque(paths: readonly BytePath[]): Promise<void> {
    await this.#do('u', paths, 'make a directory opaque no longer');
  }

  /** Has files stand for nothing below. @throws TrlError INTERNAL_ERROR where one failed */
  async clearOrigin(paths: readonly BytePath[]): Promise<void> {
    await this.#do('f', paths, 'part a file from what it was copied from');
  }

  /** Ends the helper; a later ask starts another. */
  [Symbol.dispose](): void {
    clearTimeout(this.#idle);
    const child = this.#child;
    this.#child = null;
    child?.stdin.end();
    child?.kill('SIGKILL');
    this.#fail('it was closed');
  }

  async #do(ask: Ask, paths: readonly BytePath[], about: string): Promise<void> {
    const said = await this.#ask(paths.map((path) => `${ask}${path}`));
    const at = said.findIndex((answer) => answer !== 'y' && answer !== noSuchAttribute);
    if (at === -1) return;
    const name = pathText(paths[at] ?? '');
    throw new TrlError(
      'INTERNAL_ERROR',
      `Cannot ${about} at "${name}": errno ${said[at]?.slice(1)}`,
    );
  }

  async #ask(asks: readonly string[]): Promise<string[]> {
    const answers: Promise<readonly string[]>[] = [];
    for (let at = 0; at < asks.length; at += asksOfBatch) {
      answers.push(this.#send(asks.slice(at, at + asksOfBatch)));
    }
    return (await Promise.all(answers)).flat();
  }

  #send(asks: readonly string[]): Promise<readonly string[]> {
    const { promise, resolve, reject } = Promise.withResolvers<readonly string[]>();
    clearTimeout(this.#idle);
    this.#batches.push({ count: asks.length, answers: [], resolve, reject });
    const child = this.#running();
    child?.stdin.write(Buffer.from(`${asks.length}\0${asks.join('\0')}\0`, 'latin1'));
    return promise;
  }

  #running(): ChildProcessWithoutNullStreams | null {
    if (this.#child !== null) return this.#child;
    const calls = layerSystemCalls(process.arch);
    if (calls === null) {
      this.#fail(`system calls of ${process.arch} are not known`);
      return null;
    }
    const child = spawn(this.#perl, ['-e', layerScript, ...calls], {
      cwd: '/',
      env: { PATH: '/usr/bin:/bin' },
      stdio: 'pipe',
    });
    this.#child = child;
    this.#rest = '';
    let complaint = '';
    child.stdout.setEncoding('latin1').on('data', (text: string) => this.#hear(child, text));
    child.stderr.setEncoding('latin1').on('data', (text: string) => {
      complaint = `${complaint}${text}`.slice(0, 512);
    });
    // A write to a helper that died: its end says more.
    child.stdin.on('error', () => {});
    const end = (said: string): void => {
      if (this.#child !== child) return;
      this.#child = null;
      this.#fail(said);
    };
    child.once('error', (error) => end(error.message));
    child.once('close', (code, signal) => end(complaint.trim() || `it ended (${code ?? signal})`));
    return child;
  }

  #hear(child: ChildProcessWithoutNullStreams, text: string): void {
    if (this.#child !== child) return;
    const lines = `${this.#rest}${text}`.split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      const batch = this.#batches[0];
      if (batch === undefined) return;
      if (batch.answers.push(line) < batch.count) continue;
      this.#batches.shift();
      batch.resolve(batch.answers);
    }
    if (this.#batches.length === 0) {
      this.#idle = setTimeout(() => this[Symbol.dispose](), this.#idleMs).unref();
    }
  }

  #fail(said: string): void {
    const batches = this.#batches;
    this.#batches = [];
    for (const batch of batches) {
      batch.reject(
        new TrlError('SANDBOX_UNAVAILABLE', `Cannot read the layers of an overlay: ${said}`),
      );
    }
  }
}
