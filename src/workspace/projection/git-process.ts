/** Runs git on objects of a repository whose configuration is never read. */
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import path from 'node:path';

/** Why git gave no answer; for people. */
export class GitFailure extends Error {
  constructor(message: string, options: ErrorOptions = {}) {
    super(message, options);
    this.name = 'GitFailure';
  }
}

interface GitInvocation {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly input?: string;
  readonly timeoutMs?: number;
  readonly outputBytesMax?: number;
}

const timeoutMsDefault = 30_000;
const outputBytesDefault = 64 * 1024 * 1024;

/** Ignores the host's, the user's and the repository's settings. */
const clean = {
  PATH: '/usr/local/bin:/usr/bin:/bin',
  HOME: '/nonexistent',
  LANG: 'C',
  LC_ALL: 'C',
  TZ: 'UTC',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_NO_REPLACE_OBJECTS: '1',
  GIT_NO_LAZY_FETCH: '1',
  GIT_ALLOW_PROTOCOL: 'none',
  GIT_TERMINAL_PROMPT: '0',
  GIT_AUTHOR_NAME: 'Projection',
  GIT_AUTHOR_EMAIL: 'projection@localhost',
  GIT_AUTHOR_DATE: '946684800 +0000',
  GIT_COMMITTER_NAME: 'Projection',
  GIT_COMMITTER_EMAIL: 'projection@localhost',
  GIT_COMMITTER_DATE: '946684800 +0000',
} as const;

/** Derived files of a repository could say another thing than its objects. */
const settings = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.commitGraph=false',
  'core.multiPackIndex=false',
  'core.untrackedCache=false',
  'core.attributesFile=/dev/null',
  'core.excludesFile=/dev/null',
  'gc.auto=0',
  'maintenance.auto=false',
  'protocol.allow=never',
] as const;

/**
 * What git prints, bytes as latin1.
 *
 * @throws GitFailure where git is missing, fails, takes too long or says too much
 */
export async function runGit(run: GitInvocation): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const args = ['--no-pager', ...settings.flatMap((one) => ['-c', one]), ...run.args];
  const child = spawn('git', args, { cwd: '/', env: { ...clean, ...run.env }, stdio: 'pipe' });
  const name = `git ${run.args[0] ?? ''}`;
  const fail = (why: string): void => {
    child.kill('SIGKILL');
    reject(new GitFailure(`${name}: ${why}`));
  };
  const late = setTimeout(() => fail('it took too long'), run.timeoutMs ?? timeoutMsDefault);
  const chunks: string[] = [];
  let bytes = 0;
  let complaint = '';
  child.stdout.setEncoding('latin1').on('data', (text: string) => {
    bytes += text.length;
    chunks.push(text);
    if (bytes > (run.outputBytesMax ?? outputBytesDefault)) fail('it said too much');
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = `${complaint}${text}`.slice(0, 500);
  });
  // A write to a git that ended: its end says more.
  child.stdin.on('error', () => {});
  child.stdin.end(Buffer.from(run.input ?? '', 'latin1'));
  child.once('error', (error) => reject(new GitFailure(`${name}: ${error.message}`)));
  child.once('close', (code, signal) => {
    if (code === 0) resolve(chunks.join(''));
    else reject(new GitFailure(`${name}: ${complaint.trim() || `ended with ${code ?? signal}`}`));
  });
  try {
    return await promise;
  } finally {
    clearTimeout(late);
  }
}

/** An empty repository, in the name of which objects of another one are read. */
export async function emptyRepository(directory: string, format: 'sha1' | 'sha256') {
  mkdirSync(path.dirname(directory), { recursive: true, mode: 0o700 });
  const args = ['init', '--quiet', '--bare', '--template=', `--object-format=${format}`, directory];
  await runGit({ args, env: {} });
}
