/** The default session of a conversation, found again by its name. */
import type { CacheTool } from '../caches.ts';
import type { PolicyProfile } from '../command.ts';
import type { Client, SessionId } from '../client/index.ts';
import { isTrlError } from '../errors.ts';
import type { Conversation } from './tool.ts';

export interface ConversationOptions {
  readonly client: Client;
  /** Where its sessions start, absolute; a function is called when a session is created. */
  readonly root: string | (() => Promise<string>);
  /** Name of the default session; an equal name means the same session. */
  readonly name: string;
  /** What the commands of its sessions must pass besides the runtime's policy; default `auto`. */
  readonly policy?: PolicyProfile;
  /** Programs whose caches of the host's user its sessions can read; default: none. */
  readonly shareCache?: readonly CacheTool[];
  /** Default `/bin/bash`, or the runtime's replacement. */
  readonly shell?: string;
  /** Whether its sessions end with the client; default: they remain. */
  readonly endsWithClient?: boolean;
  /** Whether calls may use only its own sessions; default: all that the client may use. */
  readonly isAlone?: boolean;
}

/**
 * Creates sessions at their first use, so that a client that only lists tools creates none. A
 * session that has ended is replaced.
 */
export function createConversation(options: ConversationOptions): Conversation {
  const { client, root, name, policy = 'auto', shell = '/bin/bash', shareCache } = options;
  const lifetime = options.endsWithClient === true ? 'client' : 'kept';
  const known = new Set<SessionId>();
  const create = async (
    called: string,
    network: 'off' | 'hosts' | 'host' = 'off',
  ): Promise<SessionId> => {
    const params = {
      working_dir: await placeOf(root),
      policy,
      shell,
      name: called,
      lifetime,
      ...(shareCache === undefined ? {} : { share_cache: shareCache }),
    } as const;
    const { id } = await client.createSession(network === 'off' ? params : { ...params, network });
    known.add(id);
    return id;
  };
  const [net, hosts, more] = [`${name} network`, `${name} hosts`, `${name} +`];
  const own = new NamedSession(client, name, () => create(name));
  const online = new NamedSession(client, net, () => create(net, 'host'));
  const toHosts = new NamedSession(client, hosts, () => create(hosts, 'hosts'));
  const mayUse = async (id: SessionId): Promise<boolean> => {
    if (known.has(id)) return true;
    // An earlier server of the conversation may have created it.
    for (const one of await client.sessions()) {
      if ([name, net, hosts, more].includes(one.name ?? '')) known.add(one.session_id);
    }
    return known.has(id);
  };
  return {
    session: () => own.id(),
    cachedSession: () => own.likely(),
    newSession: () => create(more),
    networkSession: () => online.id(),
    hostsSession: () => toHosts.id(),
    ...(options.isAlone === true ? { mayUse } : {}),
    queuedExecutions: new Map(),
    files: new Map(),
    background: new Map(),
  };
}

const placeOf = async (root: ConversationOptions['root']): Promise<string> =>
  typeof root === 'string' ? root : root();

/** Found by its name, or created. */
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
      // Of several calls that find it gone, one creates a replacement.
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
