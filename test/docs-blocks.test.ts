// Each block of the documents is of a kind that a test takes, and what is no program is what the
// program reads or prints. A block that no test takes fails here, so that none is forgotten.
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { mcpClients, locateMcpConfig } from '../src/cli/mcp-clients.ts';
import { mcpConfigSnippet } from '../src/cli/config-file.ts';
import { verbs } from '../src/cli/verbs.ts';
import { readConfiguration } from '../src/configuration/read.ts';
import { readToolFile } from '../src/configuration/tool-file.ts';
import { errorTable } from '../src/errors.ts';
import { readPolicyFile } from '../src/policy/files/read.ts';
import { documentSchemas } from '../src/api/document-schemas.ts';
import { blocks, blocksIn, documents, nameOf, read, root } from './support/documents.ts';
import { programs } from './support/documents-programs.ts';
import { withCliTables } from '../tools/cli-tables.ts';

/** Blocks that another test takes by themselves: with what was altered, too. */
const takenBy: ReadonlyMap<string, string> = new Map([
  ['docs/audit.md: // node check.mjs LOGDIRECTORY KEY.PUB', 'audit-docs'],
  ["docs/audit.md: sed '/^$/,$d' head > text", 'audit-docs'],
  ['docs/provenance.md: # sh verify.sh envelope.json key.pub', 'provenance-docs'],
  ['docs/provenance.md: // node verify.mjs envelope.json key.pub', 'provenance-docs'],
  ["docs/raw-logs.md: import { readFileSync } from 'node:fs';", 'sealing-document'],
  ['README.md: ./trl demo', 'demo'],
]);

/** What cannot be run, and why; it is still held against what it tells of, where that can be. */
const notRun: ReadonlyMap<string, string> = new Map([
  [
    'README.md: npm install -g terminal-runtime-layer',
    'needs a registry; test/prove/package.ts packs and installs it',
  ],
  ['docs/http.md: export TRL_AUTH_TOKEN=', 'serves until it is ended; docs-run starts its own so'],
  [
    'docs/publication.md: trl publish check PATH…',
    'a list of forms; its verbs and flags are checked',
  ],
  [
    'docs/publication.md: trl publish check --evidence',
    'forms; test/publish-cli.test.ts types them',
  ],
  ['docs/secrets.md: trl run --net github', 'needs tokens; see test/secrets-brokered.test.ts'],
  ['docs/threat-model.md:  web page', 'a drawing'],
  ['ARCHITECTURE.md:  cli/ ', 'a drawing; test/tidy.test.ts holds the import table'],
  ['ARCHITECTURE.md:  ', 'generated; test/tidy.test.ts compares it with the imports'],
  ['docs/http.md: 0        1 ', 'a drawing; test/http-streams.test.ts reads such messages'],
  ['docs/protocol.md: 0        4 ', 'a drawing; test/door-stream.test.ts reads such frames'],
  ['docs/raw-logs.md: key     = ', 'formulas; the program below them computes them'],
  ['docs/workspaces.md:  commands of the sessions', 'a drawing'],
  ['docs/workspaces.md:  direct    command', 'a drawing'],
]);

/** Blocks that are looked at together with another one of their page. */
const withAnother: ReadonlySet<string> = new Set([
  'clients/python/README.md: 0 hello world from /tmp',
  'docs/python-rpc.md: {"id":"1","method":"exec.run"',
  'docs/audit.md: trl.dev/audit/',
  'docs/audit.md: $XDG_STATE_HOME/trl/audit/',
]);

const kinds = new Set(['console', 'yaml', 'json', 'toml']);

test('every block is taken by a test, or is named with the reason why not', () => {
  const known = [
    ...takenBy.keys(),
    ...notRun.keys(),
    ...withAnother,
    ...programs.map(({ block }) => block),
  ];
  const forgotten = blocks.filter(
    (block) => !kinds.has(block.language) && !known.some((name) => nameOf(block).startsWith(name)),
  );
  assert.deepEqual(
    forgotten.map(({ at, language }) => `${at} (${language})`),
    [],
  );
  for (const name of known) {
    assert.ok(
      blocks.some((block) => nameOf(block).startsWith(name)),
      `no block "${name}"`,
    );
  }
  for (const [name, file] of takenBy) {
    const test = path.join(root, `test/${file}.test.ts`);
    const [, document = ''] = /([\w-]+\.md)/.exec(name) ?? [];
    const about = file === 'demo' ? 'demo' : document;
    assert.ok(existsSync(test) && readFileSync(test, 'utf8').includes(about), `${file}: ${name}`);
  }
});

const origin = { kind: 'user', home: '/home/ada', version: '9.9.9' } as const;
const policies = new Set(['docs/network.md', 'docs/policy.md', 'docs/publication.md']);
const configurations = new Set([
  'docs/environment.md',
  'docs/raw-logs.md',
  'docs/redaction.md',
  'docs/secrets.md',
]);

test('every file that is shown as YAML is one that the runtime reads', () => {
  for (const { file, text, at, language } of blocks) {
    if (language !== 'yaml') continue;
    if (policies.has(file)) readPolicyFile(text, { ...origin, file });
    else if (configurations.has(file)) readConfiguration(text, { ...origin, file });
    else if (file === 'docs/tools.md') readToolFile(text, { file, version: '9.9.9' });
    else assert.fail(`${at}: nothing reads it`);
  }
});

test('the entries of agents’ programs that are shown are those that are printed', () => {
  const text = read('docs/mcp-clients.md');
  const printed =
    /`trl mcp install --print --client (\S+) --scope project`:\n\n```\w+\n([^]*?)```/g;
  const seen = [...text.matchAll(printed)].map(([, name, body]) => {
    assert.equal(body, entryOf(name));
    return body;
  });
  const others = ['json', 'toml'].flatMap((kind) => blocksIn('docs/mcp-clients.md', kind));
  assert.deepEqual(seen.toSorted(), others.map((block) => block.text).toSorted());
  for (const client of mcpClients) assert.ok(text.includes(`\`${client}\``), client);
  const [short] = blocksIn('docs/mcp.md', 'json');
  assert.deepEqual(JSON.parse(short?.text ?? ''), JSON.parse(entryOf('claude-code')));
});

function entryOf(name: string | undefined): string {
  const around = { env: {}, home: '/h', project: '/p', platform: 'linux' } as const;
  const client = mcpClients.find((one) => one === name);
  assert.ok(client !== undefined, name);
  const place = locateMcpConfig(client, 'project', around);
  assert.ok(place !== null, name);
  return mcpConfigSnippet(place, 'trl', { command: 'trl', args: ['mcp'] });
}

test('the parts of a receipt that are shown have the fields of the wire', () => {
  const [part] = blocksIn('docs/redaction.md', 'json');
  const { redactions } = JSON.parse(`{${part?.text}}`);
  assert.equal(documentSchemas.Redactions.safeParse(redactions).error, undefined);
  const [mark, header] = blocksIn('docs/raw-logs.md', 'json');
  const { raw_log: rawLog } = JSON.parse(`{${mark?.text}}`);
  const program = readFileSync(path.join(root, 'src/redacted.ts'), 'utf8');
  for (const name of Object.keys(rawLog)) assert.ok(program.includes(name), name);
  const keys = Object.keys(JSON.parse(header?.text ?? ''));
  assert.deepEqual(keys, ['algorithm', 'exec', 'nonce', 'recipients', 'version']);
  const known = new Set([
    'docs/redaction.md',
    'docs/raw-logs.md',
    'docs/mcp-clients.md',
    'docs/mcp.md',
  ]);
  for (const { file, language, at } of blocks) {
    if (language === 'json') assert.ok(known.has(file), `${at}: nothing looks at it`);
    if (language === 'toml') assert.equal(file, 'docs/mcp-clients.md', at);
  }
});

/** `trl` with its verb, and what follows up to a quote or `--`. */
const shown = /(?:^\$ |^|`)trl ([a-z]+(?: [a-z]+)?)((?:(?! -- )[^\n`'"])*)/gm;

test('every verb and flag that is shown is one', () => {
  const isGroup = (word: string): boolean =>
    [...verbs.keys()].some((name) => name.startsWith(`${word} `));
  for (const file of documents) {
    for (const [, words = '', rest = ''] of read(file).matchAll(shown)) {
      const [first = ''] = words.split(' ');
      const verb = verbs.get(words) ?? verbs.get(first);
      if (verb === undefined && !isGroup(first)) assert.fail(`${file}: no verb "trl ${words}"`);
      for (const [, flag = ''] of rest.matchAll(/(?:^| )--([a-z-]+)/g)) {
        const isFlag = verb?.flags.some((one) => one === flag);
        assert.ok(isFlag, `${file}: trl ${words} has no --${flag}`);
      }
    }
  }
});

test('docs/cli.md has a row for every verb, in the words of its help', () => {
  const rows = [...read('docs/cli.md').matchAll(/^\| `trl ([^`]*)` \| (.*) \|$/gm)];
  const told = rows.map(([, verb = '', about = '']) => `${verb}: ${about}`.replaceAll('\\|', '|'));
  const there = [...verbs].map(
    ([name, { words, about }]) => `${`${name} ${words}`.trim()}: ${about}`,
  );
  assert.deepEqual(told.toSorted(), there.toSorted());
});

test('the tables of docs/cli.md are current and name every flag', () => {
  const text = read('docs/cli.md');
  assert.equal(withCliTables(text), text, 'run: tools/node tools/cli-tables.ts');
  const flags = [...text.matchAll(/^\| `--([a-z-]+)[^`]*` \|/gm)].map(([, name]) => name);
  const there = new Set([...verbs.values()].flatMap((verb) => verb.flags));
  assert.deepEqual(new Set(flags), there);
});

test('the README leads to every page, once', () => {
  const text = read('README.md');
  const index = text.slice(text.indexOf('## More'));
  const pages = documents.filter((file) => /^docs\/[^/]*\.md$/.test(file));
  for (const page of pages) {
    assert.equal(index.split(`(${page})`).length - 1, 1, `${page} in the index of README.md`);
  }
});

test('every page begins with what it is for', () => {
  for (const file of documents.filter((one) => /^docs\/[^/]*\.md$/.test(one))) {
    const [title, first = ''] = read(file).split(/\n\n/);
    assert.match(title ?? '', /^# \S/, file);
    assert.match(first, /^[A-Z[`][^]*[.:]$/, `${file} begins with: ${first}`);
  }
});

test('every test that a page names is there', () => {
  for (const file of documents.filter((one) => one.startsWith('docs/'))) {
    for (const [, named = ''] of read(file).matchAll(/(test\/[\w/*.-]+\.ts)/g)) {
      assert.ok(globSync(named, { cwd: root }).length > 0, `${file}: there is no ${named}`);
    }
  }
});

test('docs/errors.md tells of each code what the table does, when it comes and what to do', () => {
  const rows = [...read('docs/errors.md').matchAll(/^\| `([A-Z_]+)` \| (.*) \|$/gm)];
  const told = rows.map(([, code = '', rest = '']) => {
    const [about = '', when = '', advice = '', http, cli, retry] = rest.split(' | ');
    assert.ok(
      when.trim().length > 10 && advice.trim().length > 10,
      `${code}: when, and what to do`,
    );
    return [code, about, Number(http), Number(cli), retry === 'yes'];
  });
  const there = Object.entries(errorTable).map(([code, { about, httpStatus, exitCode, retry }]) => {
    return [code, about, httpStatus, exitCode, retry];
  });
  assert.deepEqual(told, there);
});
