/** A daemon with its HTTP door, the document that it tells, and tokens of every role. */
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { surroundings, type Daemon, type Json } from './daemon.ts';
import { startHttp } from './http.ts';

const trl = path.join(path.dirname(path.dirname(import.meta.dirname)), 'trl');

export interface OpenapiServer extends AsyncDisposable {
  readonly daemon: Daemon;
  readonly origin: string;
  /** Has the role `agent`. */
  readonly token: string;
  readonly document: Json;
  /** Makes a token, as a person does at a terminal. */
  newToken(role: string): string;
}

export async function startOpenapi(
  env: Readonly<Record<string, string>> = {},
): Promise<OpenapiServer> {
  // Random: nothing that a command prints looks like a part of it, and is hidden.
  const token = randomBytes(32).toString('base64url');
  const daemon = await startHttp({ env: { TRL_AUTH_TOKEN: token, ...env } });
  const { origin } = daemon;
  try {
    const answer = await fetch(`${origin}/openapi.json`);
    const document: Json = await answer.json();
    return {
      daemon,
      origin,
      token,
      document,
      newToken: (role) => newToken(daemon, role),
      [Symbol.asyncDispose]: () => daemon.stop(),
    };
  } catch (error) {
    await daemon.stop();
    throw error;
  }
}

function newToken(daemon: Daemon, role: string): string {
  const env = { ...process.env, ...surroundings(daemon.home), TRL_SOCKET_PATH: daemon.socketPath };
  const args = ['token', 'create', '--role', role, '--name', role];
  const { stdout, stderr } = spawnSync(trl, args, { env, encoding: 'utf8' });
  const found = /trl_[A-Za-z0-9_-]{43}/.exec(stdout)?.[0];
  if (found === undefined) throw new Error(`no token: ${stdout}${stderr}`);
  return found;
}
