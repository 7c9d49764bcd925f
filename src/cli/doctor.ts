/** `trl doctor`: what the sandbox needs, whether it is here, and one command for what is not. */
import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync, readFileSync, statfsSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { defaultSocketPath } from '../local/index.ts';
import { isTrlError } from '../errors.ts';
import type { Args } from './args.ts';
import { reach } from './reach.ts';
import { dim, plain, sayJson } from './show.ts';

const run = promisify(execFile);
const probeMs = 5_000;
const tmpfsMagic = 0x01021994;
const nodeMajorMin = 24;

interface Check {
  readonly name: string;
  /** `optional`: something is weaker or slower without it. */
  readonly state: 'ok' | 'missing' | 'optional';
  readonly found: string;
  /** One command, or `null` when there is nothing to do. */
  readonly fix: string | null;
}

/** Exit code 0 when nothing that is needed is missing, else 1. */
export async function doctor(args: Args): Promise<number> {
  const checks = [
    node(),
    await program('bwrap', 'missing', 'apt-get install bubblewrap'),
    await program('nsenter', 'missing', 'apt-get install util-linux'),
    await userNamespaces(),
    await idmap(),
    cgroups(),
    runtimeDirectory(),
    await daemon(args),
    await trial(args),
  ];
  const healthy = checks.every(({ state }) => state !== 'missing');
  if (args.has('json')) {
    sayJson({ healthy, checks });
    return healthy ? 0 : 1;
  }
  const marks = { ok: 'ok     ', missing: 'MISSING', optional: 'absent ' };
  for (const { name, state, found, fix } of checks) {
    process.stdout.write(`${marks[state]}  ${name.padEnd(17)}  ${plain(found)}\n`);
    if (state !== 'ok' && fix !== null) {
      process.stdout.write(`${''.padEnd(28)}${dim(`→ ${fix}`)}\n`);
    }
  }
  return healthy ? 0 : 1;
}

function node(): Check {
  const major = Number(process.versions.node.split('.')[0]);
  const state = major >= nodeMajorMin ? 'ok' : 'missing';
  return { name: 'node', state, found: process.version, fix: 'npm install --global node@24' };
}

async function program(name: string, without: Check['state'], install: string): Promise<Check> {
  try {
    const { stdout } = await run(name, ['--version'], { timeout: probeMs });
    const [line = ''] = stdout.split('\n');
    return { name, state: 'ok', found: line, fix: null };
  } catch {
    return { name, state: without, found: 'not found in PATH', fix: asRoot(install) };
  }
}

async function userNamespaces(): Promise<Check> {
  const name = 'user namespaces';
  try {
    await run('unshare', ['--user', '--map-root-user', 'true'], { timeout: probeMs });
    return { name, state: 'ok', found: 'can be made', fix: null };
  } catch {
    const switches = [
      'kernel.apparmor_restrict_unprivileged_userns=0',
      'kernel.unprivileged_userns_clone=1',
      'user.max_user_namespaces=15000',
    ];
    const present = switches.find((one) =>
      existsSync(`/proc/sys/${one.split('=')[0]?.replaceAll('.', '/')}`),
    );
    const fix = present === undefined ? null : asRoot(`sysctl -w ${present}`);
    return { name, state: 'missing', found: 'refused by this system', fix };
  }
}

/** Root gives a workspace to the sandbox's user by an idmapped mount, made by a little Perl. */
async function idmap(): Promise<Check> {
  const name = 'perl';
  if (process.getuid?.() !== 0) {
    return { name, state: 'ok', found: 'not needed by an ordinary user', fix: null };
  }
  const { state, fix } = await program('perl', 'optional', 'apt-get install perl-base');
  const found = state === 'ok' ? 'found, for idmapped mounts' : 'commands of root stay uid 0';
  return { name, state, found, fix };
}

function cgroups(): Check {
  const name = 'cgroups';
  const own = readText('/proc/self/cgroup')
    .split('\n')
    .find((line) => line.startsWith('0::'));
  const v2 = path.join('/sys/fs/cgroup', own?.slice(3) ?? '');
  const found = [
    { version: 'v2', directory: own === undefined ? '' : v2 },
    { version: 'v1', directory: '/sys/fs/cgroup/memory' },
  ].find(({ directory }) => directory !== '' && isWritable(path.join(directory, 'cgroup.procs')));
  if (found !== undefined) {
    return { name, state: 'ok', found: `${found.version}, writable`, fix: null };
  }
  const none = 'not writable: --memory is refused';
  const fix = 'systemd-run --user --scope --property=Delegate=yes trl serve';
  return { name, state: 'optional', found: none, fix };
}

function runtimeDirectory(): Check {
  const name = 'output in memory';
  const directories = [process.env['XDG_RUNTIME_DIR'] ?? '', '/dev/shm'];
  const found = directories.find((one) => one !== '' && isTmpfs(one));
  return found === undefined
    ? { name, state: 'optional', found: 'no tmpfs: held in the heap', fix: null }
    : { name, state: 'ok', found: `tmpfs at ${found}`, fix: null };
}

async function daemon(args: Args): Promise<Check> {
  const name = 'runtime';
  const socketPath = args.text('socket-path') ?? defaultSocketPath();
  try {
    await using client = await reach(args);
    const { version, uptime_s: uptime } = await client.ping();
    const found = `${version} at ${socketPath}, up ${uptime} s`;
    return { name, state: 'ok', found, fix: null };
  } catch (error) {
    const found = isTrlError(error) ? error.message : String(error);
    return { name, state: 'optional', found, fix: 'trl serve' };
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
    const level = receipt.sandbox.level;
    const found = `level ${level}${open.length > 0 ? `; not enforced: ${open.join(', ')}` : ''}`;
    const state = receipt.exit_code === 0 && level !== 'none' ? 'ok' : 'missing';
    return { name, state, found, fix: null };
  } catch (error) {
    return {
      name,
      state: 'missing',
      found: isTrlError(error) ? error.message : String(error),
      fix: null,
    };
  }
}

function asRoot(command: string): string {
  return process.getuid?.() === 0 ? command : `sudo ${command}`;
}

function isTmpfs(directory: string): boolean {
  try {
    return statfsSync(directory).type === tmpfsMagic && isWritable(directory);
  } catch {
    return false;
  }
}

function isWritable(file: string): boolean {
  try {
    accessSync(file, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
