/**
 * Output of commands without a terminal, as runs of text with colours and styles (ECMA-48 SGR).
 * Only SGR is interpreted; every other control is made visible, so nothing that a command prints
 * moves, hides or replaces what it printed before. Concealed text is shown.
 *
 * Every colour becomes one of 16, for which the style sheet has a readable shade: a command cannot
 * print in the colour of the background.
 */
import { splitTextFragments } from './visible.ts';

export interface AnsiTextStyle {
  /** 0–15: black red green yellow blue magenta cyan white, then their bright forms. */
  readonly colour: number | null;
  readonly background: number | null;
  readonly bold: boolean;
  readonly italic: boolean;
  readonly underline: boolean;
  readonly inverse: boolean;
}
export interface StyledText extends AnsiTextStyle {
  readonly text: string;
  /** A control that is shown, not interpreted. */
  readonly isEscape: boolean;
}

const plainStyle: AnsiTextStyle = {
  colour: null,
  background: null,
  bold: false,
  italic: false,
  underline: false,
  inverse: false,
};
/** A longer sequence is shown, in characters. */
const sequenceMax = 128;
const introducer = '\u001B[';
/** Most output: it needs no further check. */
const ordinary = /^[\x20-\x7E\n\t]*$/;

export class AnsiParser {
  #style = plainStyle;
  /** The beginning of a sequence, or CR, whose meaning depends on the next text. */
  #held = '';

  /** The runs of `text`, which continues the previous text. */
  push(text: string): StyledText[] {
    const all = this.#held + text;
    this.#held = '';
    const runs: StyledText[] = [];
    let at = 0;
    while (at < all.length) {
      const next = nextControl(all, at);
      this.#plain(runs, all.slice(at, next));
      if (next === all.length) break;
      const taken = this.#control(runs, all, next);
      if (taken === 0) {
        this.#held = all.slice(next);
        break;
      }
      at = next + taken;
    }
    return runs;
  }

  /** The buffered characters, made visible. */
  end(): StyledText[] {
    const runs: StyledText[] = [];
    this.#plain(runs, this.#held);
    this.#held = '';
    return runs;
  }

  /** The number of characters taken at `at`; 0: more text is needed. */
  #control(runs: StyledText[], all: string, at: number): number {
    if (all[at] === '\r') {
      if (at + 1 === all.length) return 0;
      if (all[at + 1] === '\n') return 1;
      this.#plain(runs, '\r');
      return 1;
    }
    const rest = all.slice(at, at + sequenceMax);
    if (rest.length < introducer.length) return introducer.startsWith(rest) ? 0 : 1;
    // oxlint-disable-next-line no-control-regex
    const found = /^\u001B\[([\d;:]*)m/.exec(rest);
    if (found !== null) {
      this.#style = styleAfter(this.#style, found[1] ?? '');
      return found[0].length;
    }
    // oxlint-disable-next-line no-control-regex
    const mayGoOn = /^\u001B\[[\d;:]*$/.test(rest) && rest.length < sequenceMax;
    if (mayGoOn) return 0;
    this.#plain(runs, '\u001B');
    return 1;
  }

  #plain(runs: StyledText[], text: string): void {
    if (ordinary.test(text)) {
      this.#add(runs, text, false);
      return;
    }
    for (const { kind, text: shown } of splitTextFragments(text)) {
      const line = kind === 'escape' && shown === '\\n';
      const tab = kind === 'escape' && shown === '\\t';
      const drawn = line ? '\n' : tab ? '\t' : shown;
      this.#add(runs, drawn, kind === 'escape' && !line && !tab);
    }
  }

  #add(runs: StyledText[], text: string, escape: boolean): void {
    if (text === '') return;
    const last = runs.at(-1);
    if (last !== undefined && last.isEscape === escape && sameStyle(last, this.#style)) {
      runs[runs.length - 1] = { ...last, text: last.text + text };
    } else {
      runs.push({ ...this.#style, text, isEscape: escape });
    }
  }
}

function nextControl(text: string, from: number): number {
  for (let at = from; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === 0x1b || unit === 0x0d) return at;
  }
  return text.length;
}

const sameStyle = (a: AnsiTextStyle, b: AnsiTextStyle): boolean =>
  a.colour === b.colour &&
  a.background === b.background &&
  a.bold === b.bold &&
  a.italic === b.italic &&
  a.underline === b.underline &&
  a.inverse === b.inverse;

function styleAfter(before: AnsiTextStyle, parameters: string): AnsiTextStyle {
  // A colon separates parts of one parameter (`38:2::r:g:b`), a semicolon parameters.
  const codes = parameters
    .replaceAll(/(?<kind>[34]8):2:\d*:(?=\d+:\d+:\d+)/g, '$<kind>:2:')
    .split(/[;:]/)
    .map((code) => (code === '' ? 0 : Number(code)));
  let style = before;
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at] ?? 0;
    if (code === 38 || code === 48) {
      const [colour, taken] = extended(codes.slice(at + 1));
      style = code === 38 ? { ...style, colour } : { ...style, background: colour };
      at += taken;
    } else {
      style = styleOf(style, code);
    }
  }
  return style;
}

function styleOf(style: AnsiTextStyle, code: number): AnsiTextStyle {
  if (code === 0) return plainStyle;
  if (code === 1) return { ...style, bold: true };
  if (code === 3) return { ...style, italic: true };
  if (code === 4 || code === 21) return { ...style, underline: true };
  if (code === 7) return { ...style, inverse: true };
  if (code === 22) return { ...style, bold: false };
  if (code === 23) return { ...style, italic: false };
  if (code === 24) return { ...style, underline: false };
  if (code === 27) return { ...style, inverse: false };
  if (code >= 30 && code <= 37) return { ...style, colour: code - 30 };
  if (code === 39) return { ...style, colour: null };
  if (code >= 40 && code <= 47) return { ...style, background: code - 40 };
  if (code === 49) return { ...style, background: null };
  if (code >= 90 && code <= 97) return { ...style, colour: code - 82 };
  if (code >= 100 && code <= 107) return { ...style, background: code - 92 };
  return style;
}

/** The colour after 38 or 48, and the number of its codes. */
function extended(codes: readonly number[]): [number | null, number] {
  const [kind, a = 0, b = 0, c = 0] = codes;
  if (kind === 5) return [ofPalette(a), 2];
  if (kind === 2) return [nearest(a, b, c), 4];
  return [null, codes.length];
}

function ofPalette(index: number): number {
  if (index < 16) return index;
  if (index >= 232) return nearest(...grey((index - 232) * 10 + 8));
  const cube = index - 16;
  const level = (step: number): number => (step === 0 ? 0 : step * 40 + 55);
  return nearest(level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6));
}

const grey = (level: number): [number, number, number] => [level, level, level];

/** The most similar of the 16: its hue by the strongest parts, bright if they are. */
function nearest(red: number, green: number, blue: number): number {
  const most = Math.max(red, green, blue);
  const least = Math.min(red, green, blue);
  if (most - least < 40) return most < 64 ? 0 : most < 150 ? 8 : most < 220 ? 7 : 15;
  const limit = (most + least) / 2;
  const hue = (red > limit ? 1 : 0) | (green > limit ? 2 : 0) | (blue > limit ? 4 : 0);
  return hue + (most > 200 ? 8 : 0);
}
