// Secrets that are ordinary text, too: they are hidden where they are meant, and refuse nothing.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { KnownValue } from '../src/redacted.ts';
import { buildKnownIndex, maskText } from '../src/redaction/known/maskable.ts';
import { makeMaskers, openRedactor } from '../src/redaction/open-redactor.ts';
import { RedactionTags } from '../src/redaction/redaction-tags.ts';
import { whyNoBox } from './support/box.ts';
import { startRuntime, type Daemon, type Json } from './support/daemon.ts';
import { openSession } from './support/session.ts';

const weak = {
  POSTGRES_PASSWORD: 'postgres',
  ADMIN_PASSWORD: 'root',
  DB_PASSWORD: 'acme-web',
  APP_SECRET: 'development',
  CARD_PIN: '1234',
  FEATURE_TOKEN: 'true',
  API_TOKEN: 'localhost',
  ROOT_PASSWORD: '/',
};
/** A variable with such a value is no secret, unless a person gives it as one. */
const plain = new Set(['CARD_PIN', 'FEATURE_TOKEN', 'ROOT_PASSWORD']);
const strong = 'p7Gx2mQ9vK4tR8wZ';

/** Logins without a name; `@` stands for the value. */
const logins = [
  'curl -u admin:@ https://x.test',
  'curl --user admin:@ https://x.test',
  'curl --user=admin:@ https://x.test',
  'curl -uadmin:@ https://x.test',
  'curl -su "admin:@" https://x.test',
  "curl -U 'proxy:@' https://x.test",
  'curl --proxy-user p:@ https://x.test',
  'mysql -uroot -p@ app',
  'mysqldump -h db -p"@" app',
  'sshpass -p @ ssh host',
  'docker login -u me -p @ registry',
  'redis-cli -a @ ping',
  'ldapsearch -x -D cn=a -w @ -b dc=x',
  'openssl enc -aes-256-cbc -k @',
  'openssl rsa -passin pass:@',
  '7z x -p@ a.7z',
  'unzip -P @ a.zip',
  'htpasswd -b users.txt admin @',
  'smbclient //h/s -U me%@',
  'sqlplus scott/@@db',
  'mongosh -u me -p @',
  'ssh-keygen -t ed25519 -N @',
  'rabbitmqctl add_user me @',
  'lftp -u me,@ ftp.test',
  'http -a me:@ example.test',
  'machine db login me password @',
  'db.internal:5432:app:me:@',
  '*:*:*:me:@',
  "CREATE USER a IDENTIFIED BY '@';",
  "ALTER USER a IDENTIFIED WITH caching_sha2_password BY '@'",
  'AUTH @',
  'AUTH default @',
  'authentication failed for user me with password @',
  'wrong password "@"',
  'password authentication failed, tried "@"',
  'the password is @',
  'POSTGRES_PASSWORD is @',
  'echo @ | sudo -S ls',
  'echo "@" | docker login -u me --password-stdin',
  "printf '%s\\n' '@' | docker login --password-stdin",
  'echo me:@ | chpasswd',
  'sudo -S ls <<< @',
  "PASSWORD=$'@'",
  'password: !!str @',
];

describe('a weak value is hidden', () => {
  const values: KnownValue[] = Object.entries(weak).map(([name, value]) => ({
    name,
    value,
    tag: `[${name}]`,
  }));
  const index = buildKnownIndex(values);
  const masked = (text: string): string => maskText(index, text).text;

  test('beside its name, another name of a secret, and in a login', () => {
    const rows = [
      ['POSTGRES_PASSWORD=postgres', 'POSTGRES_PASSWORD=[POSTGRES_PASSWORD]'],
      ["postgres_password: 'postgres'", "postgres_password: '[POSTGRES_PASSWORD]'"],
      ['{"password": "postgres", "a": 1}', '{"password": "[POSTGRES_PASSWORD]", "a": 1}'],
      ['{\\"password\\": \\"root\\"}', '{\\"password\\": \\"[ADMIN_PASSWORD]\\"}'],
      ['psql --password postgres', 'psql --password [POSTGRES_PASSWORD]'],
      ['x --db-password=acme-web y', 'x --db-password=[DB_PASSWORD] y'],
      ['<password>root</password>', '<password>[ADMIN_PASSWORD]</password>'],
      ["ALTER ROLE a PASSWORD 'postgres';", "ALTER ROLE a PASSWORD '[POSTGRES_PASSWORD]';"],
      ['postgres://postgres:postgres@db/x', 'postgres://postgres:[POSTGRES_PASSWORD]@db/x'],
      ['redis://:root@cache:6379', 'redis://:[ADMIN_PASSWORD]@cache:6379'],
      ['CARD_PIN 1234', 'CARD_PIN [CARD_PIN]'],
      ['getenv("DB_PASSWORD", "acme-web")', 'getenv("DB_PASSWORD", "[DB_PASSWORD]")'],
    ];
    assert.deepEqual(
      rows.map(([text = '']) => masked(text)),
      rows.map(([, wanted]) => wanted),
    );
  });

  const base64 = (text: string): string => Buffer.from(text).toString('base64');

  test('in a login that has no name, whatever writes it', () => {
    for (const row of logins) {
      const at = row.indexOf('@', row.startsWith('curl') ? row.indexOf(':') : 0);
      const put = (text: string): string => row.slice(0, at) + text + row.slice(at + 1);
      assert.equal(masked(put('postgres')), put('[POSTGRES_PASSWORD]'), row);
    }
  });

  test('encoded beside its name, and in a login that is', () => {
    const encoded = [
      base64('postgres'),
      base64('postgres\n'),
      Buffer.from('postgres').toString('hex'),
    ];
    for (const text of encoded) {
      assert.equal(masked(`  password: ${text}`), '  password: [POSTGRES_PASSWORD]');
      assert.equal(masked(`DB_PASSWORD=${text}`), 'DB_PASSWORD=[POSTGRES_PASSWORD]');
      assert.equal(masked(`hash ${text} of something`), `hash ${text} of something`);
    }
    const login = base64('me:postgres');
    assert.equal(
      masked(`authorization: Basic ${login}`),
      'authorization: Basic [POSTGRES_PASSWORD]',
    );
    assert.equal(masked(`{"auth": "${login}"}`), '{"auth": "[POSTGRES_PASSWORD]"}');
    const other = base64('me:another');
    assert.equal(masked(`Basic ${other}`), `Basic ${other}`);
  });

  test('nowhere else', () => {
    const texts = [
      'postgres',
      'cd /srv/postgres-app/root && psql -U postgres -h localhost',
      'the password test is true',
      'FROM postgres:16',
      'port: 1234, debug: true, env: development',
      'image=postgres:1234',
      'POSTGRES_PASSWORD=postgresql',
      'password: rooted, token: trueish, secret=acme-website',
      'npm run development',
      'docker run -p 1234:80 -e A=1 postgres',
      'mysql -u root postgres',
      'ldapsearch -s root -b dc=x',
      'curl -o postgres https://x.test/postgres',
      'curl -u me https://x.test:1234/',
      'echo postgres | grep root',
      'identified as postgres',
      'unzip postgres.zip -d root',
      'with postgres, using root',
      '12:34:56:78:postgres',
    ];
    assert.deepEqual(texts.map(masked), texts);
    assert.deepEqual(
      texts.flatMap((text) => maskText(index, text).hits),
      [],
    );
  });

  test('however the output is cut, and from when it becomes known', () => {
    const text = 'a postgres\nPOSTGRES_PASSWORD=postgres\nredis://:root@cache\n';
    const wanted =
      /^a postgres\nPOSTGRES_PASSWORD=\[HIDDEN:\w+\]\nredis:\/\/:\[HIDDEN:\w+\]@cache\n$/;
    const options = { profile: 'balanced', thresholds: {}, patterns: [] } as const;
    const tags = new RedactionTags(Buffer.alloc(32, 7));
    for (const [size, isKnown] of [
      [1, true],
      [7, true],
      [100, true],
      [3, false],
    ] as const) {
      const known = isKnown ? index : null;
      const stream = openRedactor({
        options,
        prior: 'none',
        index: known,
        tags,
        onRedaction: () => {},
      });
      if (!isKnown) stream.learn(makeMaskers(index));
      const out: Uint8Array[] = [];
      for (let at = 0; at < text.length; at += size) {
        out.push(stream.push(Buffer.from(text.slice(at, at + size))));
      }
      assert.match(Buffer.concat([...out, stream.end()]).toString(), wanted);
    }
  });
});

describe('with weak values a day goes on', { skip: whyNoBox }, () => {
  let daemon: Daemon;
  before(async () => {
    daemon = await startRuntime({ env: { ...weak, DEPLOY_TOKEN: strong } });
  });
  after(() => daemon?.stop());

  test('sessions, names, state, changes and publications are not refused', async () => {
    const root = path.join(daemon.root, 'postgres-app/acme-web/development');
    mkdirSync(root, { recursive: true });
    await using session = await openSession(daemon.socketPath, {
      working_dir: root,
      name: 'postgres',
      env_keys: Object.keys(weak),
    });
    const ask = async (method: string, params: object): Promise<Json> => {
      const answer = await session.client.ask(method, params);
      assert.equal(answer.ok, true, `${method}: ${JSON.stringify(answer)}`);
      return answer.data;
    };
    const names = Object.keys(weak).filter((name) => !plain.has(name));
    await ask('secrets.inject', { session_id: session.id, names });
    for (const name of names) assert.equal((await ask('secrets.check', { name })).state, 'ready');

    const told =
      'echo "$POSTGRES_PASSWORD"; printenv POSTGRES_PASSWORD | wc -c; env | grep DB_PASSW';
    const { stdout } = await session.run(`${told}; export HOST=localhost; echo root > postgres`);
    assert.match(stdout, /^postgres\n9\n/);
    assert.doesNotMatch(stdout, /PASSWORD=(?!\[HIDDEN:)/);
    assert.match(stdout, /DB_PASSWORD=/);
    assert.equal((await session.run('echo "$HOST"; cat postgres')).stdout, 'localhost\nroot\n');

    const info = await ask('session.info', { session_id: session.id });
    assert.equal(info.working_dir, root);
    const done = await session.run('echo postgres root true 1234 > postgres.txt');
    assert.ok(done.changes.some((one: Json) => one.path.endsWith('postgres.txt')));
    assert.match(
      JSON.stringify(await ask('workspace.diff', { exec_id: done.exec_id })),
      /\+postgres/,
    );
    const { decision } = await ask('publish.check', { kind: 'exec', exec_id: done.exec_id });
    assert.equal(decision, 'pass');
  });

  test('a strong value is hidden and refused as before', async () => {
    await using session = await openSession(daemon.socketPath, { working_dir: daemon.root });
    const { stdout } = await session.run('echo "$DEPLOY_TOKEN"', { env_keys: ['DEPLOY_TOKEN'] });
    assert.match(stdout, /^\[HIDDEN:/);
    const refused = await session.client.ask('session.create', { name: `x-${strong}` });
    assert.equal(refused.error?.code, 'INVALID_PARAMS');
    writeFileSync(path.join(daemon.root, 'token.txt'), strong);
    assert.match((await session.run('cat token.txt')).stdout, /^\[HIDDEN:\w+\]$/);
  });
});
