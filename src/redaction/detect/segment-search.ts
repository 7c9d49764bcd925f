/** Searches one line at its keywords, with the state from the lines before it. */
import type { SecretFinding } from '../secret-finding.ts';
import { KeywordAutomaton, type KeywordHits } from '../rules/keyword-automaton.ts';
import {
  findKeyBody,
  findKeyHeader,
  findPuttyKey,
  findAnsibleVault,
  pemArmour,
  type KeyArmour,
} from './armour.ts';
import {
  findInTableRow,
  findRecoveryCodeLine,
  findRecoveryCodes,
  findSecretColumn,
  recoveryCodeWords,
  type RecoveryCodeList,
  type SecretColumn,
} from './lists-and-tables.ts';
import { expectAfterName, meetExpectation, type ValueExpectation } from './expectations.ts';
import { segmentLooksMax, type ReportFinding, type LineSegment } from './line-segment.ts';
import { formatFinders } from './formats.ts';
import { findCookies, findUrlPassword } from './web-credentials.ts';
import type { NameInText } from './judge-value.ts';
import {
  findBase32Groups,
  findForeignLabel,
  findLoginSentence,
  findPasswordPipedToFlag,
  findPgpassLine,
  findRecoveryPhrase,
  findSqlPassword,
  foreignSecretWords,
} from './statements.ts';
import {
  findImapLogin,
  findLoginForm,
  findPassCommand,
  findPasswordPipedTo,
  findSecretFlags,
  loginWords,
  passwordReaderWords,
  programWords,
} from './logins.ts';
import { findNamedSecret, readNameAround } from './named-secrets.ts';

const nameWords = `pass pwd secret token key auth cred psk mnemonic jwt bearer pw: pw= pw_ pw" psw
  passwd signature sig= crumb seed otp contrasena kennwort senha parola wachtwoord contraseny
  heslo salasana lozinka jelszo haslo sifre adgangskode kodeord parool sandi mdp: mdp= erlang`
  .split(/\s+/u)
  .map((word) => word.replace('_', ' '));
/** Keywords with a search of their own; all others are parts of names. */
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
  ...passwordReaderWords,
  ...recoveryCodeWords,
  ...foreignSecretWords.keys(),
];
const codes = new Set(recoveryCodeWords);
const pipes = new Set(passwordReaderWords);
const logins = new Set(loginWords);
const verbs = ['logged in', 'log in', 'authenticat', 'signed in', 'authoriz'];

const keywords = [...new Set<string>([...nameWords, ...signs, ...verbs, ...programWords])];
export const lineKeywords = new KeywordAutomaton(keywords);
const namePart = keywords.map((word) => nameWords.includes(word));
const program = keywords.map((word) => programWords.includes(word));

/** A certificate takes about 30 lines; a bundle has an end after each. */
const publishedMax = 400;

/** State from line to line. */
export interface LineState {
  /** What can follow of a private key. */
  armour: KeyArmour | null;
  /** What can follow of a list of recovery codes. */
  codes: RecoveryCodeList | null;
  /** Lines that can follow of a certificate or a public key, whose base64 is not scored. */
  published: number;
  expected: ValueExpectation | null;
  /** The secret column of the current table. */
  column: SecretColumn | null;
}

/** A segment with its keywords. */
export interface SegmentHits {
  readonly segment: LineSegment;
  readonly hits: KeywordHits;
  /** The range `[from, to)` of the hits. */
  readonly from: number;
  readonly to: number;
}

/** @returns the end of the last name that can have a value, or -1 */
export function searchSegment(
  searched: SegmentHits,
  carried: LineState,
  report: ReportFinding,
): number {
  const { segment } = searched;
  if (carried.armour !== null) {
    const { form } = carried.armour;
    carried.armour = findKeyBody(segment, carried.armour, report);
    const whole = carried.armour !== null && form === 'pem';
    if (whole || segment.text.startsWith('-----END', segment.start)) return -1;
  }
  if (carried.codes !== null) carried.codes = findRecoveryCodeLine(segment, carried.codes, report);
  let met = false;
  if (carried.expected !== null) {
    const expected = carried.expected;
    carried.expected = meetExpectation(expected, segment, (finding) => {
      met = true;
      report(finding);
    });
  }
  if (carried.column !== null) carried.column = findInTableRow(carried.column, segment, report);
  return met ? -1 : searchWords(searched, carried, report);
}

function searchWords(searched: SegmentHits, carried: LineState, report: ReportFinding): number {
  const { segment, hits, from, to } = searched;
  let last = -1;
  let label = -1;
  for (let at = from; at < to; at++) {
    const word = hits.pairs[at * 2] ?? 0;
    const end = hits.pairs[at * 2 + 1] ?? 0;
    if (end <= segment.spent.until) continue;
    if (namePart[word] === true) {
      const name = readNameAround(segment, end - trailing(keywords[word] ?? ''));
      if (name.start === last) continue;
      last = name.start;
      if (name.text === 'password-stdin') findPasswordPipedToFlag(segment, name.start, report);
      else if (name.text === 'passwd') findPasswordPipedTo(segment, name.start, report);
      else if (name.text === 'PASS') findPassCommand(segment, false, report);
      if (name.class === 'none') continue;
      label = Math.max(label, name.end);
      searchName(segment, name, carried, report);
    } else {
      searchSign(segment, { word, end }, carried, report);
    }
  }
  return label;
}

/** The last character of `pw:` is not part of the name. */
function trailing(word: string): number {
  return /[:= "]$/u.test(word) ? 1 : 0;
}

function searchName(
  segment: LineSegment,
  name: NameInText,
  carried: LineState,
  report: ReportFinding,
): void {
  let reached = -1;
  const outcome = findNamedSecret(segment, name, (finding: SecretFinding) => {
    reached = finding.end;
    report(finding);
  });
  if (outcome !== 'found') findBase32Groups(segment, name.end, report);
  if (outcome === 'open' || outcome === 'label') {
    const next = expectAfterName(segment, name, outcome === 'open');
    if (next !== null) carried.expected = next;
    else if (outcome === 'label') carried.column ??= findSecretColumn(segment);
  } else if (reached >= 0 && carried.expected?.kind === 'announced') {
    carried.expected = null;
  }
}

function searchSign(
  segment: LineSegment,
  { word, end }: { readonly word: number; readonly end: number },
  carried: LineState,
  report: ReportFinding,
): void {
  const text = keywords[word] ?? '';
  if (program[word] === true) {
    if (++segment.spent.looks <= segmentLooksMax) findSecretFlags(segment, text, end, report);
    if (text === 'login') findImapLogin(segment, report);
    return;
  }
  switch (text) {
    case '://':
      return findUrlPassword(segment, end - 3, report);
    case '-----begin':
    case '---- begin':
      segment.spent.looks += 4;
      if (segment.spent.looks > segmentLooksMax) return;
      if (findKeyHeader(segment, end - text.length, report)) carried.armour = pemArmour;
      else if (/private/iu.test(segment.text.slice(end, end + 48))) carried.published = 0;
      else carried.published = publishedMax;
      return;
    case '-----end':
      carried.published = 0;
      return;
    case 'cookie':
      return findCookies(segment, end, report);
    case 'identified':
      return findSqlPassword(segment, end, report);
    case ':*:*:':
      return findPgpassLine(segment, end - 2, report);
    case ':5432:':
    case ':5433:':
    case ':6432:':
      return findPgpassLine(segment, end, report);
    case 'phrase':
    case 'seed words':
      if (!findRecoveryPhrase(segment, end, report) && segment.end - end < 24) {
        carried.expected ??= { kind: 'phrase', name: text, class: 'password', lines: 3 };
      }
      return;
    case '$ansible_vault;':
      carried.armour = findAnsibleVault(segment, end - text.length, report) ?? carried.armour;
      return;
    case 'private-lines:':
      carried.armour = findPuttyKey(segment, end - text.length) ?? carried.armour;
      return;
    default:
      searchForm(segment, { text, end }, carried, report);
  }
}

function searchForm(
  segment: LineSegment,
  { text, end }: { readonly text: string; readonly end: number },
  carried: LineState,
  report: ReportFinding,
): void {
  if (foreignSecretWords.has(text)) {
    return findForeignLabel(segment, { word: text, at: end }, report);
  }
  if (codes.has(text)) {
    carried.codes = findRecoveryCodes(segment, end, report) ?? carried.codes;
    return;
  }
  if (verbs.includes(text)) return findLoginSentence(segment, wordEnd(segment, end), report);
  if (++segment.spent.looks > segmentLooksMax) return;
  const start = end - text.length;
  if (pipes.has(text)) findPasswordPipedTo(segment, start, report);
  else if (logins.has(text)) findLoginForm(segment, { word: text, at: start }, report);
  else formatFinders.get(text)?.(segment, start, report);
}

function wordEnd({ text, end }: LineSegment, at: number): number {
  let p = at;
  while (p < end && /[a-z]/iu.test(text.charAt(p))) p++;
  return p;
}
