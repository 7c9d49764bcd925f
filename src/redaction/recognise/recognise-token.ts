/**
 * What must stay readable: hashes, identifiers, paths, certificates; and what is written in place
 * of a secret: variables, masks, words that ask for one. Called for each token that could be a key
 * before it is scored, so it first looks at the kinds of its characters, which one pass determines.
 */
import {
  isUuid,
  recogniseAddress,
  recogniseEncoded,
  recogniseHex,
  recogniseNumeric,
} from './encoded.ts';
import { familyOfLine, strengthOf, type BenignFamily, type LineSpan } from './families.ts';
import {
  isJoinedWords,
  isMangledSymbol,
  isPodName,
  isTokenInFileName,
  isTokenInPath,
} from './technical-names.ts';
import { isBenignLabel, readLabelBefore, type TokenLabel } from './token-label.ts';

const KIND_HEX_LOWER = 1;
const KIND_HEX_UPPER = 2;
const KIND_OTHER_LOWER = 4;
const KIND_OTHER_UPPER = 8;
const KIND_DIGIT = 16;
const KIND_DASH = 32;
const KIND_UNDERSCORE = 64;
const KIND_DOT = 128;
const KIND_COLON = 256;
const KIND_SLASH = 512;
const KIND_PLUS = 1024;
const KIND_EQUALS = 2048;
const KIND_REST = 4096;

const kinds = new Uint16Array(256).fill(KIND_REST);
for (let code = 0x30; code <= 0x39; code += 1) kinds[code] = KIND_DIGIT;
for (let code = 0x61; code <= 0x7a; code += 1) {
  kinds[code] = code <= 0x66 ? KIND_HEX_LOWER : KIND_OTHER_LOWER;
  kinds[code - 0x20] = code <= 0x66 ? KIND_HEX_UPPER : KIND_OTHER_UPPER;
}
for (const [sign, kind] of [
  ['-', KIND_DASH],
  ['_', KIND_UNDERSCORE],
  ['.', KIND_DOT],
  [':', KIND_COLON],
  ['/', KIND_SLASH],
  ['+', KIND_PLUS],
  ['=', KIND_EQUALS],
] as const) {
  kinds[sign.charCodeAt(0)] = kind;
}

interface TokenTraits {
  /** The kinds that occur. */
  readonly kinds: number;
  readonly letters: number;
  readonly digits: number;
}

/** Of the first 256 characters. */
function measureTokenTraits(text: string, start: number, end: number): TokenTraits {
  let [seen, letters, digits] = [0, 0, 0];
  const last = Math.min(end, start + 256);
  for (let at = start; at < last; at += 1) {
    const kind = kinds[text.charCodeAt(at) & 0xff] ?? KIND_REST;
    seen |= kind;
    if (kind < KIND_DIGIT) letters += 1;
    else if (kind === KIND_DIGIT) digits += 1;
  }
  return { kinds: seen, letters, digits };
}

/** Whether only `allowed` kinds occur. */
function hasOnlyKinds({ kinds: seen }: TokenTraits, allowed: number): boolean {
  return (seen & ~allowed) === 0;
}

const lowerHex = KIND_HEX_LOWER | KIND_DIGIT;
const upperHex = KIND_HEX_UPPER | KIND_DIGIT;
const anyHex = lowerHex | upperHex;
const letters = KIND_HEX_LOWER | KIND_HEX_UPPER | KIND_OTHER_LOWER | KIND_OTHER_UPPER;
const encoded =
  letters | KIND_DIGIT | KIND_PLUS | KIND_SLASH | KIND_EQUALS | KIND_DASH | KIND_UNDERSCORE;
const upperDigits = KIND_HEX_UPPER | KIND_OTHER_UPPER | KIND_DIGIT;
const lowerDigits = KIND_HEX_LOWER | KIND_OTHER_LOWER | KIND_DIGIT;
const numeric = anyHex | KIND_DASH | KIND_DOT | KIND_COLON | KIND_SLASH | KIND_PLUS;

/**
 * The family of the token at `[start, end)`, or `null` if nothing explains it. `line` is the range
 * of its line without the newline; nothing outside of it is examined. See {@link strengthOf}.
 */
export function recogniseToken(
  text: string,
  start: number,
  end: number,
  line: LineSpan,
): BenignFamily | null {
  if (end - start < 4) return 'number';
  const traits = measureTokenTraits(text, start, end);
  if ((traits.kinds & KIND_EQUALS) !== 0) {
    const shown = text.slice(start, Math.min(end, start + 48));
    const name = /^(?:[A-Za-z_][\w.-]{0,40})?=(?=[^=])/.exec(shown)?.[0].length ?? 0;
    if (name > 0 && end - start - name >= 4) {
      const valueTraits = measureTokenTraits(text, start + name, end);
      return explain(text, [start + name, end], line, valueTraits);
    }
  }
  return explain(text, [start, end], line, traits);
}

function explain(
  text: string,
  [start, end]: readonly [number, number],
  line: LineSpan,
  traits: TokenTraits,
): BenignFamily | null {
  if (hasOnlyKinds(traits, lowerHex) || hasOnlyKinds(traits, upperHex)) {
    if (traits.letters === 0 && end - start <= 20) return 'number';
    const found = recogniseHex(text, start, end, line);
    if (found !== null && strengthOf(found) === 'certain') return found;
    if (isRepeated(text, start, end)) return 'placeholder';
    const file = isTokenInFileName(text, start, end) ? 'hashed-file-name' : null;
    const whole = file ?? familyOfLine(text, line) ?? found;
    if (whole !== null) return whole;
  }
  return (
    placeholderOf(text, start, end, line) ??
    familyOfLine(text, line) ??
    recogniseForm(text, start, end, traits) ??
    recogniseEncodedOf(text, [start, end], line, traits) ??
    recogniseNamed(text, [start, end], line, traits)
  );
}

/** `00000000…`, `ffff…`. */
function isRepeated(text: string, start: number, end: number): boolean {
  const first = text.charCodeAt(start);
  for (let at = start + 1; at < end; at += 1) if (text.charCodeAt(at) !== first) return false;
  return true;
}

const drawnForms: readonly (readonly [RegExp, BenignFamily])[] = [
  [/(?:^|[-=:@])sha(?:1|224|256|384|512):[0-9a-f]{7,128}$/, 'digest-prefixed'],
  // A resource of AWS: `i-00476ac0b056ef351`, `subnet-0a1b2c3d`.
  [/^[a-z]{1,8}-(?:[0-9a-f]{8}|[0-9a-f]{17})$/, 'cloud-id'],
  [/^(?:baf[a-z2-7]{50,70}|Qm[1-9A-HJ-NP-Za-km-z]{44})$/, 'content-id'],
  [
    /^[a-z0-9][a-z0-9.+-]+:(?:amd64|arm64|i386|armhf|armel|all|any|ppc64el|s390x|riscv64)$/,
    'package',
  ],
  [/^[a-z]{2,20}:[\w.-]{1,80}:[a-z]{2,20}$/, 'compound-key'],
  // KSUID and CUID
  [/^(?:[0-3][A-Za-z0-9]{26}|c[a-z0-9]{24})$/, 'sortable-id'],
];

/** `Linux-node-<SHA-256>`, `session-a138f663`: words, then a hash. */
function endsInHash(token: string): boolean {
  const parts = /^([A-Za-z][\w.-]{1,80})[-_.:](?:[0-9a-f]{8}|[0-9a-f]{32,64})$/.exec(token);
  return parts?.[1] !== undefined && isJoinedWords(parts[1]);
}

/** In either case; the first digits are a time in this century. */
function isUlid(token: string, traits: TokenTraits): boolean {
  if (hasOnlyKinds(traits, upperDigits)) return /^[0-7][^ILOU]+$/.test(token);
  return hasOnlyKinds(traits, lowerDigits) && /^0[01][^ilou]+$/.test(token);
}

/** By the token itself. */
function recogniseForm(
  text: string,
  start: number,
  end: number,
  traits: TokenTraits,
): BenignFamily | null {
  const token = text.slice(start, Math.min(end, start + 512));
  if (isUuid(token)) return 'uuid';
  const first = token.charCodeAt(0);
  const numbered = (first >= 0x30 && first <= 0x39) || first === 0x76 || first === 0x2b;
  if (numbered || hasOnlyKinds(traits, numeric)) {
    const found = recogniseNumeric(token);
    if (found !== null) return found;
  }
  if (token.length === 26 && isUlid(token, traits)) {
    return 'ulid';
  }
  if (token.startsWith('arn:aws')) return 'arn';
  if (token.startsWith('urn:')) return 'url';
  if (token.startsWith('0x')) return recogniseAddress(token);
  if ('_?$h'.includes(token.charAt(0)) || token.includes('17h') || token.includes('::h')) {
    if (isMangledSymbol(token)) return 'mangled-symbol';
  }
  if (
    numbered ||
    (traits.kinds & (KIND_DASH | KIND_COLON)) !== 0 ||
    'bcQ'.includes(token.charAt(0))
  ) {
    const drawn = drawnForms.find(([form]) => form.test(token));
    if (drawn !== undefined) return drawn[1];
  }
  if ((traits.kinds & KIND_DASH) !== 0 && isPodName(token)) return 'pod-name';
  const dotted = (traits.kinds & KIND_DOT) !== 0;
  if (dotted && /^[v^~]?\d+\.\d+\.\d+[-+.~][\w.+-]{1,40}$/.test(token)) return 'version';
  return endsInHash(token) ? 'hex-id' : null;
}

function recogniseEncodedOf(
  text: string,
  [start, end]: readonly [number, number],
  line: LineSpan,
  traits: TokenTraits,
): BenignFamily | null {
  if (!hasOnlyKinds(traits, encoded | KIND_COLON)) return null;
  return recogniseEncoded(text, start, end, line);
}

/** By the text around it. */
function recogniseNamed(
  text: string,
  [start, end]: readonly [number, number],
  line: LineSpan,
  traits: TokenTraits,
): BenignFamily | null {
  const before = text.slice(Math.max(line.start, start - 100), start);
  const arn = before.lastIndexOf('arn:aws');
  if (arn >= 0 && !/[\s"']/.test(before.slice(arn))) return 'arn';
  const label = readLabelBefore(text, start, line.start);
  const token = text.slice(start, Math.min(end, start + 256));
  if (label !== null && !token.includes('://')) {
    const job = traits.digits > 1 && isJob(label, token);
    if (label.assigned ? isBenignLabel(label) : job) return 'labelled-id';
  }
  if (isTokenInFileName(text, start, end)) return 'hashed-file-name';
  if ('($:'.includes(before.at(-1) ?? ' ') && /^[ \t]*at /.test(before)) return 'stack-frame';
  if ((traits.kinds & (KIND_REST | KIND_EQUALS)) !== 0) return null;
  if (isJoinedWords(token)) return token.includes('/') ? 'path' : 'identifier';
  if (isTokenInPath(text, start, end, line)) return 'path';
  return /^[a-z][a-z0-9+.-]{1,12}:\/\/[^@?]*$/.test(token) ? 'url' : null;
}

const jobs = new Set(
  'job task event message request trace span workflow execution invocation build run batch'.split(
    ' ',
  ),
);

/** `finished job 2eAJou1gN13TW8flCTr0wXAABvg`. */
function isJob({ last }: TokenLabel, token: string): boolean {
  return jobs.has(last) && /^[A-Za-z0-9_-]{20,40}$/.test(token);
}

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

/** The first letters of `asking`. */
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

/** `xxxx-xxxx`, `********`, or one repeated character. */
function isMask(token: string): boolean {
  const first = token.charCodeAt(0);
  if (first === token.charCodeAt(1) && first === token.charCodeAt(2)) return mask.test(token);
  return false;
}
