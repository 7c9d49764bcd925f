// Commands that break terminals: each is answered truthfully, its session works on afterwards,
// and nothing of it is left when the session is destroyed.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { whyNoBox } from './support/box.ts';
import { startRuntime, type Daemon, type Json } from './support/daemon.ts';
import { isFull } from './support/form.ts';
import {
  descendantsOf,
  noneLeft,
  processesInNetwork,
  processesNamed,
  processesWith,
  runnerPid,
  type Found,
} from './support/processes.ts';
import { openSession, type TestSession } from './support/session.ts';

interface Row {
  readonly id: string;
  readonly command?: string;
  readonly command_template?: { prefix: string; repeat: string; times: number; suffix: string };
  readonly timeout_ms?: number;
  readonly only?: readonly string[];
  readonly expect: Readonly<Record<string, Json>>;
  /** In place of the same keys in `npm test`, where the whole takes long. */
  readonly short?: Partial<Row>;
}

const fixture = path.join(import.meta.dirname, 'fixtures/nasty.json');
const listed: readonly Row[] = JSON.parse(readFileSync(fixture, 'utf8')).cases;
const rows = listed.map((row): Row => (isFull ? row : { ...row, ...row.short }));
const ways = [
  { shell: 'bash', sandbox: 'bubblewrap' },
  { shell: 'sh', sandbox: 'bubblewrap' },
  { shell: 'zsh', sandbox: 'bubblewrap' },
  { shell: 'bash', sandbox: 'none' },
] as const;
type Way = (typeof ways)[number];

/** All in `npm run prove`; else bash in a sandbox and, unless that says it, another by turns. */
function waysOf(row: Row, at: number): readonly Way[] {
  const fitting = ways.filter(({ shell }) => row.only === undefined || row.only.includes(shell));
  const [first, ...others] = fitting;
  const turn = row.only?.length === 1 ? undefined : others[at % others.length];
  return isFull || first === undefined ? fitting : [first, ...(turn === undefined ? [] : [turn])];
}

let daemon: Daemon;
before(async () => {
  daemon = await startRuntime();
});
after(() => daemon.stop());

test('the list is whole', () => {
  assert.equal(rows.length, 33);
  assert.equal(new Set(rows.map(({ id }) => id)).size, 33);
});

// Rows before shells, so that the few long ones wait side by side.
describe('a nasty command is answered and forgotten', { concurrency: 6 }, () => {
  for (const [at, row] of rows.entries()) {
    for (const way of waysOf(row, at)) {
      const name = `${row.id}: ${way.shell}, sandbox ${way.sandbox}`;
      test(name, { skip: whySkip(way) }, () => judge(row, way));
    }
  }
});

test('no process is left under the runner but the redactor', async () => {
  // What refreshes overlays ends by itself after a while.
  const isCommands = ({ command }: Found): boolean =>
    !command.endsWith('redactor.js') && !command.includes('sub reconfigure');
  const left = await noneLeft(() => descendantsOf(runnerPid(daemon) ?? 0).filter(isCommands));
  assert.deepEqual(left, []);
});

function whySkip({ shell, sandbox }: Way): string | false {
  if (!['/bin', '/usr/bin'].some((place) => existsSync(`${place}/${shell}`))) {
    return `${shell} is not installed`;
  }
  return sandbox === 'none' ? false : whyNoBox;
}

async function judge(row: Row, way: Way): Promise<void> {
  const mark = `${way.shell}-${way.sandbox}-${row.id}`;
  const workspace = path.join(daemon.root, mark);
  mkdirSync(path.join(workspace, 'usr-like-dir'), { recursive: true });
  await using session = await openSession(daemon.socketPath, {
    shell: `/bin/${way.shell}`,
    sandbox: way.sandbox,
    working_dir: workspace,
    env: { NASTY_MARK: mark },
  });
  const begun = await session.run('cd usr-like-dir; export KEEP=1; readlink /proc/self/ns/net');
  assert.equal(begun.exit_code, 0);
  const network = begun.stdout.trim();
  const ours = () => [
    ...(way.sandbox === 'none' ? [] : processesInNetwork(network)),
    ...processesWith(`NASTY_MARK=${mark}`),
  ];
  const command = row.command ?? expand(row.command_template);
  const receipt = await session.run(command, {
    timeout_ms: row.timeout_ms ?? 60_000,
    output_bytes: 64 * 2 ** 20,
  });
  meets(receipt, row.expect);
  if (row.expect['none_left'] !== undefined) {
    const pattern = new RegExp(row.expect['none_left']);
    const left = await noneLeft(() => {
      const own = new Set(ours().map(({ pid }) => pid));
      return processesNamed(pattern).filter(({ pid }) => own.has(pid));
    });
    assert.deepEqual(left, []);
  }
  await usable(session, path.join(workspace, 'usr-like-dir'), row.id);
  await session.destroy();
  assert.deepEqual(await noneLeft(ours), []);
}

/** Kept values, a working PATH and the directory, as before the nasty command. */
async function usable(session: TestSession, cwd: string, id: string): Promise<void> {
  const next = await session.run('echo $KEEP; ls -d /; pwd');
  const wanted = id === 'deleted-cwd' ? '1\n/\n' : `1\n/\n${cwd}\n`;
  assert.ok(next.stdout.startsWith(wanted), `afterwards: ${JSON.stringify(next)}`);
  assert.equal(next.exit_code, 0);
}

function meets(receipt: Json, expect: Row['expect']): void {
  const told = JSON.stringify({ ...receipt, stdout: receipt.stdout.slice(0, 200) });
  const { stdout_base64: bytes } = receipt;
  const stdout = Buffer.from(bytes ?? receipt.stdout, bytes === undefined ? 'utf8' : 'base64');
  const text = stdout.toString('utf8');
  const checks: Readonly<Record<string, (wanted: Json) => boolean>> = {
    exit: (wanted) =>
      wanted === 'nonzero' ? receipt.exit_code !== 0 : receipt.exit_code === wanted,
    stdout_has: (wanted) => [wanted].flat().every((part: string) => text.includes(part)),
    stdout_lacks: (wanted) => !text.includes(wanted),
    stdout_is: (wanted) => text === wanted,
    stderr_is: (wanted) => receipt.stderr === wanted,
    stdout_hex: (wanted) => stdout.toString('hex') === wanted,
    stdout_bytes: (wanted) => receipt.stdout_bytes === wanted && stdout.length === wanted,
    timed_out: (wanted) => receipt.timed_out === wanted,
    none_left: () => true,
  };
  for (const [name, wanted] of Object.entries(expect)) {
    const check = checks[name];
    assert.ok(check !== undefined, `the list asks for ${name}`);
    assert.ok(check(wanted), `${name} ${JSON.stringify(wanted)}: ${told}`);
  }
  assert.equal(receipt.timed_out, expect['timed_out'] ?? false, told);
  if (receipt.timed_out) assert.equal(receipt.exit_code, 124, told);
}

function expand(template: Row['command_template']): string {
  if (template === undefined) throw new Error('a row has a command or a template');
  const { prefix, repeat, times, suffix } = template;
  return `${prefix}${repeat.repeat(times)}${suffix}`;
}
