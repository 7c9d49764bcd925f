/** One value, compiled: the symbols of its forms, and which windows of them identify it. */
import { emptySymbolBuffer, Squeezer } from './squeezer.ts';
import { isMonotonous, isStockPhrase, isWordlike, symbolHashes, toSymbols } from './symbols.ts';
import {
  everyWindowBytesMax,
  hashedSymbols,
  makeValueForms,
  symbolsMin,
  windowSymbols,
  type FormCoverage,
  type ValueForm,
} from './value-forms.ts';

/** A value of words alone needs a match of this many symbols. */
const wordsWindow = 24;
/** Forms with such windows have few different symbols by their nature. */
const bitsPoor = 24;

/** The symbols of a form within {@link CompiledValue.text}. */
export interface Needle {
  readonly start: number;
  readonly end: number;
  readonly window: number;
  readonly pad: number;
  /** Characters of the value before its first symbol and after its last one. */
  readonly lead: string;
  readonly tail: string;
  /** The characters themselves; with so few symbols, the text around a match must be checked. */
  readonly exact: string | null;
  /** So few symbols, all hexadecimal digits or a word: nothing may be between them. */
  readonly joined: boolean;
}

export interface CompiledValue {
  /** Symbols of all forms, separated by 0. */
  readonly text: Uint8Array;
  readonly needles: readonly Needle[];
  /** Offsets in `text` after each window; a hash covers the last 10 or, if short, 6 symbols. */
  readonly ends: Int32Array;
  readonly hashes: Int32Array;
  /** Whether the value consists of words. */
  readonly words: boolean;
  readonly shortEnds: Int32Array;
  readonly shortHashes: Int32Array;
}

/** A needle before it gets its place in the common text. */
interface Draft {
  readonly symbols: Uint8Array;
  readonly form: ValueForm;
  /** Offsets in the form's text of the first symbol, and after the last one. */
  readonly from: number;
  readonly to: number;
}

/** Whether letters beyond ASCII must count as symbols for this value. */
export const hasWideLetters = (value: string): boolean => /[\p{L}\p{N}]/u.test(beyondAscii(value));
const beyondAscii = (value: string): string => value.replaceAll(/\p{ASCII}/gu, '');

/** Compiles the forms of one value. */
export function compileValue(value: string, coverage: FormCoverage): CompiledValue {
  const drafts: Draft[] = [];
  const seen = new Set<string>();
  const wide = hasWideLetters(value);
  for (const bytes of [Buffer.from(value, 'utf8'), ...splitSecretParts(value)]) {
    for (const form of makeValueForms(bytes, coverage)) addDraft(drafts, seen, form, wide);
  }
  const symbols = toSymbols(Buffer.from(value, 'utf8'), false);
  const length = drafts.reduce((sum, draft) => sum + draft.symbols.length + 1, 1);
  const text = new Uint8Array(length);
  const needles: Needle[] = [];
  const long = new Windows();
  const short = new Windows();
  const stride = value.length <= everyWindowBytesMax ? 1 : value.length <= 4_096 ? 4 : 32;
  let start = 1;
  for (const draft of drafts) {
    const { symbols: drafted } = draft;
    text.set(drafted, start);
    const needle = needleOf(draft, start);
    if (drafted.length < hashedSymbols) {
      needles.push(needle);
      short.add(needle.end, symbolHashes(drafted, symbolsMin)[drafted.length] ?? 0);
    } else {
      needles.push(addWindows(long, text, needle, stride));
    }
    start = needle.end + 1;
  }
  return {
    text,
    needles,
    words: isWordlike(symbols, 0, symbols.length),
    ends: Int32Array.from(long.ends),
    hashes: Int32Array.from(long.hashes),
    shortEnds: Int32Array.from(short.ends),
    shortHashes: Int32Array.from(short.hashes),
  };
}

/** Text that reads differently in a stream: escapes, and numbers at the start of a line. */
export const contextDependentText = /[\\%&]|[^\P{Cc}\t\n\r]|0[xX]|^[ \t]*[0-9a-f]+[:\s]/imu;

function addDraft(drafts: Draft[], seen: Set<string>, form: ValueForm, wide: boolean): void {
  const bytes = Buffer.from(form.text, 'latin1');
  const edges = /^([^A-Za-z0-9]*)(?:.*?)([^A-Za-z0-9]*)$/s.exec(form.text);
  const to = bytes.length - (edges?.[2] ?? '').length;
  const found: Draft[] = [
    { symbols: toSymbols(bytes, wide), form, from: (edges?.[1] ?? '').length, to },
  ];
  // It must also be found as a stream reads it: within a line, and at the start of one.
  if (form.least < windowSymbols && contextDependentText.test(form.text)) {
    found.push(squeezed(form, '-', wide), squeezed(form, '', wide));
  }
  for (const draft of found) {
    const key = Buffer.from(draft.symbols).toString('latin1');
    if (draft.symbols.length < form.least || seen.has(key)) continue;
    seen.add(key);
    drafts.push(draft);
  }
}

/** The form as read after `before`, which has no symbols. */
function squeezed(form: ValueForm, before: string, wide: boolean): Draft {
  const bytes = Buffer.from(before + form.text, 'latin1');
  const symbols = emptySymbolBuffer(2 * bytes.length + 8);
  new Squeezer(wide, symbols).squeeze(bytes, 0, bytes.length, true);
  const { symbol, from, to, count } = symbols;
  return {
    symbols: symbol.slice(0, count),
    form,
    from: (from[0] ?? 0) - before.length,
    to: (to[count - 1] ?? 0) - before.length,
  };
}

function needleOf({ symbols, form, from, to }: Draft, start: number): Needle {
  const end = start + symbols.length;
  const plain = form.plain !== null || (form.least < hashedSymbols && form.pad === 0);
  return {
    start,
    end,
    window: Math.min(form.window, symbols.length),
    pad: form.pad,
    lead: plain ? form.text.slice(0, from) : '',
    tail: plain ? form.text.slice(to) : '',
    exact: symbols.length < hashedSymbols && form.pad === 0 ? form.text : null,
    joined: /^[0-9a-f\W_]*$/i.test(form.text) || isWordlike(symbols, 0, symbols.length),
  };
}

/**
 * Adds the windows of one needle. Windows of plain words, which occur in other texts as well, do
 * not count alone, unless the value has no others: `-----BEGIN PRIVATE KEY-----`.
 *
 * @returns the needle with the length of its windows
 */
function addWindows(into: Windows, text: Uint8Array, needle: Needle, stride: number): Needle {
  const { start, end, window } = needle;
  const hashes = symbolHashes(text.subarray(start, end), hashedSymbols);
  const before = into.ends.length;
  let due = start + window;
  for (let last = due; last <= end; last += 1) {
    if (last < due && last !== end) continue;
    const hash = hashes[last - start] ?? 0;
    const common =
      window < bitsPoor &&
      (isStockPhrase(hash) ||
        isWordlike(text, last - window, last) ||
        isMonotonous(text, last - window, last));
    if (common) continue;
    into.add(last, hash);
    due = last + stride;
  }
  if (into.ends.length > before) return needle;
  const longer = Math.min(wordsWindow, end - start);
  for (let last = start + longer; last <= end; last += stride) {
    into.add(last, hashes[last - start] ?? 0);
  }
  return { ...needle, window: longer };
}

/** Windows of one length, with their ends. */
class Windows {
  readonly ends: number[] = [];
  readonly hashes: number[] = [];

  add(end: number, hash: number): void {
    this.ends.push(end);
    this.hashes.push(hash);
  }
}

const partsMax = 64;
const partSymbolsMin = 8;
const partBytesMax = 24;

export function splitSecretParts(value: string): Buffer[] {
  if (!/[\s,;:=@|"'{}&?/]/.test(value)) return [];
  const parts = new Set<string>();
  for (const line of value.split(/[\r\n]+/)) {
    const fields = line.length <= 2_048 ? line.split(/[\s,;:=@|"'{}<>()[\]&?/\\]+/) : [];
    for (const part of [line.trim(), ...fields]) {
      if (part !== value && secretPart(part)) parts.add(part);
      if (parts.size >= partsMax) break;
    }
  }
  return Array.from(parts, (part) => Buffer.from(part, 'utf8'));
}

/** Letters and digits mixed, but no word with a number and no host name. */
function secretPart(part: string): boolean {
  if (part.length < partSymbolsMin || part.length > partBytesMax) return false;
  if (!/[0-9]/.test(part) || !/[A-Za-z]/.test(part)) return false;
  if (/^[a-z]+[0-9]{1,5}$|^[a-z-]+(?:\.[a-z0-9-]+)+$/i.test(part)) return false;
  const symbols = toSymbols(Buffer.from(part, 'utf8'), false);
  return symbols.length >= partSymbolsMin && !isWordlike(symbols, 0, symbols.length);
}
