/** The runtime itself: which one answers, whether its sandbox holds, who was given its tools. */
import { connect } from '../local/index.ts';
import { isTrlError } from '../errors.ts';
import { version } from '../protocol/version.ts';
import type { Args } from './args.ts';
import { clientsHere, ownCommand } from './demo-install.ts';
import { fine } from './doctor-check.ts';
import type { Check } from './doctor-check.ts';
import { editedClients, mcpScopes } from './mcp-clients.ts';
import { asEntry, entryIn, targetFor } from './mcp-install.ts';
import { openFile } from './mcp-install-file.ts';
import { CannotEdit } from './mcp-install-json.ts';
import { isOwnProgram } from './mcp-install-own.ts';
import { reach } from './reach.ts';

const answerMs = 3_000;

export async function runtimeChecks(args: Args, socketPath: string): Promise<Check[]> {
  return [await daemon(socketPath), await httpDoor(), ...agents(), await trial(args)];
}

async function daemon(socketPath: string): Promise<Check> {
  const name = 'runtime';
  try {
    await using client = await connect({ socketPath });
    const { version: found, uptime_s: uptime } = await client.ping();
    const told = `${found} at ${socketPath}, up ${uptime} s`;
    if (found === version()) return fine(name, told);
    const fix = `${ownCommand()} daemon stop && ${ownCommand()} daemon start`;
    return { name, state: 'optional', found: `${told}; this is ${version()}`, fix };
  } catch (error) {
    const found = isTrlError(error) ? error.message : String(error);
    return { name, state: 'optional', found, fix: `${ownCommand()} daemon start` };
  }
}

/** The door that `TRL_HTTP_URL` names; it is off where nobody asked for it. */
async function httpDoor(): Promise<Check> {
  const name = 'HTTP door';
  const url = process.env['TRL_HTTP_URL'] ?? '';
  if (url === '') return fine(name, 'off, or not named by TRL_HTTP_URL');
  try {
    const { status } = await fetch(new URL('/healthz', url), {
      redirect: 'error',
      signal: AbortSignal.timeout(answerMs),
    });
    if (status === 200) return fine(name, `${url} answers`);
    const fix = 'trl serve --http 127.0.0.1:7070';
    return { name, state: 'optional', found: `${url} answers with ${status}`, fix };
  } catch {
    const fix = 'TRL_AUTH_TOKEN=$(openssl rand -hex 32) trl serve --http 127.0.0.1:7070';
    return { name, state: 'optional', found: `${url} does not answer`, fix };
  }
}

/** Programs of agents that are on this machine, each with its line. */
function agents(): Check[] {
  const here = new Set(clientsHere());
  return editedClients.flatMap((client): Check[] => {
    const states = mcpScopes.map((scope) => installedAt(client, scope));
    const isInstalled = states.includes('installed');
    if (!here.has(client) && !isInstalled) return [];
    const name = client;
    if (isInstalled) return [fine(name, 'has the tools of this runtime')];
    const fix = `${ownCommand()} mcp install --client ${client}`;
    const problem = states.find((state) => state !== 'installed' && state !== 'absent');
    const found = problem ?? 'is here, without the tools of this runtime';
    return [{ name, state: 'optional', found, fix }];
  });
}

/** `installed`, `absent`, or why it cannot be told. */
function installedAt(client: (typeof editedClients)[number], scope: 'user' | 'project'): string {
  const target = targetFor(client, scope, 'trl');
  try {
    const entry = asEntry(entryIn(openFile(target.place.file, target.inside).text, target));
    if (entry === null) return 'absent';
    return isOwnProgram(entry.command) ? 'installed' : `starts another "trl": ${entry.command}`;
  } catch (error) {
    if (!(error instanceof CannotEdit)) throw error;
    return `its file cannot be read: ${error.message}`;
  }
}

/** One real command, and what the runtime found enforced around it. */
async function trial(args: Args): Promise<Check> {
  const name = 'sandbox';
  try {
    await using client = await reach(args, { ephemeral: {} });
    await using session = await client.createSession();
    const receipt = await session.run('true');
    const { assurance } = await session.info();
    const open = assurance?.checks.filter(({ enforced }) => !enforced).map((one) => one.name) ?? [];
    const { level } = receipt.sandbox;
    const found = `level ${level}${open.length > 0 ? `; not enforced: ${open.join(', ')}` : ''}`;
    const state = receipt.exit_code === 0 && level !== 'none' ? 'ok' : 'missing';
    return { name, state, found, fix: null };
  } catch (error) {
    const found = isTrlError(error) ? error.message : String(error);
    return { name, state: 'missing', found, fix: null };
  }
}
