/**
 * Passwords that their place in a command or in a protocol reveals, also short flags of well-known
 * programs: `mysql -pX`, `curl -u user:X`.
 */
import { wordiness } from './bigram.ts';
import { BLANK, isCharacterOf, QUOTE, skipCharactersOf } from './characters.ts';
import { makeFinding, type LineSegment, type ReportFinding } from './line-segment.ts';
import { isPlaceholderValue, isVariableReference, mixesLettersAndDigits } from './plausibility.ts';
import { readValue, type ValueSpan } from './values.ts';
import { findCookiePairs } from './web-credentials.ts';

/** Sticky at the start of the keyword. Group 1 precedes the password, group 2 is the password. */
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

/** A digit before the value is the kind of its encryption. */
function device(before: string): Form {
  return form('device', String.raw`${before}(?:\d +)?`);
}

export const loginWords: readonly string[] = [...forms.keys()];

/** @param at the start of the keyword */
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

/** Programs and flags that read a password from a pipe. */
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

/**
 * `echo 'user:password' | chpasswd`
 *
 * @param at the start of the reader's name
 */
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

/**
 * `PASS x` of FTP, POP and IRC; test runners print it, too.
 *
 * @param asked whether the server asked for it
 */
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

/** `a1 LOGIN user "password"` of IMAP. */
export function findImapLogin({ text, start, end }: LineSegment, report: ReportFinding): void {
  if (end - start > 320) return;
  const line = text.slice(start, end);
  const value = imap.exec(line)?.[1];
  if (value === undefined) return;
  const from = start + line.lastIndexOf(value);
  reportWord(text, [from, from + value.length], 'flag', report);
}

/**
 * `joined`: the value follows at once. `user`: it follows the first colon. `cookie`: pairs of a
 * cookie follow.
 */
interface Flag {
  readonly flag: string;
  readonly form: 'next' | 'joined' | 'either' | 'user' | 'cookie';
}

const programs: ReadonlyMap<string, readonly Flag[]> = new Map([
  ['mysql', [{ flag: '-p', form: 'joined' }]],
  ['mysqldump', [{ flag: '-p', form: 'joined' }]],
  ['mysqladmin', [{ flag: '-p', form: 'joined' }]],
  ['mariadb', [{ flag: '-p', form: 'joined' }]],
  ['sshpass', [{ flag: '-p', form: 'either' }]],
  ['psexec', [{ flag: '-p', form: 'next' }]],
  [
    'curl',
    [
      { flag: '-u', form: 'user' },
      { flag: '--user', form: 'user' },
      { flag: '-U', form: 'user' },
      { flag: '--proxy-user', form: 'user' },
      { flag: '-b', form: 'cookie' },
    ],
  ],
  ['login', [{ flag: '-p', form: 'next' }]],
  ['redis-cli', [{ flag: '-a', form: 'next' }]],
  ['ldapsearch', [{ flag: '-w', form: 'next' }]],
  ['ldapadd', [{ flag: '-w', form: 'next' }]],
  ['ldapmodify', [{ flag: '-w', form: 'next' }]],
  ['mongo', [{ flag: '-p', form: 'next' }]],
  ['mongosh', [{ flag: '-p', form: 'next' }]],
  ['mongodump', [{ flag: '-p', form: 'next' }]],
  ['sqlcmd', [{ flag: '-P', form: 'either' }]],
  ['bcp', [{ flag: '-P', form: 'either' }]],
  ['isql', [{ flag: '-P', form: 'either' }]],
  ['plink', [{ flag: '-pw', form: 'next' }]],
  ['pscp', [{ flag: '-pw', form: 'next' }]],
  ['xfreerdp', [{ flag: '/p:', form: 'joined' }]],
  ['rdesktop', [{ flag: '-p', form: 'next' }]],
  ['smbclient', [{ flag: '-U', form: 'user' }]],
  ['unzip', [{ flag: '-P', form: 'next' }]],
  ['zip', [{ flag: '-P', form: 'next' }]],
  ['7z', [{ flag: '-p', form: 'joined' }]],
  [
    'openssl',
    [
      { flag: 'pass:', form: 'joined' },
      { flag: '-k', form: 'next' },
      { flag: '-K', form: 'next' },
    ],
  ],
  [
    'ldappasswd',
    [
      { flag: '-w', form: 'next' },
      { flag: '-s', form: 'next' },
    ],
  ],
  ['ldapdelete', [{ flag: '-w', form: 'next' }]],
  ['dsconf', [{ flag: '-w', form: 'next' }]],
  ['wget', [{ flag: '--http-passwd', form: 'next' }]],
  ['mosquitto_pub', [{ flag: '-P', form: 'next' }]],
  ['mosquitto_sub', [{ flag: '-P', form: 'next' }]],
  ['ipmitool', [{ flag: '-P', form: 'next' }]],
  [
    'snmpwalk',
    [
      { flag: '-A', form: 'next' },
      { flag: '-X', form: 'next' },
    ],
  ],
  ['net use', []],
]);

export const programWords: readonly string[] = [...programs.keys()].filter(
  (name) => name !== 'net use',
);

/** @param at the end of the program's name */
export function findSecretFlags(
  segment: LineSegment,
  program: string,
  at: number,
  report: ReportFinding,
): void {
  const { text, end } = segment;
  if (!isCharacterOf(text, at, BLANK)) return;
  const rest = text.slice(at, Math.min(end, at + 2048));
  for (const { flag, form } of programs.get(program) ?? []) {
    let p = rest.indexOf(flag);
    for (let tries = 0; tries < 8 && p >= 0; tries++) {
      const behind = p + flag.length;
      const begins = isCharacterOf(rest, p - 1, BLANK | QUOTE);
      if (begins) judgeFlag(segment, { form, behind: at + behind }, flag, report);
      p = rest.indexOf(flag, behind);
    }
  }
}

function judgeFlag(
  { text, end }: LineSegment,
  { form, behind }: { readonly form: Flag['form']; readonly behind: number },
  flag: string,
  report: ReportFinding,
): void {
  const spaced = isCharacterOf(text, behind, BLANK) || text.charAt(behind) === '=';
  if (form === 'joined' && spaced) return;
  if (form === 'next' && !spaced) return;
  if (form === 'cookie') {
    findCookiePairs({ text, end }, skipCharactersOf(text, behind, end, BLANK), report);
    return;
  }
  const at = spaced ? skipCharactersOf(text, behind + 1, end, BLANK) : behind;
  const value = readValue(text, at, end, 'assignment');
  if (value === null || value.end - value.start < 4) return;
  if (text.charAt(at) === '-' && !isDrawn(text, value)) return;
  let start = value.start;
  if (form === 'user') {
    const colon = text.slice(start, value.end).search(/[:%]/u);
    if (colon < 0) return;
    start += colon + 1;
  }
  const shown = text.slice(start, Math.min(value.end, start + 200));
  if (shown.length < 3 || isVariableReference(shown) || isPlaceholderValue(shown)) return;
  // `mysql -port 3306`, `curl -upgrade`.
  if (form !== 'user' && !spaced && /^(?:ort|assword|rotocol|ath|ipe)\b/u.test(shown)) return;
  report(makeFinding([start, value.end], 'flag', 0.9, flag));
}

/** `-a -JvF_CcczsR9Vyle`: the value is not another flag. */
function isDrawn(text: string, { start, end }: ValueSpan): boolean {
  return (
    end - start >= 10 && mixesLettersAndDigits(text, start, end) && wordiness(text, start, end) < 0
  );
}
