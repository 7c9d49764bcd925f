/** Finding secrets that nobody named: what is hidden, what stays, and that calls do not matter. */
import assert from 'node:assert/strict';
import path from 'node:path';
import test from 'node:test';
import * as fc from 'fast-check';
import './support/seed.ts';
import { readCorpus } from '../bench/secrets/corpus.ts';
import { ours } from '../bench/secrets/finders.ts';
import { measure, sumOf } from '../bench/secrets/measure.ts';
import { Detector, type DetectorOptions } from '../src/redaction/detect/detector.ts';
import type { SecretPrior } from '../src/redaction/secret-finding.ts';

const fixtures = path.join(import.meta.dirname, 'fixtures/secrets');

/** The text with `[rule]` in place of what is hidden. */
function hide(texts: readonly string[], options: Partial<DetectorOptions> = {}): string {
  const detector = new Detector({ profile: 'balanced', prior: 'none', ...options });
  return texts.map((text) => hidden(detector, text)).join('');
}

function hidden(detector: Detector, text: string): string {
  let out = '';
  let at = 0;
  for (const { start, end, rule } of detector.scan(text, Buffer.from(text, 'latin1'))) {
    assert.ok(start >= at && end > start && end <= text.length, 'findings are in order');
    out += `${text.slice(at, start)}[${rule}]`;
    at = end;
  }
  return out + text.slice(at);
}

test('secrets of every group of the fixtures are hidden, and what is none stays', async () => {
  const corpus = readCorpus(fixtures);
  const { groups, precision, clean } = await measure(corpus, ours('balanced'), true);
  const least = new Map([['novel-bare', 0.75]]);
  assert.ok(groups.size >= 7);
  for (const [group, { hits, all }] of groups) {
    assert.ok(hits >= (least.get(group) ?? 0.95) * all, `${group}: ${hits} of ${all}`);
  }
  assert.equal(precision.hits, precision.all);
  const changed = sumOf(clean.values());
  assert.ok(changed.hits <= 2, `${changed.hits} of ${changed.all} clean lines changed`);
});

const shown: readonly (readonly [string, string])[] = [
  ['API_KEY=q7Wm2xLp9RtZ4vNc', 'API_KEY=[key-value]'],
  ['{"token":"q7Wm2xLp9RtZ4vNc","n":1}', '{"token":"[key-value]","n":1}'],
  ['a.sh:12:export DB_PASS=hunter2x', 'a.sh:12:export DB_PASS=[key-value]'],
  ['postgres://app:p:@ss!@db:5432/x?a=b@c', 'postgres://app:[url-userinfo]@db:5432/x?a=b@c'],
  ['see https://example.com/@scope/name@1.2.3', 'see https://example.com/@scope/name@1.2.3'],
  ['Authorization: Basic dXNlcjpwYXNz', 'Authorization: Basic [authorization]'],
  ['mysql -u root -phunter2x shop', 'mysql -u root -p[flag] shop'],
  ["ALTER USER a IDENTIFIED BY 'hunter2x'", "ALTER USER a IDENTIFIED BY '[sql-password]'"],
  ['Your password is hunter2x.', 'Your password is [sentence].'],
  ['insightly_key = 8f14e45f-ceea-467f-9e5b-3c5d2b1a7e90', 'insightly_key = [key-value]'],
  ['val password: String = "epuz25Teb32"', 'val password: String = "[key-value]"'],
  ['Server=db;User ID=sa;Password=rbTusfjoyr;', 'Server=db;User ID=sa;Password=[key-value];'],
  ['?access_token=q7Wm2xLp9RtZ4vNc&page=2', '?access_token=[key-value]&page=2'],
];

const readable: readonly string[] = [
  'API_KEY=${API_KEY}',
  'PASSWORD=$(cat /run/secrets/db)',
  'token: <your-token>',
  'password: "****"',
  'const token = process.env.API_TOKEN;',
  'token: os.environ["API_TOKEN"]',
  'password: string;',
  'password = null',
  'secretKeyRef:',
  'secretName: web-tls',
  'Secretary: Joan of the Archive 1429',
  'tokenizer: bert-base-uncased-v2',
  'max_tokens=4096',
  'keyboard=us-intl-2020x',
  'monkey: Sun3Wukong9Journey',
  'public_key: q7Wm2xLp9RtZ4vNc',
  'key_id=q7Wm2xLp9RtZ4vNc',
  'PASSWORD_FILE=/run/secrets/db-password',
  'GITHUB_TOKEN: ***',
  'API_KEY=[HIDDEN:8f2a1b]',
  'token expires at 2026-11-22T10:00:00Z',
  'commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b',
  '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08  a.txt',
  '"integrity": "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUd',
  'arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/db-a1B2c3',
  '__cxx11::basic_string<char>::npos _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE4nposE',
];

const alike: readonly string[] = [
  '    "zh:493b1220286e07aebdb491f7792c2551c40c1b7973c100241260ae6ca2b1947d",',
  'System.Core, Version=4.0.0.0, Culture=neutral, PublicKeyToken=b77a5c561934e089',
  '<assemblyIdentity name="Acme.Owin" publicKeyToken="31bf3856ad364e35" />',
  'gpg:                using RSA key 3EA2CAEC2D4CCB9DB0D2AE23EC00DF37A8686F30',
  '    existingSecret: edge-postgresql-auth',
  'credentialsSecret: billing-s3',
  '    secret: ingest-oauth-client',
  'secretRef: payments-stripe-keys2',
  '    OldPassword: LSA_UNICODE_STRING,',
  'pub const eatUserPassword: EAP_ATTRIBUTE_TYPE = 2i32;',
  'let token: AccessTokenV2 = parse(raw)?;',
  'auth: HTTPBasicAuthHandlerV2,',
  'secret: Option<Zeroizing<[u8; 32]>>,',
  'func Logon(user *uint16, password *uint16, token *handle)',
  'semi_token: Token![;],',
  '  username, password = url_user_password',
  'if password != confirm_password: raise ValueError("they differ")',
  'if (password !== confirmPassword2) {',
  '"text"===e.type||"password"===e.type)||"area"===n',
  "'$':  encodeFragment | encodeUserPassword | encodeZone | encodeHost,",
  'SIOCSLIFTOKEN                 = -0x7f879679',
  'pulled image "auth:6009c00dac0a7bbd0928f0fe4d733de020ba0b1d" in 2.9s',
  '  Auth: f8b458f59374416e38aa775d624ad0ee7a5551b8',
  'https://api.github.com/repos/a/token-service/zipball/ca6a027cfa5a9f881d1817d9a30b80629211d284',
  'dedupe_key: 1bbfa2156a6f160181657476721c0925f523b7fb',
  'build_key=MAILER-PLAN-110',
  'subject=C = NO, O = Buypass AS-983163327, CN = Buypass Class 2 Root CA',
  'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_[:]',
  'pkg/ufunclike.pyi,sha256=sk_HDVLeOoNeF4VOGHDI0iUT8YHeeOJjxyZTO4q0ddE,1346',
  'age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p',
  '     --change-passphrase            change a passphrase',
  'the password is locked\\&. The rest',
  'prj_qtOsSlmqyCOi6DT5rJJclqkJQpy4',
  'request api-6b5d7995-ea92-455c-a646-caa4b14e3b11 done',
  'Q+4QE2xy3q6Ip6FrtUPOZ9wj/wMco+I+',
  'SYSTEMD-CREDS(1)            systemd-creds            SYSTEMD-CREDS(1)',
  '--use-askpass=command',
  'The user or group is identified by group-email.',
];

/** What programs hold beside a telling name, or that is as long as a key. */
const source: readonly string[] = [
  '    def test_contextManagerPropagatesTokenErrors(self):',
  '  client: GoogleAuth | OAuth2Client | JWTAccess | Impersonated2Client;',
  '    private_key: PKCS7PrivateKeyTypes,',
  '  private_key: PKCS7PrivateKeyTypes',
  '    password = passphrase',
  '        self._password = DEFAULT_USER_PASSWORD',
  'n.push({tokenValue:a}),e.next=b(c);return d',
  'r({allOwnKeys:!0}),e.extend(o,cn.prototype)',
  'o.key=r.C0.ESC+r.C0.ESC),n.key=t?r.C0.ESC:r.C0.DEL,o=1',
  'extern const SEC_ASN1Template sec_PKCS12AuthenticatedSafeTemplate[];',
  'xmlSecGnuTLSKeyDataDsaGetKlass()',
  'SRP_user_pwd *SRP_VBASE_get1_by_user(SRP_VBASE *vb, char *username);',
  '#define OBJ_userPassword                OBJ_X509,35L',
  '#define SN_kx_rsa_psk           "KxRSA_PSK"',
  '    my $pass = $assert->{pass};',
  'my $token = qr/[\\x21\\x23-\\x27]/;',
  'export declare const ZodJWT: core.$constructor<ZodJWT>;',
  'const lastRunKey = `$throttle$lastRun$${key}`;',
  "CLIENT_AUTH = '1.3.6.1.5.5.7.3.2'",
  'RegEnumKey = win32api.RegEnumKey',
  '  { {PBES2-params IDENTIFIED BY id-PBES2}, ...}',
  'return bits(static_cast<FSDiscriminatorToken>(getNumPasses()));',
  'let duration = "P3Y6M4DT12H30M5S";',
  'type K = SyntaxKind.LessThanSlashToken | SyntaxKind.EndOfFile | SyntaxKind.Trivia',
  `    "${'5e8fe8bcaddf6031845b0e5697b52922d30497ad'.repeat(2)}",`,
  '    "1f8995b0477e3f2365ab655b1e958cbe368aee83018c3c88",',
  '  + "6nI7jPQ/QGgVeQbLwsscDl5mTIT5KHcyHcVvWvgsplBN4gIX" +',
  'START = b"-----BEGIN RSA PRIVATE KEY-----"\nEND = b"-----END RSA PRIVATE KEY-----"',
];

/** Each beside one of the above. */
const besideSource: readonly (readonly [string, string])[] = [
  ['    private_key: "q7Wm2xLp9RtZ4vNcPKCS7"', '    private_key: "[key-value]"'],
  ['    password = hunter2x', '    password = [key-value]'],
  ['connect({token:q7Wm2xLp9RtZ4vNc}),e.next=b(c)', 'connect({token:[key-value]}),e.next=b(c)'],
  ['| token | coffee_Summer_26 |', '| token | [table] |'],
  ['password = 32Cn9b]{HxpA', 'password = [key-value]'],
  ['password: my_secret_password', 'password: [key-value]'],
  ['api_token: BlueHorse42Battery', 'api_token: [key-value]'],
  ['#define WIFI_PASSWORD "hunter2x"', '#define WIFI_PASSWORD "[quoted]"'],
  ['| ci_token | q7Wm2xLp9RtZ4vNc |', '| ci_token | [table] |'],
  ['acme_prod_q7Wm2xLp9RtZ4vNc5Kd', '[random]'],
  ['IDENTIFIED BY Winter5640', 'IDENTIFIED BY [sql-password]'],
  ['<password>hunter2x</password>', '<password>[xml-element]</password>'],
  [
    'key = "-----BEGIN PRIVATE KEY-----"\n  "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj"',
    'key = "-----BEGIN PRIVATE KEY-----"\n  [private-key]',
  ],
  ['token "1f8995b0477e3f2365ab655b1e958cbe368aee83018c3c88"', 'token "[quoted]"'],
];

/** Each beside one of the above. */
const unlike: readonly (readonly [string, string])[] = [
  ['existingSecret: q7Wm2xLp9RtZ4vNc8', 'existingSecret: [key-value]'],
  ['SESSION_SECRET=keyboard-cat', 'SESSION_SECRET=[key-value]'],
  ['session_secret: keyboard-cat-river', 'session_secret: [key-value]'],
  ['user=bob password=correct_horse_battery ip=::1', 'user=bob password=[key-value] ip=::1'],
  ['if password == "hunter2x":', 'if password == "[key-value]":'],
  ['API key 6009c00dac0a7bbd0928f0fe4d733de0', 'API key [prose]'],
  ['mypass hunter2x!', 'mypass [pair]'],
  ['--password hunter2x', '--password [flag]'],
  ['wJalrXUtnFEMI/K7MDENG/bPxRfiCY+zq3Lm9Rt7', '[random]'],
  ['alter user bob identified by Winter5640', 'alter user bob identified by [sql-password]'],
  ['LD_KEY=api-6b5d7995-ea92-455c-a646-caa4b14e3b11', 'LD_KEY=[key-value]'],
];

test('a value goes, and the syntax around it stays', () => {
  for (const [text, expected] of shown) {
    assert.equal(hide([`${text}\n`]), `${expected}\n`);
    // Where the line stands in a call makes no difference.
    assert.equal(hide([`first line\n${text}\n`]), `first line\n${expected}\n`);
  }
});

test('references, placeholders, names of secrets and hashes stay', () => {
  for (const text of readable) assert.equal(hide([`${text}\n`]), `${text}\n`);
});

test('source code comes back as it is, and a secret in it is hidden', () => {
  const altered = source.filter((text) => hide([`${text}\n`]) !== `${text}\n`);
  assert.deepEqual(altered, []);
  for (const [text, expected] of besideSource) assert.equal(hide([`${text}\n`]), `${expected}\n`);
});

test('what only looks like a secret stays, and a secret beside it goes', () => {
  for (const text of alike) assert.equal(hide([`${text}\n`]), `${text}\n`);
  for (const [text, expected] of unlike) assert.equal(hide([`${text}\n`]), `${expected}\n`);
});

test('the last line of base64 stays behind a full one, also of the call before', () => {
  const body = 'MIIFazCCA1OgAwIBAgIRAIIQz7DSQONZRGPgu2OCiwAwDQYJKoZIhvcNAQELBQAw\n';
  const tail = 'QqszKbrAKbkTidOIijlBO8n9pu0f9GBj39ItVQGL\n';
  assert.equal(hide([tail]), '[random]\n');
  assert.equal(hide([body + tail]), body + tail);
  assert.equal(hide([body, tail]), body + tail);
  assert.equal(hide([`${body}\n${tail}`]), `${body}\n[random]\n`);
});

test('findings are the same however whole lines are grouped into calls', () => {
  const corpus = readCorpus(fixtures);
  const texts = [...corpus.positives, ...corpus.negatives].map(({ text }) =>
    Buffer.from(text, 'utf8').toString('latin1'),
  );
  const lines = texts.flatMap((text) => `${text}\n`.split(/(?<=\n)/u));
  const part = fc.array(fc.nat(lines.length - 1), { minLength: 1, maxLength: 12 });
  fc.assert(
    fc.property(part, fc.array(fc.nat(12), { maxLength: 4 }), (starts, cuts) => {
      const chosen = starts.flatMap((at) => lines.slice(at, at + 6));
      const calls: string[] = [];
      let from = 0;
      for (const cut of [...cuts, chosen.length]) {
        calls.push(chosen.slice(from, from + cut).join(''));
        from += cut;
      }
      const some = calls.filter((call) => call !== '');
      assert.equal(hide(some), hide([some.join('')]));
    }),
    { numRuns: 300 },
  );
});

test('a private key is hidden to its end, over lines and calls, and in one line', () => {
  const body = Array.from({ length: 4 }, (_, at) => 'MIIEvQIBADANBgkqhkiG9w0B'.repeat(2) + at);
  const lines = ['-----BEGIN RSA PRIVATE KEY-----', ...body, '-----END RSA PRIVATE KEY-----'];
  const calls = lines.map((line) => `${line}\n`);
  assert.equal(hide([...calls, 'after\n']), `${'[private-key]\n'.repeat(6)}after\n`);
  assert.equal(hide(calls.slice(0, 4)), '[private-key]\n'.repeat(4));
  assert.equal(
    hide([`{"key_pem":"${lines.join('\\n')}\\n"}\n`]),
    '{"key_pem":"[private-key]\\n"}\n',
  );
  const prose = 'A file with -----BEGIN RSA PRIVATE KEY----- is a key.\nThe next line is not.\n';
  assert.equal(hide([prose]), prose);
});

test('what stands in the armour of a certificate stays, what comes after is looked at', () => {
  const line = 'qx_Xk29fLq8Zr71mWc4Tn56Vb03HsQ8eT1yU2\n';
  const pem = ['-----BEGIN CERTIFICATE-----\n', line, '-----END CERTIFICATE-----\n'];
  const strict = { profile: 'strict' } as const;
  assert.equal(hide([...pem, line], strict), `${pem.join('')}[random]\n`);
});

test('NUL-separated, carriage-return and UTF-16 output is looked through', () => {
  assert.equal(hide(['A=1\0API_KEY=q7Wm2xLp9RtZ4vNc\0B=2\0']), 'A=1\0API_KEY=[key-value]\0B=2\0');
  assert.equal(hide(['10 %\rTOKEN=q7Wm2xLp9RtZ4vNc\rdone\n']), '10 %\rTOKEN=[key-value]\rdone\n');
  const wide = Buffer.from('x\nTOKEN=q7Wm2xLp9RtZ4vNc\nz\n', 'utf16le').toString('latin1');
  assert.ok(!hide([wide]).replaceAll('\0', '').includes('q7Wm2xLp9RtZ4vNc'));
  assert.match(hide([wide]).replaceAll('\0', ''), /^x\nTOKEN=\[key-value\]\n?z\n$/u);
});

test('a value may stand on the line under its name', () => {
  assert.equal(hide(['token:\n', '  q7Wm2xLp9RtZ4vNc\n']), 'token:\n  [value]\n');
  const pair = '- name: DB_PASSWORD\n  value: hunter2x\n';
  assert.equal(hide([pair]), '- name: DB_PASSWORD\n  value: [name-value]\n');
  const created = 'Token created. Copy it now:\n\n    q7Wm2xLp9RtZ4vNc5KdY\n';
  assert.equal(hide([created]), 'Token created. Copy it now:\n\n    [announced]\n');
});

test('a table whose head names a secret has it hidden in its rows, to its end', () => {
  const head = 'NAME    API TOKEN             CREATED\n';
  const rows = ['ci-bot  q7Wm2xLp9RtZ4vNc5KdY  2026-11-22\n', 'other   none  2026-11-22\n'];
  const text = [head, ...rows, '\n', ...rows];
  const out = [head, 'ci-bot  [column]  2026-11-22\n', rows[1], '\n', ...rows].join('');
  assert.equal(hide(text), out);
  assert.equal(hide([text.join('')]), out);
  const bars = '| id | api_key | owner |\n|----|----|----|\n| 7 | q7Wm2xLp9RtZ4vNc5KdY | ann |\n';
  assert.equal(hide([bars]), bars.replace('q7Wm2xLp9RtZ4vNc5KdY', '[column]'));
});

test('what the command prints moves the threshold, and so does a prompt in the first line', () => {
  const key = '3f2a9c07d1e84b6f95a0c3d2e1f4b7a8\n';
  const by = (prior: SecretPrior): boolean => hide([key], { prior }) !== key;
  assert.deepEqual([by('secrets'), by('none'), by('hashes')], [true, false, false]);
  assert.equal(hide([`$ cat config/master.key\n${key}`]), '$ cat config/master.key\n[random]\n');
});

test('profiles, thresholds, vetoes and rules of users are followed', () => {
  const text = 'API_TOKEN=q7Wm2xLp9RtZ4vNc\n';
  const never = { context: 1.01, format: 1.01 };
  const alone = { secrets: 2, none: 2, hashes: 2 };
  const off = { ...never, alone, labelled: alone, inline: alone };
  assert.equal(hide([text], { thresholds: off }), text);
  const bare = 'Xk29fLq8Zr71mWc4Tn56\n';
  assert.notEqual(hide([bare], { profile: 'strict' }), bare);
  assert.equal(hide([bare], { profile: 'strict', vetoes: { shannonBitsMin: 8 } }), bare);
  const rules = {
    find: () => [{ start: 0, end: 3, kind: 'format', rule: 'mine', score: 1, key: null } as const],
  };
  assert.equal(hide(['abc def\n'], { rules }), '[mine] def\n');
});
