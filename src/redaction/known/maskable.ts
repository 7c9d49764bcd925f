/** Whether a value can be hidden in output at all. */
import { readAsOther } from './compiled.ts';
import { symbolsMin } from './forms.ts';
import { KnownIndex } from './known-index.ts';
import { maskText } from './whole.ts';

export type Maskable =
  | { readonly ok: true; readonly warning: 'common-word' | null }
  /** One sentence, without the value and its length. */
  | { readonly ok: false; readonly reason: string };

/** The longest value, in UTF-8. */
export const valueBytesMax = 64 * 1024;

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
 * A value needs six letters or digits, as many as stay secret when fewer are given out. A common
 * word can be masked, but then it is hidden wherever it is written.
 */
export function checkMaskable(value: string): Maskable {
  if (Buffer.byteLength(value, 'utf8') > valueBytesMax) {
    return { ok: false, reason: `It is longer than ${valueBytesMax} bytes and cannot be masked.` };
  }
  if (lettersIn(value) < symbolsMin) {
    return {
      ok: false,
      reason: `It has fewer than ${symbolsMin} letters or digits and cannot be masked.`,
    };
  }
  const mayBeOther = readAsOther.test(value) || openEntity.test(value);
  if (value.length <= triedLengthMax && mayBeOther && !hidesItself(value)) {
    return {
      ok: false,
      reason:
        `It has fewer than ${symbolsMin} letters or digits where it is read as escapes, ` +
        'and cannot be masked.',
    };
  }
  return { ok: true, warning: isCommon(value) ? 'common-word' : null };
}

/** What a semicolon behind the value makes an entity of, which stands for something else. */
const openEntity = /&#?[0-9a-z]*$/i;
/** Longer values have more than enough symbols that are no escapes. */
const triedLengthMax = 4_096;
const lettersIn = (text: string): number => text.match(/[\p{L}\p{N}]/gu)?.length ?? 0;

/** Whether the value is hidden where it is printed as it is. */
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

/** A word, perhaps with a number behind it, digits that count up, or one character repeated. */
function isCommon(value: string): boolean {
  const plain = value.trim().toLowerCase();
  const word = plain.replace(/[\d!@#$%.?*_-]{1,4}$/, '');
  if (commonWords.has(plain) || commonWords.has(word)) return true;
  return /^(.)\1*$/s.test(plain) || '01234567890123456789'.includes(plain) || plain === '987654321';
}
