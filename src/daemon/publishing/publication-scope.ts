/** The workspace of a publication, and which of its content must not reach the audience. */
import type { BytePath } from '../../change.ts';
import { TrlError } from '../../errors.ts';
import type { PathRules, SessionId } from '../../command.ts';
import { findAudience, type AudienceRules } from '../../policy/publication.ts';
import type { Policy } from '../../policy/policy.ts';
import type { PublishCheckParams } from '../../api/publish.ts';
import type { SessionRecord } from '../../session/record.ts';
import { readVisibility, type Visibility } from '../../workspace/projection/visibility.ts';
import type { Policies } from '../policies.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { OpenWorkspaces } from '../workspaces/open-workspaces.ts';
import type { ChangeRecord, WorkspaceHost } from '../../host/port.ts';

export interface PublicationScopeParts {
  readonly roots: readonly string[];
  readonly home: string;
  readonly sessions: Pick<Sessions, 'get' | 'all'>;
  readonly openWorkspaces: Pick<OpenWorkspaces, 'get'>;
  readonly policies: Pick<Policies, 'of'>;
  readonly workspaceHost: Pick<WorkspaceHost, 'resolve'>;
}

export interface PublicationScope {
  /** Real path. */
  readonly root: string;
  /** The named directory in the workspace; else the workspace itself. */
  readonly cwd: string;
  readonly audience: AudienceRules;
  /** The policy, and the paths that it hides from everyone. */
  readonly policy: { readonly version: string; readonly deny: readonly string[] };
  /** Rules for all paths that must not reach the audience. */
  readonly deny: readonly string[];
  /** Rules for the paths that the audience may see. */
  readonly rules: PathRules;
  readonly visibility: Visibility;
  readonly canaries: readonly string[];
}

/**
 * @param record of the requested command, if there is one
 * @throws TrlError `INVALID_PARAMS` if the workspace cannot be determined, or policy does not know
 *   the audience; `WORKSPACE_ESCAPE` for a path outside the roots; `SESSION_NOT_FOUND`
 */
export async function resolvePublicationScope(
  parts: PublicationScopeParts,
  params: PublishCheckParams,
  record: Pick<ChangeRecord, 'root' | 'session'> | null,
): Promise<PublicationScope> {
  const { home, policies } = parts;
  const { session_id: id } = params;
  const session =
    id === undefined ? sessionOf(parts, record?.session) : parts.sessions.get(id).record;
  const opened =
    params.workspace_id === undefined ? null : parts.openWorkspaces.get(params.workspace_id);
  const named = record?.root ?? session?.workspace ?? opened?.path ?? null;
  const { root, cwd } =
    named === null ? await resolved(parts, params.path) : { root: named, cwd: named };
  const policy = await policies.of(root);
  const audience = audienceFor(policy, params.audience);
  // Paths that a session or an opened workspace hides are denied content of their publications.
  const read = session === null ? opened?.read : session.workspaceRules?.read;
  const own = [...(read?.deny ?? []), ...(session?.grants.files.read.deny ?? [])];
  const deny = [...new Set([...audience.deny, ...own])];
  const rules = { allow: read?.allow ?? [], deny };
  const visibility = readVisibility(rules, { root, home });
  const { canaries } = policy.publication;
  const general = { version: policy.version, deny: policy.files.deny };
  return { root, cwd, audience, policy: general, deny, rules, visibility, canaries };
}

function sessionOf(
  { sessions }: PublicationScopeParts,
  id: SessionId | undefined,
): SessionRecord | null {
  if (id === undefined) return null;
  return sessions.all().find(({ record }) => record.id === id)?.record ?? null;
}

async function resolved(
  { roots, home, workspaceHost }: PublicationScopeParts,
  path: string | undefined,
): Promise<{ readonly root: string; readonly cwd: string }> {
  const [only] = roots;
  const workingDir = path ?? (roots.length === 1 ? only : undefined);
  if (workingDir === undefined) {
    const message =
      'Cannot determine the workspace: specify "path", "workspace_id" or "session_id"';
    throw new TrlError('INVALID_PARAMS', message);
  }
  const { workspace, cwd } = await workspaceHost.resolve({ roots, workingDir, home });
  if (workspace !== null) return { root: workspace, cwd };
  const message = `Cannot publish from "${workingDir}": it is not a directory on the host`;
  throw new TrlError('INVALID_PARAMS', message);
}

function audienceFor(policy: Policy, name: string | undefined): AudienceRules {
  const found = findAudience(policy, name);
  if (found !== null) return found;
  const known = policy.publication.audiences.map((one) => JSON.stringify(one.name)).join(', ');
  const message = `Cannot check for "${name}": policy knows the audiences ${known}`;
  throw new TrlError('INVALID_PARAMS', message);
}

/**
 * Returns a filter for the visible paths that the audience already has: those that match each list
 * of `sees`.
 */
export function audienceFilter(
  { home }: Pick<PublicationScopeParts, 'home'>,
  { root, audience }: PublicationScope,
) {
  const lists = audience.sees.map((allow) => readVisibility({ allow, deny: [] }, { root, home }));
  return (path: BytePath): boolean => lists.every((list) => !list.hides(path));
}
