/**
 * The answer to a question. It names the digest that was shown, so it binds what was read; and it
 * counts only when {@link Readiness} says that this was in front of the person.
 */
import { useEffect, useRef } from 'preact/hooks';
import { useSignal } from '@preact/signals';
import type { ApprovalView } from '../../client/index.ts';
import { useKeys } from '../keys.ts';
import { announce } from '../live/alert.ts';
import { client } from '../live/connection.ts';
import { approvals, takeAll } from '../live/store.ts';
import { Key, Problem, useActing } from '../parts/act.tsx';
import { readMs } from './readiness.ts';
import type { Readiness, Waiting } from './readiness.ts';

interface AnswerProps {
  readonly approval: ApprovalView;
  readonly item: string;
  readonly readiness: Readiness;
}

const hints = {
  nothing: 'The page has to be in front of you first.',
  'just-appeared': 'It has only just appeared: read it first.',
  'unseen-end': 'Scroll to the end of the command first.',
} as const satisfies Record<Waiting, string>;

export function Answer({ approval, item, readiness }: AnswerProps) {
  const forSession = useSignal(false);
  const words = useRef<HTMLTextAreaElement>(null);
  const ready = useReady(item, readiness);
  const { decide, hint, acting } = useDecision({ approval, item, readiness }, () => ({
    forSession: forSession.value,
    words: words.current?.value.trim() ?? '',
  }));
  useKeys({
    a: (at) => decide('approve', at),
    d: (at) => decide('deny', at),
    w: () => words.current?.focus(),
    s: () => {
      forSession.value = !forSession.value;
    },
  });
  const button = (decision: 'approve' | 'deny', label: string, key: string) => (
    <button
      type="button"
      class={decision}
      disabled={acting.busy}
      aria-disabled={!ready}
      onClick={(event) => decide(decision, event.timeStamp)}
    >
      {label} <Key>{key}</Key>
    </button>
  );
  return (
    <div class="answer" role="group" aria-label="Your answer">
      <div class="buttons">
        {button('approve', forSession.value ? 'Approve for the session' : 'Approve once', 'a')}
        {button('deny', 'Deny', 'd')}
        <label class="check">
          <input
            type="checkbox"
            checked={forSession.value}
            onChange={(event) => {
              forSession.value = event.currentTarget.checked;
            }}
          />
          Equal commands of this session, too <Key>s</Key>
        </label>
      </div>
      <label class="words">
        <span>
          Words for the agent <Key>w</Key>
        </span>
        <textarea ref={words} rows={1} maxLength={4_000} placeholder="Optional" />
      </label>
      {hint !== null && <p class="hint">{hint}</p>}
      <Problem of={acting.problem} />
    </div>
  );
}

/** Whether an answer would count now, for how the buttons look. */
function useReady(item: string, readiness: Readiness): boolean {
  const ready = useSignal(false);
  useEffect(() => {
    const timer = setInterval(() => {
      ready.value = readiness.waiting(item, performance.now()) === null;
    }, readMs / 6);
    return () => clearInterval(timer);
  }, [item]);
  return ready.value;
}

interface Said {
  readonly forSession: boolean;
  readonly words: string;
}

/** Sends the answer where it counts, and says why where it does not. */
function useDecision({ approval, item, readiness }: AnswerProps, said: () => Said) {
  const hint = useSignal<string | null>(null);
  const acting = useActing();
  const decide = (decision: 'approve' | 'deny', at: number): void => {
    const waiting = readiness.waiting(item, at);
    hint.value = waiting === null ? null : hints[waiting];
    if (waiting !== null) {
      announce(hints[waiting]);
      return;
    }
    const { forSession, words } = said();
    void acting.act(async () => {
      const decided = await client.value?.decide({
        approval_id: approval.approval_id,
        digest: approval.digest,
        decision,
        ...(decision === 'approve' && forSession ? { scope: 'session' } : {}),
        ...(words === '' ? {} : { words }),
      });
      if (decided === undefined) throw new Error('The runtime is not reached: try again');
      // The feed may have told more already.
      if (approvals.peek().get(decided.approval_id)?.state === 'pending') {
        takeAll([{ kind: 'approval', approval: decided }]);
      }
      announce(decision === 'approve' ? 'Approved' : 'Denied');
    });
  };
  return { decide, hint: hint.value, acting };
}
