/**
 * What passes to the terminal of a command that has none of its own: colours, links, and the motion
 * that progress needs, within the lines that the command has written. A list of what passes, each
 * with bounded numbers: nothing of it outlives the command, moves or erases what was there before.
 */

/** Styles; parts of a colour may be joined by ":". */
const styles = /^(?=.{0,64}$)(?:\d{0,3}(?:[;:]\d{0,3})*)m$/;
/** Forward, back, column, erase characters; erase a line, or what is below. */
const withinLine = /^(?:\d{0,4}[CDGX]|[012]?K|0?J)$/;
/** Up and down, also to the beginning of the line. */
const acrossLines = /^(?<count>\d{0,4})(?<final>[ABEF])$/;

export class TextSequences {
  /** Lines below the one that the command began on, and the most there were. */
  #row = 0;
  #rowMax = 0;

  newline(): void {
    this.#row += 1;
    this.#rowMax = Math.max(this.#row, this.#rowMax);
  }

  /** `sequence` is what follows the introducer. */
  csi(sequence: string): string | null {
    if (styles.test(sequence) || withinLine.test(sequence)) return `\x1b[${sequence}`;
    const { count, final } = acrossLines.exec(sequence)?.groups ?? {};
    if (count === undefined || final === undefined) return null;
    // A terminal takes 0 for 1.
    const asked = Math.max(1, Number(count));
    const isUp = final === 'A' || final === 'F';
    const rows = Math.min(asked, isUp ? this.#row : this.#rowMax - this.#row);
    this.#row += isUp ? -rows : rows;
    if (rows === 0) return null;
    return rows === asked ? `\x1b[${sequence}` : `\x1b[${rows}${final}`;
  }
}
