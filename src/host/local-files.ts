/** Files of workspaces on this machine, as they are when they are read. */
import type { BytePath } from '../change.ts';
import {
  PublicationBudget,
  type OutgoingCollection,
  type EarlierFile,
} from '../publish/publication.ts';
import { readVisibility } from '../workspace/projection/visibility.ts';
import type {
  FilesRequest,
  FileSource,
  GitRequest,
  PushRequest,
  SurveyedFiles,
  WorkspaceFiles,
} from './port.ts';
import { PushCollector } from './publication/push-collector.ts';
import { FileCollector } from './publication/file-collector.ts';
import { LocalFileSource, surveyFiles } from './publication/survey.ts';

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
