/** Passwords that well-known programs take as short flags: `mysql -pX`, `curl -u user:X`. */
import { wordiness } from './bigram.ts';
import { BLANK, QUOTE, isCharacterOf, skipCharactersOf } from './characters.ts';
import { makeFinding, type ReportFinding, type LineSegment } from './line-segment.ts';
import { findCookiePairs } from './cookies.ts';
import { isPlaceholderValue, isVariableReference, mixesLettersAndDigits } from './plausibility.ts';
import { readValue, type ValueSpan } from './values.ts';

/** `joined`: the value follows at once. `user`: it follows the first colon of the
 * value. `cookie`: pairs of a cookie follow. */
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

/** @param at Just behind the program's name. */
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
      if (begins) judge(segment, { form, behind: at + behind }, flag, report);
      p = rest.indexOf(flag, behind);
    }
  }
}

function judge(
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

/** `-a -JvF_CcczsR9Vyle`: no other flag. */
function isDrawn(text: string, { start, end }: ValueSpan): boolean {
  return (
    end - start >= 10 && mixesLettersAndDigits(text, start, end) && wordiness(text, start, end) < 0
  );
}
