/** Passwords that their place in a command or in a protocol gives away. */
import { wordiness } from './bigram.ts';
import { found, type Report, type Segment } from './finder.ts';
import { isPlaceholder, isReference } from './plausible.ts';

/** Sticky at the keyword's start; group 1 is before the password, group 2 the password. */
interface Form {
  readonly pattern: RegExp;
  readonly rule: string;
}

const word = String.raw`"[^"\s]{4,128}"|'[^'\s]{4,128}'|[^\s"'|;&<>]{4,128}`;
const user = String.raw`["']?[\w.$@\\-]{1,64}["']?`;

function form(rule: string, before: string, after = '', value = word): Form {
  return { rule, pattern: new RegExp(`(${before})(${value})${after}`, 'iuy') };
}

const forms: ReadonlyMap<string, Form> = new Map([
  [
    'net user',
    form('flag', String.raw`net user +${user} +(?![/*])`, String.raw`(?= +\/|\s*$|["'])`),
  ],
  [
    'convertto-securestring',
    form(
      'flag',
      String.raw`convertto-securestring +(?:-\w+ +){0,3}(?:-string +)?`,
      '',
      String.raw`"[^"$]{4,128}"|'[^']{4,128}'`,
    ),
  ],
  [
    'htpasswd',
    form(
      'flag',
      String.raw`htpasswd +(?:-\w+ +){0,4}-\w*b\w* +(?:-\w+ +){0,4}\S{1,200} +${user} +`,
    ),
  ],
  ['sqlplus', form('flag', String.raw`sqlplus +(?:-\w+ +){0,4}["']?[\w$#]{1,30}\/`, '', oracle())],
  ['sqlldr', form('flag', String.raw`sqlldr +(?:userid=)?["']?[\w$#]{1,30}\/`, '', oracle())],
  ['expdp', form('flag', String.raw`expdp +["']?[\w$#]{1,30}\/`, '', oracle())],
  ['impdp', form('flag', String.raw`impdp +["']?[\w$#]{1,30}\/`, '', oracle())],
  ['rman target', form('flag', String.raw`rman target +["']?[\w$#]{1,30}\/`, '', oracle())],
  ['-passwd /users/', form('flag', String.raw`-passwd \/users\/\S{1,64} +`)],
  ['snmp-server community', community(String.raw`snmp-server community +`)],
  ['snmp community', community(String.raw`snmp community +`)],
  ['rocommunity', community(String.raw`rocommunity6? +`)],
  ['rwcommunity', community(String.raw`rwcommunity6? +`)],
  ['com2sec', community(String.raw`com2sec6? +\S{1,64} +\S{1,64} +`)],
]);

function oracle(): string {
  return String.raw`[^\s"'@/|;&]{4,64}(?=@|\s|$|["'])`;
}

function community(before: string): Form {
  return form('community', before, '', String.raw`(?!public\b|private\b)["']?[^\s"'|;&<>]{3,64}`);
}

export const loginWords: readonly string[] = [...forms.keys()];

/** @param at Where the keyword begins. */
export function findLoginForm(
  { text, end }: Segment,
  { word: keyword, at }: { readonly word: string; readonly at: number },
  report: Report,
): void {
  const one = forms.get(keyword);
  if (one === undefined) return;
  one.pattern.lastIndex = at;
  const match = one.pattern.exec(text);
  if (match === null || one.pattern.lastIndex > end) return;
  const start = at + (match[1] ?? '').length;
  reportWord(text, [start, start + (match[2] ?? '').length], one.rule, report);
}

function reportWord(
  text: string,
  [from, to]: readonly [number, number],
  rule: string,
  report: Report,
): void {
  let [start, end] = [from, to];
  if (/["']/u.test(text.charAt(start))) start++;
  if (/["']/u.test(text.charAt(end - 1))) end--;
  const value = text.slice(start, end);
  if (value.length < 3 || isReference(value) || isPlaceholder(value)) return;
  report(found([start, end], rule, 0.9, null));
}

/** What reads a password from the program before it in a pipe. */
export const pipeWords: readonly string[] = [
  'chpasswd',
  'smbpasswd',
  'sudo -s',
  'kinit',
  'cryptsetup',
  '--passphrase-fd',
  '--passwd-on-stdin',
];
const piped = new RegExp(
  [
    String.raw`(?:echo|printf)(?: +-\w+)*(?: +(?:["']?%s(?:\\n)?["']?))? +`,
    String.raw`("[^"]{4,200}"|'[^']{4,200}'|[^\s"'|]{4,200})\s*\|\s*(?:sudo +)?[\w./-]*$`,
  ].join(''),
  'u',
);

/** `echo 'user:password' | chpasswd`. @param at Where the word that reads begins. */
export function findPipedTo({ text, start }: Segment, at: number, report: Report): void {
  const low = Math.max(start, at - 300);
  const before = text.slice(low, at).replace(/(?:gpg2?|7z)(?: +-{1,2}[\w-]+)* *$/u, '');
  const match = piped.exec(before);
  const value = match?.[1];
  if (match === null || value === undefined) return;
  let from = low + match.index + match[0].lastIndexOf(value);
  const to = from + value.length;
  // `user:password`
  const colon = /^["']?[\w.-]{1,32}:/u.exec(value);
  if (colon !== null && text.startsWith('chpasswd', at)) from += colon[0].length;
  reportWord(text, [from, to], 'flag', report);
}

const ftp = /(?:^|[>:*]\s*|C:\s*)PASS ([^\s/]{4,128})\s*$/u;

/** `PASS x`, as FTP, POP and IRC have it; tests print it too. @param asked One was asked for. */
export function findPass({ text, start, end }: Segment, asked: boolean, report: Report): void {
  if (end - start > 200) return;
  const match = ftp.exec(text.slice(start, end));
  const value = match?.[1];
  if (match === null || value === undefined || isReference(value) || isPlaceholder(value)) return;
  const from = start + match.index + match[0].lastIndexOf(value);
  const chosen = /\d/u.test(value) && !/^[\d.:()]+(?:m?s)?$|[._(:]|^test|\d-|-\d/iu.test(value);
  const drawn = wordiness(value, 0, value.length) < -0.5 && /[^\w.:()-]/u.test(value);
  if (asked || chosen || drawn) report(found([from, from + value.length], 'flag', 0.85, 'PASS'));
}

const imap =
  /^\W{0,8}[A-Za-z]{0,6}\d{1,8} LOGIN (?:"[^"]{1,80}"|\S{1,80}) ("[^"]{1,128}"|\S{1,128})\s*$/u;

/** `a1 LOGIN user "password"`, as IMAP has it. */
export function findImap({ text, start, end }: Segment, report: Report): void {
  if (end - start > 320) return;
  const line = text.slice(start, end);
  const value = imap.exec(line)?.[1];
  if (value === undefined) return;
  const from = start + line.lastIndexOf(value);
  reportWord(text, [from, from + value.length], 'flag', report);
}
