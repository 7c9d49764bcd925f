/** `trl doctor`: what the runtime needs, whether it is here, and one command for what is not. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { loadConfiguration } from '../configuration/load.ts';
import { isTrlError } from '../errors.ts';
import {
  connectLocal,
  daemonCommand,
  daemonEnvironment,
  defaultSocketPath,
  runningDaemon,
} from '../local/index.ts';
import { version } from '../protocol/version.ts';
import { quoteWord } from '../quote.ts';
import { checkMaskable } from '../redaction/known/maskable.ts';
import { DotenvSource } from '../secrets/dotenv-source.ts';
import { EnvironmentSource } from '../secrets/environment-source.ts';
import { SecretStore } from '../secrets/secret-store.ts';
import type { SecretSource } from '../secrets/source.ts';
import type { CliArguments } from './args.ts';
import { readMcpConfigFile } from './config-file.ts';
import { CannotEditError } from './config-json.ts';
import { checkUserDirectories } from './doctor-directories.ts';
import { checkHost, passedCheck } from './doctor-host.ts';
import type { DoctorCheck } from './doctor-host.ts';
import { editableClients, mcpScopes } from './mcp-clients.ts';
import { findMcpEntry, mcpTargetFor, parseMcpEntry } from './mcp-install.ts';
import { findInstalledClients, isOwnProgram, ownCommandName } from './own-program.ts';
import { dimText, escapeControls, printJson } from './print.ts';
import { connectRuntime } from './runtime-connection.ts';

/** Exit code 0 when nothing that is needed is missing, else 1. */
export async function runDoctor(args: CliArguments): Promise<number> {
  const socketPath = path.resolve(args.text('socket-path') ?? defaultSocketPath());
  const checks = [
    ...(await checkHost()),
    ...(await checkUserDirectories(socketPath)),
    await checkAmbiguousSecrets(),
    ...(await checkRuntime(args, socketPath)),
  ];
  const healthy = checks.every(({ state }) => state !== 'missing');
  if (args.has('json')) {
    printJson({ healthy, checks });
    return healthy ? 0 : 1;
  }
  const marks = { ok: 'ok     ', missing: 'MISSING', optional: 'absent ', warning: 'WARNING' };
  for (const { name, state, found, fix } of checks) {
    process.stdout.write(`${marks[state]}  ${name.padEnd(17)}  ${escapeControls(found)}\n`);
    if (state !== 'ok' && fix !== null) {
      process.stdout.write(`${''.padEnd(28)}${dimText(`→ ${fix}`)}\n`);
    }
  }
  return healthy ? 0 : 1;
}

// The runtime itself: which one answers, whether its sandbox holds, who was given its tools.

const answerMs = 3_000;
const startMs = 15_000;

async function checkRuntime(args: CliArguments, socketPath: string): Promise<DoctorCheck[]> {
  const running = await daemon(socketPath);
  const others = [await httpDoor(), ...agents()];
  // Whatever waits for one that stands still waits for ever.
  return [running, ...others, ...(running.state === 'missing' ? [] : [await trial(args)])];
}

async function daemon(socketPath: string): Promise<DoctorCheck> {
  const name = 'runtime';
  const signal = AbortSignal.timeout(answerMs);
  try {
    await using client = await connectLocal({ socketPath, signal });
    const answer = await client.call('system.ping', {}, { signal });
    const { version: found, uptime_s: uptime } = answer;
    const told = `${found} at ${socketPath}, up ${uptime} s`;
    if (found === version()) return passedCheck(name, told);
    // Commands that run go on in the runner, which the new one takes over.
    const daemon = `${ownCommandName()} daemon`;
    const fix = `${daemon} stop --keep-running && ${daemon} start`;
    return { name, state: 'optional', found: `${told}; this is ${version()}`, fix };
  } catch (error) {
    if (signal.aborted) return standsStill(socketPath);
    const found = isTrlError(error) ? error.message : String(error);
    return { name, state: 'optional', found, fix: `${ownCommandName()} daemon start` };
  }
}

function standsStill(socketPath: string): DoctorCheck {
  const name = 'runtime';
  const found = `what listens on ${socketPath} does not answer within ${answerMs / 1_000} s`;
  const pid = runningDaemon()?.pid;
  const end = pid === undefined ? `fuser -k ${quoteWord(socketPath)}` : `kill -KILL ${pid}`;
  return { name, state: 'missing', found, fix: `${end} && ${ownCommandName()} daemon start` };
}

/** The HTTP address that `TRL_HTTP_URL` names; HTTP is off by default. */
async function httpDoor(): Promise<DoctorCheck> {
  const name = 'HTTP';
  const url = process.env['TRL_HTTP_URL'] ?? '';
  if (url === '') return passedCheck(name, 'off, or not named by TRL_HTTP_URL');
  try {
    const { status } = await fetch(new URL('/healthz', url), {
      redirect: 'error',
      signal: AbortSignal.timeout(answerMs),
    });
    if (status === 200) return passedCheck(name, `${url} answers`);
    const fix = 'trl serve --http 127.0.0.1:7070';
    return { name, state: 'optional', found: `${url} answers with ${status}`, fix };
  } catch {
    const fix = 'TRL_AUTH_TOKEN=$(openssl rand -hex 32) trl serve --http 127.0.0.1:7070';
    return { name, state: 'optional', found: `${url} does not answer`, fix };
  }
}

/** Programs of agents that are on this machine, each with its line. */
function agents(): DoctorCheck[] {
  const here = new Set(findInstalledClients());
  return editableClients.flatMap((client): DoctorCheck[] => {
    const states = mcpScopes.map((scope) => installedAt(client, scope));
    const isInstalled = states.includes('installed');
    if (!here.has(client) && !isInstalled) return [];
    const name = client;
    if (isInstalled) return [passedCheck(name, 'has the tools of this runtime')];
    const fix = `${ownCommandName()} mcp install --client ${client}`;
    const problem = states.find((state) => state !== 'installed' && state !== 'absent');
    const found = problem ?? 'is here, without the tools of this runtime';
    return [{ name, state: 'optional', found, fix }];
  });
}

/** `installed`, `absent`, or why the state is unknown. */
function installedAt(client: (typeof editableClients)[number], scope: 'user' | 'project'): string {
  const target = mcpTargetFor(client, scope, 'trl');
  try {
    const entry = parseMcpEntry(
      findMcpEntry(readMcpConfigFile(target.location.file, target.inside).text, target),
    );
    if (entry === null) return 'absent';
    return isOwnProgram(entry.command) ? 'installed' : `starts another "trl": ${entry.command}`;
  } catch (error) {
    if (!(error instanceof CannotEditError)) throw error;
    return `its file cannot be read: ${error.message}`;
  }
}

/** One real command, and what the runtime found enforced around it. */
async function trial(args: CliArguments): Promise<DoctorCheck> {
  const name = 'sandbox';
  // Whether the current directory is one to work in is no matter of this machine.
  const root = mkdtempSync(path.join(tmpdir(), 'trl-doctor-'));
  try {
    await using client = await connectRuntime(args, { ephemeral: { workspaceRoots: [root] } });
    await using session = await client.createSession();
    const receipt = await session.run('true');
    const { assurance } = await session.info();
    const open = assurance?.checks.filter(({ enforced }) => !enforced).map((one) => one.name) ?? [];
    const { level } = receipt.sandbox;
    const found = `level ${level}${open.length > 0 ? `; not enforced: ${open.join(', ')}` : ''}`;
    const state = receipt.exit_code === 0 && level !== 'none' ? 'ok' : 'missing';
    return { name, state, found, fix: null };
  } catch (error) {
    const told = isTrlError(error) ? error.message : String(error);
    const found = told.startsWith('Cannot start a runtime') ? whyNotStarted(root) : told;
    return { name, state: 'missing', found: found === '' ? told : found, fix: fixOf(found) };
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

/** What a runtime says that does not start; `''` when this one starts. */
function whyNotStarted(root: string): string {
  const args = [...daemonCommand(), 'stdio', '--ephemeral', '--workspace-root', root];
  const options = { input: '', env: daemonEnvironment(), timeout: startMs } as const;
  const { stderr } = spawnSync(process.execPath, args, { ...options, encoding: 'utf8' });
  return (stderr.trim().split('\n').at(-1) ?? '').replace(/^trl: /, '');
}

/** The command that fixes a refused start; `null`: none does. */
function fixOf(found: string): string | null {
  const [, file, line] = /^Cannot use the configuration: (\/.*?):(\d+):/.exec(found) ?? [];
  if (file !== undefined) return `"\${EDITOR:-vi}" +${line} ${quoteWord(file)}`;
  const policy = /^Cannot use the policy: (.*?):\d+:/.exec(found)?.[1];
  if (policy !== undefined) {
    const isNamed = (process.env['TRL_POLICY'] ?? '') !== '';
    if (existsSync(policy)) return `${ownCommandName()} policy check ${quoteWord(policy)}`;
    return isNamed ? 'unset TRL_POLICY' : `${ownCommandName()} config show --origin`;
  }
  const key = /^Cannot use the audit key "(.*?)"/.exec(found)?.[1];
  // A key that others can read has its own line, with its own fix.
  const made = key === undefined ? undefined : statSync(key, { throwIfNoEntry: false });
  if (key === undefined || made?.isFile() !== true || (made.mode & 0o077) !== 0) return null;
  // The record that it signed stays readable; a new one is begun beside it.
  const directory = path.dirname(key);
  return `mv ${quoteWord(directory)} ${quoteWord(`${directory}.old`)}`;
}

const name = 'secrets';

/** Of the variables that the doctor was started with, and of the `.env` files that are settings. */
async function checkAmbiguousSecrets(): Promise<DoctorCheck> {
  try {
    const weak = await weakSecrets();
    if (weak.length === 0) {
      return passedCheck(name, 'none of the environment and of .env files is weak');
    }
    const why = 'common words or too short; output hides them only beside their names or in logins';
    const found = `weak: ${weak.join(', ')}; ${why}`;
    return { name, state: 'warning', found, fix: null };
  } catch (error) {
    const found = isTrlError(error) ? error.message : 'they cannot be read';
    return { name, state: 'warning', found, fix: null };
  }
}

async function weakSecrets(): Promise<readonly string[]> {
  const { env } = process;
  const { sources, secretNames: names } = await loadConfiguration({ env, version: version() });
  const read = sources.flatMap((setting): SecretSource[] => {
    if (setting.kind === 'dotenv') return [new DotenvSource(setting.path)];
    if (setting.kind !== 'environment') return [];
    return [new EnvironmentSource(env, { names, isWithheld: () => false })];
  });
  const secrets = new SecretStore({ sources: read, checkMaskable });
  await secrets.load();
  return secrets.weak;
}
