/** Characters that make a text look like something else than what the shell reads. */
import type { SyntaxProblem } from './script.ts';

// Everything that shows nothing or moves text: control characters (also NUL and CR), format
// characters (zero width, bidirectional), blanks that are no blanks to a shell (NBSP, U+2028),
// fillers, variation selectors, unassigned meaning (private use) and lone surrogates.
const classes = [
  ...['Cc', 'Cf', 'Zs', 'Zl', 'Zp', 'Co', 'Cs', 'Variation_Selector'].map((name) => `\\p{${name}}`),
  String.raw`\u{34F}\u{115F}\u{1160}\u{17B4}\u{17B5}\u{2800}\u{3164}\u{FFA0}`,
];
const invisible = new RegExp(String.raw`[[${classes.join('')}]--[\t\n ]]+`, 'gv');
const nonAscii = /[^\0-\x7F]/;
const dashes = /^[\u2010-\u2015\u2212\uFE58\uFE63\uFF0D\u2E3A\u2E3B\u30FC]/;
const runsMax = 8;
const evidenceMax = 160;

/** Letters of Cyrillic, Greek and other scripts that look like an ASCII letter. */
const lookalikes = new Map<string, string>(
  [
    ['a', 'аαɑ'],
    ['b', 'ЬƄ'],
    ['c', 'сϲᴄⅽ'],
    ['d', 'ԁⅾ'],
    ['e', 'еҽ℮'],
    ['f', 'ſϝ'],
    ['g', 'ɡց'],
    ['h', 'һհ'],
    ['i', 'іιıɩӏ'],
    ['j', 'јϳ'],
    ['k', 'кκᴋ'],
    ['l', 'ӏⅼǀ'],
    ['m', 'мⅿ'],
    ['n', 'ոпη'],
    ['o', 'оοօσ'],
    ['p', 'рρ'],
    ['q', 'ԛգ'],
    ['r', 'гᴦ'],
    ['s', 'ѕꜱ'],
    ['t', 'тτᴛ'],
    ['u', 'υսц'],
    ['v', 'ѵνᴠ'],
    ['w', 'ԝшω'],
    ['x', 'хχ'],
    ['y', 'уγү'],
    ['z', 'ᴢ'],
    ['A', 'АΑ'],
    ['B', 'ВΒ'],
    ['C', 'СϹ'],
    ['E', 'ЕΕ'],
    ['H', 'НΗ'],
    ['I', 'ІΙӀ'],
    ['J', 'Ј'],
    ['K', 'КΚ'],
    ['M', 'МΜ'],
    ['N', 'Ν'],
    ['O', 'ОΟ'],
    ['P', 'РΡ'],
    ['S', 'Ѕ'],
    ['T', 'ТΤ'],
    ['X', 'ХΧ'],
    ['Y', 'УΥҮ'],
    ['Z', 'Ζ'],
    ['-', '‐‑‒–—―−ー'],
    ['/', '∕⁄⧸╱'],
    ['.', '․۔'],
  ].flatMap(([ascii = '', others = '']) => Array.from(others, (other) => [other, ascii] as const)),
);

/** Quotation marks and signs that an editor puts in the place of those a shell reads. */
const marks = new Map<string, string>(
  [
    ['"', '“”„‟″〃'],
    ["'", '‘’‚‛′ʹʼˈ'],
    [':', '∶꞉ː'],
    ['~', '∼˜'],
    ['*', '∗⁎'],
    ['|', '∣ǀ'],
    ['\\', '∖⧵'],
  ].flatMap(([ascii = '', others = '']) => Array.from(others, (other) => [other, ascii] as const)),
);
const letterRuns = /[\p{L}\p{M}]+/gu;
const latin = /\p{Script=Latin}/u;
const others = /[\p{sc=Cherokee}\p{sc=Lisu}\p{sc=Coptic}\p{sc=Armenian}]/u;
const cyrillicOrGreek = /[\p{Script=Cyrillic}\p{Script=Greek}]/u;
/** What looks like a dot or a slash, next to an ASCII letter: it divides no prose. */
const divides = /[․．。。∕⁄⧸／](?=[A-Za-z0-9])|(?<=[A-Za-z0-9])[․．∕⁄⧸／]/u;

/**
 * A word as a reader may take it: full-width and other compatible forms folded (NFKC), lookalikes
 * of Cyrillic and Greek replaced, what shows nothing removed. May only make a decision stricter.
 */
export function confusableSkeleton(word: string): string {
  if (!nonAscii.test(word)) return word;
  const shown = removeInvisible(word).normalize('NFKC');
  return Array.from(shown, (letter) => lookalikes.get(letter) ?? letter).join('');
}

/** The text with everything that is not printable ASCII or a letter written as `\u{202E}`. */
export function escapeInvisible(text: string): string {
  const short = text.length > evidenceMax ? `${text.slice(0, evidenceMax)}…` : text;
  return short.replaceAll(invisible, (run) => Array.from(run, escaped).join(''));
}

/** As `visible`, and every character beyond ASCII is written as an escape too. */
export function escapeNonAscii(text: string): string {
  const short = text.length > evidenceMax ? `${text.slice(0, evidenceMax)}…` : text;
  return escapeInvisible(short).replaceAll(/[^\0-\x7F]/gu, escaped);
}

/** The text without what shows nothing. */
export function removeInvisible(text: string): string {
  return text.replaceAll(invisible, '');
}

/** One `invisible` problem for every run of such characters, at most eight. */
export function invisibleProblems(text: string): SyntaxProblem[] {
  const found: SyntaxProblem[] = [];
  invisible.lastIndex = 0;
  for (const match of text.matchAll(invisible)) {
    const span = [match.index, match.index + match[0].length] as const;
    found.push({ code: 'invisible', span, evidence: escapeInvisible(match[0]) });
    if (found.length === runsMax) break;
  }
  return found;
}

/** Whether a command name may be taken for another one: it has a character beyond ASCII. */
export function isConfusableName(name: string): boolean {
  return nonAscii.test(name);
}

/** Whether an argument may be taken for an option it is not: `–rf`, `--оutput`. */
export function isConfusableOption(argument: string): boolean {
  if (dashes.test(argument)) return true;
  return argument.startsWith('-') && nonAscii.test(argument.split('=', 1)[0] ?? argument);
}

/**
 * Whether a word of a command may be taken for another one: all of it, or a part of the path that
 * it may be, reads as ASCII while it is not, or letters of two scripts look like one word.
 * Words of one other script, and accents, are what they seem.
 */
export function isConfusableWord(word: string): boolean {
  if (!nonAscii.test(word)) return false;
  const parts = [word, ...word.split(/[/\\:=]/)];
  if (parts.some((part) => readsAsAscii(part)) || divides.test(word)) return true;
  return [...word.matchAll(letterRuns)].some(([run]) => isMixed(run));
}

function readsAsAscii(part: string): boolean {
  if (!nonAscii.test(part)) return false;
  return !nonAscii.test(
    Array.from(confusableSkeleton(part), (one) => marks.get(one) ?? one).join(''),
  );
}

function isMixed(run: string): boolean {
  if (!latin.test(run)) return false;
  if (others.test(run)) return true;
  return Array.from(run).some((one) => cyrillicOrGreek.test(one) && lookalikes.has(one));
}

function escaped(character: string): string {
  const point = character.codePointAt(0) ?? 0;
  return `\\u{${point.toString(16).toUpperCase().padStart(4, '0')}}`;
}
