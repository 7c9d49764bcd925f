/**
 * Questions about hosts that running commands are held at. Each is an approval of its own, which
 * starts nothing: its answer lets the held connection go on, or resets it. It outlives a program
 * that gives up, so that the answer counts when it is run again.
 */
import type { Approval } from '../../approval/approval.ts';
import type { ApprovalRegistry } from '../../approval/registry.ts';
import { createHostSubject } from '../../approval-subject.ts';
import type { ApprovalId, ExecId } from '../../command.ts';
import type { AuthorizedExecution, ExecutionContext } from '../../execution.ts';
import { webPorts } from '../../network/host-rules.ts';
import { hostRules } from '../../policy/decide.ts';
import type { Runners } from '../runners.ts';

interface HeldCommand {
  readonly context: ExecutionContext;
  readonly authorized: AuthorizedExecution;
}

interface HeldConnection {
  readonly exec: ExecId;
  readonly host: string;
  readonly port: number;
}

export class HostQuestions {
  readonly #approvals: ApprovalRegistry;
  readonly #runners: Pick<Runners, 'answerHost'>;
  readonly #commands = new Map<ExecId, HeldCommand>();
  /** What waits for each approval. */
  readonly #held = new Map<ApprovalId, HeldConnection[]>();

  constructor(approvals: ApprovalRegistry, runners: Pick<Runners, 'answerHost'>) {
    this.#approvals = approvals;
    this.#runners = runners;
    approvals.watch((approval) => this.#follow(approval));
  }

  /** From now on the command may be held; until its promise settles. */
  expect(command: HeldCommand, ended: Promise<unknown>): void {
    const { plan } = command.authorized.approved;
    if (plan.egress?.ask !== true) return;
    this.#commands.set(plan.exec_id, command);
    const forget = (): void => void this.#commands.delete(plan.exec_id);
    void ended.then(forget, forget);
  }

  /** A command is held. Never throws: what cannot be asked is refused. */
  ask(exec: ExecId, host: string, port: number): void {
    const command = this.#commands.get(exec);
    // Of an earlier runtime: nothing more is known of it, and the connection ends by itself.
    if (command === undefined) return;
    const rule = webPorts.includes(port) ? host : `${host}:${port}`;
    const { context, authorized } = command;
    const subject = createHostSubject(context, authorized, rule);
    const verdict = { ...authorized.verdict, decision: 'ask', rules: hostRules([rule]) } as const;
    try {
      const { id } = this.#approvals.ask(subject, verdict, exec);
      this.#held.set(id, [...(this.#held.get(id) ?? []), { exec, host, port }]);
    } catch {
      this.#answer([{ exec, host, port }], false);
    }
  }

  #follow({ id, state }: Approval): void {
    const held = this.#held.get(id);
    if (held === undefined || state === 'pending') return;
    this.#held.delete(id);
    const isApproved = state === 'approved';
    // Not within the change of state that this follows.
    if (isApproved) queueMicrotask(() => this.#use(id, held));
    else this.#answer(held, false);
  }

  #use(id: ApprovalId, held: readonly HeldConnection[]): void {
    try {
      this.#approvals.use(id);
      this.#answer(held, true);
    } catch {
      // It could not be recorded that it was used: then it is not.
      this.#answer(held, false);
    }
  }

  #answer(held: readonly HeldConnection[], allow: boolean): void {
    for (const { exec, host, port } of held) {
      // The command may have ended, or the runner with it.
      this.#runners.answerHost(exec, { host, port, allow }).catch(() => {});
    }
  }
}
