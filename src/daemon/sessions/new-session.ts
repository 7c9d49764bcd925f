/** The record of a new session, from what its caller asked for and policy permits. Pure. */
import { checkVariable } from '../../environment/base.ts';
import { TrlError } from '../../errors.ts';
import type { Policy } from '../../policy/policy.ts';
import type { SessionCreateParams } from '../../protocol/types.ts';
import { boundsOf } from '../../session/bounds.ts';
import { newSessionId, type SessionRecord } from '../../session/record.ts';
import { resolveShell } from '../../session/shells.ts';
import type { Resolved } from '../../workspace/roots.ts';
import { requestedIn, timeoutOf } from '../execs/requests.ts';
import type { OpenWorkspace } from '../workspaces/open-workspaces.ts';

/**
 * @throws TrlError `INVALID_PARAMS` for a variable or a bound that cannot be, `POLICY_DENIED` for
 *   what policy does not permit
 */
export function newRecord(
  params: SessionCreateParams,
  { workspace, cwd }: Resolved,
  by: {
    readonly policy: Policy;
    readonly opened: OpenWorkspace | null;
    /** The actor that makes it. */
    readonly owner: string;
  },
): SessionRecord {
  const { policy, opened, owner } = by;
  for (const [name, value] of Object.entries(params.env ?? {})) checkVariable(name, value);
  const { shell, substituted } = resolveShell(params.shell ?? '/bin/sh');
  const now = Date.now();
  const timeoutMs = timeoutOf(params);
  const network = params.network ?? 'off';
  if (network === 'on' && policy.network === 'off') {
    throw new TrlError('POLICY_DENIED', `Cannot have network: policy "${policy.name}" has it off`);
  }
  const { read, write } = params.files ?? {};
  const bounds = { ...params.limits, ...(timeoutMs === null ? {} : { timeout_ms: timeoutMs }) };
  boundsOf(bounds, 'foreground', policy.limits);
  return {
    id: newSessionId(),
    name: params.name ?? null,
    shellAsked: params.shell ?? shell.path,
    shell,
    substituted,
    workspace,
    cwd,
    grants: {
      files: {
        read: { allow: read?.allow ?? [], deny: read?.deny ?? [] },
        write: { allow: write?.allow ?? [], deny: write?.deny ?? [] },
      },
      network,
      sandbox: params.sandbox ?? 'bubblewrap',
    },
    bounds,
    carry: params.carry ?? 'cwd+env',
    envKeys: Object.keys(params.env ?? {}).toSorted(),
    requested: requestedIn(params),
    owner,
    createdAt: now,
    lastActivity: now,
    commandCount: 0,
    assurance: null,
    policy: params.policy ?? null,
    ...(opened === null
      ? {}
      : { workspaceId: opened.id, workspaceRules: { read: opened.read, write: opened.write } }),
    workspaceMode: params.workspace_mode ?? opened?.mode ?? 'direct',
  };
}
