/** Runs shell commands in a planned box, without the runner: for tests of the box itself. */
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Box, FileGrants, Grants } from '../../src/command.ts';
import type { EgressRules } from '../../src/network-access.ts';
import { closeInherited } from '../../src/runner/descriptors.ts';
import { EgressProcess, withBridge } from '../../src/runner/egress-process.ts';
import type { SessionBridge } from '../../src/runner/session-bridge.ts';
import { helperEnvironment } from '../../src/runner/enclose.ts';
import { openNamespace, type OpenNamespace } from '../../src/runner/namespace.ts';
import { gatherHostFacts, type HostFacts } from '../../src/sandbox/host-facts.ts';
import { planBox, visibleTrees } from '../../src/sandbox/plan.ts';
import { openGuard } from '../../src/workspace/guard.ts';
import { surveyWorkspace, type WorkspaceFacts } from '../../src/workspace/workspace-survey.ts';

export type BubblewrapBox = Extract<Box, { kind: 'bubblewrap' }>;

export interface Answer {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
}

export interface BoxOptions {
  readonly root?: string | null;
  readonly read?: Partial<FileGrants['read']>;
  readonly write?: Partial<FileGrants['write']>;
  readonly network?: Grants['network'];
  /** What its commands may reach, as one command that never ends; default: nothing. */
  readonly egress?: Partial<EgressRules>;
  /** Certificates that are trusted beside the host's. PEM. */
  readonly roots?: readonly string[];
  /** The egress process of several boxes; default: its own. */
  readonly through?: EgressProcess;
  readonly host?: Partial<HostFacts>;
  /** The environment that host facts are gathered from. */
  readonly env?: NodeJS.ProcessEnv;
}

/** A session's box, open. */
export interface OpenBox extends AsyncDisposable {
  readonly host: HostFacts;
  readonly facts: WorkspaceFacts;
  readonly box: BubblewrapBox;
  /** Absent: `network` is `off` or `host`. */
  readonly bridge?: SessionBridge;
  /** Runs a command in the workspace, then reverts what is guarded. */
  run(command: string, options?: RunOptions): Promise<Answer & { readonly reverted: string[] }>;
}

// As the runner does: a shell that started the tests may have left descriptors open.
closeInherited();

/** Why the tests of this machine must skip, or `false`. */
export const whyNoBox: string | false = (await gatherHostFacts(process.env)).unavailable ?? false;
export const isRoot = process.getuid?.() === 0;

/** A directory of this test's own, by real path. */
export function temporary(): { readonly path: string } & Disposable {
  const name = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'trl-box-')));
  return { path: name, [Symbol.dispose]: () => rmSync(name, { recursive: true, force: true }) };
}

/** The mounts of this machine, as text, but for those of other tests; `own`: this one's place. */
export function hostMounts(own: string): string {
  const places = ['/tmp', '/var/tmp', realpathSync(os.tmpdir())].map((one) => `${one}/trl-`);
  const isOthers = (line: string): boolean => {
    const place = line.split(' ')[4] ?? '';
    if (place === own || place.startsWith(`${own}/`)) return false;
    return places.some((one) => place.startsWith(one));
  };
  const lines = readFileSync('/proc/self/mountinfo', 'utf8').split('\n');
  return lines.filter((line) => !isOthers(line)).join('\n');
}

/** Runs a script on the host; throws where it fails. */
export function onHost(script: string, cwd: string): string {
  const env = {
    PATH: '/usr/bin:/bin',
    HOME: cwd,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_AUTHOR_NAME: 'n',
    GIT_AUTHOR_EMAIL: 'a@b',
    GIT_COMMITTER_NAME: 'n',
    GIT_COMMITTER_EMAIL: 'a@b',
  };
  const done = spawnSync('/bin/bash', ['-ec', script], { cwd, encoding: 'utf8', env });
  if (done.status !== 0) throw new Error(`host: ${script}: ${done.stderr}`);
  return done.stdout;
}

export async function openBox(options: BoxOptions = {}): Promise<OpenBox> {
  const gathered = await gatherHostFacts(options.env ?? process.env);
  const host = { ...gathered, ...options.host };
  const root = options.root ?? null;
  const rules = { allow: [], deny: [] };
  const facts = await surveyWorkspace({
    root,
    files: { read: { ...rules, ...options.read }, write: { ...rules, ...options.write } },
    home: host.home,
    visible: visibleTrees(host),
    entriesMax: 200_000,
  });
  const box = planBox({
    host,
    workspace: facts,
    grants: { network: options.network ?? 'off' },
    roots: options.roots ?? [],
    scratchBytes: 64 * 1024 * 1024,
    digest: (text) => createHash('sha256').update(text).digest('hex'),
  });
  const quarantine = temporary();
  const guard = await openGuard(facts, quarantine.path);
  const egress = options.through ?? new EgressProcess(egressProgram);
  const holder = await withBridge(egress, box.holder, (files) =>
    openNamespace(box.holder, undefined, null, files),
  );
  await holder.bounded;
  await holder.bridge?.begin(egressExec, { ...noEgress, ...options.egress });
  const env = { HOME: host.home, PATH: host.path, ...gitIdentity };
  return {
    host,
    facts,
    box,
    ...(holder.bridge === undefined ? {} : { bridge: holder.bridge }),
    run: async (command, given = {}) => {
      const cwd = given.cwd ?? root ?? '/tmp';
      const answer = await runIn(holder, box, command, {
        ...given,
        cwd,
        env: { ...env, ...given.env },
      });
      return { ...answer, reverted: await guard.revert() };
    },
    [Symbol.asyncDispose]: () => {
      holder.close();
      if (options.through === undefined) egress.close();
      quarantine[Symbol.dispose]();
      return Promise.resolve();
    },
  };
}

export const egressProgram = path.join(import.meta.dirname, '../../src/egress/main.ts');
/** The command whose rules hold in a bridged box. */
export const egressExec = 'x-00000000000000000000000000000001';
const noEgress: EgressRules = { mode: 'hosts', allow: [], deny: [], private: [], connect: {} };

const gitIdentity = {
  GIT_AUTHOR_NAME: 'n',
  GIT_AUTHOR_EMAIL: 'a@b',
  GIT_COMMITTER_NAME: 'n',
  GIT_COMMITTER_EMAIL: 'a@b',
} as const;

/** Pid 1 of the box: keeps the shell's exit code and ends everything with it. */
const shim = 'exec 6<&-; cd "$1" || exit 125; shift; "$@"; exit $?';
/** The command arrives on a socket, which can be read but not opened by name. */
const boot = 'IFS= read -r -d "" -u 7 REPLY; exec 7<&-; eval "$REPLY"';

/** Runs `command` with bash in the open holder of `box`. */
export function runIn(
  holder: OpenNamespace,
  box: BubblewrapBox,
  command: string,
  options: RunOptions = {},
): Promise<Answer> {
  const variables = Object.entries(options.env ?? {}).map(([name, value]) => `${name}=${value}`);
  const inside = [options.cwd ?? '/tmp', '/usr/bin/env', '-i', 'PATH=/usr/bin:/bin', ...variables];
  const bash = ['/bin/bash', '--norc', '--noprofile', '-c', boot, 'bash'];
  const shell = ['/bin/sh', '-c', shim, 'sh', ...inside, ...bash];
  const sandbox = [box.holder.tools.bwrap, ...box.args, '--', ...shell];
  const [file = '', ...args] = holder.entering(sandbox, [0, 1, 2, 6, 7]);
  const child = spawn(file, args, {
    env: helperEnvironment,
    stdio: ['pipe', 'pipe', 'pipe', 'ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
  });
  const pipes: readonly unknown[] = child.stdio;
  feed(pipes[6], Buffer.from(box.seccomp, 'base64'));
  feed(pipes[7], Buffer.from(command));
  feed(pipes[0], Buffer.from(options.stdin ?? ''));
  return new Promise((resolve, reject) => {
    let stdout = '';
    let stderr = '';
    child.stdout?.on('data', (bytes: Buffer) => (stdout += bytes.toString('utf8')));
    child.stderr?.on('data', (bytes: Buffer) => (stderr += bytes.toString('utf8')));
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, stdout, stderr }));
  });
}

function feed(pipe: unknown, bytes: Uint8Array): void {
  if (!isWritable(pipe)) return;
  pipe.on('error', () => undefined);
  pipe.end(bytes);
}

function isWritable(value: unknown): value is NodeJS.WritableStream {
  return typeof value === 'object' && value !== null && 'end' in value && 'on' in value;
}
