/** What each method of the wire takes and answers. `call` is typed by it. */
import type { ApprovalId, ExecId, SessionId } from '../command.ts';
import type { AuditGetParams, AuditListParams, AuditVerifyParams } from '../protocol/audit.ts';
import type { ConsoleLoginParams } from '../protocol/console.ts';
import type { ExecLeaseParams } from '../protocol/feed.ts';
import type { PublishCheckParams, PublishParams } from '../protocol/publish.ts';
import type {
  SecretRequestParams,
  SecretSetParams,
  SecretInjectParams,
  SecretDeleteParams,
} from '../protocol/secrets.ts';
import type {
  ExecUndoParams,
  SnapshotGetParams,
  SnapshotListParams,
  SnapshotRestoreParams,
  WorkspaceApplyParams,
  WorkspaceDiffParams,
  WorkspaceDiscardParams,
  WorkspaceOpenParams,
} from '../protocol/workspace.ts';
import type {
  ToolAnswerParams,
  ToolCallParams,
  ToolListParams,
  ToolRegisterParams,
} from '../protocol/tool.ts';
import type { ApprovalDecideParams, ApprovalListParams } from '../protocol/approval.ts';
import type {
  ExecParams,
  ExecReadParams,
  MethodAnswers,
  PolicyExplainParams,
  SessionCreateParams,
} from '../protocol/types.ts';

export interface SessionUpdateParams {
  readonly session_id: SessionId;
  readonly name?: string;
  readonly timeout_s?: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly unset?: readonly string[];
  /** The session of the same workspace whose directory and variables it takes over. */
  readonly state_of?: SessionId;
}
export interface ExecWriteParams {
  readonly exec_id: ExecId;
  readonly data?: string;
  /** Default `utf8`. */
  readonly encoding?: 'utf8' | 'base64';
  readonly eof?: boolean;
  /** While somebody holds one: that one. */
  readonly lease_id?: string;
}
export interface ExecResizeParams {
  readonly exec_id: ExecId;
  readonly columns: number;
  readonly rows: number;
  /** As of {@link ExecWriteParams}. */
  readonly lease_id?: string;
}
/**
 * With `signal` just that one is sent; without it: TERM, the grace time, KILL. `exec_key`: what the
 * caller began by that key, in whichever session.
 */
export type ExecCancelParams = (
  | { readonly exec_id: ExecId }
  | { readonly session_id: SessionId }
  | { readonly exec_key: string }
) & { readonly signal?: string };

/** What each method takes. */
export interface MethodParams {
  readonly 'session.create': SessionCreateParams;
  readonly 'session.list': Empty;
  readonly 'session.info': OfSession;
  readonly 'session.update': SessionUpdateParams;
  readonly 'session.fork': OfSession & { readonly name?: string };
  readonly 'session.state': OfSession;
  readonly 'session.destroy': OfSession & { readonly force?: boolean };
  readonly 'exec.run': ExecParams;
  readonly 'exec.stream': ExecParams & { readonly from?: number };
  readonly 'exec.start': ExecParams;
  readonly 'exec.attach': OfExec & { readonly from?: number };
  readonly 'exec.read': ExecReadParams;
  readonly 'exec.write': ExecWriteParams;
  readonly 'exec.resize': ExecResizeParams;
  readonly 'exec.cancel': ExecCancelParams;
  readonly 'exec.lease': ExecLeaseParams;
  readonly 'exec.list': { readonly session_id?: SessionId };
  readonly 'exec.info': OfExec;
  readonly 'system.hello': {
    readonly protocol?: 'trl/2';
    /** An id that all connections of one client give, so that they count as one caller. */
    readonly client?: string;
    readonly frames?: 'lines' | 'bin';
    readonly window_bytes?: number;
  };
  readonly 'system.ping': Empty;
  readonly 'system.stats': Empty;
  readonly 'system.metrics': Empty;
  readonly 'system.watch': Empty;
  readonly 'runtime.list': Empty;
  readonly 'policy.explain': PolicyExplainParams;
  readonly 'approval.list': ApprovalListParams;
  readonly 'approval.get': { readonly approval_id: ApprovalId };
  readonly 'approval.decide': ApprovalDecideParams;
  readonly 'approval.watch': Empty;
  readonly 'approval.status': Empty;
  readonly 'secrets.list': Empty;
  readonly 'secrets.check': { readonly name: string };
  readonly 'secrets.request': SecretRequestParams;
  readonly 'secrets.requests': Empty;
  readonly 'secrets.set': SecretSetParams;
  readonly 'secrets.inject': SecretInjectParams;
  readonly 'secrets.delete': SecretDeleteParams;
  readonly 'workspace.trust': { readonly path: string };
  readonly 'workspace.forget': { readonly path: string };
  readonly 'workspace.list': Empty;
  readonly 'cache.list': Empty;
  readonly 'cache.clear': { readonly path?: string };
  readonly 'workspace.open': WorkspaceOpenParams;
  readonly 'workspace.status': OfSession;
  readonly 'workspace.diff': WorkspaceDiffParams;
  readonly 'workspace.apply': WorkspaceApplyParams;
  readonly 'workspace.discard': WorkspaceDiscardParams;
  readonly 'snapshot.list': SnapshotListParams;
  readonly 'snapshot.get': SnapshotGetParams;
  readonly 'snapshot.restore': SnapshotRestoreParams;
  readonly 'exec.undo': ExecUndoParams;
  readonly 'publish.check': PublishCheckParams;
  readonly publish: PublishParams;
  readonly 'audit.list': AuditListParams;
  readonly 'audit.get': AuditGetParams;
  readonly 'audit.verify': AuditVerifyParams;
  readonly 'tool.list': ToolListParams;
  readonly 'tool.call': ToolCallParams;
  readonly 'tool.register': ToolRegisterParams;
  readonly 'tool.answer': ToolAnswerParams;
  readonly 'console.login': ConsoleLoginParams;
}

type Empty = Readonly<Record<string, never>>;
interface OfSession {
  readonly session_id: SessionId;
}
interface OfExec {
  readonly exec_id: ExecId;
}

export type Method = keyof MethodParams & keyof MethodAnswers;
export type Params<M extends Method> = MethodParams[M];
export type Data<M extends Method> = MethodAnswers[M];
