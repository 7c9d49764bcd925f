/**
 * Plays a row of test/fixtures/sandbox-cases.jsonl through the front door: makes its place on the
 * host, runs its command in a session with its rules, and looks at the host afterwards.
 *
 * Placeholders: WS the workspace, OUT and BASE beside and above it, ID, REPEAT:text:times, and
 * what {@link layBait} names. Host scripts find WS, OUT and BASE as variables, too.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { raw, startRuntime, type Daemon, type Json } from './daemon.ts';
import { meanwhile, runnerPid, withGrowingTimeout } from './processes.ts';
import { openSession, type TestSession } from './session.ts';

export interface Expected {
  readonly exit?: number | 'nonzero';
  /** Regular expressions. */
  readonly stdout?: string;
  readonly stdout_lacks?: string;
  /** Host commands that succeed afterwards, this long after the end. */
  readonly host?: readonly string[];
  readonly host_after_ms?: number;
  /** Host commands that succeed all the while. */
  readonly during?: { readonly poll_ms: number; readonly host: readonly string[] };
  readonly timed_out?: boolean;
  /** A denial of the receipt. */
  readonly denied?: { readonly kind: string; readonly host?: string; readonly path?: string };
}

export interface Row {
  readonly id: string;
  readonly class: string;
  readonly setup?: string;
  readonly files?: Json;
  readonly network?: 'off' | 'on';
  /** Host rules of its session; absent: it has none, and no bridge. */
  readonly allow?: readonly string[];
  /** Files that it sees with placeholders, and the hosts that get the values without TLS. */
  readonly mask?: readonly { readonly path: string; readonly hosts: readonly string[] }[];
  readonly limits?: Json;
  /** The workspace's name; default `ws`. */
  readonly ws?: string;
  readonly cwd?: string;
  /** The workspace is named by a link to it. */
  readonly linked?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  readonly pty?: boolean;
  readonly inherit?: { readonly fd: number; readonly path: string };
  readonly timeout_ms?: number;
  readonly command: string;
  /** The command in `npm test`, where the whole one takes long. */
  readonly short?: string;
  readonly expect: Expected;
  /** A host script between the command and the second one. */
  readonly between?: string;
  readonly then?: string;
  readonly expect_then?: Expected;
  readonly kill_runner_after_ms?: number;
}

/** Where a row is played: directories of its own, and how its names are filled in. */
export interface Place {
  readonly ws: string;
  readonly base: string;
  fill(text: string): string;
  host(script: string): Promise<{ readonly code: number | null; readonly text: string }>;
}

export function placeOf(row: Row, base: string, bait: Readonly<Record<string, string>>): Place {
  const ws = path.join(base, row.ws ?? 'ws');
  const out = path.join(base, 'out');
  const id = path.basename(base).replaceAll(/\W/g, '');
  const names: Readonly<Record<string, string>> = { ...bait, WS: ws, OUT: out, BASE: base, ID: id };
  const fill = (text: string): string =>
    text
      .replaceAll(/\{\{REPEAT:(.*?):(\d+)\}\}/gs, (_, one, times) => one.repeat(Number(times)))
      .replaceAll(/\{\{(\w+)\}\}/g, (whole, name: string) => {
        const found = names[name];
        if (found === undefined) throw new Error(`no placeholder ${whole}`);
        // A name that a row puts into a placeholder may hold one itself.
        return name === 'MKSHM' ? fill(found) : found;
      });
  const env = { ...process.env, WS: ws, OUT: out, BASE: base, ...onlyHost };
  const host: Place['host'] = async (script) => {
    const child = spawn('/bin/bash', ['-c', fill(script)], { cwd: base, env });
    let text = '';
    const take = (bytes: Buffer): void => void (text += bytes.toString('utf8'));
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    const [code] = await once(child, 'close');
    return { code, text };
  };
  return { ws, base, fill, host };
}

const onlyHost = { GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null' };

export async function makePlace(row: Row, place: Place): Promise<void> {
  mkdirSync(place.ws, { recursive: true });
  mkdirSync(path.join(place.base, 'out'), { recursive: true });
  if (row.setup === undefined) return;
  const { code, text } = await place.host(`set -e; ${row.setup}`);
  assert.equal(code, 0, `the setup failed: ${text}`);
}

/**
 * Whether a row asks nothing of its session but, with `granted`, to read OUT, and names no place of
 * its workspace: it means the same box as its like, and is played in one session with them.
 */
export function sharesSession(row: Row, granted: boolean): boolean {
  const { setup, command, stdin, env, expect } = row;
  const own = Object.entries(row).filter(([name]) => !ofCommand.has(name));
  const wanted = granted ? [['files', { read: { allow: ['{{OUT}}'] } }]] : [];
  const text = JSON.stringify([setup, command, stdin, env, expect]);
  return isDeepStrictEqual(own, wanted) && !/\{\{(WS|BASE)\}\}|\$(WS|BASE)\b/.test(text);
}
/** Keys of a row that say nothing of its session. */
const ofCommand: ReadonlySet<string> = new Set(
  'id class why setup command short stdin pty env timeout_ms expect'.split(' '),
);

/** Plays such a row in the session that it shares. */
export const playShared = (row: Row, place: Place, session: TestSession): Promise<void> =>
  playCommand({ row, place, session }, row.command, row.expect);

/** `sessions`: whether the second command runs in the session of the first or in a new one. */
export async function play(
  row: Row,
  place: Place,
  options: { readonly daemon: Daemon; readonly second: 'same' | 'new' },
): Promise<void> {
  const { daemon } = options;
  const first = await sessionOf(row, place, daemon);
  try {
    if (row.kill_runner_after_ms !== undefined) return await playKill(row, place, daemon, first);
    await playCommand({ row, place, session: first }, row.command, row.expect);
    if (row.then === undefined) return;
    if (row.between !== undefined) assert.equal((await place.host(row.between)).code, 0);
    await using second = options.second === 'new' ? await sessionOf(row, place, daemon) : first;
    const { cwd: _, ...withoutCwd } = row;
    const next = { row: withoutCwd, place, session: second };
    await playCommand(next, row.then, row.expect_then ?? {});
  } finally {
    await first[Symbol.asyncDispose]();
  }
}

function sessionOf(row: Row, place: Place, daemon: Daemon): Promise<TestSession> {
  const files = row.files === undefined ? {} : JSON.parse(filledJson(row.files, place));
  return openSession(daemon.socketPath, {
    working_dir: place.ws,
    files,
    ...(row.network === undefined ? {} : { network: row.network }),
    ...(row.allow === undefined
      ? {}
      : {
          network: 'hosts',
          ...(row.allow.length === 0 ? {} : { hosts: row.allow.map((rule) => place.fill(rule)) }),
        }),
    ...(row.limits === undefined ? {} : { limits: row.limits }),
  });
}

function filledJson(value: Json, place: Place): string {
  return JSON.stringify(value, (_, one: unknown) =>
    typeof one === 'string' ? place.fill(one) : one,
  );
}

interface Stage {
  readonly row: Row;
  readonly place: Place;
  readonly session: TestSession;
}

/** On standard error, so that a command that never ran does not count as one that was stopped. */
const canary = 'echo SBX-RAN >&2; ';

async function playCommand(stage: Stage, text: string, expect: Expected): Promise<void> {
  const { row, place, session } = stage;
  const command = canary + place.fill(text);
  const params = {
    ...(row.stdin === undefined ? {} : { stdin: place.fill(row.stdin) }),
    ...(row.cwd === undefined ? {} : { cwd: place.fill(row.cwd) }),
    ...(row.env === undefined ? {} : { env: JSON.parse(filledJson(row.env, place)) }),
    ...(row.pty === true ? { pty: { columns: 80, rows: 24 } } : {}),
  };
  const asked = withGrowingTimeout(
    row.timeout_ms ?? 120_000,
    (timeoutMs) => session.ask(command, { ...params, timeout_ms: timeoutMs }),
    ({ data }) => `${data?.stdout}${data?.stderr}`.includes('SBX-RAN'),
  );
  const wrong = expect.during === undefined ? [] : await watch(expect.during, place, asked);
  const answer = await asked;
  const receipt = answer.data;
  const told = JSON.stringify(answer).slice(0, 1_500);
  assert.ok(receipt !== undefined, told);
  const streams = `${receipt.stdout}${receipt.stderr}`;
  assert.ok(streams.includes('SBX-RAN'), `the command did not run: ${told}`);
  assert.deepEqual(wrong, [], 'while it ran');
  const { stdout } = receipt;
  if (expect.exit === 'nonzero') assert.notEqual(receipt.exit_code, 0, told);
  else if (expect.exit !== undefined) assert.equal(receipt.exit_code, expect.exit, told);
  else assert.equal(receipt.timed_out, false, told);
  if (expect.stdout !== undefined) {
    assert.match(stdout, new RegExp(place.fill(expect.stdout)), told);
  }
  if (expect.stdout_lacks !== undefined) {
    assert.doesNotMatch(stdout, new RegExp(place.fill(expect.stdout_lacks)), told);
  }
  if (expect.timed_out !== undefined) assert.equal(receipt.timed_out, expect.timed_out, told);
  if (expect.denied !== undefined) {
    const isDenied = (one: object): boolean =>
      Object.entries(expect.denied ?? {}).every(([key, value]) => Object(one)[key] === value);
    assert.ok((receipt.denials ?? []).some(isDenied), told);
  }
  await looksRight(expect, place, told);
}

async function watch(
  during: NonNullable<Expected['during']>,
  place: Place,
  running: Promise<Json>,
): Promise<string[]> {
  const wrong: string[] = [];
  await meanwhile(running, async () => {
    for (const script of during.host) if ((await place.host(script)).code !== 0) wrong.push(script);
    await sleep(during.poll_ms);
  });
  return wrong;
}

async function looksRight(expect: Expected, place: Place, told: string): Promise<void> {
  if (expect.host_after_ms !== undefined) await sleep(expect.host_after_ms);
  for (const script of expect.host ?? []) {
    const { code, text } = await place.host(script);
    assert.equal(code, 0, `on the host: ${place.fill(script)}: ${text}\n${told}`);
  }
}

/** Kills the runner while the command runs: no result is made up, and nothing is left. */
async function playKill(row: Row, place: Place, daemon: Daemon, session: TestSession) {
  const command = `echo SBX-RAN; ${place.fill(row.command)}`;
  using client = await raw(daemon.socketPath);
  await client.ask('exec.stream', { session_id: session.id, command });
  assert.match((await client.json()).data, /SBX-RAN/);
  await sleep(row.kill_runner_after_ms);
  const pid = runnerPid(daemon);
  assert.ok(pid !== null);
  process.kill(pid, 'SIGKILL');
  for (let event = await client.json(); ; event = await client.json()) {
    if (event.stream !== 'exit') continue;
    assert.deepEqual([event.lost, event.error?.code], [true, 'BACKEND_UNAVAILABLE']);
    break;
  }
  await looksRight(row.expect, place, 'after the runner was killed');
}

/** The same through `trl run`, of which one process or the whole group is killed. */
export async function playKillOfRun(row: Row, place: Place, whole: boolean): Promise<void> {
  const trl = path.join(path.dirname(path.dirname(import.meta.dirname)), 'trl');
  const home = path.join(place.base, 'home');
  mkdirSync(home, { mode: 0o700 });
  const granted = row.command.includes('{{OUT}}') ? ['--allow-read', place.fill('{{OUT}}')] : [];
  const command = `echo SBX-RAN; ${place.fill(row.command)}`;
  const args = ['run', '--cwd', place.ws, ...granted, '--', command];
  const child = spawn(trl, args, {
    cwd: place.ws,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      TRL_POLICY: 'trusted',
      TRL_SOCKET_PATH: path.join(home, 'none.sock'),
      XDG_STATE_HOME: home,
    },
  });
  let text = '';
  child.stderr.on('data', (bytes: Buffer) => (text += bytes.toString('utf8')));
  await new Promise<void>((resolve, reject) => {
    child.stdout.on('data', (bytes: Buffer) => bytes.includes('SBX-RAN') && resolve());
    child.once('close', () => reject(new Error(`it ended: ${text}`)));
  });
  await sleep(row.kill_runner_after_ms);
  const closed = once(child, 'close');
  process.kill(whole ? -(child.pid ?? 0) : (child.pid ?? 0), 'SIGKILL');
  await closed;
  await looksRight(row.expect, place, 'after trl run was killed');
}

/** A daemon for rows that kill its runner or start it in their own way. */
export function ownDaemon(places: ReadonlyMap<Row, Place>): Promise<Daemon> {
  const roots = [...places.values()].flatMap(({ ws }) => ['--workspace-root', ws]);
  const [held] = [...places].filter(([row]) => row.inherit !== undefined);
  const [row, place] = held ?? [];
  const inherit = row?.inherit;
  return startRuntime({
    args: ['serve', '--socket-path', '{socket}', ...roots],
    ...(inherit === undefined || place === undefined
      ? {}
      : { inherit: { fd: inherit.fd, path: place.fill(inherit.path) } }),
  });
}
