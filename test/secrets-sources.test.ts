// Sources are read-only and lazy, and say one clear thing when they fail; never a value.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import * as fc from 'fast-check';
import './support/seed.ts';
import { isTrlError } from '../src/errors.ts';
import { CommandSource } from '../src/secrets/command-source.ts';
import { DotenvSource } from '../src/secrets/dotenv-source.ts';
import { parseDotenv } from '../src/secrets/dotenv.ts';
import { EnvironmentSource } from '../src/secrets/environment-source.ts';
import { KeyringSource } from '../src/secrets/keyring-source.ts';
import { SystemdSource } from '../src/secrets/systemd-source.ts';
import { eventually, withGrowingTimeout } from './support/processes.ts';

const home = mkdtempSync(path.join(tmpdir(), 'trl-secrets-'));
after(() => rmSync(home, { recursive: true, force: true }));
const value = 'c0rrect-horse-Battery';

function file(name: string, text: string | Uint8Array, mode = 0o600): string {
  const place = path.join(home, name);
  rmSync(place, { recursive: true, force: true });
  writeFileSync(place, text);
  chmodSync(place, mode);
  return place;
}

/** The message of what `act` throws, checked for the code and for the absence of a value. */
async function refusal(act: () => Promise<unknown>, code = 'SECRET_UNAVAILABLE'): Promise<string> {
  try {
    await act();
  } catch (error) {
    assert.ok(isTrlError(error), String(error));
    assert.equal(error.code, code, error.message);
    assert.ok(!`${error.message} ${JSON.stringify(error.data)}`.includes(value), error.message);
    return error.message;
  }
  return assert.fail('it was not refused');
}

test('the environment offers secrets alone, and keeps what is withheld to itself', async () => {
  const env = {
    PATH: '/bin',
    API_KEY: value,
    EXTRA: 'configured-value',
    OPENROUTER_API_KEY: 'withheld-value',
    'npm_config_//r/:_authToken': 'odd-name-value',
    EMPTY_TOKEN: '',
  };
  const isWithheld = (name: string): boolean => name.startsWith('OPENROUTER_');
  const source = new EnvironmentSource(env, { names: ['EXTRA'], isWithheld });
  assert.deepEqual((await source.names()).toSorted(), ['API_KEY', 'EXTRA']);
  assert.equal(await source.read('API_KEY'), value);
  assert.equal(await source.read('OPENROUTER_API_KEY'), null);
  assert.equal(await source.read('PATH'), null);
  const hidden = source.hidden().map(({ name }) => name);
  assert.deepEqual(hidden, ['OPENROUTER_API_KEY', 'npm_config_//r/:_authToken']);
});

test('a .env file is read as people write it', () => {
  const text = [
    '\ufeff# a comment',
    'PLAIN=a b#c   # comment',
    'export EXPORTED = "two words"  # comment',
    "SINGLE='a \\n $HOME `id`'",
    'DOUBLE="tab\\there \\"quoted\\" \\$HOME \\\\ \\d"',
    'MULTI="first',
    '# second',
    'third"',
    'EMPTY=',
    'HASH=#nothing',
    'AGAIN=1',
    'AGAIN=$(id)',
    "URL=https://x.y/?a=b&c='d'",
  ];
  const wanted = {
    PLAIN: 'a b#c',
    EXPORTED: 'two words',
    SINGLE: 'a \\n $HOME `id`',
    DOUBLE: 'tab\there "quoted" $HOME \\ \\d',
    MULTI: 'first\n# second\nthird',
    EMPTY: '',
    HASH: '',
    AGAIN: '$(id)',
    URL: "https://x.y/?a=b&c='d'",
  };
  for (const end of ['\n', '\r\n']) {
    const found = parseDotenv(text.join(end));
    assert.ok(!('reason' in found), JSON.stringify(found));
    assert.deepEqual(Object.fromEntries(found), wanted);
  }
  assert.deepEqual(parseDotenv('A=1\n\nnonsense'), {
    line: 3,
    reason: 'it is neither NAME=value nor a comment',
  });
  assert.deepEqual(parseDotenv('A="x\ny'), { line: 1, reason: 'its quote (") is never closed' });
  assert.deepEqual(parseDotenv(`A='x' y`), { line: 1, reason: 'there is text behind the quote' });
});

test('what is written in quotes is read back, whatever it is', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const escaped = text.replaceAll(/[\\"$`]/g, '\\$&').replaceAll('\r', '\\r');
      const found = parseDotenv(`X="${escaped}"`);
      assert.ok(!('reason' in found));
      assert.equal(found.get('X'), text);
    }),
  );
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
      parseDotenv(text);
    }),
  );
});

test('a .env file of many quoted values is read once, line by line', () => {
  const names = Array.from({ length: 4_000 }, (_, at) => `NAME_${at}`);
  const text = `${names.map((name) => `${name}="v\n${name}"`).join('\n')}${'\n'.repeat(900_000)}`;
  const found = parseDotenv(text);
  assert.ok(found instanceof Map);
  assert.equal(found.size, names.length);
  assert.equal(found.get('NAME_3999'), 'v\nNAME_3999');
  const spaced = `x${' '.repeat(900_000)}y`;
  assert.deepEqual(parseDotenv(`A=${spaced} \t # c`), new Map([['A', spaced]]));
  const open = parseDotenv(`A="1"\nB="2\n${'x\n'.repeat(9)}`);
  assert.deepEqual(open, { line: 2, reason: 'its quote (") is never closed' });
});

test('a .env file that others could read or change is refused, with the fix', async () => {
  const good = new DotenvSource(file('good.env', `API_KEY=${value}\n`));
  assert.deepEqual(await good.names(), ['API_KEY']);
  assert.equal(await good.read('API_KEY'), value);
  assert.equal(await good.read('OTHER'), null);

  const open = file('open.env', `API_KEY=${value}\n`, 0o644);
  const said = await refusal(() => new DotenvSource(open).names());
  assert.ok(said.includes(`run: chmod 600 '${open}'`), said);
  assert.match(await refusal(() => new DotenvSource(open).read('API_KEY')), /mode 0644/);

  const link = path.join(home, 'link.env');
  symlinkSync(path.join(home, 'good.env'), link);
  assert.match(await refusal(() => new DotenvSource(link).names()), /it is a link/);
  mkdirSync(path.join(home, 'dir.env'));
  assert.match(
    await refusal(() => new DotenvSource(path.join(home, 'dir.env')).names()),
    /regular/,
  );
  const fifo = path.join(home, 'fifo.env');
  execFileSync('mkfifo', ['-m', '600', fifo]);
  assert.match(await refusal(() => new DotenvSource(fifo).names()), /regular file/);
  assert.match(await refusal(() => new DotenvSource('/nowhere/x').names()), /no such file/);
  assert.equal(await new DotenvSource('/nowhere/x').read('API_KEY'), null);
  const inFile = new DotenvSource('/etc/passwd/x');
  assert.match(await refusal(() => inFile.names()), /ENOTDIR/);
  assert.equal(inFile.mark(), 'ENOTDIR');
  const broken = file('broken.env', `API_KEY=${value}\n${value}\n`);
  assert.match(await refusal(() => new DotenvSource(broken).names()), /line 2: it is neither/);
  const binary = file('binary.env', Buffer.from([0x41, 0x3d, 0xff, 0xfe]));
  assert.match(await refusal(() => new DotenvSource(binary).names()), /not UTF-8/);
  const huge = file('huge.env', `API_KEY=${'x'.repeat(2 ** 20)}`);
  assert.match(await refusal(() => new DotenvSource(huge).names()), /over 1048576 bytes/);
});

test('a .env file that changed is read anew, also when it was opened to others since', async () => {
  const place = file('changing.env', 'API_KEY=before-before');
  const source = new DotenvSource(place);
  assert.equal(await source.read('API_KEY'), 'before-before');
  writeFileSync(place, 'API_KEY=after-after-after');
  assert.equal(await source.read('API_KEY'), 'after-after-after');
  chmodSync(place, 0o640);
  await refusal(() => source.read('API_KEY'));
});

test('credentials of systemd are files; links and other names are not', async () => {
  const directory = path.join(home, 'credentials');
  mkdirSync(directory);
  writeFileSync(path.join(directory, 'API_KEY'), `${value}\n`);
  writeFileSync(path.join(directory, 'not-a-variable'), value);
  writeFileSync(path.join(directory, 'BINARY'), Buffer.from([0xff, 0]));
  symlinkSync('/etc/passwd', path.join(directory, 'LINK'));
  const source = new SystemdSource(directory);
  assert.deepEqual((await source.names()).toSorted(), ['API_KEY', 'BINARY', 'LINK']);
  assert.equal(await source.read('API_KEY'), value);
  assert.equal(await source.read('../credentials/API_KEY'), null);
  assert.equal(await source.read('ABSENT'), null);
  assert.match(await refusal(() => source.read('BINARY')), /it is binary/);
  assert.match(await refusal(() => source.read('LINK')), /ELOOP/);
});

const script = (text: string, more: object = {}): CommandSource =>
  new CommandSource({
    name: 'API_KEY',
    argv: ['/bin/sh', '-c', text],
    env: process.env,
    ...more,
  });

test('a command gives its secret without its line end, and is asked for no other', async () => {
  assert.equal(await script(`echo ${value}`).read('API_KEY'), value);
  assert.equal(await script(`printf 'a\\nb\\n\\n'`).read('API_KEY'), 'a\nb\n');
  assert.equal(await script('exit 3').read('OTHER'), null);
  assert.deepEqual(await script('exit 3').names(), ['API_KEY']);
  // What it leaves behind holds the pipe, and the answer does not wait for that.
  assert.equal(await script(`echo ${value}; sleep 30 &`).read('API_KEY'), value);
});

test('a command gets no shell, no terminal, no input and few variables', async () => {
  const env = { PATH: process.env['PATH'], HOME: '/h', OTHER_TOKEN: value, OP_TOKEN: 't' };
  const seen = await script('env | cut -d= -f1 | sort | tr "\\n" " "', { env }).read('API_KEY');
  assert.equal(seen, 'HOME PATH PWD ');
  const plain = new CommandSource({ name: 'A', argv: ['echo', '$HOME;id'], env });
  assert.equal(await plain.read('A'), '$HOME;id');
  const input = await script('wc -c; (: </dev/tty) 2>/dev/null || echo none').read('API_KEY');
  assert.equal(input, '0\nnone');
});

test('a command that hangs, fails or prints what is no value is refused', async () => {
  const cases: [CommandSource, RegExp][] = [
    [script(`echo ${value}; exit 7`), /from "sh": it ended with exit code 7; run it yourself/],
    [script(`echo ${value} >&2; kill -9 $$`), /it ended by SIGKILL/],
    [script(`echo ${value}; sleep 60`, { timeoutMs: 300 }), /it gave no answer in 300 ms/],
    [script('true'), /it printed nothing/],
    [script('echo'), /it printed nothing/],
    [script(`printf '${value}\\377'`), /it is binary/],
    [script(`printf '${value}\\0'`), /NUL/],
    [script('yes'), /more than 65536 bytes/],
    [
      new CommandSource({ name: 'API_KEY', argv: ['/no/such'], env: {} }),
      /there is no such program/,
    ],
  ];
  for (const [source, wanted] of cases) {
    const said = await refusal(() => source.read('API_KEY'));
    assert.match(said, wanted);
    assert.match(said, /secret API_KEY/);
  }
});

test('a command is ended with all that it started, however it ends', async () => {
  const mark = path.join(home, 'pid');
  const ends = [`wait`, `echo ${value}`, 'exit 3', 'kill -9 $$'];
  for (const end of ends) {
    rmSync(mark, { force: true });
    const said = await withGrowingTimeout(
      // Only the first waits for it.
      end === 'wait' ? 500 : 20_000,
      (timeoutMs) =>
        script(`sleep 1000 & echo $! > ${mark}; ${end}`, { timeoutMs })
          .read('API_KEY')
          .catch(() => 'refused'),
      () => existsSync(mark),
    );
    assert.equal(said, end.startsWith('echo') ? value : 'refused');
    const pid = Number(readFileSync(mark, 'utf8'));
    assert.ok(pid > 1);
    await hasEnded(pid);
  }
});

/** Until the process is gone or only waits to be reaped; fails the test when it stays. */
async function hasEnded(pid: number): Promise<void> {
  const look = `cut -d' ' -f3 /proc/${pid}/stat 2>/dev/null || echo X`;
  await eventually(`the end of process ${pid}`, () =>
    /[XZ]/.test(execFileSync('sh', ['-c', look], { encoding: 'utf8' })),
  );
}

test('a keyring is asked for entries of "trl"; one that is not there says so', async () => {
  const entries = new Map([['API_KEY', value]]);
  const keyring = new KeyringSource({
    load: async () => ({
      find: async (service) => (service === 'trl' ? [{ account: 'API_KEY' }] : []),
      get: async (_, account) => entries.get(account) ?? null,
    }),
  });
  assert.deepEqual(await keyring.names(), ['API_KEY']);
  assert.equal(await keyring.read('API_KEY'), value);
  assert.equal(await keyring.read('OTHER'), null);
  const absent = new KeyringSource({ load: () => Promise.reject(new Error('not installed')) });
  assert.match(await refusal(() => absent.names()), /npm install @napi-rs\/keyring/);
  const headless = new KeyringSource({
    load: async () => ({
      find: () => Promise.reject(new Error('AccessDenied')),
      get: () => Promise.reject(new Error('AccessDenied')),
    }),
  });
  assert.match(await refusal(() => headless.read('API_KEY')), /this host has none that answers/);
});
