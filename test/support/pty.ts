/** The command line at a terminal of its own, as a person uses it. */
import { createRequire } from 'node:module';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';

const root = path.dirname(path.dirname(import.meta.dirname));
const trl = path.join(root, 'trl');
const waitMs = 120_000;

interface Pty {
  onData(listener: (text: string) => void): unknown;
  onExit(listener: (end: { exitCode: number; signal?: number }) => void): unknown;
  write(text: string): void;
  kill(signal?: string): void;
  readonly pid: number;
}
interface PtyModule {
  spawn(file: string, args: readonly string[], options: object): Pty;
}

/** The package that gives terminals, or why there is none. */
function load(): PtyModule | string {
  try {
    const found: PtyModule = createRequire(import.meta.url)('@lydell/node-pty');
    return found;
  } catch (error) {
    return `there is no @lydell/node-pty: ${String(error)}`;
  }
}

const pty = load();
/** Why tests at a terminal cannot run here, or `false`. */
export const whyNoTerminal = typeof pty === 'string' ? pty : false;

export interface Person extends Disposable {
  /** Waits until `text` was shown after what was last waited for. */
  sees(text: string): Promise<void>;
  types(text: string): void;
  /** Everything shown so far, without control sequences. */
  shown(): string;
  /** As the terminal got it. */
  raw(): string;
  /** Of the program at the terminal. */
  readonly pid: number;
  /** The exit code of the program. */
  left(): Promise<number>;
}

/** Starts `trl` with `args` (or `file`) at a terminal. */
export function person(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  { file = trl, columns = 100 }: { file?: string; columns?: number } = {},
): Person {
  if (typeof pty === 'string') throw new Error(pty);
  const child = pty.spawn(file, args, {
    cols: columns,
    rows: 40,
    env: { ...process.env, ...env, TERM: 'xterm' },
  });
  let text = '';
  let raw = '';
  let at = 0;
  let wake = (): void => {};
  let code: number | null = null;
  child.onData((more) => {
    raw += more;
    text = stripVTControlCharacters(text + more).replaceAll('\r', '');
    wake();
  });
  child.onExit(({ exitCode, signal }) => {
    code = signal !== undefined && signal > 0 ? 128 + signal : exitCode;
    wake();
  });
  const until = async (done: () => boolean, what: string): Promise<void> => {
    const late = setTimeout(() => wake(), waitMs);
    const begun = performance.now();
    while (!done()) {
      if (performance.now() - begun >= waitMs) throw new Error(`no ${what} in:\n${text}`);
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    clearTimeout(late);
  };
  return {
    sees: async (wanted) => {
      const found = (): number => text.indexOf(wanted, at);
      await until(() => found() !== -1 || code !== null, JSON.stringify(wanted));
      if (found() === -1) throw new Error(`it left without ${JSON.stringify(wanted)}:\n${text}`);
      at = found() + wanted.length;
    },
    types: (keys) => child.write(keys),
    shown: () => text,
    raw: () => raw,
    pid: child.pid,
    left: async () => {
      await until(() => code !== null, 'end');
      return code ?? -1;
    },
    [Symbol.dispose]: () => {
      if (code === null) child.kill('SIGKILL');
    },
  };
}

/** Sets a first passphrase at a terminal; answers the exit code. */
export async function enroll(
  phrase: string,
  env: Readonly<Record<string, string>>,
): Promise<number> {
  using enrolling = person(['approvals', 'enroll'], env);
  await enrolling.sees('New passphrase');
  enrolling.types(`${phrase}\r`);
  await enrolling.sees('again');
  enrolling.types(`${phrase}\r`);
  return await enrolling.left();
}
