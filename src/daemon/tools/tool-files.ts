/**
 * Tools that people wrote as files. Each request lists the directories again, and reads a file
 * again if it may have changed. A file that commands could write is not trusted.
 */
import { createHash } from 'node:crypto';
import { realpathSync, statSync } from 'node:fs';
import path from 'node:path';
import { readToolFile, ToolFileError, type ToolDefinition } from '../../configuration/tool-file.ts';
import {
  hasProjectTools,
  listToolFiles,
  readToolTrustRecord,
  readTrustedTools,
} from '../../configuration/tool-trust.ts';
import { matchesNamePattern } from '../../variable-names.ts';
import { version } from '../../protocol/version.ts';
import { readOwnedFile, type RequiredFileOwner } from '../../yaml/owned-file.ts';

export type ToolSource = 'system' | 'directory' | 'user' | 'project';

export interface FileTool {
  readonly definition: ToolDefinition;
  readonly source: ToolSource;
  readonly file: string;
  /** Hexadecimal hash of the file. */
  readonly sha256: string;
}

export interface ToolDirectory {
  readonly path: string;
  readonly source: Exclude<ToolSource, 'project'>;
}

export interface ToolFilesOptions {
  /** If several directories have a tool of the same name, the first one wins. */
  readonly directories: readonly ToolDirectory[];
  /** Real paths of directories that commands of sessions may write. */
  readonly writable: () => readonly string[];
  readonly log: (text: string) => void;
}

interface Read {
  readonly mark: string;
  readonly tool: FileTool | null;
}

export class ToolFiles {
  readonly #options: ToolFilesOptions;
  readonly #read = new Map<string, Read>();
  /** Trusted projects whose tools were read at least once. */
  readonly #known = new Set<string>();
  /** Messages already logged, so that each is logged once. */
  readonly #said = new Set<string>();
  /** The last readable version of each tool file, kept even if the file becomes unreadable. */
  readonly #managed = new Map<string, FileTool>();

  constructor(options: ToolFilesOptions) {
    this.#options = options;
  }

  /** All usable tools of a workspace, one per name. */
  all(workspace: string | null): readonly FileTool[] {
    const shared = this.#options.directories.flatMap((directory) => this.#in(directory));
    const found = [...shared, ...this.#ofProject(workspace)];
    const byName = new Map<string, FileTool>();
    for (const tool of found) {
      const { name } = tool.definition;
      const first = byName.get(name);
      if (first === undefined) byName.set(name, tool);
      else this.#say(`"${tool.file}" is left out: "${first.file}" has the tool "${name}"`);
    }
    return [...byName.values()];
  }

  /** The tool that manages a variable, among all tools ever read; `null` if none does. */
  managedBy(name: string, workspace: string | null): string | null {
    for (const directory of this.#options.directories) this.#in(directory);
    this.#ofProject(workspace);
    this.#learnProjects();
    for (const { definition } of this.#managed.values()) {
      const isManaged = definition.injectsEnv.some((pattern) => matchesNamePattern(pattern, name));
      if (isManaged) return definition.name;
    }
    return null;
  }

  /** A variable that a tool of one project manages is withheld from other projects, too. */
  #learnProjects(): void {
    try {
      for (const [project, sha256] of readToolTrustRecord()) {
        const name = `${sha256} ${project}`;
        if (!this.#known.has(name) && this.#ofProject(project).length > 0) this.#known.add(name);
      }
    } catch (error) {
      this.#say(error instanceof Error ? error.message : String(error));
    }
  }

  #in({ path: directory, source }: ToolDirectory): FileTool[] {
    const files = listToolFiles(directory);
    if (files.length === 0) return [];
    const why = this.#whyOpen(directory, source);
    if (why !== null) {
      this.#say(`the tools in "${directory}" are left out: ${why}`);
      return [];
    }
    return files.flatMap((file) => this.#readFile(file, source) ?? []);
  }

  /** Anyone who can put a file there can get the variables of its tool. */
  #whyOpen(directory: string, source: ToolSource): string | null {
    const stat = statSync(directory, { throwIfNoEntry: false });
    if (stat === undefined) return 'it is gone';
    if ((stat.mode & 0o022) !== 0) return 'others may write it: chmod go-w it first';
    const owners = source === 'system' ? [0] : [0, process.getuid?.() ?? 0];
    if (!owners.includes(stat.uid)) return `it belongs to uid ${stat.uid}`;
    return this.#whyWritable(directory);
  }

  #whyWritable(name: string): string | null {
    const real = realOf(name);
    const tree = this.#options
      .writable()
      .find((one) => real === one || real.startsWith(`${one}/`) || one.startsWith(`${real}/`));
    return tree === undefined ? null : `commands may write below "${tree}"`;
  }

  #readFile(file: string, source: ToolSource): FileTool | null {
    const mark = markOf(file);
    const known = this.#read.get(file);
    if (known?.mark === mark) return known.tool;
    const tool = this.#parse(file, source, () => {
      const owner: RequiredFileOwner = source === 'system' ? 'root' : 'user';
      const bytes = readOwnedFile({ file, Failure: ToolFileError }, { owner });
      if (bytes === null) throw new Error('it is gone');
      const why = this.#whyWritable(file);
      if (why !== null) throw new Error(`"${file}" is left out: ${why}`);
      return bytes;
    });
    this.#read.set(file, { mark, tool });
    return tool;
  }

  #parse(file: string, source: ToolSource, read: () => Uint8Array): FileTool | null {
    try {
      const bytes = read();
      const definition = readToolFile(bytes, { file, version: version() });
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      const tool = { definition, source, file, sha256 };
      if (definition.injectsEnv.length > 0) this.#managed.set(file, tool);
      else this.#managed.delete(file);
      return tool;
    } catch (error) {
      this.#say(error instanceof Error ? error.message : String(error));
      return null;
    }
  }

  #ofProject(workspace: string | null): FileTool[] {
    if (workspace === null || !hasProjectTools(workspace)) return [];
    try {
      const files = readTrustedTools(workspace);
      if (files === null) {
        const way = `look at them, then run: trl tool trust ${workspace}`;
        this.#say(`the tools of "${workspace}" are not trusted as they are now; ${way}`);
        return [];
      }
      return files.flatMap(({ file, bytes }) => this.#parse(file, 'project', () => bytes) ?? []);
    } catch (error) {
      this.#say(error instanceof Error ? error.message : String(error));
      return [];
    }
  }

  #say(text: string): void {
    if (this.#said.has(text)) return;
    if (this.#said.size >= saidMax) this.#said.clear();
    this.#said.add(text);
    this.#options.log(text);
  }
}

const saidMax = 1_000;

/** A value that changes whenever the file may have changed. */
function markOf(file: string): string {
  try {
    const found = statSync(file, { bigint: true });
    return `${found.ino}:${found.size}:${found.mtimeNs}:${found.ctimeNs}`;
  } catch (error) {
    return String(error);
  }
}

function realOf(name: string): string {
  try {
    return realpathSync(name);
  } catch {
    return path.resolve(name);
  }
}
