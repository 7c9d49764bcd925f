/** The approval methods: what is pending, who may decide, and when it expires. */
import type { ApprovalId, Caller, ExecId, SessionId, StdinChoice } from '../../command.ts';
import type { Approval } from '../../approval/approval.ts';
import { ApprovalRegistry } from '../../approval/registry.ts';
import type { ApprovalStore, ApprovalPermissions } from '../../approval/registry.ts';
import { ruleText } from '../../approval/lasting-rules.ts';
import type { LastingRule, LastingRules, RuleSubject } from '../../approval/lasting-rules.ts';
import type { Enrolment } from '../../approval/enrolment.ts';
import type { ApprovalSubject } from '../../approval/subject.ts';
import { TrlError } from '../../errors.ts';
import { isTokenAuthenticated } from '../access/access-scope.ts';
import type {
  AnswerScope,
  ApprovalDecideParams,
  ApprovalInputView,
  ApprovalListParams,
  ApprovalStatus,
  ApprovalSubjectView,
  ApprovalView,
} from '../../api/approval.ts';
import { approvalInputView } from './approval-input.ts';
import { proofOfRole, type CallerProof } from './person-proof.ts';
import { isoTime } from '../executions/receipt.ts';
import type { ApprovalService } from '../runtime.ts';

export interface ApprovalServiceOptions {
  readonly store: ApprovalStore;
  readonly enrolment: Enrolment;
  /** Lasting rules, from approvals for a project. */
  readonly rules: LastingRules;
  /** What policy permits for a subject; `null`: for any. */
  readonly permits: (asked: ApprovalSubject | null) => ApprovalPermissions;
  /** Hides known secrets. */
  readonly mask: (text: string) => string;
  /** The standard input that a queued command gets; `null`: it is not known. */
  readonly inputOf: (id: ExecId) => StdinChoice | null;
  /** Whose share of the pending approvals a subject takes. */
  readonly shareHolderOf: (subject: ApprovalSubject) => string;
  /** Unix ms. Default `Date.now`. */
  readonly clock?: () => number;
}

/** The longest that `setTimeout` takes, in ms. */
const timerMsMax = 2 ** 31 - 1;
/** After an expiry that could not be written down. */
const retryMs = 1_000;

const nothing: ReadonlySet<string> = new Set();

export class DaemonApprovalService implements ApprovalService, Disposable {
  /** The approvals themselves, for the queue of commands. */
  readonly approvals: ApprovalRegistry;
  readonly #options: ApprovalServiceOptions;
  readonly #clock: () => number;
  readonly #stop: () => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ApprovalServiceOptions) {
    const { store, permits, shareHolderOf, clock = Date.now } = options;
    this.#options = options;
    this.#clock = clock;
    // Who gives the passphrase is the enrolled person, never the actor of the connection.
    const keepRule = (of: RuleSubject, by: string): void => void options.rules.add(of, by);
    this.approvals = new ApprovalRegistry({
      store,
      permits,
      allowSamePerson: false,
      clock,
      shareHolderOf,
      keepRule,
    });
    this.approvals.load();
    this.#stop = this.approvals.watch(() => this.#schedule());
    this.#schedule();
  }

  listApprovals(_: Caller, params: ApprovalListParams): readonly ApprovalView[] {
    this.approvals.expire();
    const { state, session_id: session } = params;
    const filter = {
      ...(state === undefined ? {} : { state }),
      ...(session === undefined ? {} : { session }),
    };
    return this.approvals.list(filter).map((one) => this.view(one));
  }

  getApproval(_: Caller, id: ApprovalId): ApprovalView {
    this.approvals.expire();
    return this.view(this.approvals.get(id));
  }

  /** The lasting rule that covers a subject; none if policy allows no lasting answers. */
  ruleFor(asked: ApprovalSubject): LastingRule | null {
    const { rule } = asked;
    if (rule === undefined || !this.#options.permits(asked).sessionScope) return null;
    return this.#options.rules.find(rule);
  }

  /** Values that the person's rules show in a project. */
  revealed(workspace: ApprovalSubject['workspace'], requester: string): ReadonlySet<string> {
    return workspace === null ? nothing : this.#options.rules.revealed(workspace, requester);
  }

  /**
   * Host rules that the person's answers let commands reach. What was answered for `exec` itself is
   * not among them: it starts by that answer.
   */
  allowedHosts(
    workspace: ApprovalSubject['workspace'],
    by: { readonly requester: string; readonly session: SessionId; readonly exec: ExecId },
  ): readonly string[] {
    const { requester, session, exec } = by;
    const ofProject = workspace === null ? [] : this.#options.rules.hosts(workspace, requester);
    const own = this.approvals.list({ session }).filter(({ execId }) => execId === exec);
    const asked = new Set(own.flatMap(({ asked: { hosts = [] } }) => hosts));
    const all = [...ofProject, ...this.approvals.sessionHosts(session)];
    return all.filter((host) => !asked.has(host));
  }

  /** As a person sees it: with the input of a command that waits. */
  view(approval: Approval): ApprovalView {
    const stdin = approval.state === 'pending' ? this.#options.inputOf(approval.execId) : null;
    const view = approvalView(approval, approvalInputView(stdin, this.#options.mask));
    return approval.state === 'pending' ? { ...view, scopes: this.#scopesOf(approval) } : view;
  }

  /**
   * @throws TrlError `AUTH_FAILED` without the enrolled person's passphrase, or where policy takes
   *   no decision that only the uid proves; `QUOTA_EXCEEDED` after too many wrong ones; what
   *   {@link ApprovalRegistry.decide} throws
   */
  async decideApproval(caller: Caller, params: ApprovalDecideParams): Promise<ApprovalView> {
    const { approval_id: id, decision, scope, words, digest, passphrase } = params;
    const approval = this.approvals.get(id);
    const by = await this.#prove(approval, caller, passphrase);
    const optional = {
      ...(scope === undefined ? {} : { scope }),
      ...(words === undefined || words === '' ? {} : { words }),
    };
    return this.view(this.approvals.decide(id, { decision, digest, by, ...optional }));
  }

  watchApprovals(_: Caller, tell: (view: ApprovalView) => void): () => void {
    this.approvals.expire();
    for (const approval of this.approvals.list({ state: 'pending' })) tell(this.view(approval));
    let isOn = true;
    const leave = this.approvals.watch((approval) => {
      // Input can be shown only after the command is queued.
      queueMicrotask(() => isOn && tell(this.view(approval)));
    });
    return () => {
      isOn = false;
      leave();
    };
  }

  approvalStatus(): ApprovalStatus {
    const { sameUid } = this.#options.permits(null);
    return { enrolled: this.#isEnrolled(), same_uid_allowed: sameUid };
  }

  [Symbol.dispose](): void {
    this.#stop();
    clearTimeout(this.#timer);
  }

  /** How long an approval may be valid. */
  #scopesOf({ asked }: Approval): readonly AnswerScope[] {
    if (!this.#options.permits(asked).sessionScope) return ['once'];
    return asked.rule === undefined ? ['once', 'session'] : ['once', 'session', 'project'];
  }

  async #prove(
    { id, asked }: Approval,
    caller: Caller,
    passphrase: string | undefined,
  ): Promise<{ readonly actor: string; readonly proof: CallerProof }> {
    const { actor } = caller;
    if (isTokenAuthenticated(caller)) {
      const proof = proofOfRole(caller);
      // A token that may ask and answer would be an agent's way around the person.
      const isAsker = actor === asked.requester;
      if (proof !== null && !isAsker) return { actor, proof };
      const why = isAsker ? 'who asked may not decide' : "this token is an agent's";
      throw new TrlError('AUTH_FAILED', `Cannot decide ${id}: ${why}`);
    }
    const approver = this.#options.enrolment.approver();
    if (approver === null) return { actor, proof: 'same_uid' };
    if (passphrase === undefined) {
      throw new TrlError('AUTH_FAILED', `Cannot decide ${id}: the passphrase is needed`);
    }
    if (await this.#options.enrolment.verify(passphrase)) {
      return { actor: `approver:${approver}`, proof: 'passphrase' };
    }
    throw new TrlError('AUTH_FAILED', `Cannot decide ${id}: the passphrase is wrong`);
  }

  /** An enrolment that cannot be read is one: nobody may decide without it. */
  #isEnrolled(): boolean {
    try {
      return this.#options.enrolment.approver() !== null;
    } catch {
      return true;
    }
  }

  /** Approvals expire by a timer, so that everyone who waits is notified in time. */
  #schedule(atLeastMs = 0): void {
    clearTimeout(this.#timer);
    const due = this.approvals.nextDue();
    if (due === null) return;
    const waitMs = Math.min(Math.max(0, due - this.#clock()), timerMsMax);
    this.#timer = setTimeout(
      () => {
        try {
          this.approvals.expire();
          this.#schedule();
        } catch {
          // A full disk is no end: what is overdue is refused all the same.
          this.#schedule(retryMs);
        }
      },
      Math.max(atLeastMs, waitMs),
    );
    this.#timer.unref();
  }
}

function approvalView(approval: Approval, input: ApprovalInputView | null): ApprovalView {
  const { answer, asked, supersededBy, changes } = approval;
  const decided =
    answer === null
      ? {}
      : {
          scope: answer.scope,
          decided_at: isoTime(answer.at),
          decided_by: answer.by.actor,
          ...(answer.by.proof === 'same_uid' ? { same_uid: true as const } : {}),
          ...(answer.words === null ? {} : { words: answer.words }),
        };
  return {
    approval_id: approval.id,
    exec_id: approval.execId,
    session_id: asked.session,
    state: approval.state,
    digest: approval.digest,
    created_at: isoTime(approval.createdAt),
    expires_at: isoTime(approval.expiresAt),
    requester: asked.requester,
    asked: { ...askedView(asked), ...(input === null ? {} : { input }) },
    verdict: approval.verdict,
    ...decided,
    ...(supersededBy === null ? {} : { superseded_by: supersededBy }),
    ...(changes.length === 0 ? {} : { changes }),
  };
}

function askedView(asked: ApprovalSubject): ApprovalSubjectView {
  return {
    command: asked.command,
    ...(asked.language === undefined ? {} : { language: asked.language }),
    ...(asked.tool === undefined ? {} : { tool: asked.tool }),
    shell: asked.shell,
    mode: asked.mode,
    cwd: asked.cwd,
    workspace: asked.workspace?.path ?? null,
    network: asked.network,
    ...(asked.hosts === undefined ? {} : { hosts: asked.hosts }),
    ...(asked.brokered === undefined ? {} : { brokered: asked.brokered }),
    sandbox: { kind: asked.sandbox.kind, level: asked.sandbox.level },
    files: asked.files,
    stdin: asked.stdin.kind,
    pty: asked.pty !== null,
    timeout_ms: asked.bounds.timeoutMs,
    variables: asked.env.map(({ name }) => name),
    contents: asked.contents,
    ...(asked.rule === undefined ? {} : { rule: ruleText(asked.rule) }),
    ...(asked.binding === undefined ? {} : { binding: asked.binding }),
    argv: asked.argv,
  };
}
