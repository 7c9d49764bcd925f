/** A reader of the documents: a home with projects in it, a runtime, and a shell to type in. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startRuntime, surroundings } from './daemon.ts';
import type { Daemon } from './daemon.ts';
import { root, stepsOf } from './documents.ts';
import type { Block, Meanings, Step } from './documents.ts';
import { person } from './pty.ts';

/** Ends what a command printed; no program prints it. */
const mark = '\u001e';
/** What a document calls the home of its reader. */
const homeShown = '/home/ada';

export interface ReaderOptions {
  /** Directories of the home that are roots of the runtime. */
  readonly projects: readonly string[];
  /** Files of the home, by name. One that begins with `#!` can be run. */
  readonly files: Readonly<Record<string, string>>;
  /** Files of the configuration's directory. */
  readonly configuration: Readonly<Record<string, string>>;
  /** No command prints one of these. */
  readonly secrets: readonly string[];
  /** Of the runtime alone, and not of the shell. */
  readonly env: Readonly<Record<string, string>>;
}

export interface Typing {
  readonly meanings: Meanings;
  /** A directory of the home. */
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Commands that begin so are given these variables, for a runtime of their own. */
  readonly apart?: readonly [begins: string, env: Readonly<Record<string, string>>];
  /** What is typed at a prompt of the command, which then has a terminal. */
  readonly answers?: Readonly<Record<string, string>>;
}

export class Reader {
  readonly daemon: Daemon;
  readonly origin: string;
  readonly home: string;

  readonly #secrets: readonly string[];

  private constructor(daemon: Daemon, origin: string, secrets: readonly string[]) {
    this.#secrets = secrets;
    this.daemon = daemon;
    this.origin = origin;
    this.home = daemon.root;
  }

  static async start(options: ReaderOptions): Promise<Reader> {
    const roots = options.projects.flatMap((name) => ['--workspace-root', `{root}/${name}`]);
    const daemon = await startRuntime({
      args: ['serve', '--socket-path', '{socket}', ...roots, '--http', '127.0.0.1:0'],
      env: options.env,
      prepare: (home) => {
        for (const name of options.projects) mkdirSync(path.join(home, 'work', name));
        write(path.join(home, 'work'), options.files);
        write(path.join(home, 'config/trl'), options.configuration);
        return { HOME: path.join(home, 'work'), PATH: pathOf(path.join(home, 'work')) };
      },
    });
    for (;;) {
      const origin = /HTTP on (https?:\/\/\S+)/.exec(daemon.log())?.[1];
      if (origin !== undefined) return new Reader(daemon, origin, options.secrets);
      await sleep(10);
    }
  }

  /** Variables of a shell beside the runtime. */
  env(more: Readonly<Record<string, string>> = {}): Record<string, string> {
    return {
      ...surroundings(this.daemon.home),
      LANG: 'C.UTF-8',
      HOME: this.home,
      PATH: pathOf(this.home),
      TRL_POLICY: 'auto',
      TRL_SOCKET_PATH: this.daemon.socketPath,
      ...more,
    };
  }

  /** Types each command of the blocks into one shell and compares what it prints. */
  async reads(shown: readonly Block[], typing: Typing): Promise<void> {
    const cwd = path.join(this.home, typing.cwd);
    const shell = spawn('bash', ['--noprofile', '--norc'], {
      cwd,
      env: this.env(typing.env),
      stdio: ['pipe', 'pipe', 'ignore'],
      detached: true,
    });
    const agents: ChildProcess[] = [];
    try {
      shell.stdin.write('exec 2>&1\n');
      for (const block of shown) {
        for (const step of stepsOf(block)) {
          await this.#types(shell, step, { typing, block, agents });
        }
      }
      for (const agent of agents) {
        if (agent.exitCode === null) await once(agent, 'exit');
        assert.equal(agent.exitCode, 0, 'what the agent typed');
      }
    } finally {
      await Promise.all([shell, ...agents].map((child) => endGroup(child)));
    }
  }

  async #types(
    shell: ChildProcess,
    step: Step,
    at: { typing: Typing; block: Block; agents: ChildProcess[] },
  ): Promise<void> {
    const { typing, block, agents } = at;
    const { meanings } = typing;
    const [begins, own = {}] = typing.apart ?? [];
    const isApart = begins !== undefined && step.command.startsWith(begins);
    const command = `${isApart ? assigned(own) : ''}${meanings.filled(step.command)}`;
    assert.doesNotMatch(command, /…/, `${block.at}: nobody knows what the … stands for`);
    const what = `${block.at}: ${step.command}`;
    const answer = typing.answers?.[step.command.replace(/ +#.*$/, '')];
    if (command.endsWith('# the agent')) {
      // The agent is somewhere else, and waits there.
      const file = path.join(this.daemon.home, 'agent.sh');
      writeFileSync(file, command);
      const agent = spawn('bash', [file], {
        cwd: path.join(this.home, typing.cwd),
        env: this.env(typing.env),
        stdio: 'ignore',
        detached: true,
      });
      agents.push(agent);
      return;
    }
    if (answer === undefined) {
      const { output, code } = await said(shell, command);
      const came = output.replaceAll(this.home, homeShown);
      assert.ok(!this.#secrets.some((secret) => came.includes(secret)), what);
      if (step.output === '') assert.equal(code, 0, `${what}\n${came}`);
      else meanings.compare(step.output, came, what);
      return;
    }
    const there = `cd '${path.join(this.home, typing.cwd)}' && ${command}`;
    using at_ = person(['-c', there], this.env(typing.env), { file: 'bash' });
    await at_.sees(step.output.trimEnd());
    at_.types(`${answer}\n`);
    assert.equal(await at_.left(), 0, `${what}\n${at_.shown()}`);
  }
}

/** Ends a shell with what it runs, if it has not ended. */
async function endGroup(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  process.kill(-child.pid, 'SIGKILL');
  await ended;
}

const assigned = (env: Readonly<Record<string, string>>): string =>
  Object.entries(env)
    .map(([key, value]) => `${key}='${value}' `)
    .join('');

/** What a command of the shell printed, and how it ended. */
async function said(
  { stdin, stdout }: ChildProcess,
  command: string,
): Promise<{ output: string; code: number }> {
  assert.ok(stdin !== null && stdout !== null);
  const text = command.replaceAll("'", String.raw`'\''`);
  stdin.write(`eval '${text}' </dev/null; printf '${mark}%d${mark}' "$?"\n`);
  let output = '';
  await new Promise<void>((resolve, reject) => {
    const ended = (): void => reject(new Error(`the shell ended: ${command}\n${output}`));
    const taken = (piece: string): void => {
      output += piece;
      if (output.split(mark).length < 3) return;
      stdout.off('data', taken).off('end', ended);
      resolve();
    };
    stdout.setEncoding('utf8').on('data', taken).on('end', ended);
  });
  const [printed = '', code] = output.split(mark);
  return { output: printed, code: Number(code) };
}

/** Without what the user who tests has installed for himself: a sandbox of this home shows none. */
function pathOf(home: string): string {
  const given = (process.env['PATH'] ?? '').split(':');
  const system = given.filter((one) => !`${one}/`.startsWith(`${homedir()}/`));
  return [root, path.join(home, 'bin'), ...system].join(':');
}

function write(directory: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(directory, name);
    mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    const isProgram = text.startsWith('#!');
    writeFileSync(file, text, { mode: isProgram ? 0o755 : 0o600 });
  }
}
