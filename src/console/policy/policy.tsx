/** The decision of policy on a command, as it is typed. Nothing runs. */
import { useSignal } from '@preact/signals';
import type { Signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { Verdict } from '../../command.ts';
import { currentClient, describeError } from '../live/connection.ts';
import { sessions } from '../live/store.ts';
import { ActionError } from '../components/action.tsx';
import { CommandText, DecisionBadge, VerdictReasons } from '../components/command-text.tsx';
import { DetailSection } from '../components/detail-list.tsx';
import { VisibleText } from '../components/visible-text.tsx';
import { toVisibleLine } from '../text/visible.ts';

const shells = ['bash', 'posix', 'zsh', 'powershell', 'cmd', 'python'] as const;
type Shell = (typeof shells)[number];
/** Delay after the last letter, in `ms`. */
const quietMs = 200;

interface Judged {
  readonly command: string;
  readonly verdict: Verdict;
}

interface PolicyInput {
  readonly command: Signal<string>;
  readonly shell: Signal<Shell>;
  /** Id of a session; '': the text alone. */
  readonly session: Signal<string>;
}

export function PolicyPage() {
  const input: PolicyInput = {
    command: useSignal(''),
    shell: useSignal<Shell>('bash'),
    session: useSignal(''),
  };
  const { judged, problem } = useVerdict(input);
  return (
    <>
      <header class="view-head">
        <h1>Policy</h1>
        <p class="quiet">The decision of policy on a command. Nothing runs.</p>
      </header>
      <div class="tester">
        <label class="grow">
          Command
          <textarea
            class="mono"
            rows={4}
            data-filter
            spellcheck={false}
            autocapitalize="off"
            placeholder="git push --force origin main"
            value={input.command.value}
            onInput={(event) => {
              input.command.value = event.currentTarget.value;
            }}
          />
        </label>
        <Choices input={input} />
      </div>
      {judged !== null && <Shown judged={judged} />}
      <ActionError of={problem} />
    </>
  );
}

/** The verdict on the typed command, after a short pause. */
function useVerdict({ command, shell, session }: PolicyInput) {
  const judged = useSignal<Judged | null>(null);
  const problem = useSignal<string | null>(null);
  const asks = currentClient.value;
  useEffect(() => {
    const text = command.value;
    if (asks === null || text.trim() === '') {
      judged.value = null;
      return undefined;
    }
    const stop = new AbortController();
    const chosen = sessions.peek().get(session.value);
    const where = chosen === undefined ? { shell: shell.value } : { session_id: chosen.session_id };
    const ask = async (): Promise<void> => {
      try {
        const { signal } = stop;
        const verdict = await asks.call('policy.explain', { command: text, ...where }, { signal });
        judged.value = { command: text, verdict };
        problem.value = null;
      } catch (error) {
        if (!stop.signal.aborted) problem.value = describeError(error);
      }
    };
    const timer = setTimeout(() => void ask(), quietMs);
    return () => {
      clearTimeout(timer);
      stop.abort(new DOMException('The input has changed', 'AbortError'));
    };
  }, [asks, command.value, shell.value, session.value]);
  return { judged: judged.value, problem: problem.value };
}

function Choices({ input: { shell, session } }: { readonly input: PolicyInput }) {
  return (
    <div class="choices">
      <label>
        Where
        <select
          value={session.value}
          onChange={(event) => {
            session.value = event.currentTarget.value;
          }}
        >
          <option value="">The text alone</option>
          {[...sessions.value.values()].map(({ session_id: id, name }) => (
            <option key={id} value={id}>
              {toVisibleLine(name ?? id.slice(0, 10))}
            </option>
          ))}
        </select>
      </label>
      <label>
        Language
        <select
          value={shell.value}
          disabled={session.value !== ''}
          onChange={(event) => {
            const next = event.currentTarget.value;
            shell.value = shells.find((each) => each === next) ?? 'bash';
          }}
        >
          {shells.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </label>
    </div>
  );
}

function Shown({ judged: { command, verdict } }: { readonly judged: Judged }) {
  return (
    <div role="status">
      <DetailSection title="Verdict" aside={<DecisionBadge of={verdict.decision} />}>
        <div class="asked-command">
          <CommandText command={command} rules={verdict.rules} />
        </div>
        {verdict.runs !== null && (
          <p class="quiet">
            Started without a shell: <VisibleText of={verdict.runs.join(' ')} mono />
          </p>
        )}
        <VerdictReasons verdict={verdict} command={command} />
      </DetailSection>
    </div>
  );
}
