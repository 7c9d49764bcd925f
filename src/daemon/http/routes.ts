/**
 * What HTTP offers, as plain data: which path stands for which method of the wire. Parameters of
 * the method come out of the path by the names in braces, out of the query where a row lists
 * them, and out of the body's JSON object: all of them are the method's own parameters, under
 * their own names. The answer is the `data` that the wire answers.
 */
import type { MethodName } from '../../protocol/methods.ts';
import type { Route } from './route.ts';
import { get, none, pages, post, json, system } from './routes-system.ts';

const created = { ...post, status: 201 } as const;
const remove = { ...json, method: 'DELETE', body: false, query: none } as const;

const run = {
  ...post,
  call: 'exec.run',
  idempotency: 'exec_key',
  modes: {
    detached: { call: 'exec.start', status: 202, answer: 'json' },
    stream: { call: 'exec.stream', status: 200, answer: 'events' },
  },
  location: '/v1/execs/{exec_id}',
} as const;
const sessionPath = '/v1/sessions/{session_id}';
const execPath = '/v1/execs/{exec_id}';

const sessions = [
  {
    ...get,
    path: '/v1/sessions',
    call: 'session.list',
    about: 'List sessions',
    page: { ...pages, items: 'sessions', key: 'session_id' },
  },
  {
    ...created,
    path: '/v1/sessions',
    call: 'session.create',
    about: 'Create a session',
    location: sessionPath,
  },
  { ...get, path: sessionPath, call: 'session.info', about: 'Look at a session' },
  {
    ...json,
    method: 'PATCH',
    path: sessionPath,
    call: 'session.update',
    about: 'Change the name, the time-out or the variables of a session',
    body: true,
    query: none,
  },
  {
    ...remove,
    path: sessionPath,
    call: 'session.destroy',
    about: 'End a session and what runs in it',
    query: { force: 'boolean' },
  },
  {
    ...created,
    path: `${sessionPath}/fork`,
    call: 'session.fork',
    about: 'Make a session that begins where this one is',
    location: sessionPath,
  },
  {
    ...get,
    path: `${sessionPath}/state`,
    call: 'session.state',
    about: 'The directory and the names of the variables that the next command finds',
  },
  {
    ...post,
    path: `${sessionPath}/cancel`,
    call: 'exec.cancel',
    about: 'End what runs in a session, or send it a signal',
  },
  {
    ...post,
    path: `${sessionPath}/secrets`,
    call: 'secrets.inject',
    about: 'Give secrets, by their names, to each later command of a session',
  },
  {
    ...remove,
    path: `${sessionPath}/secrets/{name}`,
    call: 'secrets.delete',
    about: 'Give a secret to no later command of a session',
  },
  {
    ...get,
    path: `${sessionPath}/workspace`,
    call: 'workspace.status',
    about: 'What commands of a session changed and what of it waits',
  },
  {
    ...get,
    path: `${sessionPath}/diff`,
    call: 'workspace.diff',
    about: 'What waits in a session, as a diff',
    query: { context: 'integer', paths: 'list', paths_base64: 'list' },
  },
  {
    ...post,
    path: `${sessionPath}/apply`,
    call: 'workspace.apply',
    about: 'Let what waits reach the real tree',
  },
  {
    ...post,
    path: `${sessionPath}/discard`,
    call: 'workspace.discard',
    about: 'Throw away what waits',
  },
] as const satisfies readonly Route[];

const execs = [
  { ...run, path: `${sessionPath}/execs`, about: 'Run a command in a session' },
  {
    ...get,
    path: `${sessionPath}/execs`,
    call: 'exec.list',
    about: 'List the commands of a session',
    page: { ...pages, items: 'execs', key: 'exec_id' },
  },
  { ...run, path: '/v1/execs', about: 'Run a command' },
  {
    ...get,
    path: '/v1/execs',
    call: 'exec.list',
    about: 'List commands',
    query: { session_id: 'text' },
    page: { ...pages, items: 'execs', key: 'exec_id' },
  },
  { ...get, path: execPath, call: 'exec.info', about: 'Look at a command' },
  {
    ...get,
    path: `${execPath}/output`,
    call: 'exec.read',
    about: 'Read output from an offset on, waiting for some if asked to',
    query: {
      from: 'integer',
      max: 'integer',
      wait_ms: 'integer',
      until: 'text',
      grep: 'text',
      tail: 'integer',
    },
  },
  {
    ...get,
    path: `${execPath}/stream`,
    call: 'exec.attach',
    about: 'Follow output as server-sent events',
    answer: 'events',
    query: { from: 'integer' },
  },
  {
    ...get,
    path: `${execPath}/ws`,
    call: 'exec.attach',
    about: 'Follow output and write input over a WebSocket',
    answer: 'websocket',
    query: { from: 'integer' },
  },
  {
    ...post,
    path: `${execPath}/input`,
    call: 'exec.write',
    about: 'Write to the standard input of a command',
  },
  {
    ...post,
    path: `${execPath}/resize`,
    call: 'exec.resize',
    about: 'Change the size of the terminal of a command',
  },
  {
    ...post,
    path: `${execPath}/lease`,
    call: 'exec.lease',
    about: 'Take a command over, or hand it back',
  },
  {
    ...post,
    path: `${execPath}/cancel`,
    call: 'exec.cancel',
    about: 'End a command, or send it a signal',
  },
  {
    ...post,
    path: `${execPath}/undo`,
    call: 'exec.undo',
    about: 'Take back what a command changed',
  },
  {
    ...get,
    path: `${execPath}/diff`,
    call: 'workspace.diff',
    about: 'What a command changed, as a diff',
    query: { context: 'integer', paths: 'list', paths_base64: 'list' },
  },
  {
    ...get,
    path: `${execPath}/snapshot`,
    call: 'snapshot.get',
    about: 'What a command changed, path by path',
    query: { from: 'integer', limit: 'integer', content: 'text' },
  },
  {
    ...post,
    path: `${execPath}/restore`,
    call: 'snapshot.restore',
    about: 'Restore what stood there before a command ran',
  },
] as const satisfies readonly Route[];

const people = [
  {
    ...get,
    path: '/v1/approvals',
    call: 'approval.list',
    about: 'List questions to people',
    query: { state: 'text', session_id: 'text' },
    page: { ...pages, items: 'approvals', key: 'approval_id' },
  },
  {
    ...get,
    path: '/v1/approvals/{approval_id}',
    call: 'approval.get',
    about: 'Look at a question',
  },
  {
    ...post,
    path: '/v1/approvals/{approval_id}/decision',
    call: 'approval.decide',
    about: 'Answer a question',
  },
  {
    ...get,
    path: '/v1/approval-events',
    call: 'approval.watch',
    about: 'Follow questions to people as server-sent events',
    answer: 'events',
  },
  {
    ...get,
    path: '/v1/approver',
    call: 'approval.status',
    about: 'Whether a person is enrolled, and what policy wants of one',
  },
  {
    ...post,
    path: '/v1/policy/explain',
    call: 'policy.explain',
    about: 'What policy would say of a command; nothing runs',
  },
  {
    ...get,
    path: '/v1/secrets',
    call: 'secrets.list',
    about: 'List secrets by their names',
    page: { ...pages, items: 'secrets', key: 'name' },
  },
  {
    ...get,
    path: '/v1/secrets/{name}',
    call: 'secrets.check',
    about: 'Whether a secret can be given to a command',
  },
  {
    ...json,
    method: 'PUT',
    path: '/v1/secrets/{name}',
    call: 'secrets.set',
    about: 'Give the value of a secret; nothing ever answers it',
    body: true,
    query: none,
  },
  {
    ...remove,
    path: '/v1/secrets/{name}',
    call: 'secrets.delete',
    about: 'Forget the value of a secret',
  },
  {
    ...get,
    path: '/v1/secret-requests',
    call: 'secrets.requests',
    about: 'List the secrets that people are asked for',
  },
  {
    ...post,
    path: '/v1/secret-requests',
    call: 'secrets.request',
    about: 'Ask a person for a secret',
  },
] as const satisfies readonly Route[];

const records = [
  {
    ...created,
    path: '/v1/workspaces',
    call: 'workspace.open',
    about: 'Open a workspace with rules of its own',
  },
  {
    ...get,
    path: '/v1/snapshots',
    call: 'snapshot.list',
    about: 'List what commands changed',
    query: { session_id: 'text', path: 'text' },
    page: { items: 'snapshots', key: 'exec_id', by: 'limited', usual: 50, max: 1_000 },
  },
  {
    ...get,
    path: '/v1/snapshots/{id}',
    call: 'snapshot.get',
    about: 'Look at a snapshot, path by path',
    query: { from: 'integer', limit: 'integer', content: 'text' },
  },
  {
    ...post,
    path: '/v1/snapshots/{id}/restore',
    call: 'snapshot.restore',
    about: 'Restore a snapshot',
  },
  {
    ...post,
    path: '/v1/publications/check',
    call: 'publish.check',
    about: 'Whether something may leave, and why not',
  },
  {
    ...created,
    path: '/v1/publications',
    call: 'publish',
    about: 'Lay out what was checked, so that it can leave',
  },
  {
    ...get,
    path: '/v1/audit',
    call: 'audit.list',
    about: 'List what was recorded, newest first',
    query: {
      session_id: 'text',
      exec_id: 'text',
      kinds: 'list',
      actor: 'text',
      since: 'text',
      until: 'text',
    },
    page: { items: 'events', key: 'at', by: 'time', usual: 100, max: 500 },
  },
  {
    ...get,
    path: '/v1/audit/{log}/{seq}',
    call: 'audit.get',
    about: 'Look at one recorded event',
    query: { session_id: 'text' },
  },
  {
    ...post,
    path: '/v1/audit/verify',
    call: 'audit.verify',
    about: 'Check the audit log from end to end',
  },
] as const satisfies readonly Route[];

/** In no order that matters: a literal segment of a path wins over one in braces. */
export const routes: readonly Route[] = [...sessions, ...execs, ...people, ...records, ...system];

/** Parameters of a path that are numbers; the others are text. */
export const integersInPaths: ReadonlySet<string> = new Set(['seq']);

/** Methods of the wire that no path stands for, and why. */
export const unrouted: Readonly<Partial<Record<MethodName, string>>> = {
  'system.hello': 'it is about a connection; GET /rpc',
  'console.login': 'it makes the link by which a person logs in here',
  'workspace.trust': 'it is for the socket of the runtime alone',
  'workspace.forget': 'it is for the socket of the runtime alone',
  'workspace.list': 'it is for the socket of the runtime alone',
  'cache.list': 'it is for the socket of the runtime alone',
  'cache.clear': 'it is for the socket of the runtime alone',
  'tool.register': 'calls come on the connection that registers; GET /rpc',
  'tool.answer': 'calls come on the connection that registers; GET /rpc',
};

export { doorRoutes } from './routes-system.ts';
