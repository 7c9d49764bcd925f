/**
 * The audit log on the wire. Every process on the socket has the uid of the user, also an agent.
 * Without proof of a person, a caller sees only the events of the session that it names, and not
 * the findings that blocked a publication.
 */
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Enrolment } from '../../approval/enrolment.ts';
import type { EventFilter, AuditLogEntry } from '../../audit/read-events.ts';
import type { LogReport } from '../../audit/log-check.ts';
import type { Caller } from '../../command.ts';
import { TrlError } from '../../errors.ts';
import { limits } from '../../limits.ts';
import type {
  AuditEventView,
  AuditGetParams,
  AuditListParams,
  AuditLogView,
  AuditVerifyParams,
} from '../../api/audit.ts';
import type { MethodAnswers } from '../../api/methods.ts';
import { isTokenAuthenticated } from '../access/access-scope.ts';
import type { AuditService } from '../runtime.ts';

export interface AuditServiceOptions {
  /** `$XDG_STATE_HOME/trl/audit` */
  readonly directory: string;
  readonly enrolment: Pick<Enrolment, 'approver' | 'verify'>;
}

export class DaemonAuditService implements AuditService {
  readonly #options: AuditServiceOptions;
  /** Queries run one at a time: each reads files of any size. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: AuditServiceOptions) {
    this.#options = options;
  }

  async list(caller: Caller, params: AuditListParams): Promise<MethodAnswers['audit.list']> {
    const sees = await this.#visibility(caller, params, 'Cannot list what was recorded');
    const limit = params.limit ?? limits.auditListed.default;
    const filter: EventFilter = {
      exec: params.exec_id,
      session: params.session_id,
      kinds: params.kinds,
      actor: params.actor,
      since: timeOf(params.since),
      until: timeOf(params.until),
    };
    // One additional event shows whether there are more.
    const query = { filter, limit: limit + 1 };
    const found = await this.#runAlone(async () =>
      (await loadQueries()).queryLogs('newest', this.#options.directory, query),
    );
    return {
      events: found.slice(0, limit).map((one) => viewOf(one, sees)),
      truncated: found.length > limit,
    };
  }

  async get(caller: Caller, params: AuditGetParams): Promise<MethodAnswers['audit.get']> {
    const { directory } = this.#options;
    const { log, seq, session_id: session } = params;
    const sees = await this.#visibility(caller, params, 'Cannot show what was recorded');
    const found = await this.#runAlone(async () =>
      (await loadQueries()).queryLogs('event', directory, { log, seq }),
    );
    // An event of another session gives the same answer as a missing event.
    const isTheirs = sees === 'all' || (found !== null && found.event.session === session);
    if (found === null || !isTheirs) {
      throw new TrlError('EXEC_NOT_FOUND', `Cannot find event ${seq} of log ${log}`);
    }
    return viewOf(found, sees);
  }

  async verify(caller: Caller, params: AuditVerifyParams): Promise<MethodAnswers['audit.verify']> {
    const action = 'Cannot check the audit log';
    if ((await this.#visibility(caller, { ...params, session_id: '' }, action)) !== 'all') {
      throw new TrlError('AUTH_FAILED', `${action}: a person does it, or "trl audit verify"`);
    }
    const { directory } = this.#options;
    if (!existsSync(path.join(directory, 'logs'))) return { good: true, findings: [], logs: [] };
    const query = { publicKeyFile: path.join(directory, 'key.pub'), heads: params.heads ?? [] };
    const report = await this.#runAlone(async () =>
      (await loadQueries()).queryLogs('verify', directory, query),
    );
    return {
      good: report.isGood,
      findings: report.findings.map(({ kind, text }) => ({ kind, text })),
      logs: report.logs.map(logView),
    };
  }

  /**
   * @throws TrlError `AUTH_FAILED` for a wrong passphrase, or if the call neither proves a person
   *   nor names a session
   */
  async #visibility(
    caller: Caller,
    given: { readonly session_id?: string; readonly passphrase?: string },
    action: string,
  ): Promise<'all' | 'session'> {
    if (isTokenAuthenticated(caller) && caller.roles.some((role) => role !== 'agent')) return 'all';
    if (given.passphrase !== undefined) {
      const { enrolment } = this.#options;
      if (enrolment.approver() !== null && (await enrolment.verify(given.passphrase))) return 'all';
      throw new TrlError(
        'AUTH_FAILED',
        `${action}: the passphrase is wrong, or nobody is enrolled`,
      );
    }
    if (given.session_id !== undefined) return 'session';
    const how = 'name a session, or prove to be a person; "trl audit log" reads the files itself';
    throw new TrlError('AUTH_FAILED', `${action} of all sessions: ${how}`);
  }

  #runAlone<Answer>(act: () => Promise<Answer>): Promise<Answer> {
    const mine = this.#last.then(act, act);
    this.#last = mine.catch(() => {});
    return mine;
  }
}

/** Loaded at the first call, so that commands do not wait for it. */
const loadQueries = () => import('./log-queries.ts');

const timeOf = (iso: string | undefined): number | undefined =>
  iso === undefined ? undefined : Date.parse(iso);

function viewOf({ log, seq, leaf, event }: AuditLogEntry, sees: 'all' | 'session'): AuditEventView {
  const { kind, at, actor, session, exec, data } = event;
  const isGate = kind.startsWith('publication.');
  return {
    log,
    seq,
    leaf,
    at: new Date(at).toISOString(),
    kind,
    actor,
    ...(session === undefined ? {} : { session_id: session }),
    ...(exec === undefined ? {} : { exec_id: exec }),
    data: sees === 'session' && isGate ? { withheld: true } : data,
  };
}

function logView(report: LogReport): AuditLogView {
  const { log, events, heads, bytes, head, isGood, findings, findingCount } = report;
  return { log, events, heads, bytes, head, good: isGood, findings, finding_count: findingCount };
}
