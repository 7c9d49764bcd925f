/** What the runtime is put together of. */
import type { Enrolment } from '../approval/enrolment.ts';
import type { RuntimeBounds } from '../limits.ts';
import type { HostFacts } from '../sandbox/host-facts.ts';
import type { SecretStore } from '../secrets/secret-store.ts';
import type { RequestedBounds } from '../session/bounds.ts';
import type { StateStore } from '../session/store.ts';
import type { Identities } from './access/identities.ts';
import type { DaemonApprovalService } from './approvals/approval-service.ts';
import type { Auditing } from './auditing/auditing.ts';
import type { MaskText } from './auditing/exec-basis.ts';
import type { StatementSigner } from './auditing/exec-recorder.ts';
import type { DiffRedaction } from './diffs/diff-redaction.ts';
import type { Masking } from './secrets/masking.ts';
import type { Policies } from './policies.ts';
import type { Runners } from './runners.ts';
import type { SearchPathHosts } from './sessions/search-path-hosts.ts';
import type { ReservedPaths } from '../workspace/reserved-paths.ts';
import type { EventLoopYield } from './event-loop-yield.ts';
import type { Projects } from './workspaces/projects.ts';
import type { OpenWorkspaces } from './workspaces/open-workspaces.ts';
import type { WorkspaceHost } from '../host/port.ts';
import type { RuntimeVariables } from './secrets/variables.ts';

export interface CoreOptions {
  readonly host: HostFacts;
  /** The same, for sessions whose programs are looked for elsewhere. */
  readonly searchPathHosts: SearchPathHosts;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Below which sessions may work, as {@link Projects.roots}. */
  readonly roots: readonly string[];
  readonly projects: Projects;
  /** What no grant opens. */
  readonly reserved: ReservedPaths;
  readonly policies: Policies;
  readonly eventLoop: EventLoopYield;
  /** Questions to people, and their answers. */
  readonly approvalService: DaemonApprovalService;
  /** The person who proves to be one. */
  readonly enrolment: Enrolment;
  /** Who presents a token. */
  readonly identities: Identities;
  readonly secrets: SecretStore;
  readonly variables: RuntimeVariables;
  /** Key of the hashes that stand for values in a question to a person. */
  readonly macKey: Uint8Array;
  /** Hides known secrets in whatever the daemon says or keeps. */
  readonly masking: Masking;
  readonly store: StateStore;
  readonly runners: Runners;
  readonly workspaceHost: WorkspaceHost;
  readonly auditing: Auditing;
  /** Signs what the log says of each command. */
  readonly statementSigner: StatementSigner;
  readonly openWorkspaces: OpenWorkspaces;
  /** How what files hold is redacted. */
  readonly redaction: Omit<DiffRedaction, 'index'>;
  /** Hides secrets, known or likely, in texts that are kept for good. */
  readonly maskText: MaskText;
  /** Where what a command may not leave in a workspace is moved to. */
  readonly quarantine: string;
  readonly auditDirectory: string;
  /** Of sessions and commands. */
  readonly bounds: RuntimeBounds;
  /** Of sessions whose callers name none. */
  readonly sessionBounds: Pick<RequestedBounds, 'timeout_ms' | 'cpu_s'>;
  /** Directories of tools that the daemon was started with. */
  readonly toolDirectories: readonly string[];
  /** Where publications are checked and laid out; private to the user. */
  readonly publications: string;
  /** Whether the runner and what runs in it end with the daemon. */
  readonly endRunner: boolean;
  /** From TERM to KILL when the daemon is stopped, in `ms`. */
  readonly stopMs: number;
  /** Where it is written what ended with the daemon. */
  readonly stoppedFile: string;
  readonly log: (text: string) => void;
}
