/**
 * Findings that people accepted, by trace: a trace represents the same finding in the same bytes.
 */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { errnoCodeOf } from '../../workspace/byte-path.ts';

const tracesMax = 10_000;

export class AcceptedTraces {
  readonly #file: string;

  /** @param file in a directory that is private to the user */
  constructor(file: string) {
    this.#file = file;
  }

  /** @throws the system's error if the file exists and cannot be read */
  traces(): ReadonlySet<string> {
    return new Set(this.#read());
  }

  /** On disk when it returns. */
  add(traces: readonly string[]): void {
    const all = [...new Set([...this.#read(), ...traces])].slice(-tracesMax);
    mkdirSync(dirname(this.#file), { recursive: true, mode: 0o700 });
    writeFileSync(`${this.#file}.new`, `${all.join('\n')}\n`, { mode: 0o600, flush: true });
    renameSync(`${this.#file}.new`, this.#file);
  }

  #read(): string[] {
    try {
      const lines = readFileSync(this.#file, 'utf8').split('\n');
      return lines.filter((line) => /^t-[0-9a-f]{16}$/.test(line));
    } catch (error) {
      if (errnoCodeOf(error) === 'ENOENT') return [];
      throw error;
    }
  }
}
