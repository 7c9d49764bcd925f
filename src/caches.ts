/**
 * The host user's own caches, as words that all parts share. Downloads and builds alone: what lets
 * in somewhere (`.cargo/credentials.toml`, `.m2/settings.xml`) and what programs obey lies beside.
 */

/** Programs whose caches a session can be granted. */
export const cacheTools = ['npm', 'cargo', 'go', 'pip', 'm2', 'gradle', 'pnpm', 'rustup'] as const;
export type CacheTool = (typeof cacheTools)[number];

/** What of them is shown, relative to HOME. */
const directories = {
  npm: ['.npm/_cacache'],
  cargo: ['.cargo/registry', '.cargo/git'],
  go: ['go/pkg/mod'],
  pip: ['.cache/pip'],
  m2: ['.m2/repository'],
  gradle: ['.gradle/caches', '.gradle/wrapper'],
  pnpm: ['.local/share/pnpm/store'],
  rustup: ['.rustup/toolchains'],
} as const satisfies Record<CacheTool, readonly string[]>;

export function cacheDirectoriesOf(tools: readonly CacheTool[]): string[] {
  return tools.flatMap((tool) => [...directories[tool]]);
}

/** A directory of them under a layer of one holder: two mounts never have one upper layer. */
export interface SharedTree {
  /** On the host, by real path; it is only read. */
  readonly source: string;
  /** Uid and gid of the directory on disk that become the sandbox's own. */
  readonly uid: number;
  readonly gid: number;
  /** The staged tree, by its source, in which it is placed where no link is in the way. */
  readonly within: string;
  /** The directory there, relative. */
  readonly place: string;
  /** A private directory of layers, one directory each. */
  readonly layers: string;
}
