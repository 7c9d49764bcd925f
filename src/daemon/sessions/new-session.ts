/** The record of a new session, from what its caller asked for and policy permits. Pure. */
import { isBridged, normalNetworkAccess, reachesNetwork } from '../../network-access.ts';
import {
  coversRule,
  hostRulesMax,
  parseHostRule,
  parseHostRules,
  type HostRule,
} from '../../network/host-rules.ts';
import { expandPreset, hostPresetNames } from '../../network/presets.ts';
import { join } from 'node:path';
import { cacheDirectoriesOf, type CacheTool } from '../../caches.ts';
import type { Grants } from '../../command.ts';
import { checkVariable } from '../../environment/base.ts';
import { TrlError } from '../../errors.ts';
import type { Policy } from '../../policy/policy.ts';
import type { SessionCreateParams } from '../../api/session.ts';
import { resolveBounds, type RequestedBounds } from '../../session/bounds.ts';
import { effectiveGrants, newSessionId, type SessionRecord } from '../../session/record.ts';
import { sessionCacheId } from '../../session/cache.ts';
import { resolveShell } from '../../session/shells.ts';
import { realPathPrefix } from '../../workspace/inspect-path.ts';
import type { ResolvedRoots } from '../../workspace/roots.ts';
import { requestedNames, timeoutOf } from '../executions/requests.ts';
import { refuseUnenforceableGrants } from './grant-checks.ts';
import type { OpenWorkspace } from '../workspaces/open-workspaces.ts';

/**
 * @throws TrlError `INVALID_PARAMS` for a variable or a bound that cannot be, `POLICY_DENIED` for
 *   what policy does not permit
 */
export function createSessionRecord(
  params: SessionCreateParams,
  { workspace, cwd }: ResolvedRoots,
  by: {
    readonly policy: Policy;
    readonly opened: OpenWorkspace | null;
    /** The actor that makes it. */
    readonly owner: string;
    /** Where its programs are looked for; `null`: where the runtime looks. */
    readonly searchPath: string | null;
    /** Where the caller names none; policy may permit less. */
    readonly usual: Pick<RequestedBounds, 'timeout_ms' | 'cpu_s'>;
    /** HOME of the host's user, by real path. */
    readonly home: string;
  },
): SessionRecord {
  const { policy, opened, owner } = by;
  for (const [name, value] of Object.entries(params.env ?? {})) checkVariable(name, value);
  const { shell, substituted } = resolveShell(params.shell ?? '/bin/sh');
  const now = Date.now();
  const timeoutMs = timeoutOf(params);
  const grants = grantsOf(params, opened);
  refuseUnenforceableGrants(grants, policy);
  refuseDeniedHosts(grants, policy);
  if (reachesNetwork(grants.network) && policy.network === 'off') {
    const what = grants.sandbox === 'none' ? 'run without a sandbox' : 'have network';
    const message = `Cannot ${what}: policy "${policy.name}" has the network off`;
    throw new TrlError('POLICY_DENIED', message);
  }
  const bounds = {
    ...usualBounds(by.usual, policy),
    ...params.limits,
    ...(timeoutMs === null ? {} : { timeout_ms: timeoutMs }),
  };
  resolveBounds(bounds, 'foreground', policy.limits);
  const shareCache = [...new Set(params.share_cache ?? [])].toSorted();
  const record: SessionRecord = {
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
    requested: requestedNames(params),
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
  return shareCache.length === 0 ? record : withShared(record, shareCache, by.home);
}

/**
 * Adds grants to read the host's caches: policy and a person see them like any other grant.
 *
 * @throws TrlError `INVALID_PARAMS` for a session without caches, and for one that a link leads to
 */
function withShared(
  record: SessionRecord,
  shareCache: readonly CacheTool[],
  home: string,
): SessionRecord {
  if (sessionCacheId(record) === null) {
    const why = 'the session needs a sandbox, a workspace, and changes that are written directly';
    throw new TrlError('INVALID_PARAMS', `Cannot share caches: ${why}`);
  }
  const paths = cacheDirectoriesOf(shareCache).map((name) => join(home, name));
  for (const path of paths.filter((one) => realPathPrefix(one) !== one)) {
    const message = `Cannot share "${path}": a link leads to it; grant what it leads to by "files"`;
    throw new TrlError('INVALID_PARAMS', message);
  }
  const { files } = record.grants;
  const read = { ...files.read, allow: [...files.read.allow, ...paths] };
  return { ...record, shareCache, grants: { ...record.grants, files: { ...files, read } } };
}

/** Policy bounds what nobody asked for, rather than refusing it. */
function usualBounds(usual: RequestedBounds, { limits }: Policy): RequestedBounds {
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

/**
 * Host rules in their normal form and in order.
 *
 * @throws TrlError `INVALID_PARAMS` for a word that is no host and no preset, and for too many
 */
function hostsOf({ hosts = [] }: SessionCreateParams): readonly string[] {
  const rules = hosts.flatMap(expandPreset).map((word) => {
    const rule = parseHostRule(word);
    if (rule !== null) return rule.text;
    const ways =
      'a name, *.NAME, NAME:PORT or ADDRESS:PORT, or one of ' + hostPresetNames.join(', ');
    throw new TrlError('INVALID_PARAMS', `Cannot allow ${JSON.stringify(word)}: it is not ${ways}`);
  });
  const all = [...new Set(rules)].toSorted();
  if (all.length <= hostRulesMax) return all;
  const message = `Cannot allow ${all.length} hosts: at most ${hostRulesMax}, those of presets too`;
  throw new TrlError('INVALID_PARAMS', message);
}

/** @throws TrlError `POLICY_DENIED` for a host of which policy denies all that was asked for */
function refuseDeniedHosts({ hosts = [] }: Grants, policy: Policy): void {
  const denied = parseHostRules(policy.hosts.deny);
  const withPort = (port: HostRule['port']): readonly HostRule[] =>
    denied.map((rule) => (rule.port === null ? { ...rule, port } : rule));
  // A denied name without a port is not looked up: no port of it can be reached.
  const found = parseHostRules(hosts).find((rule) => coversRule(withPort(rule.port), rule));
  if (found === undefined) return;
  const message = `Cannot allow ${found.text}: policy "${policy.name}" denies it`;
  throw new TrlError('POLICY_DENIED', message);
}

/** @throws TrlError `INVALID_PARAMS` for a bound that nothing would hold without a sandbox */
function grantsOf(params: SessionCreateParams, opened: OpenWorkspace | null): Grants {
  const { sandbox = 'bubblewrap' } = params;
  const hosts = hostsOf(params);
  const network = normalNetworkAccess(params.network ?? (hosts.length > 0 ? 'hosts' : 'off'));
  if (hosts.length > 0 && !isBridged(network)) {
    const message = `Cannot hold "hosts" with "network": "${network}"; leave it out`;
    throw new TrlError('INVALID_PARAMS', message);
  }
  const { read, write } = params.files ?? {};
  const files = {
    read: { allow: read?.allow ?? [], deny: read?.deny ?? [] },
    write: { allow: write?.allow ?? [], deny: write?.deny ?? [] },
  };
  if (sandbox === 'none') {
    const isNarrowed = (...lists: readonly (readonly string[])[]): boolean =>
      lists.some((list) => list.length > 0);
    const unheld =
      (network !== 'host' && params.network !== undefined && `"network": "${network}"`) ||
      (hosts.length > 0 && '"hosts"') ||
      (isNarrowed(files.read.deny, files.write.deny) && '"deny" of "files"') ||
      (opened !== null &&
        isNarrowed(opened.read.allow, opened.read.deny, opened.write.deny) &&
        `the rules of workspace ${opened.id}`);
    if (unheld) {
      const message = `Cannot hold ${unheld} without a sandbox: "sandbox" is "none"`;
      throw new TrlError('INVALID_PARAMS', message);
    }
  }
  const named = hosts.length === 0 ? {} : { hosts };
  return effectiveGrants({ files, network, sandbox, ...named });
}
