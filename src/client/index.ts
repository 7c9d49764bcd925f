/** The client: connect to a daemon, run commands in sessions, follow their output. */
export { Client, clientOver } from './client.ts';
export type { ClientOptions } from './client.ts';
export { connectByUrl } from './connect.ts';
export type { ConnectOptions, SocketOptions } from './connect.ts';
export type { RemoteOptions, WebSocketConstructor, WebSocketLike } from './web-socket.ts';
export type { Channel, ChannelSink } from './channel.ts';
export { streamChannel } from './stream-channel.ts';
export { Session } from './session.ts';
export type { RunOptions, StartOptions } from './session.ts';
export { ExecStream } from './stream.ts';
export type { ExecEnd, ExecEvent, StreamOptions } from './stream.ts';
export type {
  Data,
  ExecCancelParams,
  ExecResizeParams,
  ExecWriteParams,
  Method,
  MethodParams,
  Params,
  SessionUpdateParams,
} from './methods.ts';
export { errorTable, isTrlError, TrlError } from '../errors.ts';
export type { ErrorCode } from '../errors.ts';
export type { ApprovalId, ApprovalState, ExecId, SandboxKind, SessionId } from '../command.ts';
export type {
  SecretEntry,
  SecretListAnswer,
  SecretCheckAnswer,
  SecretRequestView,
  SecretRequestAnswer,
  SecretRequestParams,
  SecretSetParams,
  SecretInjectParams,
  SecretDeleteParams,
} from '../protocol/secrets.ts';
export type {
  FindingView,
  PublicationId,
  PublishCheckParams,
  Publication,
  PublishedFile,
  PublishParams,
  PublishVerdict,
  PushedRef,
} from '../protocol/publish.ts';
export type {
  ChangeView,
  DiffFile,
  EntryView,
  ExecUndoParams,
  GitView,
  ReceiptChanges,
  RestoreAnswer,
  SnapshotGetParams,
  SnapshotListParams,
  SnapshotRecord,
  SnapshotRestoreParams,
  SnapshotView,
  StoreView,
  WorkspaceApplyAnswer,
  WorkspaceApplyParams,
  WorkspaceDiff,
  WorkspaceDiffParams,
  WorkspaceDiscardAnswer,
  WorkspaceDiscardParams,
  WorkspaceId,
  WorkspaceOpenAnswer,
  WorkspaceOpenParams,
  CacheView,
  WorkspaceRoot,
  WorkspaceTrustAnswer,
  WorkspacePolicy,
  WorkspaceStatus,
} from '../protocol/workspace.ts';
export type {
  AuditEventView,
  AuditGetParams,
  AuditListAnswer,
  AuditListParams,
  AuditLogView,
  AuditVerifyAnswer,
  AuditVerifyParams,
} from '../protocol/audit.ts';
export type {
  ExecLeaseAnswer,
  ExecLeaseParams,
  FeedAnswer,
  FeedEvent,
  FeedId,
} from '../protocol/feed.ts';
export type { OfferedCall, OfferedTool, ToolOffer } from './register-tool.ts';
export type { ToolCallAnswer, ToolCallParams, ToolListParams, ToolView } from '../protocol/tool.ts';
export type {
  AnswerScope,
  ApprovalDecideParams,
  ApprovalListParams,
  ApprovalStatus,
  ApprovalView,
  ApprovalSubjectView,
} from '../protocol/approval.ts';
export type {
  ExecParams,
  ExecReadAnswer,
  ExecReadParams,
  ExecView,
  LimitParams,
  MethodAnswers,
  Receipt,
  SessionCreateParams,
  SessionView,
  StreamChunk,
} from '../protocol/types.ts';
