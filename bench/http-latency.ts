/**
 * One command, `true`, over each door of one daemon, beside a plain `node:http` server that runs it
 * by `child_process.exec` without any protection. `npm run bench:http-latency -- [ROUNDS]`
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectByUrl } from '../src/client/connect.ts';
import { connectLocal } from '../src/local/index.ts';
import { data, mainToken, startHttp } from '../test/support/http.ts';
import { callOf, mcpClient, nobody, stdioOf } from '../test/support/mcp.ts';
import { rowHead, rowLine } from './report.ts';
import { roundRobin } from './stats.ts';
import type { Contender } from './stats.ts';

const [rounds = 200] = process.argv.slice(2).map(Number);
/** An agent thinks in between; meanwhile the next sandbox is made ready. */
const pauseMs = 100;
const rawName = 'exec behind node:http';
/** What a server weighs that has a model's client and its documents in it: a spawn costs more. */
const largeMiB = 600;

await using daemon = await startHttp();
const serverFile = path.join(daemon.home, 'server.mjs');
writeFileSync(serverFile, rawServer());
// Node's standard input is a socket, from which Debian's bash takes itself for a remote one and
// reads ~/.bashrc: in a home of its own there is none, so that a bare shell is measured.
const bare = { ...process.env, HOME: daemon.home, WORK: daemon.root };
const servers = [0, largeMiB].map((mebibytes) =>
  fork(serverFile, { env: { ...bare, BALLAST: String(mebibytes) } }),
);
const ports: number[] = await Promise.all(
  servers.map(async (server) => Number((await once(server, 'message'))[0])),
);
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

/** The server that a person would write: no session, no sandbox, no record. */
function rawServer(): string {
  return `import { exec } from 'node:child_process';
import { createServer } from 'node:http';
const shell = '/bin/bash';
const mebibytes = Number(process.env.BALLAST);
globalThis.ballast = Array.from({ length: mebibytes }, () => Buffer.alloc(2 ** 20, 1));
const server = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8').on('data', (piece) => { body += piece; }).on('end', () => {
    exec(JSON.parse(body).command, { cwd: process.env.WORK, shell }, (error, stdout, stderr) => {
      response.setHeader('Content-Type', 'application/json');
      response.end(JSON.stringify({ exit_code: error?.code ?? 0, stdout, stderr }));
    });
  });
});
server.listen(0, '127.0.0.1', () => process.send(server.address().port));
`;
}

/** POSTs a command on a connection that is kept.  @throws Error unless it ended with 0 */
async function post(port: number, target: string, session = ''): Promise<void> {
  const headers = { Authorization: `Bearer ${mainToken}`, 'Content-Type': 'application/json' };
  const place = { host: '127.0.0.1', port, path: target, method: 'POST' };
  const asked = request({ ...place, agent, headers });
  asked.end(JSON.stringify({ command: 'true' }));
  const [response] = await once(asked, 'response');
  let text = '';
  for await (const piece of response.setEncoding('utf8')) text += piece;
  checked(JSON.parse(text).exit_code, `${target} ${session}`);
}

function checked(code: unknown, where: string): void {
  if (code !== 0) throw new Error(`${where}: the command ended with ${String(code)}`);
}

const local = await connectLocal({ socketPath: daemon.socketPath });
const remote = await connectByUrl({ url: daemon.origin, token: mainToken });
const mcp = mcpClient('2026-07-28', nobody());
await mcp.connect(stdioOf(daemon));
const own = { shell: '/bin/bash', working_dir: daemon.root } as const;
const [overSocket, overWebSocket] = [
  await local.createSession(own),
  await remote.createSession(own),
];
const { session_id: overHttp } = await data(daemon, '/v1/sessions', { body: own });

const contenders: readonly Contender[] = [
  { name: rawName, run: () => post(ports[0] ?? 0, '/') },
  { name: `the same of ${largeMiB} MiB`, run: () => post(ports[1] ?? 0, '/') },
  {
    name: 'Unix socket',
    run: async () => checked((await overSocket.run('true')).exit_code, 'the socket'),
  },
  {
    name: 'HTTP',
    run: () => post(daemon.port, `/v1/sessions/${overHttp}/execs`),
  },
  {
    name: 'WebSocket',
    run: async () => checked((await overWebSocket.run('true')).exit_code, 'the WebSocket'),
  },
  {
    name: 'MCP on stdio',
    run: async () => checked((await callOf(mcp, 'terminal', { command: 'pwd' })).exit_code, 'MCP'),
  },
];
const figures = await roundRobin(
  contenders.map((one) => ({ ...one, ready: () => sleep(pauseMs) })),
  rounds,
);
const raw = figures.get(rawName);
if (raw === undefined) throw new Error('nothing was measured');
console.log(rowHead);
for (const [name, one] of figures) {
  console.log(`${rowLine({ name, ...one, ratio: one.p50 / raw.p50 })}   p99 ${one.p99.toFixed(2)}`);
}
await mcp.close();
await remote.close();
await local.close();
agent.destroy();
for (const server of servers) server.kill();
