// Files of tools: what is taken, what is refused and where, and what becomes of arguments.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import './support/seed.ts';
import { readToolFile, ToolFileError } from '../src/configuration/tool-file.ts';
import {
  toolInputSchemaProblems,
  describeInputMismatch,
  type ToolInputSchema,
} from '../src/configuration/tool-input.ts';
import { fillToolCommand, parseToolTemplate } from '../src/configuration/tool-template.ts';
import { isTrlError } from '../src/errors.ts';

const read = (text: string) => readToolFile(text, { file: 'x.yaml', version: '1.0.0' });

const ticket = `
name: open_ticket
title: Open a ticket
description: Opens a ticket and answers its number.
input:
  type: object
  properties:
    title: { type: string, maxLength: 80 }
    labels: { type: array, items: { type: string } }
    urgent: { type: boolean }
  required: [title]
command: [tickets, new, "--title={input.title}", ["--labels", "{input.labels}"]]
injects_env: [TICKETS_TOKEN, "TICKETS_*"]
network: "on"
files: { read: [/srv/tickets] }
limits: { processes: 8 }
timeout: 5
output: json
`;

test('a file says what a tool is', () => {
  const { name, title, injectsEnv, network, files, limits, timeoutMs, output } = read(ticket);
  assert.deepEqual(
    { name, title, injectsEnv, network, files, limits, timeoutMs, output },
    {
      name: 'open_ticket',
      title: 'Open a ticket',
      injectsEnv: ['TICKETS_TOKEN', 'TICKETS_*'],
      network: 'host',
      files: { read: ['/srv/tickets'], write: [] },
      limits: { processes: 8 },
      timeoutMs: 5_000,
      output: 'json',
    },
  );
});

const minimal = 'name: t\ndescription: d\n';
const withText = `${minimal}input: { type: object, properties: { b: { type: string } } }\n`;
const withProperty = `${minimal}command: [a]\ninput: { type: object, properties: { n: `;
const refused: readonly (readonly [string, RegExp])[] = [
  ['name: T\ndescription: d\ncommand: [a]\n', /1:7: .*lower-case letters/],
  ['name: t\ncommand: [a]\n', /"description" is missing/],
  [`${minimal}comand: [a]\n`, /3:1: unknown key "comand"; did you mean "command"/],
  [`${minimal}command: a b\n`, /3:10: .*list of words/],
  [`${minimal}command: []\n`, /3:10/],
  [`${minimal}command: [./run]\n`, /3:11: the program must be one word: a name, or an absolute/],
  [`${minimal}command: ["{input.p}"]\n`, /3:11/],
  [`${minimal}command: [[a, b]]\n`, /3:1\d: the program must be one word/],
  [`${minimal}command: [a, "{input.missing}"]\n`, /3:14: "missing" is no property of "input"/],
  [`${minimal}command: [a, "{b}"]\n`, /3:14: "\{" stands alone/],
  [`${minimal}command: [a]\nstdin: "}"\n`, /4:8: "}" stands alone/],
  [`${minimal}command: [a]\ninput: { type: string }\n`, /must be of type "object"/],
  [
    `${withProperty}{ type: integer, pattern: a } } }\n`,
    /"pattern" says nothing of a value of type "integer"/,
  ],
  [`${withProperty}{ type: string, pattern: "(?=a)" } } }\n`, /is no regular expression of RE2/],
  [`${minimal}command: [a]\ninput: { type: object, $ref: "#" }\n`, /unknown key/],
  [`${minimal}command: [a]\ninput: { type: object, required: [x] }\n`, /"x" is no property/],
  [`${minimal}command: [a]\ninjects_env: ["*"]\n`, /4:15: .*name of a variable/],
  [`${withText}command: [sh, -c, "echo {input.b}"]\n`, /4:19: .* as code/],
  [`${withText}command: [env, /bin/bash, -lc, "{input.b}"]\n`, /4:32: .* as code/],
  [`${withText}command: [python3, [-c, "print({input.b})"]]\n`, / as code/],
  [`${minimal}command: [a]\nfiles: { read: [data] }\n`, /"data" must be an absolute path/],
  [`${minimal}command: [a]\nnetwork: maybe\n`, /"off" or "host"/],
  [`${minimal}command: [a]\ntimeout: 0\n`, /from 1 to 3600/],
  [`${minimal}command: &a [a]\n`, /./],
];

test('what cannot be meant is refused, with its line and column', () => {
  for (const [text, wanted] of refused) {
    assert.throws(
      () => read(text),
      (error: unknown) => error instanceof ToolFileError && wanted.test(error.message),
      `${text}: ${wanted}`,
    );
  }
});

/** `b` is optional text, `r` required text, `n` a number. */
const codeInput =
  'input: { type: object, required: [r], properties: ' +
  '{ b: { type: string }, r: { type: string }, n: { type: integer } } }\n';
const asCode = [
  '[sh, -c, "{input.b}"]',
  '[bash, -c, -e, "{input.b}"]',
  '[bash, -eo, pipefail, -c, "x {input.b}"]',
  '[bash, "{input.r}"]',
  '[bash, -x, "{input.r}"]',
  '[bash, --rcfile, "{input.r}", -i]',
  '[env, -i, A=b, /bin/dash, "{input.r}"]',
  '[timeout, 5s, sh, "lib/{input.r}"]',
  '[timeout, "{input.n}", sh, "{input.r}"]',
  '[nice, "{input.r}"]',
  '[env, A=b, "{input.r}"]',
  '[xargs, "{input.r}"]',
  '[python3, "{input.r}"]',
  '[python3, -m, "{input.r}"]',
  '[python3, -W, ignore, "{input.r}"]',
  '[python3, "-c{input.r}"]',
  '[python3, [a.py, "{input.b}"]]',
  '[python3, [a.py, "{input.b}"], "{input.r}"]',
  '[node, --import, "{input.r}", a.js]',
  '[node, "--require={input.r}", a.js]',
  '[node, -p, "{input.r}"]',
  '[deno, run, "{input.r}"]',
  '[perl, -ne, print, -e, "{input.r}"]',
  '[perl, "-M{input.r}", -e, "1"]',
  '[ruby, -r, "{input.r}", a.rb]',
  '[php, -f, "{input.r}"]',
  '[awk, "{input.r}", file]',
  '[sed, "s/a/{input.r}/", file]',
  '[sed, -e, p, -e, "{input.r}"]',
  '[docker, exec, box, sh, -c, "{input.r}"]',
  '[su, -c, "{input.r}", nobody]',
  '[ssh, host, "{input.r}"]',
  '[watch, "ls {input.r}"]',
  '[env, -S, "sh -c {input.r}"]',
  '[env, "--split-string={input.r}"]',
  '[env, "BASH_ENV={input.r}", bash, a.sh]',
  '[env, "PATH={input.r}", ls]',
  '[env, -C, /srv, "{input.r}"]',
  '[sudo, -u, ada, "{input.r}"]',
  '[sudo, -u, ada, sh, "{input.r}"]',
  '[stdbuf, -o, L, "{input.r}"]',
  '[uv, run, "{input.r}"]',
  '[npx, -y, "{input.r}"]',
  '[poetry, run, python, "{input.r}"]',
  '[find, ., -exec, "{input.r}", "{{}}", ";"]',
  '[ksh93, -c, "{input.r}"]',
  '[runuser, -u, ada, --, sh, -c, "{input.r}"]',
];
const stdinAsCode = [
  '[sh]',
  '[bash, -s, "{input.r}"]',
  '[bash, -e]',
  '[/usr/bin/env, python3, "-"]',
  '[python3, /dev/stdin]',
  '[python3, -i, a.py]',
  '[node]',
  '[perl, -w]',
  '[nice, -n, "5", sh]',
  '[awk, -f, /dev/stdin, a]',
  '[sed, -f, "-", a]',
  '[ssh, host]',
  '[at, now]',
  '[ed, file]',
];
const asData = [
  '[cat, "{input.r}"]',
  '[sh, -c, "grep -- \\"$1\\" list", sh, "{input.r}"]',
  '[bash, -eo, pipefail, -c, \'echo "$1"\', x, "{input.r}"]',
  '[bash, tool.sh, "{input.r}", -c, "{input.r}"]',
  '[python3, -I, tool.py, "--name={input.r}", -e, "{input.r}"]',
  '[python3, -m, json.tool, "--name={input.r}"]',
  '[python3, -c, print, "--name={input.r}"]',
  '[python3, -Wignore, tool.py]',
  '[env, A=b, node, tool.js, "{input.r}"]',
  '[deno, run, -A, tool.ts, "{input.r}"]',
  '[perl, -ne, print, "{input.r}"]',
  '[awk, -v, "n={input.n}", "{{ print n }}", "{input.r}"]',
  '[awk, "-vn={input.r}", "{{ print n }}"]',
  '[sed, -n, 1p, "{input.r}"]',
  '[timeout, "{input.n}", cat]',
  '[kubectl, get, node, "{input.r}"]',
  '[ssh, "{input.r}", uptime]',
  '[git, log, "--author={input.r}"]',
  '[sed, -n, "{input.n}p", a]',
  '[node, "--max-old-space-size={input.n}", a.js]',
  '[watch, -n, "{input.n}", ls]',
  '[env, -C, "{input.r}", ls]',
  '[env, "NAME={input.r}", printenv, NAME]',
  '[uv, run, python, a.py, -c, "{input.r}"]',
  '[flock, a.lock, grep, -e, "{input.r}", a]',
  '[docker, exec, box, python3, a.py, -c, "{input.r}"]',
  '[find, ., -name, "{input.r}", -exec, cat, "{{}}", ";"]',
];

test('an argument that a program would read as code is refused, wherever it goes in', () => {
  const file = (command: string, stdin = ''): string =>
    `${minimal}${codeInput}command: ${command}\n${stdin}`;
  const fed = 'stdin: "x {input.r}"\n';
  for (const command of asCode) {
    assert.throws(() => read(file(command)), /4:\d+: .*(as code|would run|that runs)/, command);
  }
  for (const command of stdinAsCode) {
    assert.throws(() => read(file(command, fed)), /5:8: .*standard input as code/, command);
    assert.equal(read(file(command, 'stdin: "date"\n')).stdin, 'date', command);
  }
  for (const command of asData) {
    assert.notEqual(read(file(command, fed)).stdin, null, command);
  }
});

const texts = (given: Record<string, unknown>, command: readonly (string | string[])[]) =>
  fillToolCommand('t', command, given);

test('an argument is one word, whatever it holds', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (value) => {
      fc.pre(!value.includes('\0'));
      assert.deepEqual(texts({ v: value }, ['p', '--x={input.v}', 'end']), [
        'p',
        `--x=${value}`,
        'end',
      ]);
    }),
  );
});

test('words whose argument was not given are left out with their group', () => {
  const command = ['p', ['--label', '{input.a}'], '{input.b}', 'z'];
  assert.deepEqual(texts({}, command), ['p', 'z']);
  assert.deepEqual(texts({ a: 'x', b: 'y' }, command), ['p', '--label', 'x', 'y', 'z']);
  assert.deepEqual(texts({ a: ['x', 1] }, command), ['p', '--label', '["x",1]', 'z']);
});

test('an argument that would be taken for an option is refused, except behind --', () => {
  const attack = { a: '--upload-pack=touch /tmp/x' };
  const fails = (command: string[]) =>
    assert.throws(
      () => texts(attack, command),
      (error: unknown) => isTrlError(error, 'INVALID_PARAMS') && /option/.test(error.message),
    );
  fails(['git', 'fetch', '{input.a}']);
  fails(['git', 'fetch', '{input.a}', '--']);
  assert.deepEqual(texts(attack, ['git', '--', '{input.a}']).at(-1), attack.a);
  assert.deepEqual(texts(attack, ['git', '--x={input.a}']).at(-1), `--x=${attack.a}`);
  // An argument that says "--" itself opens nothing for the next one.
  assert.throws(() => texts({ a: '--', b: '-x' }, ['git', '{input.a}', '{input.b}']));
  assert.throws(() => texts({ a: 'a\0b' }, ['git', 'x{input.a}']), /NUL/);
});

test('braces are doubled to stand for themselves', () => {
  assert.deepEqual(parseToolTemplate('${{HOME}} {input.a}{{'), ['${HOME} ', { input: 'a' }, '{']);
  assert.deepEqual(parseToolTemplate(''), ['']);
});

const schema: ToolInputSchema = {
  type: 'object',
  properties: {
    name: { type: 'string', minLength: 2, maxLength: 4, pattern: '^[a-z]+$' },
    count: { type: 'integer', minimum: 1, maximum: 9 },
    kind: { type: 'string', enum: ['a', 'b'] },
    list: { type: 'array', items: { type: 'number' }, minItems: 1, maxItems: 2 },
    deep: { type: 'object', properties: { on: { type: 'boolean' } }, required: ['on'] },
  },
  required: ['name'],
};
const unfit: readonly (readonly [unknown, RegExp])[] = [
  [{}, /"name" is missing/],
  [{ name: 1 }, /"name" must be of type string/],
  [{ name: 'a' }, /at least 2/],
  [{ name: 'abcde' }, /at most 4/],
  [{ name: 'AB' }, /must match/],
  [{ name: 'ab\n' }, /must match/],
  [{ name: 'ab', count: 1.5 }, /"count" must be of type integer/],
  [{ name: 'ab', count: 0 }, /at least 1/],
  [{ name: 'ab', count: 10 }, /at most 9/],
  [{ name: 'ab', kind: 'c' }, /one of "a", "b"/],
  [{ name: 'ab', list: [] }, /at least 1 items/],
  [{ name: 'ab', list: [1, 2, 3] }, /at most 2 items/],
  [{ name: 'ab', list: ['x'] }, /"list\[0\]" must be of type number/],
  [{ name: 'ab', deep: {} }, /"deep.on" is missing/],
  [{ name: 'ab', deep: { on: 'yes' } }, /"deep.on" must be of type boolean/],
  [{ name: 'ab', other: 1 }, /"other" is not known; known are: name, count/],
  [{ name: 'ab\ud800' }, /"name" must be well-formed/],
  [{ name: 'ab', '\udfff': 1 }, /well-formed/],
  [{ name: 'ab', constructor: 1 }, /"constructor" is not known/],
  [[], /of type object/],
];

test('arguments that do not fit are refused with what is wrong', () => {
  assert.deepEqual(toolInputSchemaProblems(schema), []);
  const good = { name: 'ab', count: 3, kind: 'b', list: [1.5], deep: { on: true } };
  assert.equal(describeInputMismatch(schema, good), null);
  for (const [value, wanted] of unfit) {
    assert.match(describeInputMismatch(schema, value) ?? '', wanted);
  }
});
