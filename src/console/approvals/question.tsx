/** One question: the whole command, why it is asked, what it would reach, and the answer. */
import { useEffect, useRef } from 'preact/hooks';
import type { ApprovalView } from '../../client/index.ts';
import { inputHeading, kindOf } from '../../protocol/approval.ts';
import { quoteArgv } from '../../quote.ts';
import { sessionName } from '../live/names.ts';
import { CommandText, Reasons } from '../parts/command-text.tsx';
import { Section } from '../parts/facts.tsx';
import { ApprovalState } from '../parts/pill.tsx';
import { Text } from '../parts/pieces.tsx';
import { Ago, Until } from '../parts/time.tsx';
import { Answer } from './answer.tsx';
import { Outcome } from './outcome.tsx';
import { Readiness } from './readiness.ts';
import { Reach } from './reach.tsx';

export function Question({ approval }: { readonly approval: ApprovalView }) {
  const item = `${approval.approval_id} ${approval.digest}`;
  const readiness = useRef(new Readiness());
  const end = useRef<HTMLSpanElement>(null);
  useEffect(() => watchReading(item, readiness.current, end.current), [item]);
  const { asked, verdict, changes } = approval;
  return (
    <article class="question" aria-label="The question">
      <header class="question-head">
        <ApprovalState of={approval.state} />
        <p>
          <strong>
            <Text of={sessionName(approval.session_id)} />
          </strong>{' '}
          asks to run this <Text of={kindOf(asked)} />
          {asked.mode === 'detached' ? ' in the background' : ''}
        </p>
        <p class="quiet">
          <Ago at={approval.created_at} />
          {approval.state === 'pending' && (
            <>
              {' · '}
              <Until at={approval.expires_at} />
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
          Started without a shell: <Text of={quoteArgv(asked.argv)} mono />
        </p>
      )}
      {changes !== undefined && changes.length > 0 && (
        <Section title="What changed since the last yes">
          <ul class="changes-since">
            {changes.map((change, index) => (
              <li key={index}>
                <Text of={change} />
              </li>
            ))}
          </ul>
        </Section>
      )}
      <Section title="Why it is asked">
        <Reasons verdict={verdict} command={asked.command} />
      </Section>
      <Section title="What it would see and touch">
        <Reach approval={approval} />
      </Section>
      {approval.state === 'pending' ? (
        <Answer approval={approval} item={item} readiness={readiness.current} />
      ) : (
        <Outcome approval={approval} />
      )}
    </article>
  );
}

/** What it gets on standard input belongs to what it does. */
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

/** What matters most of what it reaches, beside the command. */
function Gist({ asked }: { readonly asked: ApprovalView['asked'] }) {
  const { network, sandbox } = asked;
  const isLoose = sandbox.kind === 'none' || sandbox.level !== 'full';
  return (
    <ul class="gist">
      <li>
        in <Text of={asked.cwd} mono />
      </li>
      <li class={network === 'on' ? 'pill ask' : 'pill'}>network {network}</li>
      <li class={isLoose ? 'pill ask' : 'pill'}>
        {sandbox.kind === 'none' ? 'no sandbox' : `sandbox ${sandbox.level}`}
      </li>
    </ul>
  );
}

/** Tells `readiness` since when the item is painted, and whether its last line was seen. */
function watchReading(
  item: string,
  readiness: Readiness,
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

/** The bar with the answers stays at the lower edge: what is behind it was not seen. */
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
