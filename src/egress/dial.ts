/** Connects to a permitted name: resolves it, checks every address, dials exactly a checked one. */
import { connect, type Socket } from 'node:net';
import { addressKind } from '../network/addresses.ts';
import type { NameLookups } from './name-lookups.ts';

const connectMs = 15_000;
/** Addresses of a name that are tried. */
const triesMax = 4;

export interface DialTarget {
  readonly name: string;
  readonly port: number;
  /** Whether private addresses are permitted. */
  readonly mayBePrivate: boolean;
  /** Where a person said that it is served; `null`: where the system's resolver says. */
  readonly servedAt: { readonly address: string; readonly port: number } | null;
}

/** Why a permitted name was not connected to; its text is the rule of the record. */
export class DialError extends Error {
  override readonly name = 'DialError';
}

export interface Dialled {
  readonly socket: Socket;
  readonly address: string;
}

/** @throws DialError */
export async function dial(target: DialTarget, lookups: NameLookups): Promise<Dialled> {
  const { servedAt } = target;
  if (servedAt !== null) return await dialAddress(servedAt.address, servedAt.port);
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
  { name, mayBePrivate }: DialTarget,
  lookups: NameLookups,
): Promise<readonly string[]> {
  const addresses = await lookups.find(name);
  if (addresses.length === 0) throw new DialError('name not found');
  for (const address of addresses) {
    const kind = addressKind(address);
    if (kind === 'special' || (kind === 'private' && !mayBePrivate)) {
      throw new DialError(`${kind} address`);
    }
  }
  return addresses;
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
