/** Where the commands of each document are typed: what lies there, and what its words stand for. */
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { mkdirSync } from 'node:fs';
import { blocksIn, root } from './documents.ts';
import { Reader } from './reader.ts';

export interface Scene {
  readonly file: string;
  /** A directory of the reader's home; default: the home. */
  readonly cwd?: string;
  readonly env?: (reader: Reader) => Readonly<Record<string, string>>;
  /** Commands that begin so start a runtime of their own. */
  readonly apart?: string;
  readonly answers?: Readonly<Record<string, string>>;
  /** Answers what words with `…` stand for that no command of the page has printed. */
  readonly prepare?: (reader: Reader) => Readonly<Record<string, string>>;
  /** Programs that it needs besides those of every test. */
  readonly needs?: readonly string[];
}

/** Nothing of the other token is in it. */
export const operatorToken = 'documents-0123456789-abcdefghijklm';
const apiToken = 'wS5kD8jL2mF6';
const token = 'p7Gx2mQ9vK4tR8wZ';
const gitOf = (reader: Reader, cwd: string) => {
  const at = path.join(reader.home, cwd);
  const who = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org'];
  return (...args: string[]): string =>
    execFileSync('git', ['-C', at, ...who, ...args], { encoding: 'utf8' });
};

function repository(reader: Reader, cwd: string, subject = 'Begin'): void {
  const git = gitOf(reader, cwd);
  git('init', '-q', '-b', 'main');
  git('add', '.');
  git('commit', '-qm', subject);
}

function typed(reader: Reader, cwd: string, args: readonly string[], input = ''): string {
  return execFileSync(path.join(root, 'trl'), args, {
    cwd: path.join(reader.home, cwd),
    env: reader.env(),
    encoding: 'utf8',
    input,
  });
}

interface Ran {
  readonly exec_id: string;
  readonly snapshot: { readonly after: string };
}

/** The receipt of a command that was run in a project. */
function ran(reader: Reader, cwd: string, command: string, flags: readonly string[] = []): Ran {
  return JSON.parse(typed(reader, cwd, ['run', '--json', ...flags, command]));
}

/** Directories of its own, for a page that starts runtimes. */
export function apart(name: string): (reader: Reader) => Record<string, string> {
  return ({ daemon, home }) => {
    const place = path.join(daemon.home, name);
    const directories = { XDG_STATE_HOME: 's', XDG_RUNTIME_DIR: 'r', XDG_CONFIG_HOME: 'c' };
    for (const one of Object.values(directories)) {
      mkdirSync(path.join(place, one), { recursive: true, mode: 0o700 });
    }
    const all = Object.entries(directories).map(([key, one]) => [key, path.join(place, one)]);
    return { ...Object.fromEntries(all), TRL_SOCKET_PATH: '', HOME: home };
  };
}

export const scenes: readonly Scene[] = [
  {
    file: 'docs/secrets.md',
    cwd: 'app',
    answers: { 'trl secrets set NPM_TOKEN': 'hB6yN3vX9s' },
    prepare: (reader) => {
      ran(reader, 'app', 'true', ['--env-key', 'DB_PASSWORD']);
      typed(reader, 'app', ['session', 'create', '--name', 'web']);
      return {};
    },
  },
  {
    file: 'README.md',
    cwd: 'shop',
    needs: ['jq', 'npm', 'curl'],
    prepare: (reader) => (repository(reader, 'shop', 'Begin, and fix the sum'), {}),
  },
  {
    file: 'docs/environment.md',
    cwd: 'app',
    // A runtime of its own has another mode.
    apart: 'TRL_ENV_MODE=legacy',
    prepare: () => ({ 'API_TOKEN=…': `API_TOKEN=${apiToken}` }),
  },
  { file: 'docs/policy.md', env: apart('policy') },
  { file: 'docs/redaction.md', cwd: 'app', needs: ['xxd'] },
  { file: 'docs/tokens.md' },
  { file: 'docs/console.md' },
  {
    file: 'docs/workspaces.md',
    cwd: 'cart',
    answers: { 'trl workspace apply --held': 'yes' },
    prepare: (reader) => {
      repository(reader, 'cart', 'Add a cart');
      const receipt = ran(reader, 'cart', 'echo "export {};" > src/main.ts');
      return { 'x-…': receipt.exec_id, 'tree:sha256:…': receipt.snapshot.after };
    },
  },
  {
    file: 'docs/publication.md',
    cwd: 'site',
    prepare: (reader) => {
      repository(reader, 'site');
      gitOf(reader, 'site')('update-ref', 'refs/remotes/origin/main', 'HEAD');
      return {};
    },
  },
  {
    file: 'docs/provenance.md',
    cwd: 'app',
    prepare: (reader) => ({ 'x-48c7…': ran(reader, 'app', 'echo made > made.txt').exec_id }),
  },
  { file: 'docs/raw-logs.md' },
  {
    file: 'docs/tools.md',
    cwd: 'tickets',
    prepare: (reader) => {
      typed(reader, 'tickets', ['secrets', 'set', 'TICKETS_TOKEN', '--stdin'], 'kQ4zW8rT1n\n');
      typed(reader, 'tickets', ['session', 'create', '--name', 'ours']);
      return {};
    },
  },
  { file: 'docs/mcp-clients.md' },
  { file: 'docs/operations.md', env: apart('operations') },
  { file: 'docs/decisions/0003-fifos-instead-of-socket-pairs.md', cwd: 'app' },
  { file: 'docs/decisions/0008-one-owner-per-state-directory.md', cwd: 'app' },
];

/** Not every machine has one, and those that have differ in what is in it. */
const withoutKeyring = (text: string): string => text.replace(/^.*kind: keyring.*\n/m, '');

/** What is shown at a terminal and cannot be typed here, by its first line. */
export const notTyped: ReadonlyMap<string, string> = new Map([
  [
    `trl run --net on "python3 -c 'import socket; `.concat(
      `socket.socket(socket.AF_UNIX)'" 2>&1 | tail -1`,
    ),
    'wants a runtime of its own; test/sandbox-seccomp.test.ts asks the kernel the same',
  ],
  ['docker build -t trl .', 'wants an engine for containers; test/package.test.ts reads the file'],
]);

const exampleScript = { scripts: { test: 'node --test' } };
const plan = [
  'In the second week of March we open a shop in Lisbon, on the square behind the old market.',
  'Until the contract is signed nobody beyond this page may hear of it, least of all the press.',
  'The rent is a third below what we pay in Porto, and the landlord asks for two years ahead.',
].join('\n');

export async function startReader(): Promise<Reader> {
  const pages = Array.from({ length: 13 }, (_, at) => [`site/dist/page-${at}.html`, `<p>${at}\n`]);
  return Reader.start({
    projects: ['shop', 'app', 'cart', 'site', 'tickets', 'projects'],
    env: {
      TRL_POLICY: '',
      AWS_PROFILE: 'staging',
      API_TOKEN: apiToken,
      DEPLOY_TOKEN: token,
      TRL_AUTH_TOKEN: operatorToken,
    },
    secrets: [token, apiToken, operatorToken],
    files: {
      'shop/package.json': JSON.stringify({ name: 'shop', ...exampleScript }),
      'shop/cart.test.js': "require('node:test')('adds up', () => {});\n",
      'app/.env': 'DB_PASSWORD=hT7_pQ29xLw4zV\n',
      'app/config.yml': 'database:\n  host: db.internal\n  password: hT7_pQ29xLw4zW\n',
      'app/deploy': '#!/bin/sh\ntest -n "$API_TOKEN"\n',
      'bin/op': '#!/bin/sh\necho sk_live_51H8aW2eZvKYlo2C\n',
      'bin/dot': '#!/bin/sh\ngrep -q "^digraph"\n',
      'bin/tickets': '#!/bin/sh\n',
      'tickets/.trl/tools/open_ticket.yaml': blocksIn('docs/tools.md', 'yaml')[0]?.text ?? '',
      'cart/src/cart.js': 'exports.total = (items) => items.reduce((a, b) => a + b);\n',
      'cart/package.json': '{}\n',
      'cart/customers/ada.json': '{}\n',
      'cart/migrations/0.sql': '\n',
      'site/.gitignore': 'dist\nprivate\n',
      'site/private/plan.md': plan,
      'site/dist/app.js': `/*\n${plan}\n*/\n`,
      ...Object.fromEntries(pages),
    },
    configuration: {
      'policy.yaml': `base: auto\n${blocksIn('docs/publication.md', 'yaml')[0]?.text}`,
      'config.yaml': withoutKeyring(blocksIn('docs/secrets.md', 'yaml')[0]?.text ?? ''),
    },
  });
}
