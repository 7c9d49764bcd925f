/** Connects to a permitted name: resolves it, checks every address, dials exactly a checked one. */
import { connect } from 'node:net';
import { addressKind } from '../network/addresses.ts';
import type { UpstreamProxy } from '../network-access.ts';
import { dialProxy } from './dial-proxy.ts';
import { DialError, type Dialled } from './dialled.ts';
import type { NameLookups } from './name-lookups.ts';

const connectMs = 15_000;
/** Addresses of a name that are tried. */
const triesMax = 4;
/** Of names that a proxy is asked for. */
const proxiedLookupMs = 1_000;

export interface DialTarget {
  readonly name: string;
  readonly port: number;
  /** Whether private addresses are permitted. */
  readonly mayBePrivate: boolean;
  /** Where a person said that it is served; `null`: where the system's resolver says. */
  readonly servedAt: { readonly address: string; readonly port: number } | null;
  /** That leads to it where no place is named; `null`: none. */
  readonly proxy: UpstreamProxy | null;
}

/** @throws DialError */
export async function dial(target: DialTarget, lookups: NameLookups): Promise<Dialled> {
  const { servedAt, proxy } = target;
  if (servedAt !== null) return await dialAddress(servedAt.address, servedAt.port);
  if (proxy !== null) {
    await refuseInner(target, lookups);
    return await dialProxy(proxy, target);
  }
  const addresses = await resolveChecked(target, lookups);
  let last: unknown = new DialError('no address');
  for (const address of addresses.slice(0, triesMax)) {
    try {
      return await dialAddress(address, target.port);
    } catch (error) {
      last = error;
    }
  }
  throw last;
}

/** A name that leads to one address which it must not is not connected to at all. */
async function resolveChecked(
  target: DialTarget,
  lookups: NameLookups,
): Promise<readonly string[]> {
  const addresses = await lookups.find(target.name);
  if (addresses.length === 0) throw new DialError('name not found');
  refuseAddresses(target, addresses);
  return addresses;
}

/**
 * The proxy looks names up itself, and often nobody else can. What is known here to lead inside is
 * refused all the same.
 */
async function refuseInner(target: DialTarget, lookups: NameLookups): Promise<void> {
  const late = new Promise<readonly string[]>((resolve) => {
    setTimeout(() => resolve([]), proxiedLookupMs).unref();
  });
  refuseAddresses(target, await Promise.race([lookups.find(target.name), late]));
}

function refuseAddresses({ mayBePrivate }: DialTarget, addresses: readonly string[]): void {
  for (const address of addresses) {
    const kind = addressKind(address);
    if (kind === 'special' || (kind === 'private' && !mayBePrivate)) {
      throw new DialError(`${kind} address`);
    }
  }
}

async function dialAddress(address: string, port: number): Promise<Dialled> {
  const socket = connect({ host: address, port, allowHalfOpen: true, noDelay: true });
  return await new Promise((resolve, reject) => {
    const fail = (): void => {
      socket.destroy();
      reject(new DialError('cannot connect'));
    };
    const timer = setTimeout(fail, connectMs);
    socket.once('error', fail);
    socket.once('connect', () => {
      clearTimeout(timer);
      socket.off('error', fail);
      resolve({ socket, address });
    });
    socket.once('close', () => clearTimeout(timer));
  });
}
