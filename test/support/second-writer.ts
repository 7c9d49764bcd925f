/** What another program does in a workspace while a session works in it. */
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import type { Json } from './daemon.ts';
import type { TestSession } from './session.ts';

/** Saves as editors do: a new file under another name takes the place of the old one. */
export function save(dir: string, name: string, text: string): void {
  const file = path.join(dir, name);
  writeFileSync(`${file}.swp`, text);
  renameSync(`${file}.swp`, file);
}

/** Puts another directory of the same name in the place of one. */
export function replaceDirectory(
  dir: string,
  name: string,
  files: Readonly<Record<string, string>>,
): void {
  const directory = path.join(dir, name);
  const made = `${directory}.new`;
  mkdirSync(made);
  for (const [file, text] of Object.entries(files)) writeFileSync(path.join(made, file), text);
  const old = `${directory}.old`;
  renameSync(directory, old);
  renameSync(made, directory);
  rmSync(old, { recursive: true });
}

/** Every file below a directory with its text; `name/` is a directory, a link leads to its text. */
export function filesOf(dir: string): Record<string, string> {
  const names = readdirSync(dir, { recursive: true, withFileTypes: true });
  const found = names.map((entry): [string, string] => {
    const file = path.join(entry.parentPath, entry.name);
    const name = path.relative(dir, file);
    if (entry.isDirectory()) return [`${name}/`, ''];
    return [name, entry.isSymbolicLink() ? readlinkSync(file) : readFileSync(file, 'utf8')];
  });
  return Object.fromEntries(found.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** The same as a session sees it, by a command that changes nothing. */
export async function seenBy(session: TestSession): Promise<Record<string, string>> {
  const list = String.raw`find . -mindepth 1 \( -type d -printf '%P/\n' -o -printf '%P ' \
    -exec base64 -w0 {} \; -printf '\n' \)`;
  const { stdout, changes }: Json = await session.run(list);
  if (changes.length > 0) throw new Error(`looking changed ${JSON.stringify(changes)}`);
  const lines: string[] = String(stdout).split('\n').slice(0, -1);
  const found = lines.map((line): [string, string] => {
    const [name = '', text = ''] = line.split(' ');
    return [name, Buffer.from(text, 'base64').toString('utf8')];
  });
  return Object.fromEntries(found.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** A command that stops at each `pause` until it is let go. */
export interface Paused {
  readonly id: string;
  /** Waits until the command has reached its next pause. */
  reached(): Promise<void>;
  go(): Promise<void>;
  /** Its receipt, when it has ended. */
  ended(): Promise<Json>;
}

/** Starts a command in which `pause` waits for `go`. */
export async function startPaused(
  session: TestSession,
  command: string,
  more: object = {},
): Promise<Paused> {
  const { client } = session;
  const pause = 'pause() { echo reached; read -r _; }';
  const id = await session.start(`${pause}; ${command}`, { stdin_open: true, ...more });
  let from = 0;
  let pending = '';
  const ask = async (method: string, params: object): Promise<Json> => {
    const answer = await client.ask(method, { exec_id: id, ...params });
    if (answer.ok !== true) throw new Error(`${method}: ${JSON.stringify(answer)}`);
    return answer.data;
  };
  return {
    id,
    reached: async () => {
      while (!pending.includes('reached\n')) {
        const read = await ask('exec.read', { from, wait_ms: 1_000 });
        from = read.next;
        for (const { data } of read.chunks) pending += data;
        const isOver = read.state !== 'running' && read.chunks.length === 0;
        if (isOver) throw new Error(`it ended before its pause: ${JSON.stringify(read)}`);
      }
      pending = pending.slice(pending.indexOf('reached\n') + 'reached\n'.length);
    },
    go: () => ask('exec.write', { data: 'go\n' }),
    ended: async () => {
      for (;;) {
        const info = await ask('exec.info', {});
        if (info.state !== 'running') return info.receipt;
        // What it has written since is taken: a read of what is there already does not wait.
        from = (await ask('exec.read', { from, wait_ms: 200 })).next;
      }
    },
  };
}
