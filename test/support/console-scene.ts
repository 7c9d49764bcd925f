/** A runtime in which something goes on: what the views of the console show of one. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { ApprovalId, ExecId } from '../../src/command.ts';
import type { Client, Session } from '../../src/client/index.ts';
import type { Daemon } from './daemon.ts';

/** Text of an attacker wherever a caller may write text. */
const markup = '<img src=x onerror=alert(1)><script>alert(2)</script>';

export interface Scene {
  readonly session: Session;
  /** Ended with changes. */
  readonly changed: ExecId;
  /** A terminal that runs. */
  readonly terminal: ExecId;
  /** Waits for a person. */
  readonly asked: ApprovalId;
}

const script = [
  'set -eu',
  String.raw`printf '\033[1;32mok\033[0m  12 passed\n\033[31mfail\033[0m 1 of <b>13</b>\n'`,
  String.raw`printf 'export const port = 8080;\nexport const host = "::";\n' > src/config.ts`,
  'rm notes.txt',
  "printf 'export PORT=8080\\n' > .envrc",
  "echo 'warning: 3 files are not formatted' >&2",
].join('\n');

/** Asks the terminal who and where it is, and shows what was typed meanwhile. */
const terminalScript = [
  'read -r a; echo "<$a>"',
  String.raw`printf '\033[6n\033[c\033[5n\033]11;?\007'`,
  'read -r b; echo "got [$b]" | cat -v',
  'read -r c; echo "then $c"',
].join('\n');

/** Needs a runtime with the policy `guarded`, and same-uid approvals. */
export async function playScene(agent: Client, daemon: Daemon): Promise<Scene> {
  const tree = path.join(daemon.root, 'shop');
  mkdirSync(path.join(tree, 'src'), { recursive: true });
  writeFileSync(path.join(tree, 'src/config.ts'), 'export const port = 80;\n');
  writeFileSync(path.join(tree, 'notes.txt'), 'call them back\n');
  const session = await agent.createSession({ name: 'shop', working_dir: tree });
  await session.run('ls -l');
  const changed = await approved(agent, session, script);
  const terminal = await approved(agent, session, terminalScript, {
    pty: { columns: 100, rows: 24 },
    detached: true,
  });
  const evil = await agent.createSession({ name: `${markup}\u202E`, working_dir: tree });
  await evil.run(`echo '${markup}'`).catch(() => {});
  await agent.call('secrets.request', {
    name: 'DEPLOY_TOKEN',
    reason: `To publish the package. ${markup}`,
  });
  const command = `make release TAG=аlpha\u200B 'NOTE=${markup}\u202E' && node tools/announce.js`;
  const asked = await parked(agent, session, command);
  return { session, changed, terminal, asked };
}

/** Asks for `command`, answers the question that it makes. */
async function parked(agent: Client, session: Session, command: string): Promise<ApprovalId> {
  const before = new Set((await agent.approvals()).map(({ approval_id: id }) => id));
  await session.run(command).catch(() => {});
  const found = (await agent.approvals()).find(({ approval_id: id }) => !before.has(id));
  if (found === undefined) throw new Error(`nothing is asked about ${command}`);
  return found.approval_id;
}

interface Approved {
  readonly pty?: { readonly columns: number; readonly rows: number };
  readonly detached?: boolean;
}

async function approved(
  agent: Client,
  session: Session,
  command: string,
  { pty, detached = false }: Approved = {},
): Promise<ExecId> {
  const before = new Set((await agent.approvals()).map(({ approval_id: id }) => id));
  const options = { ...(pty === undefined ? {} : { pty }), stdin_open: pty !== undefined };
  const run = detached ? session.start(command, options) : session.run(command, options);
  await run.catch(() => {});
  const found = (await agent.approvals()).find(({ approval_id: id }) => !before.has(id));
  if (found === undefined) throw new Error(`nothing is asked about ${command}`);
  const { approval_id: approvalId, digest, exec_id: execId } = found;
  await agent.decide({ approval_id: approvalId, digest, decision: 'approve' });
  const stream = agent.attach(execId);
  if (!detached) await stream.drain();
  else await stream[Symbol.asyncDispose]();
  return execId;
}
