/** Ports that sessions show; each ends with its session, and all with the runner. */
import type { SessionId } from '../command.ts';
import { TrlError } from '../errors.ts';
import { connectInside } from './namespace-sockets.ts';
import type { SandboxNamespaces } from './namespaces.ts';
import { ShownPort } from './shown-port.ts';

/** Of one session. */
const portsMax = 16;

export class ShownPorts {
  readonly #namespaces: SandboxNamespaces;
  readonly #shown = new Map<SessionId, Map<number, ShownPort>>();

  constructor(namespaces: SandboxNamespaces) {
    this.#namespaces = namespaces;
  }

  /**
   * Shows a port; one that is shown already keeps its place.
   *
   * @throws TrlError `INVALID_PARAMS` where the session has no network of its own yet;
   *   `QUOTA_EXCEEDED` for too many
   */
  async show(session: SessionId, inner: number): Promise<{ port: number; token: string }> {
    if ((await this.#namespaces.networkOf(session)) === null) {
      const why = 'nothing runs in a network of its own there';
      throw new TrlError('INVALID_PARAMS', `Cannot show a port of ${session}: ${why}`);
    }
    const ports = this.#shown.get(session) ?? new Map<number, ShownPort>();
    this.#shown.set(session, ports);
    const known = ports.get(inner);
    if (known === undefined && ports.size >= portsMax) {
      throw new TrlError('QUOTA_EXCEEDED', `Cannot show a port: ${portsMax} are shown already`);
    }
    const shown = known ?? (await ShownPort.open(inner, () => this.#connect(session, inner)));
    ports.set(inner, shown);
    return { port: shown.port, token: shown.token };
  }

  /** Whether it was shown. */
  hide(session: SessionId, inner: number): boolean {
    const found = this.#shown.get(session)?.get(inner);
    found?.close();
    this.#shown.get(session)?.delete(inner);
    return found !== undefined;
  }

  /** The session has ended. */
  drop(session: SessionId): void {
    for (const shown of this.#shown.get(session)?.values() ?? []) shown.close();
    this.#shown.delete(session);
  }

  async #connect(session: SessionId, inner: number) {
    const namespaces = await this.#namespaces.networkOf(session);
    return namespaces === null ? null : await connectInside(namespaces, inner);
  }
}
