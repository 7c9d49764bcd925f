/** Sessions: durable records, and what belongs to each while the daemon runs. */
import type { ExecId, SessionId } from '../../command.ts';
import { TrlError } from '../../errors.ts';
import { limits, shareTaken } from '../../limits.ts';
import type { SessionView } from '../../protocol/types.ts';
import type { Ground } from '../../run.ts';
import { heldGrants, type SessionRecord } from '../../session/record.ts';
import type { Store } from '../../session/store.ts';
import { GoneOwners } from './gone-owners.ts';
import { isoTime } from '../execs/receipt.ts';

export interface Session {
  record: SessionRecord;
  /** The foreground execution, `starting`, or `null`. */
  busy: ExecId | 'starting' | null;
  /** Settles when the execution that is starting has started, or failed to. */
  starting: Promise<unknown>;
  ground: Promise<Ground> | null;
  /** The policy that the ground was made under. */
  policyVersion?: string;
  /** Secrets whose values were written in the session's commands, by name. */
  typed: readonly string[];
  /** The directory that the ground was made on. */
  place?: string;
}

/** `busyChanged` is told after each change of `busy`, and must not throw. */
function fresh(record: SessionRecord, busyChanged: (session: Session) => void): Session {
  let busy: Session['busy'] = null;
  return {
    // Records of earlier runtimes have what was asked for.
    record: { ...record, grants: heldGrants(record.grants) },
    get busy() {
      return busy;
    },
    set busy(next) {
      busy = next;
      busyChanged(this);
    },
    starting: Promise.resolve(),
    ground: null,
    typed: [],
  };
}

export class Sessions {
  /** Told of each change, and of the end. Must not throw. */
  onChange: (session: Session) => void = () => {};
  readonly #store: Store;
  readonly #all = new Map<SessionId, Session>();
  readonly #gone: GoneOwners;

  constructor(store: Store) {
    this.#store = store;
    this.#gone = new GoneOwners(store);
    for (const { json } of store.all('sessions')) {
      const record: SessionRecord = JSON.parse(json);
      this.#all.set(record.id, this.#fresh(record));
    }
  }

  /** @throws TrlError `MAX_SESSIONS_REACHED` */
  add(record: SessionRecord): Session {
    if (this.#all.size >= limits.sessionRecords.default) {
      throw new TrlError(
        'MAX_SESSIONS_REACHED',
        `Cannot create a session: ${this.#all.size} exist; destroy one first`,
      );
    }
    const owners = function* (all: Iterable<Session>) {
      for (const { record: other } of all) yield other.owner ?? '';
    };
    const { owner = '' } = record;
    const taken = shareTaken(owners(this.#all.values()), owner, limits.sessionRecords.default);
    if (taken !== null) {
      const message = `Cannot create a session: ${taken} sessions; destroy one first`;
      throw new TrlError('MAX_SESSIONS_REACHED', message);
    }
    const session = this.#fresh(record);
    this.#all.set(record.id, session);
    this.#store.put('sessions', record.id, record);
    this.onChange(session);
    return session;
  }

  /** @throws TrlError `SESSION_NOT_FOUND` */
  get(id: SessionId): Session {
    const found = this.#all.get(id);
    if (found === undefined) throw new TrlError('SESSION_NOT_FOUND', `Cannot find session ${id}`);
    return found;
  }

  /** The actor that made it, also when it is gone; `null`: nobody that is known. */
  ownerOf(id: SessionId): string | null {
    return this.#all.get(id)?.record.owner ?? this.#gone.of(id);
  }

  find(id: SessionId): Session | null {
    return this.#all.get(id) ?? null;
  }

  update(session: Session, change: Partial<SessionRecord>): void {
    session.record = { ...session.record, ...change };
    if (this.#all.has(session.record.id)) {
      this.#store.putSoon('sessions', session.record.id, session.record);
      this.onChange(session);
    }
  }

  /** Like {@link update}, and written when it returns: what was taken back must not come again. */
  updateAtOnce(session: Session, change: Partial<SessionRecord>): void {
    session.record = { ...session.record, ...change };
    if (this.#all.has(session.record.id)) {
      this.#store.put('sessions', session.record.id, session.record);
      this.onChange(session);
    }
  }

  remove(id: SessionId): void {
    const found = this.#all.get(id);
    const owner = found?.record.owner;
    if (owner !== undefined) this.#gone.add(id, owner);
    this.#all.delete(id);
    this.#store.remove('sessions', id);
    this.#store.remove('surveys', id);
    if (found !== undefined) this.onChange(found);
  }

  #fresh(record: SessionRecord): Session {
    return fresh(record, (session) => {
      if (this.#all.has(session.record.id)) this.onChange(session);
    });
  }

  all(): Session[] {
    return [...this.#all.values()];
  }

  get size(): number {
    return this.#all.size;
  }
}

export function sessionView({ record, busy, typed }: Session): SessionView {
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
    sandbox: record.grants.sandbox,
    assurance: record.assurance,
    ...(typed.length === 0 ? {} : { typed_secrets: typed }),
  };
}
