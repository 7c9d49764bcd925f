/**
 * Logins without the name of a secret: flags of programs, files of logins, messages of servers,
 * each with the document that defines it. Each expression ends where the value begins, and is
 * bounded, so that hostile output costs only a few attempts for each character.
 */

interface FlagRow {
  /** Names of programs. */
  readonly of: string;
  /** Text between the program and the value, after other arguments. */
  readonly before: string;
  readonly source: string;
}
const valueOf = (flags: string): string => String.raw`[ \t](?:${flags})(?:=|[ \t]{1,8}|)\\?["']?`;
const userOf = (flags: string, sign = ':'): string =>
  String.raw`${valueOf(flags)}[^\s"'${sign}]{0,64}${sign}`;
const words = (count: number): string => String.raw`(?:[ \t]+[^\s|;]{1,128}){${count}}[ \t]+["']?`;

const flagRows: readonly FlagRow[] = [
  {
    of: 'curl',
    before: userOf('-[a-zA-Z]{0,8}[uU]|--user|--proxy-user'),
    source: 'https://curl.se/docs/manpage.html#-u',
  },
  {
    of: 'http https xh',
    before: userOf('-a|--auth'),
    source: 'https://httpie.io/docs/cli/basic-auth',
  },
  {
    of: 'mysql mysqladmin mysqldump mysqlimport mysqlcheck mysqlshow mariadb mariadb-dump',
    before: String.raw`[ \t]-p["']?`,
    source: 'https://dev.mysql.com/doc/refman/8.4/en/connecting.html',
  },
  { of: 'sshpass', before: valueOf('-p'), source: 'https://man.archlinux.org/man/sshpass.1' },
  {
    of: 'docker podman nerdctl helm oras skopeo buildah crane',
    before: String.raw`[ \t](?:registry[ \t]+)?login\b[^\n|;&]{0,256}?${valueOf('-p')}`,
    source: 'https://docs.docker.com/reference/cli/docker/login/',
  },
  {
    of: 'skopeo',
    before: userOf('--creds|--src-creds|--dest-creds'),
    source: 'https://github.com/containers/skopeo/blob/main/docs/skopeo-copy.1.md',
  },
  {
    of: 'redis-cli valkey-cli',
    before: valueOf('-a|--pass'),
    source: 'https://redis.io/docs/latest/develop/tools/cli/',
  },
  {
    of: 'ldapsearch ldapadd ldapmodify ldapdelete ldappasswd ldapwhoami',
    before: valueOf('-w'),
    source: 'https://www.openldap.org/software/man.cgi?query=ldapsearch',
  },
  {
    of: 'ldappasswd',
    before: valueOf('-[sa]'),
    source: 'https://www.openldap.org/software/man.cgi?query=ldappasswd',
  },
  {
    of: 'openssl',
    before: valueOf(String.raw`-k|-pass(?:in|out)?[ \t]+["']?pass:`),
    source: 'https://docs.openssl.org/master/man1/openssl-passphrase-options/',
  },
  { of: '7z 7za 7zz 7zr', before: String.raw`[ \t]-p["']?`, source: 'https://7-zip.org/' },
  { of: 'zip unzip', before: valueOf('-P'), source: 'https://infozip.sourceforge.net/' },
  {
    of: 'htpasswd',
    before: String.raw`[ \t]-[a-zA-Z]{0,8}b[a-zA-Z]{0,8}${words(2)}`,
    source: 'https://httpd.apache.org/docs/2.4/programs/htpasswd.html',
  },
  {
    of: 'smbclient rpcclient net',
    before: userOf('-U|--user', '%'),
    source: 'https://www.samba.org/samba/docs/current/man-html/smbclient.1.html',
  },
  {
    of: 'sqlplus rman expdp impdp sqlcl',
    before: String.raw`[ \t]["']?\w{1,64}/["']?`,
    source: 'https://docs.oracle.com/en/database/oracle/oracle-database/19/sqpug/',
  },
  {
    of: 'mongo mongosh mongodump mongorestore mongoexport mongoimport',
    before: valueOf('-p'),
    source: 'https://www.mongodb.com/docs/mongodb-shell/reference/options/',
  },
  {
    of: 'sqlcmd bcp',
    before: valueOf('-P'),
    source: 'https://learn.microsoft.com/sql/tools/sqlcmd',
  },
  { of: 'ssh-keygen', before: valueOf('-[NP]'), source: 'https://man.openbsd.org/ssh-keygen' },
  {
    of: 'rabbitmqctl',
    before: String.raw`[ \t](?:add_user|change_password|authenticate_user)${words(1)}`,
    source: 'https://www.rabbitmq.com/docs/man/rabbitmqctl.8',
  },
  {
    of: 'vault',
    before: String.raw`[ \t]login[ \t]+["']?`,
    source: 'https://developer.hashicorp.com/vault',
  },
  {
    of: 'ipmitool lftp cadaver xfreerdp',
    before: valueOf('-P|/p:'),
    source: 'https://linux.die.net/man/1/ipmitool',
  },
  {
    of: 'lftp',
    before: String.raw`[ \t]-u[ \t]+["']?[^\s,]{1,64},`,
    source: 'https://lftp.yar.ru/',
  },
];

interface LineRow {
  /** A condition on the line; default: none. */
  readonly if?: RegExp;
  readonly before: RegExp;
  readonly source: string;
}
/** Programs and flags that read a password from standard input. */
const readsPassword = new RegExp(
  String.raw`--password-stdin|\bsudo\b[^|\n]{0,64}[ \t]-\w{0,8}S|\b(?:ch|smb)?passwd\b|` +
    String.raw`--passphrase-fd|\bcryptsetup\b`,
);
const secretWord = 'pass(?:word|phrase|code|wd)|pin|secret|token';

const lineRows: readonly LineRow[] = [
  {
    if: /^[ \t]*(?:machine|default|login|account|password)\b/,
    before: /\bpassword[ \t]{1,8}"?/g,
    source: 'https://www.gnu.org/software/inetutils/manual/html_node/The-_002enetrc-file.html',
  },
  {
    before: /^[^:\s]{1,255}:(?:\d{1,5}|\*):[^:\n]{1,64}:(?=[^:\n]{0,63}[a-z])[^:\n]{1,64}:/gi,
    source: 'https://www.postgresql.org/docs/current/libpq-pgpass.html',
  },
  {
    before: /\bidentified[ \t]{1,8}(?:with[ \t]{1,8}\S{1,64}[ \t]{1,8})?by[ \t]{1,8}["'`]?/gi,
    source: 'https://dev.mysql.com/doc/refman/8.4/en/create-user.html',
  },
  {
    before: /(?:^|[>"'] ?)AUTH[ \t]{1,8}["']?/gi,
    source: 'https://redis.io/docs/latest/commands/auth/',
  },
  {
    before: /(?:^|[>"'] ?)AUTH[ \t]{1,8}[^\s"']{1,64}[ \t]{1,8}["']?/gi,
    source: 'https://redis.io/docs/latest/commands/auth/',
  },
  {
    before: new RegExp(
      String.raw`\b(?:with|using|wrong|invalid|incorrect|bad|old|new|default)[ \t]{1,8}` +
        String.raw`(?:${secretWord})[ \t:]{1,8}["'\x60(]?`,
      'gi',
    ),
    source: 'messages of servers that refuse a login',
  },
  {
    before: new RegExp(
      String.raw`(?:${secretWord})[ \t]{1,8}(?:is|was|of|set to)[ \t]{1,8}["'\x60]?`,
      'gi',
    ),
    source: 'messages of programs that made a login',
  },
  {
    if: new RegExp(`(?:${secretWord})`, 'i'),
    before: /\b(?:tried|given|got|entered|received)[ \t]{1,8}["'`]/gi,
    source: 'messages of servers that refuse a login',
  },
  {
    if: readsPassword,
    before: /\b(?:echo|printf)[ \t]{1,8}(?:-\w{1,4}[ \t]{1,8})?["']?(?:[^\s:"']{1,64}:)?/g,
    source: 'https://docs.docker.com/reference/cli/docker/login/#password-stdin',
  },
  {
    if: readsPassword,
    before: /\bprintf[ \t]{1,8}["']?%s(?:\\n)?["']?[ \t]{1,8}["']?/g,
    source: 'https://docs.docker.com/reference/cli/docker/login/#password-stdin',
  },
  {
    if: readsPassword,
    before: /<<<[ \t]{0,8}["']?(?:[^\s:"']{1,64}:)?/g,
    source: 'https://www.sudo.ws/docs/man/sudo.man/#S',
  },
];

/** `user:password` in base64: HTTP, `auth` of docker's configuration, `_auth` of npm's. */
export const basicLoginPattern = new RegExp(
  String.raw`(?:\bBasic[ \t]{1,8}|\b_?auth\\?["']?[ \t]{0,8}[:=][ \t]{0,8}\\?["']?)` +
    '([A-Za-z0-9+/]{2,512}={0,2})',
  'gi',
);

const byProgram = new Map<string, RegExp[]>();
for (const { of, before } of flagRows) {
  for (const program of of.split(' ')) {
    byProgram.set(program, [...(byProgram.get(program) ?? []), new RegExp(before, 'g')]);
  }
}
const longestFirst = [...byProgram.keys()].toSorted((a, b) => b.length - a.length);
const called = new RegExp(String.raw`(?<![\w.-])(${longestFirst.join('|')})(?=[ \t])`, 'g');

/** Offsets in `line` (without a line feed) where the password of a login can begin. */
export function findLoginPasswords(line: string): readonly number[] {
  const found: number[] = [];
  const add = (text: string, before: RegExp, from: number): void => {
    for (const match of text.matchAll(before)) found.push(from + match.index + match[0].length);
  };
  const calls = Array.from(line.matchAll(called));
  for (const [at, { 1: program = '', index }] of calls.entries()) {
    const from = index + program.length;
    const text = line.slice(from, calls[at + 1]?.index);
    for (const before of byProgram.get(program) ?? []) add(text, before, from);
  }
  for (const { if: holds, before } of lineRows) {
    if (holds === undefined || holds.test(line)) add(line, before, 0);
  }
  return found;
}
