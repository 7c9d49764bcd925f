/**
 * `trl approvals watch`: an inbox. One question at a time, whole, one key for an answer. It
 * scrolls like any output, so it works in every terminal and what was shown stays there.
 */
import type { AnswerScope, ApprovalView, Client } from '../client/index.ts';
import { isTrlError } from '../errors.ts';
import {
  approvalDetailLines,
  approvalOutcomeLine,
  approvalReference,
  approvalSummaryLines,
} from './approval-text.ts';
import type { CliArguments } from './args.ts';
import { Interrupts } from './interrupts.ts';
import { escapeHiddenText, printJson } from './print.ts';
import { connectRuntime } from './runtime-connection.ts';
import { ControllingTerminal, PromptCancelledError } from './terminal.ts';

/** How long keys are dropped after a question appears: they were meant for what was there. */
const settleMs = 400;
/** The keys that a question takes. */
function helpOf({ scopes = [] }: ApprovalView): string {
  return [
    '[a] approve once',
    ...(scopes.includes('session') ? ['[s] for the session'] : []),
    ...(scopes.includes('project') ? ['[p] for the project, by the rule'] : []),
    '[d] deny  [v] view all  [n] next  [q] quit',
  ].join('  ');
}

export async function runApprovalsWatch(args: CliArguments): Promise<number> {
  using interrupts = new Interrupts();
  const { signal } = interrupts;
  await using client = await connectRuntime(args, { signal });
  try {
    if (args.has('json')) {
      for await (const view of client.watchApprovals(signal)) printJson(view);
      return 0;
    }
    using terminal = ControllingTerminal.open('watch without --json');
    const { enrolled } = await client.approvalStatus();
    return await new Inbox(client, terminal, { enrolled, signal }).run();
  } catch (error) {
    if (signal.aborted) return interrupts.exitCode ?? 0;
    if (error instanceof PromptCancelledError) return 0;
    throw error;
  }
}

interface InboxOptions {
  readonly enrolled: boolean;
  readonly signal: AbortSignal;
}

class Inbox {
  readonly #client: Client;
  readonly #terminal: ControllingTerminal;
  readonly #options: InboxOptions;
  /** What waits, in the order in which it is shown. */
  readonly #waiting = new Map<string, ApprovalView>();
  /** Asked for once and kept in memory until the inbox is left. */
  #passphrase: string | null = null;
  #failure: Error | null = null;
  /** Aborts the wait for a key when the question shown is no longer one, or one came. */
  #turn = new AbortController();
  #current: ApprovalView | null = null;

  constructor(client: Client, terminal: ControllingTerminal, options: InboxOptions) {
    this.#client = client;
    this.#terminal = terminal;
    this.#options = options;
  }

  async run(): Promise<number> {
    const stop = new AbortController();
    const { signal } = this.#options;
    const abort = (): void => {
      stop.abort(signal.reason);
      this.#turn.abort();
    };
    signal.addEventListener('abort', abort, { once: true });
    const listening = this.#listen(stop.signal);
    try {
      this.#terminal.write(`Waiting for questions; [q] quits.\n`);
      while (await this.#step());
      return 0;
    } finally {
      signal.removeEventListener('abort', abort);
      stop.abort(new PromptCancelledError());
      await listening;
    }
  }

  /** Never rejects: its failure is met by the next step. */
  async #listen(signal: AbortSignal): Promise<void> {
    try {
      for await (const view of this.#client.watchApprovals(signal)) this.#take(view);
    } catch (error) {
      this.#failure = error instanceof Error ? error : new Error(String(error));
      this.#turn.abort();
    }
  }

  #take(view: ApprovalView): void {
    const { approval_id: id } = view;
    const isKnown = this.#waiting.has(id);
    if (view.state === 'pending') this.#waiting.set(id, view);
    else this.#waiting.delete(id);
    const isGone = view.state !== 'pending' && this.#current?.approval_id === id;
    if (isGone) this.#terminal.write(`\n${approvalOutcomeLine(view)}\n`);
    if (isGone || (this.#current === null && !isKnown)) this.#turn.abort();
  }

  /** Shows a question where there is one, and takes one key. Answers whether to go on. */
  async #step(): Promise<boolean> {
    this.#options.signal.throwIfAborted();
    if (this.#failure !== null) throw this.#failure;
    this.#turn = new AbortController();
    const [next] = this.#waiting.values();
    if (next !== undefined && this.#current?.approval_id !== next.approval_id) {
      await this.#present(next);
    }
    this.#current = next ?? null;
    let key: string;
    try {
      key = await this.#terminal.key(this.#turn.signal);
    } catch (error) {
      if (this.#turn.signal.aborted) return true;
      throw error;
    }
    return this.#act(key);
  }

  async #present(view: ApprovalView): Promise<void> {
    const { columns } = this.#terminal;
    this.#current = view;
    const more = this.#waiting.size === 1 ? '' : `, ${this.#waiting.size - 1} more wait`;
    this.#terminal.write(`\n${approvalSummaryLines(view, columns).join('\n')}\n`);
    await new Promise((resolve) => setTimeout(resolve, settleMs));
    this.#terminal.discard();
    this.#terminal.write(`${helpOf(view)}${more}\n`);
  }

  async #act(key: string): Promise<boolean> {
    const view = this.#current;
    if (key === 'q') return false;
    if (view === null) return true;
    switch (key) {
      case 'a':
        await this.#decide(view, { decision: 'approve', scope: 'once' });
        break;
      case 's':
        await this.#decide(view, { decision: 'approve', scope: 'session' });
        break;
      case 'p':
        await this.#decide(view, { decision: 'approve', scope: 'project' });
        break;
      case 'd':
        await this.#deny(view);
        break;
      case 'v':
        this.#terminal.write(
          `\n${approvalDetailLines(view, this.#terminal.columns).join('\n')}\n${helpOf(view)}\n`,
        );
        break;
      case 'n':
        // To the end of the queue; the only one is shown again.
        this.#waiting.delete(view.approval_id);
        this.#waiting.set(view.approval_id, view);
        this.#current = null;
        break;
      default:
        this.#terminal.write(`${helpOf(view)}\n`);
    }
    return true;
  }

  async #deny(view: ApprovalView): Promise<void> {
    const words = await this.#terminal.line('Why (may be empty): ', this.#options.signal);
    await this.#decide(view, { decision: 'deny', ...(words === '' ? {} : { words }) });
  }

  async #decide(
    view: ApprovalView,
    answer: {
      readonly decision: 'approve' | 'deny';
      readonly scope?: AnswerScope;
      readonly words?: string;
    },
  ): Promise<void> {
    const { enrolled, signal } = this.#options;
    if (enrolled) this.#passphrase ??= await this.#terminal.secret('Passphrase: ', signal);
    const proof = this.#passphrase === null ? {} : { passphrase: this.#passphrase };
    try {
      // What is shown afterwards is the event of the watch, as for everybody who watches.
      await this.#client.decide({ ...approvalReference(view), ...answer, ...proof });
    } catch (error) {
      if (!isTrlError(error) || error.code === 'BACKEND_UNAVAILABLE') throw error;
      this.#passphrase = null;
      this.#terminal.write(`${escapeHiddenText(error.message)}\n${helpOf(view)}\n`);
    }
  }
}
