/** Whether everything that was ever recorded is as it was written. */
import { useSignal } from '@preact/signals';
import type { AuditVerifyAnswer } from '../../client/index.ts';
import { currentClient } from '../live/connection.ts';
import { ActionError, useAction } from '../components/action.tsx';
import { VisibleText } from '../components/visible-text.tsx';

export function LogVerification() {
  const found = useSignal<AuditVerifyAnswer | null>(null);
  const { busy, problem, perform: act } = useAction();
  const check = (): Promise<void> =>
    act(async () => {
      found.value = (await currentClient.value?.call('audit.verify', {})) ?? null;
    });
  const answer = found.value;
  return (
    <div class="verify">
      <button type="button" disabled={busy} onClick={() => void check()}>
        {busy ? 'Checking all of it…' : 'Verify the log'}
      </button>
      {answer !== null && (
        <div role="status" class={answer.good ? 'good' : 'problem'}>
          <p>
            {answer.good ? 'All is as it was written: ' : 'It is NOT as it was written: '}
            {answer.logs.reduce((sum, { events }) => sum + events, 0)} events in{' '}
            {answer.logs.length} logs.
          </p>
          <ul>
            {answer.findings.map(({ text }, index) => (
              <li key={index}>
                <VisibleText of={text} />
              </li>
            ))}
            {answer.logs.flatMap(({ findings, log }) =>
              findings.map(({ text }, index) => (
                <li key={`${log} ${index}`}>
                  <VisibleText of={text} />
                </li>
              )),
            )}
          </ul>
        </div>
      )}
      <ActionError of={problem} />
    </div>
  );
}
