/** Where sessions may work, and the caches that programs keep there for later commands. */
import type { Caller } from '../../command.ts';
import { TrlError } from '../../errors.ts';
import type { HomeCaches } from '../../host/port.ts';
import type { MethodAnswers } from '../../api/methods.ts';
import { sessionCacheId } from '../../session/cache.ts';
import { isBelow } from '../../workspace/inspect-path.ts';
import type { ProjectService } from '../runtime.ts';
import type { LiveSession, Sessions } from '../sessions/sessions.ts';
import type { Projects } from './projects.ts';

export interface ProjectServiceParts {
  readonly projects: Projects;
  readonly caches: HomeCaches;
  readonly sessions: Sessions;
  /** Whether a command of the session runs or starts. */
  readonly isBusy: (session: LiveSession) => boolean;
}

export class DaemonProjectService implements ProjectService {
  readonly #parts: ProjectServiceParts;

  constructor(parts: ProjectServiceParts) {
    this.#parts = parts;
  }

  /** @throws TrlError as {@link Projects.trust}; `PERMISSION_DENIED` for a call from a command */
  async trust(caller: Caller, directory: string): Promise<MethodAnswers['workspace.trust']> {
    if (caller.within === undefined) return this.#parts.projects.trust(directory);
    const message = 'Cannot trust a directory: a script may not do this; its user may';
    throw new TrlError('PERMISSION_DENIED', message);
  }

  forget(directory: string): MethodAnswers['workspace.forget'] {
    return { forgotten: this.#parts.projects.forget(directory) };
  }

  list(): MethodAnswers['workspace.list'] {
    const { projects, sessions } = this.#parts;
    return { workspaces: projects.list(sessions.all().map(({ record }) => record.workspace)) };
  }

  async caches(): Promise<MethodAnswers['cache.list']> {
    const found = await this.#parts.caches.list();
    const views = found.map(({ id, root, bytes, usedAt }) => ({
      cache_id: id,
      path: root,
      bytes,
      used_at: new Date(usedAt).toISOString(),
    }));
    return { caches: views.toSorted((a, b) => (a.path < b.path ? -1 : 1)) };
  }

  async clearCaches(directory: string | null): Promise<MethodAnswers['cache.clear']> {
    const { caches, sessions, isBusy } = this.#parts;
    const all = await caches.list();
    const meant = all.filter(({ root }) => directory === null || isBelow(directory, root));
    // Layers that a session has mounted cannot be emptied meanwhile.
    const having = sessions.all().filter((session) => {
      return isBusy(session) || session.record.shareCache !== undefined;
    });
    const used = meant.find(({ id }) => having.some(({ record }) => sessionCacheId(record) === id));
    if (used !== undefined) {
      const why = 'a running command uses them, or a session that shares the host’s';
      throw new TrlError('SESSION_BUSY', `Cannot clear the caches of "${used.root}": ${why} too`);
    }
    const answers = await Promise.all(meant.map(({ id }) => caches.clear(id)));
    const results = answers.filter((one) => one !== null);
    if (results.length < answers.length) {
      const message =
        'Cannot clear all caches: another runtime of this user has sessions with some';
      throw new TrlError('SESSION_BUSY', message);
    }
    const left = results.reduce((sum, { count }) => sum + count, 0);
    const why = results.find((one) => one.why !== null)?.why ?? null;
    return { cleared: meant.length, left, ...(why === null ? {} : { why }) };
  }
}
