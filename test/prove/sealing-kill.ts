// npm run prove: redactors killed at random points of a busy run. What was sealed up to then reads
// as a beginning of what was printed, the exit says what the file is, and the next command works.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { generateIdentity, parseIdentities, SealingError } from '../../src/sealing/keys.ts';
import { revealRawLog } from '../../src/sealing/reveal.ts';
import { descendantsOf } from '../support/processes.ts';
import { openLoneRunner } from '../support/runner.ts';

const rounds = Number(process.argv[2] ?? 200);
const box = { kind: 'none' } as const;
const { identity, recipient } = generateIdentity();
const identities = parseIdentities(identity);
const root = mkdtempSync(path.join(tmpdir(), 'trl-sealing-kill-'));
const work = path.join(root, 'work');
mkdirSync(work);
const directory = path.join(root, 'raw');
const bytesMax = 1 << 30;
const sealing = { directory, recipients: [recipient], bytesMax, required: true };
/** Numbered lines without end, now fast, now slow. */
const command = `i=0; while :; do seq -f "line %.0f" $i $((i+499)); i=$((i+500)); sleep 0.01; done`;
const wholeLines = Array.from({ length: 400_000 }, (_, at) => `line ${at}\n`).join('');

async function sealed(base: string): Promise<{ text: string; why: string }> {
  const parts: Buffer[] = [];
  try {
    for await (const { bytes } of revealRawLog(base, identities)) parts.push(Buffer.from(bytes));
  } catch (error) {
    assert.ok(error instanceof SealingError, String(error));
    return { text: Buffer.concat(parts).toString(), why: error.reason };
  }
  return { text: Buffer.concat(parts).toString(), why: 'none' };
}

let withFile = 0;
let lines = 0;
try {
  await using runner = await openLoneRunner(work, sealing);
  await runner.run('true', box);
  const redactors = () =>
    descendantsOf(runner.link.pid).filter(({ command: text }) => text.endsWith('redactor.js'));
  for (let round = 0; round < rounds; round += 1) {
    const { id, ended } = await runner.start(command, box);
    await sleep(Math.random() ** 2 * 900);
    for (const { pid } of redactors()) process.kill(pid, 'SIGKILL');
    const exit = await ended;
    assert.equal(exit.stopped, 'redaction-failed');
    const base = path.join(directory, id);
    assert.equal(exit.raw_log?.complete ?? false, false);
    if (!existsSync(`${base}.log`)) continue;
    withFile += 1;
    const file = readFileSync(`${base}.log`);
    const sha256 = createHash('sha256').update(file).digest('hex');
    assert.deepEqual([exit.raw_log?.sha256, exit.raw_log?.bytes], [sha256, file.length]);
    const { text, why } = await sealed(base);
    assert.ok(why === 'truncated' || (why === 'malformed' && text === ''), why);
    assert.ok(wholeLines.startsWith(text), `round ${round}`);
    lines += text.split('\n').length - 1;
  }
  const last = await runner.run('echo works', box);
  assert.equal((await sealed(path.join(directory, last.exec_id))).text, 'works\n');
} finally {
  rmSync(root, { recursive: true, force: true });
}
process.stdout.write(`${rounds} kills, ${withFile} with a file, ${lines} whole lines read\n`);
