// Which variables are secrets, and what of their values is.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { maskedParts } from '../src/secrets/masked-parts.ts';
import { isSecretLikeName, isSecretVariable } from '../src/secrets/secret-name.ts';

const value = 'c0rrect-horse-Battery';

test('a variable is a secret by its name, and never where its value cannot be one', () => {
  const secrets = [
    'API_KEY AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN GITHUB_TOKEN GH_PAT DB_PASSWORD MYSQL_PWD',
    'PGPASSWORD STRIPE_SECRET DJANGO_SECRET_KEY JWT_SECRET npm_config__authToken apiKey NPM_AUTH',
    'OPENAI_API_KEY CLIENT_SECRET SENTRY_DSN KEYSTORE_PASS HMAC_KEY SSH_PRIVATE_KEY TOKEN COOKIE',
    'REDIS_PASS sessionToken API_KEY_2 APIKEY TWILIO_AUTH_TOKEN TF_VAR_db_password',
  ];
  const others = [
    'PATH PWD OLDPWD HOME SSH_AUTH_SOCK XAUTHORITY KEYBOARD TOKENIZERS_PARALLELISM MAX_TOKENS',
    'AWS_ACCESS_KEY_ID TOKEN_URL SECRET_NAME PASSWORD_FILE GIT_ASKPASS SSH_ASKPASS KEY PASSENGER',
    'PUBLIC_KEY GPG_KEY AUTH_MODE DESKTOP_SESSION XDG_SESSION_ID COMPASS MONKEY SORT_KEY TOKEN_TTL',
    'SECRETARY AUTHOR_NAME DB_USER VAULT_ADDR NODE_ENV COMPOSE_PROJECT_NAME PASSWORD_HASHER',
  ];
  const words = (lines: readonly string[]): string[] => lines.flatMap((line) => line.split(' '));
  for (const name of words(secrets)) assert.ok(isSecretLikeName(name), name);
  for (const name of words(others)) assert.ok(!isSecretLikeName(name), name);
  for (const plain of ['', 'true', '0', '4096', '/run/secrets/token', './key', 'none']) {
    assert.ok(!isSecretVariable('API_TOKEN', plain), plain);
  }
  assert.ok(isSecretVariable('DATABASE_URL', `postgres://app:${value}@db:5432/app`));
  assert.ok(!isSecretVariable('DATABASE_URL', 'postgres://db:5432/app'));
  assert.ok(isSecretVariable('REMOTE', 'https://gh0123456789abcdef@github.com/a/b'));
  assert.ok(!isSecretVariable('MAIL', 'https://somebody@example.com/'));
  assert.ok(isSecretVariable('HOOK', 'https://hooks.slack.com/services/T0/B0/aB3dE6gH9j'));
  assert.ok(!isSecretVariable('HOMEPAGE', 'https://example.com/a:b@c'));
  assert.ok(isSecretVariable('GH', `ghp_${'aB3dE6gH9j'.repeat(4)}`));
});

test('a value that only looks like a path or a number is a secret', () => {
  const keys = [
    '/K7MDENGbPxRfiCYwJalrXUtnFEMIq9Zk3xW2pL+',
    '/K7MDENG/bPxRfiCYwJalrXUtnFEMIq9Zk3xW2pL',
    '/wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY9',
    '~Zk3x/W2pL9q',
    './x9K2mQ7vR4t',
  ];
  for (const key of keys) {
    assert.ok(isSecretVariable('AWS_SECRET_ACCESS_KEY', key), key);
    assert.ok(isSecretVariable('ENCRYPTION_KEY', key), key);
    assert.ok(!isSecretVariable('BUILD_LABEL', key), key);
  }
  const paths = [
    '/run/secrets/db-password',
    '~/.ssh/id_ed25519',
    '~other/.ssh/id_rsa',
    './certs/server.key',
    '../shared/token.txt',
    '/home/u/.config/gh/x9K2mQ7vR4t',
    '/tmp',
    '/',
    '/company/vault/token2',
  ];
  for (const one of paths) assert.ok(!isSecretVariable('DB_PASSWORD', one), one);
  const digits = 'A_PASSWORD CARD_PIN LOGIN_OTP DB_PWD CLIENT_SECRET SMS_PASSCODE API_TOKEN';
  for (const name of digits.split(' ')) {
    assert.ok(isSecretVariable(name, '12345678'), name);
    assert.ok(!isSecretVariable(name, '12345'), name);
  }
  for (const name of ['API_KEY', 'MAX_TOKEN', 'PASSWORD_LENGTH', 'GPIO_PINS', 'AUTH']) {
    assert.ok(!isSecretVariable(name, '12345678'), name);
  }
});

test('a value that names its secret is one, whatever the variable is called', () => {
  const auth = Buffer.from('ada:correct-horse').toString('base64');
  const named: readonly (readonly [string, string, string])[] = [
    ['DOCKER_AUTH_CONFIG', JSON.stringify({ auths: { 'r.example': { auth } } }), auth],
    ['GOOGLE_SERVICE_ACCOUNT_JSON', '{"private_key":"k7Gq2LxPzz"}', 'k7Gq2LxPzz'],
    ['AZURE_STORAGE_CONNECTION_STRING', 'AccountName=a;AccountKey=Zq7TfKx2;', 'Zq7TfKx2'],
    ['BLOB_SAS_URL', 'https://a.example/c?sv=2024&sig=Zq7Tf%2Bx2pL%3D', 'Zq7Tf+x2pL='],
  ];
  for (const [name, text, part] of named) {
    assert.ok(isSecretVariable(name, text), name);
    assert.ok(maskedParts(text).includes(part), name);
  }
  const plain = [
    'https://example.com/releases/1.2.3-alpha-build20?page=2',
    'rs=0:di=01;34:ln=01;36',
    '{"sort_keys":"yes","host":"db"}',
    'Server=db;Database=app;',
  ];
  for (const text of plain) assert.ok(!isSecretVariable('SETTINGS', text), text);
});

test('lines and fields of a value with several lines are masked, ordinary words are not', () => {
  const cases: readonly (readonly [string, readonly string[]])[] = [
    ['admin\nS3cret!pass', ['S3cret!pass']],
    ['host=db\npassword=hunter2-dragon', ['hunter2-dragon']],
    ['aaaa\nwinter sunset lagoon', ['winter sunset lagoon']],
    ['multi\r\nline-secret-part\r\n', ['line-secret-part']],
    ['[default]\nregion = eu-central-1\nuser: administrator\ntoken: "dragonfly"', ['dragonfly']],
    ['administrator\n# what it is for\n/run/secrets/x\ndb.example.com\n12345678', ['12345678']],
    [`-----BEGIN PRIVATE KEY-----\n${'aB3/'.repeat(16)}\n-----END PRIVATE KEY-----`, []],
    ['пароль-сервера\nx', ['пароль-сервера']],
  ];
  for (const [text, lines] of cases) assert.deepEqual(maskedParts(text), [text, ...lines]);
  const many = Array.from({ length: 300 }, (_, at) => `line-number-${at}`).join('\n');
  assert.equal(maskedParts(many).length, 33);
});

test('of a URL, a key file and a connection string only the secret part is masked', () => {
  assert.deepEqual(maskedParts(value), [value]);
  assert.deepEqual(maskedParts('postgres://app:p%40ss-w0rd!@db:5432/app'), [
    'p%40ss-w0rd!',
    'p@ss-w0rd!',
  ]);
  const urls: [string, string[]][] = [
    ['https://gh0123456789abcdef@github.com/a/b', ['gh0123456789abcdef']],
    ['https://gh0123456789abcdef:x-oauth-basic@github.com/a/b', ['gh0123456789abcdef']],
    ['https://hooks.slack.com/services/T0/B0/aB3dE6gH9jK2mN5pQ8', ['aB3dE6gH9jK2mN5pQ8']],
    ['https://api.example.com/v1?token=abcdefgh&page=2', ['abcdefgh']],
    ['https://example.com/no/secret/here', ['https://example.com/no/secret/here']],
    ['amqp://guest:guest-pw@[::1]:5672/vhost', ['guest-pw']],
    ['postgres://app:a:b@c@db/app', ['a:b@c']],
  ];
  for (const [url, parts] of urls) assert.deepEqual(maskedParts(url), parts, url);
  const key = { type: 'service_account', private_key: 'AAAA\nBBBB', project_id: 'p' };
  assert.deepEqual(maskedParts(JSON.stringify(key)), ['AAAA\nBBBB']);
  assert.deepEqual(maskedParts('Server=db;User Id=app;Password=hunter2hunter2;'), [
    'hunter2hunter2',
  ]);
  assert.deepEqual(maskedParts('{"a":"b"}'), ['{"a":"b"}']);
});

test('values made to be slow to read are read', () => {
  const size = 64 * 1024;
  for (const piece of [
    'x',
    '?',
    '&',
    '=',
    ';',
    ':',
    '@',
    '/',
    '%',
    'a=',
    '-----BEGIN ',
    'eyJ',
    'a\n',
    'a.',
  ]) {
    const long = piece.repeat(size / piece.length);
    for (const hostile of [long, `a://${long} `, `https://h/${long} `, `a=${long}`, `{"${long}`]) {
      assert.ok(maskedParts(hostile).length > 0);
      isSecretVariable('API_KEY', hostile);
      isSecretVariable(hostile, hostile);
    }
  }
});
