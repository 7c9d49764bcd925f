/**
 * How much one capture may tell. All of it is held in memory and kept as one text, and a command
 * can make a million names of 16 KiB in seconds.
 */
import type { BytePath } from '../../change.ts';

const entriesMax = 500_000;
/** Of all paths, as they are written in JSON: a tree of half a million files has less. */
const bytesMax = 32 * 1024 * 1024;
/** One byte takes so many, as `\u0001`. */
const escapedBytes = 6;
/** Of holes in files: a command makes them for nothing, and they take time to read. */
const holesMax = 1024 * 1024 * 1024;
const plain = /^[ !#-[\]-~]*$/;

export class CaptureBudget {
  #entries = entriesMax;
  #bytes = bytesMax;
  #holes = holesMax;

  /** @param known paths that are told already, and are kept with what is new */
  constructor(known: Iterable<BytePath> = []) {
    for (const path of known) this.take(path);
  }

  /** `false`: there is no room for it. */
  take(path: BytePath): boolean {
    this.#entries -= 1;
    this.#bytes -= plain.test(path) ? path.length : path.length * escapedBytes;
    return this.#entries >= 0 && this.#bytes >= 0;
  }

  /** Whether a file may be read: `size` and `written` in bytes, `written` without its holes. */
  takeHoles(size: number, written: number): boolean {
    const holes = Math.max(0, size - written);
    if (holes > this.#holes) return false;
    this.#holes -= holes;
    return true;
  }
}
