/**
 * Tells a runtime how much of its output was taken, on a channel that cannot hold it back. While
 * the reader is behind nothing is told, and the runtime stops when the window is full.
 */
export class ReceiveWindow {
  readonly #stepBytes: number;
  readonly #tell: (takenBytes: number) => void;
  #takenBytes = 0;
  #toldBytes = 0;
  #isHeld = false;

  /** `tell` gets all bytes taken so far. */
  constructor(windowBytes: number, tell: (takenBytes: number) => void) {
    // Early enough that a runtime which is not held back never waits for it.
    this.#stepBytes = Math.ceil(windowBytes / 4);
    this.#tell = tell;
  }

  addTaken(bytes: number): void {
    this.#takenBytes += bytes;
    this.#settle();
  }

  hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
    this.#settle();
  }

  #settle(): void {
    if (this.#isHeld || this.#takenBytes - this.#toldBytes < this.#stepBytes) return;
    this.#toldBytes = this.#takenBytes;
    this.#tell(this.#takenBytes);
  }
}
