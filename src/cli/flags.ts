/** Every flag of the command line: parsing, help, completions and docs/cli.md use this table. */
import { networkAccessModes } from '../network-access.ts';
import { hostPresetNames } from '../network/presets.ts';
import { cacheTools } from '../caches.ts';
import { workspaceModes } from '../change.ts';
import { approvalStates } from '../command.ts';
import { envModes } from '../variable-names.ts';
import { editableClients } from './mcp-clients.ts';

export interface FlagDefinition {
  /** The name of the value in help; `null`: the flag takes none. */
  readonly value: string | null;
  readonly about: string;
  /** Whether the flag may be repeated. */
  readonly many?: true;
  /** What a shell completes: a kind of path, or one of these words. */
  readonly complete?: 'file' | 'directory' | readonly string[];
}

const signals = ['INT', 'TERM', 'KILL', 'HUP', 'QUIT', 'USR1', 'USR2', 'STOP', 'CONT'];

export const flagDefinitions = {
  actor: { value: 'ACTOR', about: 'only events of this actor, such as uid:1000' },
  accept: { value: null, about: 'approve findings that need a review' },
  all: { value: null, about: 'the cache of every project' },
  'allow-read': path('also allow reading below this path or glob'),
  'allow-write': path('also allow writing below this path or glob'),
  audience: { value: 'NAME', about: 'who receives it, as named in the policy; default public' },
  bound: { value: 'KEY=N', about: 'a limit of the runtime: sessions_active=128', many: true },
  carry: {
    value: 'WHAT',
    about: 'what passes to the next command: none, cwd+env (default), shell',
    complete: ['none', 'cwd+env', 'shell'],
  },
  changes: { value: null, about: 'the changes of a session' },
  client: {
    value: 'NAME',
    about: 'the program whose file is edited',
    complete: editableClients,
  },
  command: { value: 'TEXT', about: 'the command that printed the text' },
  config: {
    value: 'FILE',
    about: 'a configuration file that overrides the one of the user',
    complete: 'file',
  },
  broker: {
    value: 'NAME[=HOST]',
    about: 'let it use a secret at its hosts without having it',
    many: true,
  },
  context: { value: 'N', about: 'lines of context around each change; default 3' },
  cpu: { value: 'S', about: 'seconds of CPU time for each process' },
  cwd: { value: 'DIR', about: 'working directory; default: this one', complete: 'directory' },
  'deny-read': path('never allow reading below this path or glob'),
  'deny-write': path('never allow writing below this path or glob'),
  'dry-run': { value: null, about: 'show what would change, without changing it' },
  env: {
    value: 'K=V',
    about: 'set a variable; K alone takes the value from this shell',
    many: true,
  },
  'env-key': {
    value: 'NAME',
    about: 'pass a secret, or a variable of the runtime, by its name',
    many: true,
  },
  'env-mode': {
    value: 'MODE',
    about: 'which variables commands get: scoped (default), legacy',
    complete: envModes,
  },
  eof: { value: null, about: 'close the input afterwards' },
  input: { value: 'JSON', about: 'arguments of the tool, or @FILE' },
  'for-project': {
    value: null,
    about: 'also allow this project to use the rule that the approval shows',
  },
  'for-session': { value: null, about: 'also allow identical commands in this session' },
  expires: { value: 'TIME', about: 'lifetime of the token, such as 30d; default: unlimited' },
  evidence: { value: null, about: 'show the findings in full to the person at the terminal' },
  exec: { value: 'EXEC', about: 'only this command' },
  export: { value: 'FILE', about: 'verify the output of "trl audit export"', complete: 'file' },
  'file-size': { value: 'N', about: 'size limit of written files, such as 100m' },
  force: { value: null, about: 'also end running commands' },
  from: { value: 'N', about: 'offset of the first byte; default 0' },
  git: { value: 'RANGE', about: 'commits, as A..B or one revision; -: the refs of a push' },
  grep: { value: 'TEXT', about: 'only lines that contain this text' },
  head: {
    value: 'FILE|TEXT',
    about: 'a signed head that you stored elsewhere, or a receipt with one',
    many: true,
    complete: 'file',
  },
  held: { value: null, about: 'also apply held changes, which needs a person' },
  http: { value: 'ADDR:PORT', about: 'also serve HTTP at this address, such as 127.0.0.1:7070' },
  'http-cert': { value: 'FILE', about: 'certificate for HTTP (PEM)', complete: 'file' },
  'http-key': { value: 'FILE', about: 'key of the certificate, mode 0600', complete: 'file' },
  'http-host': { value: 'NAME', about: 'a host name that HTTP requests may use', many: true },
  'http-origin': { value: 'URL', about: 'a site whose pages may send HTTP requests', many: true },
  help: { value: null, about: 'show this help' },
  identity: { value: 'FILE', about: 'the secret key of an auditor', complete: 'file' },
  'idle-timeout': { value: 'TIME', about: 'end the command after this time without output' },
  'keep-running': { value: null, about: 'leave running commands to the next runtime' },
  key: { value: 'FILE', about: "the public key; default: this user's", complete: 'file' },
  kind: { value: 'KIND', about: "only events of this kind: exec.ended, 'exec.*'", many: true },
  known: {
    value: 'FILE',
    about: 'values to hide: JSON lines {"name","value"}, mode 0600',
    complete: 'file',
  },
  install: { value: null, about: 'install the hook where git looks for it' },
  json: { value: null, about: 'answer in JSON, one value per line' },
  limit: { value: 'N', about: 'how many to list, newest first; default 50' },
  max: { value: 'N', about: 'maximum number of bytes, such as 64k' },
  memory: { value: 'N', about: 'memory limit, such as 2g; refused if it cannot be enforced' },
  message: { value: 'TEXT', about: 'message to the agent (also -m)' },
  name: { value: 'NAME', about: 'a name' },
  net: {
    value: 'HOSTS',
    about: 'hosts and presets, as npm,github; or off (default), open, host',
    complete: [...networkAccessModes, ...hostPresetNames],
  },
  network: { value: null, about: 'same as --net host; a person is asked' },
  'no-open': { value: null, about: 'do not open a browser' },
  origin: { value: null, about: 'also show the origin of each value' },
  'open-files': { value: 'N', about: 'limit of open files for each process' },
  out: { value: 'FILE', about: 'write to this file, which must not exist yet', complete: 'file' },
  output: { value: null, about: 'with --exec: also include its output' },
  'passphrase-stdin': { value: null, about: 'read the passphrase from standard input' },
  policy: { value: 'NAME|FILE', about: 'the policy to use', complete: 'file' },
  print: { value: null, about: 'show what would be written, and write nothing' },
  private: { value: null, about: 'use a private runtime, which ends with this command' },
  processes: { value: 'N', about: 'limit of processes at the same time' },
  profile: {
    value: 'NAME',
    about: 'how easily text counts as a secret; default balanced',
    complete: ['strict', 'balanced', 'lenient'],
  },
  proof: { value: 'FILE', about: 'verify the output of "trl audit prove"', complete: 'file' },
  pty: { value: null, about: 'give the command a terminal' },
  quiet: { value: null, about: 'print only what the command prints' },
  raw: { value: null, about: 'pass all control sequences to the terminal' },
  reason: { value: 'TEXT', about: 'the purpose, shown to the person who is asked' },
  remote: { value: 'NAME', about: 'with --git: the remote that already has the other commits' },
  role: {
    value: 'ROLE',
    about: 'what the token permits: agent, approver, auditor, admin',
    many: true,
    complete: ['agent', 'approver', 'auditor', 'admin'],
  },
  sandbox: {
    value: 'KIND',
    about: 'bubblewrap (default), or none: no protection',
    complete: ['bubblewrap', 'none'],
  },
  scope: {
    value: 'SCOPE',
    about: 'for this user (default), or for the project in this directory',
    complete: ['user', 'project'],
  },
  session: { value: 'ID|NAME', about: 'the session to use' },
  'share-cache': {
    value: 'TOOLS',
    about: "also share this user's caches, read-only: npm,cargo",
    many: true,
    complete: [...cacheTools],
  },
  shell: { value: 'PATH', about: 'the shell; default bash', complete: 'file' },
  signal: { value: 'NAME', about: 'send only this signal', complete: signals },
  since: { value: 'TIME', about: 'from this time on: 2026-11-22T09:30, or 30m for 30 minutes ago' },
  'socket-path': { value: 'PATH', about: 'the socket of the runtime', complete: 'file' },
  spans: { value: null, about: 'read JSON lines {"id","text"}, write {"id","spans"}' },
  staged: { value: null, about: 'the content of the next commit' },
  stat: { value: null, about: 'only names and line counts' },
  state: {
    value: 'STATE',
    about: 'only this state; default pending',
    complete: [...approvalStates, 'all'],
  },
  statement: { value: null, about: 'only the signed statement of the command' },
  stdin: {
    value: null,
    about: 'read standard input, even from a terminal',
  },
  tail: { value: 'N', about: 'only the last lines' },
  timeout: {
    value: 'TIME',
    about: 'end it after this time, such as 5m; default 60s, in the background none',
  },
  to: { value: 'PLACE', about: 'a new directory, or a new FILE.tar', complete: 'file' },
  until: { value: 'TIME', about: 'up to this time; as for --since' },
  verbose: { value: null, about: 'also list every changed path (also -v)' },
  wait: { value: 'TIME', about: 'how long to wait for output, or for a decision by a person' },
  workspace: { value: 'ID', about: 'a workspace of "trl workspace open"' },
  'workspace-mode': {
    value: 'MODE',
    about: 'what happens to changes: direct (default), staged, discard',
    complete: workspaceModes,
  },
  yes: { value: null, about: 'do not ask for confirmation' },
  tools: {
    value: 'DIR',
    about: 'a directory of tools; for mcp: general, strict or all',
    many: true,
    complete: 'directory',
  },
  'workspace-root': {
    value: 'DIR',
    about: 'allow sessions below this directory; default: this directory',
    many: true,
    complete: 'directory',
  },
} as const satisfies Record<string, FlagDefinition>;

export type FlagName = keyof typeof flagDefinitions;

export function isFlagName(name: string): name is FlagName {
  return Object.hasOwn(flagDefinitions, name);
}

/** `--env K=V …`, as help shows it. */
export function flagUsage(name: FlagName): string {
  const flag: FlagDefinition = flagDefinitions[name];
  return `--${name}${flag.value === null ? '' : ` ${flag.value}`}${flag.many ? ' …' : ''}`;
}

function path(about: string): FlagDefinition {
  return { value: 'PATH', about, many: true, complete: 'file' };
}
