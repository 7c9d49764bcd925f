/**
 * npm run bench:workday
 *
 * An agent's everyday commands through the official MCP client and `trl mcp` as it is installed,
 * and the same by a bare shell in a copy of the project. Printed: what was asked or blocked and by
 * which rule, whose answer differs from the bare one, and the time of both.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { commands, project } from './workday-commands.ts';

interface Answer {
  readonly status: string;
  readonly exit: number | null;
  readonly stdout: string;
  readonly ms: number;
  /** Why it was not run. */
  readonly why: string;
}

const place = realpathSync(mkdtempSync(path.join(tmpdir(), 'trl-workday-')));
const [inside, bare, home] = ['inside', 'bare', 'home'].map((name) => path.join(place, name));
if (inside === undefined || bare === undefined || home === undefined) throw new Error('no place');
try {
  for (const dir of [inside, bare]) {
    mkdirSync(path.join(dir, 'day'), { recursive: true });
    execFileSync('bash', ['-c', project], { cwd: path.join(dir, 'day'), env: surroundings() });
  }
  mkdirSync(home);
  const raw = bareDay(path.join(bare, 'day'));
  const own = await protectedDay(path.join(inside, 'day'));
  report(raw, own);
} finally {
  rmSync(place, { recursive: true, force: true });
}

function surroundings(): Record<string, string> {
  return { PATH: process.env['PATH'] ?? '/usr/bin:/bin', HOME: home ?? '/', LANG: 'C.UTF-8' };
}

/** One bash that keeps directory and variables, as a session does, a command after the other. */
function bareDay(cwd: string): Answer[] {
  let state = `cd '${cwd}'`;
  const kept = path.join(place, 'state');
  return commands.map((command) => {
    const keep = `declare -px >${kept}; echo "cd \\"$PWD\\"" >>${kept}`;
    const script = `${state}\n trap '${keep}' EXIT\n${command}`;
    const begun = performance.now();
    const { status, stdout } = spawnSync('bash', ['-c', script], {
      cwd,
      env: surroundings(),
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const ms = performance.now() - begun;
    state = `. '${kept}'`;
    return { status: 'exited', exit: status, stdout, ms, why: '' };
  });
}

async function protectedDay(cwd: string): Promise<Answer[]> {
  const client = new Client({ name: 'workday', version: '1' });
  const env = { ...surroundings(), XDG_STATE_HOME: path.join(home ?? '/', 'state') };
  const command = path.join(import.meta.dirname, '../trl');
  await client.connect(new StdioClientTransport({ command, args: ['mcp'], cwd, env }));
  const answers: Answer[] = [];
  for (const text of commands) {
    const begun = performance.now();
    const said = await client.callTool({ name: 'terminal', arguments: { command: text } });
    const ms = performance.now() - begun;
    const found: unknown = said.structuredContent;
    const data: Record<string, unknown> = typeof found === 'object' ? { ...found } : {};
    const { status, exit_code: exit, stdout, error } = data;
    answers.push({
      status: error === undefined ? String(status) : 'refused',
      exit: typeof exit === 'number' ? exit : null,
      stdout: typeof stdout === 'string' ? stdout : '',
      ms,
      why: JSON.stringify(error ?? data['approval'] ?? ''),
    });
  }
  await client.close();
  return answers;
}

function report(raw: readonly Answer[], own: readonly Answer[]): void {
  let [asked, blocked, wrong] = [0, 0, 0];
  for (const [at, command] of commands.entries()) {
    const [one, other] = [raw[at], own[at]];
    if (one === undefined || other === undefined) throw new Error('one is missing');
    const isSame = one.exit === other.exit && one.stdout === other.stdout;
    if (other.status === 'waiting') asked += 1;
    else if (other.status === 'refused') blocked += 1;
    else if (!isSame) wrong += 1;
    else continue;
    const shown = [command.split('\n')[0], other.status, other.why.slice(0, 300)];
    process.stdout.write(`${shown.join(' | ')}\n`);
    if (other.status === 'exited') {
      const sides = [one, other].map(({ exit, stdout }) => [exit, stdout.slice(0, 120)]);
      process.stdout.write(`  bare, ours: ${JSON.stringify(sides)}\n`);
    }
  }
  const [rawMs, ownMs] = [raw, own].map((all) => all.reduce((sum, { ms }) => sum + ms, 0));
  process.stdout.write(
    `${commands.length} commands: ${asked} asked, ${blocked} blocked, ` +
      `${wrong} answered otherwise; ${((ownMs ?? 0) / 1e3).toFixed(1)} s, ` +
      `${((ownMs ?? 0) / (rawMs ?? 1)).toFixed(2)} × bare\n`,
  );
}
