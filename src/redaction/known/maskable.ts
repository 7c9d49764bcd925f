/**
 * Which values can be hidden wherever they are written, the index of these and the weak ones, and
 * the search for them in small complete texts: a command, a message, the name of a file.
 */
import type { KnownValue } from '../../redacted.ts';
import { wordiness } from '../detect/bigram.ts';
import type { SecretFinding } from '../secret-finding.ts';
import { contextDependentText } from './compiled-value.ts';
import { KnownIndex } from './known-index.ts';
import { KnownMasker } from './known-masker.ts';
import { symbolsMin } from './value-forms.ts';
import { WeakValues } from './weak-values.ts';

export type Maskable =
  | { readonly ok: true; readonly isWeak: boolean }
  /** One sentence, without the value and its length. */
  | { readonly ok: false; readonly reason: string };

/** The longest value, in bytes of UTF-8. */
export const maskableBytesMax = 64 * 1024;

const commonWords = new Set(
  (
    'access account actions address admin administrator backend backup branch bucket build cache ' +
    'change changeme client cloud cluster commit config configuration connection console ' +
    'container content context cookie create current custom database debug default delete demo ' +
    'deploy deployment develop developer development disable disabled docker domain download ' +
    'enable enabled endpoint engine enterprise environment example external failed failure false ' +
    'feature foobar frontend function gateway general github global google guest header health ' +
    'hidden hostname hunter image index install integration internal kubernetes letmein library ' +
    'linux local localhost login manager master memory message method metrics middleware minute ' +
    'mobile module monitor mysecret mysql network nginx normal notify nothing number object ' +
    'office ' +
    'option oracle output package parameter passphrase password passwort permission personal ' +
    'platform plugin policy postgres postgresql preview private process prod production profile ' +
    'program project provider proxy public python qwerty qwertyuiop random readonly redis region ' +
    'registry release remote report repository request resource response restricted result root ' +
    'runtime sample sandbox schema script search secret security select server service session ' +
    'setting settings shared simple source staging standard static status storage string success ' +
    'superuser support system target template temporary terraform testing token trusted ubuntu ' +
    'undefined unknown update upload username utility value variable version warning webhook ' +
    'website welcome windows worker workspace iloveyou monkey dragon sunshine football baseball'
  ).split(' '),
);

/**
 * A value of one or two words, or with fewer than six letters or digits, looks like ordinary text.
 * It is weak: it is hidden only in a context that shows it is meant, and causes no refusal.
 */
export function checkMaskable(value: string): Maskable {
  if (Buffer.byteLength(value, 'utf8') > maskableBytesMax) {
    return {
      ok: false,
      reason: `It is longer than ${maskableBytesMax} bytes and cannot be masked.`,
    };
  }
  const isWeak = lettersIn(value) < symbolsMin || isCommon(value) || isWords(value);
  const mayBeOther = contextDependentText.test(value) || openEntity.test(value);
  if (!isWeak && value.length <= triedLengthMax && mayBeOther && !hidesItself(value)) {
    return {
      ok: false,
      reason:
        `It has fewer than ${symbolsMin} letters or digits where it is read as escapes, ` +
        'and cannot be masked.',
    };
  }
  return { ok: true, isWeak };
}

/** With a semicolon after it, the value would be an entity. */
const openEntity = /&#?[0-9a-z]*$/i;
/** Longer values have more than enough symbols outside of escapes. */
const triedLengthMax = 4_096;
const lettersIn = (text: string): number => text.match(/[\p{L}\p{N}]/gu)?.length ?? 0;

/** Whether the value is hidden where it is printed unchanged. */
function hidesItself(value: string): boolean {
  const index = new KnownIndex([{ name: 'value', value, tag: '' }]);
  const left = Math.max(symbolsMin, Math.floor(lettersIn(value) / 4));
  return [
    ['', ''],
    ['\n', '\n'],
    [': ', ' '],
    ['"', '",'],
    ['=', ';'],
  ].every(([before, after]) => {
    const { text, hits } = maskText(index, `${before}${value}${after}`);
    return hits.length > 0 && lettersIn(text) < left;
  });
}

/** A word that people choose, counting digits, or one repeated character. */
function isCommon(value: string): boolean {
  const plain = value.trim().toLowerCase();
  if (commonWords.has(plain) || commonWords.has(plain.replace(/[\d!@#$%.?*_-]{1,4}$/, ''))) {
    return true;
  }
  return /^(.)\1*$/s.test(plain) || '01234567890123456789'.includes(plain) || plain === '987654321';
}

/** Bits for each pair from which letters look like a word; few letters have only few pairs. */
const wordBitsMin = (letters: number): number => (letters < 5 ? 0.5 : 1);
const wordsLettersMax = 16;
const oneOrTwoWords =
  /^[A-Z]?[a-z]{2,11}(?:[-_. ]?[A-Z]?[a-z]{2,11})?$|^[A-Z]{3,12}(?:[-_. ][A-Z]{3,12})?$/;

/** One or two words, as names of people, projects and directories are. */
function isWords(value: string): boolean {
  if (lettersIn(value) > wordsLettersMax || !oneOrTwoWords.test(value)) return false;
  const words = value.toLowerCase().split(/[-_. ]/);
  return words.every((word) => wordiness(word, 0, word.length) > wordBitsMin(word.length));
}

/**
 * @param grownFrom an index of the first of these values, whose tables are copied
 * @throws TrlError `QUOTA_EXCEEDED` above 256 values
 */
export function buildKnownIndex(
  values: readonly KnownValue[],
  grownFrom: KnownIndex | null = null,
): KnownIndex {
  const isWeak = new Set(
    values.filter(({ value }) => {
      const check = checkMaskable(value);
      return check.ok && check.isWeak;
    }),
  );
  const strong = values.filter((one) => !isWeak.has(one));
  const weak = isWeak.size === 0 ? null : new WeakValues([...isWeak]);
  return new KnownIndex(strong, grownFrom, weak);
}

export interface MaskedText {
  readonly text: string;
  /** Names of the values that were found, each once, without weak ones. */
  readonly hits: string[];
}

/** `text` with tags in place of known values. */
export function maskText(index: KnownIndex, text: string): MaskedText {
  const strong = maskStrong(index, text);
  return index.weak === null ? strong : { ...strong, text: maskWeak(index, strong.text) };
}

function maskStrong(index: KnownIndex, text: string): MaskedText {
  if (index.values.length === 0) return { text, hits: [] };
  const masker = new KnownMasker(index);
  const chunks = [...masker.push(Buffer.from(text, 'utf8')), ...masker.end()];
  const hits = new Set<string>();
  const parts: Uint8Array[] = [];
  let hidden = false;
  for (const chunk of chunks) {
    if (chunk.kind === 'text') parts.push(chunk.bytes);
    else {
      hidden = true;
      parts.push(Buffer.from(chunk.tag, 'utf8'));
      if (chunk.finding.key !== null) hits.add(chunk.finding.key);
    }
  }
  // Unchanged: a lone surrogate would not survive UTF-8.
  if (!hidden) return { text, hits: [] };
  return { text: Buffer.concat(parts).toString('utf8'), hits: [...hits] };
}

function maskWeak({ weak }: KnownIndex, text: string): string {
  const bytes = Buffer.from(text, 'utf8');
  const found = weak?.find(bytes.toString('latin1')) ?? [];
  if (found.length === 0) return text;
  const tags = new Map(
    weak?.values.flatMap(({ name, value, tag }) => [
      [`=${value}`, tag],
      [name, tag],
    ]),
  );
  const parts: string[] = [];
  let at = 0;
  for (const { start, end, key } of found) {
    const tag = tags.get(`=${bytes.toString('utf8', start, end)}`) ?? tags.get(key ?? '');
    parts.push(bytes.toString('utf8', at, start), tag ?? '[HIDDEN]');
    at = end;
  }
  return [...parts, bytes.toString('utf8', at)].join('');
}

/** The known values in `bytes`, without weak ones, which are no reason to refuse anything. */
export function findKnownValues(index: KnownIndex, bytes: Uint8Array): SecretFinding[] {
  if (index.values.length === 0) return [];
  const masker = new KnownMasker(index);
  const found: SecretFinding[] = [];
  let start = 0;
  for (const chunk of [...masker.push(bytes), ...masker.end()]) {
    const length = chunk.kind === 'text' ? chunk.bytes.length : chunk.bytes;
    if (chunk.kind === 'hidden') found.push({ ...chunk.finding, start, end: start + length });
    start += length;
  }
  return found;
}
