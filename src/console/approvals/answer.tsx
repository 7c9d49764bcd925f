/**
 * The decision on an approval request. It names the digest that was shown, so it binds what the
 * person read; it counts only when {@link AnswerReadiness} confirms that the request was visible.
 */
import { useEffect, useRef } from 'preact/hooks';
import { useSignal } from '@preact/signals';
import type { AnswerScope, ApprovalView } from '../../client/index.ts';
import { scopeMeanings } from '../../client/approval-text.ts';
import { useKeyBindings } from '../keys.ts';
import { announce } from '../live/alert.ts';
import { currentClient } from '../live/connection.ts';
import { approvals, applyFeedEvents } from '../live/store.ts';
import { KeyHint, ActionError, useAction } from '../components/action.tsx';
import { VisibleText } from '../components/visible-text.tsx';
import { readingTimeMs } from './readiness.ts';
import type { AnswerReadiness, UnreadyReason } from './readiness.ts';

interface AnswerProps {
  readonly approval: ApprovalView;
  readonly item: string;
  readonly readiness: AnswerReadiness;
}

const hints = {
  nothing: 'The page must be visible first.',
  'just-appeared': 'It has only just appeared: read it first.',
  'unseen-end': 'Scroll to the end of the command first.',
} as const satisfies Record<UnreadyReason, string>;

const labels = {
  once: 'Approve once',
  session: 'Approve for the session',
  project: 'Approve for the project',
} as const satisfies Record<AnswerScope, string>;

export function ApprovalAnswerForm({ approval, item, readiness }: AnswerProps) {
  const scope = useSignal<AnswerScope>('once');
  const { scopes = ['once'] } = approval;
  const words = useRef<HTMLTextAreaElement>(null);
  const ready = useReady(item, readiness);
  const { decide, hint, acting } = useDecision({ approval, item, readiness }, () => ({
    scope: scope.value,
    words: words.current?.value.trim() ?? '',
  }));
  useKeyBindings({
    a: (at) => decide('approve', at),
    d: (at) => decide('deny', at),
    w: () => words.current?.focus(),
    s: () => {
      scope.value = scopes[(scopes.indexOf(scope.value) + 1) % scopes.length] ?? 'once';
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
      {label} <KeyHint>{key}</KeyHint>
    </button>
  );
  return (
    <div class="answer" role="group" aria-label="Your answer">
      <div class="buttons">
        {button('approve', labels[scope.value], 'a')}
        {button('deny', 'Deny', 'd')}
        {scopes.map((one) => (
          <label class="check" key={one}>
            <input
              type="radio"
              name={`scope-${item}`}
              checked={scope.value === one}
              onChange={() => {
                scope.value = one;
              }}
            />
            {scopeMeanings[one]} {one === 'session' && <KeyHint>s</KeyHint>}
          </label>
        ))}
      </div>
      {approval.asked.rule !== undefined && (
        <p>
          The rule: <VisibleText of={approval.asked.rule} />
        </p>
      )}
      <label class="words">
        <span>
          Message to the agent <KeyHint>w</KeyHint>
        </span>
        <textarea ref={words} rows={1} maxLength={4_000} placeholder="Optional" />
      </label>
      {hint !== null && <p class="hint">{hint}</p>}
      <ActionError of={acting.problem} />
    </div>
  );
}

/** Whether a decision would count now, for the look of the buttons. */
function useReady(item: string, readiness: AnswerReadiness): boolean {
  const ready = useSignal(false);
  useEffect(() => {
    const timer = setInterval(() => {
      ready.value = readiness.unreadyReason(item, performance.now()) === null;
    }, readingTimeMs / 6);
    return () => clearInterval(timer);
  }, [item]);
  return ready.value;
}

interface Said {
  readonly scope: AnswerScope;
  readonly words: string;
}

/** Sends the decision if it counts, and reports why if it does not. */
function useDecision({ approval, item, readiness }: AnswerProps, said: () => Said) {
  const hint = useSignal<string | null>(null);
  const acting = useAction();
  const decide = (decision: 'approve' | 'deny', at: number): void => {
    const waiting = readiness.unreadyReason(item, at);
    hint.value = waiting === null ? null : hints[waiting];
    if (waiting !== null) {
      announce(hints[waiting]);
      return;
    }
    const { scope, words } = said();
    void acting.perform(async () => {
      const decided = await currentClient.value?.decide({
        approval_id: approval.approval_id,
        digest: approval.digest,
        decision,
        ...(decision === 'approve' ? { scope } : {}),
        ...(words === '' ? {} : { words }),
      });
      if (decided === undefined) throw new Error('The runtime is not reached: try again');
      // The feed may have reported a later state already.
      if (approvals.peek().get(decided.approval_id)?.state === 'pending') {
        applyFeedEvents([{ kind: 'approval', approval: decided }]);
      }
      announce(decision === 'approve' ? 'Approved' : 'Denied');
    });
  };
  return { decide, hint: hint.value, acting };
}
