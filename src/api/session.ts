/** The methods `session.*`. */
import * as z from 'zod/mini';
import {
  created,
  define,
  get,
  ownership,
  pages,
  patch,
  remove,
  roles,
  sessionPath,
} from './define.ts';
import * as field from './fields.ts';
import * as shared from './shared.ts';
import { cacheTools } from '../caches.ts';
import { workspaceModes } from '../change.ts';
import { envModes } from '../names.ts';
import { secretSource } from './secrets.ts';

const pathRules = z.strictObject(
  { allow: z.exactOptional(field.patterns), deny: z.exactOptional(field.patterns) },
  { error: 'an object with "allow" and "deny"' },
);

const sessionCreate = z.object({
  shell: z.exactOptional(field.path),
  env: z.exactOptional(field.environment),
  env_keys: z.exactOptional(field.environmentNames),
  working_dir: z.exactOptional(field.path),
  name: z.exactOptional(field.name),
  timeout_s: z.exactOptional(field.timeoutSeconds),
  timeout_ms: z.exactOptional(field.timeoutMs),
  files: z.exactOptional(
    z.strictObject(
      { read: z.exactOptional(pathRules), write: z.exactOptional(pathRules) },
      { error: 'an object with "read" and "write"' },
    ),
  ),
  network: z.exactOptional(z.enum(['off', 'on'], { error: '"off" or "on"' })),
  sandbox: z.exactOptional(z.enum(['bubblewrap', 'none'], { error: '"bubblewrap" or "none"' })),
  limits: z.exactOptional(field.limitParams),
  carry: z.exactOptional(
    z.enum(['none', 'cwd+env', 'shell'], { error: '"none", "cwd+env" or "shell"' }),
  ),
  policy: z.exactOptional(field.policyProfile),
  workspace_id: z.exactOptional(field.workspaceId),
  workspace_mode: z.exactOptional(field.workspaceMode),
  lifetime: z.exactOptional(z.enum(['kept', 'client'], { error: '"kept" or "client"' })),
  umask: z.exactOptional(
    z.string().check(z.regex(/^0?[0-7]{3}$/, { error: 'three octal digits, such as "027"' })),
  ),
  search_path: z.exactOptional(field.searchPath),
  share_cache: z.exactOptional(
    z.array(z.enum(cacheTools), { error: `an array of ${cacheTools.join(', ')}` }),
  ),
});

/** The tiers of a session's environment, by name. */
export const environment = z.object({
  mode: z.enum(envModes),
  safe: shared.names,
  inherited: shared.names,
  session: shared.names,
  requested: z.array(
    z.object({
      name: z.string(),
      source: z.enum([...secretSource.options, 'runtime', 'missing']),
    }),
  ),
  withheld_seen: shared.names,
});

export const session = z.object({
  session_id: shared.sessionId,
  name: shared.nullableText,
  state: z.enum(['creating', 'idle', 'running', 'terminated']),
  shell: z.string(),
  shell_resolved: z.exactOptional(z.string()),
  working_dir: z.string(),
  workspace: shared.nullableText,
  workspace_id: z.exactOptional(shared.workspaceId),
  workspace_mode: z.exactOptional(z.enum(workspaceModes)),
  created_at: shared.time,
  last_activity: shared.time,
  env_keys: shared.names,
  injected: shared.names,
  command_count: shared.count,
  timeout_s: shared.count,
  network: shared.network,
  sandbox: shared.sandboxKind,
  share_cache: z.exactOptional(shared.sharedCaches),
  assurance: z.nullable(shared.assurance),
  typed_secrets: z.exactOptional(shared.names),
  environment: z.exactOptional(environment),
});

/** Every `session` method: its parameters, its answer and its rules. */
export const sessionMethods = {
  'session.create': define({
    params: sessionCreate,
    answer: session,
    roles: roles.agent,
    owns: { own: ['workspace_id'] },
    lane: 'in-turn',
    http: [
      {
        ...created,
        path: '/v1/sessions',
        about: 'Create a session',
        location: sessionPath,
      },
    ],
    audit: {
      kind: 'session.created',
      params: [
        'name',
        'working_dir',
        'workspace_id',
        'workspace_mode',
        'files',
        'network',
        'sandbox',
        'share_cache',
        'policy',
      ],
      answer: ['session_id', 'shell', 'working_dir'],
    },
  }),
  'session.list': define({
    params: field.noParams,
    answer: z.object({ sessions: z.array(session) }),
    roles: roles.everybody,
    owns: ownership.none,
    lane: 'in-turn',
    http: [
      {
        ...get,
        path: '/v1/sessions',
        about: 'List sessions',
        page: { ...pages, items: 'sessions', key: 'session_id' },
      },
    ],
    audit: null,
  }),
  'session.info': define({
    params: field.ofSession,
    answer: session,
    roles: roles.everybody,
    owns: ownership.session,
    lane: 'in-turn',
    http: [{ ...get, path: sessionPath, about: 'Look at a session' }],
    audit: null,
  }),
  'session.destroy': define({
    params: z.extend(field.ofSession, { force: z.exactOptional(field.flag) }),
    answer: z.object({
      session_id: shared.sessionId,
      state: z.literal('terminated'),
    }),
    roles: roles.agent,
    owns: ownership.session,
    lane: 'at-once',
    http: [
      {
        ...remove,
        path: sessionPath,
        about: 'End a session and what runs in it',
        query: { force: 'boolean' },
      },
    ],
    audit: { kind: 'session.destroyed', params: ['force'], answer: [], ends: true },
  }),
  'session.update': define({
    params: z.extend(field.ofSession, {
      name: z.exactOptional(field.name),
      timeout_s: z.exactOptional(field.timeoutSeconds),
      env: z.exactOptional(field.environment),
      unset: z.exactOptional(field.environmentNames),
      state_of: z.exactOptional(field.sessionId),
    }),
    answer: session,
    roles: roles.agent,
    owns: { own: ['session_id', 'state_of'] },
    lane: 'in-turn',
    http: [
      {
        ...patch,
        path: sessionPath,
        about: 'Change the name, the time-out or the variables of a session',
      },
    ],
    audit: {
      kind: 'session.updated',
      params: ['name', 'unset', 'state_of'],
      answer: ['session_id'],
    },
  }),
  'session.fork': define({
    params: z.extend(field.ofSession, { name: z.exactOptional(field.name) }),
    answer: session,
    roles: roles.agent,
    owns: ownership.session,
    lane: 'in-turn',
    http: [
      {
        ...created,
        path: `${sessionPath}/fork`,
        about: 'Make a session that begins where this one is',
        location: sessionPath,
      },
    ],
    audit: { kind: 'session.created', params: ['name'], answer: ['session_id'] },
  }),
  'session.state': define({
    params: field.ofSession,
    answer: z.object({
      session_id: shared.sessionId,
      cwd: shared.nullableText,
      names: shared.names,
    }),
    roles: roles.everybody,
    owns: ownership.session,
    lane: 'in-turn',
    http: [
      {
        ...get,
        path: `${sessionPath}/state`,
        about: 'The directory and the names of the variables that the next command finds',
      },
    ],
    audit: null,
  }),
} as const;
