/** Files of workspaces on this machine, as they are when they are read. */
import type { BytePath } from '../change.ts';
import { Allowance, type Collection, type EarlierFile } from '../publish/leaving.ts';
import { readVisibility } from '../workspace/projection/visibility.ts';
import type {
  FilesRequest,
  FileSource,
  GitRequest,
  PushRequest,
  SurveyedFiles,
  WorkspaceFiles,
} from './port.ts';
import { Pushed } from './publication/pushed.ts';
import { FileReader } from './publication/reading.ts';
import { LocalReader, surveyFiles } from './publication/survey.ts';

export class LocalFiles implements WorkspaceFiles {
  readonly #home: string;

  /** @param home of the person on the host, for `~` in rules */
  constructor(home: string) {
    this.#home = home;
  }

  async collect({ root, rules }: FilesRequest, paths: readonly BytePath[]): Promise<Collection> {
    const visibility = readVisibility(rules, { root, home: this.#home });
    const reader = new FileReader(root, (path) => visibility.hides(path), new Allowance());
    for (const path of paths) await reader.read(path);
    return { items: reader.items, unread: reader.unread, earlier: null };
  }

  survey({ root, rules }: FilesRequest): Promise<SurveyedFiles> {
    return surveyFiles(root, readVisibility(rules, { root, home: this.#home }));
  }

  open(root: string): FileSource {
    return new LocalReader(root);
  }

  async pushed({ root, cwd }: GitRequest, push: PushRequest): Promise<Collection> {
    return new Pushed(root, cwd, new Allowance()).commits(push);
  }

  async staged({ root, cwd }: GitRequest): Promise<Collection> {
    return new Pushed(root, cwd, new Allowance()).staged();
  }

  committed({ root, cwd }: GitRequest): Promise<(() => AsyncIterable<EarlierFile>) | null> {
    return Pushed.committed(root, cwd);
  }
}
