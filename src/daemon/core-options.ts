/** What the runtime is put together of. */
import type { Enrolment } from '../approval/enrolment.ts';
import type { RuntimeBounds } from '../limits.ts';
import type { HostFacts } from '../sandbox/facts.ts';
import type { Secrets } from '../secrets/secrets.ts';
import type { AskedBounds } from '../session/bounds.ts';
import type { Store } from '../session/store.ts';
import type { Identities } from './access/identities.ts';
import type { Approving } from './approvals/approving.ts';
import type { Auditing } from './auditing/auditing.ts';
import type { Shown } from './auditing/basis.ts';
import type { Stating } from './auditing/exec-recorder.ts';
import type { DiffRedaction } from './diffs/diff-redaction.ts';
import type { Masking } from './secrets/masking.ts';
import type { Policies } from './policies.ts';
import type { Runners } from './runners.ts';
import type { SearchedHosts } from './sessions/searched-hosts.ts';
import type { ReservedPaths } from '../workspace/reserved.ts';
import type { Turns } from './turns.ts';
import type { Projects } from './workspaces/projects.ts';
import type { OpenWorkspaces } from './workspaces/open-workspaces.ts';
import type { WorkspaceHost } from '../host/port.ts';
import type { Variables } from './secrets/variables.ts';

export interface CoreOptions {
  readonly host: HostFacts;
  /** The same, for sessions whose programs are looked for elsewhere. */
  readonly searched: SearchedHosts;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Below which sessions may work, as {@link Projects.roots}. */
  readonly roots: readonly string[];
  readonly projects: Projects;
  /** What no grant opens. */
  readonly reserved: ReservedPaths;
  readonly policies: Policies;
  readonly turns: Turns;
  /** Questions to people, and their answers. */
  readonly approving: Approving;
  /** The person who proves to be one. */
  readonly enrolment: Enrolment;
  /** Who presents a token. */
  readonly identities: Identities;
  readonly secrets: Secrets;
  readonly variables: Variables;
  /** Key of the hashes that stand for values in a question to a person. */
  readonly macKey: Uint8Array;
  /** Hides known secrets in whatever the daemon says or keeps. */
  readonly masking: Masking;
  readonly store: Store;
  readonly runners: Runners;
  readonly workspaceHost: WorkspaceHost;
  readonly auditing: Auditing;
  /** Signs what the log says of each command. */
  readonly stating: Stating;
  readonly opened: OpenWorkspaces;
  /** How what files hold is redacted. */
  readonly redaction: Omit<DiffRedaction, 'index'>;
  /** Hides secrets, known or likely, in texts that are kept for good. */
  readonly shown: Shown;
  /** Where what a command may not leave in a workspace is moved to. */
  readonly quarantine: string;
  readonly auditDirectory: string;
  /** Of sessions and commands. */
  readonly bounds: RuntimeBounds;
  /** Of sessions whose callers name none. */
  readonly sessionBounds: Pick<AskedBounds, 'timeout_ms' | 'cpu_s'>;
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
