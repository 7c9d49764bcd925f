// The token of one agent against everything of another's: each method of the wire on another's
// session, command, question, workspace and record answers as if there were nothing.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Caller } from '../src/command.ts';
import { Tokens } from '../src/identity/tokens.ts';
import { findMethod, methods } from '../src/api/methods.ts';
import { whyNoBox } from './support/box.ts';
import type { Json } from './support/daemon.ts';
import { onSocket, startInside, type Asker, type Inside } from './support/inside.ts';
import { eventually } from './support/processes.ts';

/** Ids of one agent's things, or of none. */
interface Ids {
  readonly session: string;
  readonly guarded: string;
  /** That ended, and changed files. */
  readonly exec: string;
  /** That runs. */
  readonly running: string;
  /** That waits for a person. */
  readonly waiting: string;
  readonly approval: string;
  readonly workspace: string;
  readonly tree: string;
  /** In the audit log, of its session. */
  readonly log: string;
  readonly seq: number;
}

const hex = (): string => randomBytes(16).toString('hex');
const absent: Ids = {
  session: `s-${hex()}`,
  guarded: `s-${hex()}`,
  exec: `x-${hex()}`,
  running: `x-${hex()}`,
  waiting: `x-${hex()}`,
  approval: `a-${hex()}`,
  workspace: `w-${hex()}`,
  tree: `tree:sha256:${hex()}${hex()}`,
  log: hex(),
  seq: 3,
};

type Params = (ids: Ids) => readonly object[];
const session: Params = ({ session: id }) => [{ session_id: id }];
const execs =
  (more: object = {}): Params =>
  ({ exec, running, waiting }) =>
    [exec, running, waiting].map((id) => ({ exec_id: id, ...more }));
const command =
  (more: object = {}): Params =>
  ({ session: id }) => [{ session_id: id, command: 'echo taken > taken.txt', ...more }];
const nothing: Params = () => [{}];

/** How each method is pointed at something of somebody. Those that end things come last. */
const attacks: Readonly<Record<string, Params>> = {
  'session.create': ({ workspace }) => [{ workspace_id: workspace }],
  'session.list': nothing,
  'session.info': session,
  'session.update': ({ session: id }) => [
    { session_id: id, name: 'taken' },
    { session_id: id, env: { A: 'b' }, unset: ['KEPT'] },
  ],
  'session.connections': session,
  'session.block_host': ({ session: id }) => [{ session_id: id, host: 'a.test' }],
  'session.show_port': ({ session: id }) => [{ session_id: id, port: 80 }],
  'session.hide_port': ({ session: id }) => [{ session_id: id, port: 80 }],
  'session.fork': session,
  'session.state': session,
  'exec.run': (ids) => [
    ...command()(ids),
    ...command({ exec_key: 'the-key' })(ids),
    ...command({ language: 'python' })(ids),
  ],
  'exec.stream': command(),
  'exec.start': (ids) => [...command()(ids), ...command({ exec_key: 'the-key' })(ids)],
  'exec.attach': execs(),
  'exec.read': execs(),
  'exec.write': execs({ data: 'taken\n' }),
  'exec.resize': execs({ columns: 5, rows: 5 }),
  'exec.lease': execs({ action: 'take' }),
  'exec.list': (ids) => [{}, ...session(ids)],
  'exec.info': execs(),
  'policy.explain': command(),
  'system.ping': nothing,
  'system.stats': nothing,
  'system.hello': nothing,
  'system.metrics': nothing,
  'system.watch': nothing,
  'runtime.list': nothing,
  'approval.list': (ids) => [{}, ...session(ids), { state: 'pending' }],
  'approval.get': ({ approval }) => [{ approval_id: approval }],
  'approval.decide': ({ approval }) => [
    { approval_id: approval, decision: 'approve', digest: '00000000' },
    { approval_id: approval, decision: 'deny', digest: '00000000', passphrase: 'guess a word' },
  ],
  'approval.watch': nothing,
  'approval.status': nothing,
  'secrets.list': nothing,
  'secrets.check': () => [{ name: 'CANARY_NAME' }],
  'secrets.request': () => [{ name: 'CANARY_NAME', reason: 'as the other one' }],
  'secrets.requests': nothing,
  'secrets.set': () => [{ name: 'CANARY_NAME', value: 'taken by the other agent' }],
  'secrets.inject': ({ session: id }) => [{ session_id: id, names: ['CANARY_NAME'] }],
  'secrets.delete': (ids) => [
    ...session(ids).map((one) => ({ name: 'CANARY_NAME', ...one })),
    { name: 'CANARY_NAME' },
  ],
  'workspace.trust': () => [{ path: '/nowhere' }],
  'workspace.forget': () => [{ path: '/nowhere' }],
  'workspace.list': nothing,
  'cache.list': nothing,
  'cache.clear': nothing,
  'workspace.open': () => [{ path: '/nowhere' }],
  'workspace.status': session,
  'workspace.diff': ({ exec, session: id }) => [{ exec_id: exec }, { session_id: id }],
  'workspace.apply': (ids) => [
    ...session(ids),
    { session_id: ids.session, held: true, digest: '00000000' },
  ],
  'workspace.discard': session,
  'snapshot.list': (ids) => [{}, ...session(ids)],
  'snapshot.get': ({ exec, tree }) => [{ exec_id: exec }, { id: tree }],
  'snapshot.restore': ({ exec, tree }) => [
    { exec_id: exec, dry_run: true },
    { id: tree, dry_run: true },
    { exec_id: exec },
    { id: tree },
  ],
  'exec.undo': ({ exec }) => [{ exec_id: exec, dry_run: true }, { exec_id: exec }],
  'publish.check': ({ exec, session: id, workspace }) => [
    { kind: 'exec', exec_id: exec },
    { kind: 'exec', exec_id: exec, output: true },
    { kind: 'changes', session_id: id },
    { kind: 'paths', session_id: id, paths: ['owned.txt'] },
    { kind: 'paths', workspace_id: workspace, paths: ['owned.txt'] },
  ],
  publish: ({ exec, session: id, workspace }) => [
    { kind: 'exec', exec_id: exec },
    { kind: 'changes', session_id: id },
    { kind: 'paths', workspace_id: workspace, paths: ['owned.txt'] },
  ],
  'audit.list': (ids) => [
    {},
    { actor: 'token:y' },
    ...session(ids),
    { session_id: ids.session, exec_id: ids.exec },
    { session_id: ids.session, kinds: ['session.*'] },
  ],
  'audit.get': ({ log, seq, session: id }) => [
    { log, seq },
    { log, seq, session_id: id },
  ],
  'audit.verify': () => [{}, { passphrase: 'guess a word' }],
  'tool.list': session,
  'tool.call': ({ session: id }) => [{ name: 'terminal', arguments: {}, session_id: id }],
  'tool.register': () => [{ name: 'taken', description: 'x', input_schema: { type: 'object' } }],
  'tool.answer': () => [{ call_id: hex(), result: {} }],
  'console.login': () => [{}, { passphrase: 'guess a word' }],
  'exec.cancel': (ids) => [...execs()(ids), ...session(ids), { session_id: ids.guarded }],
  'session.destroy': ({ session: id, guarded }) => [
    { session_id: id },
    { session_id: id, force: true },
    { session_id: guarded, force: true },
  ],
};

/** Answers of lists, which say nothing rather than that something is not there. */
const lists = new Set(['exec.list', 'approval.list', 'snapshot.list', 'audit.list']);

test('no method of the wire is forgotten here, nor any parameter that names a thing', () => {
  for (const [name, { params }] of Object.entries(methods)) {
    assert.ok(Object.hasOwn(attacks, name), `${name} has no attack`);
    const { shape } = params;
    const row: Json = methods[findMethod(name)].owns;
    for (const id of ['session_id', 'exec_id', 'approval_id', 'workspace_id']) {
      if (!Object.hasOwn(shape, id)) continue;
      const isOwn = row.own?.includes(id) === true;
      const isListed = row.listed === true;
      assert.ok(isOwn || isListed, `${name} takes ${id} and does not say whose`);
    }
  }
});

describe('another agent', { skip: whyNoBox }, () => {
  let inside: Inside;
  let callers: { readonly x: Caller; readonly y: Caller };
  let theirs: Ids;
  let y: Asker;

  before(async () => {
    inside = await startInside({ TRL_POLICY: 'auto' });
    callers = { x: callerNamed('x'), y: callerNamed('y') };
    y = inside.as(callers.y);
    theirs = await things(inside, y);
  });
  after(async () => {
    await inside[Symbol.asyncDispose]();
  });

  function callerNamed(name: string): Caller {
    const tokens = new Tokens(path.join(inside.home, 'state', 'trl', 'tokens.json'));
    const caller = inside.identities.callerOf(tokens.create({ name, roles: ['agent'] }).token);
    assert.ok(caller !== null);
    return caller;
  }

  test('is told of nothing, and changes nothing, by any method', async () => {
    using x = inside.as(callers.x);
    const before_ = await stand(inside, theirs);
    const { seq: _, ...ids } = theirs;
    const canaries = [...Object.values(ids), 'CANARY', 'canary', '/y'];
    for (const name of Object.keys(methods)) {
      const aimed = attacks[name]?.(theirs) ?? [];
      const missed = attacks[name]?.(absent) ?? [];
      for (const [at, params] of aimed.entries()) {
        const hit = neutral(await x.ask(name, params), theirs);
        const miss = neutral(await x.ask(name, missed[at]), absent);
        const what = `${name} ${JSON.stringify(params)}`;
        const isAimed = JSON.stringify(params) !== JSON.stringify(missed[at]);
        if (isAimed) assert.deepEqual(hit, miss, what);
        if (name.startsWith('secrets.')) continue;
        const said = JSON.stringify(hit);
        for (const canary of canaries) assert.ok(!said.includes(canary), `${what}: ${said}`);
      }
    }
    // What it watches by now tells of its own alone, also of what comes later.
    await y.ask('exec.run', { session_id: theirs.session, command: 'echo canary again' });
    const own = await x.ask('session.create', { name: 'of-x' });
    await eventually(
      'its own session is told',
      () =>
        !Object.hasOwn(methods, 'system.watch') ||
        JSON.stringify(x.events).includes(own.data.session_id),
    );
    for (const canary of canaries) assert.ok(!JSON.stringify(x.events).includes(canary), canary);
    assert.deepEqual(await stand(inside, theirs), before_);
    await x.ask('session.destroy', { session_id: own.data.session_id });
  });

  test('is not told of requests for secrets that are not its own', async () => {
    using z = inside.as(callerNamed('z'));
    const { data } = await z.ask('secrets.requests');
    assert.deepEqual(data.requests, []);
  });

  test('cannot write by frames to a command that it may only watch', async () => {
    const auditor: Caller = { ...callers.x, actor: 'token:auditor', roles: ['auditor'] };
    await assert.rejects(
      inside.core.gate.authorizeParams('exec.write', { exec_id: theirs.running }, auditor),
      /"auditor" may not/,
    );
  });

  test('that is an auditor too looks at everything, and runs in own sessions only', async () => {
    const both: Caller = { ...callers.x, roles: ['agent', 'auditor'], proof: 'passphrase' };
    using x = inside.as(both);
    const seen = await x.ask('session.info', { session_id: theirs.session });
    assert.equal(seen.data?.session_id, theirs.session);
    const ran = await x.ask('exec.run', { session_id: theirs.session, command: 'true' });
    assert.equal(ran.error?.code, 'SESSION_NOT_FOUND');
  });

  test('is refused on what it has open, as soon as its token is revoked', async () => {
    const gone = callerNamed('gone');
    using asker = inside.as(gone);
    const { data } = await asker.ask('session.create', {});
    new Tokens(path.join(inside.home, 'state', 'trl', 'tokens.json')).revoke('gone');
    for (const [method, params] of [
      ['system.ping', {}],
      ['session.info', data],
      ['exec.run', { session_id: data.session_id, command: 'true' }],
    ] as const) {
      assert.equal((await asker.ask(method, params)).error?.code, 'AUTH_FAILED', method);
    }
  });

  test('has own keys for own commands: the same words of another attach to nothing', async () => {
    using x = inside.as(callers.x);
    const { data: made } = await x.ask('session.create', {});
    const params = { session_id: made.session_id, command: 'echo mine', exec_key: 'the-key' };
    const { data } = await x.ask('exec.run', params);
    assert.equal(data.stdout, 'mine\n');
    await x.ask('session.destroy', { session_id: made.session_id });
  });

  test('does to its own what the same calls did not do to the other', async () => {
    for (const [name, params] of Object.entries(attacks)) {
      if (!Object.hasOwn(methods, name)) continue;
      const row: Json = methods[findMethod(name)].roles;
      if (!Array.isArray(row) || !row.includes('agent') || name.startsWith('secrets.')) continue;
      for (const [at, one] of params(theirs).entries()) {
        const isAimed = JSON.stringify(one) !== JSON.stringify(params(absent)[at]);
        if (!isAimed) continue;
        using asker = inside.as(callers.y);
        const hit = neutral(await asker.ask(name, one), theirs);
        const miss = neutral(await asker.ask(name, params(absent)[at]), absent);
        const isSameAnyway = lists.has(name) || name === 'audit.get' || name === 'session.destroy';
        if (!isSameAnyway) assert.notDeepEqual(hit, miss, `${name} ${JSON.stringify(one)}`);
      }
    }
    // Its sessions are gone by now; what they left is its own still, and nobody else's.
    const mine = await y.ask('snapshot.get', { exec_id: theirs.exec });
    assert.equal(mine.data?.exec_id, theirs.exec, JSON.stringify(mine));
    const events = await y.ask('audit.list', { session_id: theirs.session });
    assert.ok(events.data.events.length > 0);
    using x = inside.as(callers.x);
    const other = await x.ask('snapshot.get', { exec_id: theirs.exec });
    assert.equal(other.error?.code, 'EXEC_NOT_FOUND');
    const none = await x.ask('audit.list', { session_id: theirs.session });
    assert.deepEqual(none.data, { events: [], truncated: false });
  });
});

/** What one agent has: two sessions, commands in all states, a question, a workspace, records. */
async function things(inside: Inside, y: Asker): Promise<Ids> {
  const place = path.join(inside.root, 'y');
  mkdirSync(place);
  const take = async (method: string, params: object): Promise<Json> => {
    const answer = await y.ask(method, params);
    assert.equal(answer.ok, true, JSON.stringify([method, answer]));
    return answer.data;
  };
  const made = { working_dir: place, name: 'CANARY', env: { KEPT: 'canary' } };
  const { session_id: id } = await take('session.create', made);
  const write = { session_id: id, command: 'echo canary > owned.txt', exec_key: 'the-key' };
  const { exec_id: exec } = await take('exec.run', write);
  const wait = { session_id: id, command: 'cat; sleep 600', stdin_open: true };
  const { exec_id: running } = await take('exec.start', wait);
  const { session_id: guarded } = await take('session.create', { ...made, policy: 'guarded' });
  const asked = { session_id: guarded, command: 'curl http://canary.example' };
  const parked = await y.ask('exec.run', asked);
  assert.equal(parked.error?.code, 'APPROVAL_REQUIRED', JSON.stringify(parked));
  const { workspace_id: workspace } = await take('workspace.open', { path: inside.root });
  await take('secrets.request', { name: 'CANARY_NAME', reason: 'canary' });
  const { after: tree } = await take('snapshot.get', { exec_id: exec });
  const { events } = await take('audit.list', { session_id: id });
  const { log, seq } = events[0];
  const { approval_id: approval, exec_id: waiting } = parked.data;
  return { session: id, guarded, exec, running, waiting, approval, workspace, tree, log, seq };
}

/** How all of it stands, as its owner on the socket sees it. */
async function stand(inside: Inside, ids: Ids): Promise<Json> {
  using socket = inside.as(onSocket);
  const look = async (method: string, params: object): Promise<Json> =>
    (await socket.ask(method, params)).data;
  const {
    name,
    env_keys: keys,
    injected,
  } = await look('session.info', { session_id: ids.session });
  const states: string[] = [];
  for (const id of [ids.exec, ids.running, ids.waiting]) {
    const { state, journal_bytes: bytes } = await look('exec.info', { exec_id: id });
    states.push(`${state} ${state === 'running' ? bytes : ''}`);
  }
  const approval = await look('approval.get', { approval_id: ids.approval });
  const file = path.join(inside.root, 'y', 'owned.txt');
  return {
    name,
    keys,
    injected,
    states,
    approval: approval.state,
    text: existsSync(file) ? readFileSync(file, 'utf8') : null,
    taken: existsSync(path.join(inside.root, 'y', 'taken.txt')),
  };
}

/** An answer with the ids that it was asked by replaced, and without what changes by itself. */
function neutral(answer: Json, ids: Ids): Json {
  let text = JSON.stringify({ ok: answer.ok, data: answer.data, error: answer.error });
  for (const [name, id] of Object.entries(ids)) {
    const said = typeof id === 'string' ? id : `event ${String(id)}`;
    text = text.replaceAll(said, `<${name}>`);
  }
  const own =
    /"(?:stream_id|uptime_s|memory_rss_bytes|open_fds|requested_at|expires_at)":(?:"[^"]*"|\d+)/g;
  return JSON.parse(text.replaceAll(own, '"own":0'));
}
