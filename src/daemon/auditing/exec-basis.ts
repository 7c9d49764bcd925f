/** The facts about a command at its start, for the audit log and the command's statement. */
import type { Approval } from '../../approval/approval.ts';
import type { WorkspaceMode } from '../../change.ts';
import type { ContentRole } from '../../binding.ts';
import type { Bounds, ExecId, Verdict } from '../../command.ts';
import type { CommandBasis } from '../../provenance/statement.ts';
import type { AuthorizedExecution, ExecutionContext } from '../../execution.ts';
import type { Masking } from '../secrets/masking.ts';
import { maskValues } from './mask-values.ts';

/** Hides secrets in a text, known or likely. */
export type MaskText = (text: string) => string;

/** Plain data: it is stored with the record of the execution, for a daemon that starts later. */
export interface ExecBasis extends CommandBasis {
  /** Absent: the shell ran the command. */
  readonly language?: 'python';
  /** The script that called the command; absent: none. */
  readonly parent?: ExecId;
  /** The registered tool that the command calls; absent: none. */
  readonly tool?: { readonly name: string; readonly sha256: string };
  readonly workspace: string | null;
  /** Digest of the hidden part of the workspace; `null`: nothing is hidden. */
  readonly mask: string | null;
  readonly workspace_mode: WorkspaceMode | null;
  /** The files that the text names, where they were looked up. */
  readonly contents: readonly {
    readonly role: ContentRole;
    readonly name: string;
    readonly path: string | null;
    readonly sha256: string | null;
  }[];
  readonly bounds: Bounds;
}

/** The most characters of a command's text in the log. */
const commandMax = 64 * 1024;

interface BasisParts {
  readonly masking: Pick<Masking, 'deep'>;
  readonly maskText: MaskText;
  readonly mask: string | null;
}

export function basisOf(
  authorized: AuthorizedExecution,
  context: ExecutionContext,
  { masking, maskText, mask }: BasisParts,
): ExecBasis {
  const { approved, verdict, approval, exposure, contents, requester, workspaceMode } = authorized;
  const { plan, digest, box } = approved;
  const basis: ExecBasis = {
    session: plan.session_id,
    requester,
    ...commandData(maskText(plan.command), plan.command),
    ...(plan.language === undefined ? {} : { language: plan.language }),
    ...(authorized.parent === null ? {} : { parent: authorized.parent }),
    ...(authorized.tool === null ? {} : { tool: authorized.tool }),
    shell: plan.shell.path,
    cwd: plan.cwd,
    workspace: context.workspace,
    mask,
    workspace_mode: workspaceMode,
    mode: plan.mode,
    env: Object.keys(plan.env).toSorted(),
    command_env: Object.keys(plan.command_env).toSorted(),
    ...(plan.reveal === undefined ? {} : { reveal: plan.reveal }),
    stdin: plan.stdin.kind,
    pty: plan.pty !== null,
    plan_digest: digest,
    box_digest: box.digest,
    verdict: verdictData(verdict),
    approval: approval === null ? null : approvalBasis(approval),
    contents,
    sandbox: {
      kind: plan.box.kind,
      level: exposure.level,
      network: context.network,
      scope: context.scope,
      files: context.files,
      beyond: context.extraGrants,
    },
    bounds: plan.bounds,
  };
  return maskValues(basis, masking);
}

/** A verdict as in events and statements. */
export function verdictData({ decision, policy, rules }: Verdict) {
  return { decision, policy, rules: rules.map(({ id }) => id) };
}

/** @param shown the masked text; it is cut after masking, or a part of a value could show */
export function commandData(shown: string, command: string) {
  const cut = `${shown.slice(0, commandMax).toWellFormed()}…`;
  return {
    command: shown.length <= commandMax ? shown : cut,
    command_bytes: Buffer.byteLength(command),
  };
}

function approvalBasis({ id, digest, answer }: Approval): CommandBasis['approval'] {
  if (answer === null) return null;
  const { scope, by, at } = answer;
  return { id, digest, scope, by: by.actor, proof: by.proof, at };
}
