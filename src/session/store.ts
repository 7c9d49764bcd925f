/**
 * Session and execution records in one SQLite file, owned by one daemon: the exclusive lock is
 * taken at open and ends with the process, however it ends. No variable's value is ever in it.
 */
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { TrlError } from '../errors.ts';

/**
 * `surveys`: a session's workspace as it was before the session's first command. `owners`: who made
 * sessions that are gone, for what their commands left. `keys`: which keys were used for calls that
 * nothing else remembers. `projects`: directories that the user trusted.
 */
export type StateTable =
  | 'sessions'
  | 'execs'
  | 'surveys'
  | 'approvals'
  | 'workspaces'
  | 'owners'
  | 'keys'
  | 'projects';
const tables: readonly StateTable[] = [
  'sessions',
  'execs',
  'surveys',
  'approvals',
  'workspaces',
  'owners',
  'keys',
  'projects',
];

export interface StateRow {
  readonly id: string;
  readonly json: string;
}

const retryMs = 1_000;

function written(place: string, write: () => unknown): void {
  try {
    write();
  } catch (cause) {
    const said = cause instanceof Error ? cause.message : String(cause);
    const why = said.includes('full')
      ? 'no space is left on the disk, it is full; free some'
      : said;
    const message = `Cannot keep the records of the runtime in "${place}": ${why}`;
    throw new TrlError('BACKEND_UNAVAILABLE', message, { cause });
  }
}

const keyOf = (table: StateTable, id: string): string => `${table} ${id}`;

export class StateStore {
  readonly #path: string;
  readonly #db: DatabaseSync;
  readonly #put: Readonly<Record<StateTable, StatementSync>>;
  readonly #soon = new Map<string, () => void>();

  /**
   * @param path a file in the state directory, or `:memory:`
   * @throws TrlError `BACKEND_UNAVAILABLE` when another daemon owns the state directory
   */
  constructor(path: string) {
    this.#path = path;
    try {
      this.#db = new DatabaseSync(path, { timeout: 0 });
      this.#db.exec('PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL;');
      // A power cut may take the newest records, which the audit log has, and never all of
      // them: with OFF it left files that could not be opened.
      this.#db.exec('PRAGMA synchronous=NORMAL; BEGIN IMMEDIATE;');
      for (const table of tables) {
        this.#db.exec(
          `CREATE TABLE IF NOT EXISTS ${table}(id TEXT PRIMARY KEY, json TEXT) STRICT;`,
        );
      }
      this.#db.exec('COMMIT');
    } catch (cause) {
      const why = String(cause).includes('locked') ? 'another runtime owns it' : String(cause);
      throw new TrlError('BACKEND_UNAVAILABLE', `Cannot open the state "${path}": ${why}`, {
        cause,
      });
    }
    const upsert = (table: string): StatementSync =>
      this.#db.prepare(
        `INSERT INTO ${table}(id, json) VALUES(?, ?)
         ON CONFLICT(id) DO UPDATE SET json=excluded.json`,
      );
    this.#put = {
      sessions: upsert('sessions'),
      execs: upsert('execs'),
      surveys: upsert('surveys'),
      approvals: upsert('approvals'),
      workspaces: upsert('workspaces'),
      owners: upsert('owners'),
      keys: upsert('keys'),
      projects: upsert('projects'),
    };
  }

  /** @throws TrlError `BACKEND_UNAVAILABLE` when it cannot be written, as on a full disk */
  put(table: StateTable, id: string, value: object): void {
    this.#soon.delete(keyOf(table, id));
    written(this.#path, () => this.#put[table].run(id, JSON.stringify(value)));
  }

  /** Like {@link put}, and on disk when it returns: what an approval permits comes after it. */
  putDurable(table: StateTable, id: string, json: string): void {
    this.#db.exec('PRAGMA synchronous=FULL');
    try {
      written(this.#path, () => this.#put[table].run(id, json));
    } finally {
      this.#db.exec('PRAGMA synchronous=NORMAL');
    }
  }

  /**
   * Like {@link put}, after what is under way: answers do not wait for it. A crash in between
   * loses it, so it is for what is learnt again after one, as an end that the runner still knows.
   */
  putSoon(table: StateTable, id: string, value: object): void {
    if (this.#soon.size === 0) setImmediate(() => this.#flushLater());
    this.#soon.set(keyOf(table, id), () => this.put(table, id, value));
  }

  remove(table: StateTable, id: string): void {
    this.#soon.delete(keyOf(table, id));
    written(this.#path, () => this.#db.prepare(`DELETE FROM ${table} WHERE id=?`).run(id));
  }

  all(table: StateTable): StateRow[] {
    this.#flush();
    return this.#db
      .prepare(`SELECT id, json FROM ${table}`)
      .all()
      .map(({ id, json }) => ({ id: String(id), json: String(json) }));
  }

  close(): void {
    this.#flush();
    this.#db.close();
  }

  /** A disk that is full is no end of the runtime: what could not be written is tried again. */
  #flushLater(): void {
    try {
      this.#flush();
    } catch {
      setTimeout(() => this.#flushLater(), retryMs).unref();
    }
  }

  #flush(): void {
    for (const write of this.#soon.values()) write();
  }
}
