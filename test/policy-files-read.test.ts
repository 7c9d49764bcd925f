// What a policy file may hold, and how clearly a bad one is refused: with line and column.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import './support/seed.ts';
import { readPolicy } from '../src/policy/files/load.ts';
import { PolicyError } from '../src/policy/files/policy-file.ts';
import { readPolicyFile, type PolicyFileOrigin } from '../src/policy/files/read.ts';
import { defaultPublicationRules } from '../src/policy/publication.ts';

const origin: PolicyFileOrigin = { file: 'p.yaml', kind: 'user', version: '9.9.9' };

function problemsIn(input: string | Uint8Array, kind: PolicyFileOrigin['kind'] = 'user'): string[] {
  try {
    readPolicyFile(input, { ...origin, kind });
  } catch (error) {
    assert.ok(error instanceof PolicyError, String(error));
    return error.problems.map(({ line, column, message }) => `${line}:${column} ${message}`);
  }
  return [];
}

test('a file is read into a policy', () => {
  const policy = readPolicy(
    `# what the web team may do
name: web
base: guarded
callers:
  - {kind: person, base: auto}
commands:
  - id: targets
    decision: allow
    match: [make, {any: [lint, test]}, ...]
    reason: the targets of this team
    examples: {match: [make lint, [make, test, -j 4]], no_match: [make deploy]}
  - decision: block
    match: [terraform, ..., apply, ...]
    reason: changes what runs in production
    instead: Use terraform plan.
files: {read: [~/data], deny: [~/data/private]}
network: {mode: off, allow: [pypi, '*.Example.com'], deny: [a.test:22], private: [b.test]}
environment: {withhold: [AWS_*, DATABASE_URL]}
limits: {timeout: 5m, memory: 1.5g, processes: 64}
approvals: {expires: 90s, same_uid: false}
`,
    origin,
  );
  const { version, ...rest } = policy;
  assert.match(version, /^[0-9a-f]{64}$/);
  assert.deepEqual(rest, {
    name: 'web',
    base: 'guarded',
    layers: [
      {
        name: 'web',
        kind: 'user',
        base: 'guarded',
        callers: [{ actor: null, kind: 'person', role: null, base: 'auto' }],
        commands: [
          {
            id: 'rule.targets',
            decision: 'allow',
            match: ['make', { any: ['lint', 'test'] }, '...'],
            reason: 'the targets of this team',
            instead: null,
          },
          {
            id: 'rule.user.2',
            decision: 'block',
            match: ['terraform', '...', 'apply', '...'],
            reason: 'changes what runs in production',
            instead: 'Use terraform plan.',
          },
        ],
      },
    ],
    files: { read: [['~/data']], write: [], deny: ['~/data/private'] },
    network: 'off',
    hosts: {
      allow: ['pypi.org', 'files.pythonhosted.org', '*.example.com'],
      deny: ['a.test:22'],
      private: ['b.test'],
    },
    withhold: ['AWS_*', 'DATABASE_URL'],
    limits: { timeoutMs: 300_000, memoryBytes: 1_610_612_736, processes: 64 },
    approvals: { expiresMs: 90_000, sameUid: false, sessionScope: true },
    publication: defaultPublicationRules,
  });
});

test('the version follows what a file means, not how it is written', () => {
  const versionOf = (text: string): string => readPolicy(text, origin).version;
  const one = versionOf('base: guarded\nlimits: {timeout: 1m, processes: 9}\n');
  assert.equal(versionOf('# said\nlimits:\n  processes: 9\n  timeout: 60s\nbase: guarded\n'), one);
  assert.notEqual(versionOf('base: guarded\nlimits: {timeout: 1m, processes: 8}\n'), one);
  assert.notEqual(versionOf('base: locked\nlimits: {timeout: 1m, processes: 9}\n'), one);
});

const rule = 'commands:\n  - decision: block\n    match: [terraform, apply, ...]\n    reason: x\n';

const bad: readonly (readonly [string, string | Uint8Array, readonly string[]])[] = [
  ['is empty', '', ['1:1 the file is empty: it must be a mapping of keys']],
  ['holds comments only', '# x\n', ['1:1 the file is empty: it must be a mapping of keys']],
  ['is a list', '- a\n', ['1:1 the file must be a mapping, got a list']],
  [
    'has 10 MB',
    'x'.repeat(10 * 2 ** 20),
    ['1:1 it is 10485760 bytes long; at most 1048576 are read'],
  ],
  ['has a cycle', 'callers: &a [*a]\n', ['1:13 anchors are not taken']],
  ['has an alias of nothing', 'base: *a\n', ['1:7 aliases are not taken: write the value out']],
  [
    'multiplies by aliases',
    'a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n',
    [
      '1:7 anchors are not taken',
      '2:7 anchors are not taken',
      '3:5 aliases are not taken: write the value out',
      '3:9 aliases are not taken: write the value out',
    ],
  ],
  ['has a duplicate key', 'base: auto\nname: x\nbase: auto\n', ['3:1 duplicate key "base"']],
  [
    'has a duplicate key inside',
    'limits:\n  timeout: 5m\n  "timeout": 6m\n',
    ['3:3 duplicate key "timeout"'],
  ],
  ['has a tag', 'base: !!str auto\n', ['1:13 tags are not taken']],
  ['has a merge key', 'limits: {<<: {timeout: 1m}}\n', [/unknown key "<<"/.source]],
  ['has a directive', '%YAML 1.1\n---\nbase: auto\n', ['1:1 directives are not taken']],
  ['has two documents', 'base: auto\n---\nbase: auto\n', ['2:1 only one document is taken']],
  [
    'has NUL',
    'base: "a\0b"\n',
    [String.raw`1:9 the character \u{0000} cannot be seen and is not taken`],
  ],
  [
    'turns its text around',
    'name: x\n# \u202e ok\n',
    [String.raw`2:3 the character \u{202E} cannot be seen and is not taken`],
  ],
  [
    'turns it around by an escape',
    String.raw`name: "\u202e"`,
    [String.raw`1:7 the character \u{202E} cannot be seen and is not taken`],
  ],
  ['is not UTF-8', new Uint8Array([0x61, 0x3a, 0x0a, 0x62, 0xff]), ['2:2 this is not UTF-8']],
  ['ends early', 'base: [auto\n', [/must be sufficiently indented and end with a \]/.source]],
  [
    'misspells a key',
    'bsae: auto\nlimits:\n  timout: 5m\n',
    [
      '1:1 unknown key "bsae"; did you mean "base"?',
      '3:3 unknown key "timout"; did you mean "timeout"?',
    ],
  ],
  ['names a prototype', '__proto__: {base: auto}\n', [/unknown key "__proto__"/.source]],
  [
    'has wrong types',
    'base: gaurded\ncommands: yes\nlimits: {processes: many, timeout: 5}\nnetwork: off\n',
    [
      '1:7 "base" must be trusted or auto or guarded or locked, got "gaurded"; ' +
        'did you mean "guarded"?',
      '2:11 "commands" must be a list, got "yes"',
      '3:21 "processes" must be a whole number of at least 1, got "many"',
      '3:36 "timeout" must be a text, got 5',
      '4:10 "network" must be a mapping, got "off"',
    ],
  ],
  ['leaves a value out', 'base:\n', [/1:6 "base" must be .*, got nothing/.source]],
  [
    'leaves a key of a rule out',
    'commands:\n  - match: [a]\n    reason: x\n',
    ['2:5 the key "decision" is missing'],
  ],
  [
    'has a number for a word',
    'commands:\n  - {decision: ask, match: [sleep, 5], reason: x}\n',
    ['2:36 an entry of "match" must be a text: write "5"'],
  ],
  [
    'misspells a pattern',
    'commands:\n  - {decision: ask, match: [{anny: [a]}], reason: x}\n',
    ['2:29 the key "any" is missing', '2:30 unknown key "anny"; did you mean "any"?'],
  ],
  [
    'has a rule that does not fit its example',
    `${rule}    examples:\n      match:\n        - terraform apply\n        - terraform plan\n`,
    ['8:11 the rule does not fit its example ["terraform","plan"]'],
  ],
  [
    'has a rule that fits what it must not',
    `${rule}    examples: {no_match: [terraform plan, terraform apply]}\n`,
    ['5:43 the rule fits its example ["terraform","apply"]'],
  ],
  [
    'has an example only a shell could read',
    `${rule}    examples: {match: ['terraform apply "a b"']}\n`,
    ['5:24 write the example as a list of words: it holds what a shell would read'],
  ],
  [
    'asks for more than the runtime gives',
    'limits:\n  timeout: 30d\n  processes: 100000\n  memory: 99999999t\n',
    [
      '2:12 "timeout" is 2592000000 ms: this runtime takes at most 604800000',
      '3:14 "processes" is 100000: this runtime takes at most 32768',
      '4:11 "memory" must be more than nothing and a number that fits',
    ],
  ],
  [
    'lets approvals wait for ever',
    'approvals: {expires: 400d}\n',
    ['1:22 "expires" must lie between 1s and 7d'],
  ],
  [
    'means no caller',
    'callers: [{base: auto}]\n',
    ['1:11 name who is meant by "actor", "kind" or "role"'],
  ],
  [
    'has two rules of one id',
    'commands:\n  - {id: a, decision: ask, match: [a], reason: x}\n' +
      '  - {id: a, decision: ask, match: [b], reason: x}\n',
    ['3:10 another rule has the id "a"'],
  ],
  [
    'fits every command',
    'commands:\n  - {decision: ask, match: [...], reason: x}\n',
    ['2:28 it fits every command: name a program'],
  ],
];
for (const [what, input, wanted] of bad) {
  test(`a file that ${what} is refused with line and column`, () => {
    const found = problemsIn(input);
    assert.equal(found.length, wanted.length, found.join('\n'));
    for (const [at, problem] of found.entries()) {
      const one = wanted[at] ?? '';
      assert.ok(problem === one || new RegExp(one).test(problem), `${problem}\n  is not\n${one}`);
    }
  });
}

for (const key of ['approvals: {passphrase: required}', 'approvals: {who: [ann]}']) {
  test(`what is not enforced is refused and names the version: ${key}`, () => {
    assert.match(
      problemsIn(key).join('\n'),
      /^\d+:\d+ "[a-z.]+" is not enforced by this version \(9\.9\.9\)[^\n]*$/,
    );
  });
}

const tooOpen: readonly (readonly [string, string])[] = [
  ['[{glob: "*"}, x]', 'must name its program'],
  ['[..., x]', 'must name its program'],
  ['[make, ..., test]', 'may end with "..."'],
  ['[bash, ...]', 'may not leave words open for "bash"'],
  ['[/usr/bin/python3.12, {glob: "*.py"}]', 'may not leave words open for "/usr/bin/python3.12"'],
  ['[{any: [ls, xargs]}, ...]', 'may not leave words open for "xargs"'],
  ['[docker, run, {any: [a, b]}]', 'may not leave words open for "docker"'],
];
for (const [match, reason] of tooOpen) {
  test(`an allow rule that allows more than it shows is refused: ${match}`, () => {
    const file = (decision: string) =>
      `commands:\n  - {decision: ${decision}, match: ${match}, reason: x}\n`;
    const found = problemsIn(file('allow'));
    assert.equal(found.length, 1, found.join('\n'));
    assert.ok(found[0]?.includes(reason), found[0]);
    assert.deepEqual(problemsIn(file('block')), []);
  });
}

test('a program that runs others may be allowed with exact words', () => {
  const text = 'commands: [{decision: allow, match: [node, tools/check.js], reason: x}]';
  assert.deepEqual(problemsIn(text), []);
});

test('hosts are names or presets; a project denies them, and allows none', () => {
  const text = 'network: {allow: [npm, a.test], deny: [b.test], private: [c.test]}';
  const hosts = (kind: PolicyFileOrigin['kind']) =>
    readPolicyFile(text, { ...origin, kind }).bounds.hosts;
  const npm = ['registry.npmjs.org', 'registry.yarnpkg.com'];
  const own = { allow: [...npm, 'a.test'], deny: ['b.test'], private: ['c.test'] };
  assert.deepEqual(hosts('user'), own);
  assert.deepEqual(hosts('managed'), own);
  assert.deepEqual(hosts('project'), { allow: [], deny: ['b.test'], private: [] });
  for (const one of ['1.2.3.4', '"*"', '"*.com"', 'a b', 'https://a.test', '"[::1]"']) {
    assert.match(problemsIn(`network: {deny: [${one}]}`).join(), /must be a host/, one);
  }
});

test("a project's file may only tighten", () => {
  const rules = (decision: string) => `commands: [{decision: ${decision}, match: [a], reason: x}]`;
  assert.deepEqual(problemsIn(rules('ask'), 'project'), []);
  assert.deepEqual(problemsIn(rules('block'), 'project'), []);
  assert.deepEqual(problemsIn('limits: {timeout: 1m}\nnetwork: {mode: on}', 'project'), []);
  assert.match(problemsIn(rules('allow'), 'project').join(), /^1:23 .*it may ask or block/);
  for (const key of ['base: locked', 'callers: []', 'extends: x.yaml']) {
    assert.match(problemsIn(key, 'project').join(), /^1:1 a project's file may only tighten/);
  }
});

test('an allow rule that can have no effect is refused', () => {
  const text = 'commands: [{decision: allow, match: [a], reason: x}]';
  assert.match(problemsIn(text, 'managed').join(), /^1:23 .*managed file without "base"/);
  assert.deepEqual(problemsIn(`base: guarded\n${text}`, 'managed'), []);
});

test('hostile texts end with an error', () => {
  const texts = [
    '['.repeat(20_000),
    '{a: '.repeat(2_000),
    '- '.repeat(20_000),
    Array.from({ length: 50_000 }, (_, at) => `k${at}: 1`).join('\n'),
    `name: "${'\\'.repeat(9_999)}"`,
    `${' '.repeat(500_000)}a`,
    '&a '.repeat(10_000),
  ];
  for (const text of texts) {
    const found = problemsIn(text);
    assert.ok(found.length > 0 && found.length <= 20, `${text.slice(0, 20)}: ${found.length}`);
  }
});

test('a key with a line end in it does not break the line of a problem', () => {
  assert.deepEqual(problemsIn('{base\r\n\nbase}').length, 1);
  assert.match(problemsIn('{base\r\n\nbase}')[0] ?? '', /unknown key "base\\u\{A\}base"/);
});

test('whatever a text holds, it is a policy or a refusal with places in the text', () => {
  const words = 'base commands match limits timeout extends auto 5m ... a ~ 0x1F --- %YAML'.split(
    ' ',
  );
  const signs = [': ', '\n', '\n  ', '- ', '{', '}', '[', ']', ', ', '"', "'", '#', '|\n', '>-\n'];
  const odd = ['&x ', '*x', '!!map ', '? ', '<<: ', '\t', '\r\n', '\u202e', '\\'];
  const piece = fc.constantFrom(...words, ...signs, ...odd);
  const text = fc.oneof(
    fc.array(piece, { maxLength: 40 }).map((all) => all.join('')),
    fc.string({ unit: 'binary', maxLength: 60 }),
  );
  fc.assert(
    fc.property(text, (one) => {
      const lines = one.split('\n').length;
      for (const found of problemsIn(one)) {
        const [, line = 0, column = 0] = /^(\d+):(\d+) [^\n]+$/.exec(found) ?? [];
        assert.ok(Number(line) >= 1 && Number(line) <= lines + 1 && Number(column) >= 1, found);
      }
    }),
    { numRuns: 3_000 },
  );
});
