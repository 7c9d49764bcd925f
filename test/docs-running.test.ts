// What docs/mcp-clients.md says that is printed is what is printed, and each client is in it.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { mcpClients, placeOf, snippetOf } from '../src/cli/mcp-clients.ts';
import { verbs } from '../src/cli/verbs.ts';

const root = path.dirname(import.meta.dirname);
const read = (name: string): string => readFileSync(path.join(root, 'docs', name), 'utf8');

test('the texts that are shown are those that are printed', () => {
  const text = read('mcp-clients.md');
  const shown = /`trl mcp install --print --client (\S+) --scope project`:\n\n```\w+\n([^]*?)```/g;
  const around = { env: {}, home: '/h', project: '/p', platform: 'linux' } as const;
  const seen = [...text.matchAll(shown)].map(([, name, body]) => {
    const client = mcpClients.find((one) => one === name);
    assert.ok(client !== undefined, name);
    const place = placeOf(client, 'project', around);
    assert.ok(place !== null, name);
    assert.equal(body, snippetOf(place, 'trl', { command: 'trl', args: ['mcp'] }));
    return client;
  });
  assert.deepEqual(seen, ['claude-code', 'codex', 'vscode']);
  for (const client of mcpClients) assert.ok(text.includes(`\`${client}\``), client);
});

test('every verb and flag that is shown is one', () => {
  for (const file of ['mcp-clients.md', 'operations.md']) {
    const lines = [...read(file).matchAll(/(?:^\$ |`)trl ([a-z]+(?: [a-z]+)?)([^\n`]*)/gm)];
    assert.ok(lines.length > 0, file);
    for (const [, words = '', rest = ''] of lines) {
      const verb = verbs.get(words) ?? verbs.get(words.split(' ')[0] ?? '');
      assert.ok(verb !== undefined, `${file}: there is no verb "trl ${words}"`);
      for (const [, flag = ''] of rest.matchAll(/(?:^| )--([a-z-]+)/g)) {
        assert.ok(
          verb.flags.some((one) => one === flag),
          `${file}: trl ${words} has no --${flag}`,
        );
      }
    }
  }
});
