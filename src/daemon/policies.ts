/**
 * The policies of a daemon: its own, which it reads at the start and again on SIGHUP, and one for
 * each workspace whose project has a trusted file. The code that reads files and knows commands is
 * loaded on demand: the start does not wait for it if there is no file.
 */
import { statSync } from 'node:fs';
import path from 'node:path';
import {
  defaultApprovalBounds,
  isPolicyBaseName,
  managedPolicyFile,
  projectPolicyFileName,
  trustRecordFileName,
  userPolicyFileName,
  type PolicyBaseName,
  type Policy,
} from '../policy/policy.ts';
import { version } from '../protocol/version.ts';
import { Listeners } from './listeners.ts';
import { configDirectory } from '../yaml/config-directories.ts';

interface Known {
  /** Identifies the versions of the files from which the policy was made. */
  readonly marks: string;
  readonly policy: Policy;
}

type Guard = (file: string) => void;

/** A policy, or the reason why it could not be used. */
export type PolicyRead = { readonly policy: Policy } | { readonly refused: string };

export class Policies {
  readonly #listeners = new Listeners<[PolicyRead]>();
  readonly #chosen: string | null;
  readonly #log: (text: string) => void;
  readonly #guard: Guard;
  readonly #projects = new Map<string, Known>();
  #own: Promise<Policy> | null = null;
  /** The resolved value of `#own`. */
  #ownNow: Policy | null = null;

  private constructor(chosen: string | null, log: (text: string) => void, guard: Guard) {
    this.#chosen = chosen;
    this.#log = log;
    this.#guard = guard;
  }

  /**
   * @param chosen a shipped profile or a file; `null`: the user's file, else `auto`
   * @param guard throws for a file that commands could write
   * @throws PolicyError if a file cannot be used: the daemon must not start with a weaker policy
   */
  static async open(
    chosen: string | null,
    log: (text: string) => void,
    guard: Guard,
  ): Promise<Policies> {
    const made = new Policies(chosen, log, guard);
    if (made.#hasFiles()) await made.#read();
    process.on('SIGHUP', () => void made.#reload());
    return made;
  }

  /**
   * Reports each policy that is read from now on, or why it could not be used. The listener must
   * not throw.
   */
  watch(listener: (read: PolicyRead) => void): () => void {
    return this.#listeners.add(listener);
  }

  /**
   * The current policy of a workspace.
   *
   * @throws TrlError `POLICY_DENIED` if the trusted project file has changed; PolicyError if it
   *   cannot be used
   */
  async of(workspace: string | null): Promise<Policy> {
    const own = await (this.#own ?? this.#read());
    if (workspace === null) return own;
    const names = [path.join(workspace, projectPolicyFileName), trustFile()];
    const marks = names.map(markOf);
    // Without a file there is nothing to trust, unless a trusted file was removed.
    if (marks.every((mark) => mark === null)) return own;
    const known = this.#projects.get(workspace);
    if (known?.marks === marks.join(' ')) return known.policy;
    const policy = await this.#load(workspace);
    this.#projects.set(workspace, { marks: marks.join(' '), policy });
    this.#listeners.emit({ policy });
    return policy;
  }

  /** The approval settings according to the policy that was read last. */
  permits(workspace: string | null): Policy['approvals'] {
    const own = this.#ownNow?.approvals ?? defaultApprovalBounds;
    const project = workspace === null ? undefined : this.#projects.get(workspace);
    if (project === undefined) return own;
    // Until the project's file is read again, its stricter settings apply in addition to the new
    // policy.
    const its = project.policy.approvals;
    return {
      expiresMs: Math.min(own.expiresMs, its.expiresMs),
      sameUid: own.sameUid && its.sameUid,
      sessionScope: own.sessionScope && its.sessionScope,
    };
  }

  #read(): Promise<Policy> {
    this.#own = this.#load(null).then((policy) => {
      this.#ownNow = policy;
      return policy;
    });
    return this.#own;
  }

  async #load(workspace: string | null): Promise<Policy> {
    const base = this.#chosen ?? 'auto';
    if (workspace === null && isPolicyBaseName(base) && !this.#hasFiles()) {
      const { policyFromProfile } = await import('../policy/profiles.ts');
      return policyFromProfile(base);
    }
    const [{ loadPolicy }, { findProjectPolicy }] = await Promise.all([
      import('../policy/files/load.ts'),
      import('../policy/files/trust.ts'),
    ]);
    const project =
      workspace === null ? null : findProjectPolicy(workspace, { version: version() });
    if (project?.kind === 'untrusted') this.#log(project.warning);
    const file = project?.kind === 'trusted' ? project.file : null;
    return loadPolicy({
      ...choiceOf(this.#chosen),
      fallback: 'auto',
      version: version(),
      project: file,
      guard: this.#guard,
    });
  }

  /** Whether any file takes part in the decisions. */
  #hasFiles(): boolean {
    const chosen = this.#chosen;
    if (chosen !== null && !isPolicyBaseName(chosen)) return true;
    const names = [managedPolicyFile, ...(chosen === null ? [userFile()] : [])];
    return names.some((name) => markOf(name) !== null);
  }

  /** If a file cannot be used, the previous policy remains in force. */
  async #reload(): Promise<void> {
    try {
      const policy = await this.#load(null);
      this.#own = Promise.resolve(policy);
      this.#ownNow = policy;
      for (const [workspace, { policy: before }] of this.#projects) {
        this.#projects.set(workspace, { marks: '', policy: before });
      }
      this.#listeners.emit({ policy });
      this.#log(`policy "${policy.name}" was read again: ${policy.version.slice(0, 12)}`);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      this.#listeners.emit({ refused: why });
      this.#log(`the policy stays as it was: ${why}`);
    }
  }
}

const userFile = (): string => path.join(configDirectory(), userPolicyFileName);
const trustFile = (): string => path.join(configDirectory(), trustRecordFileName);

/**
 * Identifies a version of a file: it differs for another file or other content. `null`: there is no
 * file.
 */
function markOf(file: string): string | null {
  try {
    const found = statSync(file, { bigint: true, throwIfNoEntry: false });
    if (found === undefined) return null;
    return `${found.ino}:${found.size}:${found.mtimeNs}:${found.ctimeNs}`;
  } catch (error) {
    // There may be a file even if `stat` fails: the reader then reports why it cannot read it.
    return String(error);
  }
}

function choiceOf(chosen: string | null): { chosen?: { base: PolicyBaseName } | { file: string } } {
  if (chosen === null) return {};
  return { chosen: isPolicyBaseName(chosen) ? { base: chosen } : { file: path.resolve(chosen) } };
}
