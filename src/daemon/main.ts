/**
 * The daemon: the only place where the parts are wired together.
 *
 *   serve [--socket-path P] [--json] …
 *   stdio [--ephemeral] …
 * both: [--workspace-root DIR]… [--policy NAME|FILE] [--config FILE] [--env-mode MODE]
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
import { loadConfiguration } from '../configuration/load.ts';
import { TrlError } from '../errors.ts';
import { limits } from '../limits.ts';
import { locateSocket } from '../protocol/locate.ts';
import { gatherHostFacts, type HostFacts } from '../sandbox/facts.ts';
import { Store } from '../session/store.ts';
import { Approving } from './approving.ts';
import { checkPatterns } from '../configuration/patterns.ts';
import type { Configuration } from '../configuration/configuration.ts';
import { Tags } from '../redaction/tag.ts';
import type { RedactionOptions } from '../redaction/open.ts';
import { Core } from './core.ts';
import { Masking } from './masking.ts';
import { listen, serveStream } from './door/listen.ts';
import { OwnEnvironment } from './own-environment.ts';
import { asksForDebugger, sealProcess } from './own-process.ts';
import { Policies } from './policies.ts';
import { Runners } from './runners.ts';
import { isTakenAlways, isTakenBy, openSecrets } from './secrets-open.ts';
import { Turns } from './turns.ts';
import { AtomicRenames } from '../workspace/commit/renames.ts';
import { Variables } from './variables.ts';
import { OpenWorkspaces } from './workspaces/open-workspaces.ts';
import { Stores } from './workspaces/stores.ts';
import { Workspaces } from './workspaces/workspaces.ts';
import { version } from '../protocol/version.ts';

const log = (text: string): void => void process.stderr.write(`trl: ${text}\n`);

interface Args {
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

type Env = OwnEnvironment['env'];

function readArgs(argv: readonly string[], env: Env): Args {
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

function socketPlace(args: Args, env: Env): ReturnType<typeof locateSocket> | null {
  if (args.verb === 'stdio') return null;
  const flag = args.socketPath === null ? {} : { flag: args.socketPath };
  return locateSocket({ ...flag, env, uid: process.getuid?.() ?? 0 });
}

/** The runner's built program: beside the bundle, or in the checkout's `dist`. */
function runnerProgram(): string {
  const here = fileURLToPath(import.meta.url);
  const place = here.endsWith('.ts') ? join(dirname(here), '../../dist') : dirname(here);
  return join(place, 'runner.js');
}

async function main(argv: readonly string[]): Promise<void> {
  const own = OwnEnvironment.open();
  const { env } = own;
  const args = readArgs(argv, env);
  // Before anything else, so that it shows as short as can be, and no program inherits it.
  sayProblem(own.take(isTakenAlways, args.verb === 'serve'));
  for (const found of await sealProcess(asksForDebugger(env))) log(found);
  process.umask(0o077);
  const stateDir = openStateDir(args.ephemeral);
  try {
    const roots = args.roots.map(realRoot);
    // What people set and cannot be used stops the start: running with less is no answer.
    const configuration = await loadConfiguration({ env, flags: args, version: version() });
    await tryPatterns(configuration);
    const policies = await Policies.open(args.policy, log);
    const isTaken = isTakenBy(configuration, (await policies.of(null)).withhold);
    sayProblem(own.take(isTaken, args.verb === 'serve'));
    const store = new Store(args.ephemeral ? ':memory:' : join(stateDir, 'state.db'));
    // An own runtime of one command keeps nothing for a later one.
    const kept = args.ephemeral ? null : stateDir;
    const tagKey = openKey(kept, 'redaction.key');
    const redaction = redactionOf(configuration);
    const runners = new Runners({
      stateDir: kept,
      env,
      ...boundsOfRunner(env),
      program: runnerProgram(),
      redaction: { key: tagKey.toString('hex'), ...redaction },
    });
    // All take a few ten milliseconds of waiting, and each command needs them: side by side.
    const [host, secrets] = await Promise.all([
      gatherHostFacts(env),
      openSecrets({ configuration, env, log }),
      runners.open(),
      import('../policy/judge.ts'),
    ]);
    const tags = new Tags(tagKey);
    const masking = new Masking(tags, secrets);
    // Before a command can have a value, nothing that runs may show it.
    secrets.watch(() => void runners.tellKnown(secrets.known(), null).catch(() => {}));
    const masked = (text: string): void => log(masking.text(text));
    const place = socketPlace(args, env);
    refuseOpenPlaces(roots, [stateDir, stateHome(), runners.dir, place && dirname(place.path)]);
    const enrolment = new Enrolment(enrolmentPlaces(env, homedir()));
    const core = new Core({
      host,
      env,
      roots,
      policies,
      turns: new Turns(),
      approving: approvingOf({ store, enrolment, policies }),
      enrolment,
      secrets,
      variables: new Variables({ configuration, secrets, env, log }),
      macKey: openKey(kept),
      masking,
      store,
      runners,
      quarantine: join(stateHome(), 'quarantine'),
      opened: new OpenWorkspaces(store),
      redaction: { options: redaction, tags },
      workspaces: workspacesOf({ stateDir, host, runners, log: masked }),
      endRunner: args.ephemeral,
      log: masked,
    });
    await core.adopt().then(() => serve(args, core, place));
  } finally {
    if (args.ephemeral) rmSync(stateDir, { recursive: true, force: true });
  }
}

interface WorkspaceParts {
  readonly stateDir: string;
  readonly host: HostFacts;
  readonly runners: Runners;
  readonly log: (text: string) => void;
}

/** Layers end with this runtime; what was changed in them is kept for every later one. */
function workspacesOf({ stateDir, ...parts }: WorkspaceParts): Workspaces {
  const renames = new AtomicRenames();
  const directory = join(stateHome(), 'snapshots');
  const key = (): Buffer => openKey(directory, 'key');
  const stores = new Stores({ renames, directory, key, log: parts.log });
  return new Workspaces({ ...parts, renames, directory: join(stateDir, 'workspaces'), stores });
}

/** How output is looked through, as the redactor takes it. */
/** What reads them is loaded only where there are some. */
async function tryPatterns({ redaction }: Configuration): Promise<void> {
  if (redaction.patterns.length === 0) return;
  const { userRules } = await import('../redaction/rules/user.ts');
  checkPatterns(redaction.patterns, userRules);
}

function redactionOf({ redaction }: Configuration): RedactionOptions {
  const { profile, thresholds, patterns } = redaction;
  return {
    profile,
    thresholds,
    patterns: patterns.map(({ id, pattern, keywords }) => ({ id, pattern, keywords })),
  };
}

function sayProblem(problem: string | null): void {
  if (problem !== null) log(`secrets of the environment show in /proc/${process.pid}: ${problem}`);
}

interface ApprovingParts {
  readonly store: Store;
  readonly enrolment: Enrolment;
  readonly policies: Policies;
}

function approvingOf({ store, enrolment, policies }: ApprovingParts): Approving {
  return new Approving({
    store: {
      put: (id, json) => store.putDurable('approvals', id, json),
      remove: (id) => store.remove('approvals', id),
      all: () => store.all('approvals'),
    },
    enrolment,
    permits: (asked) => policies.permits(asked?.workspace?.path ?? null),
  });
}

/** Bounds of the runtime: a variable over its default, never above its maximum. */
function boundsOfRunner(env: Env) {
  const bound = (
    name: 'journalsBytes' | 'runnerLingerMs' | 'commandsConcurrent',
    variable: string,
  ): number => {
    const asked = Number(env[variable]);
    const { default: usual, max } = limits[name];
    if (!Number.isSafeInteger(asked) || asked <= 0) return usual;
    return max === null ? asked : Math.min(asked, max);
  };
  return {
    journalsBytes: bound('journalsBytes', 'TRL_JOURNALS_BYTES'),
    commandsMax: bound('commandsConcurrent', 'TRL_COMMANDS_CONCURRENT'),
    lingerMs: bound('runnerLingerMs', 'TRL_RUNNER_LINGER_MS'),
  };
}

/** Serves until stdin ends (stdio) or a signal asks to end. */
async function serve(args: Args, core: Core, place: ReturnType<typeof socketPlace>): Promise<void> {
  let end = (): void => {};
  const asked = new Promise<void>((resolve) => {
    end = resolve;
  });
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, end);
  const masked = (text: string): void => log(core.masking.text(text));
  const options = { runtime: core, version: version(), log: masked };
  if (place === null) {
    const { stdin: input, stdout: output } = process;
    await Promise.race([serveStream({ ...options, input, output }), asked]);
    await core.close();
    return;
  }
  const door = await listen({ ...options, place });
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
