/** `trl mcp status`: which programs have this runtime's tools, and whether they answer. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fieldOf } from '../json-shape.ts';
import { LineReader } from '../protocol/lines.ts';
import type { CliArguments } from './args.ts';
import { readMcpConfigFile } from './config-file.ts';
import { CannotEditError } from './config-json.ts';
import { editableClients, mcpScopes } from './mcp-clients.ts';
import type { McpEntry } from './mcp-clients.ts';
import { findMcpEntry, mcpTargetFor, parseMcpEntry, readServerName } from './mcp-install.ts';
import type { McpTarget } from './mcp-install.ts';
import { isOwnArguments, isOwnProgram } from './own-program.ts';
import { printJson, printTable } from './print.ts';

/** What is found in one place. */
interface McpStatus {
  readonly client: string;
  readonly scope: string;
  readonly file: string;
  /** `null`: unknown. */
  readonly installed: boolean | null;
  readonly command: readonly string[] | null;
  /** How many tools the server has; `null`: it was not asked, or did not answer. */
  readonly tools: number | null;
  /** Why something is not known, one clause; `null`: nothing is wrong. */
  readonly problem: string | null;
}

const answerMs = 20_000;
const lineBytesMax = 4 * 1024 * 1024;

/** Exit code 0; 1 when one that is installed does not answer. */
export async function runMcpStatus(args: CliArguments): Promise<number> {
  const clients = args.oneOf('client', editableClients);
  const scope = args.oneOf('scope', mcpScopes);
  const name = readServerName(args);
  const targets = (clients === undefined ? editableClients : [clients]).flatMap((client) =>
    (scope === undefined ? mcpScopes : [scope]).map((one) => mcpTargetFor(client, one, name)),
  );
  const found = await statusOf(targets);
  if (args.has('json')) printJson({ clients: found });
  else show(found);
  return found.some(({ installed, problem }) => installed === true && problem !== null) ? 1 : 0;
}

/** Starts identical commands once. */
async function statusOf(targets: readonly McpTarget[]): Promise<McpStatus[]> {
  const asked = new Map<string, Promise<number>>();
  const ask = (entry: McpEntry): Promise<number> => {
    const key = JSON.stringify(entry);
    const before = asked.get(key) ?? countTools(entry);
    asked.set(key, before);
    return before;
  };
  const found: McpStatus[] = [];
  for (const target of targets) found.push(await statusAt(target, ask));
  return found;
}

async function statusAt(
  target: McpTarget,
  ask: (entry: McpEntry) => Promise<number>,
): Promise<McpStatus> {
  const { client, scope, location: place } = target;
  const nothing = { client, scope, file: place.file, command: null, tools: null, problem: null };
  try {
    const value = findMcpEntry(readMcpConfigFile(place.file, target.inside).text, target);
    if (value === undefined) return { ...nothing, installed: false };
    const entry = parseMcpEntry(value);
    if (entry === null) return { ...nothing, installed: false, problem: 'it has no command' };
    const command = [entry.command, ...entry.args];
    // A project's file is the text of others: what it names is not started to see what it does.
    if (!isOwnProgram(entry.command) || !isOwnArguments(entry.args)) {
      const problem = 'it starts another program, which was not asked';
      return { ...nothing, installed: false, command, problem };
    }
    try {
      return { ...nothing, installed: true, command, tools: await ask(entry) };
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      return { ...nothing, installed: true, command, problem };
    }
  } catch (error) {
    if (!(error instanceof CannotEditError)) throw error;
    return { ...nothing, installed: null, problem: error.message };
  }
}

/** Starts the server, shakes hands, and counts its tools. @throws Error that says what is wrong */
async function countTools({ command, args }: McpEntry): Promise<number> {
  const child = spawn(command, [...args], { stdio: ['pipe', 'pipe', 'pipe'] });
  const signal = AbortSignal.timeout(answerMs);
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-2_000);
  });
  child.stdin.on('error', () => {});
  const ended = once(child, 'close').catch(() => []);
  try {
    await once(child, 'spawn', { signal });
    return await shakeHands(child, signal);
  } catch (error) {
    const last = complaint.trim().split('\n').at(-1) ?? '';
    const why = signal.aborted ? `it does not answer within ${answerMs / 1_000} s` : String(error);
    throw new Error(last === '' ? why : last, { cause: error });
  } finally {
    child.stdin.end();
    const kill = setTimeout(() => child.kill('SIGKILL'), 2_000);
    await ended;
    clearTimeout(kill);
  }
}

async function shakeHands(child: ChildProcess, signal: AbortSignal): Promise<number> {
  const send = (message: object): void => {
    child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  };
  const clientInfo = { name: 'trl-status', version: '0' };
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
  send({ id: 1, method: 'initialize', params });
  for await (const message of messagesOf(child, signal)) {
    const id = fieldOf(message, 'id');
    const result = fieldOf(message, 'result');
    if (id === 1 && typeof result === 'object') {
      send({ method: 'notifications/initialized' });
      send({ id: 2, method: 'tools/list', params: {} });
    } else if (id === 2 && typeof result === 'object' && result !== null) {
      const tools = fieldOf(result, 'tools');
      return Array.isArray(tools) ? tools.length : 0;
    } else if (id === 1 || id === 2) {
      throw new Error('it answers with an error');
    }
  }
  throw new Error('it ended without an answer');
}

async function* messagesOf(child: ChildProcess, signal: AbortSignal): AsyncGenerator<object> {
  const reader = new LineReader(lineBytesMax);
  if (child.stdout === null) return;
  const abort = (): void => void child.kill('SIGKILL');
  signal.addEventListener('abort', abort);
  try {
    for await (const chunk of child.stdout) {
      reader.feed(Buffer.from(chunk));
      for (let line = reader.take(); line !== null; line = reader.take()) {
        if (line.kind === 'long') throw new Error('it says a line that is too long');
        const value: unknown = JSON.parse(Buffer.from(line.bytes).toString('utf8'));
        if (typeof value === 'object' && value !== null) yield value;
      }
    }
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

function show(found: readonly McpStatus[]): void {
  const rows = found.map(({ client, scope, file, installed, tools, problem }) => {
    const state = installed === null ? 'unknown' : installed ? 'yes' : 'no';
    const answers = tools === null ? '' : `${tools} tools`;
    return [client, scope, state, problem ?? answers, file];
  });
  printTable(['CLIENT', 'SCOPE', 'INSTALLED', 'ANSWERS', 'FILE'], rows);
}
