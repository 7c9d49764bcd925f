// Records what a client and `trl mcp` say to each other, one line a message, for the two eras:
//   tools/node tools/mcp-recordings.ts [DIRECTORY]
// Handles, times and versions are replaced by what they are.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';

const root = path.dirname(import.meta.dirname);
const clientInfo = { name: 'recorder', version: '1' };
const form = { elicitation: { form: {} } };

interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: Readonly<Record<string, unknown>>;
}

/** What a client sends, each after the answer to the one before; `answer` goes to a question. */
interface Part {
  readonly send: Message;
  readonly answer?: (question: Message) => Message;
}

const run = { name: 'terminal', arguments: { command: 'pwd' } };
const asks = { name: 'terminal_exec', arguments: { command: 'touch made' } };
const approve = { action: 'accept', content: { decision: 'approve' } };

const withHandshake: readonly Part[] = [
  {
    send: {
      id: 0,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: form, clientInfo },
    },
  },
  { send: { method: 'notifications/initialized' } },
  { send: { id: 1, method: 'tools/list', params: {} } },
  { send: { id: 2, method: 'tools/call', params: run } },
  {
    send: { id: 3, method: 'tools/call', params: asks },
    answer: ({ id }) => ({ id: id ?? '', result: approve }),
  },
];

const envelope = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': clientInfo,
  'io.modelcontextprotocol/clientCapabilities': form,
};
const stateless = (id: number, method: string, params: object = {}): Message => ({
  id,
  method,
  params: { ...params, _meta: envelope },
});

const withoutHandshake: readonly Part[] = [
  { send: stateless(0, 'server/discover') },
  { send: stateless(1, 'tools/list') },
  { send: stateless(2, 'tools/call', run) },
  {
    send: stateless(3, 'tools/call', asks),
    answer: ({ result }) => {
      const { requestState } = result ?? {};
      return stateless(4, 'tools/call', {
        ...asks,
        requestState,
        inputResponses: { decision: approve },
      });
    },
  },
];

/** The conversation as lines, in a project and a runtime of its own. */
export async function record(parts: readonly Part[]): Promise<string[]> {
  const home = mkdtempSync(path.join(tmpdir(), 'trl-record-'));
  const project = path.join(home, 'project');
  mkdirSync(project);
  const places = ['RUNTIME_DIR', 'STATE_HOME', 'CONFIG_HOME'].map((name) => {
    const place = path.join(home, name);
    mkdirSync(place, { mode: 0o700 });
    return [`XDG_${name}`, place] as const;
  });
  const child = spawn(path.join(root, 'trl'), ['mcp'], {
    cwd: project,
    env: {
      ...process.env,
      TRL_START: 'private',
      TRL_SOCKET_PATH: '',
      TRL_POLICY: '',
      ...Object.fromEntries(places),
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines: string[] = [];
  const note = (from: 'client' | 'server', message: Message): void => {
    lines.push(normal(JSON.stringify({ from, message }), home));
  };
  const send = (message: Message): void => {
    const whole = { jsonrpc: '2.0', ...message };
    note('client', whole);
    child.stdin.write(`${JSON.stringify(whole)}\n`);
  };
  const input = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<Message> => {
    const { value, done } = await input.next();
    if (done === true) throw new Error('trl mcp ended');
    const message: Message = JSON.parse(value);
    note('server', message);
    return message;
  };
  try {
    for (const { send: message, answer } of parts) {
      send(message);
      if (message.id === undefined) continue;
      const said = await next();
      if (answer === undefined) continue;
      send(answer(said));
      await next();
    }
    child.stdin.end();
    await once(child, 'exit');
    return lines;
  } finally {
    child.kill('SIGKILL');
    rmSync(home, { recursive: true, force: true });
  }
}

/** Without what differs from run to run. */
function normal(text: string, home: string): string {
  return text
    .replaceAll(home, '/HOME')
    .replaceAll(/([sxa])-[0-9a-f]{32}\b/g, '$1-ID')
    .replaceAll(/digest [0-9a-f]{16}/g, 'digest DIGEST')
    .replaceAll(/"requestState":"[^"]+"/g, '"requestState":"SEALED"')
    .replaceAll(/"duration_ms":\d+/g, '"duration_ms":0')
    .replaceAll(/\b\d+ ms\b/g, '0 ms')
    .replaceAll(/"version":"\d+\.\d+\.\d+[^"]*"/g, '"version":"VERSION"')
    .replaceAll(/variables: [^"\\]*/g, 'variables: NAMES')
    .replaceAll(/sandbox (full|partial|none|degraded|\w+)/g, 'sandbox LEVEL')
    .replaceAll(/"notes":\[[^\]]*\]/g, '"notes":[]')
    .replaceAll(/\\n\[note\][^"\\]*/g, '');
}

export const recordings = [
  ['2025-11-25', withHandshake],
  ['2026-07-28', withoutHandshake],
] as const;

if (process.argv[1] === import.meta.filename) {
  const directory = process.argv[2] ?? path.join(root, 'test/fixtures/mcp');
  for (const [era, parts] of recordings) {
    const lines = await record(parts);
    writeFileSync(path.join(directory, `${era}.jsonl`), `${lines.join('\n')}\n`);
    console.log(`${era}: ${lines.length} messages`);
  }
}
