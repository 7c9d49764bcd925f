// The document says enough to read a raw log without a line of ours.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { generateIdentity } from '../src/sealing/keys.ts';
import { RawLogWriter } from '../src/sealing/raw-log-writer.ts';

const document = path.join(path.dirname(import.meta.dirname), 'docs/raw-logs.md');
const [, program = ''] = /```js\n([^]*?)```/.exec(readFileSync(document, 'utf8')) ?? [];

test('the program of docs/raw-logs.md reads what was sealed, and nothing altered', async () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'trl-raw-document-'));
  try {
    const [own, other] = [generateIdentity(), generateIdentity()];
    const options = {
      base: path.join(dir, 'x-1'),
      recipients: [other.recipient, own.recipient],
      bytesMax: 1 << 30,
    };
    const writer = new RawLogWriter(options, {
      onFailure: ({ why }) => assert.fail(why),
      onRoom() {},
    });
    const lines = Array.from({ length: 30_000 }, (_, at) => `line ${at} of the output\n`).join('');
    writer.append('stdout', Buffer.from(lines));
    writer.append('stderr', Buffer.from('and an error\n'));
    writer.append('stdout', Buffer.from('end\n'));
    await writer.end();
    writeFileSync(path.join(dir, 'read.mjs'), program);
    writeFileSync(path.join(dir, 'own.txt'), `# a comment\n${own.identity}\n`);
    writeFileSync(path.join(dir, 'stranger.txt'), `${generateIdentity().identity}\n`);
    const read = (identity: string) =>
      spawnSync(process.execPath, ['read.mjs', options.base, identity], {
        cwd: dir,
        encoding: 'utf8',
        maxBuffer: 1 << 24,
      });
    const found = read('own.txt');
    assert.deepEqual([found.stdout, found.stderr], [`${lines}end\n`, 'and an error\n']);
    const refused = read('stranger.txt');
    assert.deepEqual([refused.stdout, refused.status], ['', 1]);
    const log = readFileSync(`${options.base}.log`);
    log[log.length - 40] = (log.at(-40) ?? 0) ^ 1;
    writeFileSync(`${options.base}.log`, log);
    assert.equal(read('own.txt').status, 1);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});
