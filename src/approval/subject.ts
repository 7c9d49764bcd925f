/**
 * What a person answers to: everything that can change what a command does, as one plain value.
 * No variable's value is in it, only a keyed hash; files that the command does not name are not
 * in it either, or every save in an editor would void an answer.
 */
import type { NetworkAccess } from '../network-access.ts';
import { createHash } from 'node:crypto';
import type { Binding, ContentRole } from '../binding.ts';
import type {
  AssuranceLevel,
  Bounds,
  FileGrants,
  SandboxKind,
  SessionId,
  ShellDialect,
} from '../command.ts';
import { canonicalJson } from '../canonical.ts';
import type { RuleSubject } from './lasting-rules.ts';

/** A thing whose content decides what the command does. */
export interface SubjectContent {
  readonly role: ContentRole;
  /** As the command names it: `npm`, `./build.sh`; of a package script its name. */
  readonly name: string;
  /** Absolute and without links; `null` where nothing was found. */
  readonly path: string | null;
  /** SHA-256 (hex) of the content; `null` where nothing was found. */
  readonly sha256: string | null;
  /** Permission bits of a file or directory of the workspace. */
  readonly mode?: number;
}

export interface ApprovalSubject {
  readonly v: 1;
  readonly command: string;
  /** Absent: the shell takes `command`. */
  readonly language?: 'python';
  /** The registered tool that it is, and the hash of its file; absent: none. */
  readonly tool?: { readonly name: string; readonly sha256: string };
  /** The hardened words that start in place of a shell, or `null`. */
  readonly argv: readonly string[] | null;
  readonly shell: { readonly path: string; readonly dialect: ShellDialect };
  readonly mode: 'foreground' | 'detached';
  /** Absolute. */
  readonly cwd: string;
  /** Which directory that is; `null` where it is the sandbox's own, or there is none. */
  readonly cwdPlace: { readonly dev: number; readonly ino: number } | null;
  /** The real directory, so that another one in its place is another question. */
  readonly workspace: { readonly path: string; readonly dev: number; readonly ino: number } | null;
  /** Variables of runtime, session and command, carried ones included; by name, in order. */
  readonly env: readonly { readonly name: string; readonly mac: string }[];
  readonly stdin: { readonly kind: 'closed' | 'bytes' | 'open'; readonly mac: string | null };
  readonly pty: { readonly columns: number; readonly rows: number } | null;
  readonly sandbox: {
    readonly kind: SandboxKind;
    readonly level: AssuranceLevel;
    /** Digest of the box: mounts, filter, view. */
    readonly box: string;
  };
  readonly network: NetworkAccess;
  /** Hosts that it would be let connect to, as rules, in order; absent: none is asked. */
  readonly hosts?: readonly string[];
  readonly files: FileGrants;
  /** Secrets that it would use at hosts without having them, in order; absent: none. */
  readonly brokered?: readonly { readonly name: string; readonly hosts: readonly string[] }[];
  /** Values that its output would show although they look like secrets; absent: none. */
  readonly reveal?: readonly string[];
  readonly bounds: Bounds;
  readonly policy: { readonly name: string; readonly version: string };
  readonly session: SessionId;
  /** The actor that asks. */
  readonly requester: string;
  /** What an answer for the project would be about; absent: none is taken. */
  readonly rule?: RuleSubject;
  /** In the order of role, name and path. */
  readonly contents: readonly SubjectContent[];
  /** Absent: of a question from before, whose answer binds `contents` alone. */
  readonly binding?: Binding;
}

/** A tree that changes all the time would void every yes. */
const everChanging = 'files of the workspace change all the time';

/** The same question without the state of the workspace, and saying so. */
export function withoutWorkspaceState(asked: ApprovalSubject): ApprovalSubject {
  const { binding } = asked;
  if (binding?.kind !== 'workspace') return asked;
  return { ...asked, binding: { kind: 'unbound', why: `${everChanging}; ${binding.why}` } };
}

/** The part of a subject that the approval of `before` binds. */
export function rebindSubject(before: ApprovalSubject, now: ApprovalSubject): ApprovalSubject {
  const loose = withoutWorkspaceState(now);
  const isLoose = canonicalJson(loose.binding ?? null) === canonicalJson(before.binding ?? null);
  return isLoose ? loose : now;
}

/** Puts into order what has none, so that equal questions have equal digests. */
export function orderSubject(asked: ApprovalSubject): ApprovalSubject {
  return {
    ...asked,
    env: asked.env.toSorted((a, b) => compare(a.name, b.name)),
    contents: asked.contents.toSorted((a, b) => compare(contentKey(a), contentKey(b))),
  };
}

/** SHA-256 (hex) of the question, whatever order its parts came in. */
export function subjectDigest(asked: ApprovalSubject): string {
  return createHash('sha256')
    .update(canonicalJson(orderSubject(asked)))
    .digest('hex');
}

const contentKey = ({ role, name, path, sha256 }: SubjectContent): string =>
  [role, name, path ?? '', sha256 ?? ''].join('\0');

/** By code units: the order must not depend on a locale. */
function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
