/**
 * The only place where a secret's value is typed. It is in the field and in the message to the
 * runtime, and nowhere else: in no state of the page, attribute, address, or form that a browser
 * would offer to save. The field is emptied before the message is sent.
 */
import { useRef } from 'preact/hooks';
import { useSignal } from '@preact/signals';
import { currentClient } from '../live/connection.ts';
import { ActionError, useAction } from '../components/action.tsx';

interface GiveValueProps {
  readonly name: string;
  readonly given: () => void;
}

export function SecretValueForm({ name, given }: GiveValueProps) {
  const field = useRef<HTMLInputElement>(null);
  const warning = useSignal<string | null>(null);
  const { busy, problem, perform: act } = useAction();
  const send = (): void => {
    const input = field.current;
    const asks = currentClient.value;
    if (input === null || asks === null || input.value === '' || name === '' || busy) return;
    const answer = asks.call('secrets.set', { name, value: input.value });
    input.value = '';
    void act(async () => {
      warning.value = (await answer).warning;
      given();
    });
  };
  return (
    <div class="give-value">
      <label>
        {name === '' ? 'Value' : `Value of ${name}`}
        <input
          ref={field}
          type="password"
          class="mono"
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          data-1p-ignore
          data-lpignore="true"
          data-bwignore
          onKeyDown={(event) => {
            if (event.key === 'Enter' && !event.isComposing) send();
          }}
        />
      </label>
      <button type="button" class="approve" disabled={busy || name === ''} onClick={send}>
        Send it to the runtime
      </button>
      {warning.value !== null && <p class="hint">{warning.value}</p>}
      <ActionError of={problem} />
    </div>
  );
}
