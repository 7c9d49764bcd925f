// `trl token` and `trl console` as people use them, and the operator's token beside a real daemon.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Enrolment } from '../src/approval/enrolment.ts';
import { Tokens } from '../src/identity/tokens.ts';
import { whyNoBox } from './support/box.ts';
import { startRuntime, surroundings, type Daemon, type Json } from './support/daemon.ts';
import { person, whyNoTerminal } from './support/pty.ts';
import { openSession } from './support/session.ts';

const trl = path.join(path.dirname(import.meta.dirname), 'trl');
const phrase = 'correct horse battery';
// Of a form that is no secret's by itself, so that nothing but its name says what it is.
const mainToken = '/srv/agents/tokens/of-the-operator/first';

let daemon: Daemon;
let env: Record<string, string>;
before(async () => {
  daemon = await startRuntime({
    env: { TRL_AUTH_TOKEN: mainToken },
    prepare: (home) => {
      // No source of secrets at all: the token is hidden all the same.
      mkdirSync(path.join(home, 'config', 'trl'), { recursive: true, mode: 0o700 });
      writeFileSync(path.join(home, 'config', 'trl', 'config.yaml'), 'secrets:\n  sources: []\n');
      return {};
    },
  });
  env = { ...surroundings(daemon.home), TRL_SOCKET_PATH: daemon.socketPath };
});
after(() => daemon.stop());

interface Ran {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Without a terminal, also where the tests have one. */
function run(args: readonly string[], more: Record<string, string> = {}, input = ''): Ran {
  const options = { env: { ...process.env, ...env, ...more }, input, encoding: 'utf8' } as const;
  return spawnSync('setsid', ['-w', trl, ...args], options);
}

const tokensFile = (): string => path.join(daemon.home, 'state', 'trl', 'tokens.json');

/** Ids of processes that show `text` in their arguments or environment. */
function processesWith(text: string): string[] {
  const shows = (id: string): boolean =>
    ['environ', 'cmdline'].some((name) => {
      try {
        return readFileSync(`/proc/${id}/${name}`, 'latin1').includes(text);
      } catch {
        // Gone, or another user's.
        return false;
      }
    });
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name) && shows(name));
}

/** Every text below the state of the runtime, its log and its audit log among them. */
function everythingKept(): string {
  const state = path.join(daemon.home, 'state');
  const names = readdirSync(state, { recursive: true, withFileTypes: true });
  const files = names.filter((one) => one.isFile());
  return files
    .map(({ parentPath, name }) => readFileSync(path.join(parentPath, name), 'latin1'))
    .join('\n')
    .concat(daemon.log());
}

describe("the operator's token", { skip: whyNoBox }, () => {
  test('reaches no command, and shows in no output, record or process', async () => {
    await using session = await openSession(daemon.socketPath, { working_dir: daemon.root });
    const all = await session.run('env; set; cat /proc/self/environ /proc/1/environ 2>&1');
    assert.ok(!all.stdout.includes('of-the-operator') && !all.stdout.includes('TRL_AUTH_TOKEN'));
    const said = await session.run(`printf '%s\\n' ${mainToken}; echo ${mainToken} | base64`);
    const encoded = Buffer.from(mainToken).toString('base64').slice(4, -4);
    assert.ok(!said.stdout.includes(mainToken) && !said.stdout.includes(encoded), said.stdout);
    assert.match(said.stdout, /\[HIDDEN:/);
    const keyed = await session.ask('true', { env_keys: ['TRL_AUTH_TOKEN'] });
    assert.notEqual(keyed.error, undefined);
    const listed = JSON.stringify(await session.client.ask('secrets.list'));
    assert.ok(!listed.includes('TRL_AUTH_TOKEN'), listed);
    // The runtime, its runner and redactor, and whatever else runs.
    assert.deepEqual(processesWith(mainToken), []);
    assert.ok(!everythingKept().includes(mainToken));
  });
});

describe('trl token', () => {
  test('create prints the token alone, once; list and the records never show it', () => {
    const made = run(['token', 'create', '--role', 'agent', '--name', 'ci', '--expires', '30d']);
    assert.equal(made.status, 0, made.stderr);
    assert.match(made.stdout, /^trl_[A-Za-z0-9_-]{43}\n$/);
    const token = made.stdout.trim();
    const listed = run(['token', 'list', '--json']);
    const [one] = JSON.parse(listed.stdout).tokens;
    assert.deepEqual([one.name, one.roles, one.proof, one.state], ['ci', ['agent'], null, 'valid']);
    const lasts = Date.parse(one.expires_at) - Date.parse(one.created_at);
    assert.ok(Math.abs(lasts - 30 * 86_400_000) < 60_000, String(lasts));
    assert.match(run(['token', 'list']).stdout, /^TOKEN +NAME +ROLES[^]*\bci +agent\b/);
    const again = run(['token', 'create', '--role', 'agent', '--name', 'ci']);
    assert.equal(again.status, 125);
    assert.match(again.stderr, /there is one called "ci"/);
    assert.ok(!everythingKept().includes(token.slice(4)));
    assert.match(everythingKept(), /"method":"token\.create"[^\n]*|token\.create/);
    const revoked = run(['token', 'revoke', 'ci', '--json']);
    assert.equal(JSON.parse(revoked.stdout).state, 'revoked');
    assert.equal(run(['token', 'revoke', one.id]).status, 125);
    assert.deepEqual(JSON.parse(run(['token', 'list', '--json']).stdout).tokens, []);
  });

  const wrong: readonly (readonly [readonly string[], RegExp])[] = [
    [['create'], /name a --role/],
    [['create', '--role', 'root'], /"--role" must be agent, approver, auditor, admin/],
    [['create', '--role', 'agent', '--expires', 'soon'], /a duration/],
    [['create', '--role', 'agent', '--name', '../x'], /is not of letters/],
    [['revoke', 'nobody'], /there is no such token/],
  ];
  for (const [args, message] of wrong) {
    test(`${args.join(' ')}: says what is wrong, and makes nothing`, () => {
      const { status, stdout, stderr } = run(['token', ...args]);
      assert.equal(status, 125);
      assert.equal(stdout, '');
      assert.match(stderr, message);
    });
  }

  test('says what is wrong with a file that others may read, and how to mend it', () => {
    run(['token', 'create', '--role', 'agent']);
    chmodSync(tokensFile(), 0o644);
    for (const args of [['list'], ['create', '--role', 'agent']]) {
      const { status, stderr } = run(['token', ...args]);
      assert.equal(status, 125);
      assert.match(stderr, /open to others; run: chmod 600/);
    }
    chmodSync(tokensFile(), 0o600);
  });

  test('makes no person of who policy wants proved', () => {
    const policy = path.join(daemon.home, 'proved.yaml');
    writeFileSync(policy, 'approvals:\n  same_uid: false\n', { mode: 0o600 });
    const asked = ['token', 'create', '--role', 'approver'];
    const refused = run(asked, { TRL_POLICY: policy });
    assert.equal(refused.status, 125, refused.stdout);
    assert.match(refused.stderr, /policy wants the person proved/);
    const made = run(asked);
    assert.equal(made.status, 0);
    assert.match(made.stderr, /nothing but your uid proves/);
    assert.equal(new Tokens(tokensFile()).all().at(-1)?.proof, 'same_uid');
  });
});

describe('trl console', () => {
  const open = (...args: string[]): Ran => run(['console', '--no-open', ...args]);

  test('prints a link that logs in once, on a door that takes nothing else', async () => {
    const { status, stdout, stderr } = open('--json');
    assert.equal(status, 0, stderr);
    const [origin, code] = JSON.parse(stdout).url.split('/#login=');
    const headers = { 'content-type': 'application/json' };
    const trade = (): Promise<Response> =>
      fetch(`${origin}/v1/login`, { method: 'POST', headers, body: JSON.stringify({ code }) });
    const login: Json = await (await trade()).json();
    assert.deepEqual(login.roles, ['approver', 'auditor']);
    assert.equal((await trade()).status, 401);
    const as = async (token: string): Promise<number> =>
      (await fetch(`${origin}/v1/sessions`, { headers: { authorization: `Bearer ${token}` } }))
        .status;
    assert.equal(await as(login.token), 200);
    assert.equal(await as(mainToken), 401);
    const agent = run(['token', 'create', '--role', 'agent']).stdout.trim();
    assert.equal(await as(agent), 401);
    for (const secret of [code, login.token, agent]) assert.ok(!everythingKept().includes(secret));
  });

  test('opens a browser without a word of the link in its arguments', () => {
    const bin = path.join(daemon.home, 'bin');
    const saw = path.join(daemon.home, 'browser-saw');
    mkdirSync(bin);
    const script = `#!/bin/sh\nprintf '%s\\n' "$*" >${saw}\ncat "\${1#file://}" >>${saw}\n`;
    writeFileSync(path.join(bin, 'xdg-open'), script, { mode: 0o755 });
    const screen = { DISPLAY: ':0', PATH: `${bin}:${process.env['PATH']}` };
    const { stdout } = run(['console'], screen);
    const code = stdout.trim().split('#login=')[1] ?? 'none';
    const [argument = '', page = ''] = readFileSync(saw, 'utf8').split('\n');
    assert.ok(!argument.includes(code) && argument.startsWith('file:///'), argument);
    assert.ok(page.includes(stdout.trim()), page);
    assert.equal(existsSync(argument.slice('file://'.length)), false);
  });

  test('ends what a link opened that only the uid proved, when a passphrase is set', async () => {
    const { stdout } = open();
    const [origin, code] = stdout.trim().split('/#login=');
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ code });
    const answer = await fetch(`${origin}/v1/login`, { method: 'POST', headers, body });
    const login: Json = await answer.json();
    const as = async (): Promise<number> => {
      const authorization = `Bearer ${login.token}`;
      return (await fetch(`${origin}/v1/approvals`, { headers: { authorization } })).status;
    };
    assert.equal(await as(), 200);
    await enroll();
    assert.equal(await as(), 401);
    assert.match(open().stderr, /there is no terminal/);
    const proved = run(['console', '--no-open', '--passphrase-stdin'], {}, `${phrase}\n`);
    assert.match(proved.stdout, /#login=/);
  });

  test('says where there is none', () => {
    const { status, stderr } = run(['console', '--no-open'], { TRL_SOCKET_PATH: '/nonexistent/s' });
    assert.equal(status, 125);
    assert.match(stderr, /nothing listens there/);
  });
});

async function enroll(): Promise<void> {
  const file = path.join(daemon.home, 'config', 'trl', 'approver.json');
  if (existsSync(file)) return;
  const enrolment = new Enrolment({
    file,
    attemptsFile: path.join(daemon.home, 'state', 'trl', 'approver-attempts.json'),
    cost: { n: 2 ** 12, r: 8, p: 1 },
  });
  await enrolment.enrol('ann', phrase, null);
}

describe('where a passphrase is set', () => {
  before(enroll);

  test("a person's token needs it, and an agent's does not", () => {
    const asked = ['token', 'create', '--role', 'approver', '--role', 'auditor'];
    const before_ = new Tokens(tokensFile()).all().length;
    assert.match(run(asked).stderr, /there is no terminal/);
    const given = [...asked, '--passphrase-stdin'];
    for (const guess of ['', 'wrong passphrase']) {
      const { status, stdout, stderr } = run(given, {}, `${guess}\n`);
      assert.equal(status, 125);
      assert.equal(stdout, '');
      assert.match(stderr, /the passphrase is wrong/);
    }
    assert.equal(new Tokens(tokensFile()).all().length, before_);
    const made = run(given, {}, `${phrase}\n`);
    assert.equal(made.status, 0, made.stderr);
    const record = new Tokens(tokensFile()).all().at(-1);
    assert.deepEqual([record?.roles, record?.proof], [['approver', 'auditor'], 'passphrase']);
    const agent = run(['token', 'create', '--role', 'agent']);
    assert.equal(agent.status, 0, agent.stderr);
    assert.ok(!everythingKept().includes(phrase));
  });

  test('it is asked for at the terminal, unseen', { skip: whyNoTerminal }, async () => {
    using someone = person(['token', 'create', '--role', 'admin', '--name', 'boss'], env);
    await someone.sees('Passphrase: ');
    someone.types('not this one\r');
    await someone.sees('the passphrase is wrong');
    await someone.sees('Passphrase: ');
    someone.types(`${phrase}\r`);
    await someone.sees('trl_');
    assert.equal(await someone.left(), 0);
    assert.ok(!someone.shown().includes(phrase));
    const found: Json = new Tokens(tokensFile()).all().at(-1);
    assert.deepEqual([found.name, found.proof], ['boss', 'passphrase']);
  });

  test('leaving the prompt makes nothing', { skip: whyNoTerminal }, async () => {
    using someone = person(['token', 'create', '--role', 'admin', '--name', 'none'], env);
    await someone.sees('Passphrase: ');
    someone.types('\x03');
    await someone.sees('no token was made');
    assert.equal(await someone.left(), 130);
    assert.ok(new Tokens(tokensFile()).all().every(({ name }) => name !== 'none'));
  });
});
