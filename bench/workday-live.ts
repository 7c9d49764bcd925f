/** What goes on while an agent does something else: a server, a watcher, an interpreter. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@modelcontextprotocol/client';

export interface Step {
  readonly name: string;
  /** How many calls of tools it makes. */
  readonly calls: number;
  /** What is wrong; `null`: nothing. */
  run(agent: Client): Promise<string | null>;
}

async function call(agent: Client, name: string, args: Record<string, unknown>) {
  const said = await agent.callTool({ name, arguments: args }, { timeout: 120_000 });
  const found: unknown = said.structuredContent;
  const data: Record<string, unknown> = typeof found === 'object' ? { ...found } : {};
  return data;
}

async function started(agent: Client, command: string): Promise<string> {
  const data = await call(agent, 'terminal', { command, background: true });
  return String(data['exec_id']);
}

const has = (data: Record<string, unknown>, text: string): string | null =>
  JSON.stringify(data).includes(text) ? null : JSON.stringify(data).slice(0, 300);

/** Until its output has the text; at most half a minute. */
async function prints(agent: Client, exec: string, text: string): Promise<string | null> {
  let last: Record<string, unknown> = {};
  for (const begun = Date.now(); Date.now() - begun < 30_000; await sleep(100)) {
    last = await call(agent, 'terminal_output', { exec_id: exec, from: 0 });
    if (has(last, text) === null) return null;
  }
  return has(last, text);
}

const server = `require("http").createServer((_, r) => r.end("served")).listen(8123)`;

export const live: readonly Step[] = [
  {
    name: 'a server, asked by another command',
    calls: 3,
    run: async (agent) => {
      const exec = await started(agent, `node -e '${server}'`);
      const url = 'http://127.0.0.1:8123';
      const command = `for i in $(seq 50); do curl -s ${url} && break; sleep 0.1; done`;
      const said = has(await call(agent, 'terminal', { command }), 'served');
      await call(agent, 'terminal_stop', { exec_id: exec });
      return said;
    },
  },
  {
    name: 'a watcher that hears an edit',
    calls: 4,
    run: async (agent) => {
      await call(agent, 'terminal', { command: `echo 'console.log("first")' >watched.mjs` });
      const exec = await started(agent, 'node --watch watched.mjs');
      const first = await prints(agent, exec, 'first');
      await call(agent, 'terminal', { command: `echo 'console.log("second")' >watched.mjs` });
      const second = await prints(agent, exec, 'second');
      await call(agent, 'terminal_stop', { exec_id: exec });
      await call(agent, 'terminal', { command: 'rm watched.mjs' });
      return first ?? second;
    },
  },
  {
    name: 'an interpreter that is typed into',
    calls: 4,
    run: async (agent) => {
      const exec = await started(agent, 'python3 -i -q');
      await call(agent, 'terminal_input', { exec_id: exec, data: 'print(6 * 7)\n' });
      const said = await prints(agent, exec, '42');
      await call(agent, 'terminal_input', { exec_id: exec, data: '', eof: true });
      return said;
    },
  },
];
