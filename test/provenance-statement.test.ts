// What a statement says of a command: subjects, materials, and how far its claim goes.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import * as fc from 'fast-check';
import './support/seed.ts';
import { fromJSONSchema } from 'zod';
import { limits } from '../src/limits.ts';
import { encodePathName, decodePathName } from '../src/provenance/logged-events.ts';
import { statementJsonSchema, statementSchema } from '../src/provenance/predicate.ts';
import { ProgramDigests } from '../src/provenance/programs.ts';
import {
  statementPayload,
  buildStatement,
  type CommandRecord,
} from '../src/provenance/statement.ts';
import { change, execOf, record, recordedOf, sha, treeOf } from './support/provenance.ts';

const root = path.dirname(import.meta.dirname);
const schemaFile = path.join(root, 'docs/schemas/command-v1.json');
const published: unknown = JSON.parse(readFileSync(schemaFile, 'utf8'));

const file = (text: string) =>
  ({ type: 'file', mode: 0o755, size: 1, mtimeMs: 0, sha256: sha(text) }) as const;

const changes = [
  change('built/app.js', { kind: 'modified', before: file('old'), after: file('new') }),
  change('gone', { kind: 'deleted', before: file('gone'), after: null }),
  change('link', { kind: 'symlink', after: { type: 'symlink', target: '../else' } }),
  change('big', { marks: ['over-cap'], after: { ...file('big'), sha256: null } }),
  change('.git/hooks/x', { state: 'held', reason: 'git-hooks', concurrentWith: [execOf('two')] }),
];

const records: readonly (readonly [string, CommandRecord])[] = [
  ['a command that changed nothing', record()],
  ['a command that changed files', record({ recorded: recordedOf(changes) })],
  ['a command without a workspace', record({ recorded: null, mask: null })],
  [
    'a command that a person let through, that was cut off and sealed',
    record({
      basis: {
        approval: {
          id: 'a-00ff',
          digest: sha('asked'),
          scope: 'once',
          by: 'user:1000',
          proof: 'passphrase',
          at: 1_795_000_000_000,
        },
        cwd: null,
        stdin: 'bytes',
      },
      exit: {
        exit_code: 124,
        signal: 'SIGTERM',
        timed_out: true,
        stopped: 'timeout',
        redactions: null,
        raw_log: {
          sha256: sha('sealed'),
          bytes: 200,
          plain_bytes: 6,
          complete: false,
          why: 'disk full',
          recipients: ['age1…'],
        },
      },
      programs: [
        { name: 'bash', role: 'shell', path: '/bin/bash', sha256: sha('sh'), identity: null },
        { name: 'node', role: 'executable', path: '/a b/node', sha256: null, identity: sha('i') },
        { name: 'nope', role: 'executable', path: null, sha256: null, identity: null },
      ],
    }),
  ],
];

test('the published schema is current: tools/node tools/provenance-schema.ts writes it', () => {
  assert.deepEqual(published, JSON.parse(JSON.stringify(statementJsonSchema())));
});

for (const [what, given] of records) {
  test(`the statement of ${what} is what the schema says, and nothing more`, () => {
    const made: unknown = JSON.parse(statementPayload(buildStatement(given)).toString());
    // Parsing leaves out what the schema does not name.
    assert.deepEqual(statementSchema.parse(made), made);
  });
}

test('statements pass the published schema, and broken ones do not', () => {
  const schema = fromJSONSchema(JSON.parse(readFileSync(schemaFile, 'utf8')));
  for (const [, given] of records) {
    const made = JSON.parse(statementPayload(buildStatement(given)).toString());
    assert.ok(schema.safeParse(made).success);
    assert.ok(!schema.safeParse({ ...made, subject: [] }).success);
    assert.ok(!schema.safeParse({ ...made, _type: 'https://in-toto.io/Statement/v0.1' }).success);
    const predicate = { ...made.predicate, reads: 'everything' };
    assert.ok(!schema.safeParse({ ...made, predicate }).success);
  }
});

test('another implementation of JSON Schema agrees', (t) => {
  const program =
    'import json,sys,jsonschema\n' +
    's=json.load(open(sys.argv[1]))\nv=jsonschema.Draft7Validator(s)\n' +
    'print(json.dumps([len(list(v.iter_errors(x))) for x in json.load(sys.stdin)]))';
  const made = records.map(([, given]) => buildStatement(given));
  const input = JSON.stringify([...made, { ...made[0], predicateType: 'another' }]);
  // The first on the path may be another than the one that has the distribution's packages.
  const pythons = ['python3', '/usr/bin/python3'];
  const has = (python: string): boolean =>
    spawnSync(python, ['-c', 'import jsonschema']).status === 0;
  const python = pythons.find(has);
  if (python === undefined) {
    t.skip('python3 with jsonschema is not installed');
    return;
  }
  const run = spawnSync(python, ['-c', program, schemaFile], { input, encoding: 'utf8' });
  assert.deepEqual(JSON.parse(run.stdout), [0, 0, 0, 0, 1]);
});

test('files of known content are subjects; deletions, links and the rest are told apart', () => {
  const { subject, predicate } = buildStatement(record({ recorded: recordedOf(changes) }));
  assert.deepEqual(subject, [
    {
      name: 'built/app.js',
      digest: { sha256: sha('new') },
      annotations: { kind: 'modified', state: 'applied', before: sha('old'), mode: '0755' },
    },
    {
      name: '.git/hooks/x',
      digest: { sha256: sha('.git/hooks/x') },
      annotations: {
        kind: 'added',
        state: 'held',
        before: null,
        mode: '0644',
        reason: 'git-hooks',
      },
    },
  ]);
  assert.deepEqual(predicate.changes?.others, [
    { name: 'gone', kind: 'deleted', state: 'applied', type: null, before: sha('gone') },
    {
      name: 'link',
      kind: 'symlink',
      state: 'applied',
      type: 'symlink',
      before: null,
      target: '../else',
    },
    {
      name: 'big',
      kind: 'added',
      state: 'applied',
      type: 'file',
      before: null,
      marks: ['over-cap'],
    },
  ]);
  assert.deepEqual(predicate.projection.concurrent_with, [execOf('two')]);
  assert.equal(predicate.changes?.total, changes.length);
});

test('a command that changed nothing has the tree as its subject', () => {
  const tree = treeOf('before');
  const { subject } = buildStatement(record());
  assert.deepEqual(subject, [
    { name: '.', digest: { sha256: sha('before') }, annotations: { tree } },
  ]);
});

test('a path is text or, where it cannot be, bytes; no two paths have one name', () => {
  const paths = fc
    .uint8Array({ minLength: 1, maxLength: 12 })
    .map((bytes) => Buffer.from(bytes).toString('latin1'));
  const odd = fc.constantFrom('bytes:YQ==', 'bytes:', '\xef\xbb\xbfa', 'a', 'caf\xc3\xa9', '\xff');
  fc.assert(
    fc.property(fc.oneof(paths, odd), fc.oneof(paths, odd), (one, other) => {
      assert.equal(decodePathName(encodePathName(one)), one);
      assert.ok(encodePathName(one).isWellFormed());
      assert.equal(encodePathName(one) === encodePathName(other), one === other);
    }),
  );
  assert.equal(encodePathName('caf\xc3\xa9'), 'café');
});

test('a secret in the name of a file is not told', () => {
  const secret = 'p7Gx2mQ9vK4t';
  const redact = (text: string): string => text.replaceAll(secret, '[HIDDEN:000000]');
  const recorded = recordedOf([
    change(`keys/${secret}`),
    change(`keys/${secret}\xff`),
    change('l', { after: { type: 'symlink', target: `/${secret}` } }),
  ]);
  const text = statementPayload(buildStatement(record({ recorded, redact }))).toString();
  assert.ok(!text.includes(secret));
  assert.ok(!text.includes(Buffer.from(`keys/${secret}\xff`, 'latin1').toString('base64')));
  const open = statementPayload(buildStatement(record({ recorded }))).toString();
  assert.ok(open.includes(secret), 'without masking it is there');
});

test('more files than a statement names are counted, and the trees stand for them', () => {
  const many = Array.from({ length: 10_050 }, (_, at) => change(`dir/file-${at}.txt`));
  const { subject, predicate } = buildStatement(record({ recorded: recordedOf(many) }));
  assert.equal(subject.length, 10_000);
  assert.equal(predicate.changes?.subjects_omitted, 50);
});

test('no command can make a statement longer than an event of the log', () => {
  // A name, a text and a list at their worst: each byte takes six.
  const worst = '\u0001';
  const many = Array.from({ length: 3_000 }, (_, at) => change(`${at}${worst.repeat(4_000)}`));
  const list = Array.from({ length: 256 }, () => worst.repeat(4_096));
  const files = { read: { allow: list, deny: list }, write: { allow: list, deny: list } };
  const programs = list.map((name) => ({
    name,
    role: 'script' as const,
    path: `/${name}`,
    sha256: null,
    identity: null,
  }));
  const { sandbox, verdict } = record().basis;
  const statement = buildStatement(
    record({
      recorded: recordedOf(many),
      programs,
      persistedVariables: list.map((name, at) => `${name}${at}`),
      basis: {
        command: worst.repeat(64 * 1024),
        verdict: { ...verdict, rules: list },
        sandbox: { ...sandbox, files, beyond: list },
      },
    }),
  );
  const { changes: told, omitted } = statement.predicate;
  assert.equal(statement.subject.length + (told?.subjects_omitted ?? 0), 3_000);
  assert.ok(omitted > 1_000);
  const base64Bytes = (statementPayload(statement).length * 4) / 3;
  assert.ok(base64Bytes < limits.auditEventBytes.max - 64 * 1024, String(base64Bytes));
});

test('reads are complete in a whole sandbox without network alone', () => {
  const base = record().basis.sandbox;
  const complete = (options: Parameters<typeof record>[0]) =>
    buildStatement(record(options)).predicate.reads_complete;
  assert.equal(complete({}), true);
  assert.equal(complete({ basis: { sandbox: { ...base, kind: 'none', level: 'none' } } }), false);
  assert.equal(complete({ basis: { sandbox: { ...base, level: 'root-uid' } } }), false);
  assert.equal(complete({ basis: { sandbox: { ...base, network: 'host' } } }), false);
  assert.equal(complete({ recorded: null }), false);
  assert.equal(complete({ recorded: recordedOf([], false) }), false);
  const { reads, reads_about: about } = buildStatement(record()).predicate;
  assert.equal(reads, 'projection');
  assert.match(about, /upper bound, not what was read/);
});

test('another mask, policy, view or tree is another projection', () => {
  const base = record();
  const digest = (given: CommandRecord) =>
    buildStatement(given).predicate.materials.find(({ name }) => name === 'projection')?.digest
      ?.sha256;
  const { sandbox, verdict } = base.basis;
  const others = [
    record({ mask: null }),
    record({ recorded: recordedOf(changes) }),
    record({ basis: { sandbox: { ...sandbox, scope: sha('wider') } } }),
    record({ basis: { sandbox: { ...sandbox, network: 'host' } } }),
    record({ basis: { verdict: { ...verdict, policy: { name: 'auto', version: sha('2') } } } }),
  ];
  assert.equal(new Set([base, ...others].map(digest)).size, others.length + 1);
  assert.equal(digest(record()), digest(base));
});

test('a program is told by its content, and by its inode where it is not read', async (t) => {
  const home = mkdtempSync(path.join(tmpdir(), 'trl-programs-'));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  const [small, large] = [path.join(home, 'small'), path.join(home, 'large')];
  writeFileSync(small, 'one');
  writeFileSync(large, Buffer.alloc(17 * 1024 * 1024));
  const digests = new ProgramDigests();
  for (const name of [small, large, home, path.join(home, 'none')]) await digests.learn(name);
  assert.deepEqual(digests.of(small), { sha256: sha('one'), identity: null });
  assert.equal(digests.of(large).sha256, null);
  assert.match(digests.of(large).identity ?? '', /^[0-9a-f]{64}$/);
  assert.deepEqual(digests.of(path.join(home, 'none')), { sha256: null, identity: null });
  appendFileSync(small, '!');
  assert.equal(digests.of(small).sha256, null, 'what was read before is not what is there');
  await digests.learn(small);
  assert.equal(digests.of(small).sha256, sha('one!'));
});
