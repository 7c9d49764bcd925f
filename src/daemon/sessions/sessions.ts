/** Sessions: durable records, and what belongs to each while the daemon runs. */
import type { Caller, ExecId, SessionId } from '../../command.ts';
import { TrlError } from '../../errors.ts';
import { limits, fairShareRefusal } from '../../limits.ts';
import type { SessionView } from '../../api/session.ts';
import type { ExecutionContext } from '../../execution.ts';
import { effectiveGrants, type SessionRecord } from '../../session/record.ts';
import { Clients } from '../access/clients.ts';
import { Listeners } from '../listeners.ts';
import type { StateStore } from '../../session/store.ts';
import { viewIdOf } from '../../session/views.ts';
import { EndedSessionOwners } from './ended-session-owners.ts';
import { isoTime } from '../executions/receipt.ts';

export interface LiveSession {
  record: SessionRecord;
  /** The foreground execution, `starting`, or `null`. */
  busy: ExecId | 'starting' | null;
  /** Settles when the execution that is starting has started, or failed to. */
  starting: Promise<unknown>;
  context: Promise<ExecutionContext> | null;
  /** The policy that the context was made under. */
  policyVersion?: string;
  /** Secrets whose values were written in the session's commands, by name. */
  typedSecrets: readonly string[];
  /** The directory that the context was made for. */
  contextDirectory?: string;
  /** Of the files with credentials that the context shows. */
  credentialFilesMark?: string;
  /** Whether the runner may keep namespaces for it: it had a command since the runner started. */
  mayHoldNamespaces: boolean;
  /** When its client left, Unix ms; absent: it is there, or this daemon never saw it. */
  leftAt?: number;
}

/** What of a caller says whose share it takes. */
interface Sharer {
  readonly actor: string;
  readonly client?: string | undefined;
}

/** Whose share a caller takes. */
const callerKey = ({ actor, client }: Sharer): string =>
  client === undefined || actor.startsWith('token:') ? actor : `client ${client}`;

/** `busyChanged` is called after each change of `busy`, and must not throw. */
function fresh(record: SessionRecord, busyChanged: (session: LiveSession) => void): LiveSession {
  let busy: LiveSession['busy'] = null;
  return {
    // Records of earlier runtimes have what was asked for.
    record: { ...record, grants: effectiveGrants(record.grants) },
    get busy() {
      return busy;
    },
    set busy(next) {
      busy = next;
      busyChanged(this);
    },
    starting: Promise.resolve(),
    context: null,
    typedSecrets: [],
    mayHoldNamespaces: record.assurance !== null,
  };
}

export class Sessions {
  readonly clients = new Clients();
  readonly #listeners = new Listeners<[LiveSession]>();
  readonly #store: StateStore;
  readonly #all = new Map<SessionId, LiveSession>();
  readonly #gone: EndedSessionOwners;
  readonly #max: number;

  constructor(store: StateStore, max: number) {
    this.#store = store;
    this.#max = max;
    this.#gone = new EndedSessionOwners(store);
    for (const { json } of store.all('sessions')) {
      const record: SessionRecord = JSON.parse(json);
      this.#all.set(record.id, this.#fresh(record));
    }
  }

  /** Reports each change of a session, and its end. The listener must not throw. */
  watch(listener: (session: LiveSession) => void): () => void {
    return this.#listeners.add(listener);
  }

  /** @throws TrlError `MAX_SESSIONS_REACHED` */
  add(record: SessionRecord, caller: Sharer): LiveSession {
    const refuse = (why: string): never => {
      const message = `Cannot create a session: ${why}; first ${this.endingAdvice(caller)}`;
      throw new TrlError('MAX_SESSIONS_REACHED', message);
    };
    if (this.#all.size >= this.#max) refuse(`${this.#all.size} exist`);
    const holders = Array.from(this.#all.values(), (one) => this.shareHolderOf(one));
    const taken = fairShareRefusal(holders, callerKey(caller), this.#max);
    if (taken !== null) refuse(`${taken} sessions`);
    const { client } = caller;
    const session = this.#fresh(client === undefined ? record : { ...record, client });
    this.#all.set(record.id, session);
    this.#store.put('sessions', record.id, session.record);
    this.#listeners.emit(session);
    return session;
  }

  /**
   * Whose share a session takes: its token's, or its client's on the socket. Clients that have left
   * count together: a caller that reconnects for each session is still one caller.
   */
  shareHolderOf({ record: { owner = '', client } }: LiveSession): string {
    return this.clients.isConnected(client) ? callerKey({ actor: owner, client }) : owner;
  }

  /** Whether it lives as long as its client, which has left, and nothing is under way in it. */
  isAbandoned({ record, busy }: LiveSession): boolean {
    const { lifetime, client } = record;
    return lifetime === 'client' && busy === null && !this.clients.isConnected(client);
  }

  /** A client that was killed was started over: its session is the new one's. */
  takeOver(session: LiveSession, { client }: Pick<Caller, 'client'>): void {
    if (client === undefined || !this.isAbandoned(session)) return;
    delete session.leftAt;
    this.update(session, { client });
  }

  /**
   * A clause that names the session of `among` which the caller had best end, and how. `state`:
   * what goes on in it, where that is known.
   */
  endingAdvice(caller: Sharer, among: readonly LiveSession[] = this.all(), state?: string): string {
    const key = callerKey(caller);
    const visible = caller.actor.startsWith('token:')
      ? among.filter(({ record }) => record.owner === caller.actor)
      : among;
    const own = visible.filter((one) => this.shareHolderOf(one) === key);
    const [found] = (own.length === 0 ? visible : own).toSorted(
      (a, b) =>
        Number(a.busy !== null) - Number(b.busy !== null) ||
        a.record.lastActivity - b.record.lastActivity,
    );
    if (found === undefined) return 'try again later';
    const { id, name, lastActivity } = found.record;
    const goesOn =
      state ?? (found.busy === null ? `idle since ${isoTime(lastActivity)}` : 'running');
    const shown = name === null ? goesOn : `${JSON.stringify(name)}, ${goesOn}`;
    const ways = `"trl session destroy ${id}", session.destroy, or the tool terminal_close`;
    return `end a session, such as ${id} (${shown}): ${ways}`;
  }

  /** @throws TrlError `SESSION_NOT_FOUND` */
  get(id: SessionId): LiveSession {
    const found = this.#all.get(id);
    if (found === undefined) throw new TrlError('SESSION_NOT_FOUND', `Cannot find session ${id}`);
    return found;
  }

  /** The actor that made it, also when it is gone; `null`: nobody that is known. */
  ownerOf(id: SessionId): string | null {
    return this.#all.get(id)?.record.owner ?? this.#gone.of(id);
  }

  /**
   * A command whose session ended while it was prepared must not start.
   *
   * @throws TrlError `SESSION_NOT_FOUND`
   */
  refuseEnded(id: SessionId): void {
    if (this.#all.has(id)) return;
    const message = 'The session was destroyed before the command could start';
    throw new TrlError('SESSION_NOT_FOUND', message);
  }

  find(id: SessionId): LiveSession | null {
    return this.#all.get(id) ?? null;
  }

  update(session: LiveSession, change: Partial<SessionRecord>): void {
    session.record = { ...session.record, ...change };
    if (this.#all.has(session.record.id)) {
      this.#store.putSoon('sessions', session.record.id, session.record);
      this.#listeners.emit(session);
    }
  }

  /** Like {@link update}, and written when it returns: what was revoked must not return. */
  updateAtOnce(session: LiveSession, change: Partial<SessionRecord>): void {
    session.record = { ...session.record, ...change };
    if (this.#all.has(session.record.id)) {
      this.#store.put('sessions', session.record.id, session.record);
      this.#listeners.emit(session);
    }
  }

  remove(id: SessionId): void {
    const found = this.#all.get(id);
    const owner = found?.record.owner;
    if (owner !== undefined) this.#gone.add(id, owner);
    this.#all.delete(id);
    this.#store.remove('sessions', id);
    this.#store.remove('surveys', id);
    if (found !== undefined) this.#listeners.emit(found);
  }

  #fresh(record: SessionRecord): LiveSession {
    return fresh(record, (session) => {
      if (this.#all.has(session.record.id)) this.#listeners.emit(session);
    });
  }

  all(): LiveSession[] {
    return [...this.#all.values()];
  }

  /** Those that work in a view of a workspace, or will. */
  listInView(view: string): SessionId[] {
    return this.all().flatMap(({ record }) => (viewIdOf(record) === view ? [record.id] : []));
  }

  /** The runner is a new one. */
  markNamespacesGone(): void {
    for (const session of this.#all.values()) session.mayHoldNamespaces = false;
  }

  get size(): number {
    return this.#all.size;
  }
}

export function sessionViewOf({ record, busy, typedSecrets: typed }: LiveSession): SessionView {
  return {
    session_id: record.id,
    name: record.name,
    state: busy === null ? 'idle' : 'running',
    shell: record.shellAsked,
    ...(record.substituted ? { shell_resolved: record.shell.path } : {}),
    working_dir: record.cwd,
    workspace: record.workspace,
    created_at: isoTime(record.createdAt),
    last_activity: isoTime(record.lastActivity),
    env_keys: record.envKeys,
    injected: record.injected ?? [],
    command_count: record.commandCount,
    timeout_s: Math.ceil((record.bounds.timeout_ms ?? limits.timeoutMs.default) / 1_000),
    network: record.grants.network,
    ...(record.grants.hosts === undefined ? {} : { hosts: record.grants.hosts }),
    sandbox: record.grants.sandbox,
    ...(record.shareCache === undefined ? {} : { share_cache: record.shareCache }),
    assurance: record.assurance,
    ...(typed.length === 0 ? {} : { typed_secrets: typed }),
  };
}
