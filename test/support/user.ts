/** A user with places of their own, where the runtime is started by whoever needs it first. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { surroundings, type Json } from './daemon.ts';
import { mcpClient, nobody, type Person } from './mcp.ts';

const trl = path.join(path.dirname(path.dirname(import.meta.dirname)), 'trl');

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export class User implements AsyncDisposable {
  readonly base = realpathSync(mkdtempSync(path.join(tmpdir(), 'trl-user-')));
  /** For each of the user's programs. */
  readonly env: Readonly<Record<string, string>> = {
    ...surroundings(this.base),
    TRL_START: 'background',
    TRL_POLICY: '',
    HOME: this.directory('home'),
    // It ends by itself, whatever becomes of the test.
    TRL_IDLE_EXIT_MS: '20000',
  };
  readonly project = this.directory('work/app');
  readonly socketPath = path.join(this.base, 'run/trl.sock');

  directory(name: string): string {
    const made = path.join(this.base, name);
    mkdirSync(made, { recursive: true, mode: 0o700 });
    return made;
  }

  /** `trl ARGS…`, in the project. */
  async run(
    args: readonly string[],
    { cwd = this.project, more = {} }: { readonly cwd?: string; readonly more?: object } = {},
  ): Promise<Ran> {
    const child = spawn(trl, args, { cwd, env: { ...process.env, ...this.env, ...more } });
    let [stdout, stderr] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    child.stdin.end();
    const [code] = await once(child, 'close');
    return { code, stdout, stderr };
  }

  /** An agent's program, which starts `trl mcp` as it is installed. */
  async agent(forms: Person = nobody(), own: Readonly<Record<string, string>> = this.env) {
    const client = mcpClient('2025-11-25', forms);
    const all = Object.entries({ ...process.env, ...own });
    const given = all.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
    const env: Record<string, string> = Object.fromEntries(given);
    const options = { command: trl, args: ['mcp'], cwd: this.project, env };
    const transport = new StdioClientTransport({ ...options, stderr: 'inherit' });
    await client.connect(transport);
    return Object.assign(client, {
      serverPid: transport.pid ?? 0,
      [Symbol.asyncDispose]: () => client.close(),
    });
  }

  /** Of the runtime in the background. */
  record(): Json {
    return JSON.parse(readFileSync(path.join(this.base, 'state/trl/daemon.json'), 'utf8'));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.run(['daemon', 'stop']);
    rmSync(this.base, { recursive: true, force: true });
  }
}
