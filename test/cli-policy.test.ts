// `trl policy` as it is called: files are checked, texts explained, lines answered in order.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { formatVerdict } from '../src/cli/approval-text.ts';
import type { DecidingRule } from '../src/command.ts';
import { policyJsonSchema } from '../src/policy/files/schema.ts';

const trl = path.join(path.dirname(import.meta.dirname), 'trl');
let directory = '';
beforeEach(() => {
  directory = mkdtempSync(path.join(os.tmpdir(), 'trl-cli-policy-'));
});
afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

const at = (name: string): string => path.join(directory, name);

function policy(args: readonly string[], input: string | Uint8Array = '') {
  const env = { ...process.env, XDG_CONFIG_HOME: at('config') };
  const options = { env, input, cwd: directory, maxBuffer: 2 ** 28 };
  const { status, stdout, stderr } = spawnSync(trl, ['policy', ...args], options);
  return { status, stdout: stdout.toString('utf8'), stderr: stderr.toString('utf8') };
}

function put(name: string, text: string): string {
  mkdirSync(path.dirname(at(name)), { recursive: true });
  writeFileSync(at(name), text, { mode: 0o644 });
  return name;
}

function answers(stdout: string): Record<string, unknown>[] {
  return stdout
    .trimEnd()
    .split('\n')
    .map((line): Record<string, unknown> => JSON.parse(line));
}

const terraform = `commands:
  - id: production
    decision: block
    match: [terraform, ..., apply, ...]
    reason: changes production
    instead: Run terraform plan.
    examples: {match: [terraform apply], no_match: [terraform plan]}
  - decision: allow
    match: [make, {any: [lint, test]}]
    reason: only reads
`;

test('check says ok, or where each error is', () => {
  put('good.yaml', terraform);
  put('bad.yaml', 'bsae: auto\nlimits: {timeout: soon}\n');
  const good = policy(['check', 'good.yaml']);
  assert.equal(good.status, 0);
  assert.match(
    good.stdout,
    /^good\.yaml: ok: 2 rules, 0 cases, base guarded, version [0-9a-f]{64}\n$/,
  );
  const bad = policy(['check', 'good.yaml', 'bad.yaml', 'gone.yaml']);
  assert.equal(bad.status, 1);
  assert.deepEqual(bad.stderr.trimEnd().split('\n'), [
    'bad.yaml:1:1: unknown key "bsae"; did you mean "base"?',
    'bad.yaml:2:19: "timeout" must be a duration such as 500ms, 30s, 15m, 2h or 7d, got "soon"',
    'gone.yaml:1:1: there is no such file',
  ]);
  const [said] = answers(policy(['check', '--json', 'bad.yaml']).stdout);
  assert.equal(said?.['ok'], false);
  assert.equal(policy(['check']).status, 125);
});

test('a project file is checked as one', () => {
  put('.trl.yaml', 'base: trusted\n');
  assert.match(
    policy(['check', '.trl.yaml']).stderr,
    /^\.trl\.yaml:1:1: a project's file may only/,
  );
});

test('test tries the shipped examples, and the cases of a file', () => {
  const shipped = policy(['test']);
  assert.deepEqual([shipped.status, shipped.stderr], [0, '']);
  const cases = `${terraform}cases:
  - {command: "cd x && timeout 5 terraform -chdir=y apply", expect: block}
  - {command: make test, expect: allow}
  - {command: make test > out, expect: ask}
  - {command: "Remove-Item -Recurse -Force .", shell: powershell, expect: block}
`;
  const own = policy(['test', put('good.yaml', cases)]);
  assert.deepEqual([own.status, own.stderr], [0, '']);
  assert.match(own.stdout, /and 4 cases: all hold/);
  const failing = policy(['test', put('bad.yaml', `${cases}  - {command: make, expect: allow}\n`)]);
  assert.equal(failing.status, 1);
  assert.match(failing.stderr, /^bad\.yaml:16:5: expected allow, got ask \([^)]+\): make\n$/);
});

test('explain tells the decision, the rule and its place in the text', () => {
  const { status, stdout } = policy(['explain', "cd src && timeout 5 sh -c 'rm -rf build'"]);
  assert.equal(status, 0);
  assert.match(stdout, /^ {2}cd src && timeout 5 sh -c 'rm -rf build'\n +\^+ fs\.rm-rf\n/);
  assert.match(stdout, /\nblock, by the policy guarded /);
  assert.match(stdout, /\n +through: timeout → sh -c\n/);
  const [json] = answers(policy(['explain', '--json', '--', 'git', 'push', 'a b']).stdout);
  assert.deepEqual([json?.['decision'], json?.['command']], ['block', "git push 'a b'"]);
  assert.ok(Array.isArray(json?.['notes']) && json['notes'].length > 0);
});

test('explain takes a shell and a policy', () => {
  const decision = (...args: string[]): unknown =>
    answers(policy(['explain', '--json', ...args]).stdout)[0]?.['decision'];
  assert.equal(
    decision('--shell', 'powershell', '--', 'Remove-Item', '-Recurse', '-Force', 'x'),
    'block',
  );
  assert.equal(decision('--shell', 'cmd', '--', 'rd', '/s', 'x'), 'block');
  assert.equal(decision('--shell', 'python', '--', 'print(1)'), 'ask');
  assert.equal(decision('--', 'make', 'test'), 'ask');
  assert.equal(decision('--policy', 'locked', '--', 'make', 'test'), 'block');
  assert.equal(decision('--policy', 'locked', '--', 'git', 'status'), 'allow');
  assert.equal(decision('--policy', 'trusted', '--', 'make', 'test'), 'allow');
  assert.equal(decision('--policy', put('own.yaml', terraform), '--', 'make', 'test'), 'allow');
  const wrong = policy(['explain', '--shell', 'ksh', '--', 'ls']);
  assert.deepEqual([wrong.status, /--shell: it must be bash or/.test(wrong.stderr)], [125, true]);
  const unknown = policy(['explain', '--policy', 'gaurded', '--', 'ls']);
  assert.match(unknown.stderr, /it is neither a file nor one of trusted, auto, guarded, locked/);
});

test("the user's file decides where nothing is named, and a bad one is never left out", () => {
  put('config/trl/policy.yaml', terraform);
  const [json] = answers(policy(['explain', '--json', 'terraform apply']).stdout);
  assert.equal(json?.['decision'], 'block');
  put('config/trl/policy.yaml', 'commands: 5\n');
  const bad = policy(['explain', 'ls']);
  assert.equal(bad.status, 125);
  assert.match(bad.stderr, /policy\.yaml:1:11: "commands" must be a list, got 5/);
});

test('lines are answered in order, whatever they hold', () => {
  const lines = Array.from({ length: 3_000 }, (_, id) => {
    if (id % 500 === 0) return JSON.stringify({ id, shell: 'python', command: 'print(1)' });
    if (id % 7 === 0) return '{"id":';
    const shell = ['bash', 'powershell', 'cmd'][id % 3];
    return JSON.stringify({ id, shell, command: id % 2 === 0 ? 'git push' : 'git status' });
  });
  const { status, stdout } = policy(['explain', '--stdin'], lines.join('\n'));
  assert.equal(status, 0);
  const found = answers(stdout);
  assert.equal(found.length, lines.length);
  for (const [id, one] of found.entries()) {
    if (id % 500 === 0) assert.deepEqual([one['id'], one['decision']], [id, 'ask']);
    else if (id % 7 === 0) assert.deepEqual(one, { id: null, error: 'the line is not JSON' });
    else {
      assert.deepEqual([one['id'], one['decision']], [id, id % 2 === 0 ? 'block' : 'allow']);
      assert.ok(Array.isArray(one['rules']) && one['rules'].length > 0);
    }
  }
});

test('a line that cannot be read is answered, and the next one read', () => {
  const input = Buffer.concat([
    Buffer.from('[]\n{"id":1}\n{"command":"ls"}\n{"id":2,"command":"ls","shell":"ksh"}\n\n'),
    Buffer.from([0xff, 0x0a]),
    Buffer.alloc(9 * 2 ** 20, 0x61),
    Buffer.from('\n{"id":"last","command":"ls"}'),
  ]);
  const { status, stdout } = policy(['explain', '--stdin'], input);
  assert.equal(status, 0);
  const found = answers(stdout);
  assert.deepEqual(
    found.map(({ id }) => id),
    [null, null, null, null, null, null, null, 'last'],
  );
  assert.ok(found.slice(0, -1).every(({ error }) => typeof error === 'string'));
});

test('trust records a hash, and forgets a directory without a file', () => {
  put('p/.trl.yaml', 'commands: [{decision: ask, match: [make], reason: x}]\n');
  const trusted = policy(['trust', 'p']);
  assert.equal(trusted.status, 0);
  assert.match(trusted.stderr, /trusted ".*\/p\/\.trl\.yaml" \(1 rules\)/);
  assert.match(readFileSync(at('config/trl/trusted.json'), 'utf8'), /"[^"]+\/p": "[0-9a-f]{64}"/);
  rmSync(at('p/.trl.yaml'));
  assert.match(policy(['trust', 'p']).stderr, /there is no \.trl\.yaml/);
  assert.doesNotMatch(readFileSync(at('config/trl/trusted.json'), 'utf8'), /[0-9a-f]{64}/);
  put('p/.trl.yaml', 'base: trusted\n');
  const bad = policy(['trust', 'p']);
  assert.deepEqual([bad.status, /may only tighten/.test(bad.stderr)], [125, true]);
});

test('show tells what a policy consists of', () => {
  const guarded = policy(['show', 'guarded']);
  assert.match(guarded.stdout, /^name +guarded\nversion +[0-9a-f]{64}\nbase +guarded: /);
  put('config/trl/policy.yaml', `name: mine\nbase: locked\nlimits: {timeout: 5m}\n${terraform}`);
  assert.match(policy(['show']).stdout, /^name +mine\n[^]*base +locked[^]*timeoutMs 300000/);
  const [json] = answers(policy(['show', '--json']).stdout);
  assert.deepEqual(json?.['limits'], { timeoutMs: 300_000 });
});

test('schema prints the schema', () => {
  const printed: unknown = JSON.parse(policy(['schema']).stdout);
  assert.deepEqual(printed, policyJsonSchema());
});

const rule: DecidingRule = {
  id: 'fs.rm-rf',
  decision: 'block',
  reason: 'deletes a tree by force',
  span: null,
  via: [],
  evidence: null,
  instead: null,
};
const shown = (command: string, rules: readonly DecidingRule[]): string[] =>
  formatVerdict(command, {
    decision: 'block',
    rules,
    policy: { name: 'p', version: '0123456789abcdef' },
    runs: null,
    notes: [],
  }).split('\n');

test('marks stand under what they mean, also behind what is escaped or wide', () => {
  const text = 'a\u202e日本 rm -rf x';
  const [line = '', marks = ''] = shown(text, [{ ...rule, span: [5, text.length] }]);
  assert.equal(line, String.raw`  a\u{202E}日本 rm -rf x`);
  // Each of the two ideographs takes two columns of the terminal.
  assert.equal(marks, `${' '.repeat(2 + 1 + 8 + 4 + 1)}${'^'.repeat(8)} fs.rm-rf`);
});

test('marks follow their lines, and the command is never cut', () => {
  const text = `echo a\nrm -rf x\n${'y'.repeat(70_000)}`;
  const lines = shown(text, [{ ...rule, span: [7, 20] }]);
  assert.deepEqual(lines.slice(0, 3), ['  echo a', '  rm -rf x', `  ${'^'.repeat(8)} fs.rm-rf`]);
  assert.equal(lines[3], `  ${'y'.repeat(70_000)}`);
  assert.equal(lines[4], '  ^^^^');
});

test('what cannot be seen is escaped wherever it stands', () => {
  const told = { ...rule, evidence: 'a\u202eb\nc', via: ['sh\u001b'], reason: 'x\u0000y' };
  const text = shown('\u001b[2J\u00a0\u200b\r\t größe', [told]).join('\n');
  assert.match(text, /^ {2}\\u\{1B\}\[2J\\u\{A0\}\\u\{200B\}\\u\{D\}\\u\{9\} größe\n/);
  assert.match(text, /found: a\\u\{202E\}b\\u\{A\}c\n/);
  assert.match(text, /through: sh\\u\{1B\}\n/);
  assert.match(text, /fs\.rm-rf: x\\u\{0\}y\n/);
});
