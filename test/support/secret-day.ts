/**
 * A day of use: commands that print secrets in every way, and a search for what is left of them
 * where a runtime keeps, sends or shows anything.
 */
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import path from 'node:path';
import { raw, startRuntime, type Daemon } from './daemon.ts';
import { descendantsOf } from './processes.ts';

/** Shell text that prints the variable `S`, each in another form. */
const ways: readonly string[] = [
  'echo "$S"',
  'echo "token is $S." >&2',
  'printf %s "$S"',
  'printf %s "$S" | base64',
  'printf %s "user:$S" | base64 -w 0',
  'printf %s "$S" | base64 | base64',
  'printf "%s\\n%s\\n" "some lines before it" "$S" | base64',
  'printf %s "$S" | base32',
  'printf %s "$S" | od -An -tx1',
  'printf %s "$S" | od -c',
  'printf %s "$S" | od',
  'printf %s "$S" | rev',
  'printf %s "$S" | tr a-zA-Z n-za-mN-ZA-M',
  'printf %s "$S" | tr a-z A-Z',
  'printf %s "$S" | fold -w 8',
  'printf %s "$S" | fold -w 1',
  'printf %s "$S" | sed "s/./& /g"',
  'printf %s "$S" | gzip | base64',
  'printf %s "$S" | hexdump -C 2>/dev/null || printf %s "$S" | od -An -tx1',
  'set -x; : "$S"; set +x',
  'printf "%q\\n" "$S"',
  'env',
  'export -p',
  'export COPY="$S"; cd /tmp',
  'cat "/nowhere/$S"',
  'mkdir -p "/tmp/$S" && cd "/tmp/$S" && pwd && ls -d "/tmp/$S"',
  'touch "/tmp/f-$S" && ls /tmp',
  'echo "$S" > /tmp/kept; cat /tmp/kept; grep -n . /tmp/kept',
  "python3 -c \"import os,json; print(json.dumps({'v': os.environ['S']}))\"",
  'python3 -c "import os,urllib.parse as u; print(u.quote(os.environ[\'S\'], safe=str()))"',
  "python3 -c \"import os; print(''.join(f'\\\\x{ord(c):02x}' for c in os.environ['S']))\"",
  "python3 -c \"import os; print(os.environ['S'].encode('utf-16'))\"",
  "python3 -c \"import os,sys; sys.stdout.buffer.write(os.environ['S'].encode('utf-16'))\"",
  'for i in 1 2 3; do printf "%s\\r" "$S"; done',
  'printf "\\033[31m%s\\033[0m" "$S"',
  '"$S"',
  'sleep 0.05; echo "$S" | cut -c 1-20',
];

export interface Secret {
  readonly name: string;
  readonly value: string;
}

/** Twenty secrets of different looks, five from each place that a runtime takes them from. */
export function twenty(): Secret[] {
  const drawn = draw();
  // Of two that are digits, a few windows are equal by chance, about once in 500 draws.
  const isDistinct = drawn.every(({ value }) => {
    const digits = Buffer.from(Buffer.from(value).toString('hex'));
    return leaked(digits, drawn).length === 1;
  });
  return isDistinct ? drawn : twenty();
}

function draw(): Secret[] {
  return Array.from({ length: 20 }, (_, n) => {
    const bytes = randomBytes(15 + n);
    const value = [
      bytes.toString('base64url'),
      bytes.toString('hex'),
      `ghp_${bytes.toString('base64').replaceAll(/[^A-Za-z0-9]/g, 'x')}`,
      `pw-${bytes.toString('base64url').slice(0, 14)}!&`,
    ][n % 4];
    return { name: `DAY_TOKEN_${n}`, value: value ?? '' };
  });
}

/** The bytes that came over a socket, by asking one thing after the other. */
export class Tap {
  readonly #socket: Socket;
  readonly #chunks: Buffer[] = [];
  /** What came since the last request. */
  #answer: string[] = [];
  #wake = (): void => {};
  #n = 0;

  constructor(socketPath: string) {
    this.#socket = connect(socketPath);
    this.#socket.on('data', (bytes: Buffer) => {
      this.#chunks.push(bytes);
      this.#answer.push(bytes.toString('latin1'));
      this.#wake();
    });
    this.#socket.on('close', () => this.#wake());
  }
  get bytes(): Buffer {
    return Buffer.concat(this.#chunks);
  }
  /** Sends a request and waits for its answer, or for the end of its stream. */
  async ask(method: string, params: object): Promise<void> {
    const id = `day-${(this.#n += 1)}`;
    this.#answer = [];
    this.#socket.write(`${JSON.stringify({ id, method, params })}\n`);
    const answer = `"id":"${id}"`;
    const isOver = (): boolean => {
      if (this.#answer.at(-1)?.endsWith('\n') !== true) return false;
      const text = this.#answer.join('');
      const at = text.indexOf(answer);
      return at !== -1 && (method !== 'exec.stream' || text.includes('"stream":"exit"', at));
    };
    while (!isOver()) {
      if (this.#socket.destroyed) throw new Error('the daemon hung up');
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
  end(): void {
    this.#socket.destroy();
  }
}

const windowLength = 12;
const squeeze = (text: string): string => text.toLowerCase().replaceAll(/[^a-z0-9]/g, '');

/** Every twelve letters or digits of every usual form of the secrets. */
function windows(secrets: readonly Secret[]): Map<string, string> {
  const all = new Map<string, string>();
  for (const { name, value } of secrets) {
    const bytes = Buffer.from(value);
    const shifted = [0, 1, 2].map((shift) => {
      const padded = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64');
      return padded.slice(shift === 0 ? 0 : shift + 1, -4);
    });
    const backwards = Array.from(value).toReversed().join('');
    const forms = [value, bytes.toString('hex'), backwards, encodeURIComponent(value), ...shifted];
    const rot13 = value.replaceAll(/[a-z]/gi, (letter) => {
      const base = letter <= 'Z' ? 65 : 97;
      return String.fromCharCode(((letter.charCodeAt(0) - base + 13) % 26) + base);
    });
    for (const form of [...forms, rot13]) {
      const squeezed = squeeze(form);
      for (let at = 0; at + windowLength <= squeezed.length; at += 1) {
        all.set(squeezed.slice(at, at + windowLength), name);
      }
    }
  }
  return all;
}

/** Names of the secrets of which something is in `bytes`. */
export function leaked(bytes: Buffer, secrets: readonly Secret[]): string[] {
  const wanted = windows(secrets);
  const squeezed = squeeze(bytes.toString('latin1'));
  const found = new Set<string>();
  for (let at = 0; at + windowLength <= squeezed.length; at += 1) {
    const name = wanted.get(squeezed.slice(at, at + windowLength));
    if (name !== undefined) found.add(name);
  }
  return [...found];
}

/** All that a runtime keeps on disk and shows in `/proc`, without the secrets' own file. */
function remains(daemon: Daemon, without: string): Buffer {
  const files = readdirSync(daemon.home, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .filter((file) => file !== without);
  const pids = [daemon.pid, ...descendantsOf(daemon.pid).map(({ pid }) => pid)];
  const shown = pids.flatMap((pid) => [`/proc/${pid}/environ`, `/proc/${pid}/cmdline`]);
  const read = (file: string): Buffer => {
    try {
      return readFileSync(file);
    } catch {
      return Buffer.alloc(0);
    }
  };
  return Buffer.concat([...files, ...shown].map(read));
}

export interface Day {
  readonly commands: number;
  readonly bytes: { readonly traffic: number; readonly kept: number };
  readonly leaks: { readonly traffic: string[]; readonly kept: string[]; readonly log: string[] };
  /** Tags in what was sent. */
  readonly hidden: number;
  /** Commands that did not run. */
  readonly refused: number;
}

/** Runs `commands` commands, each with one of twenty secrets in one of the ways. */
export async function dayOfUse(commands: number): Promise<Day> {
  const secrets = twenty();
  const inEnvironment = secrets.slice(0, 5);
  const inFile = secrets.slice(5, 10);
  const given = secrets.slice(10, 15);
  const daemon = await startRuntime({
    env: Object.fromEntries(inEnvironment.map(({ name, value }) => [name, value])),
    prepare: (home) => {
      const file = path.join(home, 'secrets.env');
      const lines = inFile.map(({ name, value }) => `${name}='${value}'\n`);
      writeFileSync(file, lines.join(''), { mode: 0o600 });
      const sources = `[{ kind: environment }, { kind: dotenv, path: ${file} }]`;
      writeFileSync(path.join(home, 'config.yaml'), `secrets:\n  sources: ${sources}\n`);
      return { TRL_CONFIG: path.join(home, 'config.yaml') };
    },
  });
  const tap = new Tap(daemon.socketPath);
  try {
    for (const { name, value } of given) await tap.ask('secrets.set', { name, value });
    const client = await raw(daemon.socketPath);
    const session = { shell: '/bin/bash', carry: 'shell', working_dir: daemon.root };
    const { data } = await client.ask('session.create', session);
    client.drop();
    for (let n = 0; n < commands; n += 1) {
      const { name, value } = secrets[n % secrets.length] ?? { name: '', value: '' };
      const way = ways[n % ways.length] ?? '';
      const own = secrets.indexOf(secrets[n % secrets.length] ?? { name, value }) >= 15;
      const pass = own ? { env: { [name]: value } } : { env_keys: [name] };
      const command = way.replaceAll('$S', `$${name}`).replaceAll("['S']", `['${name}']`);
      const method = n % 5 === 4 ? 'exec.stream' : 'exec.run';
      await tap.ask(method, { session_id: data.session_id, command, timeout_ms: 120_000, ...pass });
    }
    // A caller that writes the value itself: recorded masked.
    const [{ value: typed } = { value: '' }] = secrets;
    await tap.ask('exec.run', { session_id: data.session_id, command: `echo ${typed}` });
    await tap.ask('exec.list', {});
    await tap.ask('session.info', { session_id: data.session_id });
    await tap.ask('session.state', { session_id: data.session_id });
    await tap.ask('secrets.list', {});
    const traffic = tap.bytes;
    const kept = remains(daemon, path.join(daemon.home, 'secrets.env'));
    const hidden = [...traffic.toString('latin1').matchAll(/\[HIDDEN:/g)].length;
    const refused = [...traffic.toString('latin1').matchAll(/"ok":false/g)].length;
    const log = leaked(Buffer.from(daemon.log()), secrets);
    const leaks = { traffic: leaked(traffic, secrets), kept: leaked(kept, secrets), log };
    return {
      commands,
      bytes: { traffic: traffic.length, kept: kept.length },
      leaks,
      hidden,
      refused,
    };
  } finally {
    tap.end();
    await daemon.stop();
  }
}
