/** Answers of `session.*`. */
import * as z from 'zod/mini';
import { workspaceModes } from '../../change.ts';
import { envModes } from '../../names.ts';
import { secretSource } from './secrets.ts';
import * as word from './words.ts';

/** The tiers of a session's environment, by name. */
export const environment = z.object({
  mode: z.enum(envModes),
  safe: word.names,
  inherited: word.names,
  session: word.names,
  requested: z.array(
    z.object({
      name: z.string(),
      source: z.enum([...secretSource.options, 'runtime', 'missing']),
    }),
  ),
  withheld_seen: word.names,
});

export const session = z.object({
  session_id: word.sessionId,
  name: word.nullableText,
  state: z.enum(['creating', 'idle', 'running', 'terminated']),
  shell: z.string(),
  shell_resolved: z.exactOptional(z.string()),
  working_dir: z.string(),
  workspace: word.nullableText,
  workspace_id: z.exactOptional(word.workspaceId),
  workspace_mode: z.exactOptional(z.enum(workspaceModes)),
  created_at: word.time,
  last_activity: word.time,
  env_keys: word.names,
  injected: word.names,
  command_count: word.count,
  timeout_s: word.count,
  network: word.network,
  sandbox: word.sandboxKind,
  share_cache: z.exactOptional(word.sharedCaches),
  assurance: z.nullable(word.assurance),
  typed_secrets: z.exactOptional(word.names),
  environment: z.exactOptional(environment),
});

export const sessionAnswers = {
  'session.create': session,
  'session.list': z.object({ sessions: z.array(session) }),
  'session.info': session,
  'session.destroy': z.object({
    session_id: word.sessionId,
    state: z.literal('terminated'),
  }),
  'session.update': session,
  'session.fork': session,
  'session.state': z.object({
    session_id: word.sessionId,
    cwd: word.nullableText,
    names: word.names,
  }),
} as const;
