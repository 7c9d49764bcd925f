// What people set for a runtime: which layer decides, what is joined, and what is refused.
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { defaultConfiguration, configurationKeys } from '../src/configuration/configuration.ts';
import type { Configuration } from '../src/configuration/configuration.ts';
import { loadConfiguration, type LoadConfigurationOptions } from '../src/configuration/load.ts';
import { ConfigurationError, readConfiguration } from '../src/configuration/read.ts';
import { isTrlError } from '../src/errors.ts';
import { generateIdentity } from '../src/sealing/keys.ts';

const home = mkdtempSync(path.join(tmpdir(), 'trl-configuration-'));
after(() => rmSync(home, { recursive: true, force: true }));

function fileOf(name: string, text: string): string {
  const file = path.join(home, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text, { mode: 0o600 });
  return file;
}

const absent = path.join(home, 'absent.yaml');
const load = (asked: Partial<LoadConfigurationOptions>): Promise<Configuration> =>
  loadConfiguration({ env: {}, version: '9', userFile: absent, systemFile: absent, ...asked });

const read = (text: string, file = '/home/u/.config/trl/config.yaml') =>
  readConfiguration(text, { file, kind: 'user', home: '/home/u', version: '9' }).given;

test('without a file, a variable and a flag everything is as it ships', async () => {
  assert.deepEqual(await load({}), defaultConfiguration);
  assert.equal(defaultConfiguration.envMode, 'scoped');
  assert.deepEqual(defaultConfiguration.sources, [{ kind: 'environment' }]);
  assert.deepEqual(
    defaultConfiguration.settings.map(({ origins }) => origins),
    defaultConfiguration.settings.map(() => ['default']),
  );
});

/** Public half of a key pair that is nobody's. */
const auditor = generateIdentity().recipient;
const secretKey = generateIdentity().identity;
const mistyped = (text: string): string => text.slice(0, -1) + (text.endsWith('q') ? 'p' : 'q');

/** The system's file must be root's, and only root can make one. */
const notRoot = process.getuid?.() === 0 ? false : 'a file of root is needed';

test(
  'the highest layer decides: flag, variable, --config, user, system',
  { skip: notRoot },
  async () => {
    const mode = (value: string): string => `terminal:\n  env_mode: ${value}\n`;
    const systemFile = fileOf('system.yaml', mode('legacy'));
    const userFile = fileOf('user.yaml', mode('scoped'));
    const config = fileOf('chosen.yaml', mode('legacy'));
    const rows: readonly (readonly [string, Partial<LoadConfigurationOptions>, string, string])[] =
      [
        ['system', { systemFile }, 'legacy', `${systemFile}:2:13`],
        ['user', { systemFile, userFile }, 'scoped', `${userFile}:2:13`],
        ['file', { systemFile, userFile, flags: { config } }, 'legacy', `${config}:2:13`],
        ['TRL_CONFIG', { userFile, env: { TRL_CONFIG: config } }, 'legacy', `${config}:2:13`],
        [
          'variable',
          { flags: { config }, env: { TRL_ENV_MODE: 'scoped' } },
          'scoped',
          'TRL_ENV_MODE',
        ],
        [
          'flag',
          { flags: { config, envMode: 'legacy' }, env: { TRL_ENV_MODE: 'scoped' } },
          'legacy',
          '--env-mode',
        ],
      ];
    for (const [name, asked, wanted, origin] of rows) {
      const { envMode, settings } = await load(asked);
      assert.equal(envMode, wanted, name);
      const found = settings.find(({ key }) => key === 'terminal.env_mode');
      assert.deepEqual(found?.origins, [origin], name);
    }
  },
);

test(
  'what only protects more is joined, sources are those of the highest layer',
  { skip: notRoot },
  async () => {
    const systemFile = fileOf(
      'joined-system.yaml',
      'environment: {withhold: [CORP_*]}\nsecrets: {names: [A], sources: [{kind: systemd}]}\n',
    );
    const userFile = fileOf(
      'joined-user.yaml',
      [
        'environment: {withhold: [CORP_*, MINE]}',
        'secrets:',
        '  sources: [{kind: dotenv, path: .env}]',
        '',
      ].join('\n'),
    );
    const env = { TRL_WITHHOLD: 'X_*, Y', TRL_SECRET_NAMES: 'B' };
    const found = await load({ systemFile, userFile, env });
    assert.deepEqual(found.withhold, ['CORP_*', 'MINE', 'X_*', 'Y']);
    assert.deepEqual(found.secretNames, ['A', 'B']);
    assert.deepEqual(found.sources, [{ kind: 'dotenv', path: path.join(home, '.env') }]);
    assert.deepEqual(found.files, [systemFile, userFile]);
    const { origins } = found.settings.find(({ key }) => key === 'environment.withhold') ?? {};
    assert.deepEqual(origins, [`${systemFile}:1:25`, `${userFile}:1:25`, 'TRL_WITHHOLD']);
  },
);

test(
  'a record that one layer requires is required; who may read raw output is joined',
  { skip: notRoot },
  async () => {
    const says = (required: boolean, recipient: string): string =>
      `audit: {required: ${required}, recipients: [${recipient}]}\n`;
    const other = generateIdentity().recipient;
    const required = fileOf('required-system.yaml', says(true, auditor));
    const lax = fileOf('lax.yaml', says(false, other));
    const rows = [
      [{ systemFile: required, userFile: lax }, true, [auditor, other], required],
      [{ systemFile: lax, userFile: required }, true, [other, auditor], required],
      [{ userFile: lax }, false, [other], lax],
      [{ userFile: required, flags: { config: lax } }, true, [auditor, other], required],
    ] as const;
    for (const [asked, isRequired, recipients, from] of rows) {
      const { audit, settings } = await load(asked);
      assert.deepEqual(audit, { required: isRequired, recipients });
      const found = settings.find(({ key }) => key === 'audit.required');
      assert.deepEqual(found?.origins, [`${from}:1:19`]);
    }
    assert.deepEqual((await load({})).audit, { required: true, recipients: [] });
  },
);

test('a secret key among the recipients is not repeated', () => {
  for (const text of [
    secretKey,
    secretKey.toLowerCase(),
    `x${secretKey}`,
    secretKey.slice(0, 40),
  ]) {
    assert.throws(
      () => read(`audit: {recipients: [${text}]}\n`),
      (error: unknown) => !JSON.stringify(error).includes(secretKey.slice(18, 30)),
    );
  }
});

test('every key is read into what the runtime takes', () => {
  const given = read(`
terminal: {env_mode: legacy}
environment: {withhold: [AWS_*]}
secrets:
  names: [PIN]
  sources:
    - kind: environment
    - {kind: dotenv, path: ~/app/.env}
    - {kind: keyring, name: GH_TOKEN, service: trl}
    - {kind: systemd, path: creds}
    - {kind: command, name: DB_PASSWORD, argv: [op, read, 'op://v/db'], timeout_ms: 5000}
redaction:
  profile: strict
  thresholds: {score: 0.5}
  patterns:
    - {id: corp-token, pattern: 'corp_[a-z0-9]{20}', keywords: [corp_]}
audit:
  required: false
  recipients: [${auditor}]
`);
  assert.deepEqual(given, {
    envMode: 'legacy',
    withhold: ['AWS_*'],
    secretNames: ['PIN'],
    sources: [
      { kind: 'environment' },
      { kind: 'dotenv', path: '/home/u/app/.env' },
      { kind: 'keyring', name: 'GH_TOKEN', service: 'trl' },
      { kind: 'systemd', path: '/home/u/.config/trl/creds' },
      {
        kind: 'command',
        name: 'DB_PASSWORD',
        argv: ['op', 'read', 'op://v/db'],
        timeoutMs: 5_000,
        cacheMs: null,
      },
    ],
    profile: 'strict',
    thresholds: { score: 0.5 },
    patterns: [
      {
        id: 'corp-token',
        pattern: 'corp_[a-z0-9]{20}',
        keywords: ['corp_'],
        place: '/home/u/.config/trl/config.yaml:16:33',
      },
    ],
    auditRequired: false,
    auditRecipients: [auditor],
  });
});

test('what is wrong is named with its line, its column and what was meant', () => {
  const rows: readonly (readonly [string, RegExp])[] = [
    ['terminal:\n  env_mod: legacy\n', /f\.yaml:2:3: unknown key "env_mod".*"env_mode"/],
    ['terminl: {}\n', /f\.yaml:1:1: unknown key "terminl"; did you mean "terminal"/],
    ['terminal: {env_mode: scope}\n', /:1:22: "env_mode" must be scoped or legacy.*"scoped"/],
    ['environment: {withhold: ["A B"]}\n', /:1:26: an entry of "withhold" must be the name/],
    ['environment: {withhold: ["*"]}\n', /must be the name of a variable/],
    ['secrets: {sources: [{kind: vault}]}\n', /environment, dotenv, keyring, systemd or command/],
    ['secrets: {sources: [{kind: dotenv}]}\n', /:1:21: the key "path" is missing/],
    ['secrets: {sources: [{kind: dotenv, pth: x}]}\n', /the key "path" is missing.*"pth"/s],
    ['secrets: {sources: [{kind: command, name: A, argv: []}]}\n', /"argv" must not be empty/],
    ['secrets: {sources: [{kind: command, name: A, argv: [./x]}]}\n', /absolute path/],
    [
      'secrets: {sources: [{kind: dotenv, path: ~other/.env}]}\n',
      /"~other.*must be an absolute path/,
    ],
    ['secrets: {sources: [{kind: systemd, path: ~x}]}\n', /"~x" must be an absolute path/],
    ['secrets: {names: [A-B]}\n', /must be the name of a variable/],
    ['redaction: {thresholds: {score: 2}}\n', /must be a number from 0 to 1/],
    ['redaction: {patterns: [{id: a, pattern: x}, {id: a, pattern: y}]}\n', /has the id "a"/],
    ['audit: {required: yes please}\n', /:1:19: "required" must be true or false/],
    ['audit: {recipients: [age1x]}\n', /:1:22: "age1x" has no "1"|:1:22: "age1x"/],
    [`audit:\n  recipients:\n    - ${mistyped(auditor)}\n`, /:3:7: "age1.*" has a wrong checksum/],
    [`audit: {recipients: [${secretKey}]}\n`, /:1:22: this is a secret key/],
    ['', /the file is empty/],
    ['terminal: &a {}\n', /anchors are not taken/],
    ['terminal: {}\nterminal: {}\n', /2:1: duplicate key "terminal"/],
  ];
  for (const [text, wanted] of rows) {
    const failed = (error: unknown): boolean =>
      error instanceof ConfigurationError &&
      error.message.startsWith('Cannot use the configuration: ') &&
      wanted.test(error.message);
    assert.throws(() => read(text, '/x/f.yaml'), failed, text);
  }
});

test('a file that cannot be used stops the start', async () => {
  const wide = fileOf('wide.yaml', 'terminal: {}\n');
  chmodSync(wide, 0o666);
  const dangling = path.join(home, 'dangling.yaml');
  symlinkSync(path.join(home, 'nowhere'), dangling);
  const rows: readonly (readonly [Partial<LoadConfigurationOptions>, RegExp])[] = [
    [{ userFile: wide }, /others may write it/],
    [{ userFile: dangling }, /there is no such file/],
    [{ userFile: home }, /not a regular file/],
    [{ flags: { config: absent } }, /there is no such file/],
    [{ env: { TRL_ENV_MODE: 'all' } }, /TRL_ENV_MODE: "all" is not scoped or legacy/],
    [{ env: { TRL_WITHHOLD: 'A;B' } }, /TRL_WITHHOLD: "A;B" is not the name/],
    [{ env: { TRL_SECRET_NAMES: 'A*' } }, /TRL_SECRET_NAMES: "A\*" is not the name/],
    [{ flags: { envMode: 'x' } }, /--env-mode: "x" is not/],
  ];
  for (const [asked, wanted] of rows) {
    const refused = (error: unknown): boolean =>
      isTrlError(error, 'INVALID_PARAMS') && wanted.test(error.message);
    await assert.rejects(load(asked), refused, String(wanted));
  }
});

test('no cache of HOME lies in another, whichever file names it', async () => {
  const userFile = fileOf('caches-user.yaml', 'home:\n  caches: [.bun]\n');
  const { homeCaches } = await load({ userFile });
  assert.ok(homeCaches.includes('.bun') && homeCaches.includes('.npm'));
  for (const name of ['.cache/pip', '.local', '.bun/install', '.local/share/pnpm/v3']) {
    const config = fileOf('caches.yaml', `home:\n  caches: [${name}]\n`);
    await assert.rejects(
      load({ userFile, flags: { config } }),
      /home\.caches: ".+" lies in ".+"/,
      name,
    );
  }
  const same = fileOf('caches.yaml', 'home:\n  caches: [.bun, .cache]\n');
  assert.deepEqual((await load({ userFile, flags: { config: same } })).homeCaches, homeCaches);
});

test('bounds of the runtime are set by file, variable and flag', async () => {
  fileOf('bounds/trl/config.yaml', 'limits: {sessions_active: 100, commands_concurrent: 40}\n');
  const env = {
    XDG_CONFIG_HOME: path.join(home, 'bounds'),
    TRL_COMMANDS_CONCURRENT: '50',
    TRL_SESSION_GONE_MS: '5',
  };
  const asked = { version: '9', systemFile: absent };
  const found = await loadConfiguration({
    ...asked,
    env,
    flags: { bounds: ['session_gone_ms=7'] },
  });
  assert.deepEqual(found.limits, {
    sessionsActive: 100,
    sessionRecords: 10_000,
    commandsConcurrent: 50,
    sessionIdleMs: 86_400_000,
    sessionGoneMs: 7,
  });
  const own = found.settings.filter(({ key }) => key.startsWith('limits.'));
  assert.deepEqual(
    own.map(({ key, origins }) => [key, origins.join()]),
    [
      ['limits.sessions_active', `${path.join(home, 'bounds/trl/config.yaml')}:1:27`],
      ['limits.session_records', 'default'],
      ['limits.commands_concurrent', 'TRL_COMMANDS_CONCURRENT'],
      ['limits.session_idle_ms', 'default'],
      ['limits.session_gone_ms', '--bound'],
    ],
  );
  for (const [bad, why] of [
    ['commands_concurrent=257', /1 to 256/],
    ['sessions_active=x', /no whole number/],
    ['sesions=1', /sessions_active/],
  ] as const) {
    await assert.rejects(loadConfiguration({ ...asked, env: {}, flags: { bounds: [bad] } }), why);
  }
});

test('the user’s file lies in $XDG_CONFIG_HOME/trl', async () => {
  fileOf('xdg/trl/config.yaml', 'terminal: {env_mode: legacy}\n');
  const env = { XDG_CONFIG_HOME: path.join(home, 'xdg') };
  const found = await loadConfiguration({ env, version: '9', systemFile: absent });
  assert.equal(found.envMode, 'legacy');
});

test('the example of docs/environment.md says every key that there is', () => {
  const document = path.join(path.dirname(import.meta.dirname), 'docs/environment.md');
  const [, example = ''] = /```yaml\n([^]*?)```/.exec(readFileSync(document, 'utf8')) ?? [];
  assert.deepEqual(
    Object.keys(read(example)).toSorted(),
    Object.keys(configurationKeys).toSorted(),
  );
});
