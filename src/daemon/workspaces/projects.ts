/**
 * The directories in which sessions may work: the roots from the start of the daemon, and the
 * projects that the user trusted since.
 */
import { realpathSync } from 'node:fs';
import type { MethodAnswers } from '../../api/methods.ts';
import { TrlError } from '../../errors.ts';
import type { WorkspaceHost } from '../../host/port.ts';
import type { StateStore } from '../../session/store.ts';
import { isBelow } from '../../workspace/inspect-path.ts';

export interface ProjectsParts {
  /**
   * Real paths, initially those from the start of the daemon; trusted projects are added and
   * removed.
   */
  readonly roots: string[];
  /** Whether the user may trust further projects. */
  readonly allowsTrust: boolean;
  readonly store: Pick<StateStore, 'put' | 'remove' | 'all'>;
  readonly home: string;
  readonly host: Pick<WorkspaceHost, 'resolve' | 'project'>;
  /** @throws TrlError for a directory that contains control files or state of the runtime */
  readonly check: (root: string) => Promise<void>;
  readonly log: (text: string) => void;
}

interface Trusted {
  /** Real path. */
  readonly path: string;
  /** Unix milliseconds. */
  readonly at: number;
}

/** The most trusted projects: each start of a session checks all of them. */
const projectsMax = 1_000;

export class Projects {
  readonly #roots: string[];
  readonly #given: readonly string[];
  readonly #parts: ProjectsParts;
  readonly #trusted = new Map<string, Trusted>();

  private constructor(parts: ProjectsParts) {
    this.#parts = parts;
    this.#roots = parts.roots;
    this.#given = [...parts.roots];
  }

  /** Opens the list, with those earlier trusted projects that are still usable. */
  static async open(parts: ProjectsParts): Promise<Projects> {
    const made = new Projects(parts);
    if (!parts.allowsTrust) return made;
    for (const { json } of parts.store.all('projects')) {
      const trusted: Trusted = JSON.parse(json);
      made.#trusted.set(trusted.path, trusted);
      if (!isThere(trusted.path)) continue;
      try {
        await parts.check(trusted.path);
        made.#add(trusted.path);
      } catch (error) {
        parts.log(`the project "${trusted.path}" is not used: ${String(error)}`);
      }
    }
    return made;
  }

  /**
   * Permits sessions to work in the project that contains `directory`: the top of its git worktree,
   * else itself. A project within a root is part of that root.
   *
   * @throws TrlError `INVALID_PARAMS` for a directory that cannot be a workspace;
   *   `WORKSPACE_ESCAPE` if this daemon works only in its initial roots
   */
  async trust(directory: string): Promise<MethodAnswers['workspace.trust']> {
    const { store, allowsTrust: trusts, home, host, check } = this.#parts;
    const found = await host.project(directory, home);
    const holding = this.#rootOf(found.directory);
    if (holding !== null) return { path: holding, is_new: false };
    // This fails as for a session, with an error that suggests the right start options.
    if (!trusts) await host.resolve({ roots: this.#roots, workingDir: directory, home });
    const root = found.project;
    await check(root);
    if (this.#trusted.size >= projectsMax && !this.#trusted.has(root)) {
      const help = 'forget some: trl workspace forget DIR';
      throw new TrlError('QUOTA_EXCEEDED', `Cannot trust "${root}": ${projectsMax} are; ${help}`);
    }
    const trusted = { path: root, at: Date.now() };
    store.put('projects', root, trusted);
    this.#trusted.set(root, trusted);
    this.#add(root);
    return { path: root, is_new: true };
  }

  /**
   * Permits no new session there; existing sessions continue.
   *
   * @returns whether the project was trusted
   */
  forget(directory: string): boolean {
    const found = [directory, realOr(directory)].find((one) => this.#trusted.has(one));
    if (found === undefined) return false;
    this.#parts.store.remove('projects', found);
    this.#trusted.delete(found);
    if (!this.#given.includes(found)) this.#roots.splice(this.#roots.indexOf(found), 1);
    return true;
  }

  /** @param workspaces of the existing sessions */
  list(workspaces: readonly (string | null)[]): MethodAnswers['workspace.list']['workspaces'] {
    const paths = [...new Set([...this.#given, ...this.#trusted.keys()])];
    return paths.toSorted().map((one) => ({
      path: one,
      trusted_at: this.#timeOf(one),
      is_there: isThere(one),
      sessions: workspaces.filter((workspace) => workspace === one).length,
    }));
  }

  #timeOf(root: string): string | null {
    const at = this.#trusted.get(root)?.at;
    return at === undefined ? null : new Date(at).toISOString();
  }

  #add(root: string): void {
    if (!this.#roots.includes(root)) this.#roots.push(root);
  }

  /** The innermost root that contains the directory. */
  #rootOf(directory: string): string | null {
    const found = this.#roots.filter((root) => isBelow(directory, root) && isThere(root));
    return found.toSorted((a, b) => b.length - a.length)[0] ?? null;
  }
}

/** A link at its path leads to a directory that the user did not trust. */
const isThere = (root: string): boolean => realOr(root, null) === root;

function realOr(name: string): string;
function realOr(name: string, otherwise: null): string | null;
function realOr(name: string, otherwise: string | null = name): string | null {
  try {
    return realpathSync(name);
  } catch {
    return otherwise;
  }
}
