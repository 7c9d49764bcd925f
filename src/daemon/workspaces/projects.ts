/**
 * Below which directories sessions may work: those that the daemon was started with, and the
 * projects that its user trusted since.
 */
import { realpathSync } from 'node:fs';
import type { MethodAnswers } from '../../api/methods.ts';
import { TrlError } from '../../errors.ts';
import type { WorkspaceHost } from '../../host/port.ts';
import type { StateStore } from '../../session/store.ts';
import { isBelow } from '../../workspace/inspect-path.ts';

export interface ProjectsParts {
  /** By real path: those that the daemon was started with; the others are added and removed. */
  readonly roots: string[];
  /** Whether others may be trusted. */
  readonly allowsTrust: boolean;
  readonly store: Pick<StateStore, 'put' | 'remove' | 'all'>;
  readonly home: string;
  readonly host: Pick<WorkspaceHost, 'resolve' | 'project'>;
  /** @throws TrlError for a directory that holds what the runtime obeys or keeps */
  readonly check: (root: string) => Promise<void>;
  readonly log: (text: string) => void;
}

interface Trusted {
  /** Real path. */
  readonly path: string;
  /** Unix milliseconds. */
  readonly at: number;
}

/** Each is looked through where a session starts. */
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

  /** With the projects that were trusted before, as far as they can be used still. */
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
   * From now on sessions may work in the project that holds `directory`: the top of its git
   * worktree, else itself. One that lies in a root is part of that.
   *
   * @throws TrlError `INVALID_PARAMS` for what cannot be a workspace; `WORKSPACE_ESCAPE` where this
   *   daemon works only in the directories that it was started with
   */
  async trust(directory: string): Promise<MethodAnswers['workspace.trust']> {
    const { store, allowsTrust: trusts, home, host, check } = this.#parts;
    const found = await host.project(directory, home);
    const holding = this.#holding(found.directory);
    if (holding !== null) return { path: holding, is_new: false };
    // As for a session, which says what to start it with.
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
   * No session is made there any more; those that work there go on.
   *
   * @returns whether it was trusted
   */
  forget(directory: string): boolean {
    const found = [directory, realOr(directory)].find((one) => this.#trusted.has(one));
    if (found === undefined) return false;
    this.#parts.store.remove('projects', found);
    this.#trusted.delete(found);
    if (!this.#given.includes(found)) this.#roots.splice(this.#roots.indexOf(found), 1);
    return true;
  }

  /** @param workspaces those of the sessions that are there */
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

  /** The innermost root that holds it. */
  #holding(directory: string): string | null {
    const found = this.#roots.filter((root) => isBelow(directory, root) && isThere(root));
    return found.toSorted((a, b) => b.length - a.length)[0] ?? null;
  }
}

/** A link in its place leads to what nobody trusted. */
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
