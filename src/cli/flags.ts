/** Every flag of the command line, once: parsing, help and completions read it here. */
import { cacheTools } from '../caches.ts';
import { workspaceModes } from '../change.ts';
import { approvalStates } from '../command.ts';
import { envModes } from '../variable-names.ts';

export interface FlagDefinition {
  /** What stands for the value in help; `null`: the flag takes none. */
  readonly value: string | null;
  readonly about: string;
  /** Whether it may be given more than once. */
  readonly many?: true;
  /** What a shell completes: a kind of path, or these words. */
  readonly complete?: 'file' | 'directory' | readonly string[];
}

const signals = ['INT', 'TERM', 'KILL', 'HUP', 'QUIT', 'USR1', 'USR2', 'STOP', 'CONT'];

export const flagDefinitions = {
  actor: { value: 'ACTOR', about: 'only what this one did: uid:1000' },
  accept: { value: null, about: 'let through what a person must look at' },
  all: { value: null, about: 'that of every project' },
  'allow-read': path('also read what lies under this path or glob'),
  'allow-write': path('also write what lies under this path or glob'),
  audience: { value: 'NAME', about: 'who gets it, as policy says; default public' },
  bound: { value: 'KEY=N', about: 'a bound of the runtime: sessions_active=128', many: true },
  carry: {
    value: 'WHAT',
    about: 'what passes to the next command: none, cwd+env (default), shell',
    complete: ['none', 'cwd+env', 'shell'],
  },
  changes: { value: null, about: 'what the commands of a session changed' },
  client: {
    value: 'NAME',
    about: 'the program whose file is meant',
    complete: ['claude-code', 'codex', 'cursor', 'vscode'],
  },
  command: { value: 'TEXT', about: 'the command whose output it is' },
  config: { value: 'FILE', about: 'a configuration above the one of the user', complete: 'file' },
  context: { value: 'N', about: 'lines around each change; default 3' },
  cpu: { value: 'S', about: 'seconds of CPU time for each process' },
  cwd: { value: 'DIR', about: 'working directory; default: this one', complete: 'directory' },
  'deny-read': path('never read what lies under this path or glob'),
  'deny-write': path('never write what lies under this path or glob'),
  'dry-run': { value: null, about: 'change nothing that lasts, and say what would change' },
  env: { value: 'K=V', about: 'a variable; K alone takes the value from here', many: true },
  'env-key': {
    value: 'NAME',
    about: 'a secret, or a variable of the runtime, by its name alone',
    many: true,
  },
  'env-mode': {
    value: 'MODE',
    about: 'what commands get of the environment: scoped (default), legacy',
    complete: envModes,
  },
  eof: { value: null, about: 'close the input afterwards' },
  input: { value: 'JSON', about: 'arguments of the tool, or @FILE' },
  'for-project': { value: null, about: 'from now on, by the rule that the question shows' },
  'for-session': { value: null, about: 'also for equal plans of the same session' },
  expires: { value: 'TIME', about: 'it ends after so long, such as 30d; default: never' },
  evidence: { value: null, about: 'say what was found, to the person at the terminal' },
  exec: { value: 'EXEC', about: 'only what is of this command' },
  export: { value: 'FILE', about: 'check what "trl audit export" wrote', complete: 'file' },
  'file-size': { value: 'N', about: 'largest file written, such as 100m' },
  force: { value: null, about: 'end what is running, too' },
  from: { value: 'N', about: 'offset of the first byte; default 0' },
  git: { value: 'RANGE', about: 'commits, as A..B or one revision; -: the refs of a push' },
  grep: { value: 'TEXT', about: 'only lines that contain this text' },
  head: {
    value: 'FILE|TEXT',
    about: 'a signed head that was kept elsewhere, or a receipt with one',
    many: true,
    complete: 'file',
  },
  held: { value: null, about: 'also what is held back, which a person decides' },
  http: { value: 'ADDR:PORT', about: 'also serve HTTP there, such as 127.0.0.1:7070' },
  'http-cert': { value: 'FILE', about: 'certificate of the HTTP door (PEM)', complete: 'file' },
  'http-key': { value: 'FILE', about: 'key of the certificate, mode 0600', complete: 'file' },
  'http-host': { value: 'NAME', about: 'a name that HTTP is asked under', many: true },
  'http-origin': { value: 'URL', about: 'a site whose pages may ask by HTTP', many: true },
  help: { value: null, about: 'show this' },
  identity: { value: 'FILE', about: 'the secret key of an auditor', complete: 'file' },
  'idle-timeout': { value: 'TIME', about: 'end it after so long without output' },
  'keep-running': { value: null, about: 'leave what runs to the next runtime' },
  key: { value: 'FILE', about: 'the public key; default: the one of this user', complete: 'file' },
  kind: { value: 'KIND', about: "only these: exec.ended, 'exec.*'", many: true },
  known: {
    value: 'FILE',
    about: 'values to hide: JSON lines {"name","value"}, mode 0600',
    complete: 'file',
  },
  install: { value: null, about: 'put it where git looks for it' },
  json: { value: null, about: 'answer in JSON, one value a line' },
  limit: { value: 'N', about: 'how many, newest first; default 50' },
  max: { value: 'N', about: 'bytes at most, such as 64k' },
  memory: { value: 'N', about: 'memory, such as 2g; refused where it cannot be enforced' },
  message: { value: 'TEXT', about: 'words for the agent (also -m)' },
  name: { value: 'NAME', about: 'a name to call it by' },
  net: { value: 'off|on', about: 'network; default off', complete: ['off', 'on'] },
  network: { value: null, about: 'as --net on: a person is asked' },
  'no-open': { value: null, about: 'open no browser' },
  origin: { value: null, about: 'also say where each value comes from' },
  'open-files': { value: 'N', about: 'open files of each process' },
  out: { value: 'FILE', about: 'write to this file, which must be new', complete: 'file' },
  output: { value: null, about: 'with --exec: what it printed, too' },
  'passphrase-stdin': { value: null, about: 'read the passphrase from standard input' },
  policy: { value: 'NAME|FILE', about: 'the policy that decides', complete: 'file' },
  print: { value: null, about: 'write nothing, and show what would be written' },
  private: { value: null, about: 'a runtime of its own, which ends with it' },
  processes: { value: 'N', about: 'processes at once' },
  profile: {
    value: 'NAME',
    about: 'how much is taken for a secret; default balanced',
    complete: ['strict', 'balanced', 'lenient'],
  },
  proof: { value: 'FILE', about: 'check what "trl audit prove" wrote', complete: 'file' },
  pty: { value: null, about: 'give the command a terminal' },
  quiet: { value: null, about: 'say nothing besides what the command says' },
  raw: { value: null, about: 'pass all control sequences to the terminal' },
  reason: { value: 'TEXT', about: 'what it is for, for the person who is asked' },
  remote: { value: 'NAME', about: 'with --git: whose branches are there already' },
  role: {
    value: 'ROLE',
    about: 'what it may do: agent, approver, auditor, admin',
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
  session: { value: 'ID|NAME', about: 'the session that is meant' },
  'share-cache': {
    value: 'TOOLS',
    about: 'also see the caches of this user, unchanged: npm,cargo',
    many: true,
    complete: [...cacheTools],
  },
  shell: { value: 'PATH', about: 'the shell; default bash', complete: 'file' },
  signal: { value: 'NAME', about: 'send just this signal', complete: signals },
  since: { value: 'TIME', about: 'from then on: 2026-11-22T09:30, or 30m for so long ago' },
  'socket-path': { value: 'PATH', about: 'the socket of the runtime', complete: 'file' },
  spans: { value: null, about: 'JSON lines {"id","text"} in, {"id","spans"} out' },
  staged: { value: null, about: 'what the next commit would have' },
  stat: { value: null, about: 'only names and counts of lines' },
  state: {
    value: 'STATE',
    about: 'only these; default pending',
    complete: [...approvalStates, 'all'],
  },
  statement: { value: null, about: 'only the signed statement of the command' },
  stdin: {
    value: null,
    about: 'read standard input, also where it is a terminal',
  },
  tail: { value: 'N', about: 'only the last lines' },
  timeout: {
    value: 'TIME',
    about: 'end it after so long, such as 5m; default 60s, in the background never',
  },
  to: { value: 'PLACE', about: 'a new directory, or a new FILE.tar', complete: 'file' },
  until: { value: 'TIME', about: 'up to then; as for --since' },
  verbose: { value: null, about: 'also say each path that changed (also -v)' },
  version: { value: null, about: 'show the version' },
  wait: { value: 'TIME', about: 'wait so long: for output, or for the person who must decide' },
  workspace: { value: 'ID', about: 'a workspace of "trl workspace open"' },
  'workspace-mode': {
    value: 'MODE',
    about: 'what becomes of changes: direct (default), staged, discard',
    complete: workspaceModes,
  },
  yes: { value: null, about: 'do it without a question' },
  tools: {
    value: 'DIR',
    about: 'a directory of tools; of mcp: general, strict or all',
    many: true,
    complete: 'directory',
  },
  'workspace-root': {
    value: 'DIR',
    about: 'sessions work under it; default: this directory',
    many: true,
    complete: 'directory',
  },
} as const satisfies Record<string, FlagDefinition>;

export type FlagName = keyof typeof flagDefinitions;

export function isFlagName(name: string): name is FlagName {
  return Object.hasOwn(flagDefinitions, name);
}

function path(about: string): FlagDefinition {
  return { value: 'PATH', about, many: true, complete: 'file' };
}
