/**
 * Passes text and harmless control sequences to a terminal and takes out the rest, byte by byte.
 *
 * A list of what passes, as what a terminal may understand has no end. To a command that draws on
 * the terminal: colours and styles, cursor movement, erasing, scrolling, tabs, modes of display,
 * character sets, links to the web; to one that has none, what `TextSequences` allows. Taken out
 * are above all: the clipboard (OSC 52), titles (OSC 0 1 2), every query that makes the terminal
 * type an answer (DA, DSR, DECRQM, DECRQSS, XTVERSION, colours, checksums), DCS, APC, PM, SOS,
 * window operations, printing, key programming. Sequences begin with ESC or with a C1 control in
 * UTF-8 (C2 80–9F); bytes that are not UTF-8 become U+FFFD, so no 8-bit C1 remains.
 *
 * Sequences as in ECMA-48 and xterm's ctlseqs, states as in VT500 parsers (vt100.net/emu).
 */
import type { TerminalModes } from './terminal-modes.ts';
import {
  TextSequences,
  filterCsiSequence,
  filterEscapeSequence,
  filterOscSequence,
} from './terminal-sequences.ts';
import type { TerminalAccessLevel } from './terminal-sequences.ts';

/** A sequence longer than this is taken out, in `bytes`. */
const heldBytesMax = 2_048;

const esc = 0x1b;
const bel = 0x07;
const cancel = 0x18;
const substitute = 0x1a;
const backslash = 0x5c;
const del = 0x7f;
const newline = 0x0a;
const shiftOut = 0x0e;
const replacement = [0xef, 0xbf, 0xbd];
/** DCS, SOS, PM, APC, and the title of `screen`: the byte behind ESC. */
const stringIntroducers: ReadonlySet<number> = new Set([0x50, 0x58, 0x5e, 0x5f, 0x6b]);
/** The C1 forms of DCS, SOS, CSI, OSC, PM, APC. */
const c1Introducers: ReadonlySet<number> = new Set([0x90, 0x98, 0x9b, 0x9d, 0x9e, 0x9f]);

type State =
  | 'text'
  | 'escape'
  | 'escape-intermediate'
  | 'csi'
  | 'osc'
  /** DCS, APC, PM, SOS: nothing of it passes. */
  | 'string';

export class TerminalFilter {
  readonly #level: TerminalAccessLevel;
  readonly #modes: TerminalModes | null;
  readonly #text: TextSequences | null;
  readonly #isPlain: (byte: number) => boolean;
  #state: State = 'text';
  /** The sequence so far, without its introducer. */
  #held: number[] = [];
  /** Whether the sequence grew too long: it is followed to its end and taken out. */
  #tooLong = false;
  /** In a string: whether ESC came, which ends it. */
  #escaped = false;
  /** Bytes of a character that is not complete, and how many it takes. */
  #character: number[] = [];
  #characterBytes = 0;
  #out: number[] = [];

  /** @param modes records the sequences that pass, to reset them later */
  constructor(level: TerminalAccessLevel, modes: TerminalModes | null = null) {
    this.#level = level;
    this.#modes = modes;
    this.#text = level === 'text' ? new TextSequences() : null;
    this.#isPlain = level === 'text' ? isText : isPlain;
  }

  /** What of `chunk`, and of what was held before, may pass now. */
  push(chunk: Uint8Array): Uint8Array {
    const isPlainText = this.#state === 'text' && this.#characterBytes === 0;
    if (isPlainText && chunk.every((byte) => this.#isPlain(byte) && byte !== shiftOut)) {
      for (const byte of chunk) if (byte === newline) this.#text?.newline();
      return chunk;
    }
    for (const byte of chunk) {
      this.#take(byte);
    }
    return this.#flush();
  }

  /** What remains at the end: an incomplete character is replaced, a sequence taken out. */
  end(): Uint8Array {
    this.#breakCharacter();
    this.#enter('text');
    return this.#flush();
  }

  #flush(): Uint8Array {
    const out = Uint8Array.from(this.#out);
    this.#out = [];
    return out;
  }

  #take(byte: number): void {
    if (this.#characterBytes > 0) {
      if (isContinuation(this.#character, byte)) {
        this.#character.push(byte);
        if (this.#character.length === this.#characterBytes) {
          const character = this.#character;
          this.#character = [];
          this.#characterBytes = 0;
          this.#takeCharacter(character);
        }
        return;
      }
      this.#breakCharacter();
    }
    if (byte < 0x80) {
      this.#takeAscii(byte);
      return;
    }
    this.#characterBytes = lengthOf(byte);
    if (this.#characterBytes === 0) {
      this.#takeCharacter(replacement);
    } else {
      this.#character = [byte];
    }
  }

  #breakCharacter(): void {
    if (this.#characterBytes > 0) {
      this.#character = [];
      this.#characterBytes = 0;
      this.#takeCharacter(replacement);
    }
  }

  /** A character outside ASCII. */
  #takeCharacter(bytes: readonly number[]): void {
    const [lead = 0, second = 0] = bytes;
    if (lead === 0xc2 && second < 0xa0) {
      this.#takeC1(second);
    } else if (this.#state === 'osc') {
      this.#hold(bytes);
    } else if (this.#state !== 'string') {
      // No sequence but a string holds such a character: the sequence is over.
      this.#enter('text');
      this.#out.push(...bytes);
    }
  }

  #takeC1(byte: number): void {
    if (byte === 0x9c) {
      this.#endString();
      return;
    }
    // The same as ESC and the byte 0x40 below; others than introducers have no use in UTF-8.
    this.#enter('text');
    if (c1Introducers.has(byte)) {
      this.#enter('escape');
      this.#takeAscii(byte - 0x40);
    }
  }

  #takeAscii(byte: number): void {
    if (this.#state === 'osc' || this.#state === 'string') {
      this.#takeInString(byte);
    } else if (byte === esc) {
      this.#enter('escape');
    } else if (byte === cancel || byte === substitute) {
      this.#enter('text');
    } else if (byte < 0x20) {
      // Terminals obey a control within a sequence at once and then go on with the sequence.
      if (!this.#isPlain(byte)) return;
      this.#out.push(byte);
      if (byte === newline) this.#text?.newline();
      if (byte === shiftOut) this.#modes?.shifted();
    } else if (byte === del) {
      return;
    } else if (this.#state === 'text') {
      this.#out.push(byte);
    } else if (this.#state === 'csi') {
      this.#takeInCsi(byte);
    } else {
      this.#takeInEscape(byte);
    }
  }

  #takeInEscape(byte: number): void {
    const first = this.#state === 'escape';
    if (byte < 0x30) {
      this.#state = 'escape-intermediate';
      this.#hold([byte]);
      return;
    }
    if (first && byte === 0x5b) {
      this.#enter('csi');
    } else if (first && byte === 0x5d) {
      this.#enter('osc');
    } else if (first && stringIntroducers.has(byte)) {
      this.#enter('string');
    } else {
      const sequence = this.#sequence(byte);
      const passed = filterEscapeSequence(sequence, this.#level);
      this.#enter('text');
      if (passed !== null) this.#modes?.escape(sequence);
      this.#emit(passed);
    }
  }

  #takeInCsi(byte: number): void {
    if (byte < 0x40) {
      this.#hold([byte]);
      return;
    }
    const sequence = this.#sequence(byte);
    const passed =
      this.#level === 'text'
        ? (this.#text?.csi(sequence) ?? null)
        : filterCsiSequence(sequence, this.#level);
    this.#enter('text');
    // Without the introducer, ESC and "[".
    if (passed !== null) this.#modes?.csi(passed.slice(2));
    this.#emit(passed);
  }

  #takeInString(byte: number): void {
    if (this.#escaped) {
      this.#escaped = false;
      if (byte === backslash) {
        this.#endString();
      } else {
        // A string that is cut off by another sequence is void.
        this.#enter('escape');
        this.#takeAscii(byte);
      }
    } else if (byte === esc) {
      this.#escaped = true;
    } else if (byte === cancel || byte === substitute) {
      this.#enter('text');
    } else if (this.#state === 'osc') {
      if (byte === bel) {
        this.#endString();
      } else {
        this.#hold([byte]);
      }
    }
  }

  #endString(): void {
    const sequence = this.#sequence();
    const passed = this.#state === 'osc' ? filterOscSequence(sequence, this.#level) : null;
    this.#enter('text');
    if (passed !== null) this.#modes?.osc(sequence);
    this.#emit(passed);
  }

  #enter(state: State): void {
    this.#state = state;
    this.#held = [];
    this.#tooLong = false;
    this.#escaped = false;
  }

  #hold(bytes: readonly number[]): void {
    this.#tooLong ||= this.#held.length + bytes.length > heldBytesMax;
    if (!this.#tooLong) {
      this.#held.push(...bytes);
    }
  }

  /** What was held and `last`; nothing that passes when it grew too long. */
  #sequence(...last: number[]): string {
    return this.#tooLong ? '' : Buffer.from([...this.#held, ...last]).toString();
  }

  #emit(sequence: string | null): void {
    if (sequence !== null) {
      this.#out.push(...Buffer.from(sequence));
    }
  }
}

/** Printable ASCII and the controls that pass: BEL, BS, HT, LF, VT, FF, CR, SO, SI. */
function isPlain(byte: number): boolean {
  return (byte >= 0x20 && byte < del) || (byte >= 0x07 && byte <= 0x0f);
}

/** The same for a command without a terminal: no shift, and no motion that it is not known for. */
function isText(byte: number): boolean {
  return isPlain(byte) && (byte < 0x0b || byte === 0x0d || byte >= 0x20);
}

/** Bytes of the character that `lead` begins, 0 when it begins none. */
function lengthOf(lead: number): number {
  if (lead >= 0xf0) {
    return lead <= 0xf4 ? 4 : 0;
  }
  if (lead >= 0xe0) {
    return 3;
  }
  return lead >= 0xc2 ? 2 : 0;
}

/** Second bytes that keep out overlong forms, surrogates and what lies beyond U+10FFFF. */
const secondBytes: ReadonlyMap<number, readonly [number, number]> = new Map([
  [0xe0, [0xa0, 0xbf]],
  [0xed, [0x80, 0x9f]],
  [0xf0, [0x90, 0xbf]],
  [0xf4, [0x80, 0x8f]],
]);

function isContinuation(character: readonly number[], byte: number): boolean {
  const [lead = 0] = character;
  const [from, to] = (character.length === 1 ? secondBytes.get(lead) : undefined) ?? [0x80, 0xbf];
  return byte >= from && byte <= to;
}
