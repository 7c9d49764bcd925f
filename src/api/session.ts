/** The methods `session.*`. */
import * as z from 'zod/mini';
import {
  createRoute,
  defineMethod,
  getRoute,
  ownershipRules,
  wholeListPaging,
  patchRoute,
  deleteRoute,
  permittedRoles,
  sessionRoutePath,
} from './define-method.ts';
import * as field from './param-fields.ts';
import * as shared from './answer-fields.ts';
import { cacheTools } from '../caches.ts';
import { workspaceModes } from '../change.ts';
import { envModes } from '../variable-names.ts';
import { secretSourceSchema } from './secrets.ts';

const pathRules = z.strictObject(
  { allow: z.exactOptional(field.patternsParam), deny: z.exactOptional(field.patternsParam) },
  { error: 'an object with "allow" and "deny"' },
);

const sessionCreate = z.object({
  shell: z.exactOptional(field.pathParam),
  env: z.exactOptional(field.environmentParam),
  env_keys: z.exactOptional(field.environmentNamesParam),
  working_dir: z.exactOptional(field.pathParam),
  name: z.exactOptional(field.nameParam),
  timeout_s: z.exactOptional(field.timeoutSecondsParam),
  timeout_ms: z.exactOptional(field.timeoutMsParam),
  files: z.exactOptional(
    z.strictObject(
      { read: z.exactOptional(pathRules), write: z.exactOptional(pathRules) },
      { error: 'an object with "read" and "write"' },
    ),
  ),
  network: z.exactOptional(z.enum(['off', 'on'], { error: '"off" or "on"' })),
  sandbox: z.exactOptional(z.enum(['bubblewrap', 'none'], { error: '"bubblewrap" or "none"' })),
  limits: z.exactOptional(field.limitsParam),
  carry: z.exactOptional(
    z.enum(['none', 'cwd+env', 'shell'], { error: '"none", "cwd+env" or "shell"' }),
  ),
  policy: z.exactOptional(field.policyProfileParam),
  workspace_id: z.exactOptional(field.workspaceIdParam),
  workspace_mode: z.exactOptional(field.workspaceModeParam),
  lifetime: z.exactOptional(z.enum(['kept', 'client'], { error: '"kept" or "client"' })),
  umask: z.exactOptional(
    z.string().check(z.regex(/^0?[0-7]{3}$/, { error: 'three octal digits, such as "027"' })),
  ),
  search_path: z.exactOptional(field.searchPathParam),
  share_cache: z.exactOptional(
    z.array(z.enum(cacheTools), { error: `an array of ${cacheTools.join(', ')}` }),
  ),
});

/** The tiers of a session's environment, by name. */
export const environmentSchema = z.object({
  mode: z.enum(envModes),
  safe: shared.nameListSchema,
  inherited: shared.nameListSchema,
  session: shared.nameListSchema,
  requested: z.array(
    z.object({
      name: z.string(),
      source: z.enum([...secretSourceSchema.options, 'runtime', 'missing']),
    }),
  ),
  withheld_seen: shared.nameListSchema,
});

export const sessionSchema = z.object({
  session_id: shared.sessionIdSchema,
  name: shared.nullableTextSchema,
  state: z.enum(['creating', 'idle', 'running', 'terminated']),
  shell: z.string(),
  shell_resolved: z.exactOptional(z.string()),
  working_dir: z.string(),
  workspace: shared.nullableTextSchema,
  workspace_id: z.exactOptional(shared.workspaceIdSchema),
  workspace_mode: z.exactOptional(z.enum(workspaceModes)),
  created_at: shared.timestampSchema,
  last_activity: shared.timestampSchema,
  env_keys: shared.nameListSchema,
  injected: shared.nameListSchema,
  command_count: shared.countSchema,
  timeout_s: shared.countSchema,
  network: shared.networkSchema,
  sandbox: shared.sandboxKindSchema,
  share_cache: z.exactOptional(shared.sharedCachesSchema),
  assurance: z.nullable(shared.assuranceSchema),
  typed_secrets: z.exactOptional(shared.nameListSchema),
  environment: z.exactOptional(environmentSchema),
});

/** Every `session` method: its parameters, its answer and its rules. */
export const sessionMethods = {
  'session.create': defineMethod({
    params: sessionCreate,
    answer: sessionSchema,
    roles: permittedRoles.agent,
    owns: { own: ['workspace_id'] },
    lane: 'in-turn',
    http: [
      {
        ...createRoute,
        path: '/v1/sessions',
        about: 'Create a session',
        location: sessionRoutePath,
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
  'session.list': defineMethod({
    params: field.emptyParams,
    answer: z.object({ sessions: z.array(sessionSchema) }),
    roles: permittedRoles.everybody,
    owns: ownershipRules.none,
    lane: 'in-turn',
    http: [
      {
        ...getRoute,
        path: '/v1/sessions',
        about: 'List sessions',
        page: { ...wholeListPaging, items: 'sessions', key: 'session_id' },
      },
    ],
    audit: null,
  }),
  'session.info': defineMethod({
    params: field.sessionParamsObject,
    answer: sessionSchema,
    roles: permittedRoles.everybody,
    owns: ownershipRules.session,
    lane: 'in-turn',
    http: [{ ...getRoute, path: sessionRoutePath, about: 'Look at a session' }],
    audit: null,
  }),
  'session.destroy': defineMethod({
    params: z.extend(field.sessionParamsObject, { force: z.exactOptional(field.booleanParam) }),
    answer: z.object({
      session_id: shared.sessionIdSchema,
      state: z.literal('terminated'),
    }),
    roles: permittedRoles.agent,
    owns: ownershipRules.session,
    lane: 'at-once',
    http: [
      {
        ...deleteRoute,
        path: sessionRoutePath,
        about: 'End a session and what runs in it',
        query: { force: 'boolean' },
      },
    ],
    audit: { kind: 'session.destroyed', params: ['force'], answer: [], ends: true },
  }),
  'session.update': defineMethod({
    params: z.extend(field.sessionParamsObject, {
      name: z.exactOptional(field.nameParam),
      timeout_s: z.exactOptional(field.timeoutSecondsParam),
      env: z.exactOptional(field.environmentParam),
      unset: z.exactOptional(field.environmentNamesParam),
      state_of: z.exactOptional(field.sessionIdParam),
    }),
    answer: sessionSchema,
    roles: permittedRoles.agent,
    owns: { own: ['session_id', 'state_of'] },
    lane: 'in-turn',
    http: [
      {
        ...patchRoute,
        path: sessionRoutePath,
        about: 'Change the name, the time-out or the variables of a session',
      },
    ],
    audit: {
      kind: 'session.updated',
      params: ['name', 'unset', 'state_of'],
      answer: ['session_id'],
    },
  }),
  'session.fork': defineMethod({
    params: z.extend(field.sessionParamsObject, { name: z.exactOptional(field.nameParam) }),
    answer: sessionSchema,
    roles: permittedRoles.agent,
    owns: ownershipRules.session,
    lane: 'in-turn',
    http: [
      {
        ...createRoute,
        path: `${sessionRoutePath}/fork`,
        about: 'Make a session that begins where this one is',
        location: sessionRoutePath,
      },
    ],
    audit: { kind: 'session.created', params: ['name'], answer: ['session_id'] },
  }),
  'session.state': defineMethod({
    params: field.sessionParamsObject,
    answer: z.object({
      session_id: shared.sessionIdSchema,
      cwd: shared.nullableTextSchema,
      names: shared.nameListSchema,
    }),
    roles: permittedRoles.everybody,
    owns: ownershipRules.session,
    lane: 'in-turn',
    http: [
      {
        ...getRoute,
        path: `${sessionRoutePath}/state`,
        about: 'The directory and the names of the variables that the next command finds',
      },
    ],
    audit: null,
  }),
} as const;
