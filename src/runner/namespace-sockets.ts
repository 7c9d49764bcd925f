/** Sockets of a session's network namespace, opened there and held here. */
import { spawn, type SendHandle } from 'node:child_process';
import { Socket } from 'node:net';
import { bridgeScript, bridgeSystemCalls } from './bridge-script.ts';
import { helperEnvironment } from './enclose.ts';
import { unavailable, type BridgedNamespaces } from './session-bridge.ts';

const helperMs = 10_000;
const complaintBytesMax = 2_000;

/** Bound; bound; connected. */
const socketKinds = ['tcp', 'udp', 'connect'] as const;
type SocketKind = (typeof socketKinds)[number];
export type SocketSpec = readonly [SocketKind, string, number];

/** Connects to a port of the namespace's loopback; `null`: nothing listens there. */
export async function connectInside(
  namespaces: BridgedNamespaces,
  port: number,
): Promise<Socket | null> {
  let found: Socket | null = null;
  const sockets = [['connect', '127.0.0.1', port]] as const;
  await passSockets(namespaces, { isFirst: false, sockets }, async (_, handle) => {
    if (handle instanceof Socket) found = handle;
  }).catch((error: unknown) => {
    if (!String(error).includes('connect 127.0.0.1')) throw error;
  });
  return found;
}

/**
 * Opens sockets in a namespace and hands each to `take`.
 *
 * @throws TrlError `SANDBOX_UNAVAILABLE` with what perl said
 */
export async function passSockets(
  { perl, user, network }: BridgedNamespaces,
  { isFirst, sockets }: { readonly isFirst: boolean; readonly sockets: readonly SocketSpec[] },
  take: (kind: SocketKind, handle: SendHandle) => Promise<void>,
): Promise<void> {
  const calls = bridgeSystemCalls.get(process.arch);
  if (perl === null || calls === undefined) throw unavailable('perl is not installed');
  const words = [...calls, user, network, isFirst ? 1 : 0, ...sockets.flat()].map(String);
  const child = spawn(perl, ['-e', bridgeScript, '--', ...words], {
    env: helperEnvironment,
    cwd: '/',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    timeout: helperMs,
    killSignal: 'SIGKILL',
  });
  let complaint = '';
  child.stderr?.on('data', (bytes: Buffer) => {
    complaint = (complaint + bytes.toString('utf8')).slice(0, complaintBytesMax);
  });
  const taken: Promise<void>[] = [];
  child.on('message', (message, handle) => {
    const said: unknown = Object(message)['kind'];
    const kind = socketKinds.find((one) => one === said) ?? 'tcp';
    const isKept = kind === 'connect';
    taken.push(take(kind, handle).finally(() => (isKept ? undefined : closeHandle(handle))));
  });
  const code = await new Promise<number | string | null>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (exit, signal) => resolve(exit ?? signal));
  });
  await Promise.all(taken);
  if (code !== 0 || taken.length !== sockets.length) {
    throw unavailable(complaint.trim() || `its helper ended with ${String(code)}`);
  }
}

/** The runner's own copy: an open listener would keep the namespace alive. */
function closeHandle(handle: SendHandle): void {
  if (handle !== undefined && 'close' in handle) handle.close();
}
