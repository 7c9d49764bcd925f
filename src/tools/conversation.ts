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
  let known: Promise<SessionId> | null = null;
  const create = async (called: string): Promise<SessionId> => {
    const params = {
      working_dir: root,
      policy,
      shell,
      name: called,
      lifetime,
    } as const;
    return (await client.createSession(params)).id;
  };
  const find = async (): Promise<SessionId> => {
    const found = (await client.sessions()).find(
      (one) => one.name === name && one.state !== 'terminated' && one.workspace !== null,
    );
    return found?.session_id ?? create(name);
  };
  const isThere = async (id: SessionId): Promise<boolean> => {
    try {
      return (await client.session(id).info()).state !== 'terminated';
    } catch (error) {
      if (isTrlError(error, 'SESSION_NOT_FOUND')) return false;
      throw error;
    }
  };
  const session = async (): Promise<SessionId> => {
    const before = known;
    if (before !== null) {
      const id = await before.catch(() => null);
      if (id !== null && (await isThere(id))) return id;
      // Of several calls that find it gone, one makes another.
      if (known !== before && known !== null) return known;
    }
    known = find();
    return known;
  };
  const likely = async (): Promise<SessionId> => (await known?.catch(() => null)) ?? session();
  return { session, likely, open: () => create(`${name} +`), parked: new Map() };
}
