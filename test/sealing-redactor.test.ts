// What is sealed is what a command printed, with known values masked: by the redactor, to auditors.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readdirSync } from 'node:fs';
import { readFileSync, readSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import type { ExecId } from '../src/command.ts';
import type { KnownSecret } from '../src/redacted.ts';
import { KnownIndex } from '../src/redaction/known/known-index.ts';
import { RedactionTags } from '../src/redaction/redaction-tags.ts';
import { RedactorChannel } from '../src/redactor/channel.ts';
import { decryptHeader } from '../src/sealing/header.ts';
import { generateIdentity, parseIdentities, SealingError } from '../src/sealing/keys.ts';
import { revealRawLog } from '../src/sealing/reveal.ts';
import { descendantsOf, eventually } from './support/processes.ts';
import { openLoneRunner, type LoneRunner } from './support/runner.ts';
import { applied, transforms } from './support/transforms.ts';

const root = mkdtempSync(path.join(tmpdir(), 'trl-sealed-'));
after(() => rmSync(root, { recursive: true, force: true }));
let made = 0;
const newDirectory = (): string => {
  const dir = path.join(root, `d${(made += 1)}`);
  mkdirSync(dir);
  return dir;
};

const { identity, recipient } = generateIdentity();
const identities = parseIdentities(identity);
const GiB = 1024 ** 3;

/** What is sealed, and why there is no more. */
async function sealed(base: string) {
  const parts = { stdout: [Buffer.alloc(0)], stderr: [Buffer.alloc(0)] };
  let why: string | null = null;
  try {
    for await (const { stream, bytes } of revealRawLog(base, identities)) {
      parts[stream].push(Buffer.from(bytes));
    }
  } catch (error) {
    if (!(error instanceof SealingError)) throw error;
    why = error.reason;
  }
  const [stdout, stderr] = [Buffer.concat(parts.stdout), Buffer.concat(parts.stderr)];
  return { stdout: stdout.toString('latin1'), stderr: stderr.toString('latin1'), why };
}

const tags = new RedactionTags(Buffer.alloc(32, 7));
const indexOf = (known: readonly KnownSecret[]): KnownIndex | null =>
  known.length === 0
    ? null
    : new KnownIndex(known.map((one) => ({ ...one, tag: tags.of(one.value) })));

interface Through {
  readonly known?: readonly string[];
  /** Values that become known before the chunk of that number. */
  readonly learnt?: { readonly at: number; readonly value: string };
}

/** The sealed view of chunks of one stream. */
async function through(
  chunks: readonly Uint8Array[],
  { known = [], learnt }: Through,
): Promise<string> {
  const base = path.join(newDirectory(), 'x-1');
  const seal = { base, recipients: [recipient], bytesMax: GiB };
  const secrets = known.map((value, at) => ({ name: `K${at}`, value }));
  const options = { profile: 'balanced', thresholds: {}, patterns: [] } as const;
  const channel = new RedactorChannel(
    { channel: 1, command: 'cat', known: secrets, interactive: false, reveal: [], seal },
    { index: indexOf(secrets), tags, options },
    { give: () => {}, unsealed: ({ why }) => assert.fail(why) },
  );
  for (const [at, chunk] of chunks.entries()) {
    if (at === learnt?.at) channel.learn(indexOf([{ name: 'LATER', value: learnt.value }]));
    channel.take('stdout', chunk);
  }
  const { raw_log: log } = await channel.end();
  const { stdout, why } = await sealed(base);
  assert.deepEqual([why, log?.complete, log?.plain_bytes], [null, true, stdout.length]);
  return stdout;
}

const pieces = (bytes: Uint8Array, size: number): Uint8Array[] =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
    bytes.slice(at * size, (at + 1) * size),
  );

describe('a known value', () => {
  const token = 'ghp_9fKq2LxWv7RbT0cYzN4mJhU6sDaE1PgVtXoQ';
  const forms = transforms.map((transform) => ({
    name: transform.name,
    ...applied(transform, token),
  }));
  /** Runs of the value's own characters, as the form writes them: none of them may be left. */
  const runsOf = ({ bytes, shares }: (typeof forms)[number]): string[] => {
    const text = bytes.toString('latin1');
    const marked = shares.map((share, at) => (share === 'secret' ? (text[at] ?? ' ') : '\u{100}'));
    return marked.join('').match(/[A-Za-z0-9+/=]{12,}/g) ?? [];
  };

  test('that nobody knows is sealed in each form: the masking keeps it out', async () => {
    for (const form of forms) {
      const all = await through([form.bytes], {});
      assert.equal(all, form.bytes.toString('latin1'), form.name);
    }
  });

  for (const size of [1, 7, 64 * 1024]) {
    test(`is not sealed in any form, in pieces of ${size}`, async () => {
      let runs = 0;
      // Each piece is a call, and the forms are many: of small pieces, some of them.
      for (const form of forms.filter((_, at) => size > 100 || at % 6 === size % 6)) {
        const left = await through(pieces(form.bytes, size), { known: [token] });
        assert.ok(left.includes(tags.of(token)), form.name);
        for (const run of runsOf(form)) {
          runs += 1;
          assert.ok(!left.includes(run), `${form.name}: ${run} in ${left}`);
        }
      }
      assert.ok(runs > 3);
    });
  }

  test('that becomes known while the command runs is not sealed from there on', async () => {
    const line = Buffer.from(`value ${token} end\n`);
    const left = await through([line, line, line], { learnt: { at: 1, value: token } });
    assert.deepEqual(left.split(token).length - 1, 1);
    assert.equal(left.split(tags.of(token)).length - 1, 2);
  });

  test('is masked, and what only looks like a secret is sealed as it is', async () => {
    const unknown = 'AKIA4QZT7XWNPLR2VM5C';
    const text = `aws_access_key_id=${unknown} token=${token}\n`;
    const left = await through([Buffer.from(text)], { known: [token] });
    assert.equal(left, text.replace(token, tags.of(token)));
  });
});

interface Sealed extends AsyncDisposable {
  readonly runner: LoneRunner;
  readonly dir: string;
  base(id: ExecId): string;
}

/** A runner that seals to the auditor. */
async function openSealing({
  required = true,
  bytesMax = GiB,
  directory = '',
} = {}): Promise<Sealed> {
  const dir = newDirectory();
  const raw = directory === '' ? path.join(dir, 'raw') : directory;
  const work = path.join(dir, 'work');
  mkdirSync(work);
  const sealing = { directory: raw, recipients: [recipient], bytesMax, required };
  const runner = await openLoneRunner(work, sealing);
  return {
    runner,
    dir: work,
    base: (id) => path.join(raw, id),
    [Symbol.asyncDispose]: () => runner[Symbol.asyncDispose](),
  };
}

const box = { kind: 'none' } as const;
const secret = { name: 'API_TOKEN', value: 'Zq7TfKx2pLw9VbRd4Nc8' };
const redactorsOf = (runner: LoneRunner) =>
  descendantsOf(runner.link.pid).filter(({ command }) => command.endsWith('redactor.js'));

describe('a command', () => {
  test('whose output is sealed says so in its exit, and has a private log', async () => {
    await using place = await openSealing();
    const { runner } = place;
    const key = 'ghp_0aF3kQ9zLmN4pR7tV2wX5yB8cD1eG6hJ0000';
    const command = `echo ${key} ${secret.value}; echo oops >&2; exit 3`;
    const exit = await runner.run(command, box, { known: [secret] });
    assert.equal(exit.exit_code, 3);
    assert.equal(exit.redactions?.count, 2);
    const base = place.base(exit.exec_id);
    const { stdout, stderr, why } = await sealed(base);
    assert.match(stdout, new RegExp(`^${key} \\[HIDDEN:[0-9a-f]+\\]\n$`));
    assert.deepEqual([stderr, why], ['oops\n', null]);
    const file = readFileSync(`${base}.log`);
    assert.deepEqual(exit.raw_log, {
      sha256: createHash('sha256').update(file).digest('hex'),
      bytes: file.length,
      plain_bytes: stdout.length + stderr.length,
      complete: true,
      why: null,
      recipients: [recipient],
    });
  });

  test('that prints nothing has none; nor has one that nobody seals', async () => {
    await using place = await openSealing();
    assert.equal((await place.runner.run('true', box)).raw_log, null);
    assert.equal(existsSync(path.dirname(place.base('x-1'))), false);
    await using plain = await openLoneRunner(newDirectory());
    assert.equal((await plain.run('echo x', box)).raw_log, null);
  });

  test('whose redactor is killed leaves what came before', async () => {
    await using place = await openSealing();
    const { runner } = place;
    const { id, ended } = await runner.start('echo before; sleep 600', box);
    const base = place.base(id);
    await eventually(
      'the first chunk',
      () => existsSync(`${base}.log`) && readFileSync(`${base}.log`).length > 0,
    );
    for (const { pid } of redactorsOf(runner)) process.kill(pid, 'SIGKILL');
    const exit = await ended;
    assert.equal(exit.stopped, 'redaction-failed');
    assert.deepEqual(await sealed(base), { stdout: 'before\n', stderr: '', why: 'truncated' });
    const file = readFileSync(`${base}.log`);
    assert.deepEqual(exit.raw_log, {
      sha256: createHash('sha256').update(file).digest('hex'),
      bytes: file.length,
      plain_bytes: null,
      complete: false,
      why: 'the redactor ended',
      recipients: [recipient],
    });
    const next = await runner.run('echo works', box);
    assert.equal((await sealed(place.base(next.exec_id))).stdout, 'works\n');
  });

  test('whose output is large is sealed to its end, stream by stream', async () => {
    await using place = await openSealing();
    const exit = await place.runner.run('seq 1 200000; seq 1 10 >&2', box);
    const { stdout, stderr, why } = await sealed(place.base(exit.exec_id));
    assert.equal(why, null);
    assert.equal(stdout.length, exit.stdout_bytes);
    assert.equal(createHash('sha256').update(stdout).digest('hex'), exit.stdout_sha256);
    assert.equal(createHash('sha256').update(stderr).digest('hex'), exit.stderr_sha256);
  });

  test('that prints more than may be sealed runs on, and its exit says so', async () => {
    await using place = await openSealing({ bytesMax: 100_000 });
    const exit = await place.runner.run('seq 1 200000; exit 4', box);
    assert.deepEqual([exit.exit_code, exit.stopped], [4, null]);
    assert.equal(exit.raw_log?.complete, false);
    assert.match(exit.raw_log?.why ?? '', /bound of 100000 bytes/);
    const { stdout, why } = await sealed(place.base(exit.exec_id));
    assert.deepEqual([why, stdout.length], ['truncated', exit.raw_log?.plain_bytes]);
    assert.ok(stdout.startsWith('1\n2\n'));
  });
});

describe('where a raw log cannot be written', () => {
  const nowhere = (): string => {
    const file = path.join(newDirectory(), 'a-file');
    writeFileSync(file, '');
    return path.join(file, 'raw');
  };

  test('the command is ended when the audit is required', async () => {
    await using place = await openSealing({ directory: nowhere() });
    const exit = await place.runner.run('echo x; sleep 600', box);
    assert.equal(exit.stopped, 'audit-failed');
    assert.equal(exit.raw_log?.complete, false);
    // Also one that ended by itself before that was known.
    const short = await place.runner.run('echo x', box);
    assert.equal(short.stopped, 'audit-failed');
  });

  test('the command runs on when it is not, and its exit says so', async () => {
    await using place = await openSealing({ directory: nowhere(), required: false });
    const exit = await place.runner.run('echo x; exit 5', box);
    assert.deepEqual([exit.exit_code, exit.stopped], [5, null]);
    assert.deepEqual([exit.raw_log?.complete, exit.raw_log?.plain_bytes], [false, 0]);
    assert.ok((exit.raw_log?.why ?? '') !== '');
  });

  test('because the disk is full, what is there can be read', { skip: whyNoMount() }, async () => {
    const disk = newDirectory();
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'none', disk]);
    try {
      await using place = await openSealing({ directory: path.join(disk, 'raw') });
      const exit = await place.runner.run('head -c 2000000 /dev/urandom | od -x; sleep 600', box);
      assert.equal(exit.stopped, 'audit-failed');
      assert.equal(exit.raw_log?.why, 'the disk is full');
      const base = place.base(exit.exec_id);
      const { stdout, why } = await sealed(base);
      assert.equal(why, 'truncated');
      assert.equal(stdout.length, exit.raw_log?.plain_bytes);
      assert.ok(stdout.length > 0);
      assert.equal(readFileSync(`${base}.log`).length, exit.raw_log?.bytes);
    } finally {
      execFileSync('umount', ['-l', disk]);
    }
  });
});

test('nobody at run time has an identity, and the data key is forgotten at the end', async () => {
  await using place = await openSealing();
  const { runner } = place;
  const { id, ended } = await runner.start('echo out; until [ -e go ]; do sleep 0.05; done', box);
  await eventually('the log', () => existsSync(`${place.base(id)}.log`));
  const needle = identity.slice(16, 40);
  for (const pid of [runner.link.pid, ...redactorsOf(runner).map((one) => one.pid)]) {
    assert.equal(memoryHolds(pid, needle), false);
    // The search finds what is there.
    assert.equal(memoryHolds(pid, recipient), true);
  }
  const [redactor] = redactorsOf(runner);
  assert.ok(redactor !== undefined);
  // What opens this log alone is there while it is written, and not a moment longer.
  const header = readFileSync(`${place.base(id)}.key`);
  const { dataKey } = decryptHeader(header, id, identities);
  assert.equal(memoryHolds(redactor.pid, dataKey), true);
  writeFileSync(path.join(place.dir, 'go'), '');
  await ended;
  await eventually('that it forgets', () => !memoryHolds(redactor.pid, dataKey));
  for (const name of readdirSync(path.dirname(place.base(id)))) {
    assert.ok(!readFileSync(path.join(path.dirname(place.base(id)), name)).includes(needle));
  }
});

/** Whether the bytes lie anywhere in the writable memory of a descendant of ours. */
function memoryHolds(pid: number, wanted: string | Uint8Array): boolean {
  const needle = Buffer.from(wanted);
  const maps = readFileSync(`/proc/${pid}/maps`, 'latin1').split('\n');
  const memory = openSync(`/proc/${pid}/mem`, 'r');
  const part = Buffer.alloc(1 << 20);
  try {
    for (const line of maps) {
      const [, from, to] = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line) ?? [];
      if (from === undefined || to === undefined) continue;
      const end = Number.parseInt(to, 16);
      for (let at = Number.parseInt(from, 16); at < end; at += part.length - needle.length) {
        const length = readOf(memory, part.subarray(0, Math.min(part.length, end - at)), at);
        if (part.subarray(0, length).includes(needle)) return true;
      }
    }
    return false;
  } finally {
    closeSync(memory);
  }
}

/** Bytes read; what is mapped and not there reads as none. */
function readOf(file: number, into: Buffer, at: number): number {
  try {
    return readSync(file, into, 0, into.length, at);
  } catch {
    return 0;
  }
}

function whyNoMount(): string | false {
  if (process.getuid?.() !== 0) return 'only root mounts a small disk';
  const probe = newDirectory();
  if (spawnSync('mount', ['-t', 'tmpfs', 'none', probe]).status !== 0) return 'mount is refused';
  execFileSync('umount', [probe]);
  return false;
}
