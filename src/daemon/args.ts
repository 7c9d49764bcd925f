/**
 * The daemon's command line: its flags, and the environment variables that replace some of them.
 */
import { realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { parseArgs } from 'node:util';
import { TrlError } from '../errors.ts';
import { isTooWideProject } from '../workspace/roots.ts';
import type { HttpFlags } from './http/address.ts';

type Env = Readonly<Record<string, string | undefined>>;

export interface DaemonArgs {
  readonly verb: 'serve' | 'stdio';
  readonly socketPath: string | null;
  readonly roots: readonly string[];
  /** Whether the user may add trusted projects to the roots while the daemon runs. */
  readonly allowsTrust: boolean;
  /** Whether the daemon exits after a period without use. */
  readonly exitsWhenIdle: boolean;
  /**
   * The name of a shipped profile, or a file. `null`: the user's own file if it exists, else
   * `auto`.
   */
  readonly policy: string | null;
  /** A file whose values override the user's `config.yaml`. */
  readonly config: string | null;
  readonly envMode: string | null;
  /** For example `sessions_active=128`. */
  readonly bounds: readonly string[];
  /** Directories that contain tools. */
  readonly tools: readonly string[];
  readonly ephemeral: boolean;
  readonly json: boolean;
  readonly http: HttpFlags;
}

function home(): string {
  try {
    return realpathSync(homedir());
  } catch {
    return homedir();
  }
}

export function parseDaemonArgs(argv: readonly string[], env: Env): DaemonArgs {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      'socket-path': { type: 'string' },
      'workspace-root': { type: 'string', multiple: true },
      projects: { type: 'boolean', default: false },
      'idle-exit': { type: 'boolean', default: false },
      policy: { type: 'string' },
      config: { type: 'string' },
      'env-mode': { type: 'string' },
      bound: { type: 'string', multiple: true },
      tools: { type: 'string', multiple: true },
      ephemeral: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      http: { type: 'string' },
      'http-cert': { type: 'string' },
      'http-key': { type: 'string' },
      'http-host': { type: 'string', multiple: true },
      'http-origin': { type: 'string', multiple: true },
    },
  });
  const [verb = 'serve'] = positionals;
  if (verb !== 'serve' && verb !== 'stdio') {
    throw new TrlError(
      'INVALID_PARAMS',
      `Cannot start the daemon: "${verb}" is not serve or stdio`,
    );
  }
  const here = process.cwd();
  return {
    verb,
    socketPath: values['socket-path'] ?? null,
    roots:
      values['workspace-root'] ?? (values.projects || isTooWideProject(here, home()) ? [] : [here]),
    allowsTrust: values.projects || values['workspace-root'] === undefined,
    exitsWhenIdle: values['idle-exit'],
    policy: (values.policy ?? env['TRL_POLICY']) || null,
    config: values.config ?? null,
    envMode: values['env-mode'] ?? null,
    bounds: values.bound ?? [],
    tools: values.tools ?? [],
    ephemeral: values.ephemeral,
    json: values.json,
    http: {
      http: values.http ?? null,
      cert: values['http-cert'] ?? null,
      key: values['http-key'] ?? null,
      names: values['http-host'] ?? [],
      origins: values['http-origin'] ?? [],
    },
  };
}
