/** The client: connect to a daemon, run commands in sessions, follow their output. */
export { Client, clientOver } from './client.ts';
export type { ClientOptions } from './client.ts';
export { connectByUrl as connect } from './connect.ts';
export type { ConnectOptions, SocketOptions } from './connect.ts';
export type { RemoteOptions, WebSocketConstructor, WebSocketLike } from './web-socket.ts';
export type { Channel, ChannelSink } from './channel.ts';
export { streamChannel } from './channel.ts';
export { Session } from './session.ts';
export type { RunOptions, StartOptions } from './session.ts';
export { ExecStream } from './stream.ts';
export type { ExecEvent, StreamOptions } from './stream.ts';
export type {
  Data,
  MethodAnswers,
  MethodName as Method,
  MethodParams,
  Params,
} from '../api/methods.ts';
export type {
  ExecCancelParams,
  ExecLeaseAnswer,
  ExecLeaseParams,
  ExecParams,
  ExecReadAnswer,
  ExecReadParams,
  ExecResizeParams,
  ExecWriteParams,
} from '../api/exec.ts';
export type { SessionCreateParams, SessionUpdateParams, SessionView } from '../api/session.ts';
export type {
  SecretCheckAnswer,
  SecretDeleteParams,
  SecretEntry,
  SecretInjectParams,
  SecretListAnswer,
  SecretRequestAnswer,
  SecretRequestParams,
  SecretRequestView,
  SecretSetParams,
} from '../api/secrets.ts';
export type {
  FindingView,
  Publication,
  PublicationId,
  PublishCheckParams,
  PublishParams,
  PublishVerdict,
  PublishedFile,
  PushedRef,
} from '../api/publish.ts';
export type {
  ChangeView,
  DiffFile,
  EntryView,
  GitView,
  ReceiptChanges,
  RestoreAnswer,
  SnapshotView,
  StoreView,
  WorkspaceDiff,
  WorkspaceStatus,
} from '../api/changes.ts';
export type {
  ExecUndoParams,
  SnapshotGetParams,
  SnapshotListParams,
  SnapshotRecord,
  SnapshotRestoreParams,
} from '../api/snapshot.ts';
export type {
  CacheView,
  WorkspaceApplyAnswer,
  WorkspaceApplyParams,
  WorkspaceDiffParams,
  WorkspaceDiscardAnswer,
  WorkspaceDiscardParams,
  WorkspaceOpenAnswer,
  WorkspaceOpenParams,
  WorkspacePolicy,
  WorkspaceRoot,
  WorkspaceTrustAnswer,
} from '../api/workspace.ts';
export type { WorkspaceId } from '../api/answer-fields.ts';
export type {
  AuditEventView,
  AuditGetParams,
  AuditListAnswer,
  AuditListParams,
  AuditLogView,
  AuditVerifyAnswer,
  AuditVerifyParams,
} from '../api/audit.ts';
export type { FeedAnswer, FeedEvent, FeedId } from '../api/system.ts';
export type { ToolCallAnswer, ToolCallParams, ToolListParams, ToolView } from '../api/tool.ts';
export type {
  AnswerScope,
  ApprovalDecideParams,
  ApprovalListParams,
  ApprovalStatus,
  ApprovalSubjectView,
  ApprovalView,
} from '../api/approval.ts';
export type { ExecView, ExecEnd, Receipt, StreamChunk } from '../api/receipt.ts';
export type { LimitParams } from '../api/param-fields.ts';
export { errorTable, isTrlError, TrlError } from '../errors.ts';
export type { ErrorCode } from '../errors.ts';
export type { ApprovalId, ApprovalState, ExecId, SandboxKind, SessionId } from '../command.ts';
export type { OfferedCall, OfferedTool, ToolOffer } from './register-tool.ts';
