/**
 * The policies of a daemon: its own, read at the start and anew when SIGHUP asks for it, and that
 * of each workspace whose project has a trusted file.
 */
import { statSync } from 'node:fs';
import path from 'node:path';
import { configDirectory, loadPolicy } from '../policy/files/load.ts';
import { findProject, projectFileName } from '../policy/files/trust.ts';
import { isBaseName, type Policy } from '../policy/policy.ts';
import { version } from './version.ts';

interface Known {
  /** What the files looked like that it was made of. */
  readonly marks: string;
  readonly policy: Policy;
}

export class Policies {
  readonly #chosen: string | null;
  readonly #log: (text: string) => void;
  readonly #projects = new Map<string, Known>();
  #own: Policy;

  /**
   * @param chosen a shipped profile or a file; `null`: the user's file, else `auto`
   * @throws PolicyError when a file cannot be used: the daemon must not start with less
   */
  constructor(chosen: string | null, log: (text: string) => void) {
    this.#chosen = chosen;
    this.#log = log;
    this.#own = this.#load(null);
    process.on('SIGHUP', () => this.#reload());
  }

  /**
   * The policy of a workspace as it is now.
   *
   * @throws TrlError `POLICY_DENIED` when the project's file was trusted and has changed since;
   *   PolicyError when it cannot be used
   */
  of(workspace: string | null): Policy {
    if (workspace === null) return this.#own;
    const files = [
      path.join(workspace, projectFileName),
      path.join(configDirectory(), 'trusted.json'),
    ];
    const marks = files.map(markOf).join(' ');
    const known = this.#projects.get(workspace);
    if (known?.marks === marks) return known.policy;
    const policy = this.#load(workspace);
    this.#projects.set(workspace, { marks, policy });
    return policy;
  }

  /** What it permits for a question; a project that cannot be read any more permits least. */
  permits(workspace: string | null): Policy['approvals'] {
    const { approvals } = this.#own;
    try {
      return this.of(workspace).approvals;
    } catch {
      return { ...approvals, sameUid: false, sessionScope: false };
    }
  }

  #load(workspace: string | null): Policy {
    const chosen = choiceOf(this.#chosen);
    const project = workspace === null ? null : findProject(workspace, { version });
    if (project?.kind === 'untrusted') this.#log(project.warning);
    const file = project?.kind === 'trusted' ? project.file : null;
    return loadPolicy({ ...chosen, fallback: 'auto', version, project: file });
  }

  /** A file that cannot be used changes nothing: what was read before still holds. */
  #reload(): void {
    try {
      this.#own = this.#load(null);
      this.#projects.clear();
      this.#log(`policy "${this.#own.name}" was read anew: ${this.#own.version.slice(0, 12)}`);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      this.#log(`the policy stays as it was: ${why}`);
    }
  }
}

/** Changes whenever a file may have: another file, another content, or none. */
function markOf(file: string): string {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false });
  return found === undefined
    ? 'none'
    : `${found.ino}:${found.size}:${found.mtimeNs}:${found.ctimeNs}`;
}

function choiceOf(chosen: string | null): Pick<Parameters<typeof loadPolicy>[0], 'chosen'> {
  if (chosen === null) return {};
  return { chosen: isBaseName(chosen) ? { base: chosen } : { file: path.resolve(chosen) } };
}
