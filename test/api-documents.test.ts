// What documents and the Python client say of the methods is generated from their definitions.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { methodNames } from '../src/api/methods.ts';
import { builtinTools } from '../src/tools/index.ts';
import { generatedFiles } from '../tools/generate-api.ts';

test('no document and no client is stale: tools/node tools/generate-api.ts --write', () => {
  const stale = generatedFiles().filter(({ is, should }) => is !== should);
  assert.deepEqual(
    stale.map(({ file }) => file),
    [],
  );
});

test('each method and each tool is in the documents, and each method in the Python client', () => {
  const texts = new Map(generatedFiles().map(({ file, is }) => [file, is]));
  const lacks = (file: string, names: readonly string[], form: (name: string) => string) =>
    names.filter((name) => texts.get(file)?.includes(form(name)) !== true);
  const row = (name: string): string => `\n| \`${name}\` |`;
  assert.deepEqual(lacks('docs/protocol.md', methodNames, row), []);
  const tools = builtinTools.map(({ name }) => name);
  assert.deepEqual(lacks('docs/mcp.md', tools, row), []);
  assert.deepEqual(
    lacks('clients/python/trl.py', methodNames, (name) => `\n    "${name}",`),
    [],
  );
});
