// A sealed log gives back what was printed to whom it was sealed, and to nobody else; whatever is
// done to its bytes is found.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { mkdirSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import * as fc from 'fast-check';
import './support/seed.ts';
import type { RawLog } from '../src/redacted.ts';
import { encodeBech32 } from '../src/sealing/bech32.ts';
import {
  generateIdentity,
  parseIdentities,
  SealingError,
  type AgeIdentity,
  type SealingReason,
} from '../src/sealing/keys.ts';
import { revealRawLog, digestRawLog } from '../src/sealing/reveal.ts';
import { listRawLogs, applyRawLogRetention, shredRawLog } from '../src/sealing/retention.ts';
import { RawLogWriter, type SealFailure } from '../src/sealing/raw-log-writer.ts';

const root = mkdtempSync(path.join(tmpdir(), 'trl-sealing-'));
after(() => rmSync(root, { recursive: true, force: true }));
let made = 0;
const newBase = (): string => path.join(root, 'raw', `x-${(made += 1)}`);

interface Pair {
  readonly recipient: string;
  readonly identities: readonly AgeIdentity[];
}
function newPair(): Pair {
  const { identity, recipient } = generateIdentity();
  return { recipient, identities: parseIdentities(identity) };
}
const auditor = newPair();
const GiB = 1024 ** 3;

type Output = readonly (readonly [stream: 'stdout' | 'stderr', bytes: Uint8Array])[];

async function seal(
  base: string,
  output: Output,
  { recipients = [auditor.recipient], bytesMax = GiB } = {},
): Promise<{ readonly log: RawLog | null; readonly failures: readonly string[] }> {
  const failures: string[] = [];
  const failed = ({ why }: SealFailure): void => void failures.push(why);
  const events = { onFailure: failed, onRoom: () => {} };
  const writer = new RawLogWriter({ base, recipients, bytesMax }, events);
  for (const [stream, bytes] of output) writer.append(stream, bytes);
  return { log: await writer.end(), failures };
}

/** What is given before the end or the error, and the reason of the error. */
async function read(
  base: string,
  identities = auditor.identities,
): Promise<{
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  readonly why: SealingReason | null;
}> {
  const parts = { stdout: [Buffer.alloc(0)], stderr: [Buffer.alloc(0)] };
  const given = () => ({
    stdout: Buffer.concat(parts.stdout),
    stderr: Buffer.concat(parts.stderr),
  });
  try {
    for await (const { stream, offset, bytes } of revealRawLog(base, identities)) {
      assert.equal(offset, given()[stream].length);
      parts[stream].push(Buffer.from(bytes));
    }
  } catch (error) {
    assert.ok(error instanceof SealingError, String(error));
    return { ...given(), why: error.reason };
  }
  return { ...given(), why: null };
}

const joined = (output: Output, name: string): Buffer =>
  Buffer.concat(output.filter(([stream]) => stream === name).map(([, bytes]) => bytes));

/** Text that hardly compresses: some chunks of it. */
const noise = (bytes: number): Buffer => Buffer.from(randomBytes(bytes).toString('base64'));

describe('what was sealed', () => {
  test('comes back byte for byte, whatever the pieces were', async () => {
    const piece = fc.tuple(
      fc.constantFrom('stdout' as const, 'stderr' as const),
      fc.oneof(
        fc.uint8Array({ maxLength: 50 }),
        fc.integer({ min: 60_000, max: 140_000 }).map((length) => noise(length)),
      ),
    );
    const property = fc.asyncProperty(fc.array(piece, { maxLength: 12 }), async (output) => {
      const base = newBase();
      const { log, failures } = await seal(base, output);
      assert.deepEqual(failures, []);
      const total = output.reduce((sum, [, bytes]) => sum + bytes.length, 0);
      if (total === 0) {
        assert.equal(log, null);
        return assert.equal((await read(base)).why, 'absent');
      }
      const { stdout, stderr, why } = await read(base);
      assert.equal(why, null);
      assert.deepEqual(stdout, joined(output, 'stdout'));
      assert.deepEqual(stderr, joined(output, 'stderr'));
      const file = readFileSync(`${base}.log`);
      const sha256 = createHash('sha256').update(file).digest('hex');
      const recipients = [auditor.recipient];
      const told = { sha256, bytes: file.length, plain_bytes: total, complete: true };
      assert.deepEqual(log, { ...told, why: null, recipients });
      assert.deepEqual(await digestRawLog(base), { sha256, bytes: file.length });
    });
    await fc.assert(property, { numRuns: 30 });
  });

  test('is not in the files, which are private', async () => {
    const base = newBase();
    await seal(base, [['stdout', Buffer.from('a rather long line of plain text\n'.repeat(9))]]);
    const directory = path.dirname(base);
    assert.equal(statSync(directory).mode & 0o777, 0o700);
    for (const name of ['key', 'log']) {
      const file = `${base}.${name}`;
      assert.equal(statSync(file).mode & 0o777, 0o600);
      assert.ok(!readFileSync(file).includes('plain text'));
    }
  });

  test('is read by each of its recipients and by nobody else', async () => {
    const [one, other, stranger] = [newPair(), newPair(), newPair()];
    const base = newBase();
    const output: Output = [['stdout', Buffer.from('for two\n')]];
    const recipients = [one.recipient, other.recipient];
    const { log } = await seal(base, output, { recipients });
    assert.deepEqual(log?.recipients, recipients);
    for (const { identities } of [one, other]) {
      assert.equal((await read(base, identities)).stdout.toString(), 'for two\n');
    }
    const both = [...stranger.identities, ...other.identities];
    assert.equal((await read(base, both)).why, null);
    const refused = await read(base, stranger.identities);
    assert.deepEqual([refused.why, refused.stdout.length], ['wrong-identity', 0]);
    await assert.rejects(revealRawLog(base, stranger.identities).next(), new RegExp(one.recipient));
  });

  test('is written at once when output rests, so a kill takes little', async () => {
    const base = newBase();
    const events = { onFailure: () => assert.fail(), onRoom: () => {} };
    const writer = new RawLogWriter(
      { base, recipients: [auditor.recipient], bytesMax: GiB },
      events,
    );
    writer.append('stdout', Buffer.from('before the kill\n'));
    for (;;) {
      const found = await read(base);
      if (found.stdout.length > 0) {
        assert.deepEqual([found.stdout.toString(), found.why], ['before the kill\n', 'truncated']);
        break;
      }
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    writer.abandon();
  });
});

describe('every change is found:', () => {
  const output: Output = [
    ['stdout', noise(70_000)],
    ['stderr', Buffer.from('an error\n')],
    ['stdout', noise(100_000)],
  ];

  /** A log of a few chunks, and where each begins. */
  async function victim() {
    const base = newBase();
    await seal(base, output);
    const bytes = readFileSync(`${base}.log`);
    const starts: number[] = [];
    for (let at = 0; at < bytes.length; at += 4 + bytes.readUInt32LE(at) + 16) starts.push(at);
    assert.ok(starts.length >= 3);
    const chunks = starts.map((from, at) => bytes.subarray(from, starts[at + 1] ?? bytes.length));
    return { base, bytes, starts, chunks };
  }
  const whole = joined(output, 'stdout');

  test('any byte of a small log or its header', async () => {
    const base = newBase();
    await seal(base, [['stdout', Buffer.from('short\n')]]);
    for (const file of [`${base}.log`, `${base}.key`]) {
      const bytes = readFileSync(file);
      for (let at = 0; at < bytes.length; at += 1) {
        const changed = Buffer.from(bytes);
        changed[at] = (changed[at] ?? 0) ^ (1 << (at % 8));
        writeFileSync(file, changed);
        const found = await read(base);
        assert.notEqual(found.why, null, `byte ${at} of ${file}`);
        assert.equal(found.stdout.length, 0);
      }
      writeFileSync(file, bytes);
    }
    assert.equal((await read(base)).why, null);
  });

  test('any byte of a large one, and what comes before it is given', async () => {
    const { base, bytes, starts } = await victim();
    const property = fc.asyncProperty(fc.nat({ max: bytes.length - 1 }), async (at) => {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 0x80;
      writeFileSync(`${base}.log`, changed);
      const found = await read(base);
      assert.ok(found.why === 'altered' || found.why === 'truncated');
      assert.ok(found.stdout.equals(whole.subarray(0, found.stdout.length)));
      assert.equal(found.stdout.length > 0, at >= (starts[1] ?? 0));
    });
    await fc.assert(property, { numRuns: 60 });
  });

  test('chunks in another order, twice, left out, or of another log', async () => {
    const { base, chunks } = await victim();
    const other = await victim();
    const [first = Buffer.alloc(0), second = Buffer.alloc(0), ...rest] = chunks;
    const rows: readonly (readonly [string, readonly Uint8Array[]])[] = [
      ['order', [second, first, ...rest]],
      ['twice', [first, first, second, ...rest]],
      ['left out', [first, ...rest]],
      ['the first left out', [second, ...rest]],
      ['the last twice', [...chunks, ...chunks.slice(-1)]],
      ['more after the last', [...chunks, Buffer.from('x')]],
      ['of another', [first, other.chunks[1] ?? first, ...rest]],
    ];
    for (const [name, parts] of rows) {
      writeFileSync(`${base}.log`, Buffer.concat(parts));
      assert.equal((await read(base)).why, 'altered', name);
    }
  });

  test('an end that is missing, at any byte, and the rest is given', async () => {
    const { base, bytes, starts } = await victim();
    const cuts = [0, 1, 3, 4, 5, ...starts, ...starts.map((at) => at + 3), bytes.length - 1];
    for (const at of cuts) {
      writeFileSync(`${base}.log`, bytes.subarray(0, at));
      const found = await read(base);
      assert.equal(found.why, 'truncated', `cut at ${at}`);
      assert.ok(found.stdout.equals(whole.subarray(0, found.stdout.length)));
      assert.equal(found.stdout.length > 0, at >= (starts[1] ?? 0));
    }
  });

  test('the files of another execution under its name', async () => {
    const { base } = await victim();
    const other = await victim();
    for (const name of ['key', 'log']) {
      writeFileSync(`${base}.${name}`, readFileSync(`${other.base}.${name}`));
    }
    assert.equal((await read(base)).why, 'altered');
  });
});

describe('what cannot be written', () => {
  test('is told at once and in the end, and nothing half stays', async () => {
    const base = newBase();
    const output: Output = Array.from({ length: 5 }, () => ['stdout', noise(60_000)] as const);
    const { log, failures } = await seal(base, output, { bytesMax: 150_000 });
    assert.equal(failures.length, 1);
    assert.match(failures[0] ?? '', /bound of 150000 bytes/);
    assert.deepEqual([log?.complete, log?.why], [false, failures[0]]);
    const file = readFileSync(`${base}.log`);
    assert.ok(file.length > 0 && file.length <= 150_000);
    assert.equal(log?.bytes, file.length);
    assert.equal(log?.sha256, createHash('sha256').update(file).digest('hex'));
    const found = await read(base);
    assert.equal(found.why, 'truncated');
    assert.equal(found.stdout.length, log?.plain_bytes);
  });

  test('because there is a file already, is not written over it', async () => {
    const base = newBase();
    mkdirSync(path.dirname(base), { recursive: true });
    writeFileSync(`${base}.key`, 'mine');
    const { log, failures } = await seal(base, [['stdout', Buffer.from('x')]]);
    assert.deepEqual(failures, ['one with this id exists already']);
    assert.deepEqual([log?.complete, log?.bytes, log?.plain_bytes], [false, 0, 0]);
    assert.equal(readFileSync(`${base}.key`, 'utf8'), 'mine');
  });

  test('because a recipient is none, or a point that agrees with all, is told', async () => {
    const weak = encodeBech32('age', new Uint8Array(32));
    for (const nobody of ['age1nobody', weak]) {
      const base = newBase();
      const output: Output = [['stdout', Buffer.from('x')]];
      const { log, failures } = await seal(base, output, { recipients: [nobody] });
      assert.equal(failures.length, 1);
      assert.deepEqual([log?.complete, log?.bytes], [false, 0]);
      assert.equal((await read(base)).why, 'absent');
    }
  });

  test('does not hold its source back for ever', async () => {
    const events = { onFailure: () => {}, onRoom: () => {} };
    const options = { base: newBase(), recipients: [auditor.recipient], bytesMax: 10 };
    const writer = new RawLogWriter(options, events);
    const told = new Promise<void>((resolve) => {
      events.onRoom = resolve;
    });
    for (let n = 0; n < 40; n += 1) writer.append('stdout', noise(60_000));
    assert.equal(writer.isBehind, true);
    await told;
    assert.equal(writer.isBehind, false);
    await writer.end();
  });
});

describe('shredded,', () => {
  test('a log is read by nobody, and its sealed bytes stay', async () => {
    const base = newBase();
    const { log } = await seal(base, [['stdout', Buffer.from('x')]]);
    assert.equal(await shredRawLog(base), true);
    assert.equal((await read(base)).why, 'shredded');
    assert.deepEqual(await digestRawLog(base), { sha256: log?.sha256, bytes: log?.bytes });
    assert.equal(await shredRawLog(base), false);
  });

  test('the oldest go beyond the bound, recorded first, but none that runs', async () => {
    const directory = path.join(root, 'kept');
    for (const [at, name] of ['x-a', 'x-b', 'x-c', 'x-d'].entries()) {
      await seal(path.join(directory, name), [['stdout', noise(30_000)]]);
      utimesSync(path.join(directory, `${name}.log`), 1_000 + at, 1_000 + at);
    }
    const [{ bytes } = { bytes: 0 }] = await listRawLogs(directory);
    const recorded: string[] = [];
    const gone = await applyRawLogRetention(directory, {
      bytesMax: bytes * 2.5,
      isRunning: (exec) => exec === 'x-a',
      record: async ({ exec }) => {
        assert.ok(readdirSync(directory).includes(`${exec}.key`));
        recorded.push(exec);
        await Promise.resolve();
      },
    });
    assert.deepEqual(
      [gone.map(({ exec }) => exec), recorded],
      [
        ['x-b', 'x-c'],
        ['x-b', 'x-c'],
      ],
    );
    const left = await listRawLogs(directory);
    assert.deepEqual(
      left.map(({ exec }) => exec),
      ['x-a', 'x-d'],
    );
    // What cannot be recorded stays.
    const record = (): Promise<void> => Promise.reject(new Error('no'));
    const nobody = (): boolean => false;
    await assert.rejects(
      applyRawLogRetention(directory, { bytesMax: 0, isRunning: nobody, record }),
    );
    assert.equal((await listRawLogs(directory)).length, 2);
    assert.deepEqual(await listRawLogs(path.join(root, 'nowhere')), []);
  });
});

test('two chunks of one text are not alike, and no two logs are', async () => {
  const text = Buffer.from('the same\n'.repeat(10_000));
  const logs = [];
  for (let n = 0; n < 2; n += 1) {
    const base = newBase();
    await seal(base, [['stdout', text]]);
    logs.push(readFileSync(`${base}.log`).toString('latin1'));
  }
  const [one = '', other = ''] = logs;
  assert.notEqual(one.slice(4, 40), other.slice(4, 40));
  const second = 4 + Buffer.from(one.slice(0, 4), 'latin1').readUInt32LE() + 16;
  assert.notEqual(one.slice(4, 40), one.slice(second + 4, second + 40));
});
