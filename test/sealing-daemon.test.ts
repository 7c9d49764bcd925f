// With recipients configured, what commands print is sealed, told in the audit log and opened by
// the auditor alone; what the daemon keeps holds no known value and no identity.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { generateIdentity, parseIdentities } from '../src/sealing/keys.ts';
import { revealRawLog } from '../src/sealing/reveal.ts';
import { whyNoBox } from './support/box.ts';
import { startRuntime, type Daemon, type Json } from './support/daemon.ts';
import { openSession } from './support/session.ts';

const { identity, recipient } = generateIdentity();
const identities = parseIdentities(identity);
const token = 'Zq7TfKx2pLw9VbRd4Nc8';

/** A daemon whose configuration is `text`. */
const startWith = (text: string, env: Readonly<Record<string, string>> = {}): Promise<Daemon> =>
  startRuntime({
    env,
    prepare: (home) => {
      const file = path.join(home, 'own.yaml');
      writeFileSync(file, text, { mode: 0o600 });
      return { TRL_CONFIG: file };
    },
  });

const filesBelow = (directory: string): string[] =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));

const rawDirectory = (daemon: Daemon): string => {
  const found = filesBelow(daemon.home).find((file) => file.endsWith('.key') && /x-/.test(file));
  assert.ok(found !== undefined, 'there is a raw log');
  return path.dirname(found);
};

async function revealed(base: string): Promise<string> {
  let text = '';
  for await (const { bytes } of revealRawLog(base, identities)) {
    text += Buffer.from(bytes).toString();
  }
  return text;
}

/** The events of the audit log as they lie on disk. */
const events = (daemon: Daemon): Json[] =>
  filesBelow(daemon.home)
    .filter((file) => file.includes('/audit/logs/'))
    .flatMap((file) => readFileSync(file, 'latin1').split('\n'))
    .filter((line) => line.startsWith('{"event"'))
    .map((line): Json => JSON.parse(line).event);

describe('a runtime with an auditor', { skip: whyNoBox }, () => {
  test('seals what a command printed, records it, and keeps no known value', async () => {
    const text = `audit: {recipients: [${recipient}]}\n`;
    await using daemon = await startWith(text, { KNOWN_TOKEN: token });
    await using session = await openSession(daemon.socketPath, { working_dir: daemon.root });
    const command =
      'echo "a $KNOWN_TOKEN"; echo "$KNOWN_TOKEN" | base64; echo C5MV2RLPNWX7TZQ4AIKA=swa | rev';
    const { data } = await session.ask(command, { env_keys: ['KNOWN_TOKEN'] });
    assert.match(data.stdout, /aws=\[HIDDEN/);
    assert.deepEqual(data.warnings, []);
    const directory = rawDirectory(daemon);
    // Of that command alone: what the runtime runs to test its sandbox is not sealed.
    const names = readdirSync(directory).toSorted();
    assert.deepEqual(names, [`${data.exec_id}.key`, `${data.exec_id}.log`]);
    const base = path.join(directory, data.exec_id);
    const raw = await revealed(base);
    assert.match(
      raw,
      /^a \[HIDDEN:[0-9a-f]+\]\n\[HIDDEN:[0-9a-f]+\][K=]*\n?aws=AKIA4QZT7XWNPLR2VM5C\n$/,
    );
    const ended = events(daemon).find(
      ({ kind, exec }) => kind === 'exec.ended' && exec === data.exec_id,
    );
    const log = readFileSync(`${base}.log`);
    assert.deepEqual(ended?.data.raw_log, {
      sha256: createHash('sha256').update(log).digest('hex'),
      bytes: log.length,
      plain_bytes: raw.length,
      complete: true,
      why: null,
      recipients: [recipient],
    });
    // How well it compresses is not for who chose a part of it.
    assert.ok(!JSON.stringify(data).includes('plain_bytes'));
    for (const file of filesBelow(daemon.home)) {
      const held = readFileSync(file);
      assert.ok(!held.includes(token), file);
      assert.ok(!held.includes(identity.slice(16, 40)), file);
      assert.ok(!held.includes('AKIA4QZT7XWNPLR2VM5C'), file);
    }
  });

  test('ends a command that it cannot seal, unless a record is not required', async () => {
    for (const required of [true, false]) {
      const text = `audit: {required: ${required}, recipients: [${recipient}]}\n`;
      await using daemon = await startWith(text);
      await using session = await openSession(daemon.socketPath, { working_dir: daemon.root });
      await session.run('echo first');
      const directory = rawDirectory(daemon);
      renameSync(directory, `${directory}.kept`);
      // A file in the directory's place: nothing can be made in it, as root neither.
      writeFileSync(directory, '');
      const more = required ? 'sleep 900' : 'sleep 0.5';
      const { data } = await session.ask(`echo x; ${more}; exit 3`, { timeout_ms: 240_000 });
      assert.equal(data.stopped, required ? 'audit-failed' : null);
      if (!required) assert.equal(data.exit_code, 3);
      assert.match(data.warnings.join('\n'), /raw log does not hold all output/);
    }
  });

  test('without one, keeps no raw output', async () => {
    await using daemon = await startWith('audit: {recipients: []}\n');
    await using session = await openSession(daemon.socketPath, { working_dir: daemon.root });
    await session.run('echo a-line-that-is-nowhere-on-disk | rev');
    assert.ok(!filesBelow(daemon.home).some((file) => /audit\/raw/.test(file)));
  });
});
