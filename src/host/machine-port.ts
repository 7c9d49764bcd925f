/** The port (`port.ts`) apart from workspaces: the machine, its runner, and looking at files. */
import type { ApprovalSubject } from '../approval/subject.ts';
import type { ApprovedPlan } from '../command.ts';
import type { bindMentionedFiles } from '../policy/binding/bind.ts';
import type { Facts, gatherFacts, LookupScope } from '../policy/facts.ts';
import type { fingerprintProject } from '../policy/shapes/project.ts';
import type { LaunchOptions } from '../process/launch.ts';
import type { RunnerLink, RunnerLinkEvents } from '../process/runner-link.ts';
import type { Runner, RunnerOptions } from '../process/runner.ts';
import type { IssuedTags } from '../redacted.ts';
import type { HostFacts } from '../sandbox/host-facts.ts';
import type { resolveGivenDirectory } from '../workspace/roots.ts';
import type { WorkspaceHost } from './port.ts';

/** Opened in the order of its operations. */
export interface MachinePort {
  /**
   * The real path of a directory below which sessions may work.
   *
   * @throws TrlError `INVALID_PARAMS` when it does not exist
   */
  resolveRoot(root: string): string;

  /** What the machine offers a sandbox. Missing parts are values (`unavailable`), not errors. */
  gatherFacts(): Promise<HostFacts>;

  /** The same facts for a session whose programs are found by another `PATH`. */
  factsFor(facts: HostFacts, searchPath: string): HostFacts;

  /**
   * Starts the runner and its redactor, or adopts the runner of an earlier daemon.
   *
   * @throws TrlError `BACKEND_UNAVAILABLE`
   */
  openRunner(options: RunnerOptions, events: RunnerLinkEvents): Promise<RunnerConnection>;

  openWorkspaces(options: WorkspaceHostOptions): WorkspaceHost;
}

/** A runner. Commands and sessions in it are reached by the operations of `link`. */
export interface RunnerConnection extends Runner {
  /** @throws TrlError as `process/launch.ts` */
  launch(approved: ApprovedPlan, options: LaunchOptions): Promise<void>;

  /** Ends the runner and everything in it. It is killed when it does not answer in `waitMs`. */
  end(waitMs: number): Promise<void>;

  /** Removes what a killed runner left. */
  removeLost(): Promise<void>;
}

export interface WorkspaceHostOptions {
  /** Layers end with the daemon whose state lies here. */
  readonly stateDirectory: string;
  /** Contents and records are for every later daemon of the user. */
  readonly dataDirectory: string;
  readonly facts: HostFacts;
  /** Directories in HOME that last with a project; none lies in another. */
  readonly homeCaches: readonly string[];
  /** Key of the records; called when the first one is written. */
  readonly key: (directory: string) => Uint8Array;
  /** The runner that mounts the views. */
  readonly mounts: () => Promise<Pick<RunnerLink, 'request'>>;
  /** Tags of hidden values that output was given. */
  readonly tags: IssuedTags;
  /** Must not throw. */
  readonly log: (text: string) => void;
}

/** Looks at files for policy and approvals. Changes nothing. */
export interface FileLookups {
  /** The directory that a command starts in, after every link is resolved. */
  readonly resolveDirectory: typeof resolveGivenDirectory;

  /** Never throws: what cannot be looked up is a finding. */
  gatherFacts(
    analysis: Parameters<typeof gatherFacts>[0],
    plain: readonly string[] | null,
    scope: Omit<LookupScope, 'parseGitConfig'>,
  ): Promise<Facts>;

  /** What an approval binds of the files that a command may run. */
  readonly bindMentionedFiles: typeof bindMentionedFiles;

  /** What an approval for a project binds of it; `null`: no such approval is possible. */
  readonly fingerprintProject: typeof fingerprintProject;

  /** The file at a path, without following a link there; `null`: none. */
  directoryAt(path: string): (DirectoryIdentity & { readonly isDirectory: boolean }) | null;

  /** Lookups as a command in a sandbox would make them. */
  inSandbox(trees: SandboxTrees): SandboxLookups;
}

export interface DirectoryIdentity {
  readonly dev: number;
  readonly ino: number;
}

export interface SandboxTrees {
  /** Whether there is no sandbox. */
  readonly none: boolean;
  /** Trees that a command sees as the host does. */
  readonly visible: readonly string[];
  /** Trees that are the sandbox's own. */
  readonly scratch: readonly string[];
  readonly workspace: string | null;
}

export interface SandboxLookups {
  /** The directory of the host that a path of the session is now. */
  directoryIdentity(path: string): DirectoryIdentity | null;
  /** The program that a shell finds by a `PATH` other than the runtime's; `null`: none. */
  findProgram(name: string, path: string, cwd: string): string | null;
  /** Whether a path exists only in the sandbox, or is something else on the host. */
  isPrivate(file: string): boolean;
  /** Limits a content to what an approval can bind: files that the host sees. */
  bindContent(
    content: ApprovalSubject['contents'][number],
    cwd: string,
  ): ApprovalSubject['contents'][number];
}
