// What the documents show with a secret runs as it is written, under the default policy.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { whyNoBox } from './support/box.ts';
import { startRuntime } from './support/daemon.ts';

const root = path.dirname(import.meta.dirname);
const token = 'p7Gx2mQ9vK4tR8wZ';
const config = 'database:\n  host: db.internal\n  password: hT7_pQ29xLw4zV\n';

interface Example {
  readonly command: string;
  /** As it is written, without the digits of tags. */
  readonly output: string;
}

/** The line end behind a value is encoded with it, and stays: `[HIDDEN:4c81e0]o=`, `…0a`. */
const withoutTags = (text: string): string =>
  text.replaceAll(/\[HIDDEN:[0-9a-f]+\](?:o=|K|0a)?$/gm, '[HIDDEN]');

/** Each `$ trl run --env-key …` of a document, up to the next prompt. */
function examplesOf(file: string): Example[] {
  const text = readFileSync(path.join(root, file), 'utf8');
  return [
    ...text.matchAll(/^\$ (trl run --env-key DEPLOY_TOKEN .*)\n((?:(?!\$ |```).*\n)*)/gm),
  ].map(([, command = '', output = '']) => ({ command, output: withoutTags(output) }));
}

test('examples with a secret run as written', { skip: whyNoBox }, async () => {
  const env = { TRL_POLICY: 'auto', DEPLOY_TOKEN: token };
  await using daemon = await startRuntime({ env });
  writeFileSync(path.join(daemon.root, 'config.yml'), config);
  for (const file of ['README.md', 'docs/redaction.md', 'docs/secrets.md']) {
    const examples = examplesOf(file);
    assert.ok(examples.length > 0, file);
    for (const { command, output } of examples) {
      const printed = execFileSync('sh', ['-c', command], {
        cwd: daemon.root,
        encoding: 'utf8',
        env: {
          ...process.env,
          PATH: `${root}:${process.env['PATH']}`,
          TRL_SOCKET_PATH: daemon.socketPath,
        },
      });
      assert.ok(!printed.includes(token), command);
      assert.equal(withoutTags(printed), output, command);
    }
  }
});
