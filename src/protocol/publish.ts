/** The wire of the publication gate: what is to leave, and what was found in it. */
import type { ExecId, SessionId } from '../command.ts';
import type { WorkspaceId } from './workspace.ts';

/** `p-` and 32 lower-case hex digits. */
export type PublicationId = `p-${string}`;

export interface PublishAnswers {
  readonly 'publish.check': PublishVerdict;
  readonly publish: Publication;
}

/**
 * What is to leave. `paths`: files of the workspace as they are now. `changes`: what the commands
 * of a session left, net. `exec`: what one command left. `git`: commits that a push would send.
 * `staged`: the index of git against its last commit. `text`: bytes in `data`.
 */
export const publishKinds = ['paths', 'changes', 'exec', 'git', 'staged', 'text'] as const;
export type PublishKind = (typeof publishKinds)[number];

/** One line of a pre-push hook: what becomes of one ref of the remote. */
export interface PushedRef {
  readonly local_ref: string;
  /** Object ids, 40 or 64 hex digits; all zeros: there is none. */
  readonly local_id: string;
  readonly remote_ref: string;
  readonly remote_id: string;
}

export interface PublishCheckParams {
  readonly kind: PublishKind;
  /** Who gets it, as policy calls them; default `public`. */
  readonly audience?: string;
  /**
   * The workspace: at most one of a directory, an opened workspace, a session. Default: that of the
   * command, else the runtime's only root.
   */
  readonly path?: string;
  readonly workspace_id?: WorkspaceId;
  readonly session_id?: SessionId;
  /** With `exec`. */
  readonly exec_id?: ExecId;
  /** With `exec`: what it printed, too. */
  readonly output?: boolean;
  /** With `paths`, `changes` and `exec`: these and what lies below them. */
  readonly paths?: readonly string[];
  readonly paths_base64?: readonly string[];
  /** With `git`, one of both: `A..B`, or one revision: all of it that no remote has. */
  readonly range?: string;
  readonly refs?: readonly PushedRef[];
  /** With `git`: whose branches are there already; default: those of all remotes. */
  readonly remote?: string;
  /** With `text`: base64, and what it is called; default `stdin`. */
  readonly data?: string;
  readonly name?: string;
  /** Say where denied content comes from: to the person who proves to be one. */
  readonly evidence?: boolean;
  /**
   * A person lets through what needs a review, now and for the same bytes later: the first 8 or
   * more digits of the verdict's `digest` that was seen.
   */
  readonly accept?: string;
  /** With `evidence` and `accept`: proves a person, where one is enrolled. */
  readonly passphrase?: string;
}

/** Commits leave by a push: `git` and `staged` are checked only. */
export interface PublishParams extends Omit<PublishCheckParams, 'evidence'> {
  readonly kind: Exclude<PublishKind, 'git' | 'staged'>;
}

export interface PublishVerdict {
  /** Only `pass` may leave; `review` when a person says so; `block` not at all. */
  readonly decision: 'pass' | 'review' | 'block';
  /**
   * `non-interference`: every command that made it could read nothing that the audience may not.
   * `scan`: that is not known; only what was looked for is not there.
   */
  readonly basis: 'non-interference' | 'scan';
  readonly audience: string;
  readonly policy_version: string;
  readonly items: number;
  readonly bytes: number;
  /** SHA-256 (hex) of all that was looked at, for whom, and what was found. */
  readonly digest: string;
  /** Strictest first. */
  readonly findings: readonly FindingView[];
}

export interface FindingView {
  /** `denied.content`, `secret.known`, …: docs/publication.md has all of them. */
  readonly rule: string;
  readonly decision: 'pass' | 'review' | 'block';
  /** Where: the item, and the member within it; `null` where the name itself tells too much. */
  readonly item: string | null;
  /** By it an auditor finds the evidence in the audit log. */
  readonly trace: string;
  /** Only where it was asked for by a person who proved to be one. */
  readonly evidence?: EvidenceView;
}

export interface EvidenceView {
  /** Novel characters of denied content; `null` for exact rules. */
  readonly score: number | null;
  /** The denied file, the name of the secret, or why nobody can look into it. */
  readonly source: string;
  /** Bytes `[from, to)` of the item; `null`: inside of something decoded. */
  readonly span: readonly [number, number] | null;
  /** Lines `[from, to]` of the denied file, from 1. */
  readonly lines: readonly [number, number] | null;
  /** How it was decoded, outermost first. */
  readonly via: readonly string[];
  readonly text: string | null;
}

export interface Publication extends PublishVerdict {
  readonly publication_id: PublicationId;
  /**
   * A directory of the runtime, private to the user: the file at index N of `files` is in it as N.
   * Whoever asked takes it from there with their own rights; it is removed after some minutes.
   */
  readonly directory: string;
  readonly files: readonly PublishedFile[];
}

export interface PublishedFile {
  /** Where it belongs, relative. */
  readonly path: string;
  /** The path's bytes, where they are no valid UTF-8. */
  readonly path_base64?: string;
  readonly type: 'file' | 'symlink';
  /** The permission bits in four octal digits. */
  readonly mode: string;
  readonly size: number;
  /** Lower-case hex; of a link that of its target. */
  readonly sha256: string;
}
