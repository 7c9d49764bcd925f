/** The host adapter for files on this machine. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { BytePath } from '../change.ts';
import { limits } from '../limits.ts';
import {
  type EarlierFile,
  type OutgoingCollection,
  PublicationBudget,
} from '../publish/publication.ts';
import type { HostFacts } from '../sandbox/host-facts.ts';
import type { SessionRecord } from '../session/record.ts';
import { AtomicRenames } from '../workspace/commit/atomic-renames.ts';
import { openGuard, type Guard } from '../workspace/guard.ts';
import { readVisibility } from '../workspace/projection/visibility.ts';
import { resolveProject, resolveWorkspace } from '../workspace/roots.ts';
import { surveyWorkspace, type WorkspaceFacts } from '../workspace/workspace-survey.ts';
import { localFileLookups } from './file-lookups.ts';
import { LocalHomeCaches } from './home-caches.ts';
import type {
  AllSessions,
  FileSource,
  FilesRequest,
  GitRequest,
  PushRequest,
  SurveyedFiles,
  WorkspaceFiles,
  WorkspaceHost,
} from './port.ts';
import { FileCollector, LocalFileSource, surveyFiles } from './publication/file-collector.ts';
import { PushCollector } from './publication/push-collector.ts';
import { LocalHistory } from './restore.ts';
import { SnapshotStores } from './snapshot-stores.ts';
import { WorkspaceTrees } from './workspace-tree.ts';
import { Workspaces, type WorkspacesOptions } from './workspaces.ts';

interface LocalHostOptions extends Pick<WorkspacesOptions, 'mounts' | 'tags' | 'log'> {
  /** The daemon's state: layers end with it. */
  readonly stateDirectory: string;
  /** Contents and records are for every later daemon of the user. */
  readonly dataDirectory: string;
  readonly facts: HostFacts;
  /** Directories in HOME that persist with a project; none is inside another. */
  readonly homeCaches: readonly string[];
  /** Key of the records; called when the first one is written. */
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
    // Beside the stores: recovery of an interrupted commit looks there.
    const renames = new AtomicRenames(onLate, { staging: join(dataDirectory, 'staging') });
    const stores = new SnapshotStores({ renames, directory, key: () => key(directory), log });
    const viewsDirectory = join(stateDirectory, 'workspaces');
    const trees = new WorkspaceTrees(join(viewsDirectory, 'cookies'));
    this.views = new Workspaces({
      mounts,
      tags,
      directory: viewsDirectory,
      host: facts,
      trees,
      stores,
      renames,
      log,
    });
    this.history = new LocalHistory({ host: facts, stores, trees, renames });
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

// Files of workspaces on this machine, as they are when they are read.

export class LocalFiles implements WorkspaceFiles {
  readonly #home: string;

  /** @param home of the person on the host, for `~` in rules */
  constructor(home: string) {
    this.#home = home;
  }

  async collect(
    { root, rules }: FilesRequest,
    paths: readonly BytePath[],
  ): Promise<OutgoingCollection> {
    const visibility = readVisibility(rules, { root, home: this.#home });
    const reader = new FileCollector(
      root,
      (path) => visibility.hides(path),
      new PublicationBudget(),
    );
    for (const path of paths) await reader.read(path);
    return { items: reader.items, unread: reader.unread, earlier: null };
  }

  survey({ root, rules }: FilesRequest): Promise<SurveyedFiles> {
    return surveyFiles(root, readVisibility(rules, { root, home: this.#home }));
  }

  open(root: string): FileSource {
    return new LocalFileSource(root);
  }

  async pushed({ root, cwd }: GitRequest, push: PushRequest): Promise<OutgoingCollection> {
    return new PushCollector(root, cwd, new PublicationBudget()).commits(push);
  }

  async staged({ root, cwd }: GitRequest): Promise<OutgoingCollection> {
    return new PushCollector(root, cwd, new PublicationBudget()).staged();
  }

  committed({ root, cwd }: GitRequest): Promise<(() => AsyncIterable<EarlierFile>) | null> {
    return PushCollector.committed(root, cwd);
  }
}
