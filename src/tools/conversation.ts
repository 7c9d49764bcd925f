/** The default session of a conversation, found again by its name. */
import type { Client, SessionId } from '../client/index.ts';
import { isTrlError } from '../errors.ts';
import type { Conversation, ToolPolicy } from './tool.ts';

export interface ConversationOptions {
  readonly client: Client;
  /** Where its sessions start, absolute. */
  readonly root: string;
  /** What the default session is called; an equal name means the same session. */
  readonly name: string;
  /** What the commands of its sessions must pass besides the runtime's policy; default `auto`. */
  readonly policy?: ToolPolicy;
  /** Default `/bin/bash`, or what the runtime has in its place. */
  readonly shell?: string;
  /** Whether its sessions end with the client; default: they are kept. */
  readonly endsWithClient?: boolean;
}

/**
 * Sessions are made at their first use, so that a client which only lists tools makes none. One
 * that ended meanwhile is replaced.
 */
export function conversation(options: ConversationOptions): Conversation {
  const { client, root, name, policy = 'auto', shell = '/bin/bash' } = options;
  const lifetime = options.endsWithClient === true ? 'client' : 'kept';
  const create = async (called: string, network: 'off' | 'on' = 'off'): Promise<SessionId> => {
    const params = { working_dir: root, policy, shell, name: called, lifetime } as const;
    return (await client.createSession(network === 'on' ? { ...params, network } : params)).id;
  };
  const own = new NamedSession(client, name, () => create(name));
  const net = `${name} network`;
  const online = new NamedSession(client, net, () => create(net, 'on'));
  return {
    session: () => own.id(),
    likely: () => own.likely(),
    open: () => create(`${name} +`),
    online: () => online.id(),
    parked: new Map(),
  };
}

/** Found by its name, or made. */
class NamedSession {
  readonly #client: Client;
  readonly #name: string;
  readonly #make: () => Promise<SessionId>;
  #known: Promise<SessionId> | null = null;

  constructor(client: Client, name: string, make: () => Promise<SessionId>) {
    this.#client = client;
    this.#name = name;
    this.#make = make;
  }

  async id(): Promise<SessionId> {
    const before = this.#known;
    if (before !== null) {
      const id = await before.catch(() => null);
      if (id !== null && (await this.#isThere(id))) return id;
      // Of several calls that find it gone, one makes another.
      if (this.#known !== before && this.#known !== null) return this.#known;
    }
    this.#known = this.#find();
    return this.#known;
  }

  async likely(): Promise<SessionId> {
    return (await this.#known?.catch(() => null)) ?? this.id();
  }

  async #find(): Promise<SessionId> {
    const found = (await this.#client.sessions()).find(
      (one) => one.name === this.#name && one.state !== 'terminated' && one.workspace !== null,
    );
    return found?.session_id ?? this.#make();
  }

  async #isThere(id: SessionId): Promise<boolean> {
    try {
      return (await this.#client.session(id).info()).state !== 'terminated';
    } catch (error) {
      if (isTrlError(error, 'SESSION_NOT_FOUND')) return false;
      throw error;
    }
  }
}
