/** A runtime that answers what a test says, so that the command line can be looked at alone. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { ChangeView } from '../../src/client/index.ts';
import { surroundings } from './daemon.ts';

const trl = path.join(path.dirname(path.dirname(import.meta.dirname)), 'trl');
export const exec = `x-${'1'.repeat(32)}` as const;
export const session = `s-${'2'.repeat(32)}` as const;
export const trees = [`tree:sha256:${'a'.repeat(64)}`, `tree:sha256:${'b'.repeat(64)}`] as const;

/** Answers by method; a function is called for one. An `end` in it ends the stream it opens. */
export type Script = Readonly<Record<string, object | (() => object)>>;
export interface Asked {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}
export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly asked: readonly Asked[];
}

export class Scripted implements AsyncDisposable {
  readonly home = realpathSync(mkdtempSync(path.join(tmpdir(), 'trl-scripted-')));
  /** Where the command line is run, with a directory `sub` in it. */
  readonly work = path.join(this.home, 'work');
  #script: Script = {};
  #asked: Asked[] = [];
  readonly #server = createServer((socket) => {
    let text = '';
    socket.on('error', () => {});
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      const lines = text.split('\n');
      text = lines.pop() ?? '';
      for (const line of lines) {
        for (const reply of this.#replies(JSON.parse(line))) {
          socket.write(`${JSON.stringify(reply)}\n`);
        }
      }
    });
  });

  static async open(): Promise<Scripted> {
    const scripted = new Scripted();
    mkdirSync(path.join(scripted.work, 'sub'), { recursive: true });
    scripted.#server.listen(path.join(scripted.home, 'trl.sock'));
    await once(scripted.#server, 'listening');
    return scripted;
  }

  /** Runs `./trl` against the script; answers what it said, and what it asked for. */
  async run(
    script: Script,
    args: readonly string[],
    { cwd = this.work, input = '' }: { readonly cwd?: string; readonly input?: string } = {},
  ): Promise<Ran> {
    this.#script = script;
    this.#asked = [];
    const socket = { TRL_SOCKET_PATH: path.join(this.home, 'trl.sock') };
    const child = spawn(trl, args, {
      cwd,
      env: { ...process.env, ...surroundings(this.home), ...socket },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    child.stdin.on('error', () => {}).end(input);
    let [stdout, stderr] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    const [code] = await once(child, 'close');
    return { code, stdout, stderr, asked: this.#asked };
  }

  #replies({ id, method, params }: Asked & { readonly id: string }): object[] {
    if (method === 'system.hello') {
      const data = { version: '0', protocol: 'trl/2', features: [], frames: 'lines' };
      return [{ id, ok: true, data }];
    }
    // Each command says where it works before it does anything.
    if (method === 'workspace.trust') return [{ id, ok: true, data: { ...params, is_new: false } }];
    this.#asked.push({ method, params });
    const answer = this.#script[method];
    const data = typeof answer === 'function' ? answer() : answer;
    if (data === undefined) {
      const error = { code: 'INVALID_PARAMS', message: `nothing is scripted for ${method}` };
      return [{ id, ok: false, error }];
    }
    const reply = { id, ok: true, data };
    if (!('end' in data)) return [reply];
    return [reply, { stream_id: exec, seq: 0, stream: 'exit', ...Object(data.end) }];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    rmSync(this.home, { recursive: true, force: true });
    await once(this.#server, 'close');
  }
}

export const change = (name: string, more: Partial<ChangeView> = {}): ChangeView => ({
  path: name,
  kind: 'modified',
  before: { type: 'file', mode: '0644', size: 1, sha256: null },
  after: { type: 'file', mode: '0644', size: 2, sha256: null },
  marks: [],
  state: 'applied',
  reason: null,
  concurrent_with: [],
  kept_as: null,
  ...more,
});
