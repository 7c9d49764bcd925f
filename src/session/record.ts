/** A session: a durable record and no process. Values of variables are not in it. */
import { normalNetworkAccess } from '../network-access.ts';
import { randomBytes } from 'node:crypto';
import type { CacheTool } from '../caches.ts';
import type { WorkspaceMode } from '../change.ts';
import type {
  Assurance,
  StatePersistence,
  ExecId,
  Grants,
  PathRules,
  PolicyProfile,
  SessionId,
  Shell,
} from '../command.ts';
import type { RequestedBounds } from './bounds.ts';

export interface SessionRecord {
  readonly id: SessionId;
  readonly name: string | null;
  /** The shell as the caller named it, and the one that takes its place here. */
  readonly shellAsked: string;
  readonly shell: Shell;
  readonly substituted: boolean;
  readonly workspace: string | null;
  readonly cwd: string;
  readonly grants: Grants;
  readonly bounds: RequestedBounds;
  readonly carry: StatePersistence;
  /** File mode mask of its commands; absent: 022. */
  readonly umask?: number;
  /** Where its programs are looked for, as `PATH`; absent: where the runtime looks. */
  readonly searchPath?: string;
  /** Programs whose caches of the host user it sees; absent: none. */
  readonly shareCache?: readonly CacheTool[];
  /** Names of session-level variables given by the caller. */
  readonly envKeys: readonly string[];
  /** Names that each of its commands gets (`env_keys` of its creation); absent: none. */
  readonly requested?: readonly string[];
  /** Names of secrets that each of its commands gets (`secrets.inject`); absent: none. */
  readonly injected?: readonly string[];
  /** Host names that a person blocked for its commands; absent: none. */
  readonly blockedHosts?: readonly string[];
  /** The actor that made it; absent in records older than tokens: the owner of the socket. */
  readonly owner?: string;
  readonly createdAt: number;
  readonly lastActivity: number;
  readonly commandCount: number;
  readonly assurance: Assurance | null;
  /** The client of the socket that made it, or took it over; absent: none. */
  readonly client?: string;
  /** `client`: it ends when the client that made it has left; absent: `kept`. */
  readonly lifetime?: 'kept' | 'client';
  /** The call of a registered tool that it was made for: it runs that and nothing else. */
  readonly tool?: { readonly name: string; readonly call: string };
  /** What becomes of what its commands change; absent: `direct`. */
  readonly workspaceMode?: WorkspaceMode;
  /** The view of the workspace that it works in, shared with its like; absent: its own. */
  readonly view?: string;
  /** No other session joins that view: something is staged in it. */
  readonly isViewOwn?: boolean;
  /** `w-…`, where the workspace was opened by itself. */
  readonly workspaceId?: string;
  /** Rules of that workspace: what it shows, and what may be written. Absent: all of it. */
  readonly workspaceRules?: {
    readonly read: PathRules;
    readonly write: { readonly deny: readonly string[] };
  };
  /** The profile that its caller asked for: it can only add to the runtime's policy. */
  readonly policy: PolicyProfile | null;
}

const everything = { allow: ['/'], deny: [] };

/**
 * What a session's commands may use: what was requested, if a sandbox enforces it. Without a
 * sandbox it is all that the runtime's account has, and the grants must show that.
 */
export function effectiveGrants(grants: Grants): Grants {
  if (grants.sandbox !== 'none') {
    return { ...grants, network: normalNetworkAccess(grants.network) };
  }
  return { ...grants, network: 'host', files: { read: everything, write: everything } };
}

const newId = (): string => randomBytes(16).toString('hex');
export const newSessionId = (): SessionId => `s-${newId()}`;
export const newExecId = (): ExecId => `x-${newId()}`;
