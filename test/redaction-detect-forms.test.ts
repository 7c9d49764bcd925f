/** Secrets in forms of their own: key files, lists of codes, tables, logins, other languages. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { Detector } from '../src/redaction/detect/detector.ts';
import { secretPriorOf } from '../src/redaction/detect/secret-prior.ts';

/** The text with `#` in place of what is hidden. */
function hide(text: string, command = ''): string {
  const bytes = Buffer.from(text, 'utf8');
  const latin1 = bytes.toString('latin1');
  const detector = new Detector({ profile: 'balanced', prior: secretPriorOf(command) });
  let out = '';
  let at = 0;
  for (const { start, end } of detector.scan(latin1, bytes)) {
    out += `${latin1.slice(at, start)}#`;
    at = end;
  }
  return Buffer.from(out + latin1.slice(at), 'latin1').toString('utf8');
}

const number = 'GRbDt3xc-xgvQFzaVtxX3DYSiWFT-efGJHAGkW-8oHY';
const hex = '9f86d081884c7d659a2feaa0c55ad015';

const shown: readonly (readonly [string, string])[] = [
  // Codes for a second factor.
  ['Recovery codes:\nadb98-f4133\nac250-675da\ndone', 'Recovery codes:\n#\n#\ndone'],
  ['Backup codes:\n\n 1. 8f2k91mz\n 2. 77abc3d9\n', 'Backup codes:\n\n 1. #\n 2. #\n'],
  ['{"recovery_codes":["adb98-f4133","x1250-675da"],"n":3}', '{"recovery_codes":["#","#"],"n":3}'],
  ['Your secret key is: 4fp3 ufqi i3l2 uaq6', 'Your secret key is: #'],
  // The directory of a shell, which is no password.
  ['HOME=/home/bob\nPWD=/tmp/shopt\nOLDPWD=/srv', 'HOME=/home/bob\nPWD=/tmp/shopt\nOLDPWD=/srv'],
  ['export PWD="/tmp/x1"', 'export PWD="/tmp/x1"'],
  ['UID=sa;PWD=/Te7Wb8pabQ', 'UID=sa;PWD=#'],
  // Key files.
  [`{"kty":"EC","x":"${number}","d":"${number}"}`, `{"kty":"EC","x":"${number}","d":"#"}`],
  ['{"kty":"oct","k":"HymP37fQxIJ3yeSQ"}', '{"kty":"oct","k":"#"}'],
  [`  "d": "${number}",\n  "kty": "EC"`, '  "d": "#",\n  "kty": "EC"'],
  [`Private-Lines: 1\n${'tS9tG54xPOV3'.repeat(4)}\nnext: line`, 'Private-Lines: 1\n#\nnext: line'],
  [
    `$ANSIBLE_VAULT;1.1;AES256\n  ${hex}\n  ${hex}\na: b`,
    '$ANSIBLE_VAULT;1.1;AES256\n  #\n  #\na: b',
  ],
  [
    `-----BEGIN OpenVPN Static key V1-----\n${hex}\n-----END OpenVPN Static key V1-----\nok`,
    '#\n#\n#\nok',
  ],
  [`K10${hex}${hex}::server:${hex}`, '#'],
  ['bob:{SHA}DRcChptnEzUX/ArZnYadYFG49Gg=', 'bob:#'],
  [` app | md5${hex} |`, ' app | # |'],
  [
    '.dockerconfigjson: eyJhdXRocyI6eyJnaGNyLmlvIjp7InVzZXJuYW1lIjoiYm90In19fQ==',
    '.dockerconfigjson: #',
  ],
  // Connections and configurations.
  ['app:FoNXTkuSiXp5@tcp(db:3306)/shop', 'app:#@tcp(db:3306)/shop'],
  ['sqlplus app/vRK1ylzQ@//db:1521/ORCL', 'sqlplus app/#@//db:1521/ORCL'],
  ['user default on >Te7Wb8pabQ ~* +@all', 'user default on ># ~* +@all'],
  ['snmp-server community U75eFRb2 RO', 'snmp-server community # RO'],
  ['<Pass encoding="base64">a0duMmZPMU5y</Pass>', '<Pass encoding="base64">#</Pass>'],
  [
    '<AdministratorPassword><Value>sunset89ginger</Value></AdministratorPassword>',
    '<AdministratorPassword><Value>#</Value></AdministratorPassword>',
  ],
  ['curl --user bob:Hunter22x https://x', 'curl --user bob:# https://x'],
  ["curl -b 'session=twHvM5X9FvmTkwL8oht5' https://x", "curl -b 'session=#' https://x"],
  ["curl --cookie 'sid=twHvM5X9FvmTkwL8oht5' https://x", "curl --cookie 'sid=#' https://x"],
  ['ENV KITE_ACCESS_KEY ()3*s66JgV64=?4u%kaR540X', 'ENV KITE_ACCESS_KEY #'],
  ['set -gx ENC_KEY Lm7rrf6AM-l9n^PZ%Kqg', 'set -gx ENC_KEY #'],
  ['https://jaUuvjKukwOwoQRjxMeKREULxxDp@git.example.com/a', 'https://#@git.example.com/a'],
  ['secret_id          e1abdad9-c08a-4649-ab50-0c571a4ee924', 'secret_id          #'],
  // Tables and statements.
  [
    'Access key ID,Secret access key\nx,FEd8cx/HnzRfb7ZCN8hH',
    'Access key ID,Secret access key\nx,#',
  ],
  ['name,password\n"al","x, y9!z"', 'name,password\n"al","#"'],
  [
    "INSERT INTO u (id, password) VALUES (1, 'purple42'), (2, 'it''s 9')",
    "INSERT INTO u (id, password) VALUES (1, '#'), (2, '#')",
  ],
  // Logins.
  ["echo -e 'Summer26\\nSummer26' | passwd alice", "echo -e '#' | passwd alice"],
  ["echo 'alice:UGEUI0RdAZ' | chpasswd", "echo 'alice:#' | chpasswd"],
  ['net user alice Hunter22 /add', 'net user alice # /add'],
  [
    "ConvertTo-SecureString 'purple42dragon' -AsPlainText",
    "ConvertTo-SecureString '#' -AsPlainText",
  ],
  ['USER bob\n331 Password required\nPASS purpledragon', 'USER bob\n331 Password required\nPASS #'],
  ['a1 LOGIN bob "nebgifhy74"', 'a1 LOGIN bob "#"'],
  ["password for user bob changed to '70qUZ37yIDA6'", "password for user bob changed to '#'"],
  [
    'A temporary password is generated for root@localhost: Tiger8691#',
    'A temporary password is generated for root@localhost: #',
  ],
  // A sentence before the name of a password, as long as one may be.
  [`${'wordy '.repeat(20)}password: CastleWinterFalcon`, `${'wordy '.repeat(20)}password: #`],
  ['jdbc:oracle:thin:app/Hunter22xK@db:1521:x', 'jdbc:oracle:thin:app/#@db:1521:x'],
  ['"bob" * "Hunter22x" *', '"bob" * "#" *'],
  ['http_proxy=bob:Hunter22x@10.0.0.1:3128', 'http_proxy=bob:#@10.0.0.1:3128'],
  ['*:*:*:bob:Hunter22x', '*:*:*:bob:#'],
  ['tacacs-server host 10.0.0.1 key Hunter22xK', 'tacacs-server host 10.0.0.1 key #'],
  ['username bob password 7 0822455D0A165445', 'username bob password 7 #'],
  ['AUTH PLAIN AGJvYgBIdW50ZXIyMng=', 'AUTH PLAIN #'],
  // Languages.
  ['mot de passe : WIDo!N6sML', 'mot de passe : #'],
  ['Contraseña: gvvspeif83', 'Contraseña: #'],
  ['Пароль: 6YPrGBBjJIMf', 'Пароль: #'],
  ['密码：winter71rocket', '密码：#'],
  ['パスワード: CastleWinterFalcon', 'パスワード: #'],
];

test('a secret in a form of its own goes, and what is around it stays', () => {
  for (const [text, expected] of shown) assert.equal(hide(`${text}\n`), `${expected}\n`);
});

const readable: readonly string[] = [
  'Recovery codes are used once.\nSee docs/codes-2024 for more.',
  '"d": "M10 10 L20 20"',
  'PASS src/app2.test.ts',
  '--- PASS: TestLogin2 (0.01s)',
  'PASS test-1',
  'net user bob /delete',
  'rocommunity public',
  'sqlplus / as sysdba',
  'curl -b cookies.txt https://example.com',
  '--secret-id prod/db-main',
  'SecretId: MyTestDatabaseSecret1-a1b2c3',
  'existingSecret: prod-2024-db',
  'secretName: edge-postgresql-12',
  'ENV API_KEY $KEY',
  'def login(user,password):\n    return check(user,password)',
  'login,token\nlogin,token',
  'סיסמה שגויה 2026-03-07T15:22:41.076Z',
  'Contraseña: (oculta)',
  'Hasło: wymagane',
  'user:password@tcp(localhost:3306)/x',
  'the key this that with some text here also four',
  'proxy = proxy.corp:3128',
  'SASL AUTH PLAIN LOGIN',
  'daemon:*:18375:0:99999:7:::',
  'password was changed to a new value yesterday',
];

test('what only looks like such a form stays', () => {
  for (const text of readable) assert.equal(hide(`${text}\n`), `${text}\n`);
});

test('a program that makes keys prints one', () => {
  const key = 'PcIAriEGAHTVeCUjW2JIZA==';
  assert.equal(hide(`${key}\n`), `${key}\n`);
  assert.equal(hide(`${key}\n`, 'openssl rand -base64 16'), '#\n');
});
