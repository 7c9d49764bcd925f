/** Passwords that their place in a command or in a protocol gives away. */
import { wordiness } from './bigram.ts';
import { makeFinding, type ReportFinding, type LineSegment } from './line-segment.ts';
import { isPlaceholderValue, isVariableReference } from './plausibility.ts';

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
  [
    'jdbc:oracle:thin:',
    form('url-userinfo', String.raw`jdbc:oracle:thin:[\w$#]{1,30}\/`, '', oracle()),
  ],
  ['wpa_passphrase', form('flag', String.raw`wpa_passphrase +(?:"[^"]{1,32}"|\S{1,32}) +`)],
  ['lftp', form('flag', String.raw`lftp +(?:-\w+ +){0,3}-u +["']?[\w.@-]{1,64},`)],
  [' /rp ', form('flag', String.raw` \/rp +(?!\*)`)],
  ['net use', form('flag', String.raw`net use +(?:[a-z]: +)?\\{2}\S{1,128} +(?![/*])`)],
  ['rclone config', form('flag', String.raw`rclone config [^|;&]{1,160}? pass[ =]+`)],
  [
    'auth plain',
    form('authorization', 'auth plain ', '', String.raw`(?!auth)A[A-Za-z0-9+/]{11,256}={0,2}`),
  ],
  [': eap', form('secret-file', ': eap +', '', quoted())],
  [': xauth', form('secret-file', String.raw`: xauth +(?:\S{1,64} +)?`, '', quoted())],
  ['" * "', form('secret-file', String.raw`" \* `, String.raw`(?=\s+\*|\s*$)`, quoted())],
  ['= password(', form('sql-password', String.raw`= password\(`, String.raw`(?=\))`, quoted())],
  ['--token', form('flag', '--token[= ]', '', String.raw`[a-z0-9]{6}\.[a-z0-9]{16}\b`)],
  [
    'proxy',
    form(
      'url-userinfo',
      String.raw`proxy["']?\s{0,4}[:=]\s{0,4}["']?[\w.-]{1,64}:`,
      String.raw`(?=@[\w.-]{1,128}(?::\d|[\s"'/]|$))`,
      String.raw`[^\s"'@/]{4,128}`,
    ),
  ],
  [
    'tacacs-server',
    device(String.raw`tacacs-server +(?:host +\S{1,64} +)?(?:[\w-]+ +\d+ +){0,4}key +`),
  ],
  [
    'radius-server',
    device(String.raw`radius-server +(?:host +\S{1,64} +)?(?:[\w-]+ +\d+ +){0,4}key +`),
  ],
  ['isakmp key', device('isakmp key +')],
  ['key-string', device('key-string +')],
  ['password 7', form('device', 'password 7 +', '', '[0-9A-F]{6,128}')],
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

function quoted(): string {
  return String.raw`"[^"\s]{4,128}"|'[^'\s]{4,128}'`;
}

/** A digit before the value tells how it is hidden. */
function device(before: string): Form {
  return form('device', String.raw`${before}(?:\d +)?`);
}

export const loginWords: readonly string[] = [...forms.keys()];

/** @param at Where the keyword begins. */
export function findLoginForm(
  { text, end }: LineSegment,
  { word: keyword, at }: { readonly word: string; readonly at: number },
  report: ReportFinding,
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
  report: ReportFinding,
): void {
  let [start, end] = [from, to];
  if (/["']/u.test(text.charAt(start))) start++;
  if (/["']/u.test(text.charAt(end - 1))) end--;
  const value = text.slice(start, end);
  if (value.length < 3 || isVariableReference(value) || isPlaceholderValue(value)) return;
  report(makeFinding([start, end], rule, 0.9, null));
}

/** What reads a password from the program before it in a pipe. */
export const passwordReaderWords: readonly string[] = [
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
export function findPasswordPipedTo(
  { text, start }: LineSegment,
  at: number,
  report: ReportFinding,
): void {
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
export function findPassCommand(
  { text, start, end }: LineSegment,
  asked: boolean,
  report: ReportFinding,
): void {
  if (end - start > 200) return;
  const match = ftp.exec(text.slice(start, end));
  const value = match?.[1];
  if (
    match === null ||
    value === undefined ||
    isVariableReference(value) ||
    isPlaceholderValue(value)
  ) {
    return;
  }
  const from = start + match.index + match[0].lastIndexOf(value);
  const chosen = /\d/u.test(value) && !/^[\d.:()]+(?:m?s)?$|[._(:]|^test|\d-|-\d/iu.test(value);
  const drawn = wordiness(value, 0, value.length) < -0.5 && /[^\w.:()-]/u.test(value);
  if (asked || chosen || drawn) {
    report(makeFinding([from, from + value.length], 'flag', 0.85, 'PASS'));
  }
}

const imap =
  /^\W{0,8}[A-Za-z]{0,6}\d{1,8} LOGIN (?:"[^"]{1,80}"|\S{1,80}) ("[^"]{1,128}"|\S{1,128})\s*$/u;

/** `a1 LOGIN user "password"`, as IMAP has it. */
export function findImapLogin({ text, start, end }: LineSegment, report: ReportFinding): void {
  if (end - start > 320) return;
  const line = text.slice(start, end);
  const value = imap.exec(line)?.[1];
  if (value === undefined) return;
  const from = start + line.lastIndexOf(value);
  reportWord(text, [from, from + value.length], 'flag', report);
}
