/** The record of a new session, from what its caller asked for and policy permits. Pure. */
import type { Grants } from '../../command.ts';
import { checkVariable } from '../../environment/base.ts';
import { TrlError } from '../../errors.ts';
import type { Policy } from '../../policy/policy.ts';
import type { SessionCreateParams } from '../../protocol/types.ts';
import { boundsOf, type AskedBounds } from '../../session/bounds.ts';
import { heldGrants, newSessionId, type SessionRecord } from '../../session/record.ts';
import { resolveShell } from '../../session/shells.ts';
import type { Resolved } from '../../workspace/roots.ts';
import { requestedIn, timeoutOf } from '../execs/requests.ts';
import { refuseUnheld } from './granted.ts';
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
    /** Where its programs are looked for; `null`: where the runtime looks. */
    readonly searchPath: string | null;
    /** Where the caller names none; policy may permit less. */
    readonly usual: Pick<AskedBounds, 'timeout_ms' | 'cpu_s'>;
  },
): SessionRecord {
  const { policy, opened, owner } = by;
  for (const [name, value] of Object.entries(params.env ?? {})) checkVariable(name, value);
  const { shell, substituted } = resolveShell(params.shell ?? '/bin/sh');
  const now = Date.now();
  const timeoutMs = timeoutOf(params);
  const grants = grantsOf(params, opened);
  refuseUnheld(grants, policy);
  if (grants.network === 'on' && policy.network === 'off') {
    const what = grants.sandbox === 'none' ? 'run without a sandbox' : 'have network';
    const message = `Cannot ${what}: policy "${policy.name}" has the network off`;
    throw new TrlError('POLICY_DENIED', message);
  }
  const bounds = {
    ...usualBounds(by.usual, policy),
    ...params.limits,
    ...(timeoutMs === null ? {} : { timeout_ms: timeoutMs }),
  };
  boundsOf(bounds, 'foreground', policy.limits);
  return {
    id: newSessionId(),
    name: params.name ?? null,
    shellAsked: params.shell ?? shell.path,
    shell,
    substituted,
    workspace,
    cwd,
    grants,
    bounds,
    carry: params.carry ?? 'cwd+env',
    ...(params.umask === undefined ? {} : { umask: boundedUmask(params.umask) }),
    ...(by.searchPath === null ? {} : { searchPath: by.searchPath }),
    envKeys: Object.keys(params.env ?? {}).toSorted(),
    requested: requestedIn(params),
    owner,
    createdAt: now,
    lastActivity: now,
    commandCount: 0,
    assurance: null,
    policy: params.policy ?? null,
    ...(params.lifetime === undefined ? {} : { lifetime: params.lifetime }),
    ...(opened === null
      ? {}
      : { workspaceId: opened.id, workspaceRules: { read: opened.read, write: opened.write } }),
    workspaceMode: params.workspace_mode ?? opened?.mode ?? 'direct',
  };
}

/** Policy bounds what nobody asked for, rather than refusing it. */
function usualBounds(usual: AskedBounds, { limits }: Policy): AskedBounds {
  const { timeout_ms: timeoutMs, cpu_s: cpu } = usual;
  return {
    ...(timeoutMs !== undefined && {
      timeout_ms: Math.min(timeoutMs, limits.timeoutMs ?? timeoutMs),
    }),
    ...(cpu !== undefined && { cpu_s: Math.min(cpu, limits.cpuSeconds ?? cpu) }),
  };
}

/** Others never get to write what commands make; its owner can do with it what it is for. */
const boundedUmask = (octal: string): number => (Number.parseInt(octal, 8) & 0o077) | 0o002;

/** @throws TrlError `INVALID_PARAMS` for a bound that nothing would hold without a sandbox */
function grantsOf(params: SessionCreateParams, opened: OpenWorkspace | null): Grants {
  const { sandbox = 'bubblewrap', network = 'off' } = params;
  const { read, write } = params.files ?? {};
  const files = {
    read: { allow: read?.allow ?? [], deny: read?.deny ?? [] },
    write: { allow: write?.allow ?? [], deny: write?.deny ?? [] },
  };
  if (sandbox === 'none') {
    const isNarrowed = (...lists: readonly (readonly string[])[]): boolean =>
      lists.some((list) => list.length > 0);
    const unheld =
      (params.network === 'off' && '"network": "off"') ||
      (isNarrowed(files.read.deny, files.write.deny) && '"deny" of "files"') ||
      (opened !== null &&
        isNarrowed(opened.read.allow, opened.read.deny, opened.write.deny) &&
        `the rules of workspace ${opened.id}`);
    if (unheld) {
      const message = `Cannot hold ${unheld} without a sandbox: "sandbox" is "none"`;
      throw new TrlError('INVALID_PARAMS', message);
    }
  }
  return heldGrants({ files, network, sandbox });
}
