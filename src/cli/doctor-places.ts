/** What the runtime keeps for this user: who else could read or write it, and what is left over. */
import { existsSync, lstatSync, readdirSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { connect } from 'node:net';
import { embeddedNames } from '../embedded.ts';
import { fileURLToPath } from 'node:url';
import { fine } from './doctor-check.ts';
import type { Check } from './doctor-check.ts';
import { stateDir } from './daemon-process.ts';
import { quoteWord } from '../quote.ts';

export async function placeChecks(socketPath: string): Promise<Check[]> {
  const config = path.join(
    process.env['XDG_CONFIG_HOME'] || path.join(homedir(), '.config'),
    'trl',
  );
  return [
    ownDirectory('state directory', stateDir()),
    ownDirectory('settings', config),
    socketDirectory(socketPath),
    tokens(),
    await leftRunners(),
    consoleBuilt(),
  ];
}

/** What is ours alone, or not there yet. */
function ownDirectory(name: string, directory: string): Check {
  const found = lstatSync(directory, { throwIfNoEntry: false });
  if (found === undefined) return fine(name, `${directory}, made when it is needed`);
  if (!found.isDirectory()) {
    const fix = `mv ${quoteWord(directory)} ${quoteWord(`${directory}.old`)}`;
    return { name, state: 'missing', found: `${directory} is no directory`, fix };
  }
  return ownership(name, directory, { mode: found.mode, uid: found.uid, wanted: '0700' });
}

function ownership(
  name: string,
  place: string,
  { mode, uid, wanted }: { readonly mode: number; readonly uid: number; readonly wanted: string },
): Check {
  const own = process.getuid?.() ?? uid;
  if (uid !== own) {
    const fix = `sudo chown -R ${own} ${quoteWord(place)}`;
    return { name, state: 'missing', found: `${place} belongs to uid ${uid}`, fix };
  }
  // Others that may write could change what is kept; that they may list names is not the same.
  if ((mode & 0o022) === 0) return fine(name, `${place}, mode ${shown(mode)}`);
  const found = `${place} can be written to by others (mode ${shown(mode)})`;
  return { name, state: 'missing', found, fix: `chmod ${wanted} ${quoteWord(place)}` };
}

const shown = (mode: number): string => `0${(mode & 0o7777).toString(8)}`;

function socketDirectory(socketPath: string): Check {
  const name = 'socket directory';
  const directory = path.dirname(socketPath);
  const found = statSync(directory, { throwIfNoEntry: false });
  if (found === undefined) return fine(name, `${directory}, made when it is needed`);
  const own = process.getuid?.() ?? found.uid;
  const isShared = (found.mode & 0o022) !== 0 && (found.mode & 0o1000) === 0;
  if (found.uid === own && !isShared) return fine(name, `${directory}, mode ${shown(found.mode)}`);
  // In a directory like /tmp nobody can replace the socket of another, which is 0600.
  if (found.uid === 0 && !isShared) return fine(name, `${directory} (shared, sticky)`);
  const who = found.uid === own ? 'can be written to by others' : `belongs to uid ${found.uid}`;
  const fix = `export TRL_SOCKET_PATH=${quoteWord(path.join(stateDir(), 'trl.sock'))}`;
  return { name, state: 'missing', found: `${directory} ${who}`, fix };
}

function tokens(): Check {
  const name = 'tokens';
  const file = path.join(stateDir(), 'tokens.json');
  const found = lstatSync(file, { throwIfNoEntry: false });
  if (found === undefined) return fine(name, 'none were made');
  const own = process.getuid?.() ?? found.uid;
  if (found.isFile() && found.uid === own && (found.mode & 0o077) === 0) {
    return fine(name, `${file}, mode ${shown(found.mode)}, hashes only`);
  }
  const what = `${file} is open to others or not a file of ours (mode ${shown(found.mode)})`;
  return { name, state: 'missing', found: what, fix: `chmod 0600 ${quoteWord(file)}` };
}

/** From the last change in a runner's directory to when it is one that was left, in `ms`. */
const settledMs = 15_000;

/**
 * Directories of runners on whose socket nobody answers: what was killed with all it held. One
 * that is starting or ending just now does not answer either.
 */
async function leftRunners(): Promise<Check> {
  const name = 'runners';
  const uid = process.getuid?.() ?? 0;
  const runtime = process.env['XDG_RUNTIME_DIR'] ?? '';
  const bases = [path.join(runtime, 'trl'), `/dev/shm/trl-${uid}`].filter((base) =>
    path.isAbsolute(base),
  );
  const left: string[] = [];
  let running = 0;
  for (const base of bases) {
    for (const entry of namesIn(base).filter((one) => /^r-[0-9a-f]{16}$/.test(one))) {
      const directory = path.join(base, entry);
      if (await answers(path.join(directory, 'runner.sock'))) running += 1;
      else if (isSettled(directory)) left.push(directory);
    }
  }
  if (left.length === 0) return fine(name, running === 0 ? 'none' : `${running} running`);
  const found = `${left.length} left by killed ones; the next daemon removes them`;
  return { name, state: 'optional', found, fix: `rm -r ${left.map(quoteWord).join(' ')}` };
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

function consoleBuilt(): Check {
  const name = 'console';
  const here = path.dirname(fileURLToPath(import.meta.url));
  const isSource = import.meta.url.endsWith('.ts');
  const page = path.join(here, isSource ? '../../dist/console' : 'console', 'index.html');
  const isCheckout = isSource || existsSync(path.join(here, '../trl'));
  if (embeddedNames('console/').length > 0 || existsSync(page)) return fine(name, 'built');
  const fix = isCheckout ? 'npm run build' : 'npm install --global terminal-runtime-layer';
  return { name, state: 'optional', found: 'not built: no page for the browser', fix };
}
