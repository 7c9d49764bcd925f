/** What a daemon is started with: its flags, and the variables that stand for some. */
import { parseArgs } from 'node:util';
import { TrlError } from '../errors.ts';

type Env = Readonly<Record<string, string | undefined>>;

export interface Args {
  readonly verb: 'serve' | 'stdio';
  readonly socketPath: string | null;
  readonly roots: readonly string[];
  /** A shipped profile or a file; `null`: the user's own file, else `auto`. */
  readonly policy: string | null;
  /** A file above the user's `config.yaml`. */
  readonly config: string | null;
  readonly envMode: string | null;
  readonly ephemeral: boolean;
  readonly json: boolean;
}

export function readArgs(argv: readonly string[], env: Env): Args {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      'socket-path': { type: 'string' },
      'workspace-root': { type: 'string', multiple: true },
      policy: { type: 'string' },
      config: { type: 'string' },
      'env-mode': { type: 'string' },
      ephemeral: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    },
  });
  const [verb = 'serve'] = positionals;
  if (verb !== 'serve' && verb !== 'stdio') {
    throw new TrlError(
      'INVALID_PARAMS',
      `Cannot start the daemon: "${verb}" is not serve or stdio`,
    );
  }
  return {
    verb,
    socketPath: values['socket-path'] ?? null,
    roots: values['workspace-root'] ?? [process.cwd()],
    policy: (values.policy ?? env['TRL_POLICY']) || null,
    config: values.config ?? null,
    envMode: values['env-mode'] ?? null,
    ephemeral: values.ephemeral,
    json: values.json,
  };
}
