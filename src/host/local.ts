/** The host whose files are on this machine. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { limits } from '../limits.ts';
import type { HostFacts } from '../sandbox/host-facts.ts';
import type { SessionRecord } from '../session/record.ts';
import { AtomicRenames } from '../workspace/commit/atomic-renames.ts';
import { openGuard, type Guard } from '../workspace/guard.ts';
import { surveyWorkspace, type WorkspaceFacts } from '../workspace/workspace-survey.ts';
import { resolveProject, resolveWorkspace } from '../workspace/roots.ts';
import { localFileLookups } from './file-lookups.ts';
import { LocalHomeCaches } from './home-caches.ts';
import { LocalFiles } from './local-files.ts';
import { LocalHistory } from './history.ts';
import type { AllSessions, WorkspaceHost } from './port.ts';
import { SnapshotStores } from './snapshot-stores.ts';
import { Workspaces, type WorkspacesOptions } from './workspaces.ts';

export interface LocalHostOptions extends Pick<WorkspacesOptions, 'mounts' | 'tags' | 'log'> {
  /** Layers end with the daemon whose state lies here. */
  readonly stateDirectory: string;
  /** Contents and records are for every later daemon of the user. */
  readonly dataDirectory: string;
  readonly facts: HostFacts;
  /** Directories in HOME that last with a project; none lies in another. */
  readonly homeCaches: readonly string[];
  /** Key of the records; asked when the first one is written. */
  readonly key: (directory: string) => Uint8Array;
}

export class LocalHost implements WorkspaceHost {
  readonly views: Workspaces;
  readonly history: LocalHistory;
  readonly files: LocalFiles;
  readonly caches: LocalHomeCaches;
  readonly resolve = resolveWorkspace;
  readonly project = resolveProject;
  readonly survey = surveyWorkspace;
  readonly lookups = localFileLookups;

  constructor(options: LocalHostOptions) {
    const { stateDirectory, dataDirectory, facts, homeCaches, key, log, mounts, tags } = options;
    const directory = join(dataDirectory, 'snapshots');
    const onLate = (at: Buffer): void => {
      log(`commit: somebody wrote to a file just replaced; it is kept at "${at.toString()}"`);
    };
    // Beside the stores: whoever finishes an interrupted commit from one of them looks there.
    const renames = new AtomicRenames(onLate, { staging: join(dataDirectory, 'staging') });
    const stores = new SnapshotStores({ renames, directory, key: () => key(directory), log });
    this.views = new Workspaces({
      mounts,
      tags,
      directory: join(stateDirectory, 'workspaces'),
      host: facts,
      stores,
      renames,
      log,
    });
    this.history = new LocalHistory(this.views);
    this.files = new LocalFiles(facts.home);
    this.caches = new LocalHomeCaches({
      directory: join(dataDirectory, 'caches'),
      home: facts.home,
      names: homeCaches,
      bytesMax: limits.cacheBytes.default,
      log,
    });
  }

  guard(facts: WorkspaceFacts, quarantine: string): Promise<Guard> {
    mkdirSync(quarantine, { recursive: true, mode: 0o700 });
    return openGuard(facts, quarantine);
  }

  attach(source: AllSessions): void {
    this.views.attach(source);
    this.caches.attach(source);
  }

  recover(sessions: readonly SessionRecord[]): Promise<void> {
    this.caches.recover(sessions);
    return this.views.recover(sessions);
  }

  close(isLast: boolean): Promise<void> {
    return this.views.end(isLast);
  }
}
