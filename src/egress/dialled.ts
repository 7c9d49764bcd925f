/** A connection to a host, and why there is none. */
import type { Socket } from 'node:net';

/** Why a permitted name was not connected to; its text is the rule of the record. */
export class DialError extends Error {
  override readonly name = 'DialError';
}

export interface Dialled {
  readonly socket: Socket;
  /** That was dialled: of the host, or of the proxy that leads to it. */
  readonly address: string;
}
