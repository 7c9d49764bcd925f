/** What this machine offers: programs, namespaces, groups of processes, memory, disk, clock. */
import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync, readFileSync, statfsSync, watch } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { stateDir } from '../local/index.ts';

const tmpfsMagic = 0x01021994;
const nodeMajorMin = 24;
/** Records are written before anything runs, and nothing runs where they cannot be. */
const diskBytesLow = 1024 ** 3;
/** A clock before this program was written is wrong. */
const clockMin = Date.parse('2026-11-01T00:00:00Z');

export async function checkHost(): Promise<DoctorCheck[]> {
  return [
    node(),
    sqlite(),
    await checkProgram('bwrap', 'missing', 'apt-get install bubblewrap'),
    await checkProgram('nsenter', 'missing', 'apt-get install util-linux'),
    await userNamespaces(),
    await perl(),
    await python(),
    inotify(),
    cgroups(),
    memory(),
    disk(),
    clock(),
  ];
}

function node(): DoctorCheck {
  const major = Number(process.versions.node.split('.')[0]);
  const state = major >= nodeMajorMin ? 'ok' : 'missing';
  return { name: 'node', state, found: process.version, fix: 'npm install --global node@24' };
}

function sqlite(): DoctorCheck {
  const name = 'sqlite';
  const { sqlite: version } = process.versions;
  if (version !== undefined) return passedCheck(name, `${version}, in Node`);
  const found = 'this Node was built without it';
  return { name, state: 'missing', found, fix: 'npm install --global node@24' };
}

async function userNamespaces(): Promise<DoctorCheck> {
  const name = 'user namespaces';
  const made = await readFirstLine('unshare', ['--user', '--map-root-user', 'echo', 'made']);
  if (made !== null) return passedCheck(name, 'can be made');
  if ((await readFirstLine('unshare', ['--version'])) === null) {
    const fix = withSudo('apt-get install util-linux');
    return { name, state: 'missing', found: 'not known: unshare is not in PATH', fix };
  }
  const switches = [
    { setting: 'kernel.apparmor_restrict_unprivileged_userns', blocks: '1', wanted: '0' },
    { setting: 'kernel.unprivileged_userns_clone', blocks: '0', wanted: '1' },
    { setting: 'user.max_user_namespaces', blocks: '0', wanted: '15000' },
  ];
  const found = switches.find(
    ({ setting, blocks }) =>
      readTextOrEmpty(`/proc/sys/${setting.replaceAll('.', '/')}`).trim() === blocks,
  );
  if (found === undefined) {
    const why = existsSync('/.dockerenv')
      ? 'refused, as it seems by this container'
      : 'refused by this system';
    return { name, state: 'missing', found: why, fix: null };
  }
  const { setting, blocks, wanted } = found;
  const fix = withSudo(`sysctl -w ${setting}=${wanted}`);
  return { name, state: 'missing', found: `refused: ${setting} is ${blocks}`, fix };
}

/** Root gives a workspace to the sandbox's user by an idmapped mount, made by a little Perl. */
async function perl(): Promise<DoctorCheck> {
  const name = 'perl';
  const { state, fix } = await checkProgram('perl', 'optional', 'apt-get install perl-base');
  const without =
    process.getuid?.() === 0
      ? 'not found: commands of root stay uid 0, and helpers of workspaces cannot run'
      : 'not found: helpers of workspaces cannot run';
  const found = state === 'ok' ? 'found, for overlays and idmapped mounts' : without;
  return { name, state, found, fix };
}

async function python(): Promise<DoctorCheck> {
  const { state, found, fix } = await checkProgram(
    'python3',
    'optional',
    'apt-get install python3',
  );
  return { name: 'python3', state, found: state === 'ok' ? found : 'not found: no scripts', fix };
}

/** Where this user has none left, all trees are scanned. */
function inotify(): DoctorCheck {
  const name = 'inotify';
  try {
    watch('/', { persistent: false }).close();
    return passedCheck(name, 'can watch for changes');
  } catch {
    const found = 'this user has no instance or watch left: changes by others are found by scans';
    const fix = withSudo('sysctl -w fs.inotify.max_user_instances=1024');
    return { name, state: 'optional', found, fix };
  }
}

function cgroups(): DoctorCheck {
  const name = 'cgroups';
  const own = readTextOrEmpty('/proc/self/cgroup')
    .split('\n')
    .find((line) => line.startsWith('0::'));
  const v2 = path.join('/sys/fs/cgroup', own?.slice(3) ?? '');
  const found = [
    { version: 'v2', directory: own === undefined ? '' : v2 },
    { version: 'v1', directory: '/sys/fs/cgroup/memory' },
  ].find(
    ({ directory }) => directory !== '' && isWritablePath(path.join(directory, 'cgroup.procs')),
  );
  if (found !== undefined) return passedCheck(name, `${found.version}, writable`);
  const none = 'not writable: --memory is refused';
  const fix = 'systemd-run --user --scope --property=Delegate=yes trl serve';
  return { name, state: 'optional', found: none, fix };
}

function memory(): DoctorCheck {
  const name = 'output in memory';
  const directories = [process.env['XDG_RUNTIME_DIR'] ?? '', '/dev/shm'];
  const found = directories.find((one) => one !== '' && isTmpfs(one));
  if (found !== undefined) return passedCheck(name, `tmpfs at ${found}`);
  const fix = withSudo('mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs /dev/shm');
  return { name, state: 'optional', found: 'no tmpfs: held in the heap', fix };
}

function isTmpfs(directory: string): boolean {
  try {
    return statfsSync(directory).type === tmpfsMagic && isWritablePath(directory);
  } catch {
    return false;
  }
}

function disk(): DoctorCheck {
  const name = 'disk';
  let place = stateDir();
  while (!existsSync(place)) place = path.dirname(place);
  const { bavail, bsize } = statfsSync(place);
  const free = bavail * bsize;
  const found = `${(free / 1024 ** 3).toFixed(1)} GiB free for records (${place})`;
  if (free >= diskBytesLow) return passedCheck(name, found);
  return {
    name,
    state: free === 0 ? 'missing' : 'optional',
    found,
    fix: `du -xh ${place} | sort -h`,
  };
}

function clock(): DoctorCheck {
  const name = 'clock';
  const now = new Date();
  if (now.getTime() >= clockMin) return passedCheck(name, now.toISOString());
  const found = `${now.toISOString()} is in the past: approvals and tokens go by it`;
  return { name, state: 'optional', found, fix: withSudo('timedatectl set-ntp true') };
}

// One thing that `trl doctor` looked at, and how it looks at things.

const run = promisify(execFile);
const probeMs = 5_000;

export interface DoctorCheck {
  readonly name: string;
  /**
   * `missing`: nothing works without it. `optional`: something is weaker or slower without it.
   * `warning`: it works, and a person should change it.
   */
  readonly state: 'ok' | 'missing' | 'optional' | 'warning';
  readonly found: string;
  /** One command, or `null` when there is nothing to do. */
  readonly fix: string | null;
}

export const passedCheck = (name: string, found: string): DoctorCheck => ({
  name,
  state: 'ok',
  found,
  fix: null,
});

/** Whether `program` runs; what it says first of itself. */
async function checkProgram(
  name: string,
  without: 'missing' | 'optional',
  install: string,
): Promise<DoctorCheck> {
  const line = await readFirstLine(name, ['--version']);
  if (line !== null) return passedCheck(name, line);
  return { name, state: without, found: 'not found in PATH', fix: withSudo(install) };
}

/** What a program prints first; `null` when it cannot be run or fails. */
async function readFirstLine(file: string, args: readonly string[]): Promise<string | null> {
  try {
    const { stdout } = await run(file, [...args], { timeout: probeMs });
    return stdout.split('\n').find((line) => line.trim() !== '') ?? '';
  } catch {
    return null;
  }
}

export const withSudo = (command: string): string =>
  process.getuid?.() === 0 ? command : `sudo ${command}`;

function isWritablePath(file: string): boolean {
  try {
    accessSync(file, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** `''` when it cannot be read. */
function readTextOrEmpty(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
