/** Opens what every part of a runtime needs: configuration, policies, store, runner, secrets. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { openSecretKey, redactionKeyName } from '../approval/key.ts';
import { checkSecretPatterns, type Configuration } from '../configuration/configuration.ts';
import { loadConfiguration } from '../configuration/load.ts';
import { LocalMachine } from '../host/local-machine.ts';
import type { MachinePort } from '../host/port.ts';
import { limits, type RuntimeBounds } from '../limits.ts';
import type { RunnerOptions } from '../process/runner.ts';
import { version } from '../protocol/version.ts';
import type { RedactionOptions } from '../redaction/open-redactor.ts';
import { RedactionTags } from '../redaction/redaction-tags.ts';
import { StateStore } from '../session/store.ts';
import type { DaemonArgs } from './args.ts';
import type { OwnEnvironment } from './own-environment.ts';
import { openStateDir, runnerProgram, stateHomeDirectory } from './paths.ts';
import { Policies } from './policies.ts';
import { Runners } from './runners.ts';
import type { Log } from './transport/reply-messages.ts';
import { findRuntimeFiles, refuseControlFile } from './runtime-files.ts';
import { CredentialFiles } from './secrets/credential-files.ts';
import { Masking } from './secrets/masking.ts';
import { openSecrets, shouldTakeBySettings } from './secrets/open-secrets.ts';

export type Env = OwnEnvironment['env'];

export interface OpenCoreParts {
  readonly args: DaemonArgs;
  readonly own: OwnEnvironment;
  readonly stateDir: string;
  /** Must not throw. */
  readonly log: Log;
}

/** @throws TrlError and PolicyError for user settings that cannot be used */
export async function openBasis({ args, own, stateDir, log }: OpenCoreParts) {
  const { env } = own;
  const machine = new LocalMachine(env);
  const roots = args.roots.map((root) => machine.resolveRoot(root));
  const authority = await findRuntimeFiles({
    roots,
    args,
    env,
    state: [stateDir, stateHomeDirectory()],
  });
  const configuration = await loadConfiguration({ env, flags: args, version: version() });
  await tryPatterns(configuration);
  const policies = await Policies.open(args.policy, log, (file) => refuseControlFile(roots, file));
  const isTaken = shouldTakeBySettings(configuration, (await policies.of(null)).withhold);
  logProblem(own.take(isTaken, args.verb === 'serve'), log);
  const store = new StateStore(args.ephemeral ? ':memory:' : join(stateDir, 'state.db'));
  // The private runtime of a single command stores nothing for a later one.
  const kept = args.ephemeral ? null : stateDir;
  const tagKey = openTagKey(args.ephemeral, log);
  const runners = runnersOf({ machine, kept, env, configuration, tagKey });
  const key = openSecretKey(kept);
  const credentialFiles = new CredentialFiles(configuration.credentialFiles, { key, log });
  const [host, secrets] = await sideBySide(
    machine.gatherFacts(),
    openSecrets({ configuration, credentialFiles: credentialFiles.sources, env, roots, log }),
    runners.open(),
  );
  const tags = new RedactionTags(tagKey);
  const masking = new Masking(tags, secrets);
  // Runners must know a secret before any command can receive or show its value.
  secrets.watch(() => void runners.addKnownSecrets(secrets.known(), null).catch(() => {}));
  const masked = (text: string): void => log(masking.text(text));
  const redaction = { options: redactionOf(configuration), tags };
  return {
    env,
    machine,
    roots,
    authority,
    configuration,
    policies,
    store,
    kept,
    key,
    credentialFiles,
    runners,
    host,
    secrets,
    tags,
    masking,
    redaction,
    log: masked,
  };
}

/**
 * Equal values have equal tags in every runtime of the user, also in a runtime that stores nothing
 * else.
 *
 * @throws TrlError `BACKEND_UNAVAILABLE` if an existing key cannot be used, or if a persistent
 *   runtime cannot store a new one
 */
function openTagKey(ephemeral: boolean, log: Log): Buffer {
  try {
    return openSecretKey(openStateDir(false), redactionKeyName);
  } catch (error) {
    if (!ephemeral || existsSync(join(stateHomeDirectory(), redactionKeyName))) throw error;
    log(`tags of hidden values are valid in this run only: ${String(error)}`);
    return openSecretKey(null);
  }
}

/**
 * Opens these parts in parallel: each waits some tens of milliseconds, and every command needs all
 * of them.
 */
const sideBySide = async <Host, Secrets>(
  host: Promise<Host>,
  secrets: Promise<Secrets>,
  runners: Promise<unknown>,
) => Promise.all([host, secrets, runners, import('../policy/judge.ts')]);

interface RunnerParts {
  readonly machine: MachinePort;
  /** The state directory. `null`: nothing is stored. */
  readonly kept: string | null;
  readonly env: Env;
  readonly configuration: Configuration;
  readonly tagKey: Buffer;
}

function runnersOf({ machine, kept, env, configuration, tagKey }: RunnerParts): Runners {
  return new Runners(machine, {
    stateDir: kept,
    env,
    ...boundsOfRunner(env, configuration.limits),
    program: runnerProgram(),
    redaction: { key: tagKey.toString('hex'), ...redactionOf(configuration) },
    sealing: sealingOf(configuration),
  });
}

export const auditLogDirectory = (): string => join(stateHomeDirectory(), 'audit');
export const rawDirectory = (): string => join(auditLogDirectory(), 'raw');

/** Raw output is for auditors only: without recipients, the runner does not store it. */
function sealingOf({
  audit: { recipients, required },
}: Configuration): NonNullable<RunnerOptions['sealing']> | null {
  if (recipients.length === 0) return null;
  const bytesMax = limits.rawLogBytes.default;
  return { directory: rawDirectory(), recipients, bytesMax, required };
}

/** Loads the pattern reader only if patterns are configured. */
async function tryPatterns({ redaction }: Configuration): Promise<void> {
  if (redaction.patterns.length === 0) return;
  const { compileUserRules } = await import('../redaction/rules/user-rules.ts');
  checkSecretPatterns(redaction.patterns, compileUserRules);
}

/** The configuration of the redactor. */
function redactionOf({ redaction }: Configuration): RedactionOptions {
  const { profile, thresholds, patterns } = redaction;
  return {
    profile,
    thresholds,
    patterns: patterns.map(({ id, pattern, keywords }) => ({ id, pattern, keywords })),
  };
}

export function logProblem(problem: string | null, log: Log): void {
  if (problem !== null) log(`secrets of the environment show in /proc/${process.pid}: ${problem}`);
}

function boundsOfRunner(env: Env, { sessionsActive, commandsConcurrent }: RuntimeBounds) {
  return {
    journalsBytes: boundIn(env, 'journalsBytes', 'TRL_JOURNALS_BYTES'),
    commandsMax: commandsConcurrent,
    sessionsMax: sessionsActive,
    lingerMs: boundIn(env, 'runnerLingerMs', 'TRL_RUNNER_LINGER_MS'),
  };
}

/** A bound of the runtime: the variable overrides the default, up to the maximum. */
export function boundIn(
  env: Env,
  name: 'journalsBytes' | 'runnerLingerMs' | 'stopMs' | 'idleExitMs',
  variable: string,
): number {
  const asked = Number(env[variable]);
  const { default: usual, max } = limits[name];
  if (!Number.isSafeInteger(asked) || asked <= 0) return usual;
  return max === null ? asked : Math.min(asked, max);
}
