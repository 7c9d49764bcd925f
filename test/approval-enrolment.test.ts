// The passphrase that shows that a person decides.
import assert from 'node:assert/strict';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { Enrolment, enrolmentFiles } from '../src/approval/enrolment.ts';
import { openSecretKey } from '../src/approval/key.ts';
import { TrlError } from '../src/errors.ts';

const phrase = 'correct horse battery';
/** Quick, so that a test may be wrong a hundred times. */
const cost = { n: 1_024, r: 8, p: 1 };

interface Place extends Disposable {
  readonly home: string;
  readonly file: string;
  /** Unix ms; tests move it. */
  time: number;
  /** Another process: it knows only what is on disk. */
  open(more?: object): Enrolment;
}

function place(): Place {
  const home = mkdtempSync(path.join(tmpdir(), 'trl-enrol-'));
  const files = enrolmentFiles({}, home);
  const made: Place = {
    home,
    file: files.file,
    time: 1_000_000,
    open: (more = {}) => new Enrolment({ ...files, clock: () => made.time, cost, ...more }),
    [Symbol.dispose]: () => rmSync(home, { recursive: true, force: true }),
  };
  return made;
}

const code =
  (wanted: string, text = '') =>
  (error: unknown) =>
    error instanceof TrlError && error.code === wanted && error.message.includes(text);

test('what was enrolled proves a person, in every process, and nothing else does', async () => {
  using at = place();
  assert.equal(at.open().approver(), null);
  await assert.rejects(at.open().verify(phrase), code('AUTH_FAILED', 'nobody is enrolled'));
  await at.open().enrol('ada', phrase, null);
  assert.equal(at.open().approver(), 'ada');
  assert.equal(await at.open().verify(phrase), true);
  for (const wrong of ['', `${phrase} `, phrase.slice(1), phrase.toUpperCase()]) {
    assert.equal(await at.open().verify(wrong), false, wrong);
    assert.equal(await at.open().verify(phrase), true);
  }
});

test('the file is private, holds no passphrase, and its parameters', async () => {
  using at = place();
  await at.open({ cost: undefined }).enrol('ada', phrase, null);
  const text = readFileSync(at.file, 'utf8');
  const { n, r, p, salt } = JSON.parse(text);
  assert.deepEqual([n, r, p], [2 ** 17, 8, 1]);
  assert.equal(Buffer.from(salt, 'base64').length, 32);
  assert.ok(!text.includes(phrase));
  assert.equal(statSync(at.file).mode & 0o777, 0o600);
  assert.equal(statSync(path.dirname(at.file)).mode & 0o777, 0o700);
  assert.equal(await at.open().verify(phrase), true);
});

test('one character that keyboards spell in two ways is one', async () => {
  using at = place();
  await at.open().enrol('ada', 'pass phr\u00e9se', null);
  assert.equal(await at.open().verify('pass phre\u0301se'), true);
});

test('a passphrase is changed by who knows it', async () => {
  using at = place();
  await at.open().enrol('ada', phrase, null);
  const next = 'another one entirely';
  await assert.rejects(at.open().enrol('eve', next, null), code('AUTH_FAILED'));
  await assert.rejects(at.open().enrol('eve', next, 'guess'), code('AUTH_FAILED'));
  assert.equal(await at.open().verify(phrase), true);
  await at.open().enrol('ada', next, phrase);
  assert.equal(await at.open().verify(phrase), false);
  assert.equal(await at.open().verify(next), true);
});

test('a short passphrase is refused', async () => {
  using at = place();
  await assert.rejects(at.open().enrol('ada', '1234567', null), code('INVALID_PARAMS'));
  await assert.rejects(at.open().enrol('ada', '\u{1F511}'.repeat(7), null), code('INVALID_PARAMS'));
  await assert.rejects(at.open().enrol('ada', 'x'.repeat(1_025), null), code('INVALID_PARAMS'));
  assert.equal(existsSync(at.file), false);
});

test('after five wrong ones each takes longer, up to 5 minutes, in every process', async () => {
  using at = place();
  await at.open().enrol('ada', phrase, null);
  const waits: number[] = [];
  while (waits.length < 16) {
    const before = at.time;
    for (;;) {
      const refusal = await at
        .open()
        .verify('wrong')
        .then(() => null, String);
      if (refusal === null) break;
      assert.match(refusal, /wait \d+ s/);
      at.time += 1_000;
    }
    waits.push((at.time - before) / 1_000);
  }
  assert.deepEqual(waits, [0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
});

test('while it waits the right one is refused too, and is not even looked at', async () => {
  using at = place();
  await at.open().enrol('ada', phrase, null);
  for (let count = 0; count < 5; count += 1) await at.open().verify('wrong');
  await assert.rejects(at.open().verify(phrase), code('QUOTA_EXCEEDED', 'wait 1 s'));
  await assert.rejects(at.open().enrol('ada', 'another one', phrase), code('QUOTA_EXCEEDED'));
  at.time += 1_000;
  assert.equal(await at.open().verify('wrong'), false);
  await assert.rejects(at.open().verify(phrase), code('QUOTA_EXCEEDED', 'wait 2 s'));
  at.time -= 3_600_000;
  await assert.rejects(at.open().verify(phrase), code('QUOTA_EXCEEDED', 'wait 2 s'));
  at.time += 3_602_000;
  assert.equal(await at.open().verify(phrase), true);
  assert.equal(await at.open().verify('wrong'), false);
  assert.equal(await at.open().verify(phrase), true);
});

test('many guesses at once are counted one by one', async () => {
  using at = place();
  const enrolment = at.open();
  await enrolment.enrol('ada', phrase, null);
  const guesses = Array.from({ length: 20 }, (_, count) => enrolment.verify(`guess ${count}`));
  const results = await Promise.allSettled(guesses);
  assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 5);
});

test('an enrolment that cannot be trusted is not nobody: nothing can be decided', async () => {
  const breaks: readonly (readonly [string, (file: string) => void])[] = [
    ['open to others', (file) => chmodSync(file, 0o640)],
    ['not an enrolment', (file) => writeFileSync(file, '{}')],
    ['not an enrolment', (file) => writeFileSync(file, '')],
    [
      'not an enrolment',
      (file) => writeFileSync(file, readFileSync(file, 'utf8').replace('1024', '999999999')),
    ],
    ['more than 4096 bytes', (file) => writeFileSync(file, 'x'.repeat(5_000))],
    [
      'a link',
      (file) => {
        writeFileSync(`${file}.other`, readFileSync(file), { mode: 0o600 });
        rmSync(file);
        symlinkSync(`${file}.other`, file);
      },
    ],
    [
      'no file',
      (file) => {
        rmSync(file);
        mkdirSync(file, { mode: 0o700 });
      },
    ],
  ];
  for (const [text, act] of breaks) {
    using at = place();
    await at.open().enrol('ada', phrase, null);
    act(at.file);
    assert.throws(() => at.open().approver(), code('AUTH_FAILED', text));
    await assert.rejects(at.open().verify(phrase), code('AUTH_FAILED', text));
    await assert.rejects(at.open().enrol('eve', 'another one', null), code('AUTH_FAILED', text));
  }
});

test('nothing is written where others may write', async () => {
  using at = place();
  mkdirSync(path.dirname(at.file), { recursive: true });
  chmodSync(path.dirname(at.file), 0o777);
  await assert.rejects(at.open().enrol('ada', phrase, null), code('AUTH_FAILED', 'others'));
});

test('attempts that cannot be read count as wrong ones', async () => {
  using at = place();
  await at.open().enrol('ada', phrase, null);
  const { attemptsFile } = enrolmentFiles({}, at.home);
  writeFileSync(attemptsFile, 'no JSON');
  await assert.rejects(at.open().verify(phrase), code('QUOTA_EXCEEDED'));
  at.time += 1_000;
  assert.equal(await at.open().verify(phrase), true);
});

test('the key of approvals is made once, private, and refused when it is open to others', () => {
  using at = place();
  const key = openSecretKey(at.home);
  assert.equal(key.length, 32);
  assert.deepEqual(openSecretKey(at.home), key);
  assert.notDeepEqual(openSecretKey(null), openSecretKey(null));
  const file = path.join(at.home, 'approvals.key');
  assert.equal(statSync(file).mode & 0o777, 0o600);
  chmodSync(file, 0o644);
  assert.throws(() => openSecretKey(at.home), code('BACKEND_UNAVAILABLE', 'open to others'));
  rmSync(file);
  symlinkSync('/etc/hostname', file);
  assert.throws(() => openSecretKey(at.home), code('BACKEND_UNAVAILABLE'));
});
