/** The layers of views: whether a workspace can have them, where they are, and their mounts. */
import { mkdirSync, readdirSync, readFileSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import type { BytePath } from '../change.ts';
import type { HostFacts } from '../sandbox/host-facts.ts';
import { bytePathOf } from '../workspace/byte-path.ts';
import { emptyDirectory } from '../workspace/changes/empty-directory.ts';
import { isBelow } from '../workspace/inspect-path.ts';
import type { WorkspaceFacts } from '../workspace/workspace-survey.ts';

/** A view's layers: directories of the host, below one that only the runtime's user may enter. */
export interface LayerDirectories {
  readonly directory: string;
  readonly upper: string;
  readonly work: string;
}

export class LayerLayout {
  readonly #directory: string;
  /** Why an overlay was refused, by workspace: it is not tried again. */
  readonly #refused = new Map<string, string>();

  /** @param directory private to the runtime, outside every workspace */
  constructor(directory: string) {
    this.#directory = directory;
    mkdirSync(directory, { recursive: true, mode: 0o700 });
  }

  refuse(root: string, why: string): void {
    this.#refused.set(root, why);
  }

  /** Why the workspace's changes are found by scans; `null`: they are found in a layer. */
  unavailableReason(root: string, host: HostFacts): string | null {
    const refused = this.#refused.get(root);
    if (refused !== undefined) return refused;
    if (process.platform !== 'linux') return 'this system has no overlays';
    if (host.tools.perl === null) return 'perl is not installed';
    const inside = mountsBelow(root)[0];
    return inside === undefined ? null : `another file system is mounted at "${inside}"`;
  }

  directoriesOf(view: string): LayerDirectories {
    return this.#at(view);
  }

  /** Layers of one command, beside those of the view that it is above. */
  directoriesForCommand(view: string, exec: string): LayerDirectories {
    return this.#at(join(view, exec));
  }

  /** Removes the layers of views that are not among `kept`. */
  async sweep(kept: ReadonlySet<string>): Promise<void> {
    for (const name of readdirSync(this.#directory)) {
      if (!kept.has(name)) await this.remove(this.#at(name));
    }
  }

  /** @throws Error of the file system, with the rest still there */
  async remove({ directory }: LayerDirectories): Promise<void> {
    await emptyDirectory(directory, 0o700);
    rmdirSync(directory);
  }

  #at(name: string): LayerDirectories {
    const directory = join(this.#directory, name);
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    return { directory, upper: join(directory, 'upper'), work: join(directory, 'work') };
  }
}

/** An overlay shows nothing of what is mounted inside its lower tree. */
function mountsBelow(root: string): string[] {
  const lines = readFileSync('/proc/self/mountinfo', 'utf8').split('\n');
  const points = lines.map((line) =>
    (line.split(' ')[4] ?? '').replaceAll(/\\([0-7]{3})/g, (_, octal: string) =>
      String.fromCharCode(Number.parseInt(octal, 8)),
    ),
  );
  return points.filter((point) => point.startsWith(`${root}/`));
}

/** What commands have mounted in the workspace; `isWhole`: instead of all that is there. */
export function workspaceMounts(
  root: string,
  facts: WorkspaceFacts | null,
): { readonly path: BytePath; readonly isWhole: boolean }[] {
  const covers = (facts?.covers ?? []).map(({ path, as }) => {
    return { path, isWhole: as.startsWith('hidden') };
  });
  const granted = (facts?.granted ?? []).map(({ path }) => ({ path, isWhole: true }));
  return [...covers, ...granted].flatMap(({ path, isWhole }) => {
    const isInside = path !== root && isBelow(path, root);
    return isInside ? [{ path: bytePathOf(path.slice(root.length + 1)), isWhole }] : [];
  });
}

/** Directories of the workspace that lead to a mount. */
export function mountParents(root: string, facts: WorkspaceFacts | null): ReadonlySet<BytePath> {
  return new Set(
    workspaceMounts(root, facts).flatMap(({ path }) => {
      const parts = path.split('/');
      return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
    }),
  );
}
