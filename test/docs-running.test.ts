// What docs/mcp-clients.md says that is printed is what is printed, and each client is in it.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { mcpClients, placeOf, snippetOf } from '../src/cli/mcp-clients.ts';
import { verbs } from '../src/cli/verbs.ts';
import { readTool } from '../src/configuration/tool-file.ts';

const root = path.dirname(import.meta.dirname);
/** `trl` with its verb, and what follows up to a quote or `--`. */
const shown = /(?:^\$ |`)trl ([a-z]+(?: [a-z]+)?)((?:(?! -- )[^\n`'"])*)/gm;
const read = (name: string): string => readFileSync(path.join(root, 'docs', name), 'utf8');

test('the texts that are shown are those that are printed', () => {
  const text = read('mcp-clients.md');
  const printed =
    /`trl mcp install --print --client (\S+) --scope project`:\n\n```\w+\n([^]*?)```/g;
  const around = { env: {}, home: '/h', project: '/p', platform: 'linux' } as const;
  const seen = [...text.matchAll(printed)].map(([, name, body]) => {
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
  const isGroup = (word: string): boolean =>
    [...verbs.keys()].some((name) => name.startsWith(`${word} `));
  for (const file of globSync('{README.md,docs/**/*.md}', { cwd: root })) {
    const text = readFileSync(path.join(root, file), 'utf8');
    for (const [, words = '', rest = ''] of text.matchAll(shown)) {
      const [first = ''] = words.split(' ');
      const verb = verbs.get(words) ?? verbs.get(first);
      assert.ok(verb !== undefined || isGroup(first), `${file}: there is no verb "trl ${words}"`);
      for (const [, flag = ''] of rest.matchAll(/(?:^| )--([a-z-]+)/g)) {
        const isFlag = verb?.flags.some((one) => one === flag);
        assert.ok(isFlag, `${file}: trl ${words} has no --${flag}`);
      }
    }
  }
});

test('the file of a tool that is shown is one', () => {
  const text = read('tools.md');
  const [, yaml = ''] = /```yaml\n([^]*?)```/.exec(text) ?? [];
  assert.equal(readTool(yaml, { file: 'docs/tools.md', version: '1' }).name, 'open_ticket');
});
