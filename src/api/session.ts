/** The methods `session.*`. */
import { requestedNetworkModes } from '../network-access.ts';
import * as z from 'zod/mini';
import type { ParamsOf, TypeOf } from './define-method.ts';
import {
  postRoute,
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
  /** Names of secrets and of the runtime's variables that each command of the session gets. */
  env_keys: z.exactOptional(field.environmentNamesParam),
  working_dir: z.exactOptional(field.pathParam),
  name: z.exactOptional(field.nameParam),
  /** Default time-out of the session's commands; 0 means the runtime's default. */
  timeout_s: z.exactOptional(field.timeoutSecondsParam),
  timeout_ms: z.exactOptional(field.timeoutMsParam),
  files: z.exactOptional(
    z.strictObject(
      { read: z.exactOptional(pathRules), write: z.exactOptional(pathRules) },
      { error: 'an object with "read" and "write"' },
    ),
  ),
  /** `on`: an earlier word for `host`. */
  network: z.exactOptional(
    z.enum(requestedNetworkModes, { error: '"off", "hosts", "open" or "host"' }),
  ),
  /**
   * Hosts that commands may connect to (`example.com`, `*.example.com`, `example.com:8443`), or
   * presets (`npm`, `github`). Alone they mean the network `hosts`.
   */
  hosts: z.exactOptional(field.hostsParam),
  sandbox: z.exactOptional(z.enum(['bubblewrap', 'none'], { error: '"bubblewrap" or "none"' })),
  limits: z.exactOptional(field.limitsParam),
  carry: z.exactOptional(
    z.enum(['none', 'cwd+env', 'shell'], { error: '"none", "cwd+env" or "shell"' }),
  ),
  /** A profile that the session's commands must pass besides the runtime's policy. */
  policy: z.exactOptional(field.policyProfileParam),
  /** From `workspace.open`: its directory is the workspace, and its rules apply. */
  workspace_id: z.exactOptional(field.workspaceIdParam),
  /** What happens to changes of commands; default: the mode of the workspace, else `direct`. */
  workspace_mode: z.exactOptional(field.workspaceModeParam),
  /** `client`: it ends when the socket client that created it has disconnected and nothing runs. */
  lifetime: z.exactOptional(z.enum(['kept', 'client'], { error: '"kept" or "client"' })),
  /** Octal, default `022`; others can never write. */
  umask: z.exactOptional(
    z.string().check(z.regex(/^0?[0-7]{3}$/, { error: 'three octal digits, such as "027"' })),
  ),
  /**
   * Directories of programs, as in `PATH`, whose tools commands see; default: the runtime's own.
   * Not for callers with a token.
   */
  search_path: z.exactOptional(field.searchPathParam),
  /** Programs whose caches of the host's user commands can read, and do not change. */
  share_cache: z.exactOptional(
    z.array(z.enum(cacheTools), { error: `an array of ${cacheTools.join(', ')}` }),
  ),
});

/** The tiers of a session's environment, by name. */
export const environmentSchema = z.object({
  mode: z.enum(envModes),
  /** What every command has. */
  safe: shared.nameListSchema,
  /** What it has only in `legacy` mode. */
  inherited: shared.nameListSchema,
  /** What the session's caller set. */
  session: shared.nameListSchema,
  /** What each command gets by name, within the policy, and its source. */
  requested: z.array(
    z.object({
      name: z.string(),
      source: z.enum([...secretSourceSchema.options, 'runtime', 'missing']),
    }),
  ),
  /** What the runtime has and withholds from every command. */
  withheld_seen: shared.nameListSchema,
});

export const sessionSchema = z.object({
  session_id: shared.sessionIdSchema,
  name: shared.nullableTextSchema,
  state: z.enum(['creating', 'idle', 'running', 'terminated']),
  shell: z.string(),
  /** Present if the requested shell is missing and was replaced. */
  shell_resolved: z.exactOptional(z.string()),
  working_dir: z.string(),
  /** `null`: the session has no host directory, only its private `/tmp` and home. */
  workspace: shared.nullableTextSchema,
  /** Present if it was opened by `workspace.open`. */
  workspace_id: z.exactOptional(shared.workspaceIdSchema),
  workspace_mode: z.exactOptional(z.enum(workspaceModes)),
  created_at: shared.timestampSchema,
  last_activity: shared.timestampSchema,
  env_keys: shared.nameListSchema,
  /** Names of secrets that each command gets, by `secrets.inject`. */
  injected: shared.nameListSchema,
  command_count: shared.countSchema,
  timeout_s: shared.countSchema,
  network: shared.networkSchema,
  /** Host rules that were requested with it; absent: none. */
  hosts: z.exactOptional(shared.nameListSchema),
  sandbox: shared.sandboxKindSchema,
  /** Programs whose caches of the host's user its commands see; absent: none. */
  share_cache: z.exactOptional(shared.sharedCachesSchema),
  /** `null` until the first command probed it. */
  assurance: z.nullable(shared.assuranceSchema),
  /** Secrets whose values a caller wrote itself: it saw or guessed them. */
  typed_secrets: z.exactOptional(shared.nameListSchema),
  /** In the answer of `session.info`. */
  environment: z.exactOptional(environmentSchema),
});

/** A connection through the bridge, as it is now. */
export const sessionConnectionSchema = z.object({
  host: z.string(),
  port: shared.countSchema,
  /** `held`: a person is asked. */
  state: z.enum(['open', 'held']),
  since: shared.timestampSchema,
  sent_bytes: shared.countSchema,
  received_bytes: shared.countSchema,
});

const portMax = 65_535;
const portParam = field.integerParam(1, portMax);

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
        'hosts',
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
      /** The session of the same workspace whose directory and variables it copies. */
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
  'session.connections': defineMethod({
    params: field.sessionParamsObject,
    answer: z.object({ connections: z.array(sessionConnectionSchema) }),
    roles: permittedRoles.everybody,
    owns: ownershipRules.session,
    lane: 'at-once',
    http: [
      {
        ...getRoute,
        path: `${sessionRoutePath}/connections`,
        about: 'List the connections that a session has now',
      },
    ],
    audit: null,
  }),
  'session.block_host': defineMethod({
    params: z.extend(field.sessionParamsObject, { host: field.hostNameParam }),
    answer: z.object({ session_id: shared.sessionIdSchema, host: z.string() }),
    roles: permittedRoles.approver,
    owns: ownershipRules.session,
    lane: 'at-once',
    http: [
      {
        ...postRoute,
        path: `${sessionRoutePath}/blocked-hosts`,
        about: 'End the connections of a session to a host, and refuse it from now on',
      },
    ],
    audit: { kind: 'session.host_blocked', params: ['host'], answer: [] },
  }),
  'session.show_port': defineMethod({
    params: z.extend(field.sessionParamsObject, { port: portParam }),
    answer: z.object({
      session_id: shared.sessionIdSchema,
      /** Inside. */
      port: shared.countSchema,
      /** On the loopback of the host, with the token: for a browser of this person alone. */
      url: z.string(),
    }),
    roles: permittedRoles.approver,
    owns: ownershipRules.session,
    lane: 'at-once',
    http: [
      {
        ...postRoute,
        path: `${sessionRoutePath}/ports`,
        about: 'Show a port of a session on the loopback of the host',
      },
    ],
    audit: { kind: 'session.port_shown', params: ['port'], answer: [] },
  }),
  'session.hide_port': defineMethod({
    params: z.extend(field.sessionParamsObject, { port: portParam }),
    answer: z.object({ session_id: shared.sessionIdSchema, hidden: z.boolean() }),
    roles: permittedRoles.approver,
    owns: ownershipRules.session,
    lane: 'at-once',
    http: [
      {
        ...postRoute,
        path: `${sessionRoutePath}/ports/hide`,
        about: 'Show a port of a session no more',
      },
    ],
    audit: { kind: 'session.port_hidden', params: ['port'], answer: [] },
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
        about: 'Create a session with the directory and variables of this one',
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
        about: 'The directory and the names of the variables that the next command gets',
      },
    ],
    audit: null,
  }),
} as const;

export type SessionCreateParams = ParamsOf<typeof sessionMethods, 'session.create'>;
export type SessionUpdateParams = ParamsOf<typeof sessionMethods, 'session.update'>;
export type SessionView = TypeOf<typeof sessionSchema>;
/** The tiers of a session's environment, by name; no answer contains a value. */
export type EnvironmentView = TypeOf<typeof environmentSchema>;
export type SessionConnection = TypeOf<typeof sessionConnectionSchema>;
