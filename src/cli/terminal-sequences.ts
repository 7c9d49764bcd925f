/** Which control sequences pass to a terminal. Each function answers what is sent, or `null`. */

/**
 * How far the terminal is the command's: `text`: it has none of its own, and `TextSequences` says
 * what passes; `display`: it draws on this one; `interactive`: and it reads the keys, and may
 * ask for mouse, focus and paste reports; `raw`: all passes.
 */
export type TerminalAccessLevel = 'text' | 'display' | 'interactive' | 'raw';

/**
 * Save and restore (7 8), keypad (= >), index, next line, tab stop, reverse index (D E H M),
 * reset (c), character sets, double-width lines.
 */
const escapes = /^(?:[78=>DEHMc]|[()*+][0-9A-Z<=>]|#[34568])$/;

/** Web links (OSC 8), and their end. */
const links = /^8;[\w=:.-]*;(?:https?:\/\/[!-~]*)?$/;

/**
 * Without a private marker: cursor movement, erasing, inserting, scrolling, repetition, tabs,
 * styles, margins, save and restore; cursor shape, soft reset, sideways scrolling. No number is
 * longer than a screen: what is repeated a million times keeps a terminal busy for long.
 */
const plainCsi = /^(?!.*\d{5})[\d;:]*(?:[@A-HIJKLMPSTXZ`abdefgmrsu]| q|!p| [@A])$/;
const selectiveErase = /^\?[\d;]*[JK]$/;
const modes = /^(?<marker>\??)(?<numbers>[\d;]*)(?<final>[hl])$/;

/** Insert (4) and automatic new line (20). */
const plainModes: ReadonlySet<string> = new Set(['4', '20']);
/** Display: reverse, origin, wrap, blink, cursor, alternate screen, synchronised output. */
const displayModes: ReadonlySet<string> = new Set(
  '5 6 7 12 25 45 47 1047 1048 1049 2026'.split(' '),
);
/** Keys and reports for the program that reads the keys: arrows, mouse, focus, paste. */
const inputModes: ReadonlySet<string> = new Set(
  '1 66 9 1000 1001 1002 1003 1004 1005 1006 1015 1016 2004'.split(' '),
);

/** `sequence` is what follows ESC. */
export function filterEscapeSequence(sequence: string, level: TerminalAccessLevel): string | null {
  if (level === 'raw') return `\x1b${sequence}`;
  return level !== 'text' && escapes.test(sequence) ? `\x1b${sequence}` : null;
}

/** `sequence` is what follows the introducer, without the terminator. */
export function filterOscSequence(sequence: string, level: TerminalAccessLevel): string | null {
  return level === 'raw' || links.test(sequence) ? `\x1b]${sequence}\x1b\\` : null;
}

/** `sequence` is what follows the introducer. Of a list of modes those that may be set remain. */
export function filterCsiSequence(
  sequence: string,
  level: Exclude<TerminalAccessLevel, 'text'>,
): string | null {
  if (level === 'raw' || plainCsi.test(sequence) || selectiveErase.test(sequence)) {
    return `\x1b[${sequence}`;
  }
  const { marker = '', numbers = '', final = '' } = modes.exec(sequence)?.groups ?? {};
  const passed = numbers.split(';').filter((mode) => maySet(marker, mode, level));
  return passed.length === 0 ? null : `\x1b[${marker}${passed.join(';')}${final}`;
}

function maySet(marker: string, mode: string, level: TerminalAccessLevel): boolean {
  if (marker === '') {
    return plainModes.has(mode);
  }
  return displayModes.has(mode) || (level === 'interactive' && inputModes.has(mode));
}

// What passes to the terminal of a command that has none of its own: colours, links, and the motion
// that progress needs, within the lines that the command has written. A list of what passes, each
// with bounded numbers: nothing of it outlives the command, moves or erases what was there before.

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
