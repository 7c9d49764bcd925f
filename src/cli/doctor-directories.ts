/** What the runtime keeps for this user: who else could read or write it, and what is left over. */
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  lstatSync,
  openSync,
  readSync,
  readdirSync,
  statSync,
} from 'node:fs';
import type { Stats } from 'node:fs';
import { connect } from 'node:net';
import { homedir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { embeddedNames } from '../embedded.ts';
import { stateDir } from '../local/index.ts';
import { quoteWord } from '../quote.ts';
import { passedCheck, withSudo } from './doctor-host.ts';
import type { DoctorCheck } from './doctor-host.ts';

/** What the kernel takes as the path of a socket. */
const socketBytesMax = 107;

export async function checkUserDirectories(socketPath: string): Promise<DoctorCheck[]> {
  const config = path.join(
    process.env['XDG_CONFIG_HOME'] || path.join(homedir(), '.config'),
    'trl',
  );
  return [
    ownDirectory('state directory', stateDir()) ?? canBeMade('state directory', stateDir()),
    ownDirectory('settings', config) ??
      passedCheck('settings', `${config}, made when it is needed`),
    socketFile(socketPath) ?? socketDirectory(socketPath),
    ownFile('tokens', path.join(stateDir(), 'tokens.json'), 'none were made'),
    database(path.join(stateDir(), 'state.db')),
    ownFile('audit key', path.join(stateDir(), 'audit/key'), 'made when it is needed'),
    ownFile('enrolment', path.join(config, 'approver.json'), 'nobody is enrolled'),
    ownFile('variables', path.join(config, 'daemon.env'), 'none for the service'),
    await leftRunners(),
    consoleBuilt(),
  ];
}

/** `null`: there is nothing, or what is above it is in the way. */
function look(place: string): Stats | null {
  try {
    return lstatSync(place);
  } catch {
    return null;
  }
}

const aside = (place: string): string => `mv ${quoteWord(place)} ${quoteWord(`${place}.old`)}`;

/** `null`: it is not there. */
function ownDirectory(name: string, directory: string): DoctorCheck | null {
  const found = look(directory);
  if (found === null) return null;
  if (!found.isDirectory()) {
    const state = 'missing';
    return { name, state, found: `${directory} is no directory`, fix: aside(directory) };
  }
  const { uid, mode } = found;
  if (uid === process.getuid?.() && (mode & 0o700) !== 0o700) {
    const what = `${directory} is closed to its owner (mode ${shown(mode)})`;
    return { name, state: 'missing', found: what, fix: `chmod 0700 ${quoteWord(directory)}` };
  }
  return ownership(name, directory, { mode: found.mode, uid: found.uid, wanted: '0700' });
}

/** Whether what is above it lets it be made. */
function canBeMade(name: string, directory: string): DoctorCheck {
  let above = path.dirname(directory);
  while (look(above) === null && above !== path.dirname(above)) above = path.dirname(above);
  const found = statSync(above, { throwIfNoEntry: false });
  if (found?.isDirectory() !== true) {
    const what = `${directory} cannot be made: ${above} is no directory`;
    return { name, state: 'missing', found: what, fix: aside(above) };
  }
  try {
    accessSync(above, constants.W_OK | constants.X_OK);
    return passedCheck(name, `${directory}, made when it is needed`);
  } catch (error) {
    const what = `${directory} cannot be made: ${above} cannot be written to`;
    const isReadOnly = error instanceof Error && 'code' in error && error.code === 'EROFS';
    const own = process.getuid?.() ?? 0;
    const elsewhere = quoteWord(`/var/tmp/trl-state-${own}`);
    const fix = isReadOnly
      ? `mkdir -m 0700 ${elsewhere} && export XDG_STATE_HOME=${elsewhere}`
      : `sudo install -d -o ${own} -m 0700 ${quoteWord(directory)}`;
    return { name, state: 'missing', found: what, fix };
  }
}

function ownership(
  name: string,
  place: string,
  { mode, uid, wanted }: { readonly mode: number; readonly uid: number; readonly wanted: string },
): DoctorCheck {
  const own = process.getuid?.() ?? uid;
  if (uid !== own) {
    const fix = `sudo chown -R ${own} ${quoteWord(place)}`;
    return { name, state: 'missing', found: `${place} belongs to uid ${uid}`, fix };
  }
  // Others that may write could change what is kept; that they may list names is not the same.
  if ((mode & 0o022) === 0) return passedCheck(name, `${place}, mode ${shown(mode)}`);
  const found = `${place} can be written to by others (mode ${shown(mode)})`;
  return { name, state: 'missing', found, fix: `chmod ${wanted} ${quoteWord(place)}` };
}

const shown = (mode: number): string => `0${(mode & 0o7777).toString(8)}`;

/** What a socket's path can be, and what may lie there. `null`: nothing is wrong with it. */
function socketFile(socketPath: string): DoctorCheck | null {
  const name = 'socket directory';
  if (Buffer.byteLength(socketPath) > socketBytesMax) {
    const found = `${socketPath} is longer than ${socketBytesMax} bytes`;
    const fix = `export TRL_SOCKET_PATH=/tmp/trl-${process.getuid?.() ?? 0}/trl.sock`;
    return { name, state: 'missing', found, fix };
  }
  const found = look(socketPath);
  if (found === null || found.isSocket()) return null;
  const state = 'missing';
  return { name, state, found: `${socketPath} is no socket`, fix: aside(socketPath) };
}

function socketDirectory(socketPath: string): DoctorCheck {
  const name = 'socket directory';
  const directory = path.dirname(socketPath);
  const found = statSync(directory, { throwIfNoEntry: false });
  if (found === undefined) return passedCheck(name, `${directory}, made when it is needed`);
  const own = process.getuid?.() ?? found.uid;
  const isShared = (found.mode & 0o022) !== 0 && (found.mode & 0o1000) === 0;
  if (found.uid === own && !isShared) {
    return passedCheck(name, `${directory}, mode ${shown(found.mode)}`);
  }
  // In a directory like /tmp nobody can replace the socket of another, which is 0600.
  if (found.uid === 0 && !isShared) return passedCheck(name, `${directory} (shared, sticky)`);
  const who = found.uid === own ? 'can be written to by others' : `belongs to uid ${found.uid}`;
  const fix = `export TRL_SOCKET_PATH=${quoteWord(path.join(stateDir(), 'trl.sock'))}`;
  return { name, state: 'missing', found: `${directory} ${who}`, fix };
}

/** A file that counts for nothing, or stops the runtime, where others could read or write it. */
function ownFile(name: string, file: string, absent: string): DoctorCheck {
  const found = look(file);
  if (found === null) return passedCheck(name, absent);
  const own = process.getuid?.() ?? found.uid;
  if (!found.isFile()) {
    return { name, state: 'missing', found: `${file} is no file`, fix: aside(file) };
  }
  if (found.uid !== own) {
    const fix = `sudo chown ${own} ${quoteWord(file)}`;
    return { name, state: 'missing', found: `${file} belongs to uid ${found.uid}`, fix };
  }
  if ((found.mode & 0o077) === 0) return passedCheck(name, `${file}, mode ${shown(found.mode)}`);
  const what = `${file} is open to others (mode ${shown(found.mode)})`;
  return { name, state: 'missing', found: what, fix: `chmod 0600 ${quoteWord(file)}` };
}

/** From the last change in a runner's directory to when it is one that was left, in `ms`. */
const settledMs = 15_000;

/** What the runtime knows of sessions; it does not start on one that is something else. */
function database(file: string): DoctorCheck {
  const check = ownFile('database', file, 'made when it is needed');
  if (check.state !== 'ok' || (look(file)?.size ?? 0) === 0) return check;
  const start = Buffer.alloc(16);
  const fd = openSync(file, 'r');
  readSync(fd, start, 0, start.length, 0);
  closeSync(fd);
  if (start.toString('latin1') === 'SQLite format 3\0') return check;
  return { ...check, state: 'missing', found: `${file} is no SQLite database`, fix: aside(file) };
}

/**
 * Directories of runners on whose socket nobody answers: what was killed with all it held. One
 * that is starting or ending just now does not answer either.
 */
async function leftRunners(): Promise<DoctorCheck> {
  const name = 'runners';
  const uid = process.getuid?.() ?? 0;
  const runtime = process.env['XDG_RUNTIME_DIR'] ?? '';
  const usual = [path.join(runtime, 'trl'), `/dev/shm/trl-${uid}`].filter((base) =>
    path.isAbsolute(base),
  );
  const bases = usual.flatMap((base) => [base, ...othersOf(base)]);
  const left: string[] = [];
  let running = 0;
  for (const base of bases) {
    for (const entry of namesIn(base).filter((one) => /^r-[0-9a-f]{16}$/.test(one))) {
      const directory = path.join(base, entry);
      if (await answers(path.join(directory, 'runner.sock'))) running += 1;
      else if (isSettled(directory)) left.push(directory);
    }
  }
  const foreign = usual.find((base) => isForeign(base, uid));
  if (foreign !== undefined) {
    const found = `${foreign} is another user's, or open to others: they are in ${foreign}-…`;
    return { name, state: 'optional', found, fix: withSudo(`rm -r ${quoteWord(foreign)}`) };
  }
  if (left.length === 0) return passedCheck(name, running === 0 ? 'none' : `${running} running`);
  const found = `${left.length} left by killed ones; the next daemon removes them`;
  return { name, state: 'optional', found, fix: `rm -rf ${left.map(quoteWord).join(' ')}` };
}

function isForeign(directory: string, uid: number): boolean {
  const found = lstatSync(directory, { throwIfNoEntry: false });
  if (found === undefined) return false;
  return !found.isDirectory() || found.uid !== uid || (found.mode & 0o077) !== 0;
}

/** Where runners are when the usual directory is another user's. */
function othersOf(base: string): string[] {
  const form = new RegExp(`^${path.basename(base)}-[0-9a-f]{16}$`);
  const names = namesIn(path.dirname(base)).filter((name) => form.test(name));
  return names.map((name) => path.join(path.dirname(base), name));
}

function isSettled(directory: string): boolean {
  const found = lstatSync(directory, { throwIfNoEntry: false });
  return found !== undefined && Date.now() - found.mtimeMs > settledMs;
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function answers(file: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(file, () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

function consoleBuilt(): DoctorCheck {
  const name = 'console';
  const here = path.dirname(fileURLToPath(import.meta.url));
  const isSource = import.meta.url.endsWith('.ts');
  const page = path.join(here, isSource ? '../../dist/console' : 'console', 'index.html');
  const isCheckout = isSource || existsSync(path.join(here, '../trl'));
  if (embeddedNames('console/').length > 0 || existsSync(page)) return passedCheck(name, 'built');
  const fix = isCheckout ? 'npm run build' : 'npm install --global terminal-runtime-layer';
  return { name, state: 'optional', found: 'not built: no page for the browser', fix };
}
