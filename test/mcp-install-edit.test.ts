// Entries in files of other programs: whatever else stands there stays as it is.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { parse as parseJsonc } from 'jsonc-parser';
import { parse as parseToml } from 'smol-toml';
import { CannotEditError, removeJsonAt, setJsonAt, readJsonAt } from '../src/cli/config-json.ts';
import { mcpConfigDiff } from '../src/cli/config-file.ts';
import { removeTomlAt, setTomlAt, readTomlAt, tomlSection } from '../src/cli/config-toml.ts';
import './support/seed.ts';

const keys = ['mcpServers', 'trl'] as const;
const entry = { command: '/usr/bin/trl', args: ['mcp'] };
const tomlKeys = ['mcp_servers', 'trl'] as const;
const section = tomlSection(tomlKeys, entry, '\n');
/** Readers make tables without a prototype. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
const refused = (error: unknown): boolean => error instanceof CannotEditError;

// --- JSON -------------------------------------------------------------------------------------

/** White space and comments that may stand between any two tokens. */
const blank = fc.array(
  fc.constantFrom(' ', '\n', '\t', '/* a, "b": {1} */', '// } , c\n', '\r\n', '  '),
  { maxLength: 3 },
);
const text = (parts: readonly string[]): string => parts.join('');
const key = fc.constantFrom('a', 'mcp', 'servers', 'b c', 'é', '//', '', 'trl2', '}');

/** Objects as people write them: comments anywhere, sometimes a comma too many. */
const object: fc.Arbitrary<string> = fc.letrec<{ value: string; object: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom('1', 'null', 'true', '"x"', '"a // b"', '"/* "', '[1, 2 /* , */]', '""'),
    tie('object'),
  ),
  object: fc
    .tuple(
      fc.uniqueArray(fc.tuple(key, tie('value'), blank, blank, blank), {
        maxLength: 4,
        selector: ([name]) => name,
      }),
      blank,
      fc.boolean(),
    )
    .map(([members, end, comma]) => {
      const shown = members.map(([name, value, before, between, after]) => {
        const member = `${JSON.stringify(name)}:${text(between)}${value}`;
        return `${text(before)}${member}${text(after)}`;
      });
      const more = comma && members.length > 0 ? ',' : '';
      return `{${shown.join(',')}${more}${text(end)}}`;
    }),
})).object;

const withServers = fc
  .tuple(object, object, blank)
  .map(([outer, servers, before]) =>
    outer === '{}' || /^\{\s*\}$/.test(outer)
      ? `{${text(before)}"mcpServers": ${servers}}`
      : outer.replace('{', `{"mcpServers": ${servers}, `),
  );

const strict = { allowTrailingComma: true };

test('an entry put into any JSON with comments is there, and the rest is as it was', () => {
  fc.assert(
    fc.property(fc.oneof(object, withServers), (before) => {
      if (!isReadable(before)) return;
      const after = setJsonAt(before, keys, entry);
      assert.deepEqual(plain(readJsonAt(after, keys)), entry);
      const was: unknown = parseJsonc(before, [], strict);
      const rest = removeJsonAt(after, keys);
      assert.equal(readJsonAt(rest, keys), undefined);
      const left: unknown = parseJsonc(rest, [], strict);
      assert.deepEqual(withoutEmpty(left), withoutEmpty(was));
      // No comment is lost on the way in, and none on the way out.
      assert.deepEqual(comments(after), comments(before));
      assert.deepEqual(comments(rest), comments(before));
    }),
    { numRuns: 400 },
  );
});

/** Whether the text drawn is one that a client could read. */
function isReadable(drawn: string): boolean {
  try {
    readJsonAt(drawn, keys);
    return true;
  } catch {
    return false;
  }
}

function withoutEmpty(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const { mcpServers, ...rest }: Record<string, unknown> = { ...value };
  const isEmpty =
    typeof mcpServers === 'object' && mcpServers !== null && Object.keys(mcpServers).length === 0;
  return mcpServers === undefined || isEmpty ? rest : { mcpServers, ...rest };
}

/** Comments outside strings, in order. */
const comments = (jsonc: string): string[] =>
  [...jsonc.matchAll(/"(?:[^"\\]|\\.)*"|(\/\/[^\n]*|\/\*[^]*?\*\/)/g)].flatMap(([, found]) =>
    found === undefined ? [] : [found.trimEnd()],
  );

const jsonCases: readonly (readonly [string, string, string])[] = [
  ['an empty file', '', '{\n  "mcpServers": {\n    "trl": E\n  }\n}\n'],
  ['an empty object', '{}', '{\n  "mcpServers": {\n    "trl": E\n  }\n}'],
  [
    'a table of four spaces',
    '{\n    "mcpServers": {\n        "x": { "command": "y" } // mine\n    }\n}\n',
    '{\n    "mcpServers": {\n        "x": { "command": "y" }, // mine\n        "trl": E\n' +
      '    }\n}\n',
  ],
  [
    'a trailing comma',
    '{\n\t"mcpServers": {\n\t\t"x": {},\n\t},\n}\n',
    '{\n\t"mcpServers": {\n\t\t"x": {},\n\t\t"trl": E,\n\t},\n}\n',
  ],
  ['one line', '{"mcpServers": {"x": {}}}', '{"mcpServers": {"x": {}, "trl": E}}'],
  [
    'line ends of DOS and the mark of the encoding',
    '\ufeff{\r\n  "a": 1\r\n}\r\n',
    '\ufeff{\r\n  "a": 1,\r\n  "mcpServers": {\r\n    "trl": E\r\n  }\r\n}\r\n',
  ],
];
for (const [name, before, wanted] of jsonCases) {
  test(`JSON: ${name} keeps its form`, () => {
    const after = setJsonAt(before, keys, entry);
    const shown = after.replace(/"trl": \{[^}]*\}/, '"trl": E');
    assert.equal(shown, wanted);
    assert.equal(after.includes('\r\n'), before.includes('\r\n'));
    assert.ok(!before.includes('\r\n') || !/[^\r]\n/.test(after));
  });
}

const badJson: readonly (readonly [string, RegExp])[] = [
  ['{"a": 1', /not valid JSON/],
  ['[]', /holds array/],
  ['null', /holds null/],
  ['{"mcpServers": 1}', /is number, wanted an object/],
  ['{"mcpServers": {}, "mcpServers": {}}', /"mcpServers" is in it twice/],
  ['{"mcpServers": {"trl": {}, "trl": {}}}', /"trl" is in it twice/],
  ['['.repeat(200_000), /nested too deep|not valid JSON/],
  ['{} {}', /not valid JSON/],
  ["{'a': 1}", /not valid JSON/],
];
for (const [before, reason] of badJson) {
  test(`refuses to edit the JSON ${before.slice(0, 40)}`, () => {
    for (const edit of [() => setJsonAt(before, keys, entry), () => removeJsonAt(before, keys)]) {
      assert.throws(edit, (error) => refused(error) && reason.test(String(error)));
    }
  });
}

// --- TOML -------------------------------------------------------------------------------------

const tomlBlock = fc.constantFrom(
  '# [mcp_servers.trl]\n',
  'model = "o3" # mine\n',
  'text = """\n[mcp_servers.trl]\ncommand = "no"\n"""\n',
  "raw = '''\n[mcp_servers.trl]''''\n",
  'list = [\n  "a", # ]\n  [1, 2],\n]\n',
  'big = 9223372036854775807\n',
  'when = 1979-05-27T07:32:00Z\n',
  '\n',
  '[mcp_servers.other]\ncommand = "x"\n\n[mcp_servers.other.env]\nK = "#"\n',
  '[[table]]\nname = "a=b"\n[table.inner]\nx = {a = 1, b = "]"}\n',
  '[ "mcp_servers" . "trl2" ]\r\ncommand = "x"\r\n',
  '[mcp_servers."tr.l"]\ncommand = "y"\n',
  '[projects."/home/me"]\ntrust_level = "trusted"\n',
);
const toml = fc
  .uniqueArray(tomlBlock, { maxLength: 6 })
  .map((blocks) => blocks.join(''))
  .filter((drawn) => isToml(drawn));

const isToml = (drawn: string): boolean => {
  try {
    parseToml(drawn, { integersAsBigInt: true });
    return true;
  } catch {
    return false;
  }
};

test('an entry put into any TOML is there; taken out, every other byte is as it was', () => {
  fc.assert(
    fc.property(toml, fc.boolean(), (drawn, hasEnd) => {
      const before = hasEnd ? drawn : drawn.replace(/\r?\n$/, '');
      const after = setTomlAt(before, tomlKeys, section);
      assert.deepEqual(plain(readTomlAt(after, tomlKeys)), entry);
      assert.ok(after.startsWith(before));
      const rest = removeTomlAt(after, tomlKeys);
      assert.equal(rest.trimEnd(), before.trimEnd());
      // A key behind it would be its own; a table stays as it is.
      const behind = /^\s*\[/.test(before) ? before : `[z]\n${before.includes('[') ? '' : before}`;
      assert.equal(removeTomlAt(`${section}\n${behind}`, tomlKeys).trim(), behind.trim());
    }),
    { numRuns: 300 },
  );
});

test('an entry in the middle is replaced where it stands', () => {
  const old = '[mcp_servers.trl]\ncommand = "old"\n[mcp_servers.trl.env]\nX = "1"\n';
  const before = `# a\n${old}[b]\n# c\n`;
  assert.equal(setTomlAt(before, tomlKeys, section), `# a\n${section}[b]\n# c\n`);
  assert.equal(removeTomlAt(before, tomlKeys), '# a\n[b]\n# c\n');
});

test('an entry in dotted keys is taken out by its lines', () => {
  const before =
    'a = 1\nmcp_servers.trl.command = "x" # y\nmcp_servers.trl.args = [\n"mcp"]\nb = 2\n';
  assert.equal(removeTomlAt(before, tomlKeys), 'a = 1\nb = 2\n');
});

const badToml: readonly (readonly [string, RegExp])[] = [
  ['a = ', /not valid TOML/],
  ['a = 1\na = 2\n', /not valid TOML/],
  ['mcp_servers = { x = { command = "y" } }\n', /inline or dotted table/],
  ['mcp_servers = 3\n', /is no table/],
  ['[[mcp_servers]]\nx = 1\n', /is no table/],
];
for (const [before, reason] of badToml) {
  test(`refuses to edit the TOML ${JSON.stringify(before)}`, () => {
    assert.throws(
      () => setTomlAt(before, tomlKeys, section),
      (error) => refused(error) && reason.test(String(error)),
    );
  });
}

test('any command and arguments are the same when they are read again', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.array(fc.string()), (command, args) => {
      if (!command.isWellFormed()) return;
      const written = { command, args };
      assert.deepEqual(plain(readTomlAt(tomlSection(tomlKeys, written, '\n'), tomlKeys)), written);
      assert.deepEqual(plain(readJsonAt(setJsonAt('{}', keys, written), keys)), written);
    }),
    { numRuns: 100 },
  );
});

// --- what is shown ----------------------------------------------------------------------------

test('a diff applied to what was there gives what was written', () => {
  const line = fc.constantFrom('a\n', 'b\n', '\n', 'c\n');
  const file = fc.tuple(fc.array(line, { maxLength: 12 }), fc.constantFrom('', 'end'));
  fc.assert(
    fc.property(file, file, ([old, oldEnd], [made, madeEnd]) => {
      const [before, after] = [old.join('') + oldEnd, made.join('') + madeEnd];
      assert.equal(applied(before, mcpConfigDiff('f', before, after)), after);
    }),
    { numRuns: 300 },
  );
});

/** What `patch` makes of `before`, checking every line that stays or goes. */
function applied(before: string, diff: string): string {
  if (diff === '') return before;
  const lines = before.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  const [, , range = '', ...hunk] = diff.split('\n');
  const [, start = '0', count = '0'] = /^@@ -(\d+),(\d+) /.exec(range) ?? [];
  const from = Number(count) === 0 ? Number(start) : Number(start) - 1;
  const old: string[] = [];
  const made: string[] = [];
  hunk.slice(0, -1).forEach((line, at) => {
    if (line.startsWith('\\')) return;
    const whole = line.slice(1) + (hunk[at + 1]?.startsWith('\\') === true ? '' : '\n');
    if (!line.startsWith('+')) old.push(whole);
    if (!line.startsWith('-')) made.push(whole);
  });
  assert.deepEqual(lines.slice(from, from + old.length), old);
  return [...lines.slice(0, from), ...made, ...lines.slice(from + old.length)].join('');
}
