/**
 * npm run bench:workday [-- --project NAME]…
 *
 * An agent's day in six projects, and in a small one that needs no network: each command through
 * the official MCP client and `trl mcp` as it is installed, and the same by a bare shell in a copy.
 * A person answers each question, on the runtime's own socket. Then all of it is ended, and what
 * was fetched is used without the network. Printed: every question with why it was asked, what was
 * blocked, whose answer differs from the bare one, what redaction altered, and the time of both.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { connectLocal } from '../src/local/index.ts';
import { live } from './workday-live.ts';
import { projects, type Project } from './workday-projects.ts';
import { commands as small, project as smallSetup } from './workday-small.ts';

interface Answer {
  readonly exit: number | null;
  readonly stdout: string;
  readonly ms: number;
  /** Why it was not run. */
  readonly refused?: string;
  readonly asked?: string;
  readonly hidden?: number;
}

interface Tally {
  commands: number;
  asked: number;
  blocked: number;
  wrong: number;
  hidden: number;
  rawMs: number;
  ownMs: number;
}

const trl = path.join(import.meta.dirname, '../trl');
const { values } = parseArgs({ options: { project: { type: 'string', multiple: true } } });
const all: readonly Project[] = [
  { name: 'small', needs: [], setup: smallSetup, lines: small, again: [] },
  ...projects,
];
const chosen = all.filter(({ name }) => values.project?.includes(name) ?? true);
const place = realpathSync(mkdtempSync(path.join(tmpdir(), 'trl-workday-')));
const at = (name: string): string => {
  mkdirSync(path.join(place, name), { recursive: true, mode: 0o700 });
  return path.join(place, name);
};
const tally: Tally = {
  commands: 0,
  asked: 0,
  blocked: 0,
  wrong: 0,
  hidden: 0,
  rawMs: 0,
  ownMs: 0,
};
const questions: string[] = [];

/** The tools themselves, where what is on PATH only finds them by a setting in HOME. */
function toolPath(): string {
  const asked = [
    ['rustup', 'which', 'cargo'],
    ['pyenv', 'which', 'python3'],
  ];
  const found = asked.flatMap(([program = '', ...args]) => {
    const { status, stdout } = spawnSync(program, args, { encoding: 'utf8' });
    return status === 0 ? [path.dirname(stdout.trim())] : [];
  });
  return [...found, process.env['PATH'] ?? '/usr/bin:/bin'].join(':');
}

function bare(): Record<string, string> {
  // As behind a gateway with certificates of its own.
  const trust = Object.entries(process.env).flatMap(([name, value]) =>
    value !== undefined && /CERT|CA_BUNDLE|CAINFO/.test(name) ? [[name, value] as const] : [],
  );
  return {
    ...Object.fromEntries(trust),
    PATH: toolPath(),
    HOME: at('bare-home'),
    LANG: 'C.UTF-8',
    NO_UPDATE_NOTIFIER: '1',
  };
}

/** A person's own places, with nothing set: as it is installed. */
function own(): Record<string, string> {
  const dirs = { XDG_STATE_HOME: at('state'), XDG_CONFIG_HOME: at('config') };
  return { ...bare(), ...dirs, HOME: homedir(), XDG_RUNTIME_DIR: at('run'), TRL_START: '' };
}

async function day(project: Project): Promise<void> {
  const { name, needs, setup, lines, again } = project;
  const env = { ...bare(), HOME: homedir() };
  const missing = needs.find((one) => spawnSync('which', [one], { env }).status !== 0);
  if (missing !== undefined) {
    process.stdout.write(`${name}: left out, there is no ${missing}\n`);
    return;
  }
  const [inside, outside] = [at(`inside/${name}`), at(`outside/${name}`)];
  execFileSync('bash', ['-c', setup], { cwd: inside, env, stdio: ['ignore', 'ignore', 'inherit'] });
  execFileSync('cp', ['-a', `${inside}/.`, outside]);
  const before = { ...tally };
  const shell = new BareShell(outside);
  const agent = await agentIn(inside);
  try {
    for (const line of lines) await compare(name, line, shell, agent);
    if (name === 'small') {
      for (const step of live) {
        const problem = await step.run(agent);
        tally.commands += step.calls;
        if (problem === null) continue;
        tally.wrong += 1;
        process.stdout.write(`${name} | ${step.name} | ${problem}\n`);
      }
    }
  } finally {
    await agent.close();
  }
  if (again.length > 0) {
    // All of it ends: what is used again is on disk.
    spawnSync(trl, ['daemon', 'stop'], { env: own() });
    const next = await agentIn(inside);
    try {
      for (const line of again) await compare(`${name}, again`, line, shell, next);
    } finally {
      await next.close();
    }
  }
  sameTree(name, inside, outside);
  const [raw, ours] = [tally.rawMs - before.rawMs, tally.ownMs - before.ownMs];
  const count = tally.commands - before.commands;
  const times = `${(ours / 1e3).toFixed(1)} s, ${(ours / raw).toFixed(2)} × bare`;
  process.stdout.write(`${name}: ${count} commands, ${times}\n`);
}

async function agentIn(cwd: string): Promise<Client> {
  const client = new Client({ name: 'workday', version: '1' });
  const options = { command: trl, args: ['mcp'], cwd, env: own(), stderr: 'ignore' as const };
  await client.connect(new StdioClientTransport(options));
  return client;
}

async function compare(name: string, line: string, shell: BareShell, agent: Client): Promise<void> {
  const [, mark = '', command = ''] = /^(net:|exit:)?(.*)$/s.exec(line) ?? [];
  const one = shell.run(command);
  const other = await protectedRun(agent, command, mark === 'net:');
  tally.commands += 1;
  tally.rawMs += one.ms;
  tally.ownMs += other.ms;
  tally.hidden += other.hidden ?? 0;
  const shown = `${name} | ${command.split('\n')[0] ?? ''}`;
  if (other.asked !== undefined) {
    tally.asked += 1;
    questions.push(`${shown} | ${other.asked}`);
  }
  if (other.refused !== undefined) {
    tally.blocked += 1;
    process.stdout.write(`${shown} | ${other.refused.slice(0, 300)}\n`);
    return;
  }
  const isSame = one.exit === other.exit && (mark === 'exit:' || one.stdout === other.stdout);
  if (isSame && (other.hidden ?? 0) === 0) return;
  if (!isSame) tally.wrong += 1;
  const sides = [one, other].map(({ exit, stdout }) => [exit, stdout.slice(-200)]);
  process.stdout.write(`${shown}\n  bare, ours: ${JSON.stringify(sides)}\n`);
}

/** Bash that keeps directory and variables, as a session does, a command after the other. */
class BareShell {
  readonly #cwd: string;
  readonly #kept: string;
  #state: string;

  constructor(cwd: string) {
    this.#cwd = cwd;
    this.#kept = path.join(at('bare-state'), path.basename(cwd));
    this.#state = `cd '${cwd}'`;
  }

  run(command: string): Answer {
    const kept = this.#kept;
    const keep = `declare -px >${kept}; echo "cd \\"$PWD\\"" >>${kept}`;
    const script = `${this.#state}\n trap '${keep}' EXIT\n${command}`;
    const begun = performance.now();
    const { status, stdout } = spawnSync('bash', ['-c', script], {
      cwd: this.#cwd,
      env: bare(),
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      maxBuffer: 64 * 1024 * 1024,
    });
    this.#state = `. '${kept}'`;
    return { exit: status, stdout, ms: performance.now() - begun };
  }
}

async function protectedRun(agent: Client, command: string, network: boolean): Promise<Answer> {
  const args = { command, timeout: 600, ...(network ? { network } : {}) };
  const begun = performance.now();
  let data = await call(agent, args);
  let asked: string | undefined;
  if (data['status'] === 'waiting') {
    asked = await answered(String(data['approval_id']));
    // Made again, the call follows what it waited for.
    do data = await call(agent, args);
    while (data['status'] === 'waiting' || data['status'] === 'running');
  }
  const ms = performance.now() - begun;
  const { exit_code: exit, stdout, error, redactions } = data;
  const hidden = typeof redactions === 'object' && redactions !== null ? 1 : 0;
  return {
    exit: typeof exit === 'number' ? exit : null,
    stdout: typeof stdout === 'string' ? stdout : '',
    ms,
    hidden,
    ...(asked === undefined ? {} : { asked }),
    ...(error === undefined ? {} : { refused: JSON.stringify(error) }),
  };
}

async function call(agent: Client, args: Record<string, unknown>) {
  const said = await agent.callTool(
    { name: 'terminal', arguments: args },
    { timeout: 900_000, maxTotalTimeout: 900_000 },
  );
  const found: unknown = said.structuredContent;
  const data: Record<string, unknown> = typeof found === 'object' ? { ...found } : {};
  return data;
}

/** The person: yes, for the session where that is offered; answers why it was asked. */
async function answered(id: string): Promise<string> {
  await using person = await connectLocal({ socketPath: path.join(at('run'), 'trl.sock') });
  const { approvals } = await person.call('approval.list', {});
  const view = approvals.find(({ approval_id: one }) => one === id);
  if (view === undefined) return 'it is not there';
  const { approval_id, digest, verdict } = view;
  await person.decide({ approval_id, digest, decision: 'approve' });
  return JSON.stringify(verdict.rules).slice(0, 300);
}

/** Both sides end with the same commits and the same work tree. */
function sameTree(name: string, inside: string, outside: string): void {
  if (!existsSync(path.join(inside, '.git'))) return;
  const script = 'git rev-parse HEAD^{tree} && git status --short && git diff | sha256sum';
  const [one, other] = [inside, outside].map((cwd) =>
    execFileSync('bash', ['-c', script], { cwd, encoding: 'utf8', env: bare() }),
  );
  if (one === other) return;
  tally.wrong += 1;
  process.stdout.write(`${name}: the trees differ\n${one}${other}`);
}

function report(): void {
  const { commands, asked, blocked, wrong, hidden, rawMs, ownMs } = tally;
  process.stdout.write(`\nasked, each with why:\n${questions.join('\n')}\n\n`);
  process.stdout.write(
    `${commands} commands in ${chosen.length} projects: ${asked} asked ` +
      `(${((100 * asked) / commands).toFixed(1)} %), ${blocked} blocked, ${wrong} answered ` +
      `otherwise, ${hidden} altered by redaction; ${(ownMs / 1e3).toFixed(1)} s, ` +
      `${(ownMs / rawMs).toFixed(2)} × bare\n`,
  );
}

try {
  for (const project of chosen) await day(project);
  report();
} finally {
  spawnSync(trl, ['daemon', 'stop'], { env: own() });
  rmSync(place, { recursive: true, force: true });
}
