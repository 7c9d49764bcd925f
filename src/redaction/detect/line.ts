/** One line, searched at the places where a keyword stands, with what lines before it announced. */
import type { Finding } from '../finding.ts';
import { Automaton, type Hits } from '../rules/automaton.ts';
import { findBody, findHeader, findPutty, findVault, pem, type Armour } from './armour.ts';
import { codeWords, findCodeLine, findCodes, type CodeList } from './codes.ts';
import { columnOf, findInRow, type Column } from './columns.ts';
import { expectAfter, meet, type Expectation } from './expect.ts';
import { looksMax, type Report, type Segment } from './finder.ts';
import { formatFinders } from './formats.ts';
import { findCookies } from './headers.ts';
import type { Name } from './judge.ts';
import { findForeign, foreignWords } from './languages.ts';
import { findImap, findLoginForm, findPass, findPipedTo, loginWords, pipeWords } from './logins.ts';
import { findNamed, nameAround } from './named.ts';
import { findFlags, programWords } from './programs.ts';
import {
  findGroups,
  findIdentified,
  findLogin,
  findPgpass,
  findPhrase,
  findPiped,
} from './statements.ts';
import { findUrl } from './urls.ts';

const nameWords = `pass pwd secret token key auth cred psk mnemonic jwt bearer pw: pw= pw_ pw" psw
  passwd signature sig= crumb seed otp contrasena kennwort senha parola wachtwoord contraseny
  heslo salasana lozinka jelszo haslo sifre adgangskode kodeord parool sandi mdp: mdp= erlang`
  .split(/\s+/u)
  .map((word) => word.replace('_', ' '));
/** Each with what it starts; the rest of the words are parts of names. */
const signs = [
  '://',
  '-----begin',
  '---- begin',
  '-----end',
  'cookie',
  'identified',
  ':5432:',
  ':5433:',
  ':6432:',
  ':*:*:',
  'phrase',
  'seed words',
  '$ansible_vault;',
  'private-lines:',
  ...formatFinders.keys(),
  ...loginWords,
  ...pipeWords,
  ...codeWords,
  ...foreignWords.keys(),
];
const codes = new Set(codeWords);
const pipes = new Set(pipeWords);
const logins = new Set(loginWords);
const verbs = ['logged in', 'log in', 'authenticat', 'signed in', 'authoriz'];

const keywords = [...new Set<string>([...nameWords, ...signs, ...verbs, ...programWords])];
/** All of them. */
export const words = new Automaton(keywords);
const namePart = keywords.map((word) => nameWords.includes(word));
const program = keywords.map((word) => programWords.includes(word));

/** A certificate takes about 30 lines; a bundle has an end after each. */
const publishedMax = 400;

/** What is carried from line to line. */
export interface Carried {
  /** What may still come of a private key. */
  armour: Armour | null;
  /** Of a list of recovery codes. */
  codes: CodeList | null;
  /** Lines that may still come of a certificate or a public key; its base64 is not weighed. */
  published: number;
  expected: Expectation | null;
  /** Of the table whose head came before. */
  column: Column | null;
}

/** A segment with the words that stand in it. */
export interface Searched {
  readonly segment: Segment;
  readonly hits: Hits;
  /** Which hits: `[from, to)`. */
  readonly from: number;
  readonly to: number;
}

/** @returns The end of the last name that something may belong to, or -1. */
export function searchSegment(searched: Searched, carried: Carried, report: Report): number {
  const { segment } = searched;
  if (carried.armour !== null) {
    const { form } = carried.armour;
    carried.armour = findBody(segment, carried.armour, report);
    const whole = carried.armour !== null && form === 'pem';
    if (whole || segment.text.startsWith('-----END', segment.start)) return -1;
  }
  if (carried.codes !== null) carried.codes = findCodeLine(segment, carried.codes, report);
  let met = false;
  if (carried.expected !== null) {
    const expected = carried.expected;
    carried.expected = meet(expected, segment, (finding) => {
      met = true;
      report(finding);
    });
  }
  if (carried.column !== null) carried.column = findInRow(carried.column, segment, report);
  return met ? -1 : searchWords(searched, carried, report);
}

function searchWords(searched: Searched, carried: Carried, report: Report): number {
  const { segment, hits, from, to } = searched;
  let last = -1;
  let label = -1;
  for (let at = from; at < to; at++) {
    const word = hits.pairs[at * 2] ?? 0;
    const end = hits.pairs[at * 2 + 1] ?? 0;
    if (end <= segment.spent.until) continue;
    if (namePart[word] === true) {
      const name = nameAround(segment, end - trailing(keywords[word] ?? ''));
      if (name.start === last) continue;
      last = name.start;
      if (name.text === 'password-stdin') findPiped(segment, name.start, report);
      else if (name.text === 'passwd') findPipedTo(segment, name.start, report);
      else if (name.text === 'PASS') findPass(segment, false, report);
      if (name.class === 'none') continue;
      label = Math.max(label, name.end);
      searchName(segment, name, carried, report);
    } else {
      searchSign(segment, { word, end }, carried, report);
    }
  }
  return label;
}

/** `pw:` ends behind the name. */
function trailing(word: string): number {
  return /[:= "]$/u.test(word) ? 1 : 0;
}

function searchName(segment: Segment, name: Name, carried: Carried, report: Report): void {
  let reached = -1;
  const outcome = findNamed(segment, name, (finding: Finding) => {
    reached = finding.end;
    report(finding);
  });
  if (outcome !== 'found') findGroups(segment, name.end, report);
  if (outcome === 'open' || outcome === 'label') {
    const next = expectAfter(segment, name, outcome === 'open');
    if (next !== null) carried.expected = next;
    else if (outcome === 'label') carried.column ??= columnOf(segment);
  } else if (reached >= 0 && carried.expected?.kind === 'announced') {
    carried.expected = null;
  }
}

function searchSign(
  segment: Segment,
  { word, end }: { readonly word: number; readonly end: number },
  carried: Carried,
  report: Report,
): void {
  const text = keywords[word] ?? '';
  if (program[word] === true) {
    if (++segment.spent.looks <= looksMax) findFlags(segment, text, end, report);
    if (text === 'login') findImap(segment, report);
    return;
  }
  switch (text) {
    case '://':
      return findUrl(segment, end - 3, report);
    case '-----begin':
    case '---- begin':
      segment.spent.looks += 4;
      if (segment.spent.looks > looksMax) return;
      if (findHeader(segment, end - text.length, report)) carried.armour = pem;
      else if (/private/iu.test(segment.text.slice(end, end + 48))) carried.published = 0;
      else carried.published = publishedMax;
      return;
    case '-----end':
      carried.published = 0;
      return;
    case 'cookie':
      return findCookies(segment, end, report);
    case 'identified':
      return findIdentified(segment, end, report);
    case ':*:*:':
      return findPgpass(segment, end - 2, report);
    case ':5432:':
    case ':5433:':
    case ':6432:':
      return findPgpass(segment, end, report);
    case 'phrase':
    case 'seed words':
      if (!findPhrase(segment, end, report) && segment.end - end < 24) {
        carried.expected ??= { kind: 'phrase', name: text, class: 'password', lines: 3 };
      }
      return;
    case '$ansible_vault;':
      carried.armour = findVault(segment, end - text.length, report) ?? carried.armour;
      return;
    case 'private-lines:':
      carried.armour = findPutty(segment, end - text.length) ?? carried.armour;
      return;
    default:
      searchForm(segment, { text, end }, carried, report);
  }
}

function searchForm(
  segment: Segment,
  { text, end }: { readonly text: string; readonly end: number },
  carried: Carried,
  report: Report,
): void {
  if (foreignWords.has(text)) return findForeign(segment, { word: text, at: end }, report);
  if (codes.has(text)) {
    carried.codes = findCodes(segment, end, report) ?? carried.codes;
    return;
  }
  if (verbs.includes(text)) return findLogin(segment, wordEnd(segment, end), report);
  if (++segment.spent.looks > looksMax) return;
  const start = end - text.length;
  if (pipes.has(text)) findPipedTo(segment, start, report);
  else if (logins.has(text)) findLoginForm(segment, { word: text, at: start }, report);
  else formatFinders.get(text)?.(segment, start, report);
}

function wordEnd({ text, end }: Segment, at: number): number {
  let p = at;
  while (p < end && /[a-z]/iu.test(text.charAt(p))) p++;
  return p;
}
