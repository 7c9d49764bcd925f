// Rules that a person made by an answer: what they hold for, and which files hold none.
import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { LastingRules, ruleText, type RuleSubject } from '../src/approval/lasting-rules.ts';

const workspace = { path: '/w', dev: 1, ino: 2 };
const requester = 'uid:1';
const reveal = ['1'.repeat(32), '2'.repeat(32)];
const shown: RuleSubject = { reveal, workspace, requester };
const network: RuleSubject = {
  words: ['npm', 'install', '--save'],
  program: '/usr/bin/npm',
  network: true,
  workspace,
  requester,
  project: 'registry',
};
const reached: RuleSubject = { hosts: ['*.a.test', 'b.test:8443'], workspace, requester };

class File implements Disposable {
  readonly #home = mkdtempSync(path.join(tmpdir(), 'trl-lasting-'));
  readonly file = path.join(this.#home, 'answers.json');
  readonly rules = new LastingRules(this.file);

  /** Private, as the runtime writes it. */
  write(content: unknown): void {
    rmSync(this.file, { force: true });
    writeFileSync(this.file, typeof content === 'string' ? content : JSON.stringify(content), {
      mode: 0o600,
    });
  }
  [Symbol.dispose](): void {
    rmSync(this.#home, { recursive: true });
  }
}

test('a rule answers its own question, of whoever asked, in that directory', () => {
  using own = new File();
  const { rules } = own;
  assert.deepEqual([rules.list(), rules.find(shown)], [[], null]);
  const made = rules.add(shown, 'approver:ada');
  assert.match(made.id, /^r-[0-9a-f]{16}$/);
  assert.deepEqual([made.by, made.of], ['approver:ada', shown]);
  assert.equal(new Date(made.created_at).toISOString(), made.created_at);
  assert.deepEqual(rules.add(shown, 'approver:bob'), made, 'one that is there is not made again');
  const second = rules.add(network, 'approver:ada');
  assert.deepEqual(rules.list(), [made, second]);
  assert.deepEqual([rules.find(shown), rules.find(network)], [made, second]);
  for (const other of [
    { ...shown, requester: 'uid:2' },
    { ...shown, reveal: reveal.slice(1) },
    { ...shown, workspace: { ...workspace, ino: 3 } },
    { ...network, words: ['npm', 'install'] },
    { ...network, program: '/bin/npm' },
    { ...network, project: 'another' },
  ]) {
    assert.equal(rules.find(other), null, JSON.stringify(other));
  }
  assert.equal(statSync(own.file).mode & 0o777, 0o600);
  assert.deepEqual(JSON.parse(readFileSync(own.file, 'utf8')), { v: 1, rules: [made, second] });
});

test('what is shown is shown to whoever asked, in that directory, until the rule goes', () => {
  using own = new File();
  const { rules } = own;
  const shows = (at = workspace, who = requester): string[] => [...rules.revealed(at, who)];
  assert.deepEqual(shows(), []);
  const { id } = rules.add(shown, 'approver:ada');
  rules.add(network, 'approver:ada');
  assert.deepEqual(shows(), reveal);
  assert.deepEqual(shows(workspace, 'uid:2'), []);
  for (const other of [{ path: '/v' }, { dev: 2 }, { ino: 3 }]) {
    assert.deepEqual(shows({ ...workspace, ...other }), [], JSON.stringify(other));
  }
  rules.add({ ...shown, reveal: ['3'.repeat(32)] }, 'approver:ada');
  assert.deepEqual(shows(), [...reveal, '3'.repeat(32)]);
  rules.remove(id);
  assert.deepEqual(shows(), ['3'.repeat(32)]);
  own.write('none');
  assert.deepEqual(shows(), []);
  own.write({ v: 1, rules: [] });
  assert.deepEqual(shows(), []);
});

test('hosts are reached by whoever asked, in that directory, until the rule goes', () => {
  using own = new File();
  const { rules } = own;
  const hosts = (at = workspace, who = requester) => rules.hosts(at, who);
  assert.deepEqual(hosts(), []);
  const { id } = rules.add(reached, 'approver:ada');
  rules.add(shown, 'approver:ada');
  rules.add({ ...reached, hosts: ['c.test'] }, 'approver:ada');
  assert.deepEqual(hosts(), ['*.a.test', 'b.test:8443', 'c.test']);
  assert.deepEqual(hosts(workspace, 'uid:2'), []);
  for (const other of [{ path: '/v' }, { dev: 2 }, { ino: 3 }]) {
    assert.deepEqual(hosts({ ...workspace, ...other }), [], JSON.stringify(other));
  }
  assert.deepEqual([...rules.revealed(workspace, requester)], reveal);
  rules.remove(id);
  assert.deepEqual(hosts(), ['c.test']);
  own.write('none');
  assert.deepEqual(hosts(), []);
});

test('a rule is removed by the beginning of its name, where no other begins so', () => {
  using own = new File();
  const { rules } = own;
  const made = { created_at: '2026-01-01', by: 'approver:ada', of: shown };
  const all = ['r-aa11', 'r-aa22', 'r-bb33'].map((id) => ({ id, ...made }));
  own.write({ v: 1, rules: all });
  for (const word of ['r-aa', 'r-cc', '', 'r-', 'b', 'bb33']) {
    assert.throws(() => rules.remove(word), { code: 'INVALID_PARAMS' }, word);
  }
  assert.deepEqual(rules.list(), all);
  assert.deepEqual(rules.remove('r-b'), all[2]);
  assert.deepEqual(rules.remove('r-aa22'), all[1]);
  assert.deepEqual(rules.list(), all.slice(0, 1));
});

const good = { id: 'r-1', created_at: '2026-01-01', by: 'approver:ada', of: shown };
const bad: readonly unknown[] = [
  'no JSON',
  'null',
  '[]',
  {},
  { v: 2, rules: [good] },
  { v: 1 },
  { v: 1, rules: {} },
  { v: 1, rules: [null] },
  { v: 1, rules: ['r-1'] },
  { v: 1, rules: [good, {}] },
  { v: 1, rules: [{ ...good, id: 1 }] },
  { v: 1, rules: [{ ...good, created_at: 1 }] },
  { v: 1, rules: [{ ...good, by: null }] },
  { v: 1, rules: [{ ...good, of: null }] },
  { v: 1, rules: [{ ...good, of: { ...shown, reveal: '1' } }] },
  { v: 1, rules: [{ ...good, of: { ...shown, reveal: [1] } }] },
  { v: 1, rules: [{ ...good, of: { ...shown, requester: 1 } }] },
  { v: 1, rules: [{ ...good, of: { ...shown, workspace: '/w' } }] },
  { v: 1, rules: [{ ...good, of: { ...shown, workspace: { path: 1 } } }] },
  { v: 1, rules: [{ ...good, of: { ...reached, hosts: 'a.test' } }] },
  { v: 1, rules: [{ ...good, of: { ...reached, hosts: [1] } }] },
  { v: 1, rules: [{ ...good, of: { ...reached, hosts: ['10.0.0.1'] } }] },
  { v: 1, rules: [{ ...good, of: { ...reached, hosts: ['*'] } }] },
  { v: 1, rules: [{ ...good, of: { ...reached, requester: 1 } }] },
  { v: 1, rules: [{ ...good, of: { ...reached, reveal } }] },
  { v: 1, rules: [{ ...good, of: { ...network, words: 'npm' } }] },
  { v: 1, rules: [{ ...good, of: { ...network, words: [1] } }] },
  { v: 1, rules: [{ ...good, of: { ...network, program: 1 } }] },
  { v: 1, rules: [{ ...good, of: { ...network, project: undefined } }] },
  { v: 1, rules: [{ ...good, of: { ...network, network: { hosts: ['a'] } } }] },
  { v: 1, rules: [{ ...good, of: { ...network, network: 'true' } }] },
];

test('a file that is none holds nothing, and says so to who looks', () => {
  using own = new File();
  const { rules } = own;
  for (const content of bad) {
    own.write(content);
    assert.throws(() => rules.list(), { code: 'AUTH_FAILED' }, JSON.stringify(content));
    assert.deepEqual([rules.find(shown), rules.revealed(workspace, requester).size], [null, 0]);
    assert.throws(() => rules.add(network, 'approver:ada'), { code: 'AUTH_FAILED' });
  }
  own.write({ v: 1, rules: [good, { ...good, id: 'r-2', of: network }] });
  assert.equal(rules.list().length, 2);
  assert.equal(rules.find(network)?.id, 'r-2');
  chmodSync(own.file, 0o666);
  assert.throws(() => rules.list(), { code: 'AUTH_FAILED' });
  assert.deepEqual([rules.find(shown), rules.revealed(workspace, requester).size], [null, 0]);
});

test('there are no more than a thousand rules', () => {
  using own = new File();
  const made = Array.from({ length: 999 }, (_, at) => ({ ...good, id: `r-${at}` }));
  own.write({ v: 1, rules: made });
  own.rules.add(network, 'approver:ada');
  const more = { ...network, words: ['npm'] };
  assert.throws(() => own.rules.add(more, 'approver:ada'), { code: 'QUOTA_EXCEEDED' });
  assert.equal(own.rules.add(network, 'approver:ada').of.requester, requester);
  assert.equal(own.rules.list().length, 1_000);
});

test('a rule reads as what it permits', () => {
  const reach = 'npm install --save (/usr/bin/npm), and what it starts, reaches any host';
  assert.equal(ruleText(network), `${reach}, without a question, for uid:1 in /w`);
  const hosts = ruleText({ ...network, network: { hosts: ['a.example', 'b.example'] } });
  assert.match(hosts, /reaches a\.example, b\.example, without/);
  assert.equal(
    ruleText(reached),
    'commands connect to *.a.test, b.test:8443, without a question, for uid:1 in /w',
  );
  assert.match(ruleText(shown), /^output shows .*, without a question, for uid:1 in \/w$/);
});
