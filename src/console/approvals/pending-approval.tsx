/** One approval request: the whole command, the reasons, its exposure, and the decision. */
import { useEffect, useRef } from 'preact/hooks';
import type { ApprovalView } from '../../client/index.ts';
import { approvalTextKind, inputHeading } from '../../client/approval-text.ts';
import { quoteArgv } from '../../quote.ts';
import { sessionLabel } from '../live/store.ts';
import { CommandText, VerdictReasons } from '../components/command-text.tsx';
import { DetailSection } from '../components/detail-list.tsx';
import { ApprovalStateBadge } from '../components/state-badge.tsx';
import { VisibleText } from '../components/visible-text.tsx';
import { TimeAgo, TimeUntil } from '../components/time.tsx';
import { ApprovalAnswerForm } from './answer.tsx';
import { ApprovalOutcome } from './outcome.tsx';
import { AnswerReadiness } from './readiness.ts';
import { ApprovalExposure } from './exposure.tsx';

export function PendingApprovalDetail({ approval }: { readonly approval: ApprovalView }) {
  const item = `${approval.approval_id} ${approval.digest}`;
  const readiness = useRef(new AnswerReadiness());
  const end = useRef<HTMLSpanElement>(null);
  useEffect(() => watchReading(item, readiness.current, end.current), [item]);
  const { asked, verdict, changes } = approval;
  return (
    <article class="question" aria-label="The approval request">
      <header class="question-head">
        <ApprovalStateBadge of={approval.state} />
        <p>
          <strong>
            <VisibleText of={sessionLabel(approval.session_id)} />
          </strong>{' '}
          asks to run this <VisibleText of={approvalTextKind(asked)} />
          {asked.mode === 'detached' ? ' in the background' : ''}
        </p>
        <p class="quiet">
          <TimeAgo at={approval.created_at} />
          {approval.state === 'pending' && (
            <>
              {' · '}
              <TimeUntil at={approval.expires_at} />
            </>
          )}
        </p>
      </header>
      <div class="asked-command">
        <CommandText command={asked.command} rules={verdict.rules} />
        <Input asked={asked} />
        <span ref={end} class="end" />
      </div>
      <Gist asked={asked} />
      {asked.argv !== null && (
        <p class="quiet">
          Started without a shell: <VisibleText of={quoteArgv(asked.argv)} mono />
        </p>
      )}
      {changes !== undefined && changes.length > 0 && (
        <DetailSection title="What changed since the last yes">
          <ul class="changes-since">
            {changes.map((change, index) => (
              <li key={index}>
                <VisibleText of={change} />
              </li>
            ))}
          </ul>
        </DetailSection>
      )}
      <DetailSection title="Why approval is needed">
        <VerdictReasons verdict={verdict} command={asked.command} />
      </DetailSection>
      <DetailSection title="What it would see and touch">
        <ApprovalExposure approval={approval} />
      </DetailSection>
      {approval.state === 'pending' ? (
        <ApprovalAnswerForm approval={approval} item={item} readiness={readiness.current} />
      ) : (
        <ApprovalOutcome approval={approval} />
      )}
    </article>
  );
}

/** Standard input is part of what the command does. */
function Input({ asked }: { readonly asked: ApprovalView['asked'] }) {
  const heading = inputHeading(asked);
  if (heading === null) return null;
  return (
    <section aria-label="Standard input">
      <p class={asked.input?.is_whole === true ? 'quiet' : 'pill ask'}>{heading}</p>
      {asked.input !== undefined && <CommandText command={asked.input.text} rules={[]} />}
    </section>
  );
}

/** The most important parts of its exposure, next to the command. */
function Gist({ asked }: { readonly asked: ApprovalView['asked'] }) {
  const { network, sandbox } = asked;
  const isLoose = sandbox.kind === 'none' || sandbox.level !== 'full';
  return (
    <ul class="gist">
      <li>
        in <VisibleText of={asked.cwd} mono />
      </li>
      <li class={network === 'off' ? 'pill' : 'pill ask'}>network {network}</li>
      <li class={isLoose ? 'pill ask' : 'pill'}>
        {sandbox.kind === 'none' ? 'no sandbox' : `sandbox ${sandbox.level}`}
      </li>
    </ul>
  );
}

/** Reports to `readiness` since when the item is painted, and whether its last line was visible. */
function watchReading(
  item: string,
  readiness: AnswerReadiness,
  end: HTMLElement | null,
): (() => void) | undefined {
  if (end === null) return undefined;
  let frame = 0;
  let observer: IntersectionObserver | null = null;
  const look = (): void => {
    cancelAnimationFrame(frame);
    const isThere = document.visibilityState === 'visible' && document.hasFocus();
    if (!isThere) {
      readiness.show(null, performance.now());
      return;
    }
    // The second frame begins after the first was painted.
    frame = requestAnimationFrame(() => {
      frame = requestAnimationFrame((at) => {
        readiness.show(item, Math.max(at, performance.now()));
        observer?.disconnect();
        observer = observeEnd(end, () => readiness.sawEnd(item));
      });
    });
  };
  look();
  const events = [
    [document, 'visibilitychange'],
    [window, 'focus'],
    [window, 'blur'],
  ] as const;
  for (const [target, name] of events) target.addEventListener(name, look);
  return () => {
    cancelAnimationFrame(frame);
    observer?.disconnect();
    for (const [target, name] of events) target.removeEventListener(name, look);
    readiness.show(null, performance.now());
  };
}

/** The bar with the buttons covers the lower edge: what is behind it was not visible. */
function observeEnd(end: HTMLElement, seen: () => void): IntersectionObserver {
  const bar = document.querySelector('.answer');
  const covered = bar instanceof HTMLElement ? bar.offsetHeight : 0;
  const observer = new IntersectionObserver(
    (entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) seen();
    },
    { rootMargin: `0px 0px -${covered}px 0px` },
  );
  observer.observe(end);
  return observer;
}
