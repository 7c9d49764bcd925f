// What each role may, by any door, and that it is the proof of a person where it is a person's.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { Enrolment } from '../src/approval/enrolment.ts';
import type { Caller, Role } from '../src/command.ts';
import { isTrlError } from '../src/errors.ts';
import { Tokens } from '../src/identity/tokens.ts';
import { findMethod, methods } from '../src/api/methods.ts';
import { whyNoBox } from './support/box.ts';
import type { Json } from './support/daemon.ts';
import { onSocket, startInside, type Asker, type Inside } from './support/inside.ts';

const passphrase = 'correct horse battery staple';

/** What a person's role may not, said apart from the table: each of these is refused. */
const ofSocket = [
  'cache.clear',
  'cache.list',
  'console.login',
  'workspace.forget',
  'workspace.list',
  'workspace.trust',
];
const refused: Readonly<Record<Exclude<Role, 'admin'>, readonly string[]>> = {
  agent: [
    'approval.decide',
    'secrets.set',
    'audit.verify',
    'session.block_host',
    'session.show_port',
    'session.hide_port',
    'tool.register',
    'tool.answer',
    ...ofSocket,
  ],
  approver: [
    'session.create',
    'session.destroy',
    'session.update',
    'session.fork',
    'exec.run',
    'exec.stream',
    'exec.start',
    'secrets.request',
    'secrets.inject',
    'workspace.open',
    'publish',
    'tool.call',
    'tool.register',
    'tool.answer',
    ...ofSocket,
  ],
  auditor: [
    'session.create',
    'session.destroy',
    'session.update',
    'session.fork',
    'session.block_host',
    'session.show_port',
    'session.hide_port',
    'exec.run',
    'exec.stream',
    'exec.start',
    'exec.write',
    'exec.resize',
    'exec.cancel',
    'exec.lease',
    'exec.undo',
    'approval.decide',
    'secrets.request',
    'secrets.set',
    'secrets.inject',
    'secrets.delete',
    'workspace.open',
    'workspace.apply',
    'workspace.discard',
    'snapshot.restore',
    'publish.check',
    'publish',
    'tool.call',
    'tool.register',
    'tool.answer',
    ...ofSocket,
  ],
};

let inside: Inside;
let tokens: Tokens;
before(async () => {
  inside = await startInside({ TRL_POLICY: 'auto' });
  tokens = new Tokens(path.join(inside.home, 'state', 'trl', 'tokens.json'));
});
after(() => inside[Symbol.asyncDispose]());

function callerOf(...roles: Role[]): Caller {
  const { token } = tokens.create({ roles, proof: 'passphrase' });
  const caller = inside.identities.callerOf(token);
  assert.ok(caller !== null);
  return caller;
}

/** Methods that the gate keeps a caller from, on a session of its own. */
function notPermitted(caller: Caller): string[] {
  const params = { session_id: `s-${'1'.repeat(32)}` };
  const isRefused = (method: string): boolean => {
    try {
      inside.core.gate.requireRole(findMethod(method), params, caller);
      return false;
    } catch (error) {
      assert.ok(isTrlError(error, 'PERMISSION_DENIED'), String(error));
      return true;
    }
  };
  return Object.keys(methods).filter(isRefused).toSorted();
}

describe('roles', () => {
  for (const role of ['agent', 'approver', 'auditor'] as const) {
    test(`${role}: may what its table says, and nothing else`, async () => {
      const caller = callerOf(role);
      const wanted = refused[role].filter((method) => Object.hasOwn(methods, method));
      assert.deepEqual(notPermitted(caller), wanted.toSorted());
      using asker = inside.as(caller);
      for (const method of wanted) {
        // Before anything of the call is read: the parameters are none.
        const { error } = await asker.ask(method);
        assert.equal(error?.code, 'PERMISSION_DENIED', method);
        assert.ok(error.message.includes(method) && error.message.includes(`"${role}"`));
      }
    });
  }

  test('admin: may everything but what is for the socket alone', async () => {
    const caller = callerOf('admin');
    assert.deepEqual(notPermitted(caller), ofSocket);
    using asker = inside.as(caller);
    assert.equal((await asker.ask('console.login')).error.code, 'PERMISSION_DENIED');
  });

  test('two roles may what either may', async () => {
    using asker = inside.as(callerOf('agent', 'auditor'));
    assert.equal((await asker.ask('audit.verify')).ok, true);
    const { data } = await asker.ask('session.create', {});
    const own = { session_id: data.session_id };
    assert.equal((await asker.ask('session.destroy', own)).ok, true);
    const { error } = await asker.ask('secrets.set', { name: 'N', value: 'a longer value' });
    assert.equal(error.code, 'PERMISSION_DENIED');
  });

  test('who is on the socket may what it did before there were tokens', () => {
    assert.deepEqual(notPermitted(onSocket), []);
    assert.deepEqual(notPermitted({ ...onSocket, authenticatedBy: 'parent-process' }), []);
  });

  test("an agent forgets no value that is everybody's, and a person does", async () => {
    await inside.core.secrets.set(onSocket, { name: 'SHARED', value: 'a shared value' });
    using agent = inside.as(callerOf('agent'));
    const { error } = await agent.ask('secrets.delete', { name: 'SHARED' });
    assert.equal(error.code, 'PERMISSION_DENIED');
    using person = inside.as(callerOf('approver'));
    assert.equal((await person.ask('secrets.delete', { name: 'SHARED' })).ok, true);
  });

  test('a passphrase is not taken over a token, so that none is tried there', async () => {
    for (const role of ['agent', 'approver', 'auditor'] as const) {
      using asker = inside.as(callerOf(role));
      const { error } = await asker.ask('audit.list', { passphrase });
      assert.equal(error.code, 'PERMISSION_DENIED');
    }
  });

  test('a refusal is in the audit log, with who and what', async () => {
    const caller = callerOf('agent');
    using asker = inside.as(caller);
    await asker.ask('audit.verify');
    using auditor = inside.as(callerOf('auditor'));
    const { data } = await auditor.ask('audit.list', { kinds: ['call.refused'], limit: 5 });
    const found = data.events.find(({ actor }: Json) => actor === caller.actor);
    assert.equal(found?.data.code, 'PERMISSION_DENIED');
    assert.equal(found.data.method, 'audit.verify');
  });
});

describe('a person is proved', { skip: whyNoBox }, () => {
  let question: Json;
  let agent: Asker;

  beforeEach(async () => {
    const place = path.join(inside.root, 'p');
    mkdirSync(place, { recursive: true });
    agent = inside.as(callerOf('agent'));
    const made = { working_dir: place, policy: 'guarded' };
    const { data } = await agent.ask('session.create', made);
    const command = 'curl http://nowhere.example';
    const parked = await agent.ask('exec.run', { session_id: data.session_id, command });
    const { approval_id } = parked.data;
    question = (await agent.ask('approval.get', { approval_id })).data;
    assert.equal(question.state, 'pending');
  });

  const answer = (): object => {
    const { approval_id: id, digest } = question;
    return { approval_id: id, digest, decision: 'deny' };
  };

  test('by the role of their token: the record tells who and how', async () => {
    const caller = callerOf('approver');
    using person = inside.as(caller);
    const { data } = await person.ask('approval.decide', answer());
    assert.equal(data.state, 'denied');
    assert.equal(data.decided_by, caller.actor);
    assert.equal(data.same_uid, undefined);
    using auditor = inside.as(callerOf('auditor'));
    const asked = { kinds: ['approval.decided'], session_id: question.session_id };
    const [event] = (await auditor.ask('audit.list', asked)).data.events;
    assert.equal(event.actor, caller.actor);
    assert.deepEqual([event.data.by, event.data.proof], [caller.actor, 'passphrase']);
  });

  test('by a link that only the uid proved: which shows', async () => {
    const login = inside.identities.redeem(inside.identities.newLogin('same_uid').code);
    assert.ok(login !== null);
    using person = inside.as(login.caller);
    const { data } = await person.ask('approval.decide', answer());
    assert.equal(data.same_uid, true);
    assert.equal(data.decided_by, login.caller.actor);
  });

  test('but not who asked, whatever its roles', async () => {
    const caller = callerOf('agent', 'approver', 'admin');
    using both = inside.as(caller);
    const made = { working_dir: path.join(inside.root, 'p'), policy: 'guarded' };
    const { data: session } = await both.ask('session.create', made);
    const command = 'curl http://elsewhere.example';
    const parked = await both.ask('exec.run', { session_id: session.session_id, command });
    const { approval_id } = parked.data;
    const view = (await both.ask('approval.get', { approval_id })).data;
    const decision = { approval_id: view.approval_id, digest: view.digest, decision: 'approve' };
    const { error } = await both.ask('approval.decide', decision);
    assert.equal(error.code, 'AUTH_FAILED');
    assert.match(error.message, /who asked may not decide/);
  });

  test('for held changes and evidence, too; an agent is not', async () => {
    const held = { session_id: question.session_id, held: true, digest: '00000000' };
    const asAgent = await agent.ask('workspace.apply', held);
    assert.equal(asAgent.error?.code, 'AUTH_FAILED');
    using person = inside.as(callerOf('approver'));
    assert.equal((await person.ask('workspace.apply', held)).ok, true);
    const evidence = { kind: 'paths', path: inside.root, paths: ['p'], evidence: true };
    const unproved = await agent.ask('publish.check', evidence);
    assert.equal(unproved.error?.code, 'AUTH_FAILED');
    const proved = await person.ask('publish.check', evidence);
    assert.notEqual(proved.error?.code, 'AUTH_FAILED');
  });
});

describe('a link to the console', () => {
  const login = async (params: object = {}, caller: Caller = onSocket): Promise<Json> => {
    using asker = inside.as(caller);
    return await asker.ask('console.login', params);
  };
  const codeIn = (url: string): string => /#login=([\w-]{43})$/.exec(url)?.[1] ?? '';

  test('is given where there is a console alone', async () => {
    const { error } = await login();
    assert.equal(error.code, 'BACKEND_UNAVAILABLE');
  });

  test('logs a person in once, and is told to nobody else', async () => {
    inside.core.console.serveBy(async () => ({ origin: 'http://127.0.0.1:1' }));
    const { data } = await login();
    assert.ok(data.url.startsWith('http://127.0.0.1:1/#login='));
    const found = inside.identities.redeem(codeIn(data.url));
    assert.equal(found?.caller.proof, 'same_uid');
    assert.equal(inside.identities.redeem(codeIn(data.url)), null);
    using auditor = inside.as(callerOf('auditor'));
    const told = JSON.stringify((await auditor.ask('audit.list', { limit: 1_000 })).data);
    assert.ok(told.includes('"login.opened"') && told.includes('"console.login"'));
    for (const secret of [codeIn(data.url), found?.token ?? 'none']) {
      assert.ok(!told.includes(secret) && !inside.log().includes(secret));
    }
  });

  test('is not given on the pipes, whose other end is a program', async () => {
    const { error } = await login({}, { ...onSocket, authenticatedBy: 'parent-process' });
    assert.equal(error.code, 'AUTH_FAILED');
  });

  test('takes the passphrase where one is set; what was made without one ends', async () => {
    const before_ = inside.identities.redeem(codeIn((await login()).data.url));
    assert.ok(before_ !== null && inside.identities.callerOf(before_.token) !== null);
    const trl = path.join(inside.home, 'config', 'trl');
    const files = {
      file: path.join(trl, 'approver.json'),
      attemptsFile: path.join(inside.home, 'state', 'trl', 'approver-attempts.json'),
    };
    const enrolment = new Enrolment({ ...files, cost: { n: 2 ** 12, r: 8, p: 1 } });
    await enrolment.enrol('ann', passphrase, null);
    for (const params of [{}, { passphrase: 'wrong passphrase' }]) {
      assert.equal((await login(params)).error.code, 'AUTH_FAILED');
    }
    assert.equal(inside.identities.callerOf(before_.token), null);
    const { data } = await login({ passphrase });
    const found = inside.identities.redeem(codeIn(data.url));
    assert.deepEqual([found?.caller.actor, found?.caller.proof], ['person:ann', 'passphrase']);
  });
});
