/**
 * A secret that a program prints, such as `op read op://vault/item/field`. No shell, its own
 * process group, no terminal, and only the variables that the program itself is known to need.
 * What it prints is never in a message.
 */
import { spawn } from 'node:child_process';
import path from 'node:path';
import type { TrlError } from '../errors.ts';
import {
  errnoOf,
  decodeSecretText,
  secretUnavailableError,
  secretValueBytesMax,
  withoutLineEnd,
} from './source.ts';
import type { SecretSource } from './source.ts';

export interface CommandSourceOptions {
  /** The secret's name. */
  readonly name: string;
  /** The program, found on the runtime's `PATH`, and its arguments. */
  readonly argv: readonly [string, ...string[]];
  /** Default, also of `null`: 10,000. */
  readonly timeoutMs?: number | null;
  /** Default, also of `null`: 300,000. */
  readonly cacheMs?: number | null;
  /** The runtime's environment, of which the program gets what it needs. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where commands could choose what runs as the program; `null`: nowhere. Default: nowhere. */
  readonly findHijackablePath?: () => string | null;
}

const timeoutMsDefault = 10_000;
const cacheMsDefault = 300_000;
/** For output still on its way when the program has ended. */
const lateOutputMs = 500;

const usual: ReadonlySet<string> = new Set(
  [
    'PATH HOME USER LOGNAME LANG LC_ALL TMPDIR XDG_CONFIG_HOME XDG_DATA_HOME XDG_CACHE_HOME',
    'XDG_RUNTIME_DIR DBUS_SESSION_BUS_ADDRESS SSL_CERT_FILE SSL_CERT_DIR HTTPS_PROXY HTTP_PROXY',
    'NO_PROXY',
  ].flatMap((line) => line.split(' ')),
);
/** What programs that hold secrets sign in with. */
const ofProgram: ReadonlyMap<string, readonly string[]> = new Map([
  ['op', ['OP_']],
  ['vault', ['VAULT_']],
  ['bao', ['BAO_', 'VAULT_']],
  ['pass', ['PASSWORD_STORE_', 'GNUPGHOME']],
  ['gopass', ['PASSWORD_STORE_', 'GOPASS_', 'GNUPGHOME']],
  ['gpg', ['GNUPGHOME']],
  ['aws', ['AWS_']],
  ['az', ['AZURE_', 'ARM_']],
  ['gcloud', ['CLOUDSDK_', 'GOOGLE_']],
  ['bw', ['BW_']],
  ['bws', ['BWS_']],
  ['doppler', ['DOPPLER_']],
  ['infisical', ['INFISICAL_']],
  ['sops', ['SOPS_', 'AWS_', 'GOOGLE_', 'AZURE_', 'VAULT_', 'GNUPGHOME']],
  ['gh', ['GH_', 'GITHUB_TOKEN']],
  ['kubectl', ['KUBECONFIG']],
]);

export class CommandSource implements SecretSource {
  readonly kind = 'command';
  /** The program alone: arguments may tell where the secret lies. */
  readonly origin: string;
  readonly cacheMs: number;
  readonly #options: CommandSourceOptions;

  constructor(options: CommandSourceOptions) {
    this.#options = options;
    this.origin = path.basename(options.argv[0]);
    this.cacheMs = options.cacheMs ?? cacheMsDefault;
  }

  mark(): null {
    return null;
  }

  async names(): Promise<readonly string[]> {
    return [this.#options.name];
  }

  async read(name: string): Promise<string | null> {
    if (name !== this.#options.name) return null;
    const action = `read the secret ${name} from "${this.origin}"`;
    const open = this.#options.findHijackablePath?.() ?? null;
    if (open !== null) throw secretUnavailableError(action, `commands may write "${open}"`);
    const bytes = await this.#run(action);
    const value = withoutLineEnd(decodeSecretText(bytes, action));
    if (value === '') throw secretUnavailableError(action, 'it printed nothing');
    return value;
  }

  /** What it printed on standard output, when it ended well. */
  #run(action: string): Promise<Uint8Array> {
    const { argv, env } = this.#options;
    const timeoutMs = this.#options.timeoutMs ?? timeoutMsDefault;
    const [program, ...args] = argv;
    const child = spawn(program, args, {
      // In a group of its own it has no terminal to ask at, and ends with all that it started.
      detached: true,
      cwd: '/',
      env: environmentOf(this.origin, env),
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return new Promise((resolve, reject) => {
      const pieces: Buffer[] = [];
      let bytes = 0;
      const timers: NodeJS.Timeout[] = [];
      const end = (failure: TrlError | null): void => {
        timers.forEach(clearTimeout);
        child.stdout.destroy();
        if (failure === null) resolve(Buffer.concat(pieces));
        else reject(failure);
      };
      const stop = (reason: string): void => {
        if (child.pid !== undefined) killGroup(child.pid);
        end(secretUnavailableError(action, reason));
      };
      timers.push(setTimeout(() => stop(`it gave no answer in ${timeoutMs} ms`), timeoutMs));
      child.once('error', (cause) => {
        const isMissing = errnoOf(cause) === 'ENOENT';
        const reason = isMissing ? 'there is no such program' : `${errnoOf(cause)}`;
        end(secretUnavailableError(action, `it cannot be started: ${reason}`));
      });
      child.stdout.on('data', (piece: Buffer) => {
        bytes += piece.length;
        pieces.push(piece);
        if (bytes > secretValueBytesMax + 2) {
          stop(`it printed more than ${secretValueBytesMax} bytes`);
        }
      });
      child.once('exit', (code, signal) => {
        // What it left running goes with it, and lets go of the pipe.
        if (child.pid !== undefined) killGroup(child.pid);
        if (code === 0) {
          // What left the group may hold the pipe; the answer is complete all the same.
          timers.push(setTimeout(() => end(null), lateOutputMs));
          return;
        }
        const how = signal === null ? `with exit code ${code}` : `by ${signal}`;
        end(secretUnavailableError(action, `it ended ${how}; run it yourself to see why`));
      });
      child.once('close', (code) => {
        if (code === 0) end(null);
      });
    });
  }
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It ended by itself.
  }
}

function environmentOf(
  program: string,
  env: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const own = ofProgram.get(program) ?? [];
  const isNeeded = (name: string): boolean =>
    usual.has(name) || own.some((start) => name.startsWith(start));
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) =>
      value !== undefined && isNeeded(name) ? [[name, value]] : [],
    ),
  );
}
