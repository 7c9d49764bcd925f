/** Processes of this machine as tests look for them; one that is ending (`Z`) is gone. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Daemon } from './daemon.ts';

const pollMs = 25;

export interface Found {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
}

/** Every live process that `isWanted`. */
export function processesWhere(isWanted: (pid: number) => boolean): Found[] {
  const found: Found[] = [];
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) continue;
    const stat = textOf(`/proc/${pid}/stat`);
    const [state = 'X', parent = '0'] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (stat === '' || state === 'Z' || state === 'X' || !isWanted(pid)) continue;
    const command = textOf(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim();
    found.push({ pid, parent: Number(parent), command });
  }
  return found;
}

/** Those that see the loopback of a session: `net:[…]` as a command in it read it. */
export const processesInNetwork = (namespace: string): Found[] =>
  processesWhere((pid) => linkOf(`/proc/${pid}/ns/net`) === namespace);

/** Those that were started with a variable `NAME=VALUE`. */
export const processesWith = (variable: string): Found[] =>
  processesWhere((pid) => textOf(`/proc/${pid}/environ`).split('\0').includes(variable));

export const processesNamed = (pattern: RegExp): Found[] =>
  processesWhere((pid) => pattern.test(textOf(`/proc/${pid}/cmdline`).replaceAll('\0', ' ')));

/** Everything below `pid`. */
export function descendantsOf(pid: number): Found[] {
  const all = processesWhere(() => true);
  const found: Found[] = [];
  const wanted = new Set([pid]);
  for (let grew = true; grew;) {
    const more = all.filter((one) => wanted.has(one.parent) && !wanted.has(one.pid));
    for (const one of more) {
      wanted.add(one.pid);
      found.push(one);
    }
    grew = more.length > 0;
  }
  return found;
}

/** What the daemon noted of its runner. */
export function runnerRecord(daemon: Daemon): { dir: string; key: string; epoch: number } {
  const file = path.join(daemon.home, 'state', 'trl', 'runner.json');
  return JSON.parse(readFileSync(file, 'utf8'));
}

/** The egress process of a runner; `null`: it has none. */
export function egressPid(runner: number): number | null {
  const isEgress = ({ pid }: Found): boolean => textOf(`/proc/${pid}/cmdline`).includes('egress');
  return descendantsOf(runner).find(isEgress)?.pid ?? null;
}

/** The runner's process, or `null` when there is none. */
export function runnerPid(daemon: Daemon): number | null {
  const { dir } = runnerRecord(daemon);
  const isRunner = (pid: number): boolean =>
    textOf(`/proc/${pid}/cmdline`).split('\0').slice(1).includes(dir);
  return processesWhere(isRunner)[0]?.pid ?? null;
}

/** How long is waited for what must come: it costs time where it never does, and only there. */
const hangMs = 120_000;

/** Looks until nothing is found, at most so long; answers what is still there. */
export async function noneLeft(look: () => readonly Found[], withinMs = hangMs): Promise<Found[]> {
  const end = Date.now() + withinMs;
  for (;;) {
    const found = look();
    if (found.length === 0 || Date.now() > end) return [...found];
    await sleep(pollMs);
  }
}

/** Looks until `look` answers something, at most so long. */
export async function eventually<T>(
  what: string,
  look: () => T | null | false | Promise<T | null | false>,
  withinMs = hangMs,
): Promise<T> {
  const end = Date.now() + withinMs;
  for (;;) {
    const found = await look();
    if (found !== null && found !== false) return found;
    if (Date.now() > end) throw new Error(`it never came: ${what}`);
    await sleep(pollMs);
  }
}

/**
 * Runs with a time-out, from `firstMs` on, that grows until the answer `isFar`: a busy machine may
 * need longer to get there. Answers the last of them.
 */
export async function withGrowingTimeout<T>(
  firstMs: number,
  run: (timeoutMs: number) => Promise<T>,
  isFar: (answer: T) => boolean,
): Promise<T> {
  for (let timeoutMs = firstMs; ; timeoutMs *= 4) {
    const answer = await run(timeoutMs);
    if (isFar(answer) || timeoutMs > 60_000) return answer;
  }
}

/** Works again and again until `running` has settled, whichever way. */
export async function meanwhile(
  running: Promise<unknown>,
  work: () => Promise<unknown>,
): Promise<void> {
  const state = { isOver: false };
  const end = (): void => void (state.isOver = true);
  running.then(end, end);
  while (!state.isOver) await work();
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

function linkOf(file: string): string {
  try {
    return readlinkSync(file);
  } catch {
    return '';
  }
}
