/** Programs through the bridge to servers of a test: passed through and terminated, and denied. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { BrokeredCredential } from '../../src/network-access.ts';
import { trustVariables } from '../../src/network/trusted-certificates.ts';
import { openBox, temporary, type Answer } from './box.ts';
import { javaSource, type NetworkProgram, type ProgramTarget } from './network-programs.ts';
import { programAnswer } from './program-archives.ts';
import {
  openProgramServers,
  type ProgramServersOptions,
  type ServerRequest,
} from './program-servers.ts';
import { openTlsAuthority } from './tls-authority.ts';

/** Where a program goes, and whether it gets there. */
export interface ProgramWay {
  readonly name: string;
  readonly host: string;
  readonly prefix: string;
  readonly isDenied: boolean;
}

export const programWays: readonly ProgramWay[] = [
  { name: 'passed through', host: 'pass.test', prefix: 'open', isDenied: false },
  { name: 'passed through, denied', host: 'bad.test', prefix: 'open', isDenied: true },
  { name: 'terminated', host: 'seen.test', prefix: 'open', isDenied: false },
  { name: 'terminated, denied', host: 'seen.test', prefix: 'closed', isDenied: true },
];

export type ProgramResult =
  | { readonly kind: 'ok' }
  | { readonly kind: 'skipped' | 'failed'; readonly why: string };

export interface ProgramBox extends AsyncDisposable {
  readonly requests: readonly ServerRequest[];
  run(program: NetworkProgram, way: ProgramWay): Promise<ProgramResult>;
  /** `null`: what it needs is not there. */
  runScript(needs: string, script: string): Promise<Answer | null>;
}

export interface ProgramBoxOptions extends Pick<ProgramServersOptions, 'answer'> {
  /** Has what was fetched; absent: nothing was. */
  readonly tools?: string;
  readonly credentials?: readonly BrokeredCredential[];
  /** Hosts of credentials. */
  readonly names?: readonly string[];
  /** Starts a server for ssh, with `ssh/user` and `ssh/known`. `address:port`; `null`: none */
  readonly ssh?: (dir: string, host: string) => Promise<string | null>;
}

const schemes = { https: '', http: 'plain.', ssh: 'ssh.' } as const;
const hosts = ['pass.test', 'bad.test', 'seen.test'];
const rules = ['pass.test', 'pass.plain.test', 'pass.ssh.test:22', 'seen.test/open'];
rules.push('seen.plain.test/open', 'seen.test/open.Echo');

export async function openProgramBox(options: ProgramBoxOptions = {}): Promise<ProgramBox> {
  const { tools, names = [] } = options;
  await using stack = new AsyncDisposableStack();
  const { path: whole } = stack.use(temporary());
  const dir = path.join(whole, 'work');
  mkdirSync(dir);
  compileJava(dir);
  const servers = stack.use(
    await openProgramServers({
      dir,
      authority: openTlsAuthority(whole),
      names: [...hosts, ...names],
      ...(options.answer === undefined ? {} : { answer: options.answer }),
      ...(tools === undefined ? {} : { maven: path.join(tools, 'maven') }),
    }),
  );
  const named = (prefix: string, address: string): (readonly [string, string])[] =>
    hosts.map((host) => [host.replace('.', `.${prefix}`), address]);
  const ssh = (await options.ssh?.(dir, 'pass.ssh.test')) ?? null;
  const connect = Object.fromEntries([
    ...named('', servers.https),
    ...named('plain.', servers.http),
    ...(ssh === null ? [] : named('ssh.', ssh)),
    ...names.map((name) => [name, servers.https] as const),
  ]);
  const nodeDirectory = path.dirname(process.execPath);
  const box = stack.use(
    await openBox({
      root: dir,
      network: 'hosts',
      roots: [servers.root],
      read: { allow: [nodeDirectory, ...(tools === undefined ? [] : [tools])] },
      egress: { allow: [...rules, ...names], connect, credentials: options.credentials ?? [] },
    }),
  );
  const env = { ...trustVariables, D: dir, T: tools ?? '/nonexistent', NODE: process.execPath };
  let count = 0;
  const runScript = async (needs: string, script: string): Promise<Answer | null> => {
    const has = await box.run(`command -v ${needs} || [ -e ${needs} ]`, { env });
    if (has.code !== 0) return null;
    count += 1;
    const own = { ...env, W: `/tmp/w${count}` };
    return await box.run(`mkdir $W\n(${script}\n)\ncode=$?; rm -rf $W; exit $code`, { env: own });
  };
  const opened = stack.move();
  return {
    requests: servers.requests,
    runScript,
    run: async ({ needs, script, scheme = 'https' }, way) => {
      const { host: plain, prefix, isDenied } = way;
      if (scheme === 'ssh' && plain === 'seen.test') {
        return { kind: 'skipped', why: 'ssh is no TLS' };
      }
      const host = plain.replace('.', `.${schemes[scheme]}`);
      const target: ProgramTarget = { host, prefix, base: `${scheme}://${host}/${prefix}` };
      const before = servers.requests.length;
      const got = await runScript(needs, script(target));
      if (got === null) return { kind: 'skipped', why: `${needs} is not there` };
      const seen = servers.requests
        .slice(before)
        .filter((one) => one.host === host && one.target.startsWith(`/${prefix}`))
        .map(({ target: at }) => at);
      return judge(got, isDenied ? seen : null);
    },
    [Symbol.asyncDispose]: async () => await opened.disposeAsync(),
  };
}

/** @param leaked requests that reached the server of a denied program; `null`: it is allowed */
function judge({ code, stdout, stderr }: Answer, leaked: readonly string[] | null): ProgramResult {
  const text = `exit ${code}: ${stderr.slice(-2000)}${stdout.slice(-1000)}`;
  const isThere = stdout.includes(programAnswer);
  if (leaked === null) {
    return isThere && code === 0 ? { kind: 'ok' } : { kind: 'failed', why: text };
  }
  if (leaked.length > 0) return { kind: 'failed', why: `it got ${leaked.join(' ')}` };
  return isThere ? { kind: 'failed', why: `not denied: ${text}` } : { kind: 'ok' };
}

function compileJava(dir: string): void {
  const source = path.join(dir, 'FetchText.java');
  writeFileSync(source, javaSource);
  try {
    const words = ['--release', '17', '-d', path.join(dir, 'classes'), source];
    execFileSync('/usr/bin/javac', words, { stdio: 'ignore' });
  } catch {
    // Then what needs it is skipped.
  }
}
