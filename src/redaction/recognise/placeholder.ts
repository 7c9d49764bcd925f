/** What stands in place of a secret: variables, masks, words that ask for one. */
import type { BenignFamily } from './family.ts';
import type { LineSpan } from './line-families.ts';

const mask = /^(?:[xX*.#_-]{4,}|[xX]{3,}[-_\w]*|\*+|(.)\1{7,})$/;
const asking = new RegExp(
  '^(?:your|my|the|some|an?|insert|enter|put|paste|add|replace|change)[-_ ](?:[\\w-]{0,40}[-_])?' +
    '(?:key|token|secret|password|passwd|here|me|it|value|id|api)\\b' +
    '|^(?:change_?me|replace_?me|to_?be_?changed|placeholder|redacted|example|dummy|fake|sample' +
    '|foobar|undefined|unset|notset|masked|hidden|filtered|removed|censored|encrypted)(?![a-z0-9])',
  'i',
);
const documented = /EXAMPLE(?:KEY)?$|x{6}|X{6}|\*{4}|_HERE$|-here$/;

/** `${VAR}`, `<your-token>`, `****`, `[HIDDEN:8f2a1b]`, `AKIAIOSFODNN7EXAMPLE`; else `null`. */
export function placeholderOf(
  text: string,
  start: number,
  end: number,
  line: LineSpan,
): BenignFamily | null {
  const before = start > line.start ? text.charCodeAt(start - 1) : 0;
  const after = end < line.end ? text.charCodeAt(end) : 0;
  if (isReference(text, [start, end], before, after)) return 'reference';
  const first = text.charCodeAt(start);
  const inside = text.slice(start, Math.min(end, start + 128));
  if (first === 0x48 && /^HIDDEN:[0-9a-f]{6,64}$/.test(inside)) return 'hidden';
  if (before === 0x3c && after === 0x3e && /^[A-Za-z][\w -]*$/.test(inside)) return 'placeholder';
  if (isMask(inside)) return 'placeholder';
  if (asksFirst.has(first | 0x20) && asking.test(inside)) return 'placeholder';
  return documented.test(inside) ? 'placeholder' : null;
}

/** First letters of what `asking` matches. */
const asksFirst = new Set('ymtsaieparcdfunh'.split('').map((letter) => letter.charCodeAt(0)));

/** `${VAR}`, `$(command)`, `$VAR`, `%{name}`. */
function isReference(
  text: string,
  [start, end]: readonly [number, number],
  before: number,
  after: number,
): boolean {
  if ((before === 0x7b || before === 0x28) && (after === 0x7d || after === 0x29)) {
    return '$%#@{'.includes(text.charAt(start - 2)) && start > 1;
  }
  if (text.charCodeAt(start) !== 0x24) return false;
  return /^\$(?:\{|\(|[A-Za-z_]\w{0,60}$)/.test(text.slice(start, Math.min(end, start + 80)));
}

/** `xxxx-xxxx`, `********`, or one character again and again. */
function isMask(token: string): boolean {
  const first = token.charCodeAt(0);
  if (first === token.charCodeAt(1) && first === token.charCodeAt(2)) return mask.test(token);
  return false;
}
