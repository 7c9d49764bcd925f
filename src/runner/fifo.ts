/**
 * Pipes between runner and commands are FIFOs. Node's own stdio pipes are sockets, through which
 * `> /dev/stderr` and `. /dev/fd/3` fail; a FIFO opens again by its magic link. The names lie in
 * the runner's 0700 directory, so only a process that was handed the descriptor can use one.
 */
import { execFile } from 'node:child_process';
import { closeSync, constants, openSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { TrlError } from '../errors.ts';

const { O_RDONLY, O_RDWR, O_WRONLY, O_NONBLOCK } = constants;
/** Names made by one `mkfifo` process. */
const batch = 64;
const low = 24;

/** One pipe: `ours` stays with the runner, `theirs` is handed to the command and closed here. */
export interface FifoPipe {
  readonly ours: number;
  readonly theirs: number;
}

export class Fifos {
  readonly #dir: string;
  #free: string[] = [];
  #made = 0;
  #making: Promise<void> | null = null;

  constructor(dir: string) {
    this.#dir = dir;
  }

  /** A pipe that the runner reads; its end never blocks. */
  async reading(): Promise<FifoPipe> {
    const path = await this.#take();
    const ours = openSync(path, O_RDONLY | O_NONBLOCK);
    const theirs = openSync(path, O_WRONLY);
    unlinkSync(path);
    return { ours, theirs };
  }

  /** A pipe that the command reads, blocking; the runner's end never blocks. */
  async writing(): Promise<FifoPipe> {
    const path = await this.#take();
    // Opening both ways first lets the one-way opens below return at once.
    const both = openSync(path, O_RDWR | O_NONBLOCK);
    try {
      const theirs = openSync(path, O_RDONLY);
      const ours = openSync(path, O_WRONLY | O_NONBLOCK);
      return { ours, theirs };
    } finally {
      closeSync(both);
      unlinkSync(path);
    }
  }

  async #take(): Promise<string> {
    if (this.#free.length < low && this.#making === null) {
      this.#making = this.#make().finally(() => {
        this.#making = null;
      });
    }
    let path = this.#free.pop();
    while (path === undefined) {
      await (this.#making ??= this.#make().finally(() => {
        this.#making = null;
      }));
      path = this.#free.pop();
    }
    return path;
  }

  async #make(): Promise<void> {
    const names = Array.from({ length: batch }, () => join(this.#dir, `p${this.#made++}`));
    try {
      // 0666: the command may run under another uid and reopen /dev/stdout by its magic link.
      await promisify(execFile)('mkfifo', ['-m', '666', ...names], {
        env: { PATH: '/usr/bin:/bin' },
      });
    } catch (cause) {
      throw new TrlError('INTERNAL_ERROR', 'Cannot make pipes: mkfifo failed', { cause });
    }
    this.#free.push(...names);
  }
}
