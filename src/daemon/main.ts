/**
 * The daemon: the only place where the parts are wired together.
 *
 *   serve [--socket-path P] [--workspace-root DIR]… [--policy NAME|FILE] [--json]
 *   stdio [--ephemeral] [--workspace-root DIR]… [--policy NAME|FILE]
 *
 * An ephemeral one keeps nothing: its runner and all that runs in it end with its stdin.
 */
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Enrolment, enrolmentPlaces } from '../approval/enrolment.ts';
import { openKey } from '../approval/key.ts';
import { TrlError } from '../errors.ts';
import { limits } from '../limits.ts';
import { locateSocket } from '../protocol/locate.ts';
import { gatherHostFacts } from '../sandbox/facts.ts';
import { Store } from '../session/store.ts';
import { Approving } from './approving.ts';
import { Core } from './core.ts';
import { listen, serveStream } from './door/listen.ts';
import { Policies } from './policies.ts';
import { Runners } from './runners.ts';
import { Turns } from './turns.ts';
import { version } from '../protocol/version.ts';

const log = (text: string): void => void process.stderr.write(`trl: ${text}\n`);

interface Args {
  readonly verb: 'serve' | 'stdio';
  readonly socketPath: string | null;
  readonly roots: readonly string[];
  /** A shipped profile or a file; `null`: the user's own file, else `auto`. */
  readonly policy: string | null;
  readonly ephemeral: boolean;
  readonly json: boolean;
}

function readArgs(argv: readonly string[]): Args {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      'socket-path': { type: 'string' },
      'workspace-root': { type: 'string', multiple: true },
      policy: { type: 'string' },
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
    policy: (values.policy ?? process.env['TRL_POLICY']) || null,
    ephemeral: values.ephemeral,
    json: values.json,
  };
}

const stateHome = (): string =>
  join(process.env['XDG_STATE_HOME'] || join(homedir(), '.local', 'state'), 'trl');

/** The state directory, 0700; one of its own for an ephemeral daemon. */
function openStateDir(ephemeral: boolean): string {
  if (ephemeral) return mkdtempSync(join(tmpdir(), 'trl-state-'));
  const dir = stateHome();
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  return dir;
}

/** Roots are resolved once: a link that is changed later must not move one. */
function realRoot(root: string): string {
  try {
    return realpathSync(root);
  } catch (cause) {
    const message = `Cannot use workspace root "${root}": it does not exist`;
    throw new TrlError('INVALID_PARAMS', message, { cause });
  }
}

/** Whoever can write beside the socket, the key or the records is no longer held by a sandbox. */
function refuseOpenPlaces(roots: readonly string[], places: readonly (string | null)[]): void {
  for (const place of places) {
    if (place === null) continue;
    const real = existing(resolve(place));
    const root = roots.find((one) => real === one || real.startsWith(`${one}/`));
    if (root === undefined) continue;
    throw new TrlError(
      'INVALID_PARAMS',
      `Cannot use workspace root "${root}": the runtime keeps "${place}" in it; ` +
        'start in a project directory, or name one with --workspace-root',
    );
  }
}

/** The real path of the nearest ancestor that exists. */
function existing(path: string): string {
  for (let at = path; ; at = dirname(at)) {
    try {
      return realpathSync(at);
    } catch {
      if (dirname(at) === at) return at;
    }
  }
}

const socketDir = (args: Args): string | null =>
  args.verb === 'stdio' ? null : dirname(socketPlace(args).path);

function socketPlace(args: Args): ReturnType<typeof locateSocket> {
  const flag = args.socketPath === null ? {} : { flag: args.socketPath };
  return locateSocket({ ...flag, env: process.env, uid: process.getuid?.() ?? 0 });
}

/** The runner's built program: beside the bundle, or in the checkout's `dist`. */
function runnerProgram(): string {
  const here = fileURLToPath(import.meta.url);
  const place = here.endsWith('.ts') ? join(dirname(here), '../../dist') : dirname(here);
  return join(place, 'runner.js');
}

async function main(argv: readonly string[]): Promise<void> {
  const args = readArgs(argv);
  process.umask(0o077);
  const stateDir = openStateDir(args.ephemeral);
  const endState = (): void => {
    if (args.ephemeral) rmSync(stateDir, { recursive: true, force: true });
  };
  try {
    const roots = args.roots.map(realRoot);
    // A policy that cannot be used stops the start: running with less is no answer.
    const policies = await Policies.open(args.policy, log);
    const store = new Store(args.ephemeral ? ':memory:' : join(stateDir, 'state.db'));
    const runners = new Runners({
      stateDir: args.ephemeral ? null : stateDir,
      env: process.env,
      journalsBytes: bound('journalsBytes', 'TRL_JOURNALS_BYTES'),
      commandsMax: bound('commandsConcurrent', 'TRL_COMMANDS_CONCURRENT'),
      lingerMs: bound('runnerLingerMs', 'TRL_RUNNER_LINGER_MS'),
      program: runnerProgram(),
    });
    // Both take a few ten milliseconds of waiting, so they go on side by side.
    const [host] = await Promise.all([
      gatherHostFacts(process.env),
      runners.open(),
      // While the runner starts: every command will need it.
      import('../policy/judge.ts'),
    ]);
    refuseOpenPlaces(roots, [stateDir, stateHome(), runners.dir ?? stateDir, socketDir(args)]);
    const core = new Core({
      host,
      env: process.env,
      roots,
      policies,
      turns: new Turns(),
      approving: new Approving({
        store: {
          put: (id, json) => store.putDurable('approvals', id, json),
          remove: (id) => store.remove('approvals', id),
          all: () => store.all('approvals'),
        },
        enrolment: new Enrolment(enrolmentPlaces(process.env, homedir())),
        permits: (asked) => policies.permits(asked?.workspace?.path ?? null),
      }),
      macKey: openKey(args.ephemeral ? null : stateDir),
      store,
      runners,
      quarantine: join(stateHome(), 'quarantine'),
      endRunner: args.ephemeral,
      log,
    });
    await core.adopt();
    await serve(args, core);
  } finally {
    endState();
  }
}

/** A bound of the runtime: its variable over its default, never above its maximum. */
function bound(
  name: 'journalsBytes' | 'runnerLingerMs' | 'commandsConcurrent',
  variable: string,
): number {
  const asked = Number(process.env[variable]);
  const { default: usual, max } = limits[name];
  if (!Number.isSafeInteger(asked) || asked <= 0) return usual;
  return max === null ? asked : Math.min(asked, max);
}

/** Serves until stdin ends (stdio) or a signal asks to end. */
async function serve(args: Args, core: Core): Promise<void> {
  let end = (): void => {};
  const asked = new Promise<void>((resolve) => {
    end = resolve;
  });
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, end);
  const options = { runtime: core, version: version(), log };
  if (args.verb === 'stdio') {
    const { stdin: input, stdout: output } = process;
    await Promise.race([serveStream({ ...options, input, output }), asked]);
    await core.close();
    return;
  }
  const door = await listen({ ...options, place: socketPlace(args) });
  const said = args.json
    ? JSON.stringify({ socket_path: door.socketPath, pid: process.pid, version: options.version })
    : `listening on ${door.socketPath}`;
  process.stdout.write(`${said}\n`);
  await asked;
  door.stop();
  await core.drain();
  await core.close();
  await door.close();
}

try {
  await main(process.argv.slice(2));
  process.exit(0);
} catch (error) {
  log(error instanceof Error ? error.message : String(error));
  process.exit(125);
}
