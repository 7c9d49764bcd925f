/** Whether everything that was ever recorded is as it was written. */
import { useSignal } from '@preact/signals';
import type { AuditVerifyAnswer } from '../../client/index.ts';
import { client } from '../live/connection.ts';
import { Problem, useActing } from '../parts/act.tsx';
import { Text } from '../parts/pieces.tsx';

export function Verify() {
  const found = useSignal<AuditVerifyAnswer | null>(null);
  const { busy, problem, act } = useActing();
  const check = (): Promise<void> =>
    act(async () => {
      found.value = (await client.value?.call('audit.verify', {})) ?? null;
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
                <Text of={text} />
              </li>
            ))}
            {answer.logs.flatMap(({ findings, log }) =>
              findings.map(({ text }, index) => (
                <li key={`${log} ${index}`}>
                  <Text of={text} />
                </li>
              )),
            )}
          </ul>
        </div>
      )}
      <Problem of={problem} />
    </div>
  );
}
