/** A connection out of the namespace, whose name is known and permitted. */
import type { Transform } from 'node:stream';
import type { Dialled } from './dialled.ts';
import type { InspectRequest } from './inspect-request.ts';
import type { Termination } from './termination.ts';

export interface PermittedConnection {
  readonly name: string;
  readonly port: number;
  /** Whether TLS ends here, so that requests are seen; `null`: nothing depends on them. */
  readonly termination: Termination | null;
  /** Of HTTP that is seen. */
  readonly inspect: InspectRequest;
  /**
   * Ends what sends more than a limit permits or, where it can be read, has a placeholder in it;
   * `null`: neither is looked for.
   */
  guard(isReadable: boolean): Transform | null;
  /** @throws DialError, which is recorded */
  dial(): Promise<Dialled>;
  /** Ends it: what the client asked for is not what it may have. */
  refuse(rule: string): void;
  /** Records why it failed, or why a request of it was refused. */
  failed(rule: string): void;
}
