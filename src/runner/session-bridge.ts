/** A session's way to hosts, as the runner's commands use it; `egress-process.ts` makes them. */
import type { ExecId, Plan } from '../command.ts';
import type { BridgeAuthority, BridgeId } from '../egress/wire.ts';
import { TrlError } from '../errors.ts';
import type { ConnectionSummary, EgressRules, LiveConnection } from '../network-access.ts';

/** Paths of a session's namespaces. */
export interface BridgedNamespaces {
  readonly perl: string | null;
  readonly user: string;
  readonly network: string;
}

/** The process that bridges lead to. */
export interface Egress {
  begin(bridge: SessionBridge, exec: ExecId, rules: EgressRules): Promise<void>;
  end(bridge: SessionBridge, exec: ExecId): Promise<readonly ConnectionSummary[]>;
  answer(bridge: SessionBridge, answer: HostAnswer): void;
  block(bridge: SessionBridge, host: string): void;
  live(bridge: SessionBridge): Promise<readonly LiveConnection[]>;
  forget(bridge: SessionBridge): void;
}

/** A connection of a command that is held. */
export interface HostQuestion {
  readonly exec: ExecId;
  readonly host: string;
  readonly port: number;
}

export interface HostAnswer {
  readonly host: string;
  readonly port: number;
  readonly allow: boolean;
}

/** A session's way out, for the commands in its namespaces. */
export class SessionBridge {
  readonly id: BridgeId;
  readonly namespaces: BridgedNamespaces;
  readonly authority: BridgeAuthority;
  /** In the order of their addresses. */
  readonly names: string[] = [];
  readonly commands = new Map<ExecId, EgressRules>();
  /** Names that a person wants no connection to. */
  readonly blocked = new Set<string>();
  readonly #egress: Egress;
  #users = 1;
  /** Settles when the present egress process has the sockets. */
  ready: Promise<void> = Promise.resolve();

  constructor(
    egress: Egress,
    id: BridgeId,
    {
      namespaces,
      authority,
    }: { readonly namespaces: BridgedNamespaces; readonly authority: BridgeAuthority },
  ) {
    this.#egress = egress;
    this.id = id;
    this.namespaces = namespaces;
    this.authority = authority;
  }

  /**
   * From now on the command's rules hold.
   *
   * @throws TrlError `SANDBOX_UNAVAILABLE` where there is no egress process
   */
  async begin(exec: ExecId, rules: EgressRules): Promise<void> {
    this.commands.set(exec, rules);
    try {
      await this.#begin(exec, rules);
    } catch {
      // The process ended just now: another one has taken over, or cannot.
      await this.#begin(exec, rules).catch((error: unknown) => {
        this.commands.delete(exec);
        throw error;
      });
    }
  }

  async #begin(exec: ExecId, rules: EgressRules): Promise<void> {
    await this.ready;
    await this.#egress.begin(this, exec, rules);
  }

  /** What it connected to; empty where the egress process ended meanwhile. */
  async end(exec: ExecId): Promise<readonly ConnectionSummary[]> {
    this.commands.delete(exec);
    return await this.#egress.end(this, exec);
  }

  /** What a person said about a host, for the commands that run. */
  answer(answer: HostAnswer): void {
    this.#egress.answer(this, answer);
  }

  /** From now on, also where another egress process takes over. */
  block(host: string): void {
    this.blocked.add(host);
    this.#egress.block(this, host);
  }

  async live(): Promise<readonly LiveConnection[]> {
    return await this.#egress.live(this);
  }

  use(): void {
    this.#users += 1;
  }

  /** Closed with its last use. */
  release(): void {
    this.#users -= 1;
    if (this.#users === 0) this.#egress.forget(this);
  }
}

/**
 * Lets a command that is about to start reach the hosts of its rules.
 *
 * @throws TrlError `SANDBOX_UNAVAILABLE` for rules that nothing here can hold
 */
export async function connectCommand(
  bridge: SessionBridge | null,
  { exec_id: exec, egress }: Plan,
): Promise<void> {
  if (egress === undefined) return;
  if (bridge === null) throw unavailable('its namespaces have no bridge');
  await bridge.begin(exec, egress);
}

/** Ends what {@link connectCommand} began; `null`: it has no rules. */
export async function disconnectCommand(
  bridge: SessionBridge | null,
  { exec_id: exec, egress }: Plan,
): Promise<readonly ConnectionSummary[] | null> {
  return egress === undefined ? null : ((await bridge?.end(exec)) ?? []);
}

export function unavailable(text: string): TrlError {
  const message = `Cannot connect the sandbox to its hosts: ${text}`;
  return new TrlError('SANDBOX_UNAVAILABLE', message, { data: { reason: 'bridge' } });
}
