/** An ssh server of a test, on loopback, with an account and keys of its own. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export interface SshServer extends Disposable {
  /** `address:port` */
  readonly address: string;
}

export interface SshServerOptions {
  /** sshd, which finds its libraries in `libraries` too. */
  readonly program: string;
  readonly libraries: string;
  /** Gets `ssh/user`, the key of the account `user`, and `ssh/known`, the server's. */
  readonly dir: string;
  readonly host: string;
}

/** `null`: only root can start one, and only where bubblewrap is. */
export async function openSshServer(options: SshServerOptions): Promise<SshServer | null> {
  const { program, libraries, dir, host } = options;
  const isRoot = process.getuid?.() === 0;
  if (!isRoot || !existsSync('/usr/bin/bwrap') || !existsSync(program)) return null;
  const ssh = path.join(dir, 'ssh');
  mkdirSync(ssh);
  const at = (name: string): string => path.join(ssh, name);
  for (const name of ['user', 'server']) {
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', name, '-f', at(name)]);
  }
  const [kind, key] = readFileSync(at('server.pub'), 'utf8').split(' ');
  writeFileSync(at('known'), `${host} ${kind} ${key}\n`);
  // Names of accounts and the directory that it wants are in its own view alone.
  const accounts = ['root:x:0:0::/root:/bin/sh', 'sshd:x:101:65534::/run/sshd:/bin/false'];
  accounts.push(`user:x:0:0::${ssh}:/bin/sh`, '');
  writeFileSync(at('passwd'), accounts.join('\n'));
  const port = await freePort();
  const settings = [`Port=${port}`, 'ListenAddress=127.0.0.1', `HostKey=${at('server')}`];
  settings.push(`AuthorizedKeysFile=${at('user.pub')}`, 'StrictModes=no', 'PidFile=none');
  settings.push('PermitRootLogin=yes', 'UsePAM=no', 'PasswordAuthentication=no');
  const view = ['--dev-bind', '/', '/', '--ro-bind', at('passwd'), '/etc/passwd'];
  view.push('--tmpfs', '/run', '--dir', '/run/sshd', '--cap-add', 'ALL', '--die-with-parent');
  const words = ['-D', '-e', '-f', '/dev/null', ...settings.flatMap((one) => ['-o', one])];
  const child = spawn('/usr/bin/bwrap', [...view, '--unshare-pid', '--', program, ...words], {
    stdio: 'ignore',
    env: { PATH: '/usr/bin:/bin', LD_LIBRARY_PATH: libraries },
  });
  await listening(child, port);
  return { address: `127.0.0.1:${port}`, [Symbol.dispose]: () => child.kill('SIGKILL') };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const port = Number(Object(server.address())['port']);
  server.close();
  await once(server, 'close');
  return port;
}

async function listening(child: ChildProcess, port: number): Promise<void> {
  for (let tries = 0; tries < 100; tries += 1) {
    if (child.exitCode !== null) throw new Error(`sshd ended with ${child.exitCode}`);
    const socket = connect(port, '127.0.0.1');
    const isThere = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (isThere) return;
    await sleep(50);
  }
  throw new Error('sshd does not listen');
}
